//! A call's arguments as the words that C passes, and as text: each decoded by the type of its parameter.

use crate::ffi::{constant_names, cxx_bool, pi_result};
use crate::table::Revision;
use core::ffi::{CStr, c_void};
use std::borrow::Cow;

/// An argument that C passes in one word.
pub trait Word: Copy {
    /// Its bits.
    fn word(self) -> u64;
}

macro_rules! words {
    ($($integer:ty),*) => {
        $(impl Word for $integer {
            fn word(self) -> u64 {
                // Negative numbers keep their bits: the type says how they read.
                self as u64
            }
        })*
    };
}
words!(u8, u32, i32, u64, usize, isize);

impl Word for cxx_bool {
    fn word(self) -> u64 {
        bool::from(self).into()
    }
}

impl<T> Word for *mut T {
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T> Word for *const T {
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

/// A function of the interface, callable with its arguments as a tuple.
pub trait Call<Arguments>: Copy {
    /// Calls it.
    ///
    /// # Safety
    ///
    /// As the function itself.
    unsafe fn call(self, arguments: Arguments) -> pi_result;

    /// The arguments, in order.
    fn words(arguments: Arguments) -> Vec<u64>;
}

macro_rules! calls {
    ($($name:ident $type:ident),*) => {
        impl<$($type: Word),*> Call<($($type,)*)> for unsafe extern "C" fn($($type),*) -> pi_result {
            #[inline]
            unsafe fn call(self, ($($name,)*): ($($type,)*)) -> pi_result {
                // SAFETY: by the caller's promise.
                unsafe { self($($name),*) }
            }

            fn words(($($name,)*): ($($type,)*)) -> Vec<u64> {
                vec![$($name.word()),*]
            }
        }
    };
}
calls!(a A);
calls!(a A, b B);
calls!(a A, b B, c C);
calls!(a A, b B, c C, d D);
calls!(a A, b B, c C, d D, e E);
calls!(a A, b B, c C, d D, e E, f F);
calls!(a A, b B, c C, d D, e E, f F, g G);
calls!(a A, b B, c C, d D, e E, f F, g G, h H);
calls!(a A, b B, c C, d D, e E, f F, g G, h H, i I);
calls!(a A, b B, c C, d D, e E, f F, g G, h H, i I, j J);
calls!(a A, b B, c C, d D, e E, f F, g G, h H, i I, j J, k K);
calls!(a A, b B, c C, d D, e E, f F, g G, h H, i I, j J, k K, l L);
calls!(a A, b B, c C, d D, e E, f F, g G, h H, i I, j J, k K, l L, m M);
calls!(a A, b B, c C, d D, e E, f F, g G, h H, i I, j J, k K, l L, m M, n N);

macro_rules! callbacks {
    ($($parameter:ident)*) => {
        impl<$($parameter,)*> Word for Option<unsafe extern "C" fn($($parameter),*)> {
            fn word(self) -> u64 {
                self.map_or(0, |function| function as usize as u64)
            }
        }
    };
}
callbacks!(A);
callbacks!(A B);
callbacks!(A B C);
callbacks!(A B C D);

/// The types that are passed as pointers to objects.
const HANDLES: [&str; 9] = [
    "pi_platform",
    "pi_device",
    "pi_context",
    "pi_queue",
    "pi_mem",
    "pi_program",
    "pi_kernel",
    "pi_event",
    "pi_sampler",
];

/// A parameter and its argument.
struct Argument {
    name: &'static str,
    /// As Rust has it: `*mut pi_device`.
    type_name: String,
    word: u64,
    /// Of a pointer to several: whether there are any.
    some: bool,
    /// The size of what it points to, where the argument before says so.
    size: u64,
}

fn each(revision: Revision, words: &[u64]) -> impl Iterator<Item = Argument> {
    // How many there are of something, or how large it is, says the parameter before it.
    let before = std::iter::once((&"", &0)).chain(revision.parameters().iter().zip(words));
    let all = revision.parameters().iter().zip(revision.types()).zip(words);
    all.zip(before).map(
        |(((name, type_name), word), (name_before, word_before))| Argument {
            name,
            // How the compiler spaces the text is its own affair.
            type_name: type_name.replace("* ", "*"),
            word: *word,
            some: *word != 0 && (!name_before.starts_with("num_") || *word_before != 0),
            size: match name_before.ends_with("_size") {
                true => *word_before,
                false => 0,
            },
        },
    )
}

/// A line for each argument of a call that is about to be made.
pub(super) fn arguments(revision: Revision, words: &[u64]) -> Vec<String> {
    each(revision, words).map(|argument| argument.line()).collect()
}

/// A line for each thing that a call has written behind a pointer.
///
/// # Safety
///
/// `words` must be the arguments of a call of `revision` that has succeeded, and what they point to must still be there.
pub(super) unsafe fn results(revision: Revision, words: &[u64]) -> Vec<String> {
    each(revision, words)
        // SAFETY: by the caller's promise.
        .filter_map(|argument| unsafe { argument.result() })
        .collect()
}

impl Argument {
    /// `pi_device : 0x…`, as the call gets it.
    fn line(&self) -> String {
        let (type_name, word) = (self.type_name.as_str(), self.word);
        let is_pointer = type_name.starts_with('*') || HANDLES.contains(&type_name);
        match type_name {
            _ if word == 0 && (is_pointer || type_name.ends_with("_notify")) => "<nullptr>".to_owned(),
            "*const c_char" => {
                // SAFETY: texts that go into a call end with a NUL.
                let text = unsafe { CStr::from_ptr(pointer(word).cast()) };
                format!("<const char *>: {}", text.to_string_lossy())
            }
            "*const pi_event" | "*const pi_device" | "*const pi_program" | "*const usize" if self.some => {
                // SAFETY: a list that goes into a call has as many as the argument before says, and sizes one at least.
                let first = unsafe { pointer(word).cast::<usize>().read_unaligned() };
                match type_name {
                    "*const usize" => format!("{} : {word:#x}[ {first} ... ]", c_type(type_name)),
                    _ => format!("{} : {word:#x}[ {first:#x} ... ]", c_type(type_name)),
                }
            }
            _ if is_pointer || type_name.ends_with("_notify") || type_name.starts_with("pi_buff_rect") => {
                format!("{} : {word:#x}", c_type(type_name))
            }
            _ => format!("{} : {}", c_type(type_name), number(type_name, word)),
        }
    }

    /// What the call has written there; nothing where it only reads.
    ///
    /// # Safety
    ///
    /// As [`results`].
    unsafe fn result(&self) -> Option<String> {
        let (type_name, word) = (self.type_name.as_str(), self.word);
        let target = type_name.strip_prefix("*mut ").filter(|_| self.some)?;
        let value = match target {
            // SAFETY: the call has written as many bytes there as it was told at most.
            "c_void" if self.name == "param_value" => unsafe { answer(word, self.size) },
            // SAFETY: the call has written one at least.
            _ if HANDLES.contains(&target) || target == "*mut c_void" => unsafe {
                format!("{:#x} ...", pointer(word).cast::<usize>().read_unaligned())
            },
            // SAFETY: as above.
            "pi_uint32" | "pi_int32" => unsafe { pointer(word).cast::<u32>().read_unaligned() }.to_string(),
            // SAFETY: as above.
            "usize" | "pi_uint64" | "pi_native_handle" => unsafe {
                pointer(word).cast::<u64>().read_unaligned().to_string()
            },
            _ => return None,
        };
        Some(format!("{} : {word:#x}[ {value} ]", c_type(type_name)))
    }
}

fn pointer(word: u64) -> *const c_void {
    core::ptr::with_exposed_provenance(word as usize)
}

/// The answer to an info query: text where it is one, else a number where it has the size of one, else its first bytes.
///
/// # Safety
///
/// There must be `size` bytes at `address`.
unsafe fn answer(address: u64, size: u64) -> String {
    // SAFETY: by the caller's promise.
    let bytes = unsafe { core::slice::from_raw_parts(pointer(address).cast::<u8>(), size as usize) };
    let text = CStr::from_bytes_until_nul(bytes)
        .ok()
        .and_then(|text| text.to_str().ok());
    match (bytes, text) {
        // One letter and zeros are a small number as well, which is what it is more often.
        (_, Some(text)) if text.len() > 1 && text.chars().all(|letter| !letter.is_control()) => {
            text.to_owned()
        }
        (&[a, b, c, d], _) => u32::from_ne_bytes([a, b, c, d]).to_string(),
        (&[a, b, c, d, e, f, g, h], _) => u64::from_ne_bytes([a, b, c, d, e, f, g, h]).to_string(),
        (bytes, _) => {
            let shown = bytes.iter().take(16).map(|byte| format!("{byte:02x}"));
            let more = if bytes.len() > 16 { " ..." } else { "" };
            shown.collect::<Vec<_>>().join(" ") + more
        }
    }
}

/// A number, with the name that its type has for it, or the names of its bits.
fn number(type_name: &str, word: u64) -> String {
    let value = match type_name {
        "pi_int32" | "pi_event_status" => i64::from(word as u32 as i32).to_string(),
        _ => word.to_string(),
    };
    let names = constant_names(type_name);
    let named = names.iter().find(|(_, number)| *number == word);
    let bits = || -> Option<String> {
        let set = names
            .iter()
            .filter(|(_, bit)| bit.is_power_of_two() && word & bit != 0);
        // Names only where they cover all bits: some of them would look like the whole.
        let (set, names): (Vec<_>, Vec<_>) = set.map(|(name, bit)| (*bit, *name)).unzip();
        (word != 0 && set.iter().sum::<u64>() == word).then(|| names.join(" | "))
    };
    match named.map(|(name, _)| (*name).to_owned()).or_else(bits) {
        Some(name) => format!("{value} ({name})"),
        None => value,
    }
}

/// A type as C has it.
fn c_type(type_name: &str) -> Cow<'_, str> {
    let star = |target: &str| {
        let target = c_type(target);
        let space = if target.ends_with('*') { "" } else { " " };
        format!("{target}{space}*")
    };
    match type_name {
        "c_void" => "void".into(),
        "c_char" => "char".into(),
        "usize" => "size_t".into(),
        "u8" => "unsigned char".into(),
        _ => match (type_name.strip_prefix("*mut "), type_name.strip_prefix("*const ")) {
            (Some(target), _) => star(target).into(),
            (_, Some(target)) => format!("const {}", star(target)).into(),
            _ => type_name.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_their_types_and_numbers_their_names() {
        let (name, devices) = (c"saxpy", [0x10usize, 0x20]);
        let lines = |revision, words: &[u64]| arguments(revision, words);
        assert_eq!(
            lines(Revision::piKernelCreate, &[0x1000, name.as_ptr().word(), 0]),
            ["pi_program : 0x1000", "<const char *>: saxpy", "<nullptr>"]
        );
        let devices = devices.as_ptr().word();
        assert_eq!(
            lines(Revision::piContextCreate, &[0, 2, devices, 0, 0, 0])[1..3],
            [
                "pi_uint32 : 2".to_owned(),
                format!("const pi_device * : {devices:#x}[ 0x10 ... ]")
            ]
        );
        assert_eq!(
            lines(Revision::piDeviceGetInfo, &[0x20, 0x102b, 0, 0, 0])[1],
            "pi_device_info : 4139 (PI_DEVICE_INFO_NAME)"
        );
        assert_eq!(
            lines(Revision::piQueueCreate, &[0x20, 0x20, 3, 0])[2],
            "pi_queue_properties : 3 (PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | PI_QUEUE_PROFILING_ENABLE)"
        );
        // An empty list's address is none.
        assert_eq!(
            lines(Revision::piEventsWait, &[0, 8]),
            ["pi_uint32 : 0", "const pi_event * : 0x8"]
        );
    }

    #[test]
    fn results_are_what_the_pointers_lead_to() {
        let (mut size, text) = (8usize, *b"offkit\0\0");
        let words = [0x20, 0x102b, 8, text.as_ptr().word(), (&raw mut size).word()];
        // SAFETY: the pointers lead to as much as the call would have written.
        let lines = unsafe { results(Revision::piDeviceGetInfo, &words) };
        assert_eq!(
            lines,
            [
                format!("void * : {:#x}[ offkit ]", words[3]),
                format!("size_t * : {:#x}[ 8 ]", words[4])
            ]
        );
    }
}
