//! Facts by name, as containers store them.

use std::borrow::Cow;

/// Keys that several containers use.
pub mod keys {
    /// What the device's compiler is to be told.
    pub const COMPILE_OPTIONS: &str = "compile-opts";
    /// What the device's linker is to be told.
    pub const LINK_OPTIONS: &str = "link-opts";
}

/// The string entries of an image: names and values in order.
///
/// Version 1 ends values with a zero byte; since version 2 they may hold any bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings<'data> {
    entries: Vec<(Cow<'data, str>, Cow<'data, [u8]>)>,
}

impl<'data> Strings<'data> {
    /// No strings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key, if there is one and it is UTF-8. Of a repeated key the last value counts, as in
    /// LLVM.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.get_bytes(key)?).ok()
    }

    /// The value of a key as the bytes it is in the file.
    #[must_use]
    pub fn get_bytes(&self, key: &str) -> Option<&[u8]> {
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| &**value)
    }

    /// Sets the value of a key, in its old place when it has one and else at the end.
    pub fn set(&mut self, key: impl Into<Cow<'data, str>>, value: impl Into<Cow<'data, str>>) {
        let value = match value.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        self.set_bytes(key, value);
    }

    /// Sets the value of a key to any bytes; only version 2 can store zero bytes.
    pub fn set_bytes(&mut self, key: impl Into<Cow<'data, str>>, value: impl Into<Cow<'data, [u8]>>) {
        let key = key.into();
        let value = value.into();
        // From behind, as of a repeated key the last value is the one that readers get.
        match self.entries.iter_mut().rev().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key, value)),
        }
    }

    /// Adds a string at the end, even if there is one of that key.
    pub fn push(&mut self, key: impl Into<Cow<'data, str>>, value: impl Into<Cow<'data, [u8]>>) {
        self.entries.push((key.into(), value.into()));
    }

    /// The same strings, without borrowing.
    pub fn into_owned<'any>(self) -> Strings<'any> {
        let owned = |(key, value): (Cow<'_, str>, Cow<'_, [u8]>)| {
            (Cow::Owned(key.into_owned()), Cow::Owned(value.into_owned()))
        };
        Strings {
            entries: self.entries.into_iter().map(owned).collect(),
        }
    }

    /// Names and values in order, as they are in the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.entries.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Orders by key. The order is of no meaning to readers; this one puts `arch` before `triple`, where
    /// `llvm-offload-binary` puts it.
    pub fn sort(&mut self) {
        self.entries.sort_by(|(left, _), (right, _)| left.cmp(right));
    }

    /// The number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
