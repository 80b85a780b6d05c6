//! Functions of glibc's libmvec, which compiled code calls where they are present and better than the algorithms here.
//!
//! x86's vector ABI names them: `_ZGV`, the registers (`d` for AVX2, `e` for AVX-512), `N` for functions of all lanes, the number
//! of lanes, `v` for each operand, and the function of C. libmvec has all of these since glibc 2.35, and `log` and `pow` since
//! 2.22.

use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

/// The file that libmvec is in.
pub const VECTOR_LIBRARY: &str = "libmvec.so.1";

/// Registers that such a function takes its operands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// Of 256 bits.
    Avx2,
    /// Of 512 bits.
    Avx512,
}

impl Registers {
    /// All of them, the widest first.
    pub const ALL: [Registers; 2] = [Registers::Avx512, Registers::Avx2];

    fn bits(self) -> u32 {
        match self {
            Registers::Avx2 => 256,
            Registers::Avx512 => 512,
        }
    }
}

/// A function of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorFunction {
    name: &'static str,
    operands: usize,
    scalar: Scalar,
    registers: Registers,
}

impl VectorFunction {
    /// The one that computes an instruction of OpenCL.std on numbers of single or double precision, if it is at least a tenth
    /// faster than the algorithm here, and within OpenCL's bounds.
    pub fn of(op: Op, scalar: Scalar, registers: Registers) -> Option<VectorFunction> {
        let (name, operands) = match op {
            Op::acosh => ("acosh", 1),
            Op::atanh => ("atanh", 1),
            Op::cosh => ("cosh", 1),
            Op::erf => ("erf", 1),
            Op::erfc => ("erfc", 1),
            Op::log | Op::half_log | Op::native_log => ("log", 1),
            Op::log10 | Op::half_log10 | Op::native_log10 => ("log10", 1),
            Op::log1p => ("log1p", 1),
            Op::log2 | Op::half_log2 | Op::native_log2 => ("log2", 1),
            Op::pow => ("pow", 2),
            Op::sinh => ("sinh", 1),
            _ => return None,
        };
        let function = VectorFunction {
            name,
            operands,
            scalar,
            registers,
        };
        function.is_better().then_some(function)
    }

    /// As `./dev bench libmvec` measures kernels with one and the other. On processors with AVX-512 the algorithms here have
    /// instructions that take numbers apart, and few of libmvec's are faster. Of single precision, `log` would be, but is off by
    /// 3.9 units in the last place where OpenCL allows 3.
    fn is_better(self) -> bool {
        let names: &[&str] = match (self.registers, self.scalar) {
            (Registers::Avx2, Scalar::F32) => &[
                "acosh", "atanh", "cosh", "erf", "erfc", "log10", "log1p", "log2", "sinh",
            ],
            (Registers::Avx2, Scalar::F64) => &["erf", "erfc", "log", "log10", "log1p", "log2", "pow"],
            (Registers::Avx512, Scalar::F64) => &["erf", "erfc"],
            _ => &[],
        };
        names.contains(&self.name)
    }

    /// An operand for lanes that nobody looks at. Of zero, infinities and numbers that have no result, a function computes each by
    /// itself, slowly.
    pub fn usual_operand(self) -> f64 {
        match self.name {
            "atanh" => 0.5,
            _ => 2.0,
        }
    }

    /// How many operands it has.
    pub fn operands(self) -> usize {
        self.operands
    }

    /// How many numbers an operand has.
    pub fn lanes(self) -> u32 {
        self.registers.bits() / self.scalar.bits()
    }

    /// Its name in the library.
    pub fn symbol(self) -> String {
        let set = match self.registers {
            Registers::Avx2 => 'd',
            Registers::Avx512 => 'e',
        };
        let precision = match self.scalar {
            Scalar::F32 => "f",
            _ => "",
        };
        let (lanes, operands) = (self.lanes(), "v".repeat(self.operands));
        format!("_ZGV{set}N{lanes}{operands}_{}{precision}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_vector_abi() {
        let symbol = |op, scalar, registers| Some(VectorFunction::of(op, scalar, registers)?.symbol());
        let erf = symbol(Op::erf, Scalar::F64, Registers::Avx512);
        assert_eq!(erf.as_deref(), Some("_ZGVeN8v_erf"));
        let pow = symbol(Op::pow, Scalar::F64, Registers::Avx2);
        assert_eq!(pow.as_deref(), Some("_ZGVdN4vv_pow"));
        let sinh = symbol(Op::sinh, Scalar::F32, Registers::Avx2);
        assert_eq!(sinh.as_deref(), Some("_ZGVdN8v_sinhf"));
        assert_eq!(symbol(Op::log, Scalar::F32, Registers::Avx2), None);
        assert_eq!(symbol(Op::erf, Scalar::F16, Registers::Avx2), None);
    }
}
