//! Linking what clang does not write, but other compilers do. Assembled from text.

mod common;

use std::collections::HashMap;

use common::{assemble, assert_valid, link_valid, link_valid_with, read, try_link};
use offkit_spirv::dr::Operand;
use offkit_spirv::grammar::{Capability, Decoration, FunctionParameterAttribute, Op};
use offkit_spirv::{CallGraph, LinkError, LinkOptions, Linkage, Module, reflect, specialize};

/// Assembles each text behind the usual first lines, or returns from the test when there is no assembler.
macro_rules! assemble_all {
    ($($text:expr),+ $(,)?) => {{
        let modules: Option<Vec<Module>> = [$($text),+]
            .into_iter()
            .map(|text| {
                assemble(&format!(
                    "OpCapability Addresses
                     OpCapability Kernel
                     OpCapability Linkage
                     OpCapability Int64
                     OpCapability GenericPointer
                     {text}"
                ))
            })
            .collect();
        match modules {
            Some(modules) => modules.try_into().unwrap(),
            None => return,
        }
    }};
}

const MODEL: &str = "OpMemoryModel Physical64 OpenCL";

/// A kernel that calls the imported function `f` with the number 5.
const CALLER: &str = r#"OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %10 "k"
    OpDecorate %9 LinkageAttributes "f" Import
    %1 = OpTypeVoid
    %2 = OpTypeInt 32 0
    %3 = OpTypeFunction %1
    %4 = OpTypeFunction %2 %2
    %5 = OpConstant %2 5
    %9 = OpFunction %2 None %4
    %11 = OpFunctionParameter %2
    OpFunctionEnd
    %10 = OpFunction %1 None %3
    %12 = OpLabel
    %13 = OpFunctionCall %2 %9 %5
    OpReturn
    OpFunctionEnd"#;

/// A definition of `f` that returns a constant.
fn definition(linkage: &str, result: u32) -> String {
    let extension = match linkage {
        "LinkOnceODR" => r#"OpExtension "SPV_KHR_linkonce_odr""#,
        _ => "",
    };
    format!(
        r#"{extension}
        OpMemoryModel Physical64 OpenCL
        OpName %20 "body"
        OpDecorate %20 LinkageAttributes "f" {linkage}
        %1 = OpTypeInt 32 0
        %2 = OpTypeFunction %1 %1
        %3 = OpConstant %1 {result}
        %20 = OpFunction %1 None %2
        %21 = OpFunctionParameter %1
        %22 = OpLabel
        OpReturnValue %3
        OpFunctionEnd"#
    )
}

/// The constants that functions return, in module order.
fn returned(module: &Module) -> Vec<u32> {
    let values: HashMap<_, _> = module
        .dr()
        .types_global_values
        .iter()
        .filter_map(|i| match i.operands.first() {
            Some(Operand::LiteralBit32(value)) => Some((i.result_id?, *value)),
            _ => None,
        })
        .collect();
    let instructions = module.dr().functions.iter().flat_map(|f| f.all_inst_iter());
    instructions
        .filter(|i| i.opcode == Op::ReturnValue)
        .filter_map(|i| values.get(&i.operands[0].id_ref_any()?).copied())
        .collect()
}

fn count(module: &Module, op: Op) -> usize {
    module.dr().all_inst_iter().filter(|i| i.opcode == op).count()
}

#[test]
fn of_definitions_that_are_all_alike_the_first_is_kept() {
    let [caller, first, second] = assemble_all!(
        CALLER,
        &definition("LinkOnceODR", 1),
        &definition("LinkOnceODR", 2)
    );
    let linked = link_valid(&[&caller, &first, &second]);
    assert_eq!(returned(&linked), [1]);
    assert_eq!(reflect(&linked).symbols, []);
    assert_eq!(reflect(&linked).extensions, Vec::<String>::new());
    // The name of what was left out is left out as well.
    assert_eq!(linked.dr().debug_names.len(), 1);
    let library = link_valid_with(&[&second, &first], LinkOptions::default().with_keep_exports(true));
    assert_eq!(returned(&library), [2]);
    assert_eq!(reflect(&library).exports[0].linkage, Linkage::LinkOnceOdr);
    assert_eq!(reflect(&library).extensions, ["SPV_KHR_linkonce_odr"]);
}

#[test]
fn an_export_goes_before_definitions_that_are_all_alike() {
    let [caller, weak, strong] =
        assemble_all!(CALLER, &definition("LinkOnceODR", 1), &definition("Export", 2));
    for modules in [[&caller, &weak, &strong], [&strong, &weak, &caller]] {
        assert_eq!(returned(&link_valid(&modules)), [2]);
    }
}

#[test]
fn memory_models_have_to_agree() {
    let [caller, other, none] = assemble_all!(
        CALLER,
        "OpCapability Shader\nOpMemoryModel Physical64 GLSL450",
        "%1 = OpTypeVoid"
    );
    let error = try_link(&[&caller, &other], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the memory models differ: m0 is OpenCL, m1 is GLSL450"
    );
    let error = try_link(&[&caller, &none], LinkOptions::default()).unwrap_err();
    assert_eq!(error, LinkError::NoMemoryModel { module: "m1".into() });
}

#[test]
fn functions_of_the_device_stay_imports() {
    let [module] = assemble_all!(&CALLER.replace("\"f\"", "\"__spirv_ocl_sin\""));
    let linked = link_valid(&[&module]);
    assert_eq!(reflect(&linked).imports, []);
    let [symbol] = reflect(&linked).symbols.try_into().unwrap();
    assert_eq!(
        (symbol.name.as_str(), symbol.linkage),
        ("__spirv_ocl_sin", Linkage::Import)
    );
    assert!(reflect(&linked).capabilities.contains(&Capability::Linkage));
}

#[test]
fn decoration_groups_are_written_out() {
    let [module, other] = assemble_all!(
        &format!(
            "{MODEL}
             OpName %30 \"group\"
             OpDecorate %30 FuncParamAttr NoWrite
             OpDecorate %30 Alignment 4
             %30 = OpDecorationGroup
             OpGroupDecorate %30 %11 %12
             OpDecorate %31 Volatile
             %31 = OpDecorationGroup
             OpGroupMemberDecorate %31 %4 0 %4 1
             %1 = OpTypeInt 32 0
             %2 = OpTypePointer CrossWorkgroup %1
             %3 = OpTypeFunction %1 %2 %2
             %4 = OpTypeStruct %1 %1
             %10 = OpFunction %1 None %3
             %11 = OpFunctionParameter %2
             %12 = OpFunctionParameter %2
             %13 = OpLabel
             %14 = OpLoad %1 %11 Aligned 4
             OpReturnValue %14
             OpFunctionEnd"
        ),
        &definition("Export", 1)
    );
    let linked = link_valid(&[&other, &module]);
    assert_eq!(count(&linked, Op::DecorationGroup), 0);
    assert_eq!(count(&linked, Op::GroupDecorate), 0);
    assert_eq!(count(&linked, Op::MemberDecorate), 2);
    let no_write = [
        Operand::Decoration(Decoration::FuncParamAttr),
        Operand::FunctionParameterAttribute(FunctionParameterAttribute::NoWrite),
    ];
    let annotations = linked.dr().annotations.iter();
    assert_eq!(annotations.filter(|i| i.operands[1..] == no_write).count(), 2);
    assert_eq!(linked.dr().debug_names.len(), 1);
}

#[test]
fn lists_that_contain_themselves_survive() {
    let list = format!(
        "{MODEL}
         OpTypeForwardPointer %5 CrossWorkgroup
         %1 = OpTypeInt 32 0
         %4 = OpTypeStruct %5 %1
         %5 = OpTypePointer CrossWorkgroup %4
         %6 = OpTypeFunction %1 %5
         %10 = OpFunction %1 None %6
         %11 = OpFunctionParameter %5
         %12 = OpLabel
         %13 = OpUndef %1
         OpReturnValue %13
         OpFunctionEnd"
    );
    let name = |linkage| {
        list.replacen(
            MODEL,
            &format!("{MODEL}\nOpDecorate %10 LinkageAttributes \"f\" {linkage}"),
            1,
        )
    };
    let caller = name("Import")
        .replace("%12 = OpLabel\n", "")
        .replace("%13 = OpUndef %1\n", "")
        .replace("OpReturnValue %13\n", "");
    let caller = format!(
        "{caller}
         %20 = OpFunction %1 None %6
         %21 = OpFunctionParameter %5
         %22 = OpLabel
         %23 = OpFunctionCall %1 %10 %21
         OpReturnValue %23
         OpFunctionEnd"
    );
    let [caller, library] = assemble_all!(&caller, &name("Export"));
    assert_valid(&library);
    let linked = link_valid(&[&caller, &library]);
    // The two lists are different types to SPIR-V, so the pointer is cast.
    assert_eq!(count(&linked, Op::Bitcast), 1);
}

#[test]
fn an_import_that_is_not_only_called_has_to_have_the_very_type() {
    let import = |parameter| {
        format!(
            r#"OpCapability FunctionPointersINTEL
            OpExtension "SPV_INTEL_function_pointers"
            {MODEL}
            OpDecorate %10 LinkageAttributes "f" Import
            %1 = OpTypeInt 32 0
            %2 = OpTypeInt 64 0
            %3 = OpTypePointer CrossWorkgroup {parameter}
            %4 = OpTypeFunction %1 %3
            %5 = OpTypePointer CodeSectionINTEL %4
            %6 = OpConstantFunctionPointerINTEL %5 %10
            %10 = OpFunction %1 None %4
            %11 = OpFunctionParameter %3
            OpFunctionEnd"#
        )
    };
    let export = format!(
        r#"{MODEL}
        OpDecorate %10 LinkageAttributes "f" Export
        %1 = OpTypeInt 32 0
        %3 = OpTypePointer CrossWorkgroup %1
        %4 = OpTypeFunction %1 %3
        %10 = OpFunction %1 None %4
        %11 = OpFunctionParameter %3
        %12 = OpLabel
        %13 = OpLoad %1 %11 Aligned 4
        OpReturnValue %13
        OpFunctionEnd"#
    );
    let [same, other, export] = assemble_all!(&import("%1"), &import("%2"), &export);
    assert!(try_link(&[&same, &export], LinkOptions::default()).is_ok());
    let error = try_link(&[&other, &export], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "symbol 'f' has type i32(global i64*) in m0, but type i32(global i32*) in m1"
    );
}

#[test]
fn initial_values_that_need_each_other_are_an_error() {
    let variable = |own: &str, other: &str| {
        format!(
            r#"{MODEL}
            OpDecorate %10 LinkageAttributes "{own}" Export
            OpDecorate %11 LinkageAttributes "{other}" Import
            %1 = OpTypeInt 8 0
            %2 = OpTypePointer CrossWorkgroup %1
            %3 = OpTypePointer CrossWorkgroup %2
            %11 = OpVariable %3 CrossWorkgroup
            %12 = OpSpecConstantOp %2 Bitcast %11
            %10 = OpVariable %3 CrossWorkgroup %12"#
        )
    };
    let [a, b] = assemble_all!(&variable("a", "b"), &variable("b", "a"));
    let error = try_link(&[&a, &b], LinkOptions::default()).unwrap_err();
    assert_eq!(error, LinkError::InitializerCycle);
}

#[test]
fn line_marks_and_strings_are_kept() {
    let with_lines = r#"%50 = OpString "source.cl"
        OpSource OpenCL_C 300000 %50
        OpModuleProcessed "tool"
        OpDecorate %10 LinkageAttributes "NAME" Export
        OpLine %50 1 0
        %1 = OpTypeInt 32 0
        %2 = OpTypeFunction %1
        %3 = OpConstant %1 1
        OpLine %50 2 0
        %10 = OpFunction %1 None %2
        OpLine %50 3 0
        %11 = OpLabel
        OpLine %50 4 0
        OpReturnValue %3
        OpNoLine
        OpFunctionEnd"#;
    let text = |name| format!("{MODEL}\n{}", with_lines.replace("NAME", name));
    let [a, b] = assemble_all!(&text("a"), &text("b"));
    let linked = link_valid(&[&a, &b]);
    assert_eq!(count(&linked, Op::String), 1);
    assert_eq!(count(&linked, Op::Source), 1);
    assert_eq!(count(&linked, Op::ModuleProcessed), 1);
    assert_eq!(count(&linked, Op::TypeInt), 1);
    let lines = linked.dr().functions.iter().flat_map(|f| f.all_inst_iter());
    let lines: Vec<_> = lines
        .filter(|i| i.opcode == Op::Line)
        .map(|i| &i.operands[1])
        .collect();
    assert_eq!(lines, [3, 4, 3, 4].map(Operand::LiteralBit32).each_ref());
}

/// A kernel that stores specialization constants: number 1 of 64 bits and number 2 a boolean, and a sum.
const SPECIALIZED: &str = r#"OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %20 "NAME"
    OpDecorate %10 SpecId 1
    OpDecorate %11 SpecId 2
    OpDecorate %14 SpecId 3
    %1 = OpTypeVoid
    %2 = OpTypeInt 64 0
    %3 = OpTypeBool
    %4 = OpTypePointer CrossWorkgroup %2
    %5 = OpTypeFunction %1 %4
    %6 = OpTypeVector %2 2
    %7 = OpTypeInt 8 0
    %10 = OpSpecConstant %2 40
    %11 = OpSpecConstantFalse %3
    %12 = OpSpecConstantOp %2 IAdd %10 %10
    %13 = OpSpecConstantComposite %6 %10 %12
    %14 = OpSpecConstant %7 3
    %20 = OpFunction %1 None %5
    %21 = OpFunctionParameter %4
    %22 = OpLabel
    OpStore %21 %12 Aligned 8
    OpReturn
    OpFunctionEnd"#;

#[test]
fn specialized_modules_have_ordinary_constants() {
    let [mut module] = assemble_all!(&format!("OpCapability Int8\n{SPECIALIZED}"));
    specialize(
        &mut module,
        &HashMap::from([(1, 1 << 33), (2, 7), (3, 0x1ff), (99, 1)]),
    );
    assert_valid(&module);
    let reflection = reflect(&module);
    assert_eq!(reflection.specialization_constants, []);
    let constant = |id: u32| {
        let mut globals = module.dr().types_global_values.iter();
        globals.find(|i| i.result_id == Some(id)).unwrap()
    };
    assert_eq!(constant(10).opcode, Op::Constant);
    assert_eq!(constant(10).operands, [Operand::LiteralBit64(1 << 33)]);
    assert_eq!(constant(11).opcode, Op::ConstantTrue);
    assert_eq!(constant(12).opcode, Op::SpecConstantOp);
    // Of a value that is too wide the lowest bits count.
    assert_eq!(constant(14).operands, [Operand::LiteralBit32(0xff)]);
}

#[test]
fn values_that_are_not_given_keep_their_default() {
    let [mut module] = assemble_all!(&format!("OpCapability Int8\n{SPECIALIZED}"));
    specialize(&mut module, &HashMap::new());
    assert_valid(&module);
    let ops = |op| count(&module, op);
    assert_eq!(
        (ops(Op::ConstantFalse), ops(Op::Constant), ops(Op::SpecConstant)),
        (1, 2, 0)
    );
}

#[test]
fn specialization_constants_of_one_number_have_one_type() {
    let text = |name: &str| format!("OpCapability Int8\n{}", SPECIALIZED.replace("NAME", name));
    let clash = text("c").replace(
        "OpDecorate %11 SpecId 2",
        "OpDecorate %11 SpecId 4\nOpDecorate %99 SpecId 2",
    );
    let clash = clash.replace("%14 = ", "%99 = OpSpecConstant %7 3\n%14 = ");
    let [a, b, clash] = assemble_all!(&text("a"), &text("b"), &clash);
    let linked = link_valid(&[&a, &b]);
    assert_eq!(reflect(&linked).specialization_constants.len(), 6);
    let error = try_link(&[&a, &clash], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "specialization constant 2 is of type bool in m0, but of type i8 in m1"
    );
}

#[test]
fn structs_are_one_type_only_with_the_same_name_and_decorations() {
    let text = |name: &str, decoration: &str, member: u32| {
        format!(
            "{MODEL}
             OpName %4 \"struct.{name}\"
             {decoration}
             OpMemberDecorate %4 {member} Volatile
             %1 = OpTypeInt 32 0
             %4 = OpTypeStruct %1 %1
             %5 = OpTypePointer CrossWorkgroup %4"
        )
    };
    for (other, structs) in [
        (text("S", "", 0), 1),
        (text("T", "", 0), 2),
        (text("S", "OpDecorate %4 CPacked", 0), 2),
        (text("S", "", 1), 2),
    ] {
        let [first, second] = assemble_all!(&text("S", "", 0), &other);
        let linked = link_valid(&[&first, &second]);
        assert_eq!(count(&linked, Op::TypeStruct), structs, "{other}");
        assert_eq!(count(&linked, Op::TypePointer), structs, "{other}");
        assert_eq!(count(&linked, Op::TypeInt), 1);
        assert_eq!(count(&linked, Op::MemberDecorate), structs);
    }
}

#[test]
fn functions_whose_address_is_taken_are_reached() {
    let [module] = assemble_all!(
        &format!(
            r#"OpCapability FunctionPointersINTEL
        OpExtension "SPV_INTEL_function_pointers"
        {MODEL}
        OpEntryPoint Kernel %20 "k"
        OpDecorate %10 LinkageAttributes "f" Import
        %1 = OpTypeVoid
        %2 = OpTypeFunction %1
        %3 = OpTypePointer CodeSectionINTEL %2
        %4 = OpConstantFunctionPointerINTEL %3 %10
        %10 = OpFunction %1 None %2
        OpFunctionEnd
        %20 = OpFunction %1 None %2
        %21 = OpLabel
        OpFunctionPointerCallINTEL %1 %4
        OpReturn
        OpFunctionEnd"#
        )
        .replace("OpFunctionPointerCallINTEL", "%22 = OpFunctionPointerCallINTEL")
    );
    let [need] = CallGraph::new(&module).needs("k").try_into().unwrap();
    assert_eq!(need.chain, ["k", "f"]);
}

#[test]
fn instructions_whose_operands_are_not_known_cannot_be_linked() {
    let [mut module] = assemble_all!(&format!(
        "OpExtension \"SPV_KHR_non_semantic_info\"
         %1 = OpExtInstImport \"NonSemantic.Offkit\"
         {MODEL}
         %2 = OpTypeVoid
         %3 = OpExtInst %2 %1 77 %2"
    ));
    let linked = link_valid(&[&module]);
    assert_eq!(count(&linked, Op::ExtInst), 1);
    // The assembler writes only instructions that it knows.
    module.dr_mut().ext_inst_imports[0].operands = vec![Operand::LiteralString("Semantic.Offkit".into())];
    let unknown = read(&module.to_bytes());
    let error = try_link(&[&unknown], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "m0 uses instruction 77 of instruction set Semantic.Offkit, whose operands are not known"
    );
}

/// A module with a variable `v` that is a structure of the members, with a kernel that mentions it.
fn with_structure(members: &str, linkage: &str, kernel: &str) -> String {
    let value = if linkage == "Export" { "%9" } else { "" };
    format!(
        r#"OpCapability Int8
        {MODEL}
        OpEntryPoint Kernel %20 "{kernel}" %10
        OpDecorate %10 LinkageAttributes "v" {linkage}
        %1 = OpTypeVoid
        %2 = OpTypeInt 8 0
        %3 = OpTypeInt 32 0
        %4 = OpConstant %3 3
        %5 = OpConstant %3 7
        %6 = OpTypeArray %2 %4
        %7 = OpTypeArray %2 %5
        %8 = OpTypeStruct {members}
        %11 = OpTypePointer CrossWorkgroup %8
        %9 = OpConstantNull %8
        %10 = OpVariable %11 CrossWorkgroup {value}
        %12 = OpTypeFunction %1
        %20 = OpFunction %1 None %12
        %21 = OpLabel
        %22 = OpLoad %8 %10 Aligned 4
        OpReturn
        OpFunctionEnd"#
    )
}

#[test]
fn a_structure_may_be_padded_where_it_is_initialised() {
    let declared = with_structure("%2 %3", "Import", "declares");
    let [import, padded, longer] = assemble_all!(
        &declared,
        &with_structure("%2 %6 %3", "Export", "defines"),
        &with_structure("%2 %7 %3", "Export", "defines"),
    );
    assert_eq!(reflect(&import).variables_size, 0);
    assert_eq!(reflect(&padded).variables_size, 8);
    let linked = link_valid(&[&import, &padded]);
    assert_eq!(reflect(&linked).imports, []);
    assert_eq!(reflect(&linked).variables_size, 8);
    // With seven bytes between them the number is elsewhere.
    let Err(LinkError::TypeMismatch { symbol, .. }) = try_link(&[&import, &longer], LinkOptions::default())
    else {
        panic!("structures with other places for their members were joined");
    };
    assert_eq!(symbol, "v");
}
