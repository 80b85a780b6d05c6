//! offkit's devices as an OpenCL driver, through Debian's loader: what programs see that know OpenCL and nothing else.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use offkit_cache::Kind;
use offkit_tests::{Folder, Outcome, kept, need, offkit, opencl_driver, programs, root, skip, tool};

/// The driver, programs that use OpenCL, and the folder that names the driver to loaders.
struct Front {
    library: PathBuf,
    folder: Folder,
}

impl Front {
    /// Builds them, once; `None`, loudly, if something is missing.
    fn get() -> Option<&'static Front> {
        static FRONT: OnceLock<Option<Front>> = OnceLock::new();
        FRONT.get_or_init(Front::build).as_ref()
    }

    fn build() -> Option<Front> {
        let (compiler, _) = (tool("cc")?, tool("clang-22")?);
        if !PathBuf::from("/usr/include/CL/cl.h").is_file() {
            skip("OpenCL's headers (`opencl-c-headers`) are not installed");
            return None;
        }
        let (library, folder) = (opencl_driver(), Folder::new());
        folder.drivers(&library);
        for program in ["front", "rules"] {
            let source = root().join(format!("tests/opencl/{program}.c"));
            let mut compile = Command::new(&compiler);
            compile
                .args(["-O1", "-Wall", "-pthread", "-o", program])
                .arg(source)
                .arg("-l:libOpenCL.so.1");
            folder.run_command(&mut compile).ok();
        }
        Some(Front { library, folder })
    }

    /// Runs a program that finds this driver and no other.
    fn run(&self, command: &mut Command) -> Outcome {
        command
            .env("OCL_ICD_VENDORS", self.folder.path("drivers"))
            .env("XDG_CACHE_HOME", self.folder.path("cache"))
            .env_remove("OCL_ICD_FILENAMES");
        self.folder.run_command(command)
    }

    /// Does a check of the program.
    #[track_caller]
    fn check(&self, words: &[&str]) -> String {
        self.check_by("front", words)
    }

    /// Checks a rule of the specification.
    #[track_caller]
    fn check_rule(&self, rule: &str) {
        self.check_by("rules", &[rule]);
    }

    /// Checks one about parts of devices, on a device of four units, whatever the machine has.
    #[track_caller]
    fn check_rule_of_parts(&self, rule: &str) {
        let mut command = Command::new(self.folder.path("rules"));
        self.done(command.arg(rule).env("OFFKIT_CPU_THREADS", "4"));
    }

    #[track_caller]
    fn check_by(&self, program: &str, words: &[&str]) -> String {
        self.done(Command::new(self.folder.path(program)).args(words))
    }

    /// Runs a program that says when it is done.
    #[track_caller]
    fn done(&self, command: &mut Command) -> String {
        let printed = self.run(command).ok();
        assert!(printed.ends_with("done\n"), "{printed}");
        printed
    }
}

#[test]
fn loaders_list_the_device_and_what_it_has() {
    let Some(front) = Front::get() else { return };
    need!("clinfo");
    let listed = front.run(Command::new("clinfo").arg("--raw")).ok();
    let answer = |query: &str| {
        let line = listed.lines().find(|line| line.contains(&format!(" {query} ")));
        let line = line.unwrap_or_else(|| panic!("no {query} in {listed}"));
        line.split_once(query)
            .map_or("", |(_, answer)| answer)
            .trim()
            .to_owned()
    };
    assert_eq!(answer("CL_PLATFORM_NAME"), "offkit CPU");
    assert_eq!(answer("CL_PLATFORM_ICD_SUFFIX_KHR"), "OFFKIT");
    assert!(answer("CL_DEVICE_VERSION").starts_with("OpenCL 3.0"));
    assert_eq!(answer("CL_DEVICE_PROFILE"), "FULL_PROFILE");
    assert!(answer("CL_DEVICE_IL_VERSION").contains("SPIR-V_1.4"));
    assert_eq!(answer("CL_DEVICE_IMAGE_SUPPORT"), "CL_FALSE");
    assert_eq!(answer("CL_DEVICE_PIPE_SUPPORT"), "CL_FALSE");
    assert_eq!(answer("CL_DEVICE_COMPILER_AVAILABLE"), "CL_TRUE");
    let extensions = answer("CL_DEVICE_EXTENSIONS");
    for name in [
        "cl_intel_unified_shared_memory",
        "cl_khr_fp64",
        "cl_khr_int64_base_atomics",
    ] {
        assert!(extensions.contains(name), "{extensions}");
    }
    assert!(!extensions.contains("cl_khr_3d_image_writes"), "{extensions}");
}

#[test]
fn the_library_exports_one_function() {
    let Some(front) = Front::get() else { return };
    need!("nm");
    let mut list = Command::new("nm");
    let listed = front
        .run(list.args(["-D", "--defined-only"]).arg(&front.library))
        .ok();
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(names, ["clGetExtensionFunctionAddress"]);
}

#[test]
fn programs_compute_from_opencl_c_and_from_spirv() {
    let Some(front) = Front::get() else { return };
    front.check(&["source"]);
    assert!(!kept(&front.folder.path("cache"), Kind::OpenclC).is_empty());
    front.check(&["source"]);
    let source = "kernel __attribute__((work_group_size_hint(1, 1, 1)))
    void saxpy(float a, global const float *x, global float *y) {
        y[get_global_id(0)] += a * x[get_global_id(0)];
    }";
    front.folder.write("saxpy.cl", source);
    let mut compile = Command::new("clang-22");
    let target = ["--target=spirv64v1.2", "-c", "-O1", "saxpy.cl", "-o", "saxpy.spv"];
    front.folder.run_command(compile.args(target)).ok();
    front.check(&["il", "saxpy.spv"]);
}

#[test]
fn source_without_a_compiler_fails_with_a_log_that_says_what_to_install() {
    let Some(front) = Front::get() else { return };
    let mut command = Command::new(front.folder.path("front"));
    command.arg("source").env("OFFKIT_CLANG", "/nowhere/clang");
    command.env("XDG_CACHE_HOME", front.folder.path("empty"));
    command.env("OCL_ICD_VENDORS", front.folder.path("drivers"));
    let log = front.folder.run_command(&mut command).fails(1);
    assert!(log.contains("OpenCL C is compiled by clang 22"), "{log}");
    assert!(log.contains("OFFKIT_CLANG"), "{log}");
}

#[test]
fn a_worker_is_kept_from_one_program_to_the_next() {
    let Some(front) = Front::get() else { return };
    let real = programs().join("offkit-llvm-worker");
    let worker = (front.folder).script("worker", &format!("echo $$ >> started; exec {}", real.display()));
    let mut command = Command::new(front.folder.path("front"));
    command
        .args(["rebuild", "started"])
        .env("OFFKIT_LLVM_WORKER", worker)
        // Kernels are compiled by one, too.
        .env("OFFKIT_CPU_COMPILE", "0");
    let printed = front.run(&mut command).ok();
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn binaries_make_the_same_program_again() {
    let Some(front) = Front::get() else { return };
    front.check(&["binary"]);
}

#[test]
fn programs_are_compiled_apart_and_linked() {
    let Some(front) = Front::get() else { return };
    front.check(&["linked"]);
}

#[test]
fn handles_that_are_none_get_an_error() {
    let Some(front) = Front::get() else { return };
    front.check(&["handles"]);
}

#[test]
fn loaders_of_today_ask_for_functions_by_name_and_mark_every_handle() {
    let Some(front) = Front::get() else { return };
    let library = front.library.display().to_string();
    front.check(&["loader", &library]);
}

#[test]
fn calls_for_launches_and_queries_of_what_stays_allocate_nothing() {
    let Some(front) = Front::get() else { return };
    front.check(&["allocations"]);
}

#[test]
fn who_makes_a_context_is_told_why_a_kernel_fails() {
    let Some(front) = Front::get() else { return };
    front.check(&["failing"]);
}

#[test]
fn queues_run_out_of_order_and_wait_for_the_users_events() {
    let Some(front) = Front::get() else { return };
    front.check(&["out-of-order"]);
}

#[test]
fn events_tell_when_things_happened() {
    let Some(front) = Front::get() else { return };
    front.check(&["profiling"]);
}

#[test]
fn commands_without_work_have_times_too() {
    let Some(front) = Front::get() else { return };
    front.check_rule("times");
}

#[test]
fn uneven_groups_are_of_opencl_c_2_and_later() {
    let Some(front) = Front::get() else { return };
    front.check_rule("uneven");
}

#[test]
fn what_frees_is_over_when_all_is_freed() {
    let Some(front) = Front::get() else { return };
    front.check_rule("freeing");
}

#[test]
fn transfers_of_nothing_are_commands() {
    let Some(front) = Front::get() else { return };
    front.check_rule("nothing");
}

#[test]
fn commands_fail_with_codes_of_opencl() {
    let Some(front) = Front::get() else { return };
    front.check_rule("codes");
}

#[test]
fn types_of_arguments_are_the_sources_or_not_known() {
    let Some(front) = Front::get() else { return };
    front.check_rule("arguments");
}

#[test]
fn freeing_nothing_does_not_wait() {
    let Some(front) = Front::get() else { return };
    front.check_rule("waiting-free");
}

#[test]
fn programs_are_there_for_the_devices_that_they_are_built_for() {
    let Some(front) = Front::get() else { return };
    front.check_rule_of_parts("devices");
}

#[test]
fn the_device_that_checks_has_a_platform_of_its_own() {
    let Some(front) = Front::get() else { return };
    front.check_rule("platforms");
}

#[test]
fn what_is_asked_of_allocations_is_checked_and_told() {
    let Some(front) = Front::get() else { return };
    front.check_rule("usm");
}

#[test]
fn sources_are_compiled_and_told_byte_by_byte() {
    let Some(front) = Front::get() else { return };
    front.check_rule("bytes");
}

#[test]
fn options_are_those_of_the_specification() {
    let Some(front) = Front::get() else { return };
    front.check_rule("options");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let Some(front) = Front::get() else { return };
    front.check_rule("strangers");
}

#[test]
fn devices_have_parts() {
    let Some(front) = Front::get() else { return };
    front.check_rule_of_parts("parts");
}

#[test]
fn inline_functions_need_no_other_definition() {
    let Some(front) = Front::get() else { return };
    front.check_rule("inlines");
}

#[test]
fn the_device_has_the_clock_that_the_system_tells() {
    let Some(front) = Front::get() else { return };
    front.check_rule("clock-frequency");
}

#[test]
fn nothing_reaches_past_the_end_of_an_allocation() {
    let Some(front) = Front::get() else { return };
    front.check_rule("ends");
}

#[test]
fn host_and_kernels_share_memory() {
    let Some(front) = Front::get() else { return };
    front.check(&["memory"]);
}

#[test]
fn lent_memory_is_given_up_when_the_commands_that_use_it_are_over() {
    let Some(front) = Front::get() else { return };
    front.check(&["lent"]);
}

#[test]
fn what_is_built_stays_built_whoever_asks_and_what_fails_leaves_nothing() {
    let Some(front) = Front::get() else { return };
    front.check(&["status"]);
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let Some(front) = Front::get() else { return };
    front.check(&["numbers"]);
}

#[test]
fn local_arguments_take_all_the_local_memory_there_is() {
    let Some(front) = Front::get() else { return };
    front.check(&["local-memory"]);
}

#[test]
fn loaders_are_told_of_the_driver_and_asked_whether_they_know() {
    let Some(front) = Front::get() else { return };
    let drivers = front.folder.path("installed");
    let icd = |words: &str| {
        let mut command = Command::new(offkit());
        command.arg("icd").args(words.split(' '));
        command
            .env("OCL_ICD_VENDORS", &drivers)
            .env_remove("OCL_ICD_FILENAMES");
        command.env("XDG_DATA_HOME", front.folder.path("data"));
        front.folder.run_command(&mut command)
    };
    assert!(icd("status").fails(1).contains("offkit icd install"));
    let library = front.library.display();
    let installed = icd(&format!("install --folder installed --library {library}")).ok();
    assert!(installed.contains("offkit.icd names"), "{installed}");
    let seen = icd("status --json").json();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|loader| loader["sees"] == true), "{seen:?}");
    // What is seen is there for programs.
    let mut list = Command::new(front.folder.path("front"));
    list.arg("handles").env("OCL_ICD_VENDORS", &drivers);
    front.folder.run_command(&mut list).ok();
    icd("remove --folder installed").ok();
    icd("remove --folder installed").fails(1);
    icd("status").fails(1);
}
