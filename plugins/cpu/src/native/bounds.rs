//! What compiled code asks before it makes an access, where it checks them: whether all of it is in memory that the launch
//! knows. [`offkit_compile::bounds`] tells what it is given.

#![expect(unsafe_code, reason = "machine code calls, with pointers")]

use std::slice;

use offkit_compile::bounds;
use offkit_kernel::ir;

use super::NativeLaunch;
use crate::launch::access::{Meant, PRIVATE_VARIABLE, Reachable, local_argument, location};
use crate::memory::{AccessKind, Hint, Reason, Violation};

/// What accesses of a launch are checked against.
#[derive(Debug)]
pub(crate) struct Bounds<'l> {
    pub(crate) reachable: Reachable<'l>,
    /// The kernel's.
    pub(crate) function: &'l ir::Function,
    /// Bytes of a group's own memory.
    pub(crate) memory: u64,
}

/// The constants of a site.
#[derive(Clone, Copy)]
struct Site(*const u64);

impl Site {
    fn word(self, index: usize) -> u64 {
        // SAFETY: a site has so many words, and this is made of one alone.
        unsafe { self.0.add(index).read() }
    }

    fn kind(self) -> AccessKind {
        match self.word(bounds::SITE_KIND) {
            bounds::LOAD => AccessKind::Load,
            bounds::STORE => AccessKind::Store,
            _ => AccessKind::Atomic,
        }
    }

    /// Offsets and sizes.
    fn pieces(self) -> impl Iterator<Item = (u64, u64)> {
        let count = self.word(bounds::SITE_PIECES) as usize;
        (0..count).map(move |piece| {
            let at = bounds::SITE_WORDS + 2 * piece;
            (self.word(at), self.word(at + 1))
        })
    }
}

/// Where a vector is.
#[derive(Clone, Copy)]
struct Vector(*const u64);

impl Vector {
    fn word(self, index: u64) -> u64 {
        // SAFETY: a place has so many words, and this is made of one alone.
        unsafe { self.0.add(index as usize).read() }
    }

    /// The words of the layout.
    fn layout(self) -> &'static [u64] {
        let layout = self.word(bounds::LAYOUT) as *const u64;
        // SAFETY: the layout is among the constants of the code that calls, and tells how many words it has.
        unsafe {
            let variables = (layout.add(1).read() + layout.add(2).read()) as usize;
            slice::from_raw_parts(layout, bounds::LAYOUT_WORDS + 3 * variables)
        }
    }
}

/// A piece of memory of a group or of a work-item.
struct Object {
    start: u64,
    size: u64,
    name: Name,
}

#[derive(Clone, Copy)]
enum Name {
    Variable(u64),
    Argument(u64),
    Private,
}

impl Object {
    fn contains(&self, address: u64, size: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset < self.size && size <= self.size - offset
    }
}

impl Bounds<'_> {
    /// What the address of a work-item is to stay in; none for global memory.
    fn object(&self, site: Site, vector: Vector, address: u64, lane: u64) -> Option<Object> {
        let (number, at, size) = (
            site.word(bounds::SITE_NUMBER),
            site.word(bounds::SITE_AT),
            site.word(bounds::SITE_LENGTH),
        );
        match site.word(bounds::SITE_OBJECT) {
            bounds::VARIABLE => Some(Object {
                start: vector.word(bounds::SHARED) + at,
                size,
                name: Name::Variable(number),
            }),
            bounds::ARGUMENT => self
                .local_arguments(vector)
                .find(|object| matches!(object.name, Name::Argument(argument) if argument == number)),
            bounds::STRUCT => Some(self.structure(number, size)),
            bounds::PRIVATE => Some(Object {
                start: vector.word(bounds::OWN) + lane * vector.layout()[0] + at,
                size,
                name: Name::Private,
            }),
            _ => self.search(vector, address, lane),
        }
    }

    fn local_arguments(&self, vector: Vector) -> impl Iterator<Item = Object> {
        let arguments = self.reachable.arguments;
        arguments.locals().map(move |(index, size)| Object {
            start: vector.word(bounds::LOCAL) + arguments.words_from(index)[0],
            size: size.into(),
            name: Name::Argument(index as u64),
        })
    }

    /// A struct that is passed by value: it lies among the arguments' words.
    fn structure(&self, number: u64, size: u64) -> Object {
        Object {
            start: self.reachable.arguments.words_from(number as usize).as_ptr() as u64,
            size,
            name: Name::Argument(number),
        }
    }

    /// What an address leads to of which nothing else is known.
    fn search(&self, vector: Vector, address: u64, lane: u64) -> Option<Object> {
        let arguments = self.reachable.arguments;
        let words = arguments.words();
        let own = Object {
            start: vector.word(bounds::LOCAL),
            size: self.memory,
            name: Name::Private,
        };
        // By its first byte: what begins in the group's memory is meant for something there, also
        // if it reaches out of it.
        if !own.contains(address, 1) {
            let structs = self.function.parameters.iter().enumerate();
            let mut structs =
                structs
                    .filter(|(_, parameter)| parameter.by_value)
                    .map(|(index, parameter)| {
                        let types = &self.reachable.module.types;
                        let size = match types.get(parameter.kind) {
                            ir::Type::Pointer { pointee, .. } => types.layout(*pointee).size,
                            _ => 0,
                        };
                        self.structure(index as u64, size)
                    });
            let all = Object {
                start: words.as_ptr() as u64,
                size: 8 * words.len() as u64,
                name: Name::Private,
            };
            return match all.contains(address, 1) {
                // Arguments lie in order, so it is meant for the struct that begins last in front of it.
                true => structs.rfind(|object| object.start <= address),
                false => None,
            };
        }
        let layout = vector.layout();
        let (variables, _) = layout[bounds::LAYOUT_WORDS..].as_chunks::<3>();
        let (locals, privates) = variables.split_at(layout[1] as usize);
        let locals = locals.iter().map(|[number, at, size]| Object {
            start: vector.word(bounds::SHARED) + at,
            size: *size,
            name: Name::Variable(*number),
        });
        let own = vector.word(bounds::OWN) + lane * layout[0];
        let privates = privates.iter().map(|[_, at, size]| Object {
            start: own + at,
            size: *size,
            name: Name::Private,
        });
        let all = self.local_arguments(vector).chain(locals).chain(privates);
        // What it is in, or else what ends nearest in front of it.
        let before = all.filter(|object| object.start <= address);
        Some(before.max_by_key(|object| object.start).unwrap_or(Object {
            // It is in front of everything: something behind it that has no bytes stands for what it misses.
            start: address.wrapping_add(1),
            size: 0,
            name: Name::Private,
        }))
    }

    fn meant(&self, object: &Object, address: u64) -> Meant {
        Meant::Object {
            name: match object.name {
                Name::Variable(number) => self.reachable.local_variable(number as usize),
                Name::Argument(number) => local_argument(number as usize),
                Name::Private => PRIVATE_VARIABLE.to_owned(),
            },
            offset: address.wrapping_sub(object.start) as i64,
            length: object.size,
        }
    }

    /// Checks pieces of an access; where all is well, the memory that they are in, if it is that for all work-items.
    fn check(
        &self,
        site: Site,
        vector: Vector,
        (address, lane): (u64, u64),
        pieces: impl Iterator<Item = (u64, u64)>,
    ) -> Result<Option<(u64, u64)>, (Violation, Meant)> {
        let kind = site.kind();
        let Some(object) = self.object(site, vector, address, lane) else {
            // Nothing is remembered here from call to call: the code that asks keeps the range
            // that it gets, and asks again only outside of that.
            let mut hint = Hint::default();
            for (offset, size) in pieces {
                let checked =
                    self.reachable
                        .global
                        .check(kind, address.wrapping_add(offset), size, &mut hint);
                checked.map_err(|violation| (violation, Meant::Global))?;
            }
            return Ok(Some(hint.range()));
        };
        for (offset, size) in pieces {
            let address = address.wrapping_add(offset);
            let reason = match kind {
                AccessKind::Atomic if !address.is_multiple_of(size) => Reason::Misaligned,
                _ if !object.contains(address, size) => Reason::OutOfBounds,
                _ => continue,
            };
            let violation = Violation {
                kind,
                address,
                size,
                reason,
            };
            return Err((violation, self.meant(&object, address)));
        }
        // Each work-item has a private variable of its own: others would be let into this one's.
        let is_for_all = !matches!(object.name, Name::Private);
        Ok(is_for_all.then_some((object.start, object.size)))
    }

    /// Where in the source a site is. Which function that is tells its line, since the code of all is one function.
    fn location(&self, site: Site) -> String {
        let (file, line) = (site.word(bounds::SITE_FILE), site.word(bounds::SITE_LINE));
        let module = self.reachable.module;
        let name = (file as usize)
            .checked_sub(1)
            .and_then(|file| module.files.get(file));
        let Some(name) = name else {
            return location(&self.function.name, None);
        };
        let is_there = |function: &&ir::Function| {
            let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
            instructions.any(|instruction| {
                instruction
                    .line
                    .is_some_and(|found| u64::from(found.file.0) + 1 == file && u64::from(found.line) == line)
            })
        };
        let function = [self.function]
            .into_iter()
            .chain(&module.functions)
            .find(is_there);
        let function = function.unwrap_or(self.function);
        location(&function.name, Some((name, line as u32)))
    }
}

/// Whether a work-item may make an access. If not, the launch fails, and the function that has asked is to return. Where a
/// hint is given, it gets the start and the size of what the access is in.
///
/// # Safety
/// `launch` is that of the code that calls, which checks; `site` and `place` are what [`offkit_compile::bounds`] says.
pub(crate) unsafe extern "C" fn access(
    launch: *const NativeLaunch,
    site: *const u64,
    place: *const u64,
    hint: *mut [u64; 2],
    address: u64,
    lane: u64,
) -> u64 {
    let pieces = Site(site).pieces();
    // SAFETY: the caller's.
    match unsafe { check(launch, Site(site), Vector(place), (address, lane), pieces) } {
        None => 0,
        Some(found) => {
            if let Some((start, size)) = found
                && !hint.is_null()
            {
                // SAFETY: the caller's: there is room for it.
                unsafe { hint.write([start, size]) };
            }
            1
        }
    }
}

/// Whether a work-item may access so many bytes from an address on; else as [`access`].
///
/// # Safety
/// As of [`access`].
pub(crate) unsafe extern "C" fn range(
    launch: *const NativeLaunch,
    site: *const u64,
    place: *const u64,
    address: u64,
    size: u64,
    lane: u64,
) -> u64 {
    // What accesses no bytes may have any address.
    let pieces = (size > 0).then_some((0, size)).into_iter();
    // SAFETY: the caller's.
    let found = unsafe { check(launch, Site(site), Vector(place), (address, lane), pieces) };
    found.is_some().into()
}

/// Checks, and has the launch fail.
///
/// # Safety
/// As of [`access`].
unsafe fn check(
    launch: *const NativeLaunch,
    site: Site,
    vector: Vector,
    item: (u64, u64),
    pieces: impl Iterator<Item = (u64, u64)>,
) -> Option<Option<(u64, u64)>> {
    // SAFETY: the caller's; it lives as long as the launch.
    let printing = unsafe { &*(*launch).printing };
    let bounds = printing.bounds.as_ref()?;
    match bounds.check(site, vector, item, pieces) {
        Ok(found) => Some(found),
        Err((violation, meant)) => {
            // SAFETY: the caller's. What was printed before comes first, since nothing is behind a failure.
            unsafe { super::printing::printed(launch) };
            let what = bounds.reachable.describe(violation, meant);
            let number = vector.word(bounds::FIRST) + item.1;
            let at = (vector.word(bounds::GROUP), number);
            printing.refuse(at, what, bounds.location(site), violation.address);
            None
        }
    }
}
