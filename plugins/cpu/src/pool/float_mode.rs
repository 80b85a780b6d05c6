//! The mode that the processor computes with floating-point numbers in.
//!
//! It belongs to the thread, and hosts change it: numerical libraries flush small numbers to zero, interval
//! arithmetic rounds up and down. Device code has its own rules, and code of the device is compiled for the
//! standard mode.

#![expect(unsafe_code, reason = "there is no safe access to the register")]

/// The standard mode for as long as this lives: rounding to the nearest, small numbers kept, no traps. What the
/// host had, the flags that say what has happened included, comes back after that.
pub(crate) struct FloatMode {
    before: Register,
}

impl FloatMode {
    /// Changes the mode of this thread.
    #[inline]
    pub(crate) fn standard() -> FloatMode {
        let before = read();
        // Flags alone are no reason: setting the register takes as long as a small kernel.
        if before & MODE != STANDARD & MODE {
            write(STANDARD);
        }
        FloatMode { before }
    }
}

impl Drop for FloatMode {
    #[inline]
    fn drop(&mut self) {
        // Here flags count as well: those that device code has raised are not for the host to see.
        if read() != self.before {
            write(self.before);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod register {
    /// The register MXCSR.
    pub(super) type Register = u32;
    pub(super) const STANDARD: Register = 0x1f80;
    /// All but the flags.
    pub(super) const MODE: Register = !0x3f;

    #[inline]
    pub(super) fn read() -> Register {
        let mut value = 0u32;
        // SAFETY: the instruction writes four bytes to the address given.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags));
        }
        value
    }

    #[inline]
    pub(super) fn write(value: Register) {
        // SAFETY: the value is the standard one, in which Rust computes, or what the register had when the host
        // called, to which this returns it.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags, readonly));
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    /// The register FPCR, which has no flags.
    pub(super) type Register = u64;
    pub(super) const STANDARD: Register = 0;
    pub(super) const MODE: Register = !0;

    #[inline]
    pub(super) fn read() -> Register {
        let value: u64;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    #[inline]
    pub(super) fn write(value: Register) {
        // SAFETY: the value is the standard one, in which Rust computes, or what the register had when the host
        // called, to which this returns it.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    /// Whatever it is, it is left alone.
    pub(super) type Register = u32;
    pub(super) const STANDARD: Register = 0;
    pub(super) const MODE: Register = 0;

    pub(super) fn read() -> Register {
        0
    }

    pub(super) fn write(_: Register) {}
}

use register::{MODE, Register, STANDARD, read, write};
