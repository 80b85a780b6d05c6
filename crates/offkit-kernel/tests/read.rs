//! What is read of modules that clang does not write.

use offkit_kernel::ReadError;
use offkit_kernel::ir::Module;
use rspirv::binary::Assemble;
use rspirv::dr::Builder;
use rspirv::spirv::*;

fn builder() -> Builder {
    let mut b = Builder::new();
    b.set_version(1, 4);
    for capability in [Capability::Kernel, Capability::Addresses, Capability::Linkage] {
        b.capability(capability);
    }
    b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
    b
}

/// Reads what was built; what can be read must be valid.
fn read(b: Builder) -> Result<Module, ReadError> {
    let words = b.module().assemble();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let source = offkit_spirv::Module::from_bytes(&bytes).expect("good SPIR-V");
    let module = offkit_kernel::read(source.dr())?;
    module.verify().unwrap_or_else(|error| panic!("{error}"));
    Ok(module)
}

/// Constants of a table of zeros with a number behind it, the largest that there may be.
fn tables(count: usize) -> Result<Module, ReadError> {
    let mut b = builder();
    let int = b.type_int(32, 0);
    let length = b.constant_bit32(int, (1 << 22) - 1);
    let array = b.type_array(int, length);
    let zeros = b.constant_null(array);
    let last = b.constant_bit32(int, 7);
    let table = b.type_struct([array, int]);
    for _ in 0..count {
        b.constant_composite(table, [zeros, last]);
    }
    read(b)
}

#[test]
fn zeros_in_constants_take_no_memory() {
    let mut b = builder();
    let int = b.type_int(32, 0);
    let length = b.constant_bit32(int, 1 << 20);
    let array = b.type_array(int, length);
    let zeros = b.constant_null(array);
    let pair = b.type_struct([array, array]);
    b.constant_composite(pair, [zeros, zeros]);
    let module = read(b).expect("a good module");
    assert!(module.constants.iter().all(|constant| constant.words.len() <= 1));
}

#[test]
fn constants_take_memory_within_bounds() {
    let module = tables(1).expect("a good module");
    let table = module.constants.iter().find(|constant| constant.words.len() > 1);
    let words = &table.expect("the table").words;
    assert_eq!((words.len(), words.last()), (1 << 22, Some(&7)));
    let error = tables(9).expect_err("too much in all");
    assert_eq!(
        error.to_string(),
        "no support for constants of more than 2^25 components in all"
    );
}

#[test]
fn pointers_are_subtracted_for_integers_of_any_width() {
    for width in [32, 64] {
        let mut b = builder();
        // With the narrow one the module has no integers of the pointers' width.
        if width == 64 {
            b.capability(Capability::Int64);
        }
        let (void, int) = (b.type_void(), b.type_int(width, 0));
        let float = b.type_float(32, None);
        let pointer = b.type_pointer(None, StorageClass::CrossWorkgroup, float);
        let signature = b.type_function(void, [pointer, pointer]);
        let function = b
            .begin_function(void, None, FunctionControl::NONE, signature)
            .unwrap();
        let first = b.function_parameter(pointer).unwrap();
        let second = b.function_parameter(pointer).unwrap();
        b.begin_block(None).unwrap();
        b.ptr_diff(int, None, first, second).unwrap();
        b.ret().unwrap();
        b.end_function().unwrap();
        b.entry_point(ExecutionModel::Kernel, function, "k", []);
        let text = read(b).expect("a good module").to_string();
        assert!(text.contains("SDiv"), "{text}");
        assert_eq!(text.contains("convert"), width == 32, "{text}");
    }
}
