//! Modules written by hand: what clang doesn't write, and what is wrong.

use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;

use offkit_kernel::ir;
use offkit_plugin_cpu::{AllocationKind, Argument, BuildError, LaunchOptions, Memory, NdRange, Program};

use offkit_spirv::{Module, Parameter, ParameterKind, Storage, Type, specialize};

use crate::support::{Device, filter};

/// Assembles a module. `None` where there is no assembler, which is an error when tools are required.
fn assemble(text: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("spirv-as");
    filter(command.args(["--target-env", "spv1.4", "-o", "-", "-"]), text)
}

const TYPES: &str = "%void = OpTypeVoid
  %bool = OpTypeBool
  %char = OpTypeInt 8 0
  %int = OpTypeInt 32 0
  %long = OpTypeInt 64 0
  %float = OpTypeFloat 32
  %int2 = OpTypeVector %int 2
  %long3 = OpTypeVector %long 3
  %pint = OpTypePointer CrossWorkgroup %int
  %plong3 = OpTypePointer Input %long3
  %n0 = OpConstant %int 0
  %n1 = OpConstant %int 1
  %n2 = OpConstant %int 2
  %n3 = OpConstant %int 3
  %n5 = OpConstant %int 5
  %l0 = OpConstant %long 0
  %kernel = OpTypeFunction %void %pint\n";

/// A module with a kernel `k` that takes a buffer of integers `%out`, from the parts that differ.
fn module(more_capabilities: &str, annotations: &str, globals: &str, body: &str) -> String {
    format!(
        "OpCapability Kernel\nOpCapability Addresses\nOpCapability Linkage\nOpCapability Int8\nOpCapability Int64
         {more_capabilities}
         %cl = OpExtInstImport \"OpenCL.std\"
         OpMemoryModel Physical64 OpenCL
         OpEntryPoint Kernel %k \"k\"
         %file = OpString \"kernel.cl\"
         {annotations}
         {TYPES}
         {globals}
         %k = OpFunction %void None %kernel
         %out = OpFunctionParameter %pint
         %entry = OpLabel
         {body}
         OpFunctionEnd"
    )
}

fn refused(text: &str) -> Option<String> {
    let spirv = assemble(text)?;
    match Device::build(&spirv) {
        Ok(_) => panic!("built:\n{text}"),
        Err(error) => Some(error.to_string()),
    }
}

/// Runs `k` for one work-item and gives the integers that it left.
fn run(spirv: &[u8]) -> Result<Vec<i32>, String> {
    let module = Module::from_bytes(spirv).map_err(|error| error.to_string())?;
    run_module(&module)
}

fn run_module(module: &Module) -> Result<Vec<i32>, String> {
    let memory = Memory::new();
    let program = Program::from_module(module, Arc::clone(&memory)).map_err(|error| error.to_string())?;
    let out = memory.allocate(16, 4, AllocationKind::Buffer).unwrap();
    let options = LaunchOptions {
        max_instructions: Some(1 << 20),
        ..Default::default()
    };
    let launched = program.launch("k", &NdRange::new([1]), &[Argument::Pointer(out)], &options);
    launched.map_err(|error| error.to_string())?;
    let mut bytes = [0; 16];
    memory.read(out, &mut bytes).unwrap();
    Ok(bytes
        .chunks(4)
        .map(|chunk| i32::from_le_bytes(chunk.try_into().unwrap()))
        .collect())
}

#[test]
fn specialization_constants() {
    let text = module(
        "",
        "OpDecorate %size SpecId 7\nOpDecorate %flag SpecId 8",
        "%size = OpSpecConstant %int 10
         %flag = OpSpecConstantFalse %bool
         %twice = OpSpecConstantOp %int IMul %size %n2
         %pick = OpSpecConstantOp %int Select %flag %twice %n5
         %wide = OpSpecConstantOp %long UConvert %size
         %pair = OpSpecConstantComposite %int2 %size %pick
         %second = OpSpecConstantOp %int CompositeExtract %pair 1
         %table = OpTypeArray %int %size
         %ptable = OpTypePointer Function %table
         %pfint = OpTypePointer Function %int",
        "%array = OpVariable %ptable Function
         %last = OpISub %int %size %n1
         %element = OpInBoundsAccessChain %pfint %array %last
         OpStore %element %twice
         %value = OpLoad %int %element
         OpStore %out %value
         %o1 = OpInBoundsPtrAccessChain %pint %out %n1
         OpStore %o1 %second
         OpReturn",
    );
    let Some(spirv) = assemble(&text) else { return };
    assert_eq!(run(&spirv).unwrap(), [20, 5, 0, 0]);
    let mut specialized = Module::from_bytes(&spirv).unwrap();
    specialize(&mut specialized, &HashMap::from([(7, 4), (8, 1), (99, 0)]));
    assert_eq!(run_module(&specialized).unwrap(), [8, 8, 0, 0]);
}

#[test]
fn errors_name_the_source_line() {
    let text = module(
        "",
        "",
        "%far = OpConstant %int 1000",
        "OpLine %file 17 3
         %p = OpInBoundsPtrAccessChain %pint %out %far
         OpLine %file 18 5
         OpStore %p %n1
         OpReturn",
    );
    let Some(spirv) = assemble(&text) else { return };
    let error = run(&spirv).unwrap_err();
    assert!(error.contains("in function `k` at kernel.cl:18"), "{error}");
}

#[test]
fn unreachable_code_that_is_reached() {
    let Some(spirv) = assemble(&module("", "", "", "OpUnreachable")) else {
        return;
    };
    let error = run(&spirv).unwrap_err();
    assert!(
        error.contains("declared unreachable") && error.contains("work-item [0, 0, 0]"),
        "{error}"
    );
}

#[test]
fn phis_exchange_values_at_once() {
    let text = module(
        "",
        "",
        "",
        "OpBranch %loop
         %loop = OpLabel
         %a = OpPhi %int %n1 %entry %b %loop
         %b = OpPhi %int %n2 %entry %a %loop
         %i = OpPhi %int %n0 %entry %next %loop
         %next = OpIAdd %int %i %n1
         %more = OpULessThan %bool %next %n3
         OpBranchConditional %more %loop %done
         %done = OpLabel
         OpStore %out %a
         %o1 = OpInBoundsPtrAccessChain %pint %out %n1
         OpStore %o1 %b
         OpReturn",
    );
    let Some(spirv) = assemble(&text) else { return };
    assert_eq!(run(&spirv).unwrap(), [1, 2, 0, 0]);
}

/// Each would take minutes if the work grew as the square of the length.
#[test]
fn long_functions_are_built_in_time() {
    const LENGTH: u32 = 200_000;
    let build = |body: &str| {
        let text = format!(
            "offkit-kernel 1\ntype #0 void\ntype #1 scalar i32\ntype #2 pointer CrossWorkgroup #1\n\
             type #3 scalar bool\nkernel \"k\" @0\n\nfunction @0 \"k\" #0\n  parameter %0 #2\n{body}"
        );
        let module = ir::Module::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
        let (storage, layout, name) = (Storage::Global, None, "i32".to_owned());
        let pointee = Type { name, layout };
        let pointer = Parameter::new(ParameterKind::Pointer { storage, pointee }, 8);
        let memory = Memory::new();
        let out = memory.allocate(4, 4, AllocationKind::Buffer).unwrap();
        let program = Program::from_read(module, vec![vec![pointer]], Arc::clone(&memory)).unwrap();
        let arguments = [Argument::Pointer(out)];
        let launched = program.launch("k", &NdRange::new([1]), &arguments, &LaunchOptions::default());
        launched.unwrap();
        let mut bytes = [0; 4];
        memory.read(out, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    };
    let blocks: String = (1..LENGTH)
        .map(|block| format!("  end jump ^{block}\nblock ^{block}\n"))
        .collect();
    let one = "  store (%0 i32:1) align 4\n  end return none\n";
    assert_eq!(build(&format!("block ^0\n{blocks}{one}")), 1);
    let same: String = (2..LENGTH)
        .map(|value| format!("  %{value} i32 = expect (%{} i32:0)\n", value - 1))
        .collect();
    let last = LENGTH - 1;
    let stored = format!("  store (%0 %{last}) align 4\n  end return none\n");
    assert_eq!(
        build(&format!(
            "block ^0\n  %1 i32 = op IAdd (i32:2 i32:3)\n{same}{stored}"
        )),
        5
    );
    // Each phi takes over what the next one was, in a second round.
    let phis: String = (1..LENGTH)
        .map(|phi| format!("  %{phi} i32 = phi [^0 i32:{phi} ^1 %{}]\n", phi + 1))
        .collect();
    let round = format!(
        "  %{LENGTH} i32 = op IAdd (%{last} i32:1)\n  %{next} bool = op ULessThan (%{LENGTH} i32:{next})\n  \
         end branch %{next} ^1 ^2\nblock ^2\n",
        next = LENGTH + 1
    );
    let loops = build(&format!(
        "block ^0\n  end jump ^1\nblock ^1\n{phis}{round}{stored}"
    ));
    assert_eq!(loops, LENGTH);
}

/// Parameters that would take gigabytes in each kernel object.
#[test]
fn kernels_with_too_many_bytes_of_parameters_are_refused() {
    let text = |count: u64| {
        module(
            "",
            "OpDecorate %large FuncParamAttr ByVal\nOpDecorate %other FuncParamAttr ByVal",
            "",
            "",
        )
        .split("%k = OpFunction")
        .next()
        .unwrap()
        .to_owned()
            + &format!(
                "%length = OpConstant %long {count}
                 %array = OpTypeArray %int %length
                 %struct = OpTypeStruct %array
                 %pstruct = OpTypePointer Function %struct
                 %two = OpTypeFunction %void %pstruct %pstruct
                 %k = OpFunction %void None %two
                 %large = OpFunctionParameter %pstruct
                 %other = OpFunctionParameter %pstruct
                 %entry = OpLabel
                 OpReturn
                 OpFunctionEnd"
            )
    };
    let Some(spirv) = assemble(&text(1 << 20)) else {
        return;
    };
    assert!(Device::build(&spirv).is_ok(), "8 MiB together");
    let error = refused(&text((2 << 20) + 1)).unwrap();
    assert!(
        error.contains("in function `k`") && error.contains("16777224 bytes") && error.contains("16 MiB"),
        "{error}"
    );
}

/// The number of elements is bounded by their bytes, of which these have none.
#[test]
fn copies_of_any_number_of_elements_without_bytes_end() {
    let text = module(
        "OpCapability Groups",
        "",
        "%empty = OpTypeStruct
         %pglobal = OpTypePointer CrossWorkgroup %empty
         %plocal = OpTypePointer Workgroup %empty
         %event = OpTypeEvent
         %none = OpConstantNull %event
         %all = OpConstant %long 18446744073709551615
         %l2 = OpConstant %long 2
         %shared = OpVariable %plocal Workgroup",
        "%to = OpBitcast %pglobal %out
         %copied = OpGroupAsyncCopy %event %n2 %to %shared %all %l2 %none
         OpStore %out %n1
         OpReturn",
    );
    let Some(spirv) = assemble(&text) else { return };
    assert_eq!(run(&spirv).unwrap(), [1, 0, 0, 0]);
}

#[test]
fn wide_products_and_division_by_zero() {
    let text = module(
        "",
        "",
        "%pair = OpTypeStruct %int %int
         %big = OpConstant %int 0x80000001",
        "%product = OpUMulExtended %pair %big %n3
         %low = OpCompositeExtract %int %product 0
         %high = OpCompositeExtract %int %product 1
         %quotient = OpUDiv %int %n5 %n0
         %remainder = OpSRem %int %n5 %n0
         OpStore %out %low
         %o1 = OpInBoundsPtrAccessChain %pint %out %n1
         OpStore %o1 %high
         %o2 = OpInBoundsPtrAccessChain %pint %out %n2
         OpStore %o2 %quotient
         %o3 = OpInBoundsPtrAccessChain %pint %out %n3
         OpStore %o3 %remainder
         OpReturn",
    );
    let Some(spirv) = assemble(&text) else { return };
    assert_eq!(run(&spirv).unwrap(), [0x8000_0003u32 as i32, 1, -1, 5]);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let cases = [
        (
            module("OpCapability ImageBasic", "", "", "OpReturn"),
            "capability ImageBasic",
        ),
        (
            module("OpCapability Pipes", "", "", "OpReturn"),
            "capability Pipes",
        ),
        (
            module("OpCapability DeviceEnqueue", "", "", "OpReturn"),
            "capability DeviceEnqueue",
        ),
        (
            module(
                "",
                "",
                "%image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly",
                "OpReturn",
            ),
            "OpTypeImage",
        ),
        (
            module("", "", "%odd = OpTypeInt 24 0", "OpReturn"),
            "integers of 24 bits (OpTypeInt with capability ArbitraryPrecisionIntegersALTERA)",
        ),
        (
            module("", "", "", "%s = OpSizeOf %int %out\nOpReturn"),
            "OpSizeOf (in function `k`)",
        ),
        (
            module(
                "",
                "",
                "%private = OpTypePointer Private %int\n%v = OpVariable %private Private",
                "OpReturn",
            ),
            "storage class Private",
        ),
        (
            module(
                "",
                "",
                "%device = OpConstant %int 1",
                "%x = OpGroupIAdd %int %device Reduce %n1\nOpReturn",
            ),
            "OpGroupIAdd with scope Device (in function `k`)",
        ),
        (
            module(
                "",
                "OpDecorate %v BuiltIn FragCoord",
                "%v = OpVariable %plong3 Input",
                "OpReturn",
            ),
            "built-in variable FragCoord",
        ),
        (
            module("", "", "", "OpReturn").replace("Physical64", "Physical32"),
            "memory model Physical32 OpenCL; it needs Physical64 OpenCL",
        ),
        (
            module("", "", "", "OpReturn").replace(
                "OpMemoryModel",
                "%x = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel",
            ),
            "the extended instruction set `GLSL.std.450`",
        ),
    ];
    for (text, wanted) in cases {
        let Some(error) = refused(&text) else { return };
        assert_eq!(
            error,
            format!("the CPU device has no support for {wanted}"),
            "{text}"
        );
    }
}

#[test]
fn what_breaks_the_rules_is_refused() {
    let cases = [
        (
            module("", "", "", "%x = OpIAdd %int %n1 %l0\nOpReturn"),
            " is i64",
        ),
        (
            module("", "", "", "%x = OpIAdd %int2 %n1 %n2\nOpReturn"),
            "other lanes",
        ),
        (
            module(
                "",
                "",
                "",
                "%x = OpIAdd %int %y %n1\n%y = OpIAdd %int %n1 %n1\nOpReturn",
            ),
            "before it is there",
        ),
        (
            module("", "", "", "%x = OpCompositeExtract %int %n1 3\nOpReturn"),
            "no part 3",
        ),
        (
            module("", "", "", "%x = OpLoad %int %n1\nOpReturn"),
            "not a pointer",
        ),
        (
            module(
                "",
                "",
                "",
                "OpBranchConditional %n1 %entry2 %entry2\n%entry2 = OpLabel\nOpReturn",
            ),
            "not a boolean",
        ),
        (module("", "", "", "OpBranch %n1"), "is not a label"),
        (module("", "", "", "OpReturnValue %n1"), "another type"),
        (
            module("", "", "", "%x = OpFunctionCall %void %k\nOpReturn"),
            "calls `k` with 0 arguments",
        ),
        (
            module("", "", "", "%x = OpPhi %int %n1 %entry\nOpReturn"),
            "entry block has phis",
        ),
        (
            module("", "", "", "%x = OpBitcast %long %n1\nOpReturn"),
            "another size",
        ),
        (
            module(
                "",
                "",
                "%s = OpTypeStruct %int\n%ps = OpTypePointer CrossWorkgroup %s",
                "%c = OpBitcast %ps %out\n%x = OpInBoundsPtrAccessChain %pint %c %n0 %n1\nOpReturn",
            ),
            "no member 1",
        ),
        (
            module("", "", "%v = OpConstantComposite %int2 %n1", "OpReturn"),
            "1 components, its type 2",
        ),
        (
            module("", "", "", "OpReturn").replace("OpEntryPoint Kernel %k", "OpEntryPoint Kernel %n1"),
            "not a function",
        ),
    ];
    for (text, wanted) in cases {
        let Some(error) = refused(&text) else { return };
        assert!(
            error.starts_with("not valid SPIR-V: ") && error.contains(wanted),
            "{error}\n{text}"
        );
    }
}

#[test]
fn imports_must_be_resolved_where_they_are_needed() {
    let text = module(
        "",
        "OpDecorate %f LinkageAttributes \"missing_function\" Import\nOpDecorate %g LinkageAttributes \"unused\" Import",
        "%signature = OpTypeFunction %int %int
         %f = OpFunction %int None %signature
         %p = OpFunctionParameter %int
         OpFunctionEnd
         %g = OpFunction %int None %signature
         %q = OpFunctionParameter %int
         OpFunctionEnd",
        "%x = OpFunctionCall %int %f %n1\nOpReturn",
    );
    let Some(spirv) = assemble(&text) else { return };
    let error = Device::build(&spirv).err();
    let expected = BuildError::UnresolvedImport {
        name: "missing_function".into(),
        kernel: "k".into(),
    };
    assert_eq!(error, Some(expected));
    let unused = text.replace("%x = OpFunctionCall %int %f %n1", "");
    assert_eq!(run(&assemble(&unused).unwrap()), Ok(vec![0; 4]));
}
