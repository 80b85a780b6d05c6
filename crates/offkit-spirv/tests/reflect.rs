//! What reflection says of modules compiled by clang.

mod common;

use common::{assemble, compile, compile_for, read};
use offkit_spirv::grammar::{AddressingModel, Capability, MemoryModel};
use offkit_spirv::{
    Access, CallGraph, ImageDimensions, Kernel, Linkage, Module, Parameter, ParameterKind, Scalar, Storage,
    SymbolKind, Version, reflect,
};

const F32: Scalar = Scalar::Float { width: 32 };

fn int(width: u32) -> ParameterKind {
    ParameterKind::Scalar(Scalar::Int { width })
}

fn kernel(module: &Module, name: &str) -> Kernel {
    let mut kernels = reflect(module).kernels.into_iter();
    kernels
        .find(|kernel| kernel.name == name)
        .unwrap_or_else(|| panic!("no kernel {name}"))
}

fn pointer(parameter: &Parameter) -> (Storage, &str) {
    match &parameter.kind {
        ParameterKind::Pointer { storage, pointee } => (*storage, &pointee.name),
        other => panic!("{other:?} is not a pointer"),
    }
}

#[test]
fn scalars_and_vectors_have_the_sizes_of_opencl_c() {
    let Some(module) = compile(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n\
         kernel void k(char a, ushort b, int c, ulong d, float e, double f, half g, \
                       uchar2 h, float3 i, long4 j, int8 l, short16 m, global int *out) {}",
    ) else {
        return;
    };
    let parameters = kernel(&module, "k").parameters;
    let scalars = parameters.iter().take(7);
    let kinds: Vec<_> = scalars.clone().map(|parameter| parameter.kind.clone()).collect();
    let float = |width| ParameterKind::Scalar(Scalar::Float { width });
    assert_eq!(
        kinds,
        [int(8), int(16), int(32), int(64), float(32), float(64), float(16)]
    );
    let sizes: Vec<u64> = parameters.iter().map(|parameter| parameter.size).collect();
    // A vector of three is passed in the space of four.
    assert_eq!(sizes, [1, 2, 4, 8, 4, 8, 2, 2, 16, 32, 32, 32, 8]);
    assert_eq!(
        parameters[8].kind,
        ParameterKind::Vector {
            component: F32,
            count: 3
        }
    );
}

#[test]
fn pointers_say_where_they_point_and_whether_they_are_written() {
    let Some(module) = compile(
        "kernel void k(global float *out, global const float *in, constant int *table, local float4 *scratch) {
            int i = get_global_id(0);
            scratch[i] = (float4)(in[i]);
            out[i] = scratch[0].x * table[i];
        }",
    ) else {
        return;
    };
    let parameters = kernel(&module, "k").parameters;
    let pointers: Vec<_> = parameters.iter().map(pointer).collect();
    assert_eq!(
        pointers,
        [
            (Storage::Global, "f32"),
            (Storage::Global, "f32"),
            (Storage::Constant, "i32"),
            (Storage::Local, "f32x4")
        ]
    );
    let read_only: Vec<bool> = parameters.iter().map(|parameter| parameter.read_only).collect();
    assert_eq!(read_only, [false, true, true, false]);
    // The caller chooses how much local memory to pass.
    let sizes: Vec<u64> = parameters.iter().map(|parameter| parameter.size).collect();
    assert_eq!(sizes, [8, 8, 8, 0]);
}

#[test]
fn structs_passed_by_value_have_the_size_the_host_gives_them() {
    let Some(module) = compile(
        "typedef struct { char a; double b; char c; } Natural;
         typedef struct __attribute__((packed)) { char a; double b; } Packed;
         typedef struct { float3 v; int n[5]; Natural inner; } Nested;
         kernel void k(global double *out, Natural n, Packed p, Nested q) {
             out[0] = n.b + p.b + q.v.x + q.n[1] + q.inner.b;
         }",
    ) else {
        return;
    };
    let parameters = kernel(&module, "k").parameters;
    let layouts: Vec<_> = parameters
        .iter()
        .skip(1)
        .map(|parameter| match &parameter.kind {
            ParameterKind::ByValue { value } => {
                let layout = value.layout.unwrap();
                assert_eq!(layout.size, parameter.size);
                (
                    value.name.split(' ').nth(1).unwrap(),
                    layout.size,
                    layout.alignment,
                )
            }
            other => panic!("{other:?} is not passed by value"),
        })
        .collect();
    assert_eq!(
        layouts,
        [("Natural", 24, 8), ("Packed", 9, 1), ("Nested", 64, 16)]
    );
}

#[test]
fn handles_are_told_apart() {
    let Some(module) = compile(
        "kernel void k(read_only image2d_t a, write_only image3d_t b, read_write image2d_array_t c,
                       read_only image1d_buffer_t d, sampler_t s, queue_t q, clk_event_t e, global float4 *o) {
             o[0] = read_imagef(a, s, (int2)(0, 0));
         }",
    ) else {
        return;
    };
    let image = |dimensions, array, access| ParameterKind::Image {
        dimensions,
        array,
        access,
    };
    let parameters = kernel(&module, "k").parameters;
    let kinds: Vec<_> = parameters
        .iter()
        .take(7)
        .map(|parameter| parameter.kind.clone())
        .collect();
    assert_eq!(
        kinds,
        [
            image(ImageDimensions::Two, false, Access::Read),
            image(ImageDimensions::Three, false, Access::Write),
            image(ImageDimensions::Two, true, Access::ReadWrite),
            image(ImageDimensions::Buffer, false, Access::Read),
            ParameterKind::Sampler,
            ParameterKind::Queue,
            ParameterKind::DeviceEvent,
        ]
    );
    assert!(parameters.iter().all(|parameter| parameter.size == 8));
    let read_only: Vec<bool> = parameters
        .iter()
        .take(4)
        .map(|parameter| parameter.read_only)
        .collect();
    assert_eq!(read_only, [true, false, false, true]);
}

#[test]
fn launch_attributes_are_found() {
    let Some(module) = compile(
        "__attribute__((reqd_work_group_size(8, 4, 2))) kernel void fixed(global int *o) { *o = 1; }
         __attribute__((work_group_size_hint(64, 1, 1))) kernel void hinted(global int *o) { *o = 1; }
         __attribute__((intel_reqd_sub_group_size(16))) kernel void grouped(global int *o) { *o = 1; }",
    ) else {
        return;
    };
    assert_eq!(kernel(&module, "fixed").required_work_group_size, Some([8, 4, 2]));
    assert_eq!(kernel(&module, "fixed").work_group_size_hint, None);
    assert_eq!(kernel(&module, "hinted").required_work_group_size, None);
    assert_eq!(kernel(&module, "hinted").work_group_size_hint, Some([64, 1, 1]));
    assert_eq!(kernel(&module, "grouped").required_sub_group_size, Some(16));
}

#[test]
fn local_memory_and_barriers_are_those_of_the_functions_reached() {
    let Some(module) = compile(
        "__attribute__((noinline)) void wait(local int *p) { barrier(CLK_LOCAL_MEM_FENCE); p[1] = p[0]; }
         kernel void shares(global int *o) {
             local int a[64]; local double b[2]; local char c[3];
             int i = get_local_id(0);
             a[i] = i; b[i & 1] = i; c[i & 1] = i;
             wait(a);
             o[i] = a[63 - i] + b[1] + c[1];
         }
         kernel void alone(global int *o) { *o = 1; }",
    ) else {
        return;
    };
    let shares = kernel(&module, "shares");
    assert_eq!(shares.local_memory, 64 * 4 + 2 * 8 + 3);
    assert!(shares.uses_barrier);
    let alone = kernel(&module, "alone");
    assert_eq!((alone.local_memory, alone.uses_barrier), (0, false));
    assert_eq!(CallGraph::new(&module).functions("shares"), ["wait"]);
}

#[test]
fn symbols_are_those_that_modules_share() {
    let Some(module) = compile(
        "int helper(int); extern global int counter;
         float exported(float3 v) { return v.x; }
         kernel void k(global int *o) { o[get_global_id(0)] = helper(counter); }",
    ) else {
        return;
    };
    let reflection = reflect(&module);
    let imports: Vec<_> = reflection
        .imports
        .iter()
        .map(|s| (s.name.as_str(), s.kind))
        .collect();
    assert_eq!(
        imports,
        [
            ("counter", SymbolKind::Variable),
            ("helper", SymbolKind::Function)
        ]
    );
    assert_eq!(reflection.imports[1].type_name, "i32(i32)");
    assert_eq!(reflection.imports[0].type_name, "global i32*");
    let [export] = reflection.exports.as_slice() else {
        panic!("{:?}", reflection.exports)
    };
    assert_eq!(
        (export.name.as_str(), export.type_name.as_str()),
        ("exported", "f32(f32x3)")
    );
    assert_eq!(export.linkage, Linkage::Export);
    // Nothing is lost in the full list.
    let all: Vec<&str> = reflection.symbols.iter().map(|s| s.name.as_str()).collect();
    assert!(all.contains(&"__spirv_BuiltInGlobalInvocationId"), "{all:?}");
    assert!(all.contains(&"__clang_ocl_kern_imp_k"), "{all:?}");
}

#[test]
fn needs_of_a_kernel_come_with_the_way_to_them() {
    let Some(module) = compile(
        "int deep(int); extern constant int table[4];
         __attribute__((noinline)) int inner(int x) { return deep(x) + 1; }
         __attribute__((noinline)) int outer(int x) { return inner(x) * 2; }
         kernel void needy(global int *o) { *o = outer(*o); }
         kernel void reader(global int *o) { *o = table[*o & 3]; }
         kernel void content(global int *o) { *o = 0; }",
    ) else {
        return;
    };
    let graph = CallGraph::new(&module);
    assert_eq!(
        graph.kernels().collect::<Vec<_>>(),
        ["needy", "reader", "content"]
    );
    assert_eq!(graph.functions("needy"), ["outer", "inner", "deep"]);
    let [need] = graph.needs("needy").try_into().unwrap();
    assert_eq!(need.chain, ["needy", "outer", "inner", "deep"]);
    assert_eq!((need.symbol.as_str(), need.kind), ("deep", SymbolKind::Function));
    let [need] = graph.needs("reader").try_into().unwrap();
    assert_eq!(
        (need.chain, need.kind),
        (
            vec!["reader".to_owned(), "table".to_owned()],
            SymbolKind::Variable
        )
    );
    assert_eq!(graph.needs("content"), []);
    assert_eq!(graph.needs("no such kernel"), []);
}

#[test]
fn the_target_decides_version_and_width() {
    for (target, minor, model, pointer_size) in [
        ("spirv64v1.0", 0, AddressingModel::Physical64, 8),
        ("spirv64v1.2", 2, AddressingModel::Physical64, 8),
        ("spirv64", 4, AddressingModel::Physical64, 8),
        ("spirv32v1.1", 1, AddressingModel::Physical32, 4),
    ] {
        let source = "struct S { global int *p; int n; }; kernel void k(global struct S *s, global int *o) { *o = s->n; }";
        let Some(bytes) = compile_for(target, source) else {
            return;
        };
        let module = read(&bytes);
        let reflection = reflect(&module);
        assert_eq!(reflection.version, Version { major: 1, minor });
        assert_eq!(reflection.generator.name(), Some("LLVM SPIR-V Backend"));
        assert_eq!(
            (reflection.addressing_model, reflection.memory_model),
            (model, MemoryModel::OpenCL)
        );
        assert!(reflection.capabilities.contains(&Capability::Kernel));
        assert_eq!(reflection.extended_instruction_sets, ["OpenCL.std"]);
        assert_eq!(reflection.kernels[0].parameters[1].size, pointer_size);
        assert_eq!(module.to_bytes(), bytes);
    }
}

#[test]
fn modules_of_other_compilers_are_understood() {
    // Decoration groups and the types of parameters in a string, as the Khronos translator writes them.
    let Some(module) = assemble(
        r#"
        OpCapability Addresses
        OpCapability Kernel
        OpCapability Int64
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %10 "k"
        OpExecutionModeId %10 LocalSizeId %5 %6 %6
        %20 = OpString "kernel_arg_type.k.float*,ulong,"
        OpName %11 "data"
        OpDecorate %30 FuncParamAttr NoWrite
        OpDecorate %30 Alignment 4
        %30 = OpDecorationGroup
        OpGroupDecorate %30 %11
        OpDecorate %7 SpecId 3
        %1 = OpTypeVoid
        %2 = OpTypeFloat 32
        %3 = OpTypePointer CrossWorkgroup %2
        %4 = OpTypeInt 32 0
        %14 = OpTypeInt 64 0
        %5 = OpConstant %4 32
        %6 = OpConstant %4 1
        %7 = OpSpecConstant %14 5000000000
        %8 = OpTypeFunction %1 %3 %14
        %10 = OpFunction %1 None %8
        %11 = OpFunctionParameter %3
        %12 = OpFunctionParameter %14
        %13 = OpLabel
        OpReturn
        OpFunctionEnd
        "#,
    ) else {
        return;
    };
    let reflection = reflect(&module);
    let [kernel] = reflection.kernels.as_slice() else {
        panic!("{:?}", reflection.kernels)
    };
    assert_eq!(kernel.required_work_group_size, Some([32, 1, 1]));
    let [data, count] = kernel.parameters.as_slice() else {
        panic!("{:?}", kernel.parameters)
    };
    assert_eq!(
        (data.name.as_deref(), count.name.as_deref()),
        (Some("data"), None)
    );
    assert_eq!(
        (data.source_type.as_deref(), count.source_type.as_deref()),
        (Some("float*"), Some("ulong"))
    );
    assert_eq!((data.read_only, count.read_only), (true, false));
    assert_eq!(kernel.signature(), "k(global const f32*, i64)");
    assert_eq!(
        [data.label(0), count.label(1)],
        ["argument 0 (`data`)", "argument 1"]
    );
    assert_eq!(
        [data.expects(), count.expects()],
        ["a pointer to global memory", "a value of 8 bytes"]
    );
    let [constant] = reflection.specialization_constants.as_slice() else {
        panic!("{:?}", reflection.specialization_constants)
    };
    assert_eq!(
        (constant.id, constant.size, constant.default),
        (3, 8, 5_000_000_000)
    );
    assert_eq!(constant.type_name, "i64");
}
