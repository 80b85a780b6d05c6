//! All the device images a process knows, and which of them have a kernel.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use offkit_object::{
    DeviceImage, ImageFormat, Inspect, Limits, Location, Problem, SharedBytes, Symbols, Target,
};
use offkit_sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::index::{Index, NameId, number};
use crate::library::{Draft, Library, Told};
use crate::rule::ExporterRule;
use crate::scope::{Loader, SharedObjectId, Visibility};
use crate::source::{ImageError, Lent, Opening, Source};

/// The device images a process knows, in the order in which they became known.
///
/// Registering an image notes where it is and what it is called, and no more: code is read when a kernel of it is
/// built, and forgotten afterwards. All methods may be called from several threads.
#[derive(Debug, Default)]
pub struct ImageRegistry {
    state: RwLock<State>,
    /// The images that somebody has opened and still uses.
    opened: Mutex<HashMap<ImageId, Weak<DeviceImage<'static>>>>,
    /// Held by the thread that reads names from code.
    reading: Mutex<()>,
    loader: Option<Arc<dyn Loader>>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) index: Index,
    /// By the number of the first image.
    libraries: BTreeMap<u32, Library>,
    /// The number of the next image.
    next: u32,
    /// Images with names that are yet to be read from their code: kernels, or imports and exports.
    pub(crate) unread: [Vec<ImageId>; 2],
    /// How much of the index is about images that were withdrawn.
    stale: usize,
    /// How many libraries were.
    pub(crate) withdrawals: u64,
    /// The images with virtual functions, by the names of their sets.
    pub(crate) virtual_functions: BTreeMap<String, Vec<ImageId>>,
    exporter_rule: ExporterRule,
}

/// An image of a registry. A number stands for one image for ever: once that is withdrawn, for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId(pub(crate) u32);

/// Which names of images somebody wants to look through.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    Kernels,
    Links,
}

/// Images of a registry that came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryId(u32);

/// What came of registering a file.
#[derive(Clone, Debug)]
pub struct Registered {
    /// All of it, to withdraw it.
    pub library: LibraryId,
    /// The images.
    pub images: Vec<ImageId>,
    /// What is damaged, and left out.
    pub problems: Vec<Problem>,
}

impl ImageRegistry {
    /// A registry without images.
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry of a process, without images: those in programs and libraries are searched as the process searches
    /// host symbols, by [`ExporterRule::First`].
    pub fn of_process(loader: Arc<dyn Loader>) -> Self {
        let state = State {
            exporter_rule: ExporterRule::First,
            ..State::default()
        };
        Self {
            state: RwLock::new(state),
            loader: Some(loader),
            ..Self::default()
        }
    }

    /// Which image supplies a symbol that several export.
    pub fn exporter_rule(&self) -> ExporterRule {
        self.read().exporter_rule
    }

    /// Changes the rule for collections from now on.
    pub fn set_exporter_rule(&self, rule: ExporterRule) {
        self.write().exporter_rule = rule;
    }

    /// Whom the images of a library serve from now on; `false` if it is withdrawn.
    ///
    /// Libraries serve everybody, unless they are shared objects: of these the [`Loader`] says it, and
    /// [`Visibility::Global`] overrides that.
    pub fn set_visibility(&self, library: LibraryId, visibility: Visibility) -> bool {
        let mut state = self.write();
        let library = state.libraries.get_mut(&library.0);
        library.is_some_and(|library| {
            library.visibility = visibility;
            true
        })
    }

    /// Registers an image.
    pub fn add(&self, image: DeviceImage<'static>) -> ImageId {
        let mut draft = Draft::default();
        draft.add(&image);
        let source = Source::Image(Arc::new(image));
        // A library has the number of its first image.
        let (LibraryId(first), _) = self.register(draft, source, None, &Limits::default());
        ImageId(first)
    }

    /// Registers all images of a file by its path, as [`add_file`](Self::add_file) does.
    ///
    /// The file is mapped while this goes through it, and is not kept in memory: it stays open, and what is needed of it
    /// is read when it is needed. So this may be a guest in another's process: when somebody changes or cuts short the
    /// file later, its images are gone ([`ImageError::Changed`]) and nothing else happens. Only while this runs would
    /// cutting the file short end the process.
    ///
    /// # Errors
    ///
    /// The system's, if the file cannot be read.
    pub fn open(&self, path: impl AsRef<Path>, limits: &Limits) -> io::Result<Registered> {
        let path = path.as_ref();
        let (source, content) = Source::open(path)?;
        let place = Location::of_file(path.to_string_lossy());
        Ok(self.go_through(&place, source, None, (*content).as_ref(), limits))
    }

    /// The same of the file that a program or shared library was loaded from, which is called so in locations.
    ///
    /// The file is given open: whoever has the object sees to it that this is its file, for by now its path may lead to
    /// another.
    ///
    /// # Errors
    ///
    /// The system's, if the file cannot be read.
    pub fn add_object(
        &self,
        name: &str,
        file: File,
        object: SharedObjectId,
        limits: &Limits,
    ) -> io::Result<Registered> {
        let (source, content) = Source::of_file(file)?;
        let place = Location::of_file(name);
        Ok(self.go_through(&place, source, Some(object), (*content).as_ref(), limits))
    }

    /// Registers all images of a file in memory: a container of any kind that offkit reads, or an image by itself.
    pub fn add_file(&self, name: &str, bytes: SharedBytes, limits: &Limits) -> Registered {
        self.add_within(&Location::of_file(name), bytes, limits)
    }

    /// Registers the images of a file in memory that lie within a location; `bytes` are those of the whole file.
    ///
    /// The problems are those met anywhere in the file.
    pub fn add_within(&self, place: &Location, bytes: SharedBytes, limits: &Limits) -> Registered {
        let source = Source::Memory(Arc::clone(&bytes));
        self.go_through(place, source, None, (*bytes).as_ref(), limits)
    }

    /// Registers images in memory that its owner takes back one day, and notes of them what it does of a file's.
    pub fn lend(&self, lent: Arc<dyn Lent>, limits: &Limits) -> Registered {
        let (draft, problems) = Draft::of_walk(|visit| lent.walk(true, limits, visit), |_| true);
        let object = lent.object();
        let (library, images) = self.register(draft, Source::Lent(lent), object, limits);
        Registered {
            library,
            images,
            problems,
        }
    }

    fn go_through(
        &self,
        place: &Location,
        source: Source,
        object: Option<SharedObjectId>,
        bytes: &[u8],
        limits: &Limits,
    ) -> Registered {
        let (draft, problems) = Draft::of_file(place, bytes, limits);
        let (library, images) = self.register(draft, source, object, limits);
        tracing::debug!(%place, images = images.len(), "registered device images");
        Registered {
            library,
            images,
            problems,
        }
    }

    fn register(
        &self,
        draft: Draft,
        source: Source,
        object: Option<SharedObjectId>,
        limits: &Limits,
    ) -> (LibraryId, Vec<ImageId>) {
        // One lock from the first name to the last image: whoever looks finds all of a library, or
        // nothing of it.
        let mut state = self.write();
        let State {
            index,
            libraries,
            next,
            unread,
            virtual_functions,
            ..
        } = &mut *state;
        let library = draft.number_names(source, object, limits.clone(), index);
        let first = *next;
        // A library without images has a number of its own, too.
        *next = number(first as usize + library.len().max(1));
        let images: Vec<ImageId> = (first..).take(library.len()).map(ImageId).collect();
        for (position, &id) in images.iter().enumerate() {
            let told = library.told(position);
            library.enter(position, id, told, index);
            for (unread, is_told) in unread.iter_mut().zip([told.kernels, told.links]) {
                if !is_told {
                    unread.push(id);
                }
            }
        }
        for (position, functions) in library.virtual_functions() {
            for set in &functions.defines {
                let images = virtual_functions.entry(set.clone()).or_default();
                images.push(ImageId(first + number(position)));
            }
        }
        libraries.insert(first, library);
        (LibraryId(first), images)
    }

    /// Withdraws the images of a library; `false` if that was done before.
    ///
    /// Kernels that were built of them live on.
    pub fn withdraw(&self, library: LibraryId) -> bool {
        let mut state = self.write();
        let LibraryId(first) = library;
        let Some(library) = state.libraries.remove(&first) else {
            return false;
        };
        for (_, functions) in library.virtual_functions() {
            for set in &functions.defines {
                // What is below the first wraps around, and is beyond the last as well.
                let is_other = |image: &ImageId| image.0.wrapping_sub(first) as usize >= library.len();
                if let Some(images) = state.virtual_functions.get_mut(set) {
                    images.retain(is_other);
                }
            }
        }
        state.withdrawals += 1;
        let entered = |image| library.kernels(image).len() + library.exports(image).len();
        state.stale += (0..library.len()).map(entered).sum::<usize>();
        // Clearing up costs as much as all that is there, so it waits until half of that is stale.
        if state.stale > state.index.len() / 2 {
            state.clear_up();
        }
        true
    }

    /// All images, in the order in which they became known.
    pub fn images(&self) -> Vec<ImageId> {
        self.read().images().collect()
    }

    /// The library that an image came with; `None` once it is withdrawn.
    pub fn library(&self, image: ImageId) -> Option<LibraryId> {
        self.read().library_of(image)
    }

    /// The images of a library; none once it is withdrawn.
    pub fn library_images(&self, LibraryId(first): LibraryId) -> Vec<ImageId> {
        let state = self.read();
        let count = state.libraries.get(&first).map_or(0, Library::len);
        (first..).take(count).map(ImageId).collect()
    }

    /// Where an image is; `None` once it is withdrawn.
    pub fn location(&self, image: ImageId) -> Option<Location> {
        let state = self.read();
        let (library, position) = state.line(image)?;
        Some(library.location(position).clone())
    }

    /// What an image is; `None` once it is withdrawn.
    pub fn format(&self, image: ImageId) -> Option<ImageFormat> {
        let state = self.read();
        let (library, position) = state.line(image)?;
        Some(library.format(position))
    }

    /// What an image was compiled for; `None` once it is withdrawn.
    pub fn target(&self, image: ImageId) -> Option<Target> {
        let state = self.read();
        let (library, position) = state.line(image)?;
        Some(library.target(position).clone())
    }

    /// The names of an image; `None` once it is withdrawn.
    pub fn symbols(&self, image: ImageId) -> Option<Symbols> {
        self.read_names_of(&[image]);
        let state = self.read();
        let (library, position) = state.line(image)?;
        let [kernels, imports, exports] = library
            .names(position)
            .map(|names| state.texts(names).map(str::to_owned).collect());
        Some(Symbols {
            kernels,
            imports,
            exports,
        })
    }

    /// An image with all that its file says about it, which is read for this.
    ///
    /// # Errors
    ///
    /// The image was withdrawn, or its file cannot be read or is another one by now.
    pub fn image(&self, image: ImageId) -> Result<DeviceImage<'static>, ImageError> {
        self.opening(image)?.image()
    }

    /// An image with its code, its format and its target, shared by all that use it at the same time.
    pub(crate) fn code(&self, image: ImageId) -> Result<Arc<DeviceImage<'static>>, ImageError> {
        // First, so that nobody gets an image that was withdrawn for others still using it.
        let opening = self.opening(image)?;
        let opened = |opened: &HashMap<ImageId, Weak<_>>| opened.get(&image).and_then(Weak::upgrade);
        let lock = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = opened(&lock()) {
            return Ok(code);
        }
        // Without the lock, for it may take reading a file. Others may do the same meanwhile: then theirs is taken.
        let code = Arc::new(opening.code()?);
        let mut all = lock();
        if let Some(code) = opened(&all) {
            return Ok(code);
        }
        // Those that nobody uses any more are looked for when the map would grow, and so ever more rarely.
        if all.len() == all.capacity() {
            all.retain(|_, code| code.strong_count() > 0);
        }
        all.insert(image, Arc::downgrade(&code));
        Ok(code)
    }

    fn opening(&self, image: ImageId) -> Result<Opening, ImageError> {
        let state = self.read();
        let (library, position) = state.line(image).ok_or(ImageError::Withdrawn)?;
        Ok(library.opening(position))
    }

    /// Reads the names of all images that containers did not tell.
    pub(crate) fn read_names(&self, wanted: Wanted) {
        // Where containers have told all names, nobody has to wait for those who read code.
        if self.read().unread[wanted as usize].is_empty() {
            return;
        }
        // One thread reads, others wait for it; images can be registered and withdrawn meanwhile.
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let unread = self.read().unread[wanted as usize].clone();
        self.read_names_of(&unread);
        // Others have come behind these at most.
        self.write().unread[wanted as usize].drain(..unread.len());
    }

    /// The same for some images.
    pub(crate) fn read_names_of(&self, images: &[ImageId]) {
        let is_unread = |image: &ImageId| {
            let state = self.read();
            let told = state
                .line(*image)
                .map(|(library, position)| library.told(position));
            told.is_some_and(|told| !told.kernels || !told.links)
        };
        let unread = images.iter().copied().filter(is_unread);
        // Without the lock: code may have to be read from a file and unpacked, which takes long.
        let read: Vec<_> = unread.map(|image| (image, self.symbols_in_code(image))).collect();
        if read.is_empty() {
            return;
        }
        let mut state = self.write();
        for (image, symbols) in read {
            state.set_names(image, &symbols);
        }
    }

    fn symbols_in_code(&self, image: ImageId) -> Symbols {
        match self.opening(image).and_then(|opening| opening.code()) {
            Ok(code) => {
                let inspection = code.inspect(&Limits::default());
                Symbols {
                    kernels: inspection.kernel_names().map(str::to_owned).collect(),
                    imports: inspection.imports.clone(),
                    exports: inspection.exports.clone(),
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the names in a device image cannot be read");
                Symbols::default()
            }
        }
    }

    pub(crate) fn loader(&self) -> Option<&dyn Loader> {
        self.loader.as_deref()
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LibraryId {
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

impl State {
    /// The library that an image came with; `None` once it is withdrawn.
    pub(crate) fn library_of(&self, image: ImageId) -> Option<LibraryId> {
        self.line(image)?;
        let (&first, _) = self.libraries.range(..=image.0).next_back()?;
        Some(LibraryId(first))
    }

    /// The library of an image and its place there; `None` once it is withdrawn.
    pub(crate) fn line(&self, ImageId(id): ImageId) -> Option<(&Library, usize)> {
        // A library's images have numbers in a row. Behind its last one there may be a gap, of what was withdrawn.
        let (first, library) = self.libraries.range(..=id).next_back()?;
        let position = (id - first) as usize;
        (position < library.len()).then_some((library, position))
    }

    pub(crate) fn images(&self) -> impl Iterator<Item = ImageId> {
        let images = |(&first, library): (&u32, &Library)| (first..).take(library.len()).map(ImageId);
        self.libraries.iter().flat_map(images)
    }

    pub(crate) fn is_there(&self, image: &ImageId) -> bool {
        self.line(*image).is_some()
    }

    /// Where an image is, for messages.
    pub(crate) fn location(&self, image: ImageId) -> Location {
        let line = self.line(image);
        line.map_or_else(Location::default, |(library, position)| {
            library.location(position).clone()
        })
    }

    /// The names of a list.
    pub(crate) fn texts<'a>(&'a self, names: &'a [NameId]) -> impl Iterator<Item = &'a str> {
        names.iter().map(|&name| self.index.name(name))
    }

    /// Completes the names of an image with those that its code has.
    fn set_names(&mut self, image: ImageId, symbols: &Symbols) {
        let Some((&first, library)) = self.libraries.range_mut(..=image.0).next_back() else {
            return;
        };
        let position = (image.0 - first) as usize;
        // Its library may have gone while its code was read. Then this is the one before it.
        if position >= library.len() {
            return;
        }
        let told = library.told(position);
        let untold = Told {
            kernels: !told.kernels,
            links: !told.links,
        };
        let [kernels, imports, exports] = library.names(position).map(<[NameId]>::to_vec);
        let mut number = |names: &[String]| names.iter().map(|name| self.index.intern(name)).collect();
        let kernels = match told.kernels {
            true => kernels,
            false => number(&symbols.kernels),
        };
        let (imports, exports) = match told.links {
            true => (imports, exports),
            false => (number(&symbols.imports), number(&symbols.exports)),
        };
        library.set_names(position, [kernels, imports, exports]);
        library.enter(position, image, untold, &mut self.index);
    }

    /// Makes the index anew, without what was withdrawn.
    fn clear_up(&mut self) {
        // Names get other numbers by this: nobody may keep one for longer than the lock.
        let old = std::mem::take(&mut self.index);
        for (&first, library) in &mut self.libraries {
            library.renumber_names(|name| self.index.intern(old.name(name)));
            for (image, position) in (first..).map(ImageId).zip(0..library.len()) {
                library.enter(position, image, library.told(position), &mut self.index);
            }
        }
        self.stale = 0;
    }
}
