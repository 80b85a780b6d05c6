// The same as `x86_64-elf.s`: the handle is in x0, eight arguments are in registers.
  stp x29, x30, [sp, #-48]!
  stp x19, x20, [sp, #16]
  str x21, [sp, #32]
  mov x19, x0
  adrp x20, start
  add x20, x20, :lo12:start
  adrp x21, stop
  add x21, x21, :lo12:stop
entry:
  cmp x20, x21
  b.eq end
  ldrh w8, [x20, #10]
  cmp w8, #0
  b.ne next
  mov x0, x19
  ldr x1, [x20, #16]
  ldr x2, [x20, #24]
  mov x3, x2
  ldr w8, [x20, #12]
  ldr x5, [x20, #32]
  cbnz x5, variable
  // Function: handle, address, name, name, -1, five null pointers.
  mov w4, #-1
  mov x6, xzr
  mov x7, xzr
  stp xzr, xzr, [sp, #-16]!
  bl Function
  add sp, sp, #16
  b next
variable:
  // Flags: type in bits 0 to 2, extern in bit 3, constant in bit 4, normalized in bit 5.
  ubfx w4, w8, #3, #1
  and w9, w8, #7
  cbz w9, global
  cmp w9, #1
  b.eq managed
  cmp w9, #2
  b.eq surface
  cmp w9, #3
  b.ne next
  // Texture: handle, address, name, name, data, normalized, extern.
  mov w6, w4
  ubfx w5, w8, #5, #1
  ldr w4, [x20, #40]
  bl Texture
  b next
global:
  // Variable: handle, address, name, name, extern, size, constant, 0.
  ubfx w6, w8, #4, #1
  mov w7, wzr
  bl Var
  b next
managed:
  // Managed variable: handle, other address, address, name, size, data.
  mov x2, x1
  ldr x1, [x20, #48]
  mov x4, x5
  ldr w5, [x20, #40]
  bl ManagedVar
  b next
surface:
  // Surface: handle, address, name, name, data, extern.
  mov w5, w4
  ldr w4, [x20, #40]
  bl Surface
next:
  add x20, x20, #56
  b entry
end:
  ldr x21, [sp, #32]
  ldp x19, x20, [sp, #16]
  ldp x29, x30, [sp], #48
  ret
