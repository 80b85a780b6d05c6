//! Property sets: what the SYCL toolchain records about a device image.
//!
//! An image has several named sets of typed properties: the symbols it imports and exports, its kernels, the
//! device features it requires, the layout of its specialization constants. Their text form is written by
//! DPC++'s `sycl-post-link` (a `.prop` file for each image) and stored in SYCLBIN.

pub mod names;

use std::sync::Arc;

use indexmap::IndexMap;

/// Named sets of properties, in the order of their file.
///
/// Two values are equal when they have the same sets and properties in the same order.
///
/// ```
/// use offkit_image::property_set::{PropertySets, names};
///
/// let mut sets = PropertySets::new();
/// sets.insert(names::IMPORTED_SYMBOLS, "library_function", 1);
/// sets.insert(names::MISC_PROPERTIES, "sanUsed", "asan");
///
/// assert!(sets.symbols(names::IMPORTED_SYMBOLS).eq(["library_function"]));
/// assert_eq!(sets.get(names::MISC_PROPERTIES, "sanUsed").and_then(|value| value.as_str()), Some("asan"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct PropertySets {
    /// Apart, for nearly all of very many images have none, and shared by those that have the same.
    sets: Option<Arc<IndexMap<String, PropertySet>>>,
}

/// One named set: properties by key, in the order of their file.
#[derive(Debug, Clone, Default)]
pub struct PropertySet {
    properties: IndexMap<String, PropertyValue>,
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PropertyValue {
    /// A number: type 1 in files, written in decimal.
    U32(u32),
    /// Bytes: type 2 in files, written in the toolchain's own base64.
    Bytes(ByteArray),
}

/// Bytes with a length in bits, as property values have it.
///
/// Nearly always the length is a multiple of 8. It is not where a property is a bit vector, such as the
/// eliminated arguments of a kernel; the bits are then in the first bytes, least significant first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ByteArray {
    bits: u64,
    bytes: Vec<u8>,
}

impl ByteArray {
    /// An array of whole bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self {
            bits: (bytes.len() as u64).saturating_mul(8),
            bytes,
        }
    }

    /// An array of `bits` bits; `None` unless `bytes` is exactly as long as those need.
    #[must_use]
    pub fn with_bits(bits: u64, bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (bits.div_ceil(8) == bytes.len() as u64).then_some(Self { bits, bytes })
    }

    /// The bytes; when the length is no multiple of 8, the high bits of the last one are of no meaning.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The length in bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }
}

impl PropertyValue {
    /// The number, if it is one.
    #[must_use]
    pub fn as_u32(&self) -> Option<u32> {
        match self {
            Self::U32(value) => Some(*value),
            Self::Bytes(_) => None,
        }
    }

    /// The bytes, if they are bytes.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(array) => Some(array.bytes()),
            Self::U32(_) => None,
        }
    }

    /// The bytes as text, if they are UTF-8. Strings such as triples are stored without a final NUL.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()?).ok()
    }

    /// The bytes as little-endian 32-bit numbers, if they are a multiple of 4 bytes.
    #[must_use]
    pub fn as_u32s(&self) -> Option<Vec<u32>> {
        // A rest says that the property is something else: nobody writes parts of a number.
        let (words, []) = self.as_bytes()?.as_chunks::<4>() else {
            return None;
        };
        Some(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}

impl From<u32> for PropertyValue {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<ByteArray> for PropertyValue {
    fn from(value: ByteArray) -> Self {
        Self::Bytes(value)
    }
}

impl From<&[u8]> for PropertyValue {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(ByteArray::new(value))
    }
}

impl From<&str> for PropertyValue {
    fn from(value: &str) -> Self {
        value.as_bytes().into()
    }
}

impl From<&[u32]> for PropertyValue {
    fn from(value: &[u32]) -> Self {
        let bytes: Vec<u8> = value.iter().flat_map(|word| word.to_le_bytes()).collect();
        Self::Bytes(ByteArray::new(bytes))
    }
}

impl PropertySet {
    /// A set without properties.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&PropertyValue> {
        self.properties.get(key)
    }

    /// Sets the value of a key, in its old place when it has one and else at the end. Gives back the old
    /// value.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        value: impl Into<PropertyValue>,
    ) -> Option<PropertyValue> {
        self.properties.insert(key.into(), value.into())
    }

    /// Removes a key and gives back its value; the order of the others stays.
    pub fn remove(&mut self, key: &str) -> Option<PropertyValue> {
        self.properties.shift_remove(key)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &PropertyValue)> {
        self.properties.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The number of properties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.properties.len()
    }

    /// Whether there is no property.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }
}

impl PropertySets {
    /// No sets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of a name.
    #[must_use]
    pub fn set(&self, name: &str) -> Option<&PropertySet> {
        self.sets.as_ref()?.get(name)
    }

    /// The set of a name, added at the end when there is none.
    pub fn set_mut(&mut self, name: impl Into<String>) -> &mut PropertySet {
        // Copied now if another image has the same.
        let sets = Arc::make_mut(self.sets.get_or_insert_default());
        sets.entry(name.into()).or_default()
    }

    /// The value of a key in a set.
    #[must_use]
    pub fn get(&self, set: &str, key: &str) -> Option<&PropertyValue> {
        self.set(set)?.get(key)
    }

    /// Sets the value of a key in a set, adding both at the end when they are new. Gives back the old value.
    pub fn insert(
        &mut self,
        set: impl Into<String>,
        key: impl Into<String>,
        value: impl Into<PropertyValue>,
    ) -> Option<PropertyValue> {
        self.set_mut(set).insert(key, value)
    }

    /// Sets all properties of another, in their old places when they have one.
    pub fn extend(&mut self, other: &Self) {
        for (name, set) in other.iter() {
            let own = self.set_mut(name);
            for (key, value) in set.iter() {
                own.insert(key, value.clone());
            }
        }
    }

    /// Removes a whole set; the order of the others stays.
    pub fn remove(&mut self, set: &str) -> Option<PropertySet> {
        Arc::make_mut(self.sets.as_mut()?).shift_remove(set)
    }

    /// The keys of a set in order, for sets whose keys are symbols: [`names::IMPORTED_SYMBOLS`],
    /// [`names::EXPORTED_SYMBOLS`], [`names::KERNEL_NAMES`]. Nothing when there is no such set.
    pub fn symbols<'sets>(&'sets self, set: &str) -> impl Iterator<Item = &'sets str> + use<'sets> {
        self.set(set)
            .into_iter()
            .flat_map(PropertySet::iter)
            .map(|(key, _)| key)
    }

    /// Adds a set whose keys are `symbols`, each with the number 1 that such sets have. Without symbols there
    /// is no set.
    pub fn insert_symbols<S: Into<String>>(&mut self, set: &str, symbols: impl IntoIterator<Item = S>) {
        for symbol in symbols {
            self.insert(set, symbol, 1);
        }
    }

    /// Names and sets in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &PropertySet)> {
        let sets = self.sets.as_ref().map(|sets| sets.as_slice()).unwrap_or_default();
        sets.iter().map(|(name, set)| (name.as_str(), set))
    }

    /// Whether there is no set, not even an empty one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().len() == 0
    }

    /// The number of properties in all sets.
    #[must_use]
    pub fn property_count(&self) -> usize {
        self.iter().map(|(_, set)| set.len()).sum()
    }

    /// The bytes of all names and values, as a bound of what a copy takes.
    pub fn byte_size(&self) -> u64 {
        let properties = self.iter().flat_map(|(_, set)| set.iter());
        let sizes =
            properties.map(|(key, value)| key.len().saturating_add(value.as_bytes().map_or(4, <[u8]>::len)));
        let names = self.iter().map(|(name, _)| name.len());
        sizes
            .chain(names)
            .fold(0, |total, size| total.saturating_add(size as u64))
    }
}

impl PartialEq for PropertySet {
    fn eq(&self, other: &Self) -> bool {
        // `IndexMap` compares without the order, which files have.
        self.iter().eq(other.iter())
    }
}

impl Eq for PropertySet {}

impl PartialEq for PropertySets {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for PropertySets {}
