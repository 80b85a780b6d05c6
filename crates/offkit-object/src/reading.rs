//! The state of a reading, which enforces the limits.

use offkit_image::{Error, ErrorKind, Limits};

use crate::repeated::Repeated;

/// How a reader treats faults, how much of its limits is used up, and what it need not read again.
///
/// The same reading code serves the strict constructors, where the first fault is the result, and the
/// tolerant [`read`](crate::read), where a fault is noted and reading goes on with what is left.
#[derive(Debug)]
pub(crate) struct Reading {
    limits: Limits,
    strict: bool,
    names_only: bool,
    problems: Vec<Error>,
    images: usize,
    strings: usize,
    properties: usize,
    metadata_bytes: u64,
    /// What may still come out of decompression.
    inflation_left: u64,
    /// The limit of metadata that comes from the size of the file.
    metadata_allowed: u64,
    /// How many bytes containers that are still to be entered may have.
    entering_left: u64,
    exhausted: bool,
    /// What offload binaries said before.
    pub(crate) repeated: Repeated,
}

impl Reading {
    pub(crate) fn strict(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            strict: true,
            names_only: false,
            problems: Vec::new(),
            images: 0,
            strings: 0,
            properties: 0,
            metadata_bytes: 0,
            inflation_left: Limits::FREE_INFLATION,
            // Bounded by `for_file_of`, where there is a file.
            metadata_allowed: u64::MAX,
            entering_left: Limits::FREE_ENTERING,
            exhausted: false,
            repeated: Repeated::default(),
        }
    }

    /// A strict reading of something that is read once more, with what is left of the limits;
    /// [`spend`](Self::spend) counts what it used.
    pub(crate) fn again(&self) -> Self {
        Self {
            images: self.images,
            strings: self.strings,
            properties: self.properties,
            metadata_bytes: self.metadata_bytes,
            inflation_left: self.inflation_left,
            metadata_allowed: self.metadata_allowed,
            entering_left: self.entering_left,
            ..Self::strict(&self.limits)
        }
    }

    /// Counts the work of a reading that was made by [`again`](Self::again). What it found is found here too, and is
    /// not counted twice.
    pub(crate) fn spend(&mut self, again: &Self) {
        self.metadata_bytes = self.metadata_bytes.max(again.metadata_bytes);
        self.inflation_left = self.inflation_left.min(again.inflation_left);
        self.entering_left = self.entering_left.min(again.entering_left);
    }

    pub(crate) fn tolerant(limits: &Limits) -> Self {
        Self {
            strict: false,
            ..Self::strict(limits)
        }
    }

    /// Allows as much decompression and as many containers as a file of `size` bytes may need.
    pub(crate) fn for_file_of(mut self, size: u64) -> Self {
        self.inflation_left = size
            .saturating_mul(self.limits.max_inflation)
            .saturating_add(Limits::FREE_INFLATION);
        self.metadata_allowed = Limits::FREE_METADATA;
        self.allow_content(size);
        self
    }

    /// For those who look for images and choose among them: whatever else containers say is left out.
    pub(crate) fn for_names(self) -> Self {
        Self {
            names_only: true,
            ..self
        }
    }

    /// Whether it is for those who look for images and choose among them.
    pub(crate) fn names_only(&self) -> bool {
        self.names_only
    }

    /// Allows the containers and the metadata that `bytes` more may hold.
    pub(crate) fn allow_content(&mut self, bytes: u64) {
        // In a real file each byte is in no more than one container on each level of nesting.
        let levels = (self.limits.max_nesting as u64).saturating_add(2);
        self.entering_left = self.entering_left.saturating_add(bytes.saturating_mul(levels));
        let metadata = bytes.saturating_mul(Limits::METADATA_PER_BYTE);
        self.metadata_allowed = self.metadata_allowed.saturating_add(metadata);
    }

    /// Counts a container of so many bytes. One that is too large may be followed by one that is not.
    pub(crate) fn count_entered(&mut self, bytes: u64) -> Result<(), Error> {
        let left = self.entering_left.checked_sub(bytes).ok_or_else(|| {
            Error::new(ErrorKind::LimitExceeded, "too many containers share their bytes")
                .expecting(format!("at most {:#x} bytes more", self.entering_left))
                .finding(format_args!("{bytes:#x}"))
        })?;
        self.entering_left = left;
        Ok(())
    }

    /// The most that may come out of decompression from now on.
    pub(crate) fn inflation_left(&self) -> u64 {
        self.inflation_left
    }

    pub(crate) fn count_inflated(&mut self, bytes: u64) {
        self.inflation_left = self.inflation_left.saturating_sub(bytes);
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Notes a fault: an error when strict, a problem to report later when not.
    #[cold]
    pub(crate) fn fault(&mut self, error: Error) -> Result<(), Error> {
        if self.strict {
            return Err(error);
        }
        // A damaged table can have millions between two parts, and no more than these are reported.
        if self.problems.len() < self.limits.max_problems {
            self.problems.push(error);
        }
        Ok(())
    }

    /// The value, or `None` after its fault was noted.
    #[inline]
    pub(crate) fn accept<T>(&mut self, result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.fault(error).map(|()| None),
        }
    }

    /// Whether faults were noted since they were taken.
    #[inline]
    pub(crate) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The faults noted since the last call.
    pub(crate) fn take_problems(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.problems)
    }

    /// Says that nothing more is wanted.
    pub(crate) fn stop(&mut self) {
        self.exhausted = true;
    }

    /// Whether a limit was reached or nothing more is wanted, so that looking further is of no use.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    #[inline]
    pub(crate) fn count_image(&mut self) -> Result<(), Error> {
        self.images = self.images.saturating_add(1);
        self.within(
            self.images as u64,
            self.limits.max_images as u64,
            "too many images",
        )
    }

    #[inline]
    pub(crate) fn count_strings(&mut self, count: usize) -> Result<(), Error> {
        self.strings = self.strings.saturating_add(count);
        self.within(
            self.strings as u64,
            self.limits.max_strings as u64,
            "too many strings",
        )
    }

    pub(crate) fn count_properties(&mut self, count: usize) -> Result<(), Error> {
        self.properties = self.properties.saturating_add(count);
        self.within(
            self.properties as u64,
            self.limits.max_properties as u64,
            "too many properties",
        )
    }

    /// The bytes of metadata that were counted.
    pub(crate) fn metadata(&self) -> u64 {
        self.metadata_bytes
    }

    #[inline]
    pub(crate) fn count_metadata(&mut self, bytes: u64) -> Result<(), Error> {
        self.metadata_bytes = self.metadata_bytes.saturating_add(bytes);
        // The second bound grows with the file: a small one must not cost what a large one may.
        self.within(
            self.metadata_bytes,
            self.limits.max_metadata_bytes.min(self.metadata_allowed),
            "too much metadata",
        )
    }

    #[inline]
    fn within(&mut self, used: u64, limit: u64, message: &'static str) -> Result<(), Error> {
        if used <= limit {
            Ok(())
        } else {
            self.beyond(limit, message)
        }
    }

    #[cold]
    fn beyond(&mut self, limit: u64, message: &'static str) -> Result<(), Error> {
        self.exhausted = true;
        Err(Error::new(ErrorKind::LimitExceeded, message).expecting(format!("at most {limit}")))
    }
}
