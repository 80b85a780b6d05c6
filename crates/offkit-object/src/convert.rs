//! From one container format into another, with a list of what is lost on the way.
//!
//! Every format says something that another cannot: a SYCLBIN has property sets, a state and modules of several
//! images; an offload binary has strings, flags and kinds; a bundle has nothing but IDs.

mod bundle;
mod offload;
mod pack;
mod syclbin;

use std::borrow::Cow;
use std::fmt;

use offkit_image::{BundleState, Bytes, Compression, Error, ErrorKind, Limits, Location};

use crate::bundle::{Bundle, BundleEntry, CompressedBundle, CompressedVersion, is_text};
use crate::chunks::Chunks;
use crate::offload_binary::{self, OffloadBinary, OffloadBinaryVersion, OffloadEntry};
use crate::output_format::{BundleForm, OutputFormat};
use crate::reading::Reading;
use crate::syclbin::SyclBin;

pub use pack::pack;

/// A file whose content can be written in another format.
///
/// ```
/// use offkit_object::{ConversionInput, ImageKind, Limits, OffloadBinary, OffloadBinaryVersion};
/// use offkit_object::{BundleState, OffloadEntry, OffloadKind};
///
/// let mut entry = OffloadEntry::new(ImageKind::OBJECT, OffloadKind::HIP, b"\x7fELF and so on");
/// entry.strings.set("triple", "amdgcn-amd-amdhsa");
/// entry.strings.set("arch", "gfx90a");
/// entry.strings.set("note", "from me");
/// let file = OffloadBinary::from(entry).write(OffloadBinaryVersion::V1)?;
///
/// let input = ConversionInput::open("app.out", &file, &Limits::default())?;
/// let converted = input.convert("offload,v2".parse().unwrap(), BundleState::Object)?;
/// assert!(converted.losses.is_empty());
/// let converted = input.convert("bundle".parse().unwrap(), BundleState::Object)?;
/// assert_eq!(converted.losses[0].to_string(), "app.out!0: the string 'note'");
/// # Ok::<(), offkit_object::Error>(())
/// ```
#[derive(Debug)]
pub struct ConversionInput<'data> {
    location: Location,
    limits: Limits,
    content: Content<'data>,
}

#[derive(Debug)]
enum Content<'data> {
    SyclBin(Cow<'data, [u8]>),
    OffloadBinaries(Cow<'data, [u8]>),
    Bundles(Vec<Bundle<'data>>),
}

/// A file in another format.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted<'data> {
    /// The file.
    pub content: Chunks<'data>,
    /// What the input says and the file does not, in the order of the input.
    pub losses: Vec<Loss>,
}

/// Something that a format cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The image, or what holds it, that it was said of.
    pub location: Location,
    /// What is lost, such as `the string 'symbols'`.
    pub what: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.what)
    }
}

/// Collects what is lost.
#[derive(Default)]
struct Losses(Vec<Loss>);

impl Losses {
    fn add(&mut self, location: &Location, what: impl Into<String>) {
        self.0.push(Loss {
            location: location.clone(),
            what: what.into(),
        });
    }
}

/// An entry of an offload binary, which all formats can be brought to, and where its content comes from.
struct Item<'data> {
    location: Location,
    entry: OffloadEntry<'data>,
}

impl<'data> ConversionInput<'data> {
    /// Opens an offload binary, a SYCLBIN or a bundle, in any version and form. `name` is used in locations.
    ///
    /// # Errors
    ///
    /// Another file, and one that is damaged: what is lost could not be told.
    pub fn open(name: &str, bytes: &'data [u8], limits: &Limits) -> Result<Self, Error> {
        let bound = Reading::strict(limits)
            .for_file_of(bytes.len() as u64)
            .inflation_left();
        let content = if crate::syclbin::has_magic(bytes) {
            Content::SyclBin(bytes.into())
        } else if bytes.starts_with(&offload_binary::MAGIC) {
            // Compression says nothing about the content: all that follows sees plain binaries, and
            // what they are shows only then.
            let bytes = OffloadBinary::inflate(bytes, bound)?;
            if offload_binary::is_syclbin(&bytes) {
                Content::SyclBin(bytes)
            } else {
                Content::OffloadBinaries(bytes)
            }
        } else if crate::bundle::has_magic(bytes) {
            Content::Bundles(Bundle::parse_all(bytes, limits)?)
        } else if is_text(bytes) {
            Content::Bundles(vec![Bundle::parse_text(bytes, limits)?])
        } else {
            return Err(
                Error::new(ErrorKind::NotRecognized, "not a container that can be converted")
                    .at(0)
                    .expecting("an offload binary, a SYCLBIN or an offload bundle"),
            );
        };
        let input = Self {
            location: Location::of_file(name),
            limits: limits.clone(),
            content,
        };
        // Whatever is damaged is found now.
        match &input.content {
            Content::SyclBin(bytes) => drop(SyclBin::parse(bytes, limits)?),
            Content::OffloadBinaries(bytes) => drop(OffloadBinary::parse_all(bytes, limits)?),
            Content::Bundles(_) => {}
        }
        Ok(input)
    }

    /// Writes the content in another format. `state` is for a SYCLBIN that is made of a format which has no
    /// state.
    ///
    /// # Errors
    ///
    /// What cannot be written at all, such as an image with a marker of the text form of bundles in it; names of kernels
    /// that would become more than the limits allow, as each image of a module gets its own.
    pub fn convert(&self, format: OutputFormat, state: BundleState) -> Result<Converted<'_>, Error> {
        let mut losses = Losses::default();
        // A SYCLBIN that stays one and bundles that stay bundles do not go by entries of offload binaries: these have
        // no place for property sets, and say a bundle's ID in clang's spelling only.
        let content = match (&self.content, format) {
            (Content::SyclBin(bytes), OutputFormat::SyclBin(version)) => {
                // `SyclBin` has no place for strings that are none of the format's own, and drops them without a word.
                syclbin::foreign_strings(bytes, &self.limits, &self.location, &mut losses);
                SyclBin::parse(bytes, &self.limits)?.write_chunks(version)?
            }
            (Content::Bundles(bundles), OutputFormat::Bundle(form)) => {
                bundle::grouping(bundles, &self.location, &mut losses);
                let entries = bundles.iter().flat_map(|bundle| &bundle.entries);
                let entries = entries.map(|entry| BundleEntry::new(&*entry.id, &*entry.bytes));
                let entries = entries.collect();
                write_bundle(Bundle { entries }, form)?
            }
            (_, OutputFormat::SyclBin(version)) => {
                let items = self.items(&mut losses)?;
                syclbin::from_items(&items, state, &mut losses)?.write_chunks(version)?
            }
            (_, OutputFormat::OffloadBinary(version)) => {
                let items = self.items(&mut losses)?;
                offload::write(items, version, &mut losses)?
            }
            (_, OutputFormat::Bundle(form)) => {
                let items = self.items(&mut losses)?;
                write_bundle(bundle::from_items(&items, &mut losses), form)?
            }
        };
        Ok(Converted {
            content,
            losses: losses.0,
        })
    }

    /// The content as entries of offload binaries.
    fn items(&self, losses: &mut Losses) -> Result<Vec<Item<'_>>, Error> {
        match &self.content {
            Content::SyclBin(bytes) => {
                let program = SyclBin::parse(bytes, &self.limits)?;
                syclbin::foreign_strings(bytes, &self.limits, &self.location, losses);
                let reading = Reading::strict(&self.limits).for_file_of(bytes.len() as u64);
                syclbin::items(program, &self.location, reading, losses)
            }
            Content::OffloadBinaries(bytes) => {
                let all = OffloadBinary::parse_all(bytes, &self.limits)?;
                let entries = all.into_iter().flat_map(|binary| binary.entries).enumerate();
                Ok(entries
                    .map(|(number, entry)| Item {
                        location: self.location.join(number),
                        entry,
                    })
                    .collect())
            }
            Content::Bundles(bundles) => {
                bundle::grouping(bundles, &self.location, losses);
                Ok(bundle::items(bundles, &self.location, losses))
            }
        }
    }
}

fn write_bundle(bundle: Bundle<'_>, form: BundleForm) -> Result<Chunks<'_>, Error> {
    let alignment = bundle::alignment(&bundle);
    let bytes = match form {
        BundleForm::Binary => return bundle.into_chunks(alignment),
        BundleForm::Text => bundle.write_text(crate::bundle::Comment::Slashes)?,
        // Version 3, as the sizes of the others end at 4 GiB.
        BundleForm::Compressed => CompressedBundle::write(
            &bundle.write(alignment)?,
            CompressedVersion::V3,
            Compression::Zstd,
            None,
        )?,
    };
    Ok(Chunks::from(Bytes::from(bytes)))
}

impl OffloadBinaryVersion {
    /// Whether values may have zero bytes, and entries no image.
    fn holds_any_value(self) -> bool {
        self != Self::V1
    }
}
