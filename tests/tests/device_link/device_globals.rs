//! Device globals of SPIR-V modules that are linked with each other.

use offkit_spirv::dr::Operand;
use offkit_spirv::grammar::Op;

use super::*;

/// A module with a device global `g` of that linkage and ID, a kernel that needs `needed`, if that is named, and a
/// function that others call. Where it needs that one itself, the two are of two sources, and so of two images.
fn with_global(name: &str, linkage: &str, id: &str, needed: &str) -> String {
    let call = match needed {
        "" => "%w = add i32 %v, 1".to_owned(),
        needed => format!("%w = call spir_func i32 @{needed}(i32 %v)"),
    };
    let declared = match needed {
        "" => String::new(),
        needed => format!("declare spir_func i32 @{needed}(i32)"),
    };
    let source = if needed == format!("function_{name}") {
        "functions"
    } else {
        name
    };
    format!(
        "target triple = \"spirv64-unknown-unknown\"
         @g = {linkage} addrspace(1) global i32 5, align 4 #2
         @llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @g to ptr)], section \"llvm.metadata\"
         {declared}
         define spir_func i32 @function_{name}(i32 %x) #1 {{
           %v = load i32, ptr addrspace(1) @g
           %r = add i32 %v, %x
           ret i32 %r
         }}
         define spir_kernel void @kernel_{name}(ptr addrspace(1) %p) #0 {{
           %v = load i32, ptr addrspace(1) @g
           {call}
           store i32 %w, ptr addrspace(1) %p
           ret void
         }}
         attributes #0 = {{ \"sycl-module-id\"=\"{name}.cpp\" }}
         attributes #1 = {{ \"sycl-module-id\"=\"{source}.cpp\" }}
         attributes #2 = {{ \"sycl-device-global-size\"=\"4\" \"sycl-unique-id\"=\"{id}\" }}"
    )
}

/// A SYCLBIN of such a module.
fn object(folder: &Folder, name: &str, linkage: &str, id: &str, needed: &str) {
    let file = format!("{name}.ll");
    folder.write(&file, with_global(name, linkage, id, needed));
    folder
        .offkit(&format!("link {file} --state object -o {name}.syclbin"))
        .ok();
}

/// The device globals of the images of a file, by ID with the name of the variable, and the variables' own names.
fn globals(folder: &Folder, file: &str) -> (Vec<String>, Vec<String>) {
    let shown = folder.offkit(&format!("show {file}")).ok();
    let mapping = shown
        .lines()
        .filter_map(|line| line.trim().split_once("@global_id_mapping = "));
    let mapping: Vec<_> = mapping.map(|(id, name)| format!("{id}: {name}")).collect();
    folder.offkit(&format!("extract {file} -o {file}.images")).ok();
    let mut variables = Vec::new();
    for image in std::fs::read_dir(folder.path(&format!("{file}.images"))).unwrap() {
        let module = std::fs::read(image.unwrap().path()).unwrap();
        let module = offkit_spirv::Module::from_bytes(&module).unwrap();
        for said in &module.dr().debug_names {
            let [Operand::IdRef(id), Operand::LiteralString(name)] = &said.operands[..] else {
                continue;
            };
            let mut globals = module.dr().types_global_values.iter();
            if globals.any(|global| global.opcode == Op::Variable && global.result_id == Some(*id)) {
                variables.push(name.clone());
            }
        }
    }
    (mapping, variables)
}

#[test]
fn those_that_no_other_file_sees_stay_apart() {
    need!("spirv-val");
    let folder = Folder::new();
    object(&folder, "a", "internal", "id_a", "function_b");
    object(&folder, "b", "internal", "id_b", "");
    object(&folder, "c", "", "id_c", "function_a");
    for state in ["executable", "object"] {
        folder
            .offkit(&format!("link a.syclbin b.syclbin --state {state} -o ab.syclbin"))
            .ok();
        let (mapping, variables) = globals(&folder, "ab.syclbin");
        assert_eq!(mapping, ["id_a: \"g\"", "id_b: \"g.1\""]);
        assert_eq!(variables, ["g", "g.1"]);
        std::fs::remove_dir_all(folder.path("ab.syclbin.images")).unwrap();
    }
    // The name of one that others see stays, wherever it stands.
    folder
        .offkit("link a.syclbin b.syclbin c.syclbin --state executable -o abc.syclbin")
        .ok();
    let (mut mapping, mut variables) = globals(&folder, "abc.syclbin");
    mapping.sort();
    variables.sort();
    assert_eq!(mapping, ["id_a: \"g.1\"", "id_b: \"g.2\"", "id_c: \"g\""]);
    assert_eq!(variables, ["g", "g.1", "g.2"]);
}

#[test]
fn one_that_two_files_define_is_an_error() {
    let folder = Folder::new();
    for needed in ["function_b", ""] {
        object(&folder, "a", "", "id_g", needed);
        object(&folder, "b", "", "id_g", "");
        for state in ["executable", "object"] {
            let line = format!("link a.syclbin b.syclbin --state {state} -o ab.syclbin");
            let error = folder.offkit(&line).fails(2);
            assert!(error.contains("`g` is defined in both a.syclbin!0"), "{error}");
            assert!(error.contains("and b.syclbin!0"), "{error}");
        }
    }
}

#[test]
fn copies_in_images_of_one_program_become_one_again() {
    need!("spirv-val");
    for linkage in ["", "internal"] {
        let folder = Folder::new();
        let module = with_global("a", linkage, "id_g", "function_a")
            .replace("declare spir_func i32 @function_a(i32)", "");
        folder.write("a.ll", module);
        folder.offkit("link a.ll --state object -o a.syclbin").ok();
        let (apart, copies) = globals(&folder, "a.syclbin");
        assert_eq!((apart.len(), copies.len()), (2, 2), "{linkage}");
        folder
            .offkit("link a.syclbin --state executable -o one.syclbin")
            .ok();
        let (mapping, variables) = globals(&folder, "one.syclbin");
        assert_eq!(
            (mapping, variables),
            (vec!["id_g: \"g\"".to_owned()], vec!["g".to_owned()]),
            "{linkage}"
        );
    }
}

/// The host may write it: its initial value is not its value.
#[test]
fn one_that_devices_only_read_is_read() {
    need!("spirv-val");
    let folder = Folder::new();
    folder.write("a.ll", with_global("a", "internal", "id_g", ""));
    folder.offkit("link a.ll --state executable -o a.syclbin").ok();
    let (mapping, variables) = globals(&folder, "a.syclbin");
    assert_eq!(
        (mapping, variables),
        (vec!["id_g: \"g\"".to_owned()], vec!["g".to_owned()])
    );
}
