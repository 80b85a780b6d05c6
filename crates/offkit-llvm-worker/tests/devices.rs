//! Kernels compiled for GPUs, as the worker is asked for them.

mod common;

use common::{open, source, spirv, worker};
use offkit_llvm::{DeviceCode, DeviceRequest, Form, Worker, WorkerError};

/// SPIR-V of a module in LLVM's text form.
fn module(worker: &mut Worker, text: &str) -> Vec<u8> {
    let opened = open(worker, &source("kernels.bc", text)).unwrap();
    let emitted = worker.emit_whole(opened.id, &Form::Code(Box::new(spirv())));
    emitted.unwrap().content
}

/// What is asked for all kernels of a module.
fn request() -> DeviceRequest {
    DeviceRequest {
        triple: "nvptx64-nvidia-cuda".into(),
        processor: "sm_70".into(),
        optimization: 2,
        ..DeviceRequest::default()
    }
}

fn compile(text: &str, request: DeviceRequest) -> Result<DeviceCode, WorkerError> {
    let mut worker = worker();
    let module = module(&mut worker, text);
    worker.compile_for_device(&module, request, None)
}

#[test]
fn specialization_constants_have_the_values_that_are_asked_for() {
    let text = "
        declare spir_func i32 @_Z20__spirv_SpecConstantii(i32, i32)
        define spir_kernel void @scale(ptr addrspace(1) %x) {
          %by = call spir_func i32 @_Z20__spirv_SpecConstantii(i32 7, i32 1003)
          %old = load i32, ptr addrspace(1) %x
          %new = mul i32 %old, %by
          store i32 %new, ptr addrspace(1) %x
          ret void
        }";
    let scaled = |specialization: &[(u32, u64)]| {
        let request = DeviceRequest {
            specialization: specialization.iter().copied().collect(),
            ..request()
        };
        String::from_utf8(compile(text, request).unwrap().code).unwrap()
    };
    let [default, other, given] = [&[][..], &[(6, 2005)], &[(6, 1), (7, 2005)]].map(scaled);
    assert!(
        default.contains(", 1003;") && !default.contains("2005"),
        "{default}"
    );
    // A number that the module does not have changes nothing.
    assert_eq!(default, other);
    assert!(given.contains(", 2005;") && !given.contains("1003"), "{given}");
}

/// The code of a kernel that calls functions of a type of numbers, `letter` in their mangled names.
fn functions(number: &str, letter: &str, names: &[(&str, usize)]) -> String {
    let (mut declared, mut body) = (String::new(), String::new());
    for (index, (name, count)) in names.iter().enumerate() {
        let symbol = format!("_Z{}{name}{}", name.len(), letter.repeat(*count));
        let types = vec![number; *count].join(", ");
        let values = vec![format!("{number} %x"); *count].join(", ");
        declared += &format!("declare spir_func {number} @{symbol}({types})\n");
        body += &format!(
            "%r{index} = call spir_func {number} @{symbol}({values})
             store volatile {number} %r{index}, ptr addrspace(1) %p\n"
        );
    }
    let text = format!(
        "{declared}define spir_kernel void @k(ptr addrspace(1) %p) {{
         %x = load {number}, ptr addrspace(1) %p
         {body} ret void }}"
    );
    String::from_utf8(compile(&text, request()).unwrap().code).unwrap()
}

#[test]
fn functions_that_may_be_approximate_are_instructions() {
    for (name, count, instruction) in [
        ("native_exp2", 1, "ex2.approx.f32"),
        ("native_exp", 1, "ex2.approx.f32"),
        ("native_exp10", 1, "ex2.approx.f32"),
        ("native_log2", 1, "lg2.approx.f32"),
        ("native_log", 1, "lg2.approx.f32"),
        ("native_log10", 1, "lg2.approx.f32"),
        ("native_powr", 2, "lg2.approx.f32"),
        ("native_sin", 1, "sin.approx.f32"),
        ("native_cos", 1, "cos.approx.f32"),
        ("native_tan", 1, "div.approx.f32"),
        ("native_recip", 1, "rcp.approx.ftz.f32"),
        ("native_divide", 2, "div.approx.f32"),
        ("native_sqrt", 1, "sqrt.approx.f32"),
        ("native_rsqrt", 1, "rsqrt.approx.f32"),
        ("half_rsqrt", 1, "rsqrt.approx.f32"),
        ("rsqrt", 1, "rsqrt.approx.f32"),
    ] {
        let code = functions("float", "f", &[(name, count)]);
        assert!(code.contains(instruction), "{name}: {code}");
        // No algorithm is left.
        assert!(!code.contains("fma.rn"), "{name}: {code}");
    }
}

#[test]
fn other_functions_stay_as_exact_as_they_are() {
    let singles = [
        ("exp", 1),
        ("half_exp", 1),
        ("half_sin", 1),
        ("log2", 1),
        ("sqrt", 1),
        ("pow", 2),
    ];
    let code = functions("float", "f", &singles);
    assert!(!code.contains(".approx"), "{code}");
    let code = functions(
        "double",
        "d",
        &[("native_exp", 1), ("native_sqrt", 1), ("rsqrt", 1)],
    );
    assert!(!code.contains(".approx"), "{code}");
}

#[test]
fn fused_products_of_half_precision_are_instructions() {
    let code = functions("half", "Dh", &[("fma", 3), ("mad", 3)]);
    // LLVM may find that both are the same.
    assert!(code.contains("fma.rn.f16"), "{code}");
    assert!(!code.contains("cvt."), "{code}");
}

/// The code of a kernel with a loop, by how its counter starts, goes on and is compared in 64 bits.
fn counting(start: &str, step: &str, on: &str) -> String {
    let text = format!(
        "declare spir_func i64 @_Z14get_local_sizej(i32)
         define spir_kernel void @k(ptr addrspace(1) %p, i32 %n, i64 %long) {{
           %is_some = icmp sgt i32 %n, 0
           br i1 %is_some, label %before, label %end
         before:
           %count = zext i32 %n to i64
           %size = call spir_func i64 @_Z14get_local_sizej(i32 0)
           %half = lshr i64 %size, 1
           br label %loop
         loop:
           %k = phi i64 [ {start}, %before ], [ %next, %loop ]
           %x = load volatile i32, ptr addrspace(1) %p
           %low = trunc i64 %k to i32
           %sum = add i32 %x, %low
           store volatile i32 %sum, ptr addrspace(1) %p
           %next = {step}
           %goes_on = icmp {on}
           br i1 %goes_on, label %loop, label %end
         end:
           ret void }}"
    );
    String::from_utf8(compile(&text, request()).unwrap().code).unwrap()
}

#[test]
fn loops_count_in_as_many_bits_as_they_need() {
    for (start, step, on) in [
        ("0", "add i64 %k, 1", "ult i64 %next, %count"),
        ("%count", "add i64 %k, -1", "ne i64 %next, 0"),
        ("%size", "lshr i64 %k, 1", "ugt i64 %k, 1"),
        ("%half", "lshr i64 %k, 1", "ne i64 %next, 0"),
        ("1", "shl i64 %k, 1", "ult i64 %next, %size"),
    ] {
        let code = counting(start, step, on);
        assert!(!code.contains(".b64 \t%p") && !code.contains("add.s64"), "{code}");
        assert!(
            !code.contains("setp.lt.u64") && !code.contains("setp.ne.b64"),
            "{code}"
        );
    }
    for (start, step, on) in [
        ("0", "add i64 %k, 1", "ult i64 %next, %long"),
        ("%long", "add i64 %k, -1", "ne i64 %next, 0"),
        // Once more than 32 bits can tell.
        ("4294967296", "add i64 %k, -1", "ne i64 %next, -1"),
        ("1", "shl i64 %k, 1", "ult i64 %next, %long"),
    ] {
        let code = counting(start, step, on);
        let is_wide = ["setp.lt.u64", "setp.ne.b64", "setp.eq.b64"]
            .iter()
            .any(|compared| code.contains(compared));
        assert!(is_wide, "{start} {step} {on}: {code}");
    }
}

#[test]
fn loops_that_a_switch_goes_on_with_count_in_32_bits_too() {
    let text = "
        declare spir_func i64 @_Z12get_local_idj(i32)
        define spir_kernel void @k(ptr addrspace(1) %p, i32 %n, i32 %by) {
          %id = call spir_func i64 @_Z12get_local_idj(i32 0)
          %start = xor i64 %id, 1023
          switch i32 %by, label %end [ i32 3, label %loop
                                       i32 5, label %loop ]
        loop:
          %k = phi i64 [ %start, %0 ], [ %start, %0 ], [ %next, %loop ], [ %next, %loop ]
          %x = load volatile i32, ptr addrspace(1) %p
          %low = trunc i64 %k to i32
          %sum = add i32 %x, %low
          store volatile i32 %sum, ptr addrspace(1) %p
          %next = lshr i64 %k, 1
          %way = and i32 %sum, 7
          switch i32 %way, label %end [ i32 1, label %loop
                                        i32 2, label %loop ]
        end:
          ret void
        }";
    let code = String::from_utf8(compile(text, request()).unwrap().code).unwrap();
    assert!(code.contains("shr.u32") && !code.contains("shr.u64"), "{code}");
}

#[test]
fn products_of_vectors_are_fused_with_their_sum() {
    let text = "
        declare spir_func float @_Z3dotDv3_fS_(<3 x float>, <3 x float>)
        define spir_kernel void @k(ptr addrspace(1) %p) {
          %x = load <3 x float>, ptr addrspace(1) %p
          %sum = call spir_func float @_Z3dotDv3_fS_(<3 x float> %x, <3 x float> %x)
          store float %sum, ptr addrspace(1) %p
          ret void
        }";
    let code = String::from_utf8(compile(text, request()).unwrap().code).unwrap();
    let count = |instruction: &str| code.matches(instruction).count();
    assert_eq!(
        (count("mul."), count("fma.rn.f32"), count("add.")),
        (1, 2, 0),
        "{code}"
    );
}
