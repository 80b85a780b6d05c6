//! Memory of a device, by the type of its elements.

use std::marker::PhantomData;

use offkit_pi::ffi::{
    PI_INVALID_VALUE, PI_MEM_OBJECT_ALLOCATION_FAILURE, PI_OUT_OF_HOST_MEMORY, PI_OUT_OF_RESOURCES,
    PI_UNSUPPORTED_FEATURE,
};
use offkit_pi::host::{
    self, Argument, Context, Device, Event, PiError, Queue, QueueProperties, UsmKind, ValueType,
};
use offkit_pi::table::Function;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A type that is the same on host and device: its bytes are all that there is to it, and any bytes are one. Numbers
/// and arrays of numbers are; structs without padding become so by deriving the three traits of [`zerocopy`].
///
/// ```
/// use offkit_runtime::zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// #[derive(FromBytes, IntoBytes, Immutable)]
/// #[zerocopy(crate = "offkit_runtime::zerocopy")]
/// #[repr(C)]
/// struct Particle {
///     place: [f32; 3],
///     mass: f32,
/// }
/// # fn is_plain<T: offkit_runtime::Plain>() {}
/// # is_plain::<Particle>();
/// ```
pub trait Plain: FromBytes + IntoBytes + Immutable + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + 'static> Plain for T {}

/// An argument that is passed by value, and is no number or vector of numbers: a struct.
pub fn by_value<T: Plain>(value: &T) -> Argument {
    Argument::bytes(value.as_bytes())
}

/// A buffer of a device: memory that a kernel reaches through an argument, and the host through a queue.
///
/// A buffer without elements is a pointer to nothing for the kernel. Where a plugin has no buffers but shared memory, it
/// is that.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    /// The device has no empty buffers.
    memory: Option<Memory>,
    length: usize,
    element: PhantomData<T>,
}

#[derive(Clone, Debug)]
enum Memory {
    Buffer(host::Buffer),
    Shared(host::Usm),
}

impl Memory {
    fn with(context: &Context, bytes: &[u8]) -> Result<Memory, PiError> {
        let refused = match context.buffer_from(bytes) {
            // The plugin of DPC++ 2024.2 over drivers of 2026, which lack a function that it needs.
            Err(error) if error.result() == PI_UNSUPPORTED_FEATURE => error,
            made => return made.map(Memory::Buffer),
        };
        // Shared memory is made for one device, and of several nobody says which is meant.
        let [device] = context.devices() else {
            return Err(refused);
        };
        let alignment = 0;
        let memory = context.usm(UsmKind::Shared, device, bytes.len(), alignment);
        let memory = memory.map_err(|error| match error.result() {
            PI_OUT_OF_RESOURCES | PI_OUT_OF_HOST_MEMORY | PI_MEM_OBJECT_ALLOCATION_FAILURE => error,
            // There is no shared memory either.
            _ => refused,
        })?;
        let queue = context.queue(device, QueueProperties::default())?;
        queue.write_usm(&memory, 0, bytes, &[])?;
        Ok(Memory::Shared(memory))
    }
}

impl<T: Plain> Buffer<T> {
    /// A buffer with a copy of the elements.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no memory for it.
    pub fn from_slice(context: &Context, elements: &[T]) -> Result<Self, PiError> {
        let bytes = elements.as_bytes();
        let memory = (!bytes.is_empty()).then(|| Memory::with(context, bytes));
        Ok(Self {
            memory: memory.transpose()?,
            length: elements.len(),
            element: PhantomData,
        })
    }

    /// A buffer of so many elements, all bytes of which are 0.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no memory for it.
    pub fn zeroed(context: &Context, length: usize) -> Result<Self, PiError> {
        Self::from_slice(context, &zeros(length, Function::piMemBufferCreate)?)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Copies all elements to the host, once the events in `wait` are done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the copy, or a command that it waits for, fails.
    pub fn read(&self, queue: &Queue, wait: &[&Event]) -> Result<Vec<T>, PiError> {
        let mut elements = zeros(self.length, Function::piEnqueueMemBufferRead)?;
        self.read_to(queue, 0, &mut elements, wait)?;
        Ok(elements)
    }

    /// Copies elements to the host, from the one with the number `first` on, once the events in `wait` are done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there are not so many elements, or the copy, or a command that it waits for, fails.
    pub fn read_to(
        &self,
        queue: &Queue,
        first: usize,
        elements: &mut [T],
        wait: &[&Event],
    ) -> Result<(), PiError> {
        let function = Function::piEnqueueMemBufferRead;
        let offset = offset::<T>(function, first, elements.len(), self.length)?;
        match &self.memory {
            None => Ok(()),
            Some(Memory::Buffer(memory)) => queue.read_buffer(memory, offset, elements.as_mut_bytes(), wait),
            Some(Memory::Shared(memory)) => queue.read_usm(memory, offset, elements.as_mut_bytes(), wait),
        }
    }

    /// Copies elements to the device, to the one with the number `first` and those behind it, once the events in `wait`
    /// are done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there are not so many elements, or the copy, or a command that it waits for, fails.
    pub fn write(&self, queue: &Queue, first: usize, elements: &[T], wait: &[&Event]) -> Result<(), PiError> {
        let function = Function::piEnqueueMemBufferWrite;
        let offset = offset::<T>(function, first, elements.len(), self.length)?;
        match &self.memory {
            None => Ok(()),
            Some(Memory::Buffer(memory)) => queue.write_buffer(memory, offset, elements.as_bytes(), wait),
            Some(Memory::Shared(memory)) => queue.write_usm(memory, offset, elements.as_bytes(), wait),
        }
    }

    /// Fills `count` elements, from the one with the number `first` on, with repetitions of a pattern, once the events in
    /// `wait` are done. The pattern's size in bytes is a power of two up to 128, and start and size are multiples of it.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there are not so many elements, or the device does not take the pattern.
    pub fn fill(
        &self,
        queue: &Queue,
        first: usize,
        count: usize,
        pattern: &[T],
        wait: &[&Event],
    ) -> Result<Event, PiError> {
        let function = Function::piEnqueueMemBufferFill;
        let offset = offset::<T>(function, first, count, self.length)?;
        // What drivers demand of buffers; where shared memory stands in for one, nobody else does.
        let is_whole = |number: usize| number.checked_rem(pattern.len()) == Some(0);
        // No overflow here: `offset` has found that as many elements lie within the buffer.
        let (pattern, size) = (pattern.as_bytes(), count * size_of::<T>());
        if !(pattern.len().is_power_of_two() && is_whole(first) && is_whole(count)) {
            return Err(PiError::Call {
                function,
                result: PI_INVALID_VALUE,
                message: Some(format!(
                    "{} bytes cannot fill {count} elements at {first}: a power of two is expected, which both are \
                     multiples of",
                    pattern.len()
                )),
            });
        }
        match &self.memory {
            Some(Memory::Buffer(memory)) if size > 0 => {
                queue.fill_buffer(memory, pattern, offset, size, wait)
            }
            Some(Memory::Shared(memory)) if size > 0 => {
                let content: Vec<u8> = pattern.iter().copied().cycle().take(size).collect();
                queue.write_usm(memory, offset, &content, wait)?;
                // The write is over by now: the marker is there only because the caller is to get an event.
                queue.marker(&[])
            }
            _ => queue.marker(wait),
        }
    }

    /// Copies `count` elements, from the one with the number `first` on, to another buffer, there to the one with the
    /// number `to_first` and those behind it, once the events in `wait` are done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if one has not so many elements, or the two overlap.
    pub fn copy_to(
        &self,
        queue: &Queue,
        first: usize,
        to: &Self,
        to_first: usize,
        count: usize,
        wait: &[&Event],
    ) -> Result<Event, PiError> {
        let function = Function::piEnqueueMemBufferCopy;
        let from_offset = offset::<T>(function, first, count, self.length)?;
        let to_offset = offset::<T>(function, to_first, count, to.length)?;
        let size = count * size_of::<T>();
        match (&self.memory, &to.memory) {
            _ if size == 0 => queue.marker(wait),
            (Some(Memory::Buffer(from)), Some(Memory::Buffer(to))) => {
                queue.copy_buffer((from, from_offset), (to, to_offset), size, wait)
            }
            (Some(Memory::Shared(from)), Some(Memory::Shared(to))) => {
                queue.copy_usm((from, from_offset), (to, to_offset), size, wait)
            }
            // One of them is of a plugin that has no buffers.
            _ => {
                let mut content = zeros(count, function)?;
                self.read_to(queue, first, &mut content, wait)?;
                to.write(queue, to_first, &content, &[])?;
                queue.marker(&[])
            }
        }
    }
}

impl<T: Plain> From<&Buffer<T>> for Argument {
    /// The buffer with the type of its elements, which a launch compares with what the kernel's parameter points to. A
    /// buffer of `u8` or of structs fits every pointer.
    fn from(buffer: &Buffer<T>) -> Argument {
        let element = ValueType::of_elements::<T>();
        match buffer.memory.clone() {
            None => Argument::Address(0),
            Some(Memory::Buffer(memory)) => Argument::Buffer { memory, element },
            Some(Memory::Shared(allocation)) => Argument::Usm {
                allocation,
                offset: 0,
                element,
            },
        }
    }
}

/// Memory with an address that is the same for kernels and host (unified shared memory).
#[derive(Clone, Debug)]
pub struct Usm<T> {
    /// There is no memory of no bytes.
    memory: Option<host::Usm>,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Plain> Usm<T> {
    /// Memory for so many elements, with whatever is in it.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the device has no memory of that kind, or not so much.
    pub fn new(context: &Context, kind: UsmKind, device: &Device, length: usize) -> Result<Self, PiError> {
        // Where the elements end is how many bytes they have, with the overflow looked for.
        let size = offset::<T>(Function::piextUSMDeviceAlloc, length, 0, length)?;
        let alignment = u32::try_from(align_of::<T>()).unwrap_or_default();
        let memory = (size != 0).then(|| context.usm(kind, device, size, alignment));
        Ok(Self {
            memory: memory.transpose()?,
            length,
            element: PhantomData,
        })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The memory as the plugin interface has it; `None` without elements.
    pub fn pi(&self) -> Option<&host::Usm> {
        self.memory.as_ref()
    }

    /// An argument: the address of the element with that number.
    pub fn at(&self, element: usize) -> Argument {
        // What is too far out is refused when the argument is set.
        let offset = element.saturating_mul(size_of::<T>());
        let memory = self.memory.clone();
        memory.map_or(Argument::Address(0), |allocation| Argument::Usm {
            allocation,
            offset,
            element: ValueType::of_elements::<T>(),
        })
    }

    /// Copies all elements to the host, once the events in `wait` are done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the copy, or a command that it waits for, fails.
    pub fn read(&self, queue: &Queue, wait: &[&Event]) -> Result<Vec<T>, PiError> {
        let mut elements = zeros(self.length, Function::piextUSMEnqueueMemcpy)?;
        if let Some(memory) = &self.memory {
            queue.read_usm(memory, 0, elements.as_mut_slice().as_mut_bytes(), wait)?;
        }
        Ok(elements)
    }

    /// Copies elements to the memory, to the one with the number `first` and those behind it, once the events in `wait`
    /// are done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there are not so many elements, or the copy, or a command that it waits for, fails.
    pub fn write(&self, queue: &Queue, first: usize, elements: &[T], wait: &[&Event]) -> Result<(), PiError> {
        let function = Function::piextUSMEnqueueMemcpy;
        let offset = offset::<T>(function, first, elements.len(), self.length)?;
        let Some(memory) = &self.memory else {
            return Ok(());
        };
        queue.write_usm(memory, offset, elements.as_bytes(), wait)
    }
}

impl<T: Plain> From<&Usm<T>> for Argument {
    /// The address of the first element, with the type of the elements, as for a [`Buffer`].
    fn from(usm: &Usm<T>) -> Argument {
        usm.at(0)
    }
}

/// Where an element is, in bytes, if so many from there on are within `length` elements.
fn offset<T>(function: Function, first: usize, count: usize, length: usize) -> Result<usize, PiError> {
    let end = first.checked_add(count).filter(|&end| end <= length);
    let size = size_of::<T>();
    let offset = end.and_then(|end| end.checked_mul(size)).map(|_| first * size);
    offset.ok_or_else(|| PiError::Call {
        function,
        result: PI_INVALID_VALUE,
        message: Some(format!(
            "{count} elements at {first} are not within {length} elements of {size} bytes"
        )),
    })
}

fn zeros<T: Plain>(length: usize, function: Function) -> Result<Vec<T>, PiError> {
    // Where there is no memory this says so, and `vec![]` would end the process.
    T::new_vec_zeroed(length).map_err(|_| PiError::Call {
        function,
        result: PI_OUT_OF_HOST_MEMORY,
        message: Some(format!(
            "no memory for {length} elements of {} bytes",
            size_of::<T>()
        )),
    })
}
