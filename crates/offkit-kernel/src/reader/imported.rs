//! Functions of OpenCL C that clang 22 leaves as calls of functions that nobody defines.
//!
//! They carry Itanium's mangled names of the C++ declarations that clang has for its built-in functions,
//! and that mangling also tells what SPIR-V's types don't: which integers have a sign.

use offkit_spirv::grammar::{FPRoundingMode, Op, StorageClass};

use crate::builtins::convert::Conversion;
use crate::ir::AtomicOperation;

/// What such a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Imported {
    Convert {
        kind: Conversion,
        rounding: Option<FPRoundingMode>,
    },
    /// The first argument is the pointer; the second the value where the operation takes one.
    Atomic {
        operation: AtomicOperation,
        operands: Operands,
        guarantee: Guarantee,
    },
    Fence,
    SubGroupBarrier,
    /// The null pointer where the argument points elsewhere.
    Cast(StorageClass),
    /// Which fence the memory that the argument points to needs: 1 local, 2 global.
    FenceOf,
}

/// What an atomic operation is given beside the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    Value,
    One,
}

/// What an atomic operation guarantees to others, as OpenCL's specification has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarantee {
    /// Nothing beyond itself: the functions of before OpenCL C 2.0.
    Relaxed,
    /// One order of all, for the device.
    Sequential,
    /// What the arguments behind the value say: an order, and a scope, which may be left out.
    Arguments,
}

/// Recognises a function by its name.
pub(super) fn recognise(name: &str) -> Option<Imported> {
    match name {
        "__to_global" => return Some(Imported::Cast(StorageClass::CrossWorkgroup)),
        "__to_local" => return Some(Imported::Cast(StorageClass::Workgroup)),
        "__to_private" => return Some(Imported::Cast(StorageClass::Function)),
        _ => {}
    }
    let (name, parameters) = offkit_image::mangled_function(name)?;
    match name {
        "mem_fence" | "read_mem_fence" | "write_mem_fence" => Some(Imported::Fence),
        "sub_group_barrier" => Some(Imported::SubGroupBarrier),
        "get_fence" => Some(Imported::FenceOf),
        _ => conversion(name, parameters).or_else(|| atomic(name, parameters)),
    }
}

/// The kinds of numbers, by the last letters of a mangled type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Signed,
    Unsigned,
    Float,
}

fn number(mangled: &str) -> Option<Number> {
    // Vectors are `Dv4_` and the component.
    let scalar = mangled
        .rsplit_once('_')
        .filter(|(vector, _)| vector.starts_with("Dv"))
        .map_or(mangled, |(_, last)| last);
    // `c` is plain `char`, which has a sign in OpenCL C whatever it has on the host.
    Some(match scalar {
        "a" | "c" | "s" | "i" | "l" => Number::Signed,
        "h" | "t" | "j" | "m" => Number::Unsigned,
        "Dh" | "f" | "d" => Number::Float,
        _ => return None,
    })
}

/// `convert_double4_rtz` and the like, to floating-point types.
fn conversion(name: &str, parameters: &str) -> Option<Imported> {
    let rest = name.strip_prefix("convert_")?;
    let rest = ["double", "float", "half"]
        .iter()
        .find_map(|kind| rest.strip_prefix(kind))?;
    let rounding = match rest.trim_start_matches(|digit: char| digit.is_ascii_digit()) {
        "" => None,
        "_rte" => Some(FPRoundingMode::RTE),
        "_rtz" => Some(FPRoundingMode::RTZ),
        "_rtp" => Some(FPRoundingMode::RTP),
        "_rtn" => Some(FPRoundingMode::RTN),
        _ => return None,
    };
    let kind = match number(parameters)? {
        Number::Signed => Conversion::SignedToFloat,
        Number::Unsigned => Conversion::UnsignedToFloat,
        Number::Float => Conversion::Float,
    };
    Some(Imported::Convert { kind, rounding })
}

/// The atomic functions of OpenCL C 1.x, and minima and maxima of 2.0.
fn atomic(name: &str, parameters: &str) -> Option<Imported> {
    let (operation, guarantee) = match name {
        "atomic_fetch_min" => ("min", Guarantee::Sequential),
        "atomic_fetch_max" => ("max", Guarantee::Sequential),
        "atomic_fetch_min_explicit" => ("min", Guarantee::Arguments),
        "atomic_fetch_max_explicit" => ("max", Guarantee::Arguments),
        _ => (
            name.strip_prefix("atomic_")
                .or_else(|| name.strip_prefix("atom_"))?,
            Guarantee::Relaxed,
        ),
    };
    // The pointee is at the end of the first parameter, before the enumerations of the explicit forms; the value repeats
    // it. It is one letter, but for `half`, which is `Dh`.
    let pointee = || {
        let pointee = parameters
            .strip_prefix('P')?
            .trim_start_matches(|letter: char| letter.is_ascii_digit());
        let after = |text| pointee.split_once(text).map(|(_, rest)| rest);
        let letters = match guarantee {
            Guarantee::Relaxed => after("V").unwrap_or(pointee),
            Guarantee::Sequential | Guarantee::Arguments => after("U7_Atomic")?,
        };
        number(letters.get(..if letters.starts_with('D') { 2 } else { 1 })?)
    };
    let update = |op| AtomicOperation::Update(op);
    let (operation, operands) = match operation {
        "xchg" => (AtomicOperation::Exchange, Operands::Value),
        "inc" => (update(Op::IAdd), Operands::One),
        "dec" => (update(Op::ISub), Operands::One),
        "min" => match pointee()? {
            Number::Signed => (update(Op::GroupSMin), Operands::Value),
            Number::Unsigned => (update(Op::GroupUMin), Operands::Value),
            Number::Float => (update(Op::GroupFMin), Operands::Value),
        },
        "max" => match pointee()? {
            Number::Signed => (update(Op::GroupSMax), Operands::Value),
            Number::Unsigned => (update(Op::GroupUMax), Operands::Value),
            Number::Float => (update(Op::GroupFMax), Operands::Value),
        },
        _ => return None,
    };
    Some(Imported::Atomic {
        operation,
        operands,
        guarantee,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(op: Op, operands: Operands, guarantee: Guarantee) -> Option<Imported> {
        Some(Imported::Atomic {
            operation: AtomicOperation::Update(op),
            operands,
            guarantee,
        })
    }

    #[test]
    fn conversions() {
        let convert = |kind, rounding| Some(Imported::Convert { kind, rounding });
        assert_eq!(
            recognise("_Z14convert_doublei"),
            convert(Conversion::SignedToFloat, None)
        );
        assert_eq!(
            recognise("_Z15convert_double4Dv4_h"),
            convert(Conversion::UnsignedToFloat, None)
        );
        assert_eq!(
            recognise("_Z16convert_half_rtpf"),
            convert(Conversion::Float, Some(FPRoundingMode::RTP))
        );
        assert_eq!(
            recognise("_Z17convert_half4_rtzDv4_Dh"),
            convert(Conversion::Float, Some(FPRoundingMode::RTZ))
        );
        assert_eq!(recognise("_Z11convert_inti"), None);
        assert_eq!(recognise("_Z99convert_doublei"), None);
    }

    #[test]
    fn atomics() {
        assert_eq!(
            recognise("_Z10atomic_minPU3AS1Vii"),
            update(Op::GroupSMin, Operands::Value, Guarantee::Relaxed)
        );
        assert_eq!(
            recognise("_Z10atomic_maxPU3AS1Vjj"),
            update(Op::GroupUMax, Operands::Value, Guarantee::Relaxed)
        );
        assert_eq!(
            recognise("_Z8atom_decPU3AS3Vl"),
            update(Op::ISub, Operands::One, Guarantee::Relaxed)
        );
        let explicit = "_Z25atomic_fetch_min_explicitPU3AS4VU7_Atomicmm12memory_order12memory_scope";
        assert_eq!(
            recognise(explicit),
            update(Op::GroupUMin, Operands::Value, Guarantee::Arguments)
        );
        assert_eq!(
            recognise("_Z16atomic_fetch_maxPU3AS4VU7_Atomicff"),
            update(Op::GroupFMax, Operands::Value, Guarantee::Sequential)
        );
        assert_eq!(
            recognise("_Z25atomic_fetch_min_explicitPU3AS3VU7_AtomicDhDh12memory_order12memory_scope"),
            update(Op::GroupFMin, Operands::Value, Guarantee::Arguments)
        );
        let operation = AtomicOperation::Exchange;
        assert_eq!(
            recognise("_Z11atomic_xchgPU3AS3Vff"),
            Some(Imported::Atomic {
                operation,
                operands: Operands::Value,
                guarantee: Guarantee::Relaxed
            })
        );
    }

    /// The linker leaves to the device what it takes for such a function; that must be these.
    #[test]
    fn the_linker_knows_them_too() {
        for name in [
            "_Z14convert_doublei",
            "_Z17convert_half4_rtzDv4_Dh",
            "_Z10atomic_minPU3AS1Vii",
            "_Z8atom_decPU3AS3Vl",
            "_Z11atomic_xchgPU3AS3Vff",
            "_Z16atomic_fetch_maxPU3AS4VU7_Atomicff",
            "_Z25atomic_fetch_min_explicitPU3AS4VU7_Atomicmm12memory_order12memory_scope",
            "_Z25atomic_fetch_min_explicitPU3AS3VU7_AtomicDhDh12memory_order12memory_scope",
            "_Z9mem_fencej",
            "_Z14read_mem_fencej",
            "_Z15write_mem_fencej",
            "_Z17sub_group_barrierj12memory_scope",
            "_Z9get_fencePU3AS4v",
            "__to_global",
            "__to_private",
        ] {
            assert!(
                recognise(name).is_some() && offkit_spirv::is_opencl_builtin(name),
                "{name}"
            );
        }
    }

    /// What the linker leaves to the device must not be missing there.
    #[test]
    fn nothing_that_the_linker_leaves_is_missing() {
        let conversions = [
            "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float",
        ];
        let conversions = conversions
            .into_iter()
            .chain(["double", "bool"])
            .flat_map(|scalar| {
                ["", "2", "3", "4", "8", "16", "5"].map(|components| format!("convert_{scalar}{components}"))
            });
        let roundings = ["", "_rte", "_rtz", "_rtp", "_rtn", "_sat", "_sat_rte", "_fast"];
        let conversions = conversions
            .flat_map(|name| roundings.map(|rounding| format!("{name}{rounding}")))
            .flat_map(|name| ["i", "h", "f", "Dv4_d"].map(|parameters| (name.clone(), parameters)));
        let operations = [
            "add", "sub", "xchg", "cmpxchg", "inc", "dec", "min", "max", "and", "or", "xor", "load", "init",
        ];
        let prefixes = ["atomic_", "atom_", "atomic_fetch_", "atom_fetch_"];
        let atomics = operations
            .iter()
            .flat_map(|operation| prefixes.map(|prefix| format!("{prefix}{operation}")))
            .flat_map(|name| [name.clone(), format!("{name}_explicit")])
            .map(|name| {
                let is_new = name.starts_with("atomic_fetch_");
                (name, if is_new { "PU3AS4VU7_Atomicii" } else { "PU3AS1Vii" })
            });
        let others = [
            "mem_fence",
            "read_mem_fence",
            "write_mem_fence",
            "sub_group_barrier",
            "get_fence",
            "barrier",
        ];
        let others = others.map(|name| (name.to_owned(), "j"));
        let left: Vec<String> = conversions
            .chain(atomics)
            .chain(others)
            .map(|(name, parameters)| format!("_Z{}{name}{parameters}", name.len()))
            .chain(["global", "local", "private", "constant"].map(|space| format!("__to_{space}")))
            .filter(|name| offkit_spirv::is_opencl_builtin(name))
            .collect();
        // Two types of six widths, five rounding modes and four operands; ten and four atomic functions; fences; casts.
        assert_eq!(left.len(), 2 * 6 * 5 * 4 + 10 + 4 + 5 + 3);
        for name in left {
            assert!(recognise(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn others() {
        assert_eq!(recognise("_Z9mem_fencej"), Some(Imported::Fence));
        assert_eq!(
            recognise("_Z17sub_group_barrierj12memory_scope"),
            Some(Imported::SubGroupBarrier)
        );
        assert_eq!(
            recognise("__to_local"),
            Some(Imported::Cast(StorageClass::Workgroup))
        );
        assert_eq!(recognise("_Z3foov"), None);
        assert_eq!(recognise("_Z"), None);
    }
}
