//! Relocations within an image: distances from the place they are written to.

use object::elf::{self, RelocationType};

use super::Machine;

/// Why a relocation is not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It is none of those that are known.
    Unknown,
    /// The bytes that it changes are not all there.
    Outside,
    /// The distance does not fit.
    TooFar,
    /// The target is not where an instruction can name it.
    Misaligned,
}

/// A page, as the instructions of Arm have it.
const PAGE: i64 = 4096;

/// Writes a relocation to its place in an image that begins at the start of a page: `target` is the place that it names,
/// with its addend.
pub(super) fn apply(
    machine: Machine,
    kind: RelocationType,
    image: &mut [u8],
    place: usize,
    target: i64,
) -> Result<(), Problem> {
    let from = i64::try_from(place).map_err(|_| Problem::Outside)?;
    let distance = target.checked_sub(from).ok_or(Problem::TooFar)?;
    let low = target & (PAGE - 1);
    match (machine, kind) {
        // What is called is in the image too, so that no table of jumps is needed in between.
        (Machine::X86_64, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32)
        | (Machine::Aarch64, elf::R_AARCH64_PREL32) => {
            let distance = i32::try_from(distance).map_err(|_| Problem::TooFar)?;
            *bytes(image, place)? = distance.to_le_bytes();
        }
        (Machine::X86_64, elf::R_X86_64_PC64) | (Machine::Aarch64, elf::R_AARCH64_PREL64) => {
            *bytes(image, place)? = distance.to_le_bytes();
        }
        (Machine::Aarch64, elf::R_AARCH64_ADR_PREL_PG_HI21) => {
            // Rounded down on both sides: an addend may lead in front of the image.
            let pages = target.div_euclid(PAGE) - from.div_euclid(PAGE);
            let pages = field(pages, 21)?;
            // `adrp` has the two lowest bits at 29, and the other nineteen at 5.
            instruction(image, place, 0x60ff_ffe0, (pages & 3) << 29 | pages >> 2 << 5)?;
        }
        // `NC`: nothing is checked, as the bits above are in the `adrp` in front of it.
        (Machine::Aarch64, elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC) => {
            offset(image, place, low, 0)?;
        }
        (Machine::Aarch64, elf::R_AARCH64_LDST16_ABS_LO12_NC) => offset(image, place, low, 1)?,
        (Machine::Aarch64, elf::R_AARCH64_LDST32_ABS_LO12_NC) => offset(image, place, low, 2)?,
        (Machine::Aarch64, elf::R_AARCH64_LDST64_ABS_LO12_NC) => offset(image, place, low, 3)?,
        (Machine::Aarch64, elf::R_AARCH64_LDST128_ABS_LO12_NC) => offset(image, place, low, 4)?,
        (Machine::Aarch64, elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26) => {
            if distance % 4 != 0 {
                return Err(Problem::Misaligned);
            }
            instruction(image, place, 0x03ff_ffff, field(distance / 4, 26)?)?;
        }
        _ => return Err(Problem::Unknown),
    }
    Ok(())
}

/// The bytes that a relocation replaces.
fn bytes<const N: usize>(image: &mut [u8], place: usize) -> Result<&mut [u8; N], Problem> {
    let rest = image.get_mut(place..).ok_or(Problem::Outside)?;
    rest.first_chunk_mut().ok_or(Problem::Outside)
}

/// A number as a field with a sign of so many bits.
fn field(value: i64, bits: u32) -> Result<u32, Problem> {
    let half = 1i64 << (bits - 1);
    match (-half..half).contains(&value) {
        true => Ok((value & (2 * half - 1)) as u32),
        false => Err(Problem::TooFar),
    }
}

/// Replaces the bits of a mask in an instruction of Arm.
fn instruction(image: &mut [u8], place: usize, mask: u32, value: u32) -> Result<(), Problem> {
    let bytes = bytes(image, place)?;
    *bytes = (u32::from_le_bytes(*bytes) & !mask | value & mask).to_le_bytes();
    Ok(())
}

/// Writes where in its page something is, counted in steps of so many bits.
fn offset(image: &mut [u8], place: usize, low: i64, shift: u32) -> Result<(), Problem> {
    if low & ((1 << shift) - 1) != 0 {
        return Err(Problem::Misaligned);
    }
    instruction(image, place, 0xfff << 10, ((low >> shift) as u32) << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(kind: RelocationType, instruction: u32, place: usize, target: i64) -> Result<u32, Problem> {
        let mut image = vec![0; place + 4];
        image[place..].copy_from_slice(&instruction.to_le_bytes());
        apply(Machine::Aarch64, kind, &mut image, place, target)?;
        assert!(image[..place].iter().all(|byte| *byte == 0));
        Ok(u32::from_le_bytes(image[place..].try_into().unwrap()))
    }

    // The instructions as LLVM's assembler writes them with the distances known.
    #[test]
    fn instructions_of_arm_name_their_targets() {
        let page = elf::R_AARCH64_ADR_PREL_PG_HI21;
        // adrp x8, #0; adrp x8, #0x5000; adrp x8, #-0x1000
        assert_eq!(arm(page, 0x9000_0008, 0x38, 0x198), Ok(0x9000_0008));
        assert_eq!(arm(page, 0x9000_0008, 0xffc, 0x5000), Ok(0xb000_0028));
        assert_eq!(arm(page, 0x9000_0008, 0x1000, 0xfff), Ok(0xf0ff_ffe8));
        // add x9, x9, #0x1a0
        assert_eq!(
            arm(elf::R_AARCH64_ADD_ABS_LO12_NC, 0x9100_0129, 0, 0x51a0),
            Ok(0x9106_8129)
        );
        // ldr q0, [x8, #0x1a0]; ldr d0, [x8, #0x1a8]; ldr s0, [x8, #0x1a4]; ldrh w0, [x8, #0x1a2]; ldrb w0, [x8, #0x1a1]
        for (kind, instruction, target, expected) in [
            (
                elf::R_AARCH64_LDST128_ABS_LO12_NC,
                0x3dc0_0100,
                0x1a0,
                0x3dc0_6900,
            ),
            (elf::R_AARCH64_LDST64_ABS_LO12_NC, 0xfd40_0100, 0x1a8, 0xfd40_d500),
            (elf::R_AARCH64_LDST32_ABS_LO12_NC, 0xbd40_0100, 0x1a4, 0xbd41_a500),
            (elf::R_AARCH64_LDST16_ABS_LO12_NC, 0x7940_0100, 0x1a2, 0x7943_4500),
            (elf::R_AARCH64_LDST8_ABS_LO12_NC, 0x3940_0100, 0x1a1, 0x3946_8500),
        ] {
            assert_eq!(arm(kind, instruction, 0, target), Ok(expected), "{kind:?}");
        }
        assert_eq!(
            arm(elf::R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc0_0100, 0, 0x1a8),
            Err(Problem::Misaligned)
        );
        // bl #0x104; b #-8
        assert_eq!(
            arm(elf::R_AARCH64_CALL26, 0x9400_0000, 0x20, 0x124),
            Ok(0x9400_0041)
        );
        assert_eq!(
            arm(elf::R_AARCH64_JUMP26, 0x1400_0000, 0x20, 0x18),
            Ok(0x17ff_fffe)
        );
        assert_eq!(
            arm(elf::R_AARCH64_JUMP26, 0x1400_0000, 0, 2),
            Err(Problem::Misaligned)
        );
    }

    #[test]
    fn distances_that_do_not_fit_are_refused() {
        let x86 = |kind, target| apply(Machine::X86_64, kind, &mut [0; 8], 0, target);
        assert_eq!(x86(elf::R_X86_64_PC32, i64::from(i32::MAX)), Ok(()));
        assert_eq!(
            x86(elf::R_X86_64_PC32, i64::from(i32::MAX) + 1),
            Err(Problem::TooFar)
        );
        assert_eq!(x86(elf::R_X86_64_PC64, i64::MIN), Ok(()));
        assert_eq!(x86(elf::R_X86_64_32S, 0), Err(Problem::Unknown));
        let far = |kind, target| arm(kind, 0, 0, target).map(|_| ());
        assert_eq!(far(elf::R_AARCH64_CALL26, (1 << 27) - 4), Ok(()));
        assert_eq!(far(elf::R_AARCH64_CALL26, 1 << 27), Err(Problem::TooFar));
        assert_eq!(far(elf::R_AARCH64_ADR_PREL_PG_HI21, (1 << 32) - 1), Ok(()));
        assert_eq!(
            far(elf::R_AARCH64_ADR_PREL_PG_HI21, 1 << 32),
            Err(Problem::TooFar)
        );
        let mut image = [0; 8];
        assert_eq!(
            apply(Machine::X86_64, elf::R_X86_64_PC32, &mut image, 4, i64::MIN),
            Err(Problem::TooFar)
        );
        for place in [5, 8, usize::MAX] {
            let outside = apply(Machine::X86_64, elf::R_X86_64_PLT32, &mut image, place, 0);
            assert_eq!(outside, Err(Problem::Outside));
        }
    }
}
