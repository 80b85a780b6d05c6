//! Which form of a module's code is taken, in which state, and what is done with it.

use std::process::Command;

use offkit_object::{BundleState, DeviceImage, Target};
use offkit_runtime::{Executable, Input, KernelBundle, LinkProperties, Object, State};
use offkit_tests::drivers::{INSIDE, with_drivers};
use offkit_tests::{Folder, mock, need};

use crate::machine::{EXPECTED, Machine, NATIVE, says, syclbin, two_forms};

/// A device that takes SPIR-V and machine code, with more lines for its script.
fn script(lines: &str) -> String {
    format!("device cpu Mock\ntakes spir64_x86_64 spirv64\ninfo IL_VERSION SPIR-V_1.4\n{lines}")
}

/// SPIR-V that only the mock takes, with a kernel of that name, and symbols: `-f` is imported, `+f` exported.
fn spirv(name: &str, symbols: &str) -> DeviceImage<'static> {
    let bytes = [b"\x03\x02\x23\x07", name.as_bytes()].concat();
    described(bytes, Target::new("spirv64-unknown-unknown", ""), name, symbols)
}

/// The same as machine code.
fn native(name: &str, symbols: &str) -> DeviceImage<'static> {
    let bytes = format!("machine code of {name}").into_bytes();
    described(bytes, Target::new(NATIVE, ""), name, symbols)
}

fn described(bytes: Vec<u8>, target: Target, name: &str, symbols: &str) -> DeviceImage<'static> {
    let mut image = DeviceImage::new(bytes);
    image.target = target;
    image.kernels = vec![name.to_owned()];
    for symbol in symbols.split_whitespace() {
        match symbol.split_at(1) {
            ("-", symbol) => image.imports.push(symbol.to_owned()),
            (_, symbol) => image.exports.push(symbol.to_owned()),
        }
    }
    image
}

/// Images, of which those in one list are forms of one module, as a file.
fn file(modules: Vec<Vec<DeviceImage<'static>>>, state: BundleState) -> Vec<u8> {
    let images = (0..).zip(modules).flat_map(|(module, forms)| {
        forms.into_iter().map(move |mut form| {
            form.form_of = Some(module);
            form
        })
    });
    syclbin(images.collect::<Vec<_>>(), state)
}

/// Where the images of a bundle were in its file.
fn places<S>(bundle: &KernelBundle<S>) -> Vec<String> {
    let images = bundle.images().map(|image| image.location.to_string());
    images.map(|place| place.replace("memory!", "")).collect()
}

fn fast() -> LinkProperties {
    LinkProperties {
        fast_link: true,
        ..LinkProperties::default()
    }
}

#[test]
fn each_state_takes_the_form_that_goes_with_it() {
    let test = "choices::each_state_takes_the_form_that_goes_with_it";
    let Some(machine) = Machine::of_mock(test, &script("")) else {
        return;
    };
    let of_another = || {
        let mut image = native("gpu", "");
        image.target = Target::new("amdgcn-amd-amdhsa", "gfx90a");
        image
    };
    let modules = || {
        vec![
            vec![spirv("both", ""), native("both", "")],
            vec![native("alone", "")],
            vec![native("importing", "-f")],
            vec![native("exporting", "+f")],
            vec![spirv("compiled", "")],
            vec![of_another()],
        ]
    };
    fn chosen<S: State>(machine: &Machine, modules: Vec<Vec<DeviceImage<'static>>>) -> (Vec<String>, bool) {
        let bundle: KernelBundle<S> = machine.read(file(modules, S::STATE)).expect("a bundle");
        (places(&bundle), bundle.has_kernel("gpu"))
    }
    // Native code never stands in for what is still to be compiled.
    let input = ["0/ir/0", "4/ir/0"].map(str::to_owned).to_vec();
    assert_eq!(chosen::<Input>(&machine, modules()), (input, false));
    // It does for what is compiled, whether it imports, exports or does neither.
    let object = ["0/ir/0", "1/native/0", "2/native/0", "3/native/0", "4/ir/0"].map(str::to_owned);
    assert_eq!(chosen::<Object>(&machine, modules()), (object.to_vec(), false));
    // It comes first for what is ready.
    let executable = ["0/native/0", "1/native/0", "2/native/0", "3/native/0", "4/ir/0"].map(str::to_owned);
    assert_eq!(
        chosen::<Executable>(&machine, modules()),
        (executable.to_vec(), false)
    );
}

#[test]
fn machine_code_is_neither_compiled_nor_linked_with_itself() {
    let test = "choices::machine_code_is_neither_compiled_nor_linked_with_itself";
    let faults =
        "fail piProgramCompile PI_COMPILE_PROGRAM_FAILURE\nfail piProgramLink PI_LINK_PROGRAM_FAILURE";
    let Some(machine) = Machine::of_mock(test, &script(faults)) else {
        return;
    };
    // What is ready is an object here: that is what the caller asked for.
    let object: KernelBundle<Object> = machine
        .read(file(vec![vec![native("k", "")]], BundleState::Object))
        .expect("an object");
    let linked = KernelBundle::link(&[&object], None).expect("nothing to link");
    assert!(linked.kernel("k", &machine.device).is_ok());
    let both = || vec![vec![spirv("k", ""), native("k", "")]];
    let object: KernelBundle<Object> = machine
        .read(file(both(), BundleState::Object))
        .expect("an object");
    let linked = KernelBundle::link_with(&[&object], None, fast()).expect("nothing to link");
    assert_eq!(places(&linked), ["0/native/0"]);
    let executable: KernelBundle<Executable> = machine
        .read(file(both(), BundleState::Executable))
        .expect("an executable");
    assert!(executable.kernel("k", &machine.device).is_ok());
}

#[test]
fn machine_code_that_needs_other_machine_code_is_linked_at_once() {
    let test = "choices::machine_code_that_needs_other_machine_code_is_linked_at_once";
    let faults =
        "fail piProgramCompile PI_COMPILE_PROGRAM_FAILURE\nfail piProgramLink#2 PI_LINK_PROGRAM_FAILURE";
    let Some(machine) = Machine::of_mock(test, &script(faults)) else {
        return;
    };
    let modules = vec![
        vec![native("app", "-f")],
        vec![native("library", "+f -g")],
        vec![native("third", "+g")],
    ];
    let object: KernelBundle<Object> = machine
        .read(file(modules, BundleState::Object))
        .expect("an object");
    let linked = KernelBundle::link(&[&object], None).expect("it links");
    assert!(linked.kernel("app", &machine.device).is_ok());
    let alone: KernelBundle<Object> = machine
        .read(file(vec![vec![native("app", "-f")]], BundleState::Object))
        .expect("an object");
    let missing = KernelBundle::link(&[&alone], None).expect_err("nobody exports it");
    says(
        &missing,
        &["No exported symbol \"f\" found in linked images", "0/native/0"],
    );
}

#[test]
fn images_are_linked_by_their_format() {
    let test = "choices::images_are_linked_by_their_format";
    let Some(machine) = Machine::of_mock(test, &script("")) else {
        return;
    };
    let object = |modules| -> KernelBundle<Object> {
        machine
            .read(file(modules, BundleState::Object))
            .expect("an object")
    };
    // Both pairs, each for itself.
    let compiled = object(vec![vec![spirv("app", "-f")], vec![spirv("library", "+f")]]);
    let machine_code = object(vec![vec![native("other", "-f")], vec![native("its", "+f")]]);
    let linked = KernelBundle::link(&[&compiled, &machine_code], None).expect("it links");
    for kernel in ["app", "other"] {
        assert!(linked.kernel(kernel, &machine.device).is_ok(), "{kernel}");
    }
    // As a file, machine code stays two images, which are linked again.
    let linked = KernelBundle::link(&[&machine_code], None).expect("it links");
    let written = linked.content().expect("a file");
    let again: KernelBundle<Executable> = machine.read(written).expect("the same state");
    assert_eq!(again.images().count(), 2);
    assert!(again.kernel("other", &machine.device).is_ok());
    let app = object(vec![vec![spirv("app", "-f")]]);
    let error = KernelBundle::link(&[&app, &object(vec![vec![native("its", "+f")]])], None);
    says(
        &error.expect_err("SPIR-V cannot call machine code"),
        &[
            "No exported symbol \"f\"",
            "exported in another format by `memory!0/native/0`",
        ],
    );
}

#[test]
fn a_fast_link_takes_machine_code_where_all_that_it_needs_is_there() {
    let test = "choices::a_fast_link_takes_machine_code_where_all_that_it_needs_is_there";
    let Some(machine) = Machine::of_mock(test, &script("")) else {
        return;
    };
    let linked = |modules, properties| {
        let file = file(modules, BundleState::Object);
        let object: KernelBundle<Object> = machine.read(file).expect("an object");
        let linked = KernelBundle::link_with(&[&object], None, properties).expect("it links");
        places(&linked)
    };
    let both = |name, symbols| vec![spirv(name, symbols), native(name, symbols)];
    let modules = || {
        vec![
            both("app", "-f"),
            both("library", "+f -g"),
            both("third", "+g"),
            both("alone", ""),
        ]
    };
    let slow = linked(modules(), LinkProperties::default());
    assert_eq!(slow, ["0/ir/0", "1/ir/0", "2/ir/0", "3/ir/0"]);
    let all = linked(modules(), fast());
    assert_eq!(all, ["0/native/0", "1/native/0", "2/native/0", "3/native/0"]);
    // One that is not there as machine code takes all with it that need it, and all that it needs.
    for (position, module) in [
        (0, spirv("app", "-f")),
        (1, spirv("library", "+f -g")),
        (2, spirv("third", "+g")),
    ] {
        let mut modules = modules();
        modules[position] = vec![module];
        assert_eq!(
            linked(modules, fast()),
            ["0/ir/0", "1/ir/0", "2/ir/0", "3/native/0"],
            "{position}"
        );
    }
}

#[test]
fn level_zero_is_told_of_code_that_others_need() {
    let test = "choices::level_zero_is_told_of_code_that_others_need";
    // Three images: one that imports, one that exports, one that is for itself.
    if std::env::var_os(INSIDE).is_some() {
        let machine = Machine::of_plugin(mock());
        let modules = [spirv("app", "-f"), spirv("library", "+f"), spirv("alone", "")];
        let file = file(modules.map(|image| vec![image]).to_vec(), BundleState::Input);
        let input: KernelBundle<Input> = machine.read(file).expect("a bundle");
        input.compile().expect("it compiles");
        return;
    }
    let folder = Folder::new();
    for (backend, told) in [("LEVEL_ZERO", 2), ("OPENCL", 0)] {
        let text = format!("platform Mock\nbackend {backend}\n{}", script(""));
        let path = folder.write(backend, text);
        let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
        command
            .args([test, "--exact", "--nocapture"])
            .env(INSIDE, "1")
            .env("OFFKIT_TRACE", "2");
        let outcome = folder.run_command(with_drivers(&mut command, &[("OFFKIT_MOCK", &path)]));
        let trace = outcome.ok();
        assert_eq!(trace.matches("---> piProgramCompile(").count(), 3, "{trace}");
        assert_eq!(trace.matches("-library-compilation").count(), told, "{trace}");
    }
}

/// Machine code of a real driver: what it made of SPIR-V.
#[test]
fn a_driver_runs_machine_code_that_it_made_before() {
    need!("clang-22", "llc");
    let test = "choices::a_driver_runs_machine_code_that_it_made_before";
    let Some(machine) = Machine::of_intel(test) else {
        return;
    };
    let [compiled, made] = two_forms(&machine);
    let both = || vec![vec![compiled.clone(), made.clone()]];
    let executable: KernelBundle<Executable> = machine
        .read(file(both(), BundleState::Executable))
        .expect("an executable");
    assert_eq!(places(&executable), ["0/native/0"]);
    assert_eq!(machine.run_app(&executable), EXPECTED);
    let object: KernelBundle<Object> = machine
        .read(file(both(), BundleState::Object))
        .expect("an object");
    let place = |properties| {
        let linked = KernelBundle::link_with(&[&object], None, properties).expect("it links");
        assert_eq!(machine.run_app(&linked), EXPECTED);
        places(&linked)
    };
    assert_eq!(place(LinkProperties::default()), ["0/ir/0"]);
    assert_eq!(place(fast()), ["0/native/0"]);
    // It goes to a file and comes back.
    let again: KernelBundle<Executable> = machine
        .read(executable.content().expect("a file"))
        .expect("the same");
    assert_eq!(machine.run_app(&again), EXPECTED);
}
