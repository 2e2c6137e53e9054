//! The functions of the family `boundary`: the same ones by napi-rs as everyone uses it, and by Node-API called by hand.
//! `boundary_bench_suite::boundary` has their work.

/// Converts between a struct of napi-rs and one of the suite with the same fields.
macro_rules! same_fields {
    ($ours:ident = $theirs:ident { $($field:ident),+ }) => {
        impl From<$ours> for $theirs {
            fn from($ours { $($field),+ }: $ours) -> Self {
                Self { $($field),+ }
            }
        }

        impl From<$theirs> for $ours {
            fn from($theirs { $($field),+ }: $theirs) -> Self {
                Self { $($field),+ }
            }
        }
    };
}

mod by_event_loop;
mod by_ffi;
pub mod by_napi_rs;
mod by_node_api;
mod rows;
