//! What LLVM's C interface does not offer, from a few functions in C++.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

use llvm_sys::core::LLVMIsAGlobalVariable;
use llvm_sys::prelude::{LLVMAttributeRef, LLVMDiagnosticInfoRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef};
use llvm_sys::target_machine::LLVMTargetMachineRef;

use offkit_llvm::Place;

use crate::Error;
use crate::context::take_message;
use crate::module::{Global, Module};

unsafe extern "C" {
    /// A linker for a module, which must outlive it.
    fn offkit_linker_create(destination: LLVMModuleRef) -> *mut c_void;
    /// Links a module, which is taken over, into that of the linker. 0 where that was done.
    fn offkit_linker_link(linker: *mut c_void, source: LLVMModuleRef) -> c_int;
    fn offkit_linker_dispose(linker: *mut c_void);
    /// Writes the attributes of a variable to a place with room for as many as there are, if it is not null, and
    /// returns their number.
    fn offkit_variable_attributes(variable: LLVMValueRef, attributes: *mut LLVMAttributeRef) -> c_uint;
    /// Puts a structure that holds the array, and that the host finds by a name, in the place of a variable. The
    /// variable must have a value.
    fn offkit_make_device_global(array: LLVMValueRef, host_name: *const c_char);
    /// Removes named metadata, if the module has it.
    fn offkit_remove_named_metadata(module: LLVMModuleRef, name: *const c_char);
    /// Sets options as on a command line, the program's name first. Null where that was done, or a message, which is
    /// the caller's to free.
    fn offkit_parse_options(count: c_int, options: *const *const c_char) -> *mut c_char;
    /// Makes the module that registers what is embedded: for OpenMP one or more offload binaries, for others one
    /// container. The language is numbered as in offload binaries. 0 where that was done, with the module's text; else
    /// with a message; both are the caller's to free.
    fn offkit_wrapper_module(
        language: c_int,
        host: *const c_char,
        relocatable: c_int,
        count: usize,
        embedded: *const RawBytes,
        text: *mut *mut c_char,
    ) -> c_int;
    /// An instruction before another that makes a pointer one to elements of a type.
    fn offkit_typed_address(
        before: LLVMValueRef,
        element: LLVMTypeRef,
        pointer: LLVMValueRef,
    ) -> LLVMValueRef;
    /// Has code generators leave out what takes them longest, or not.
    fn offkit_set_haste(haste: c_int);
    /// Has a module be one for a target, its layout of data included.
    fn offkit_lay_out(module: LLVMModuleRef, triple: *const c_char);
    /// Has the x86 back end, if it is there, make its tables of instructions.
    fn offkit_make_tables();
    /// Has loops count in 32 bits where these suffice; `narrow.cpp`.
    fn offkit_set_strength_reduction(on: c_int);
    fn offkit_narrow(module: LLVMModuleRef, machine: LLVMTargetMachineRef);
    /// Writes what a diagnostic says, to a place of zeros.
    fn offkit_describe_diagnostic(info: LLVMDiagnosticInfoRef, told: *mut RawDiagnostic);
}

/// `OffkitDiagnostic` of the C++ file.
#[repr(C)]
struct RawDiagnostic {
    message: *mut c_char,
    function: *mut c_char,
    file: *mut c_char,
    line: c_uint,
    column: c_uint,
    is_wanted: c_int,
    is_about_loops: c_int,
    assembly: c_ulonglong,
}

/// `OffkitBytes` of the C++ file.
#[repr(C)]
struct RawBytes {
    start: *const u8,
    size: usize,
}

/// What LLVM says in a diagnostic, its severity aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiagnosticText {
    pub(crate) message: String,
    pub(crate) place: Place,
    /// Whether it says that a loop was not transformed as its author asked.
    pub(crate) is_about_loops: bool,
    /// Which inline assembly it is about, by the number in the metadata `srcloc`; 0 for none.
    pub(crate) assembly: u64,
}

/// What a diagnostic says; `None` for remarks that nobody asked for, which LLVM passes on nevertheless.
///
/// # Safety
///
/// LLVM passed it to a handler that has not returned yet.
pub(crate) unsafe fn diagnostic_text(info: LLVMDiagnosticInfoRef) -> Option<DiagnosticText> {
    let mut raw = RawDiagnostic {
        message: ptr::null_mut(),
        function: ptr::null_mut(),
        file: ptr::null_mut(),
        line: 0,
        column: 0,
        is_wanted: 0,
        is_about_loops: 0,
        assembly: 0,
    };
    // SAFETY: by this function's contract; the place to write to is as the other side has it, and the strings are
    // ours to free.
    unsafe {
        offkit_describe_diagnostic(info, &raw mut raw);
        let text = DiagnosticText {
            message: take_message(raw.message).trim().to_owned(),
            place: Place {
                function: take_message(raw.function),
                file: take_message(raw.file),
                line: raw.line,
                column: raw.column,
            },
            is_about_loops: raw.is_about_loops != 0,
            assembly: raw.assembly,
        };
        (raw.is_wanted != 0).then_some(text)
    }
}

/// A module that others are linked into, one after the other.
///
/// [`Module::link`] looks at all of the module each time, so with it many modules take a time that grows with the
/// square of their number.
#[derive(Debug)]
pub struct Linker {
    raw: *mut c_void,
    module: Module,
}

impl Linker {
    /// Starts with a module, which may be empty.
    pub fn new(module: Module) -> Self {
        // SAFETY: the module is alive, and stays so as long as the linker: it is dropped after it.
        let raw = unsafe { offkit_linker_create(module.as_raw()) };
        Self { raw, module }
    }

    /// Links `source` into the module, reading what is needed of it.
    ///
    /// # Errors
    ///
    /// LLVM's message, for example for a symbol defined in both.
    pub fn link(&mut self, source: Module) -> Result<(), Error> {
        self.module.check_context(&source)?;
        // The rest lives as long as the call: what is linked is read from its bytes meanwhile.
        let (source, _rest) = source.into_raw();
        // SAFETY: linker and module are alive, and both modules are of one context, which was checked. The linker
        // takes the source over, whether it succeeds or not.
        if unsafe { offkit_linker_link(self.raw, source) } != 0 {
            return Err(self.module.context().take_error("the modules cannot be linked"));
        }
        Ok(())
    }

    /// What was linked so far.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// What was linked.
    pub fn finish(self) -> Module {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the linker is ours and not used again; the module is read once, and not dropped here.
        unsafe {
            offkit_linker_dispose(this.raw);
            std::ptr::read(&raw const this.module)
        }
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: the linker is ours, and its module is dropped after it.
        unsafe { offkit_linker_dispose(self.raw) }
    }
}

/// The attributes of a variable; none of anything else.
pub(crate) fn variable_attributes(global: &Global<'_>) -> Vec<LLVMAttributeRef> {
    // SAFETY: the global is alive with its module, and is asked only if it is a variable; the vector has room for as
    // many attributes as LLVM counted.
    unsafe {
        if LLVMIsAGlobalVariable(global.as_raw()).is_null() {
            return Vec::new();
        }
        let count = offkit_variable_attributes(global.as_raw(), ptr::null_mut());
        let mut attributes = vec![ptr::null_mut(); count as usize];
        offkit_variable_attributes(global.as_raw(), attributes.as_mut_ptr());
        attributes
    }
}

/// Makes an array that a module defines a device global of SYCL's: a structure around it, which the host finds by a name.
///
/// # Safety
///
/// It is a variable with a value, and nobody keeps it: it is gone afterwards.
pub(crate) unsafe fn make_device_global(array: LLVMValueRef, host_name: &CStr) {
    // SAFETY: by this function's contract; the name is copied.
    unsafe { offkit_make_device_global(array, host_name.as_ptr()) }
}

/// Removes named metadata, if the module has it.
pub(crate) fn remove_named_metadata(module: &Module, name: &CStr) {
    // SAFETY: the module is alive, and the name lives through the call.
    unsafe { offkit_remove_named_metadata(module.as_raw(), name.as_ptr()) }
}

/// A pointer to elements of a type, made by an instruction before that one, also of a constant.
///
/// # Safety
///
/// All are alive in one context; the pointer's value is there where the instruction is.
pub(crate) unsafe fn typed_address(
    before: LLVMValueRef,
    element: LLVMTypeRef,
    pointer: LLVMValueRef,
) -> LLVMValueRef {
    // SAFETY: by this function's contract.
    unsafe { offkit_typed_address(before, element, pointer) }
}

/// Whether code that is generated from here on in this process has its loops' indices and counters replaced by cheaper ones.
pub(crate) fn set_strength_reduction(on: bool) {
    // SAFETY: it takes a number, and changes an option that code generation reads.
    unsafe { offkit_set_strength_reduction(on.into()) }
}

/// Has loops of a module count in 32 bits where these suffice.
///
/// # Safety
///
/// Module and machine are alive, and the module is for the machine.
pub(crate) unsafe fn narrow(module: LLVMModuleRef, machine: LLVMTargetMachineRef) {
    // SAFETY: by this function's contract.
    unsafe { offkit_narrow(module, machine) }
}

/// The module that registers images when a program starts, as LLVM's own tools make it, in its text form.
///
/// # Errors
///
/// LLVM has no such module for a language, or nothing is embedded, or a damaged offload binary.
pub(crate) fn wrapper_module(
    language: &str,
    host: &str,
    relocatable: bool,
    embedded: &[Vec<u8>],
) -> Result<String, Error> {
    // LLVM wraps the first container only: what is behind it would be missing without a word.
    let number = match (language, embedded.len()) {
        ("openmp", 1..) => 1,
        ("cuda", 1) => 2,
        ("hip", 1) => 4,
        ("sycl", 1) => 8,
        (_, count) => {
            return Err(Error::new(format!(
                "LLVM does not wrap {count} block(s) for `{language}`"
            )));
        }
    };
    let host = CString::new(host).map_err(|_| Error::new("the host's triple holds a zero byte"))?;
    let bytes: Vec<_> = (embedded.iter())
        .map(|bytes| RawBytes {
            start: bytes.as_ptr(),
            size: bytes.len(),
        })
        .collect();
    let mut text = ptr::null_mut();
    // SAFETY: the triple and the bytes live through the call and are as many as is said, one at least. The text is
    // written to a valid place and ours to free.
    let (failed, text) = unsafe {
        let failed = offkit_wrapper_module(
            number,
            host.as_ptr(),
            relocatable.into(),
            bytes.len(),
            bytes.as_ptr(),
            &raw mut text,
        );
        (failed != 0, take_message(text))
    };
    match failed {
        true => Err(Error::new(text)),
        false => Ok(text),
    }
}

/// Options that make LLVM print something and end the process.
const QUESTIONS: [&str; 6] = [
    "help",
    "help-hidden",
    "help-list",
    "help-list-hidden",
    "h",
    "version",
];

/// Has code generated in two thirds of the time: loops keep their own induction variables, instructions the order that they
/// were selected in, and registers are not allocated anew where that would save some.
///
/// It is so for the whole process meanwhile: no other thread may generate code.
pub(crate) fn in_haste<T>(work: impl FnOnce() -> T) -> T {
    struct Haste;
    impl Drop for Haste {
        fn drop(&mut self) {
            // SAFETY: it changes options of LLVM's, which nobody reads now.
            unsafe { offkit_set_haste(0) }
        }
    }
    // SAFETY: as above.
    unsafe { offkit_set_haste(1) }
    // Taken back also where the work panics: the next kernel may be one to take time for.
    let _haste = Haste;
    work()
}

/// Has a module be one for a target, its layout of data included, as a code generator for it does.
pub(crate) fn lay_out(module: &mut Module, triple: &str) {
    let triple = CString::new(triple).unwrap_or_default();
    // SAFETY: the module is alive, and the string lives through the call.
    unsafe { offkit_lay_out(module.as_raw(), triple.as_ptr()) }
}

/// Has the x86 back end make the tables of instructions that it makes before it first generates code otherwise, which takes
/// it a millisecond. Code may be generated meanwhile.
pub(crate) fn make_tables() {
    // SAFETY: it has no arguments, and what it makes is made once, whichever thread is first.
    unsafe { offkit_make_tables() }
}

/// Sets options of LLVM's for all of the process: own ones, and others that somebody asked for.
///
/// # Errors
///
/// The first that LLVM does not know or that has no such value, in its words.
pub(crate) fn set_options(own: &[String], others: &[String]) -> Result<(), Error> {
    const PROGRAM: &str = "LLVM";
    let is_question = |option: &&String| {
        // Any of them may be given a value: `--help=true`.
        let name = option.trim_start_matches('-').split('=').next();
        name.is_some_and(|name| QUESTIONS.contains(&name))
    };
    // The process would end with success and without code.
    if let Some(question) = others.iter().find(is_question) {
        return Err(Error::new(format!(
            "`{question}` is not an option of an LLVM back end"
        )));
    }
    // LLVM takes the first word for the program's name, and begins what it complains of with that.
    let words = std::iter::once(PROGRAM).chain(own.iter().chain(others).map(String::as_str));
    let words = words.map(CString::new).collect::<Result<Vec<_>, _>>();
    let words = words.map_err(|_| Error::new("an option holds a zero byte"))?;
    let pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    let count = pointers.len().try_into().unwrap_or_default();
    // SAFETY: valid strings and their count; LLVM copies what it keeps, and the message is ours to free.
    let message = unsafe {
        let message = offkit_parse_options(count, pointers.as_ptr());
        if message.is_null() {
            return Ok(());
        }
        take_message(message)
    };
    let mut told = Vec::new();
    for line in message.lines() {
        let line = line
            .strip_prefix(PROGRAM)
            .map_or(line, |line| line.trim_start_matches(": "));
        // It goes on with how to ask the program for help.
        let line = line.split("  Try:").next().unwrap_or_default();
        told.push(line.trim());
    }
    // Of a value LLVM complains to standard error, and not to whom it was told to.
    let told = match told.as_slice() {
        [] => format!("a value in `{}` is none of its option's", others.join(" ")),
        told => told.join(" "),
    };
    Err(Error::new(format!(
        "LLVM refuses an option of its back ends: {told}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_llvm_does_not_know_are_named() {
        let refused = |option: &str| set_options(&[], &[option.to_owned()]).unwrap_err().to_string();
        let unknown = refused("--frobnicate");
        assert!(
            unknown.contains("--frobnicate") && !unknown.contains("Try"),
            "{unknown}"
        );
        let value = refused("--rng-seed=many");
        assert!(value.contains("rng-seed") && value.contains("many"), "{value}");
        for question in ["--help", "--help=true", "-version=1"] {
            assert!(refused(question).contains(&format!("`{question}`")), "{question}");
        }
        assert!(set_options(&[], &["--rng-seed=100".to_owned()]).is_ok());
    }
}
