//! The worker that does nothing but compile kernels for this machine.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{open, source, spirv, worker};
use offkit_compile::{Arithmetic, Cut, Variant};
use offkit_llvm::{CompileRequest, Effort, Form, Worker, WorkerError};

const LIMIT: Duration = Duration::from_secs(60);

const KERNEL: &str = "
declare spir_func i64 @_Z13get_global_idj(i32)
define spir_kernel void @axpy(float %a, ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %from = getelementptr float, ptr addrspace(1) %x, i64 %i
  %to = getelementptr float, ptr addrspace(1) %y, i64 %i
  %b = load float, ptr addrspace(1) %from
  %c = load float, ptr addrspace(1) %to
  %d = fmul float %a, %b
  %e = fadd float %d, %c
  store float %e, ptr addrspace(1) %to
  ret void
}";

fn kernel_worker() -> Worker {
    Worker::start_program(Path::new(env!("CARGO_BIN_EXE_offkit-cpu-worker"))).expect("the worker starts")
}

fn module(worker: &mut Worker) -> Vec<u8> {
    let opened = open(worker, &source("axpy.bc", KERNEL)).unwrap();
    worker
        .emit_whole(opened.id, &Form::Code(Box::new(spirv())))
        .unwrap()
        .content
}

fn request(level: Effort, processor: &str) -> CompileRequest {
    CompileRequest {
        kernel: "axpy".into(),
        variant: Variant {
            width: 16,
            rows: true,
            full: true,
            narrow_ids: true,
            contract: true,
            check_bounds: false,
            cut: Cut::AsSeen,
            arithmetic: Arithmetic::default(),
        },
        triple: String::new(),
        processor: processor.into(),
        features: String::new(),
        vector_functions: Vec::new(),
        level,
        lines: false,
    }
}

#[test]
fn both_workers_make_the_same_code_whatever_they_have_made_before() {
    let (mut whole, mut small) = (worker(), kernel_worker());
    let module = module(&mut whole);
    let levels = [Effort::Light, Effort::Full, Effort::Light, Effort::Full];
    let other = match cfg!(target_arch = "x86_64") {
        true => "x86-64-v2",
        false => "neoverse-n1",
    };
    for processor in ["", other, ""] {
        let made = levels.map(|level| {
            let [one, same] = [&mut whole, &mut small].map(|worker| {
                let compiled = worker.compile(&module, request(level, processor), LIMIT);
                compiled.expect("the kernel is compiled").object
            });
            assert!(one == same, "{level:?} for `{processor}`");
            one
        });
        assert!(made[0] == made[2] && made[1] == made[3], "`{processor}`");
    }
}

#[test]
fn the_small_one_refuses_what_it_is_not_for_and_goes_on() {
    let mut small = kernel_worker();
    let refused = open(&mut small, &source("axpy.bc", KERNEL)).unwrap_err();
    assert!(matches!(refused, WorkerError::Failed { .. }), "{refused:?}");
    assert!(
        refused.to_string().contains("nothing but compile kernels"),
        "{refused}"
    );
    let module = module(&mut worker());
    let elsewhere = CompileRequest {
        triple: "riscv64-unknown-linux-gnu".into(),
        ..request(Effort::Light, "generic-rv64")
    };
    let unknown = small.compile(&module, elsewhere, LIMIT).unwrap_err();
    assert!(matches!(unknown, WorkerError::Failed { .. }), "{unknown:?}");
    small.compile(&module, request(Effort::Light, ""), LIMIT).unwrap();
}
