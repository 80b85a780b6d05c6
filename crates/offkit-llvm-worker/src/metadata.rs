//! Metadata as plain data, read and written.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{CString, c_uint};

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMContextRef, LLVMMetadataRef, LLVMModuleRef, LLVMValueRef};
use offkit_llvm::Metadata;

use crate::module::{Module, sized_text};

/// How deep nodes are followed; those that matter are lists of pairs, and others may be circular.
const DEEPEST: usize = 4;

/// Bytes that may be read of a module's nodes and texts again, which a small module may name over and over. What is read
/// the first time is in the module, and no larger than that.
const MOST_AGAIN: usize = 1 << 28;

/// The kinds of metadata that are described, by their number in a context.
pub(crate) struct Kinds(BTreeMap<c_uint, &'static str>);

/// What was read of a module's metadata.
pub(crate) struct Reader {
    met: HashSet<LLVMValueRef>,
    /// Bytes that may still be read again.
    left: usize,
}

impl Kinds {
    /// Everything that device code's requirements and properties are read from.
    const NAMES: [&'static str; 11] = [
        "intel_reqd_sub_group_size",
        "max_linear_work_group_size",
        "max_work_group_size",
        "reqd_work_group_size",
        "sycl_explicit_simd",
        "sycl_fixed_targets",
        "sycl_joint_matrix",
        "sycl_joint_matrix_mad",
        "sycl_kernel_omit_args",
        "sycl_used_aspects",
        "work_group_num_dim",
    ];

    pub(crate) fn of(context: LLVMContextRef) -> Self {
        let number = |name: &'static str| {
            // SAFETY: the context is alive, and the name is as long as is said.
            let number =
                unsafe { LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as c_uint) };
            (number, name)
        };
        Self(Self::NAMES.into_iter().map(number).collect())
    }
}

/// The metadata attached to a function or variable, by kind.
///
/// # Safety
///
/// `global` is a function or variable that is alive in `context`.
pub(crate) unsafe fn attached(
    context: LLVMContextRef,
    global: LLVMValueRef,
    kinds: &Kinds,
    reader: &mut Reader,
) -> BTreeMap<String, Vec<Metadata>> {
    let mut found = BTreeMap::new();
    // SAFETY: by this function's contract; the entries are freed below, and read only before.
    unsafe {
        let mut count = 0;
        let entries = LLVMGlobalCopyAllMetadata(global, &raw mut count);
        for index in 0..count as c_uint {
            if let Some(name) = kinds.0.get(&LLVMValueMetadataEntriesGetKind(entries, index)) {
                let node = LLVMValueMetadataEntriesGetMetadata(entries, index);
                let node = LLVMMetadataAsValue(context, node);
                // Of several of one kind the last: a function has each of these kinds once.
                if let Metadata::Node(operands) = reader.read(node, 0) {
                    found.insert((*name).to_owned(), operands);
                }
            }
        }
        LLVMDisposeValueMetadataEntries(entries);
    }
    found
}

/// The named metadata of a module, each a list of nodes, without debug information and module flags.
pub(crate) fn named(module: &Module, reader: &mut Reader) -> BTreeMap<String, Vec<Metadata>> {
    let mut found = BTreeMap::new();
    let module = module.as_raw();
    // SAFETY: the module is alive; the vector has room for as many nodes as LLVM counted.
    unsafe {
        let mut list = LLVMGetFirstNamedMetadata(module);
        while !list.is_null() {
            let mut length = 0;
            let name = sized_text(LLVMGetNamedMetadataName(list, &raw mut length), length);
            if !name.starts_with("llvm.") {
                let name_c = CString::new(name.as_str()).unwrap_or_default();
                let count = LLVMGetNamedMetadataNumOperands(module, name_c.as_ptr());
                let mut nodes = vec![std::ptr::null_mut(); count as usize];
                LLVMGetNamedMetadataOperands(module, name_c.as_ptr(), nodes.as_mut_ptr());
                let nodes = nodes.into_iter().map(|node| reader.read(node, 0));
                found.insert(name, nodes.collect());
            }
            list = LLVMGetNextNamedMetadata(list);
        }
    }
    found
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self {
            met: HashSet::new(),
            left: MOST_AGAIN,
        }
    }

    /// # Safety
    ///
    /// `value` is null or alive, and of the module that this reads.
    unsafe fn read(&mut self, value: LLVMValueRef, depth: usize) -> Metadata {
        if value.is_null() || depth > DEEPEST {
            return Metadata::Other;
        }
        // SAFETY: by this function's contract, each question is asked of a value of the kind it is for.
        unsafe {
            if !LLVMIsAMDString(value).is_null() {
                let mut length = 0;
                let string = LLVMGetMDString(value, &raw mut length);
                return match self.may_read(value, length as usize) {
                    true => Metadata::Text(sized_text(string, length as usize)),
                    false => Metadata::Other,
                };
            }
            if !LLVMIsAConstantInt(value).is_null() {
                return match LLVMGetIntTypeWidth(LLVMTypeOf(value)) {
                    0..=64 => Metadata::Integer(LLVMConstIntGetSExtValue(value)),
                    _ => Metadata::Other,
                };
            }
            if !LLVMIsAGlobalValue(value).is_null() {
                let mut length = 0;
                let name = LLVMGetValueName2(value, &raw mut length);
                return match self.may_read(value, length) {
                    true => Metadata::Symbol(sized_text(name, length)),
                    false => Metadata::Other,
                };
            }
            // A constant wrapped as metadata answers as a node with one operand, itself.
            let is_metadata = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMMetadataTypeKind;
            if is_metadata && !LLVMIsAMDNode(value).is_null() {
                let count = LLVMGetMDNodeNumOperands(value) as usize;
                if !self.may_read(value, count.saturating_mul(size_of::<Metadata>())) {
                    return Metadata::Other;
                }
                let mut operands = vec![std::ptr::null_mut(); count];
                LLVMGetMDNodeOperands(value, operands.as_mut_ptr());
                let operands = operands.into_iter();
                return Metadata::Node(operands.map(|operand| self.read(operand, depth + 1)).collect());
            }
        }
        Metadata::Other
    }

    /// Whether so many bytes may be read of that: they may the first time, and as long as there are enough left.
    fn may_read(&mut self, value: LLVMValueRef, size: usize) -> bool {
        if self.met.insert(value) {
            return true;
        }
        let left = self.left.checked_sub(size);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Adds nodes to named metadata of a module. Symbols that the module does not have become null.
pub(crate) fn add_named(module: &Module, name: &str, nodes: &[Metadata]) {
    let name = CString::new(name).unwrap_or_default();
    let (context, module) = (module.context_raw(), module.as_raw());
    for node in nodes {
        // SAFETY: the module is alive, in its context.
        unsafe {
            let node = build(context, module, node);
            if !node.is_null() {
                LLVMAddNamedMetadataOperand(module, name.as_ptr(), LLVMMetadataAsValue(context, node));
            }
        }
    }
}

/// Adds a node that holds one 8-bit number to named metadata.
pub(crate) fn add_named_number(module: &Module, name: &str, number: u8) {
    let name = CString::new(name).unwrap_or_default();
    let (context, module) = (module.context_raw(), module.as_raw());
    // SAFETY: the module is alive, in its context.
    unsafe {
        let constant = LLVMConstInt(LLVMInt8TypeInContext(context), u64::from(number), 0);
        let mut operand = LLVMValueAsMetadata(constant);
        let node = LLVMMDNodeInContext2(context, &raw mut operand, 1);
        LLVMAddNamedMetadataOperand(module, name.as_ptr(), LLVMMetadataAsValue(context, node));
    }
}

/// # Safety
///
/// The module is alive, in `context`.
unsafe fn build(context: LLVMContextRef, module: LLVMModuleRef, metadata: &Metadata) -> LLVMMetadataRef {
    // SAFETY: by this function's contract.
    unsafe {
        match metadata {
            Metadata::Integer(value) => {
                // The number as it was read, cut to the width that all of them have.
                LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(context), *value as u64, 1))
            }
            Metadata::Text(text) => LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len()),
            Metadata::Symbol(name) => {
                let name = CString::new(name.as_str()).unwrap_or_default();
                let mut symbol = LLVMGetNamedFunction(module, name.as_ptr());
                if symbol.is_null() {
                    symbol = LLVMGetNamedGlobal(module, name.as_ptr());
                }
                if symbol.is_null() {
                    std::ptr::null_mut()
                } else {
                    LLVMValueAsMetadata(symbol)
                }
            }
            Metadata::Node(operands) => {
                let mut operands: Vec<_> = (operands.iter())
                    .map(|operand| build(context, module, operand))
                    .collect();
                LLVMMDNodeInContext2(context, operands.as_mut_ptr(), operands.len())
            }
            Metadata::Other => std::ptr::null_mut(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    #[test]
    fn a_node_that_is_in_itself_often_is_not_read_over_and_over() {
        let operands = vec!["!0"; 1000].join(", ");
        let text = format!("!list = !{{!0, !1}}\n!0 = distinct !{{{operands}}}\n!1 = !{{!\"text\"}}");
        let module = Module::parse_text(&Context::new(), &text).unwrap();
        // All of its thousand million operands would be far too much; other nodes are read still.
        let mut reader = Reader {
            left: 1 << 20,
            ..Reader::new()
        };
        let read = named(&module, &mut reader);
        assert_eq!(read["list"][0].node().map(<[Metadata]>::len), Some(1000));
        assert_eq!(
            read["list"][1],
            Metadata::Node(vec![Metadata::Text("text".to_owned())])
        );
    }

    #[test]
    fn metadata_is_written_as_it_was_read() {
        let text = r#"
            define void @f() { ret void }
            !list = !{!0, !2}
            !0 = !{!"text", i32 -7, ptr @f, !1, null}
            !1 = !{i64 9, i128 1}
            !2 = distinct !{!2}"#;
        let module = Module::parse_text(&Context::new(), text).unwrap();
        let read = named(&module, &mut Reader::new());
        let inner = Metadata::Node(vec![Metadata::Integer(9), Metadata::Other]);
        let node = Metadata::Node(vec![
            Metadata::Text("text".to_owned()),
            Metadata::Integer(-7),
            Metadata::Symbol("f".to_owned()),
            inner,
            Metadata::Other,
        ]);
        assert_eq!(read["list"][0], node);
        assert!(
            read["list"][1].node().is_some(),
            "a node that is in itself is followed for a while"
        );

        let other = Module::parse_text(&Context::new(), "define void @g() { ret void }").unwrap();
        add_named(&other, "list", &[node]);
        add_named_number(&other, "number", 3);
        let written = named(&other, &mut Reader::new());
        let operands = written["list"][0].node().unwrap();
        assert_eq!(
            operands[..2],
            [Metadata::Text("text".to_owned()), Metadata::Integer(-7)]
        );
        assert_eq!(operands[2], Metadata::Other, "it has no such symbol");
        assert_eq!(written["number"], [Metadata::Node(vec![Metadata::Integer(3)])]);
        assert!(other.verify().is_ok());
    }
}
