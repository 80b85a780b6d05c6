//! What compiled code finds outside of itself, by name.

#![expect(unsafe_code, reason = "machine code calls, with pointers")]

use std::slice;

use offkit_kernel::builtins::{self, Scalar, Shape};
use offkit_spirv::grammar::OpenclStd100Op;

use crate::Program;
use crate::native::{bounds, printing, vectors};

/// The most operands of a function of OpenCL.std, without a pointer.
const MOST_OPERANDS: usize = 7;

/// The most components of a value.
const MOST_LANES: usize = 16;

/// A call of a function of OpenCL.std, as it lies in the constants of the code.
#[derive(Debug)]
#[repr(C)]
pub(super) struct BuiltinCall {
    /// The instruction's number.
    op: u32,
    /// How many operands it has, without the pointer for a second result.
    operands: u32,
    /// The shape of the result, then those of the operands.
    shapes: [BuiltinShape; MOST_OPERANDS + 1],
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct BuiltinShape {
    /// The number of the scalar among [`Scalar::ALL`].
    scalar: u32,
    lanes: u32,
}

/// The address of what a compiled kernel of the program needs by that name.
pub(super) fn address(program: &Program, name: &str) -> Result<u64, String> {
    match name {
        "builtin" => return Ok(builtin as *const () as u64),
        "copy" => return Ok(copy as *const () as u64),
        "bounds" => return Ok(bounds::access as *const () as u64),
        "bounds_of_range" => return Ok(bounds::range as *const () as u64),
        "cancelled" => return Ok(printing::cancelled as *const () as u64),
        "overflow" => return Ok(printing::overflow as *const () as u64),
        "nowhere" => return Ok(printing::nowhere as *const () as u64),
        "no_function" => return Ok(printing::no_function as *const () as u64),
        "print" => return Ok(printing::print as *const () as u64),
        "printed" => return Ok(printing::printed as *const () as u64),
        _ => {}
    }
    let address = match name.strip_prefix("global:") {
        Some(number) => number
            .parse()
            .ok()
            .and_then(|number| program.variable_address(number)),
        None => vectors::address(name),
    };
    address.ok_or_else(|| format!("the compiled code needs `{name}`, which this device doesn't have"))
}

/// Calls a function of OpenCL.std. What is no such call does nothing.
///
/// # Safety
/// The call is one in the constants of compiled code. `arguments` are the words of its operands, one after the other;
/// `result` has room for as many words as the result has components; so has `second`, unless it is null.
unsafe extern "C" fn builtin(
    call: *const BuiltinCall,
    arguments: *const u64,
    result: *mut u64,
    second: *mut u64,
) {
    // SAFETY: the caller's.
    let call = unsafe { &*call };
    let mut shapes = [Shape {
        scalar: Scalar::Bool,
        lanes: 1,
    }; MOST_OPERANDS + 1];
    // Bounded here all the same, since these numbers are lengths of slices below.
    for (shape, given) in shapes.iter_mut().zip(&call.shapes) {
        let scalar = Scalar::ALL.get(given.scalar as usize);
        *shape = Shape {
            scalar: scalar.copied().unwrap_or(Scalar::I64),
            lanes: given.lanes.clamp(1, MOST_LANES as u32),
        };
    }
    let [result_shape, shapes @ ..] = &shapes;
    let shapes = &shapes[..MOST_OPERANDS.min(call.operands as usize)];
    let Some(function) = builtins::resolve(OpenclStd100Op(call.op), *result_shape, shapes) else {
        return;
    };
    let mut operands: [(&[u64], Shape); MOST_OPERANDS] = [(&[], *result_shape); MOST_OPERANDS];
    let mut first = arguments;
    for (operand, shape) in operands.iter_mut().zip(shapes) {
        let lanes = shape.lanes as usize;
        // SAFETY: the caller's: the words of all operands are there.
        unsafe {
            *operand = (slice::from_raw_parts(first, lanes), *shape);
            first = first.add(lanes);
        }
    }
    let lanes = result_shape.lanes as usize;
    // What is computed may be where the operands are.
    let (mut one, mut two) = ([0; MOST_LANES], [0; MOST_LANES]);
    function(
        *result_shape,
        &operands[..shapes.len()],
        &mut one[..lanes],
        &mut two[..lanes],
    );
    // SAFETY: the caller's: there is room for the results, or no second one.
    unsafe {
        result.copy_from(one.as_ptr(), lanes);
        if !second.is_null() {
            second.copy_from(two.as_ptr(), lanes);
        }
    }
}

/// Copies bytes.
///
/// # Safety
/// So many bytes are at both addresses.
unsafe extern "C" fn copy(to: *mut u8, from: *const u8, size: u64) {
    // SAFETY: the caller's.
    unsafe { to.copy_from(from, size as usize) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_code_calls_functions_of_the_library() {
        let shape = |scalar: Scalar, lanes| BuiltinShape {
            scalar: scalar as u32,
            lanes,
        };
        let float = shape(Scalar::F32, 2);
        let mut call = BuiltinCall {
            op: OpenclStd100Op::fmax.0,
            operands: 2,
            shapes: [float; MOST_OPERANDS + 1],
        };
        call.shapes[2].lanes = 1;
        let bits = |value: f32| u64::from(value.to_bits());
        let mut words = [bits(1.0), bits(5.0), bits(2.0), 0];
        let (result, mut second) = (&raw mut words, [0; 2]);
        // SAFETY: two words and one, and room for two and two.
        unsafe { builtin(&call, result.cast(), result.cast(), second.as_mut_ptr()) };
        assert_eq!(words[..2], [bits(2.0), bits(5.0)]);

        let frexp = BuiltinCall {
            op: OpenclStd100Op::frexp.0,
            operands: 1,
            shapes: [shape(Scalar::F32, 1); MOST_OPERANDS + 1],
        };
        // SAFETY: one word, and room for one and one.
        unsafe { builtin(&frexp, &bits(12.0), words.as_mut_ptr(), second.as_mut_ptr()) };
        assert_eq!((words[0], second[0]), (bits(0.75), 4));

        words[0] = 77;
        call.op = 99999;
        // SAFETY: as above.
        unsafe { builtin(&call, [0; 4].as_ptr(), words.as_mut_ptr(), second.as_mut_ptr()) };
        assert_eq!(words[0], 77);
    }
}
