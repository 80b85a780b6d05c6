//! OpenCL C's conversions between integers, which LLVM 22 gets wrong.
//!
//! The SPIR-V back end of LLVM 22.1 chooses between sign and zero extension by the type that is
//! converted to, not by the one converted from: `convert_int` of a `char` of -1 becomes 255, and
//! `convert_uint` of a `uchar` of 200 becomes 4294967240. Saturating conversions go wrong alike. So the
//! functions are defined here, before the back end sees calls of them, in plain IR that is inlined.

use std::fmt::Write;

use super::functions::vector;

/// The definition of a conversion between integers.
pub(super) fn definition(symbol: &str) -> Option<String> {
    Conversion::parse(symbol).map(|conversion| conversion.definition())
}

/// A conversion from integers to integers.
#[derive(Debug, PartialEq, Eq)]
struct Conversion<'a> {
    symbol: &'a str,
    from: Integer,
    to: Integer,
    /// 1 for a scalar.
    components: u32,
    saturated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Integer {
    signed: bool,
    bits: u32,
}

impl Integer {
    fn least(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    // In 128 bits, so that bounds of signed and unsigned types of 64 bits can be compared.
    fn greatest(self) -> i128 {
        (1 << (if self.signed { self.bits - 1 } else { self.bits })) - 1
    }

    /// A type by OpenCL C's name.
    fn named(name: &str) -> Option<Self> {
        let (signed, name) = match name.strip_prefix('u') {
            Some(name) => (false, name),
            None => (true, name),
        };
        let bits = match name {
            "char" => 8,
            "short" => 16,
            "int" => 32,
            "long" => 64,
            _ => return None,
        };
        Some(Self { signed, bits })
    }

    /// A type by its letter in a mangled name.
    fn mangled(letter: &str) -> Option<Self> {
        let (signed, bits) = match letter {
            "c" | "a" => (true, 8),
            "h" => (false, 8),
            "s" => (true, 16),
            "t" => (false, 16),
            "i" => (true, 32),
            "j" => (false, 32),
            "l" => (true, 64),
            "m" => (false, 64),
            _ => return None,
        };
        Some(Self { signed, bits })
    }
}

impl<'a> Conversion<'a> {
    /// Reads `_Z16convert_int4_satDv4_c`: name and argument of a mangled function.
    fn parse(symbol: &'a str) -> Option<Self> {
        let (name, argument) = offkit_image::mangled_function(symbol)?;
        let mut parts = name.strip_prefix("convert_")?.split('_').peekable();
        let result = parts.next()?;
        let scalar = result.trim_end_matches(|c: char| c.is_ascii_digit());
        let components = result.strip_prefix(scalar)?;
        let saturated = parts.next_if_eq(&"sat").is_some();
        // Rounding means nothing between integers.
        parts.next_if(|part| matches!(*part, "rte" | "rtz" | "rtp" | "rtn"));
        if parts.next().is_some() {
            return None;
        }
        let components = match components {
            "" => 1,
            components => components.parse().ok()?,
        };
        let (arguments, letter) = vector(argument)?;
        if arguments != components {
            return None;
        }
        Some(Self {
            symbol,
            from: Integer::mangled(letter)?,
            to: Integer::named(scalar)?,
            components,
            saturated,
        })
    }

    /// The function in LLVM's text form.
    fn definition(&self) -> String {
        let (from, to) = (self.shape(self.from), self.shape(self.to));
        let mut text = String::new();
        let mut step = |name: &str, instruction: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  %{name} = {instruction}");
            format!("%{name}")
        };
        let mut current = "%x".to_owned();
        if self.saturated {
            // As the source has its sign: each bound that is compared with is in its range.
            let order = if self.from.signed { 's' } else { 'u' };
            if self.to.greatest() < self.from.greatest() {
                let bound = self.constant(self.to.greatest());
                step("above", format!("icmp {order}gt {from} {current}, {bound}"));
                let choice = format!("select {} %above, {from} {bound}, {from} {current}", self.truth());
                current = step("capped", choice);
            }
            if self.to.least() > self.from.least() {
                let bound = self.constant(self.to.least());
                step("below", format!("icmp {order}lt {from} {current}, {bound}"));
                let choice = format!("select {} %below, {from} {bound}, {from} {current}", self.truth());
                current = step("clamped", choice);
            }
        }
        if self.to.bits != self.from.bits {
            let cast = match (self.to.bits > self.from.bits, self.from.signed) {
                (false, _) => "trunc",
                (true, true) => "sext",
                (true, false) => "zext",
            };
            current = step("converted", format!("{cast} {from} {current} to {to}"));
        }
        format!(
            "define linkonce_odr spir_func {to} @{}({from} %x) alwaysinline nounwind {{\n{text}  ret {to} {current}\n}}\n",
            self.symbol
        )
    }

    fn shape(&self, integer: Integer) -> String {
        self.vector(&format!("i{}", integer.bits))
    }

    fn truth(&self) -> String {
        self.vector("i1")
    }

    fn vector(&self, scalar: &str) -> String {
        match self.components {
            1 => scalar.to_owned(),
            count => format!("<{count} x {scalar}>"),
        }
    }

    fn constant(&self, value: i128) -> String {
        match self.components {
            1 => value.to_string(),
            _ => format!("splat (i{} {value})", self.from.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_decides_how_a_number_is_widened() {
        let body = |symbol: &str| {
            Conversion::parse(symbol)
                .map(|conversion| conversion.definition())
                .unwrap_or_default()
        };
        assert!(body("_Z11convert_intc").contains("sext i8 %x to i32"));
        assert!(body("_Z12convert_uinth").contains("zext i8 %x to i32"));
        assert!(body("_Z12convert_uintc").contains("sext i8 %x to i32"));
        assert!(body("_Z17convert_char4_rteDv4_j").contains("trunc <4 x i32> %x to <4 x i8>"));
        assert!(body("_Z13convert_ulongl").contains("ret i64 %x"));
    }

    #[test]
    fn saturation_compares_as_the_source_does() {
        let body = Conversion::parse("_Z16convert_char_sati").unwrap().definition();
        assert!(
            body.contains("icmp sgt i32 %x, 127") && body.contains("icmp slt i32 %capped, -128"),
            "{body}"
        );
        let body = Conversion::parse("_Z16convert_char_satm").unwrap().definition();
        assert!(
            body.contains("icmp ugt i64 %x, 127") && !body.contains("below"),
            "{body}"
        );
        let body = Conversion::parse("_Z17convert_uint2_satDv2_l")
            .unwrap()
            .definition();
        assert!(
            body.contains("splat (i64 4294967295)") && body.contains("icmp slt <2 x i64>"),
            "{body}"
        );
        let body = Conversion::parse("_Z16convert_long_sati").unwrap().definition();
        assert!(!body.contains("select"), "{body}");
    }

    #[test]
    fn other_functions_are_left_alone() {
        for symbol in [
            "_Z13convert_floati",
            "_Z11convert_intf",
            "_Z15convert_int_sat4Dv4_c",
            "_Z12convert_int4c",
            "_Z12convert_int4Dv2_c",
            "_Z19convert_int_quicklyc",
            "_Z99convert_intc",
            "convert_int",
        ] {
            assert_eq!(Conversion::parse(symbol), None, "{symbol}");
        }
    }
}
