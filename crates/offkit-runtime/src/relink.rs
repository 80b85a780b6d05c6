//! Images that export the same symbol, made ready to be linked together.

use std::collections::BTreeMap;

use offkit_object::DeviceImage;
use offkit_spirv::{Linkage, Module, rename_linkage};

use crate::build::BuildError;
use crate::select::bytes;

/// What an image's symbols are called for its neighbours' sake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relinking {
    /// The other name of an export; none for one that nobody else uses, which stays inside.
    pub(crate) exports: BTreeMap<String, Option<String>>,
    /// The other name of an import.
    pub(crate) imports: BTreeMap<String, String>,
}

impl Relinking {
    /// The image with the other names. It is SPIR-V.
    pub(crate) fn apply(&self, image: &DeviceImage<'static>) -> Result<DeviceImage<'static>, BuildError> {
        let mut module = Module::from_bytes(bytes(image)?).map_err(|source| BuildError::Relink {
            image: image.location.clone(),
            source,
        })?;
        rename_linkage(&mut module, |name, linkage| match linkage {
            Linkage::Import => Some(self.imports.get(name).map_or(name, String::as_str).to_owned()),
            _ => match self.exports.get(name) {
                Some(other) => other.clone(),
                None => Some(name.to_owned()),
            },
        });
        let mut relinked = image.clone();
        relinked.code = module.to_bytes().into();
        Ok(relinked)
    }
}
