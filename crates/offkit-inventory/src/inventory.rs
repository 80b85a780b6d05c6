//! What is known about the images of some files, without their bytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use offkit_image::{DeviceImage, Location, Problem, Resources};

use crate::names::{NameId, Names};

/// The images of some files, and their kernels where these were asked for.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Inventory {
    /// The files that were looked into.
    pub files: Vec<(String, u64)>,
    /// Libraries, programs, objects and other files that may have images, and what has none of these around it.
    pub libraries: Vec<Library>,
    /// The images, in the order of the files.
    pub images: Vec<Listed>,
    /// The kernels of all images, those of one image beside each other.
    pub kernels: Vec<Kernel>,
    /// The names of the kernels.
    pub names: Names,
    /// Whether kernels were asked for.
    pub has_kernels: bool,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// What the libraries are called, from when that was first asked on.
    pub(crate) library_names: OnceLock<Vec<String>>,
}

/// A file with images: a library, a program or an object, in a package or alone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Library {
    /// Where it is.
    pub location: Location,
    /// Its bytes, unpacked where it is in something compressed.
    pub size: u64,
    /// Its bytes where they are in something compressed, such as a package.
    pub packed: Option<u64>,
    /// Whether it has code for the host.
    pub is_host: bool,
    /// The bytes of its images as they are in it.
    pub stored: u64,
    /// The shared libraries that it needs, by their names.
    pub needed: Vec<String>,
}

impl Library {
    /// The name of its file.
    #[must_use]
    pub fn file_name(&self) -> &str {
        let way = match self.location.is_file() {
            true => self.location.file(),
            false => self.location.path(),
        };
        way.rsplit('/').next().unwrap_or(way)
    }

    /// What is not device code: the host's code, its data and all headers.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        self.size.saturating_sub(self.stored)
    }

    /// What it is called among the libraries of its file: the way to it, or the file's name. Among those of several
    /// files [`Inventory::library_name`] tells it apart.
    #[must_use]
    pub fn name(&self) -> String {
        match self.location.is_file() {
            true => self.file_name().to_owned(),
            false => self.location.path().to_owned(),
        }
    }
}

/// An image, and what it takes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listed {
    /// What is known about it; its bytes are not kept.
    pub image: DeviceImage<'static>,
    /// The number of its library.
    pub library: usize,
    /// The bytes it takes in its library, without the headers around it. Of images that are compressed together it is
    /// their part by size: see [`is_share`](Self::is_share).
    pub stored: u64,
    /// Whether `stored` is a part of what several images take together.
    pub is_share: bool,
    /// Its bytes, unpacked.
    pub size: u64,
    /// Where its kernels are among all.
    pub kernels: Range<usize>,
    /// XXH3 of its bytes as they are stored, where kernels were asked for and it could be unpacked: images of one digest are
    /// taken to be the same. Tools compress what is the same alike; copies that are compressed in different ways have
    /// different digests. Of unpacked bytes, which are 16 times as many in a library of PyTorch's, it took a seventh of the
    /// time of a whole `offkit size`. It does not stand up to who wants to deceive, as SHA-256 does.
    pub digest: Option<u128>,
    /// What its bytes say that it needs of a device, by SYCL's numbers, where kernels were asked for.
    pub aspects: Vec<u32>,
}

impl Listed {
    /// What it was compiled for, as short as it can be said: `sm_80`, `gfx90a:xnack-`, `spir64`.
    #[must_use]
    pub fn arch(&self) -> String {
        let target = &self.image.target;
        match (target.arch_with_features(), target.triple.split('-').next()) {
            (arch, _) if !arch.is_empty() => arch,
            (_, Some(triple)) if !triple.is_empty() => triple.to_owned(),
            _ => "unknown".to_owned(),
        }
    }
}

/// A kernel of an image.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Kernel {
    /// What it is called.
    pub name: NameId,
    /// The number of its image.
    pub image: usize,
    /// What it takes of a device.
    pub resources: Resources,
}

impl Kernel {
    /// The bytes of its code, as far as that is known.
    #[must_use]
    pub fn code(&self) -> u64 {
        self.resources.code_size.unwrap_or(0)
    }

    /// The bytes of the code of several, which no file can make overflow.
    pub(crate) fn code_of(kernels: &[Self]) -> u64 {
        sum(kernels.iter().map(Self::code))
    }
}

/// A sum of numbers from files, at most the largest number there is.
pub(crate) fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Whether a library is one of the C and C++ runtime.
#[must_use]
pub fn is_of_runtime(name: &str) -> bool {
    const NAMES: [&str; 18] = [
        "libc.so",
        "libm.so",
        "libmvec.so",
        "libdl.so",
        "libpthread.so",
        "librt.so",
        "libutil.so",
        "libgcc_s.so",
        "libgomp",
        "libstdc++.so",
        "libc++",
        "ld-linux",
        "kernel32.dll",
        "msvcp",
        "vcruntime",
        "ucrtbase",
        "api-ms-win-",
        "advapi32.dll",
    ];
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|known| name.starts_with(known))
}

/// The part of some bytes that `some` of `all` take.
pub(crate) fn part(bytes: u64, some: u64, all: u64) -> u64 {
    // A product of two such numbers needs twice the bits: both come from files.
    let share = u128::from(bytes) * u128::from(some) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

impl Inventory {
    /// What the library of that number is called: as short as can be, and with its place where another library of
    /// another file has the same name.
    #[must_use]
    pub fn library_name(&self, number: usize) -> &str {
        let names = self.library_names.get_or_init(|| {
            let short: Vec<String> = self.libraries.iter().map(Library::name).collect();
            // By places and not by how often: a file that was given twice needs no longer name.
            let mut places = HashMap::<&str, HashSet<&Location>>::new();
            for (name, library) in short.iter().zip(&self.libraries) {
                places.entry(name).or_default().insert(&library.location);
            }
            let is_one = |name: &str| places.get(name).is_none_or(|places| places.len() == 1);
            let names = short.iter().zip(&self.libraries);
            let unique = names.map(|(name, library)| match is_one(name) {
                true => name.clone(),
                false => library.location.to_string(),
            });
            unique.collect()
        });
        names.get(number).map_or("", String::as_str)
    }

    /// The shared libraries that the libraries need and that are not among them, each with the number of one that needs
    /// it. Those of the C and C++ runtime, which have no device code, are left out.
    #[must_use]
    pub fn needed_elsewhere(&self) -> BTreeMap<&str, usize> {
        let own: HashSet<&str> = self.libraries.iter().map(Library::file_name).collect();
        let mut needed = BTreeMap::new();
        for (number, library) in self.libraries.iter().enumerate() {
            for name in &library.needed {
                if !own.contains(name.as_str()) && !is_of_runtime(name) {
                    needed.entry(name.as_str()).or_insert(number);
                }
            }
        }
        needed
    }

    /// The kernels of an image.
    #[must_use]
    pub fn kernels_of(&self, image: &Listed) -> &[Kernel] {
        self.kernels.get(image.kernels.clone()).unwrap_or_default()
    }

    /// The bytes that a kernel takes in its file: its part of its image, by the size of the code. An estimate, for
    /// compressed bytes cannot be told apart.
    #[must_use]
    pub fn share_of(&self, kernel: &Kernel) -> u64 {
        let Some(image) = self.images.get(kernel.image) else {
            return 0;
        };
        let all = Kernel::code_of(self.kernels_of(image));
        let count = self.kernels_of(image).len() as u64;
        match (all, count) {
            (_, 0) => 0,
            // PTX has no machine code to measure: all kernels of such an image count alike.
            (0, count) => image.stored / count,
            (all, _) => part(image.stored, kernel.code(), all),
        }
    }

    /// The bytes of all files.
    #[must_use]
    pub fn size(&self) -> u64 {
        sum(self.files.iter().map(|(_, size)| *size))
    }

    /// Adds an inventory of other files behind this one.
    pub fn append(&mut self, other: Self) {
        // A name that told one library apart so far may now be that of two.
        self.library_names.take();
        let [libraries, images, kernels] = [self.libraries.len(), self.images.len(), self.kernels.len()];
        // Numbers of names mean something in their own inventory only.
        let names: Vec<NameId> = other.names.symbols().map(|name| self.names.add(name)).collect();
        self.files.extend(other.files);
        self.libraries.extend(other.libraries);
        self.images.extend(other.images.into_iter().map(|mut listed| {
            listed.library += libraries;
            listed.kernels = listed.kernels.start + kernels..listed.kernels.end + kernels;
            listed
        }));
        self.kernels.extend(other.kernels.into_iter().map(|mut kernel| {
            kernel.name = names[kernel.name.number()];
            kernel.image += images;
            kernel
        }));
        self.has_kernels |= other.has_kernels;
        self.problems.extend(other.problems);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_library(file: &str) -> Inventory {
        let library = Library {
            location: Location::of_file(file),
            size: 1,
            packed: None,
            is_host: true,
            stored: 1,
            needed: Vec::new(),
        };
        Inventory {
            libraries: vec![library],
            ..Inventory::default()
        }
    }

    #[test]
    fn appended_libraries_have_names_and_change_those_before() {
        let mut all = with_library("one/lib.so");
        assert_eq!(all.library_name(0), "lib.so");
        all.append(with_library("two/lib.so"));
        assert_eq!(
            [0, 1].map(|number| all.library_name(number)),
            ["one/lib.so", "two/lib.so"]
        );
    }
}
