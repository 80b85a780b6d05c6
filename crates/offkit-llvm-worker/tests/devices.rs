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
