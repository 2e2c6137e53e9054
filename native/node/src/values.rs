//! Values of JavaScript, converted one by one.

pub mod arrays;
pub mod json;
pub mod numbers;
pub mod parameters;
