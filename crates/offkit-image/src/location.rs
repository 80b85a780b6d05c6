//! Paths to images inside of files, as users type them.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

use compact_str::CompactString;

/// Where an image is: a file, and the way to it through the containers inside.
///
/// Written `FILE!PART/PART/…`; a file that is itself the image is just `FILE`. Numbers count from 0.
///
/// | container | parts |
/// |---|---|
/// | offload binary | number of the entry, over all binaries that follow each other |
/// | SYCLBIN | number of the abstract module, `ir` or `native`, number of the image |
/// | offload bundles | number of the bundle, then the architecture, or the whole ID where that says too little |
/// | fatbin | number of the fatbin, number of the entry |
/// | object, program, library | name of the section; `bundle` and `sycl` for what is found by other means |
/// | archive, zip | name of the member, with a part for each folder |
///
/// The **last** `!` separates, so that file names may contain it: a location without parts in a file whose
/// name has a `!` ends in `!`. In parts `%`, `!` and `/` are written as `%25`, `%21` and `%2F`; an empty part is
/// written as `%`.
///
/// ```
/// use offkit_image::Location;
///
/// let location: Location = "app.syclbin!0/ir/0".parse()?;
/// assert_eq!(location.file(), "app.syclbin");
/// assert!(location.parts().eq(["0", "ir", "0"]));
/// assert_eq!(location.to_string(), "app.syclbin!0/ir/0");
/// # Ok::<(), offkit_image::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Location {
    /// `None` where the name is empty. All empty shared texts are one, and counting the references to it took a twentieth
    /// of the time of listing 100,000 images.
    file: Option<Arc<str>>,
    /// The parts as they are written; short ones need no memory of their own, as there may be very many.
    path: CompactString,
}

impl Location {
    /// The location of a whole file.
    pub fn of_file(file: impl Into<Arc<str>>) -> Self {
        Self {
            file: Some(file.into()).filter(|file| !file.is_empty()),
            path: CompactString::default(),
        }
    }

    /// The location of a part of this one.
    #[must_use]
    pub fn join(&self, part: impl fmt::Display) -> Self {
        let mut joined = self.clone();
        joined.push(part);
        joined
    }

    /// The location of a file that is a member of this archive, with a part for each folder of its name.
    #[must_use]
    pub fn join_member(&self, name: &str) -> Self {
        // Thin archives have names such as `/a` and `a//b`, whose empty pieces are no folders.
        let parts = name.split('/').filter(|part| !part.is_empty());
        let mut joined = self.clone();
        parts.for_each(|part| joined.push_text(part));
        joined
    }

    /// The location without its last parts, so many of them.
    pub(crate) fn without_last(&self, parts: usize) -> Self {
        let mut path = self.path();
        for _ in 0..parts {
            path = path.rsplit_once('/').map_or("", |(before, _)| before);
        }
        Self {
            file: self.file.clone(),
            path: path.into(),
        }
    }

    /// The location with the parts of `inner` after its own: where `inner` is, should its file be here.
    #[must_use]
    pub fn join_inside(&self, inner: &Self) -> Self {
        let mut joined = self.clone();
        if !inner.path.is_empty() {
            joined.separate();
            joined.path.push_str(&inner.path);
        }
        joined
    }

    /// The location with the parts of `name` after its own.
    pub fn join_name(&self, name: &PartName) -> Self {
        let mut joined = Self {
            file: self.file.clone(),
            path: CompactString::with_capacity(self.path.len().saturating_add(name.written_size())),
        };
        joined.path.push_str(&self.path);
        match name {
            PartName::Same => {}
            PartName::Number(number) => joined.push_text(itoa::Buffer::new().format(*number)),
            PartName::Text(text) => joined.push_text(text),
            PartName::Path(path) => path.iter().for_each(|part| joined.push_text(part)),
            PartName::Numbered(word, numbers) => {
                joined.push_text(word);
                for number in numbers {
                    joined.push_text(itoa::Buffer::new().format(*number));
                }
            }
        }
        joined
    }

    fn separate(&mut self) {
        if !self.path.is_empty() {
            self.path.push('/');
        }
    }

    fn push_text(&mut self, part: &str) {
        self.separate();
        match part {
            "" => self.path.push_str(EMPTY),
            _ => push_escaped(&mut self.path, part),
        }
    }

    fn push(&mut self, part: impl fmt::Display) {
        self.separate();
        let start = self.path.len();
        // A compact string takes everything.
        let _ = write!(Escaped(&mut self.path), "{part}");
        if self.path.len() == start {
            self.path.push_str(EMPTY);
        }
    }

    /// The file's name as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        self.file.as_deref().unwrap_or_default()
    }

    /// The parts after the file, outermost container first; none for the whole file.
    ///
    /// ```
    /// # use offkit_image::Location;
    /// let location: Location = "app.syclbin!0/ir/a%2Fb".parse()?;
    /// assert!(location.parts().eq(["0", "ir", "a/b"]));
    /// # Ok::<(), offkit_image::Error>(())
    /// ```
    pub fn parts(&self) -> impl Iterator<Item = Cow<'_, str>> + Clone {
        Self::parts_of(&self.path)
    }

    /// The parts of a [`path`](Self::path), or of what is left of one behind its first parts.
    pub fn parts_of(path: &str) -> impl Iterator<Item = Cow<'_, str>> + Clone {
        let written = (!path.is_empty()).then(|| path.split('/'));
        written
            .into_iter()
            .flatten()
            .map(|part| match part.contains('%') {
                // Parts are escaped here or were checked when they were read: none is wrong.
                true => Cow::Owned(unescape(part).unwrap_or_default()),
                false => Cow::Borrowed(part),
            })
    }

    /// The parts as they are written, with `/` between them.
    #[must_use]
    #[inline]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The number of parts after the file.
    #[must_use]
    #[inline]
    pub fn depth(&self) -> usize {
        // Most paths are a few bytes, for which a search with vectors costs more than it saves.
        let separators = self.path.bytes().filter(|byte| *byte == b'/').count();
        separators.saturating_add(usize::from(!self.path.is_empty()))
    }

    /// Whether this is the whole file.
    #[must_use]
    #[inline]
    pub fn is_file(&self) -> bool {
        self.path.is_empty()
    }

    /// About how much memory the parts take.
    #[inline]
    pub fn cost(&self) -> u64 {
        self.path.len().saturating_add(size_of::<Self>()) as u64
    }

    /// Whether `self` is `other` or lies inside of it.
    ///
    /// `app.syclbin!0/ir/0` lies in `app.syclbin!0` and in `app.syclbin`.
    #[must_use]
    #[inline]
    pub fn is_within(&self, other: &Self) -> bool {
        // Comparing with an empty text that lies nowhere can be slow.
        let has_path = || {
            let rest = || self.path.strip_prefix(other.path.as_str());
            // A whole part has to end there: `0/irs` begins with `0/ir`, and does not lie in it.
            other.path.is_empty() || rest().is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // Locations of one walk share the file's name, so that most are the same without a look at the text.
        let is_same_file = match (&self.file, &other.file) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            (own, other) => own == other,
        };
        is_same_file && has_path()
    }
}

/// The parts of a location from a container to one of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartName {
    /// The same place as the container's own, such as the content of a compressed bundle.
    Same,
    /// A number, counted from 0.
    Number(usize),
    /// One part.
    Text(String),
    /// Several parts, the outermost first.
    Path(Vec<String>),
    /// A word, in which nothing is to be escaped, and two numbers: such parts there may be very many of.
    Numbered(&'static str, [usize; 2]),
}

impl PartName {
    /// About how many characters it has in a location.
    fn written_size(&self) -> usize {
        match self {
            Self::Same => 0,
            Self::Number(_) => 8,
            Self::Text(text) => text.len().saturating_add(1),
            Self::Numbered(text, _) => text.len().saturating_add(16),
            Self::Path(parts) => parts
                .iter()
                .fold(0, |size, part| size.saturating_add(part.len()).saturating_add(1)),
        }
    }
}

impl From<usize> for PartName {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for PartName {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Makes the locations of the parts of a container, of which there may be very many.
pub struct Joining<'a> {
    container: &'a Location,
    /// Begins with what all their paths begin with.
    path: String,
    beginning: usize,
}

impl<'a> Joining<'a> {
    /// For the parts of this container.
    #[must_use]
    pub fn new(container: &'a Location) -> Self {
        /// Enough for what most parts are called.
        const MORE: usize = 24;
        let around = container.path.as_str();
        let mut path = String::with_capacity(around.len().saturating_add(MORE));
        path.push_str(around);
        if !path.is_empty() {
            path.push('/');
        }
        Self {
            container,
            beginning: path.len(),
            path,
        }
    }

    /// The same as [`Location::join_name`]; faster for numbers, of which nothing is to be escaped.
    pub fn join(&mut self, name: &PartName) -> Location {
        self.path.truncate(self.beginning);
        match name {
            PartName::Number(number) => self.path.push_str(itoa::Buffer::new().format(*number)),
            PartName::Numbered(word, numbers) => {
                self.path.push_str(word);
                for number in numbers {
                    self.path.push('/');
                    self.path.push_str(itoa::Buffer::new().format(*number));
                }
            }
            _ => return self.container.join_name(name),
        }
        Location {
            file: self.container.file.clone(),
            path: CompactString::from(self.path.as_str()),
        }
    }
}

/// How an empty part is written, so that it is not taken for no part.
const EMPTY: &str = "%";

/// Writes a part in the form in which parts are kept.
struct Escaped<'a>(&'a mut CompactString);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        push_escaped(self.0, text);
        Ok(())
    }
}

fn push_escaped(path: &mut CompactString, text: &str) {
    let mut rest = text;
    while let Some(position) = memchr::memchr3(b'%', b'!', b'/', rest.as_bytes()) {
        let (plain, special) = rest.split_at(position);
        path.push_str(plain);
        path.push_str(match special.as_bytes().first() {
            Some(b'%') => "%25",
            Some(b'!') => "%21",
            _ => "%2F",
        });
        rest = special.get(1..).unwrap_or_default();
    }
    path.push_str(rest);
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file())?;
        if !self.path.is_empty() || self.file().contains('!') {
            f.write_str("!")?;
        }
        f.write_str(&self.path)
    }
}

impl FromStr for Location {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (file, path) = text.rsplit_once('!').unwrap_or((text, ""));
        let mut location = Self::of_file(file);
        for part in path.split('/').filter(|_| !path.is_empty()) {
            // Written anew, for there is more than one way to write some.
            location.push(unescape(part).ok_or_else(|| {
                crate::Error::malformed(format!("invalid location: {text}")).expecting(
                    "FILE!PART/PART with %25, %21 and %2F for %, ! and / in a part, and % for an empty one",
                )
            })?);
        }
        Ok(location)
    }
}

/// A part as it was before it was written, `None` for an unknown escape or where nothing is written.
fn unescape(written: &str) -> Option<String> {
    if written == EMPTY {
        return Some(String::new());
    }
    let mut pieces = written.split('%');
    let mut part = pieces.next()?.to_owned();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        part.push(match code {
            "25" => '%',
            "21" => '!',
            "2F" | "2f" => '/',
            _ => return None,
        });
        part.push_str(rest);
    }
    (!part.is_empty()).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_location_reads_back_as_it_was_written() {
        let file = Location::of_file("dir/lib.so");
        for location in [
            file.clone(),
            file.join(".hip_fatbin").join(3).join("gfx90a"),
            Location::of_file("wow!.o"),
            Location::of_file("wow!.o").join("a/b").join("50%!"),
            file.join(""),
            file.join(0).join(""),
            file.join("").join("").join(0),
            file.join_name(&PartName::Text(String::new())),
            file.join_name(&PartName::Numbered("sycl", [0, 17])),
            Location::of_file("").join(""),
        ] {
            assert_eq!(
                location.to_string().parse::<Location>().unwrap(),
                location,
                "{location}"
            );
        }
        assert_eq!(Location::of_file("wow!.o").to_string(), "wow!.o!");
    }

    #[test]
    fn numbered_parts_of_a_container_are_joined_as_any_other_part() {
        let file = Location::of_file("lib.a");
        for container in [file.clone(), file.join("50%").join("a/b"), file.join("")] {
            let mut places = Joining::new(&container);
            for number in [0, 7, 10, 99_999, 3, usize::MAX] {
                assert_eq!(places.join(&PartName::Number(number)), container.join(number));
            }
            assert_eq!(places.join(&PartName::Same), container);
            assert_eq!(places.join(&PartName::Text("a!".into())), container.join("a!"));
            assert_eq!(places.join(&PartName::Number(1)), container.join(1));
        }
    }

    #[test]
    fn an_empty_part_is_a_part() {
        let file = Location::of_file("a");
        let empty = file.join("");
        assert_ne!(empty, file);
        assert_eq!((empty.depth(), empty.is_file()), (1, false));
        assert!(empty.parts().eq([""]));
        assert_eq!(empty.to_string(), "a!%");
        assert_eq!(file.join(0).join("").to_string(), "a!0/%");
        assert_ne!(file.join(0).join(""), file.join(0));
        // A part that is what stands for an empty one.
        assert_eq!(file.join("%").to_string(), "a!%25");
        assert!(!file.join("x").is_within(&empty));
    }

    #[test]
    fn what_is_in_a_member_is_in_the_archive() {
        let member = Location::of_file("thin!.a").join_member("sub//new!.o");
        assert_eq!(member.to_string(), "thin!.a!sub/new%21.o");
        let inner = Location::of_file("sub/new!.o").join(".llvm.offloading").join(0);
        assert_eq!(
            member.join_inside(&inner).to_string(),
            "thin!.a!sub/new%21.o/.llvm.offloading/0"
        );
        assert_eq!(member.join_inside(&Location::of_file("sub/new!.o")), member);
    }

    #[test]
    fn very_long_names_of_members_are_joined_and_left_at_once() {
        const MANY: usize = 1 << 19;
        let archive = Location::of_file("a.a");
        let member = archive.join_member(&"d/".repeat(MANY));
        assert_eq!(member.depth(), MANY);
        assert_eq!(member.without_last(MANY - 1), archive.join("d"));
        assert_eq!(archive.join("d").without_last(2), archive);
    }

    #[test]
    fn unknown_escapes_and_parts_that_are_not_written_are_refused() {
        for text in ["a!0//1", "a!%%", "a!%x", "a!%2", "a!%41", "a!/0", "a!0/"] {
            let error = text.parse::<Location>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn a_location_lies_within_its_containers() {
        let image: Location = "a!0/ir/1".parse().unwrap();
        assert!(image.is_within(&"a!0".parse().unwrap()));
        assert!(image.is_within(&"a".parse().unwrap()));
        assert!(!image.is_within(&"a!1".parse().unwrap()));
        assert!(!image.is_within(&"b!0".parse().unwrap()));
    }
}
