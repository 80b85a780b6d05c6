//! What is gathered about an image, within bounds.

use std::borrow::Cow;

use offkit_image::{Error, Limits};
use offkit_spirv::names::{is_built_in, kernel_of_copy};

use crate::reading::Reading;
use offkit_image::{Detail, DetailValue, InspectedKernel, Inspection};

/// An inspection in the making.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) inspection: Inspection,
    reading: Reading,
    /// Whether what is there to be read by people is wanted.
    pub(super) has_details: bool,
}

impl Findings {
    pub(super) fn new(bytes: &[u8], limits: &Limits) -> Self {
        // Headers may point many times at the same bytes. Names repeat and are searched for their ends, so that
        // real images need more than their size, but never many times as much.
        const REPEATS: u64 = 8;
        const LEAST: u64 = 1 << 12;
        let work = (bytes.len() as u64).saturating_mul(REPEATS).saturating_add(LEAST);
        let limits = Limits {
            max_metadata_bytes: limits.max_metadata_bytes.min(work),
            ..limits.clone()
        };
        Self {
            inspection: Inspection::default(),
            reading: Reading::tolerant(&limits),
            has_details: true,
        }
    }

    /// Leaves out what is there to be read by people.
    pub(super) fn without_details(self) -> Self {
        Self {
            has_details: false,
            ..self
        }
    }

    pub(super) fn finish(mut self) -> Inspection {
        self.inspection.problems = self.reading.take_problems();
        self.inspection
    }

    pub(super) fn problem(&mut self, error: Error) {
        // A tolerant reading notes faults and never fails.
        let _ = self.reading.fault(error);
    }

    pub(super) fn limits(&self) -> &Limits {
        self.reading.limits()
    }

    /// Counts bytes that are looked at and may be looked at again.
    pub(super) fn count(&mut self, bytes: u64) -> Result<(), Error> {
        self.reading.count_metadata(bytes)
    }

    /// A name out of the image, counted.
    pub(super) fn text(&mut self, bytes: &[u8]) -> Result<String, Error> {
        self.name(bytes).map(Cow::into_owned)
    }

    /// The same, where it lies: of most names it is the beginning that counts, or nothing.
    pub(super) fn name<'data>(&mut self, bytes: &'data [u8]) -> Result<Cow<'data, str>, Error> {
        // By number, too, as very many empty names take memory and no bytes of the image.
        self.reading.count_strings(1)?;
        self.reading.count_metadata(bytes.len() as u64)?;
        // Looking for what is not text takes far longer than seeing that all is.
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        })
    }

    pub(super) fn detail(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<DetailValue>) {
        if !self.has_details {
            return;
        }
        self.inspection.details.push(Detail {
            name: name.into(),
            value: value.into(),
        });
    }

    pub(super) fn kernel(&mut self, name: String) {
        self.inspection.kernels.push(InspectedKernel::new(name));
    }

    /// Adds a symbol that is defined here, unless no other image is meant to know it.
    pub(super) fn export(&mut self, name: String) {
        if kernel_of_copy(&name).is_none() && !is_built_in(&name) {
            self.inspection.exports.push(name);
        }
    }

    /// Adds a symbol that is defined elsewhere, unless the compiler or device supplies it.
    pub(super) fn import(&mut self, name: String) {
        if !is_built_in(&name) {
            self.inspection.imports.push(name);
        }
    }

    /// Adds a symbol that may be defined elsewhere.
    pub(super) fn weak_import(&mut self, name: String) {
        if !is_built_in(&name) {
            self.inspection.weak_imports.push(name);
        }
    }
}
