//! AMD's kpack archives, and libraries whose code is in them.

use std::collections::{BTreeMap, HashMap};

use offkit_image::{DeviceImage, Error, Limits, Location};
use rmpv::Value;

use crate::compression::zstd;
use crate::contents::images as images_of;
use crate::host::{self, Redirected};
use crate::kpack::MAGIC;
use crate::source::Source;

/// Code begins there, in whatever way it is stored.
const FIRST_BLOB: usize = 64;

/// An archive of the code objects for one architecture. Each is named by its library, which of that library's wrappers it
/// is for, and the architecture: `lib/libfoo.so#0/gfx1100`.
///
/// ```
/// let archive = offkit_object::split::kpack::write("foo", "gfx1100", [("lib/libfoo.so#0/gfx1100", b"code".as_slice())])?;
/// let images = offkit_object::split::kpack::images(&archive, &Default::default())?;
/// assert_eq!(images["lib/libfoo.so#0/gfx1100"], b"code");
/// # Ok::<(), offkit_object::Error>(())
/// ```
///
/// # Errors
///
/// A code object of more than 4 GiB, and a name without an architecture.
pub fn write<'m>(
    group: &str,
    arch: &str,
    images: impl IntoIterator<Item = (&'m str, &'m [u8])>,
) -> Result<Vec<u8>, Error> {
    let narrow = |size: usize| {
        u32::try_from(size)
            .map_err(|_| Error::unrepresentable("a code object is too large for a kpack archive"))
    };
    let mut frames = Vec::new();
    let mut files: BTreeMap<&str, Vec<(Value, Value)>> = BTreeMap::new();
    let mut count = 0_u32;
    for (name, image) in images {
        let (file, target) = name
            .rsplit_once('/')
            .ok_or_else(|| Error::unrepresentable("a code object of no library").finding(name))?;
        let frame = zstd::compress(image, None, false)?;
        frames.extend(narrow(frame.len())?.to_le_bytes());
        frames.extend(frame);
        let entry = map([
            ("type", "hsaco".into()),
            // Over all libraries, as the frames stand in one list however the table groups them.
            ("ordinal", count.into()),
            ("original_size", (image.len() as u64).into()),
        ]);
        files.entry(file).or_default().push((target.into(), entry));
        count = count.saturating_add(1);
    }
    let processor = arch.split(':').next().unwrap_or(arch);
    let size = frames.len().saturating_add(size_of::<u32>());
    let toc = files
        .into_iter()
        .map(|(file, entries)| (file.into(), Value::Map(entries)));
    let table = map([
        ("format_version", 1.into()),
        ("group_name", group.into()),
        ("gfx_arch_family", processor.into()),
        ("gfx_arches", Value::Array(vec![arch.into()])),
        ("compression_scheme", "zstd-per-kernel".into()),
        ("zstd_offset", (FIRST_BLOB as u64).into()),
        ("zstd_size", (size as u64).into()),
        ("toc", Value::Map(toc.collect())),
    ]);
    let mut out = MAGIC.to_vec();
    out.extend(1_u32.to_le_bytes());
    out.extend((FIRST_BLOB.saturating_add(size) as u64).to_le_bytes());
    out.resize(FIRST_BLOB, 0);
    out.extend(count.to_le_bytes());
    out.extend(frames);
    encode(&table, &mut out)?;
    Ok(out)
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    Value::Map(
        pairs
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect(),
    )
}

fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    rmpv::encode::write_value(out, value)
        .map_err(|error| Error::unrepresentable("a kpack archive cannot be written").finding(error))
}

/// The code objects of an archive, by the names that [`write()`] was given.
///
/// # Errors
///
/// What is wrong with the archive.
pub fn images(archive: &[u8], limits: &Limits) -> Result<HashMap<String, Vec<u8>>, Error> {
    let mut found = HashMap::new();
    for image in images_of("archive", archive, limits) {
        let image = image.map_err(|problem| problem.error)?;
        let parts: Vec<_> = image.location.parts().collect();
        found.insert(parts.join("/"), image.bytes()?.to_vec());
    }
    Ok(found)
}

/// A linked library or program whose wrappers lead to archives instead of bundles, and the name that each of its images
/// has in an archive, by its path: `.hip_fatbin/0/gfx1100` is `lib/libfoo.so#0/gfx1100`.
///
/// `path` is where the library is installed, with `/` between folders; `search_paths` are where archives are, from the
/// library's folder on, with `@GFXARCH@` for the architecture. What was the section of bundles becomes
/// `.rocm_kpack_ref`; addresses stay as they are, and whole pages leave the file.
///
/// # Errors
///
/// Anything but a linked ELF file of 64 bits with bundles for HIP; bundles that no wrapper leads to, and those with code
/// that is for no single architecture.
pub fn host_file(
    library: &[u8],
    path: &str,
    search_paths: &[String],
    limits: &Limits,
) -> Result<(Vec<u8>, BTreeMap<String, String>), Error> {
    let mut reference = Vec::new();
    let paths = search_paths.iter().map(|path| path.as_str().into());
    encode(
        &map([
            ("kernel_name", path.into()),
            ("kpack_search_paths", Value::Array(paths.collect())),
        ]),
        &mut reference,
    )?;
    let Redirected { bytes, wrappers } = host::redirect(Source::new(library), &reference, limits)?;
    let mut names = BTreeMap::new();
    let whole = Location::of_file("library");
    for image in images_of(whole.file(), library, limits) {
        let image = image.map_err(|problem| problem.error)?;
        if let Some(wrapper) = wrapper_of(&image, &wrappers)? {
            let arch = image.target.arch_with_features();
            names.insert(
                image.location.path().to_owned(),
                format!("{path}#{wrapper}/{arch}"),
            );
        }
    }
    // An archive tells the code objects of a wrapper by their architecture alone: two of one would be one.
    let mut all: Vec<&String> = names.values().collect();
    all.sort_unstable();
    let mut neighbours = all.iter().zip(all.iter().skip(1));
    match neighbours.find(|(one, next)| one == next) {
        Some((name, _)) => {
            Err(Error::unrepresentable("a bundle has two code objects of one name").finding(name))
        }
        None => Ok((bytes, names)),
    }
}

/// The number of the wrapper of an image in a bundle; `None` for another image.
fn wrapper_of(image: &DeviceImage<'_>, wrappers: &BTreeMap<usize, u64>) -> Result<Option<u64>, Error> {
    let parts: Vec<_> = image.location.parts().collect();
    // Section, number of the bundle, architecture. Images at other depths are in no such section.
    let [section, bundle, _] = parts.as_slice() else {
        return Ok(None);
    };
    if !host::is_bundle_section(section.as_bytes()) || image.target.family().is_host() {
        return Ok(None);
    }
    if image.format.is_portable() {
        return Err(Error::unsupported(
            "a bundle has code that is for no single architecture, and kpack has no place for it",
        )
        .finding(&image.location));
    }
    let wrapper = bundle
        .parse()
        .ok()
        .and_then(|bundle: usize| wrappers.get(&bundle));
    match wrapper {
        Some(wrapper) => Ok(Some(*wrapper)),
        None => Err(Error::unsupported("nothing registers this bundle").finding(&image.location)),
    }
}
