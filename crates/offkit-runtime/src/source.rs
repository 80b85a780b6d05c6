//! Where the code of registered images is, and the way to it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use offkit_host::files::{self, Content};
use offkit_image::string_keys;
use offkit_object::{
    Bytes, Code, Compression, DeviceImage, ImageFormat, Item, Limits, Location, SharedBytes, Target,
    inflate_whole, walk,
};
use offkit_sync::{Mutex, PoisonError};

use crate::library::Options;
use crate::scope::SharedObjectId;

/// Images in memory that its owner takes back one day, as a program's are until it is unloaded.
///
/// [`ImageRegistry::lend`](crate::ImageRegistry::lend) registers them. Whoever takes them back withdraws them, and sees
/// to it that no call of these is going on and that later ones find nothing before the memory goes.
pub trait Lent: Send + Sync {
    /// Hands over the images and problems as [`walk`], or for `names_only` as
    /// [`walk_names`](offkit_object::walk_names); nothing once they were taken back.
    fn walk(&self, names_only: bool, limits: &Limits, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>);

    /// A copy of bytes of an image, counted as its [`offset`](DeviceImage::offset) is; `None` once they were taken back.
    fn copy(&self, range: Range<u64>) -> Option<Vec<u8>>;

    /// The program or shared library that the images are in, if they are in one.
    fn object(&self) -> Option<SharedObjectId> {
        None
    }
}

/// Where the code of a library is.
#[derive(Clone)]
pub(crate) enum Source {
    /// In memory that its owner takes back.
    Lent(Arc<dyn Lent>),
    /// An image by itself.
    Image(Arc<DeviceImage<'static>>),
    /// In memory.
    Memory(SharedBytes),
    /// In a file, of which the parts are read that are needed.
    File(Arc<OpenFile>),
}

/// Why an image cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// It was withdrawn.
    #[error("the image was withdrawn")]
    Withdrawn,
    /// Its file is not what it was.
    #[error("`{file}` was changed after it was registered")]
    Changed {
        /// The file.
        file: String,
    },
    /// Its file cannot be read.
    #[error("cannot read `{file}`")]
    Read {
        /// The file.
        file: String,
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// It cannot be unpacked.
    #[error("cannot unpack `{image}`")]
    Damaged {
        /// The image.
        image: Location,
        /// What is wrong with it.
        source: offkit_object::Error,
    },
}

/// A file that stays open, so that it is the same one when others get its name.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Behind a lock, for reading moves its position.
    file: Mutex<File>,
    length: u64,
    modified: Option<SystemTime>,
}

impl Source {
    /// Opens a file, and gives its content for as long as it takes to go through it.
    ///
    /// What is no regular file is read.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, SharedBytes)> {
        Self::of_file(File::open(path)?)
    }

    /// The same of a file that is open.
    pub(crate) fn of_file(mut file: File) -> io::Result<(Self, SharedBytes)> {
        let metadata = file.metadata()?;
        // Neither pipes nor files of no bytes can be mapped.
        if !metadata.is_file() || metadata.len() == 0 {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let bytes: SharedBytes = Arc::new(bytes);
            return Ok((Self::Memory(Arc::clone(&bytes)), bytes));
        }
        let content = Arc::new(files::map(&file)?);
        let file = OpenFile {
            file: Mutex::new(file),
            length: metadata.len(),
            modified: metadata.modified().ok(),
        };
        Ok((Self::File(Arc::new(file)), content))
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lent(_) => "lent memory",
            Self::Image(_) => "an image",
            Self::Memory(_) => "memory",
            Self::File(_) => "a file",
        })
    }
}

impl OpenFile {
    /// Does something with the file, if it is still what was registered.
    fn with<T>(&self, name: &str, work: impl FnOnce(&mut File) -> io::Result<T>) -> Result<T, ImageError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |source: io::Error| ImageError::Read {
            file: name.to_owned(),
            source: Arc::new(source),
        };
        // That it is open keeps the file when others get its name, but not when it is written in
        // place: what was noted of it may be wrong by then.
        let metadata = file.metadata().map_err(failed)?;
        if metadata.len() != self.length || metadata.modified().ok() != self.modified {
            return Err(ImageError::Changed {
                file: name.to_owned(),
            });
        }
        work(&mut file).map_err(failed)
    }

    fn read(&self, name: &str, range: &Range<u64>) -> Result<Vec<u8>, ImageError> {
        self.with(name, |file| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(range.start))?;
            let length = range.end.saturating_sub(range.start);
            // It may be cut short between the look at its size and this: no code without its end.
            match file.take(length).read_to_end(&mut bytes)? as u64 {
                read if read == length => Ok(bytes),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        })
    }

    fn map(&self, name: &str) -> Result<Content, ImageError> {
        self.with(name, |file| files::map(file))
    }
}

/// The way to an image.
pub(crate) struct Opening {
    pub(crate) source: Source,
    pub(crate) limits: Limits,
    pub(crate) location: Location,
    pub(crate) stored: Option<Range<u64>>,
    pub(crate) compression: Option<(Compression, u64)>,
    pub(crate) format: ImageFormat,
    pub(crate) target: Target,
    pub(crate) options: Options,
}

impl Opening {
    /// The image with its code, its format, its target, its options and where it is: what it takes to launch it.
    pub(crate) fn code(&self) -> Result<DeviceImage<'static>, ImageError> {
        // What lies within something compressed has no place in the file: it is looked for again.
        let Some(range) = &self.stored else {
            return self.image();
        };
        let stored = match &self.source {
            Source::Lent(lent) => lent.copy(range.clone()).ok_or(ImageError::Withdrawn)?.into(),
            Source::Image(image) => return Ok((**image).clone()),
            Source::Memory(bytes) => {
                let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
                Bytes::shared(Arc::clone(bytes), place(range.start)..place(range.end))
            }
            Source::File(file) => file.read(self.location.file(), range)?.into(),
        };
        let code = match self.compression {
            None => Code::from(stored),
            Some((method, size)) => Code::compressed(stored, method, size, inflate_whole),
        };
        // Compressed code shows its format only when somebody unpacks it; until then what was noted of it holds.
        let shown = code.at_hand().map(ImageFormat::detect);
        let format = shown.map_or(self.format, |shown| shown.or(Some(self.format)));
        let mut image = DeviceImage::of_format(code, format);
        image.location = self.location.clone();
        image.target = self.target.clone();
        let Options { compile, link } = &self.options;
        for (key, options) in [
            (string_keys::COMPILE_OPTIONS, compile),
            (string_keys::LINK_OPTIONS, link),
        ] {
            if let Some(options) = options {
                image.strings.set(key, options.to_string());
            }
        }
        image.offset = Some(range.start);
        Ok(image)
    }

    /// The image with all that its file says about it.
    pub(crate) fn image(&self) -> Result<DeviceImage<'static>, ImageError> {
        match &self.source {
            Source::Lent(lent) => self
                .found(
                    |visit| lent.walk(false, &self.limits, visit),
                    |image| image.into_owned(),
                )
                .ok_or(ImageError::Withdrawn),
            Source::Image(image) => Ok((**image).clone()),
            Source::Memory(bytes) => self.found_in((**bytes).as_ref(), |image| image.share(bytes)),
            Source::File(file) => {
                let content = file.map(self.location.file())?;
                self.found_in(&content, |image| image.into_owned())
            }
        }
    }

    fn found_in(
        &self,
        bytes: &[u8],
        keep: impl Fn(DeviceImage<'_>) -> DeviceImage<'static>,
    ) -> Result<DeviceImage<'static>, ImageError> {
        let goal = Some(&self.location);
        let walk = |visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>| {
            let _ = walk(self.location.file(), bytes, goal, &self.limits, visit);
        };
        self.found(walk, keep).ok_or_else(|| ImageError::Changed {
            file: self.location.file().to_owned(),
        })
    }

    /// The image, among all that `walk` hands over.
    fn found(
        &self,
        walk: impl FnOnce(&mut dyn FnMut(Item<'_>) -> ControlFlow<()>),
        keep: impl Fn(DeviceImage<'_>) -> DeviceImage<'static>,
    ) -> Option<DeviceImage<'static>> {
        let mut found = None;
        walk(&mut |item| match item {
            Item::Image(image) if image.location == self.location => {
                found = Some(keep(image));
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        found
    }
}
