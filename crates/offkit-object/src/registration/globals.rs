//! The function that registers the kernels and variables of CUDA or HIP, by the host's table of entries.

use super::fatbin::Language;
use super::host_object::{HostObject, Place};
use crate::error::Error;

pub(super) fn add(
    object: &mut HostObject,
    language: &Language,
    entries: (Place, Place),
) -> Result<Place, Error> {
    let _ = (object.target(), language.kind, entries);
    Err(Error::unsupported("registering kernels of CUDA and HIP"))
}
