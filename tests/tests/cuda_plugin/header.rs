//! The plugin's declarations and NVIDIA's.

use super::*;
use offkit_tests::cuda::RUNTIME;
use std::fmt::Write as _;

#[test]
fn declarations_are_those_of_nvidias_header() {
    need!("clang-22");
    let Some(header) = RUNTIME.file("/cuda.h") else {
        return;
    };
    let folder = Folder::new();
    let c_type = |rust: &str| {
        let (mut rust, mut pointers) = (rust.replace(' ', ""), String::new());
        let mut is_const = false;
        loop {
            let (rest, constant) = match (rust.strip_prefix("*mut"), rust.strip_prefix("*const")) {
                (Some(rest), _) => (rest.to_owned(), false),
                (_, Some(rest)) => (rest.to_owned(), true),
                _ => break,
            };
            is_const = constant;
            pointers.push('*');
            rust = rest;
        }
        let base = match rust.as_str() {
            "c_int" => "int",
            "c_uint" => "unsigned int",
            "c_char" => "char",
            "c_void" => "void",
            "usize" => "size_t",
            "u8" => "unsigned char",
            "u16" => "unsigned short",
            "f32" => "float",
            name => name,
        };
        let constant = if is_const { "const " } else { "" };
        format!("{constant}{base} {pointers}")
    };
    let mut source = String::from("#define __CUDA_API_VERSION_INTERNAL\n#include \"cuda.h\"\n");
    for (name, types) in offkit_plugin_cuda::DECLARATIONS {
        let types: Vec<String> = types.iter().map(|rust| c_type(rust)).collect();
        writeln!(source, "CUresult (*check_{name})({}) = {name};", types.join(", ")).unwrap();
    }
    for (name, value) in offkit_plugin_cuda::ENUMERATORS {
        writeln!(source, "_Static_assert({name} == {value}u, \"{name}\");").unwrap();
    }
    let sizes =
        "_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, \"\");\n_Static_assert(sizeof(CUuuid) == 16, \"\");\n";
    source.push_str(sizes);
    folder.write("check.c", &source);
    let include = format!("-I{}", header.parent().unwrap().display());
    let options = ["-std=c11", "-Werror", "-fsyntax-only", &include, "check.c"];
    folder.run(tool("clang-22").unwrap(), options).ok();
}
