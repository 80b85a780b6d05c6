//! OpenCL C's `all` and `any` of integers.
//!
//! The back end makes `OpAll` and `OpAny` of them, which take booleans only. What counts of each component is the sign.

use std::fmt::Write;

use super::functions::vector;

/// The definition of one of them.
pub(super) fn definition(symbol: &str) -> Option<String> {
    let (name, argument) = offkit_image::mangled_function(symbol)?;
    let joined = match name {
        "all" => "and",
        "any" => "or",
        _ => return None,
    };
    let (count, letter) = vector(argument)?;
    let scalar = match letter {
        "c" => "i8",
        "s" => "i16",
        "i" => "i32",
        "l" => "i64",
        _ => return None,
    };
    let shape = match count {
        1 => scalar.to_owned(),
        2 | 3 | 4 | 8 | 16 => format!("<{count} x {scalar}>"),
        _ => return None,
    };
    let mut text =
        format!("define linkonce_odr spir_func i32 @{symbol}({shape} %x) alwaysinline nounwind {{\n");
    let mut all = "%x".to_owned();
    if count > 1 {
        for index in 0..count {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  %e{index} = extractelement {shape} %x, i32 {index}");
            let _ = match index {
                // A copy, so that the first has the name that the next one joins with.
                0 => writeln!(text, "  %j0 = or {scalar} %e0, 0"),
                _ => writeln!(text, "  %j{index} = {joined} {scalar} %j{}, %e{index}", index - 1),
            };
        }
        all = format!("%j{}", count - 1);
    }
    let _ = writeln!(
        text,
        "  %s = icmp slt {scalar} {all}, 0\n  %r = zext i1 %s to i32\n  ret i32 %r\n}}"
    );
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::definition;

    #[test]
    fn signs_of_integers_are_joined() {
        let all = definition("_Z3allDv3_c").unwrap();
        assert!(
            all.contains("and i8 %j1, %e2") && all.contains("icmp slt i8 %j2, 0"),
            "{all}"
        );
        assert!(definition("_Z3anyl").unwrap().contains("icmp slt i64 %x, 0"));
        for other in ["_Z3allDv4_f", "_Z3allDv5_i", "_Z4allyi", "all", "_Z3all"] {
            assert_eq!(definition(other), None, "{other}");
        }
    }
}
