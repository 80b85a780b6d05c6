//! What a construct maps.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use super::abi::{Flags, Lists};

/// One thing that is mapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// What the program calls it by: the start of an array of which a part is mapped.
    pub(super) base: usize,
    /// The first byte.
    pub(super) begin: usize,
    /// In bytes.
    pub(super) size: usize,
    pub(super) flags: Flags,
    /// It stands for all that a mapper maps, whose parts are counted.
    pub(super) is_whole_of_mapper: bool,
    /// Its number among the arguments of the call, if it is one.
    pub(super) number: Option<usize>,
}

impl Item {
    fn new(base: *mut c_void, begin: *mut c_void, size: i64, flags: i64, number: Option<usize>) -> Self {
        Self {
            base: base.expose_provenance(),
            begin: begin.expose_provenance(),
            size: usize::try_from(size).unwrap_or_default(),
            flags: Flags(flags.cast_unsigned()),
            is_whole_of_mapper: false,
            number,
        }
    }

    /// Whether it is a variable that a lambda captures by reference: the lambda is mapped, and its pointer is to point to
    /// the variable on the device.
    pub(super) fn is_captured(&self) -> bool {
        let marks = [
            Flags::POINTER_AND_OBJECT,
            Flags::LITERAL,
            Flags::MEMBER,
            Flags::IMPLICIT,
        ];
        marks.iter().all(|mark| self.flags.has(*mark))
    }

    /// Whether it is a part of one that is mapped as a whole before, and not what a pointer in that points to.
    pub(super) fn is_part(&self) -> bool {
        self.flags.has(Flags::MEMBER) && !self.flags.has(Flags::POINTER_AND_OBJECT)
    }

    /// Whether there is nothing to map: it is a value, a variable of its own, or a pointer to something else.
    pub(super) fn is_not_mapped(&self) -> bool {
        self.flags.has(Flags::LITERAL | Flags::PRIVATE | Flags::ATTACH)
    }
}

/// The arguments of a call that maps.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub(super) count: usize,
    pub(super) lists: Lists,
}

/// What clang makes of `declare mapper`: it pushes the components of an object, or of an array of such.
type Mapper =
    unsafe extern "C" fn(handle: *mut c_void, *mut c_void, *mut c_void, size: i64, flags: i64, *mut c_void);

/// The components that a mapper has pushed; what its handle points to.
#[derive(Default)]
pub(super) struct Components(Vec<Item>);

thread_local! {
    /// Those that the mapper pushes to which this thread has called.
    static CURRENT: Cell<*mut Components> = const { Cell::new(ptr::null_mut()) };
}

impl Components {
    /// The components that a mapper was given; `None` if another runtime has called it.
    ///
    /// # Safety
    ///
    /// A mapper must have been given the handle, and not have returned.
    pub(super) unsafe fn of<'a>(handle: *mut c_void) -> Option<&'a mut Self> {
        // Mappers that LLVM's runtime has called come here as well, with handles of that. Only the
        // one that this thread has given to a mapper is followed.
        let is_ours = !handle.is_null() && CURRENT.get().cast() == handle;
        // SAFETY: by the caller's promise.
        is_ours.then(|| unsafe { &mut *CURRENT.get() })
    }

    pub(super) fn push(&mut self, base: *mut c_void, begin: *mut c_void, size: i64, flags: i64) {
        self.0.push(Item::new(base, begin, size, flags, None));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Arguments {
    /// The items as they are named.
    ///
    /// # Safety
    ///
    /// Each list has so many elements.
    pub(super) unsafe fn named(self) -> impl Iterator<Item = Item> {
        let lists = self.lists;
        (0..self.count).map(move |number| {
            // SAFETY: by the caller's promise.
            let (base, begin, size, flags) = unsafe {
                (
                    *lists.bases.add(number),
                    *lists.begins.add(number),
                    *lists.sizes.add(number),
                    *lists.flags.add(number),
                )
            };
            Item::new(base, begin, size, flags, Some(number))
        })
    }

    /// The items, and instead of those with a mapper what that maps.
    ///
    /// # Safety
    ///
    /// Each list has so many elements; those of mappers and names may be null.
    pub(super) unsafe fn items(self) -> Vec<Item> {
        let lists = self.lists;
        let mut items = Vec::with_capacity(self.count);
        // SAFETY: by the caller's promise.
        for (number, item) in unsafe { self.named() }.enumerate() {
            let of = |list: *mut *mut c_void| match list.is_null() {
                true => ptr::null_mut(),
                // SAFETY: by the caller's promise.
                false => unsafe { *list.add(number) },
            };
            let mapper = of(lists.mappers);
            if mapper.is_null() {
                items.push(item);
                continue;
            }
            let mut components = Components::default();
            let handle = &raw mut components;
            CURRENT.set(handle);
            // SAFETY: clang made it for what the arguments say, and it gives the handle to our functions alone.
            unsafe {
                let mapper = std::mem::transmute::<*mut c_void, Mapper>(mapper);
                let (base, begin) = (*lists.bases.add(number), *lists.begins.add(number));
                let (size, flags) = (*lists.sizes.add(number), *lists.flags.add(number));
                mapper(
                    (&raw mut components).cast(),
                    base,
                    begin,
                    size,
                    flags,
                    of(lists.names),
                );
            }
            CURRENT.set(ptr::null_mut());
            let first = items.len();
            items.append(&mut components.0);
            if let Some(first) = items.get_mut(first) {
                first.is_whole_of_mapper = true;
            }
        }
        items
    }
}
