//! The machine code of constructors and destructors: one table for each kind of host.
//!
//! They are sequences of few instructions, so that no compiler and no assembler is needed.

use object::RelocationFlags;
use object::elf;
use object::pe;

use super::HostTarget;
use super::host_object::Place;

/// What a constructor or destructor is made of.
#[derive(Clone, Copy)]
pub(super) enum Instruction {
    /// Makes calls possible: the stack is aligned, the return address is safe.
    Enter,
    /// Undoes [`Enter`](Self::Enter).
    Leave,
    /// An address becomes the first argument.
    Address(Place),
    /// A number becomes the second argument.
    Second(u64),
    /// What a variable holds becomes the first argument.
    Load(Place),
    /// A variable gets what the last call returned.
    Store(Place),
    /// Calls a function.
    Call(Place),
    /// Goes on in a function, which returns to the caller of this one.
    Jump(Place),
    /// Returns to the caller.
    Return,
}

/// A field of an instruction that a linker fills in.
#[derive(Clone, Copy)]
pub(super) struct Fixup {
    /// Bytes from the beginning of the function.
    pub(super) at: u64,
    pub(super) place: Place,
    /// What is added to the address, as ELF counts it.
    pub(super) addend: i64,
    pub(super) flags: RelocationFlags,
}

/// A function that is being written.
pub(super) struct Code {
    machine: &'static Machine,
    pub(super) bytes: Vec<u8>,
    pub(super) fixups: Vec<Fixup>,
}

/// Instructions with fields that a linker fills in: where these are, and how.
struct Template(&'static [u8], &'static [(u64, RelocationFlags)]);

/// The instructions of a processor, by its calling convention.
pub(super) struct Machine {
    enter: &'static [u8],
    leave: &'static [u8],
    address: Template,
    load: Template,
    store: Template,
    call: Template,
    jump: Template,
    ret: &'static [u8],
    second: fn(u64) -> Vec<u8>,
    /// From the beginning of a field to where addresses in instructions count from.
    addend: i64,
    /// What stands between functions.
    pub(super) padding: u8,
    /// A pointer in data.
    pub(super) pointer: RelocationFlags,
}

pub(super) fn machine(target: HostTarget) -> &'static Machine {
    match target {
        HostTarget::ElfX86_64 => &ELF_X86_64,
        HostTarget::ElfAarch64 => &ELF_AARCH64,
        HostTarget::CoffX86_64 | HostTarget::MingwX86_64 => &COFF_X86_64,
    }
}

pub(super) const fn elf(r_type: elf::RelocationType) -> RelocationFlags {
    RelocationFlags::Elf { r_type }
}

pub(super) const fn coff(typ: pe::RelocationType) -> RelocationFlags {
    RelocationFlags::Coff { typ }
}

/// The arguments are in `rdi` and `rsi`. Offsets in instructions count from their end, 4 bytes behind the field.
static ELF_X86_64: Machine = Machine {
    // The call left the stack 8 bytes off: one word more, and it is aligned to 16 as the next call demands.
    enter: &[0x50], // push rax
    leave: &[0x58], // pop rax
    // lea rdi, [rip + …]
    address: Template(&[0x48, 0x8d, 0x3d, 0, 0, 0, 0], &[(3, elf(elf::R_X86_64_PC32))]),
    // mov rdi, [rip + …]
    load: Template(&[0x48, 0x8b, 0x3d, 0, 0, 0, 0], &[(3, elf(elf::R_X86_64_PC32))]),
    // mov [rip + …], rax
    store: Template(&[0x48, 0x89, 0x05, 0, 0, 0, 0], &[(3, elf(elf::R_X86_64_PC32))]),
    // Functions by `PLT32`: in another library only the linker's table reaches them.
    // call …
    call: Template(&[0xe8, 0, 0, 0, 0], &[(1, elf(elf::R_X86_64_PLT32))]),
    // jmp …
    jump: Template(&[0xe9, 0, 0, 0, 0], &[(1, elf(elf::R_X86_64_PLT32))]),
    ret: &[0xc3],                                                         // ret
    second: |number| [&[0x48, 0xbe], &number.to_le_bytes()[..]].concat(), // movabs rsi, …
    addend: -4,
    // `int3`: whatever runs off the end of a function stops there.
    padding: 0xcc,
    pointer: elf(elf::R_X86_64_64),
};

/// The arguments are in `rcx` and `rdx`, and a caller has 32 bytes free for whom it calls.
static COFF_X86_64: Machine = Machine {
    // The 32 bytes, and 8 that align the stack to 16.
    enter: &[0x48, 0x83, 0xec, 0x28], // sub rsp, 40
    leave: &[0x48, 0x83, 0xc4, 0x28], // add rsp, 40
    // lea rcx, [rip + …]
    address: Template(
        &[0x48, 0x8d, 0x0d, 0, 0, 0, 0],
        &[(3, coff(pe::IMAGE_REL_AMD64_REL32))],
    ),
    // mov rcx, [rip + …]
    load: Template(
        &[0x48, 0x8b, 0x0d, 0, 0, 0, 0],
        &[(3, coff(pe::IMAGE_REL_AMD64_REL32))],
    ),
    // mov [rip + …], rax
    store: Template(
        &[0x48, 0x89, 0x05, 0, 0, 0, 0],
        &[(3, coff(pe::IMAGE_REL_AMD64_REL32))],
    ),
    // call …
    call: Template(&[0xe8, 0, 0, 0, 0], &[(1, coff(pe::IMAGE_REL_AMD64_REL32))]),
    // jmp …
    jump: Template(&[0xe9, 0, 0, 0, 0], &[(1, coff(pe::IMAGE_REL_AMD64_REL32))]),
    ret: &[0xc3],                                                         // ret
    second: |number| [&[0x48, 0xba], &number.to_le_bytes()[..]].concat(), // movabs rdx, …
    // COFF's relocation counts from the end of the field by itself. `object` takes addends as ELF
    // has them, and adds the 4 again.
    addend: -4,
    padding: 0xcc,
    pointer: coff(pe::IMAGE_REL_AMD64_ADDR64),
};

/// The arguments are in `x0` and `x1`. An address is that of its page of 4 KiB and a place in it.
static ELF_AARCH64: Machine = Machine {
    enter: &[0xfd, 0x7b, 0xbf, 0xa9], // stp x29, x30, [sp, #-16]!
    leave: &[0xfd, 0x7b, 0xc1, 0xa8], // ldp x29, x30, [sp], #16
    address: Template(
        &[
            0x00, 0x00, 0x00, 0x90, // adrp x0, …
            0x00, 0x00, 0x00, 0x91, // add x0, x0, #…
        ],
        &[
            (0, elf(elf::R_AARCH64_ADR_PREL_PG_HI21)),
            (4, elf(elf::R_AARCH64_ADD_ABS_LO12_NC)),
        ],
    ),
    load: Template(
        &[
            0x08, 0x00, 0x00, 0x90, // adrp x8, …
            0x00, 0x01, 0x40, 0xf9, // ldr x0, [x8, #…]
        ],
        &[
            (0, elf(elf::R_AARCH64_ADR_PREL_PG_HI21)),
            (4, elf(elf::R_AARCH64_LDST64_ABS_LO12_NC)),
        ],
    ),
    // The address in `x8`, which nobody expects to keep its value: `x0` has what is stored.
    store: Template(
        &[
            0x08, 0x00, 0x00, 0x90, // adrp x8, …
            0x00, 0x01, 0x00, 0xf9, // str x0, [x8, #…]
        ],
        &[
            (0, elf(elf::R_AARCH64_ADR_PREL_PG_HI21)),
            (4, elf(elf::R_AARCH64_LDST64_ABS_LO12_NC)),
        ],
    ),
    // bl …
    call: Template(&[0x00, 0x00, 0x00, 0x94], &[(0, elf(elf::R_AARCH64_CALL26))]),
    // b …
    jump: Template(&[0x00, 0x00, 0x00, 0x14], &[(0, elf(elf::R_AARCH64_JUMP26))]),
    ret: &[0xc0, 0x03, 0x5f, 0xd6], // ret
    second: |number| {
        // movz x1, #…; then movk x1, #…, for the other three quarters.
        const QUARTERS: [u32; 4] = [0xd280_0001, 0xf2a0_0001, 0xf2c0_0001, 0xf2e0_0001];
        let parts = number.to_le_bytes();
        let (parts, _) = parts.as_chunks::<2>();
        let instructions = QUARTERS.iter().zip(parts).flat_map(|(instruction, part)| {
            let part = u32::from(u16::from_le_bytes(*part));
            (instruction | part << 5).to_le_bytes()
        });
        instructions.collect()
    },
    addend: 0,
    // Four zeros are an instruction that is never defined (`udf`).
    padding: 0,
    pointer: elf(elf::R_AARCH64_ABS64),
};

impl Code {
    pub(super) fn new(machine: &'static Machine) -> Self {
        Self {
            machine,
            bytes: Vec::new(),
            fixups: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, instruction: Instruction) {
        let machine = self.machine;
        match instruction {
            Instruction::Enter => self.bytes.extend(machine.enter),
            Instruction::Leave => self.bytes.extend(machine.leave),
            Instruction::Address(place) => self.template(&machine.address, place),
            Instruction::Second(number) => self.bytes.extend((machine.second)(number)),
            Instruction::Load(place) => self.template(&machine.load, place),
            Instruction::Store(place) => self.template(&machine.store, place),
            Instruction::Call(place) => self.template(&machine.call, place),
            Instruction::Jump(place) => self.template(&machine.jump, place),
            Instruction::Return => self.bytes.extend(machine.ret),
        }
    }

    fn template(&mut self, Template(bytes, fields): &Template, place: Place) {
        let start = self.bytes.len() as u64;
        self.bytes.extend(*bytes);
        self.fixups.extend(fields.iter().map(|(at, flags)| Fixup {
            at: start.saturating_add(*at),
            place,
            addend: self.machine.addend,
            flags: *flags,
        }));
    }
}
