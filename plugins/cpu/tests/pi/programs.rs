//! Programs: compiling, linking, building, and what goes wrong in that.

use crate::support::{spirv, with_both};
use offkit_image::{DeviceImage, Target};
use offkit_pi::ffi::*;
use offkit_pi::host::{BinaryType, BuildStatus};

const APP: &str = "float scale(float a, float x);
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += scale(a, x[i]);
}";

const LIBRARY: &str = "float scale(float a, float x) { return a * x; }";

#[test]
fn a_library_can_be_made_first() {
    let (app, library, helper) = (
        spirv!(APP),
        spirv!("float twice(float x); float scale(float a, float x) { return a * twice(x); }"),
        spirv!("float twice(float x) { return 2 * x; }"),
    );
    with_both(|machine| {
        let [app, library, helper] = [&app, &library, &helper].map(|spirv| machine.compile(spirv));
        let library = machine
            .context
            .link(&[&library, &helper], "-create-library")
            .unwrap();
        assert_eq!(library.binary_type(&machine.device).unwrap(), BinaryType::Library);
        let program = machine.context.link(&[&app, &library], "").unwrap();
        assert_eq!(program.kernel_names().unwrap(), ["saxpy"]);
    });
}

#[test]
fn a_missing_export_is_named() {
    let app = spirv!(APP);
    with_both(|machine| {
        let error = machine.context.link(&[&machine.compile(&app)], "").unwrap_err();
        assert_eq!(error.result(), PI_LINK_PROGRAM_FAILURE);
        let message = error.message().unwrap();
        for part in ["scale", "saxpy", "program 0"] {
            assert!(message.contains(part), "{part}: {message}");
        }

        let program = machine.context.program_with_il(&app).unwrap();
        let error = program.build("").unwrap_err();
        assert_eq!(error.result(), PI_BUILD_PROGRAM_FAILURE);
        assert!(error.message().unwrap().contains("scale"), "{error}");
        assert_eq!(program.build_status(&machine.device).unwrap(), BuildStatus::Error);
        assert_eq!(
            program.build_log(&machine.device).unwrap(),
            error.message().unwrap()
        );
        assert_eq!(
            program.kernel("saxpy").unwrap_err().result(),
            PI_INVALID_PROGRAM_EXECUTABLE
        );
    });
}

#[test]
fn built_in_functions_that_compilers_leave_as_imports_do_not_hinder_a_link() {
    // clang calls a function of the device for this conversion.
    let app = spirv!(
        "double scale(double a);
        kernel void convert(global const int *x, global double *y) { y[0] = scale(convert_double(x[0])); }"
    );
    let library = spirv!("double scale(double a) { return a / 4; }");
    with_both(|machine| {
        let [app, library] = [&app, &library].map(|spirv| machine.compile(spirv));
        let mut kernel = machine
            .context
            .link(&[&app, &library], "")
            .unwrap()
            .kernel("convert")
            .unwrap();
        let y = machine.context.buffer(8).unwrap();
        kernel
            .set_argument(0, &machine.context.buffer_from(&7i32.to_ne_bytes()).unwrap())
            .unwrap();
        kernel.set_argument(1, &y).unwrap();
        machine.run(&kernel, 1);
        let mut out = [0; 8];
        machine.queue.read_buffer(&y, 0, &mut out, &[]).unwrap();
        assert_eq!(f64::from_ne_bytes(out), 1.75);
    });
}

#[test]
fn a_duplicate_export_is_named_with_both_its_modules() {
    let library = spirv!(LIBRARY);
    with_both(|machine| {
        let [first, second] = [machine.compile(&library), machine.compile(&library)];
        let error = machine.context.link(&[&first, &second], "").unwrap_err();
        assert_eq!(error.result(), PI_LINK_PROGRAM_FAILURE);
        for part in ["scale", "program 0", "program 1"] {
            assert!(error.message().unwrap().contains(part), "{part}: {error}");
        }
    });
}

#[test]
fn an_unknown_kernel_is_answered_with_the_known_ones() {
    let spirv = spirv!("kernel void first() {} kernel void second() {}");
    with_both(|machine| {
        let error = machine.build(&spirv).kernel("third").unwrap_err();
        assert_eq!(error.result(), PI_INVALID_KERNEL_NAME);
        assert_eq!(
            error.message(),
            Some("there is no kernel third; the program has first, second")
        );
    });
}

#[test]
fn what_is_no_spirv_is_refused() {
    let spirv = spirv!(APP);
    with_both(|machine| {
        for no_spirv in [&b""[..], b"\x03\x02\x23", b"BC\xc0\xde0000"] {
            assert_eq!(
                machine.context.program_with_il(no_spirv).unwrap_err().result(),
                PI_INVALID_VALUE
            );
        }
        // Cut off, or with a word that is wrong.
        let mut wrong = spirv.clone();
        wrong[20..24].fill(0xff);
        for bytes in [&spirv[..spirv.len() - 4], &spirv[..22], &wrong] {
            let program = machine.context.program_with_il(bytes).unwrap();
            let compiled = program.compile("").unwrap_err();
            assert_eq!(compiled.result(), PI_COMPILE_PROGRAM_FAILURE, "{compiled}");
            let built = program.build("").unwrap_err();
            assert_eq!(built.result(), PI_BUILD_PROGRAM_FAILURE, "{built}");
            assert!(
                built.message().unwrap().starts_with("not valid SPIR-V"),
                "{built}"
            );
        }
    });
}

#[test]
fn programs_that_are_not_compiled_do_not_link() {
    let library = spirv!(LIBRARY);
    with_both(|machine| {
        let program = machine.context.program_with_il(&library).unwrap();
        let error = machine.context.link(&[&program], "").unwrap_err();
        assert_eq!(error.result(), PI_INVALID_OPERATION);
        assert_eq!(
            machine.context.link(&[], "").unwrap_err().result(),
            PI_INVALID_VALUE
        );
    });
}

#[test]
fn specialization_constants_are_set_for_a_build_and_for_each_module_of_a_link() {
    // The same number in both modules.
    let app = spirv!(
        "int __spirv_SpecConstant(int, int);
        int other();
        kernel void values(global int *p) { p[0] = __spirv_SpecConstant(7, 11); p[1] = other(); }"
    );
    let library =
        spirv!("int __spirv_SpecConstant(int, int); int other() { return __spirv_SpecConstant(7, 12); }");
    with_both(|machine| {
        let [app, library] = [&app, &library].map(|spirv| machine.context.program_with_il(spirv).unwrap());
        app.set_specialization_constant(7, &40i32.to_ne_bytes()).unwrap();
        assert_eq!(
            app.set_specialization_constant(7, &[0; 8]).unwrap_err().result(),
            PI_INVALID_VALUE
        );
        app.compile("").unwrap();
        library.compile("").unwrap();
        let values = |program: &offkit_pi::host::Program| {
            let mut kernel = program.kernel("values").unwrap();
            let out = machine.context.buffer(8).unwrap();
            kernel.set_argument(0, &out).unwrap();
            machine.run(&kernel, 1);
            let read = machine
                .queue
                .read_buffer_later(&out, 0, 8, &[])
                .unwrap()
                .wait()
                .unwrap();
            [0, 4].map(|at| i32::from_ne_bytes(read[at..at + 4].try_into().unwrap()))
        };
        assert_eq!(
            values(&machine.context.link(&[&app, &library], "").unwrap()),
            [40, 12]
        );
        library
            .set_specialization_constant(7, &(-3i32).to_ne_bytes())
            .unwrap();
        library.compile("").unwrap();
        assert_eq!(
            values(&machine.context.link(&[&app, &library], "").unwrap()),
            [40, -3]
        );
    });
}

#[test]
fn specialization_constants_that_are_not_there_are_refused() {
    let library = spirv!(LIBRARY);
    with_both(|machine| {
        let program = machine.context.program_with_il(&library).unwrap();
        let error = program.set_specialization_constant(3, &[0; 4]).unwrap_err();
        assert_eq!(error.result(), PI_INVALID_SPEC_ID);
    });
}

#[test]
fn spirv_is_chosen_among_images() {
    let spirv = spirv!(LIBRARY);
    with_both(|machine| {
        fn image<'code>(target: &str, code: &'code [u8]) -> DeviceImage<'code> {
            let mut image = DeviceImage::new(code);
            image.target = Target::of_sycl_name(target);
            image
        }
        let images = [
            image("nvptx64", b".version 7"),
            image("spir64_x86_64", b"\x7fELF"),
            image("spir64", &spirv),
        ];
        let images = images.each_ref();
        assert_eq!(machine.device.select_binary(&images).unwrap(), Some(2));
        assert_eq!(machine.device.select_binary(&images[..2]).unwrap(), None);
    });
}
