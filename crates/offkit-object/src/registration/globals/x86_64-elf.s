# Registers the kernels and variables of one language: the bytes in `globals.rs` are what comes out of this.
# Entries are of 56 bytes: 0, version (at 8), kind (10), flags (12), address (16), name (24), size (32), data (40),
# another address (48). The handle is in rdi; the kind of the language is filled in.
.intel_syntax noprefix
  push rbx
  push r12
  push r13
  mov r12, rdi
  lea rbx, [rip + start]
  lea r13, [rip + stop]
entry:
  cmp rbx, r13
  je end
  cmp word ptr [rbx + 10], 0
  jne next
  mov rdi, r12
  mov rsi, [rbx + 16]
  mov rdx, [rbx + 24]
  mov rcx, rdx
  mov eax, [rbx + 12]
  mov r9, [rbx + 32]
  test r9, r9
  jne variable
  # Function: handle, address, name, name, -1, five null pointers.
  mov r8d, -1
  push 0
  push 0
  push 0
  push 0
  call Function
  add rsp, 32
  jmp next
variable:
  # Flags: type in bits 0 to 2, extern in bit 3, constant in bit 4, normalized in bit 5.
  mov r8d, eax
  shr r8d, 3
  and r8d, 1
  mov r10d, eax
  and eax, 7
  je global
  cmp eax, 1
  je managed
  cmp eax, 2
  je surface
  cmp eax, 3
  jne next
  # Texture: handle, address, name, name, data, normalized, extern.
  sub rsp, 8
  push r8
  shr r10d, 5
  and r10d, 1
  mov r9d, r10d
  mov r8d, [rbx + 40]
  call Texture
  add rsp, 16
  jmp next
global:
  # Variable: handle, address, name, name, extern, size, constant, 0.
  shr r10d, 4
  and r10d, 1
  push 0
  push r10
  call Var
  add rsp, 16
  jmp next
managed:
  # Managed variable: handle, other address, address, name, size, data.
  mov rdx, rsi
  mov rsi, [rbx + 48]
  mov r8, r9
  mov r9d, [rbx + 40]
  call ManagedVar
  jmp next
surface:
  # Surface: handle, address, name, name, data, extern.
  mov r9d, r8d
  mov r8d, [rbx + 40]
  call Surface
next:
  add rbx, 56
  jmp entry
end:
  pop r13
  pop r12
  pop rbx
  ret
