# The same as `x86_64-elf.s` for Windows: the handle is in rcx, four arguments are in registers, those behind them on
# the stack above 32 free bytes.
.intel_syntax noprefix
  push rbx
  push rsi
  push rdi
  sub rsp, 80
  mov rsi, rcx
  lea rbx, [rip + start]
  lea rdi, [rip + stop]
entry:
  cmp rbx, rdi
  je end
  cmp word ptr [rbx + 10], 0
  jne next
  mov rcx, rsi
  mov rdx, [rbx + 16]
  mov r8, [rbx + 24]
  mov r9, r8
  mov eax, [rbx + 12]
  mov r10, [rbx + 32]
  test r10, r10
  jne variable
  # Function: handle, address, name, name, -1, five null pointers.
  mov dword ptr [rsp + 32], -1
  mov [rsp + 40], r10
  mov [rsp + 48], r10
  mov [rsp + 56], r10
  mov [rsp + 64], r10
  mov [rsp + 72], r10
  call Function
  jmp next
variable:
  # Flags: type in bits 0 to 2, extern in bit 3, constant in bit 4, normalized in bit 5.
  mov r11d, eax
  shr r11d, 3
  and r11d, 1
  and eax, 7
  je global
  cmp eax, 1
  je managed
  cmp eax, 2
  je surface
  cmp eax, 3
  jne next
  # Texture: handle, address, name, name, data, normalized, extern.
  mov eax, [rbx + 40]
  mov [rsp + 32], eax
  mov eax, [rbx + 12]
  shr eax, 5
  and eax, 1
  mov [rsp + 40], eax
  mov [rsp + 48], r11d
  call Texture
  jmp next
global:
  # Variable: handle, address, name, name, extern, size, constant, 0.
  mov [rsp + 32], r11d
  mov [rsp + 40], r10
  mov eax, [rbx + 12]
  shr eax, 4
  and eax, 1
  mov [rsp + 48], eax
  mov dword ptr [rsp + 56], 0
  call Var
  jmp next
managed:
  # Managed variable: handle, other address, address, name, size, data.
  mov r8, rdx
  mov rdx, [rbx + 48]
  mov [rsp + 32], r10
  mov eax, [rbx + 40]
  mov [rsp + 40], eax
  call ManagedVar
  jmp next
surface:
  # Surface: handle, address, name, name, data, extern.
  mov eax, [rbx + 40]
  mov [rsp + 32], eax
  mov [rsp + 40], r11d
  call Surface
next:
  add rbx, 56
  jmp entry
end:
  add rsp, 80
  pop rdi
  pop rsi
  pop rbx
  ret
