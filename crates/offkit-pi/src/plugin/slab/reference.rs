//! References to objects in slots.

use super::slot::{self, Front, Head, Slot};
use super::{Kind, Reclaim};
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::Deref;
use core::ptr::NonNull;

/// A counted reference to one of a plugin's objects, as the framework passes them to the plugin: an `Arc` to an object
/// that a handle leads to as well. Hosts can release a handle and the object stays for those who have a reference.
pub struct Ref<T: Send + Sync + 'static> {
    front: NonNull<Front<T>>,
}

// SAFETY: as for `Arc`: threads share the object, and the last to have a reference drops it. What the interface keeps
// with it can be sent and shared as well, by the bounds of `Slab`.
unsafe impl<T: Send + Sync + 'static> Send for Ref<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync + 'static> Sync for Ref<T> {}

impl<T: Send + Sync + 'static> Ref<T> {
    /// A reference to an object that no handle leads to: one on the heap, of the plugin's own.
    pub fn new(object: T) -> Ref<T> {
        let slot = Box::leak(Box::new(Slot::<T, ()>::new(0)));
        // SAFETY: the slot is this function's alone, and valid until its object is reclaimed.
        unsafe {
            slot.front
                .object
                .with_mut(|place| place.write(MaybeUninit::new(object)));
            slot.details.with_mut(|place| place.write(MaybeUninit::new(())));
            // The owner has no content, so that a reference to it is a constant, there for good.
            slot.front.head.fill(Kind::None, &Boxed::<T>(PhantomData), 0);
        }
        Ref {
            front: NonNull::from(slot).cast(),
        }
    }

    /// Makes a pointer of the reference, to be kept where only a pointer can be. The object stays until
    /// [`from_raw`](Self::from_raw) has made a reference of it again.
    pub fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).front.cast()
    }

    /// Makes the reference again.
    ///
    /// # Safety
    ///
    /// The pointer is from [`into_raw`](Self::into_raw) of a reference to a `T`, and this is done once for each.
    pub unsafe fn from_raw(pointer: NonNull<()>) -> Ref<T> {
        Ref {
            front: pointer.cast(),
        }
    }

    fn front(&self) -> &Front<T> {
        // SAFETY: slots are valid for good.
        unsafe { self.front.as_ref() }
    }

    /// Whether two references are to the same object.
    pub fn ptr_eq(one: &Ref<T>, other: &Ref<T>) -> bool {
        one.front == other.front
    }
}

impl<T: Send + Sync + 'static> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: there is an object as long as there is a reference, and it is only shared meanwhile.
        unsafe { self.front().object.with(|object| (*object).assume_init_ref()) }
    }
}

impl<T: Send + Sync + 'static> Clone for Ref<T> {
    fn clone(&self) -> Ref<T> {
        // SAFETY: this is a reference.
        unsafe { self.front().head.share() };
        Ref { front: self.front }
    }
}

impl<T: Send + Sync + 'static> Drop for Ref<T> {
    fn drop(&mut self) {
        // SAFETY: this is a reference, and ends.
        unsafe {
            if self.front().head.drop_reference() {
                slot::empty(self.front.cast());
            }
        }
    }
}

impl<T: Debug + Send + Sync + 'static> Debug for Ref<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        T::fmt(self, formatter)
    }
}

/// Slots on the heap, one allocation each.
struct Boxed<T>(PhantomData<fn() -> T>);

impl<T: Send + Sync + 'static> Reclaim for Boxed<T> {
    unsafe fn reclaim(&'static self, slot: NonNull<Head>, _: u32) {
        let slot: NonNull<Slot<T, ()>> = slot.cast();
        // SAFETY: by the caller's promise; it was made by `Ref::new`, which leaked the box.
        unsafe {
            Slot::drop_object(slot);
            drop(Box::from_raw(slot.as_ptr()));
        }
    }
}

/// A counted reference to an object and to what the interface keeps about it.
pub struct Record<T: Send + Sync + 'static, D: Send + Sync + 'static> {
    object: Ref<T>,
    details: PhantomData<D>,
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Record<T, D> {
    /// Makes a record of a reference that is counted already.
    ///
    /// # Safety
    ///
    /// The slot has an object, and the record is given a reference to it.
    pub(super) unsafe fn new(slot: NonNull<Slot<T, D>>) -> Record<T, D> {
        Record {
            // A slot begins with its front.
            object: Ref { front: slot.cast() },
            details: PhantomData,
        }
    }

    /// The object.
    pub fn object(&self) -> &Ref<T> {
        &self.object
    }

    /// The object, with the record's reference.
    pub fn into_object(self) -> Ref<T> {
        self.object
    }

    /// What the interface keeps about the object.
    pub fn details(&self) -> &D {
        let slot: NonNull<Slot<T, D>> = self.object.front.cast();
        // SAFETY: a record is made of such a slot; as for the object.
        unsafe { slot.as_ref().details.with(|details| (*details).assume_init_ref()) }
    }

    /// The handle the host knows the object by: the slot's address.
    pub fn handle(&self) -> usize {
        // Exposed, since the pointer that the host gets is made of the number.
        self.object.front.as_ptr().expose_provenance()
    }

    /// Makes the reference the host's, and gives the handle that goes with it.
    pub fn hand_out(self) -> usize {
        let handle = self.handle();
        // SAFETY: this is a reference, and does not end here.
        unsafe { ManuallyDrop::new(self).object.front().head.give_to_host() };
        handle
    }

    /// References the host holds.
    pub fn references(&self) -> u32 {
        self.object.front().head.references()
    }
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Clone for Record<T, D> {
    fn clone(&self) -> Record<T, D> {
        Record {
            object: self.object.clone(),
            details: PhantomData,
        }
    }
}

/// Records are equal if they are of the same object.
impl<T: Send + Sync + 'static, D: Send + Sync + 'static> PartialEq for Record<T, D> {
    fn eq(&self, other: &Record<T, D>) -> bool {
        Ref::ptr_eq(&self.object, &other.object)
    }
}
