//! offkit-link
#![forbid(unsafe_code)]
pub mod container;
pub mod device_link;
pub mod post_link;
pub mod properties;
pub mod symbols;
