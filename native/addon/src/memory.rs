//! The release of lent memory, JSON, and the layouts of what JavaScript reads.

pub(crate) mod frame_release;
pub(crate) mod json;
pub(crate) mod layouts;
