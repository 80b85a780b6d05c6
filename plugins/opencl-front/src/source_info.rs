//! What the source of a kernel says that its SPIR-V does not: names of types, qualifiers, hints.
//!
//! clang notes it in LLVM's form of the program, as text. Few programs ask, so it is compiled to that when one does.

use crate::source::{self, Header};
use cl::*;
use offkit_sync::Arc;
use std::collections::HashMap;

/// The kernels of a program, by name.
pub(crate) type SourceInfo = HashMap<String, SourceKernel>;

/// A kernel as its source has it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceKernel {
    pub(crate) arguments: Vec<SourceArgument>,
    /// Attributes that are no work-group sizes, such as `vec_type_hint(float4)`.
    pub(crate) attributes: Vec<String>,
}

/// An argument as the source declares it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceArgument {
    pub(crate) name: String,
    pub(crate) type_name: String,
    pub(crate) qualifiers: cl_kernel_arg_type_qualifier,
}

/// A source, and what it was compiled with.
pub(crate) struct Compilation {
    pub(crate) text: Arc<[u8]>,
    pub(crate) options: String,
    pub(crate) headers: Vec<Header>,
}

/// What is known of the kernels of sources; nothing of those that cannot be compiled.
pub(crate) fn of(compilations: &[Arc<Compilation>]) -> SourceInfo {
    let texts = compilations
        .iter()
        .filter_map(|source| source::as_text(&source.text, &source.options, &source.headers));
    texts.flat_map(|text| read(&text)).collect()
}

/// Reads LLVM's text.
fn read(text: &str) -> SourceInfo {
    // Before the functions, although they come behind them: a function names its nodes by number.
    let nodes: HashMap<&str, &str> = text
        .lines()
        .filter(|line| line.starts_with('!'))
        .filter_map(|line| line.split_once(" = !{"))
        .collect();
    // clang defines each kernel twice: a plain function, for other kernels to call, has the same
    // nodes.
    let kernels = text
        .lines()
        .filter(|line| line.starts_with("define ") && line.contains(" spir_kernel "));
    let kernels = kernels.filter_map(|line| {
        let (_, rest) = line.split_once(" @")?;
        let (name, _) = rest.split_once('(')?;
        let node = |kind: &str| {
            let (_, rest) = line.split_once(&format!(" !{kind} "))?;
            nodes.get(rest.split(' ').next()?).copied()
        };
        let list = |kind| node(kind).map(strings).unwrap_or_default();
        let types = list("kernel_arg_type").into_iter();
        let named = types
            .zip(list("kernel_arg_type_qual"))
            .zip(list("kernel_arg_name"));
        let arguments = named.map(|((type_name, qualifiers), name)| SourceArgument {
            name,
            type_name,
            qualifiers: qualifiers.split(' ').map(qualifier).sum(),
        });
        let hint = node("vec_type_hint").and_then(hint);
        let kernel = SourceKernel {
            arguments: arguments.collect(),
            attributes: hint.into_iter().collect(),
        };
        Some((name.trim_matches('"').to_owned(), kernel))
    });
    kernels.collect()
}

/// The strings of a node: `!"a", !"b"}`.
fn strings(node: &str) -> Vec<String> {
    node.split("!\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect()
}

fn qualifier(word: &str) -> cl_kernel_arg_type_qualifier {
    match word {
        "const" => CL_KERNEL_ARG_TYPE_CONST,
        "restrict" => CL_KERNEL_ARG_TYPE_RESTRICT,
        "volatile" => CL_KERNEL_ARG_TYPE_VOLATILE,
        "pipe" => CL_KERNEL_ARG_TYPE_PIPE,
        _ => CL_KERNEL_ARG_TYPE_NONE,
    }
}

/// A hint of a type: `<2 x i8> poison, i32 0}` is `uchar2`; the last number says whether it is signed.
fn hint(node: &str) -> Option<String> {
    let (value, sign) = node.trim_end_matches('}').rsplit_once(", i32 ")?;
    let (kind, _) = value.rsplit_once(' ')?;
    let (count, element) = match kind.strip_prefix('<').and_then(|kind| kind.strip_suffix('>')) {
        Some(vector) => vector.split_once(" x ")?,
        None => ("", kind),
    };
    let unsigned = if sign == "0" { "u" } else { "" };
    let element = match element {
        "i8" => format!("{unsigned}char"),
        "i16" => format!("{unsigned}short"),
        "i32" => format!("{unsigned}int"),
        "i64" => format!("{unsigned}long"),
        other => other.to_owned(),
    };
    Some(format!("vec_type_hint({element}{count})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_qualifiers_and_hints_are_as_in_the_source() {
        let text = r#"
define spir_kernel void @k(ptr addrspace(1) %0, i32 %1) #0 !kernel_arg_type !10 !kernel_arg_type_qual !12 !kernel_arg_name !13 !vec_type_hint !14 {
define spir_func void @__clang_ocl_kern_imp_k(ptr addrspace(1) %0) #1 !kernel_arg_type !10 {
!10 = !{!"float*", !"uint"}
!12 = !{!"restrict const", !""}
!13 = !{!"a", !"n"}
!14 = !{<2 x i8> poison, i32 0}
"#;
        let found = read(text);
        assert_eq!(found.len(), 1);
        let kernel = &found["k"];
        assert_eq!(kernel.attributes, ["vec_type_hint(uchar2)"]);
        let [pointer, number] = &kernel.arguments[..] else {
            panic!("{kernel:?}");
        };
        assert_eq!((&*pointer.name, &*pointer.type_name), ("a", "float*"));
        assert_eq!(
            pointer.qualifiers,
            CL_KERNEL_ARG_TYPE_RESTRICT | CL_KERNEL_ARG_TYPE_CONST
        );
        assert_eq!(
            (&*number.name, &*number.type_name, number.qualifiers),
            ("n", "uint", 0)
        );
    }
}
