#ifdef __AMDGCN__
// Where the host finds what is printed: how much of the buffer is used, how much there is, and then the bytes.
struct buffer {
  unsigned used;
  unsigned size;
  char bytes[];
};

// The version of code objects, which decides where the buffer is among a kernel's hidden arguments.
extern const __attribute__((address_space(4))) int __oclc_ABI_version;

// What LLVM makes of OpenCL C's `printf` calls it: the place for a message. A null pointer where there is no more.
__attribute__((address_space(1))) char *__printf_alloc(unsigned size) {
  typedef __attribute__((address_space(1))) struct buffer *place;
  const __attribute__((address_space(4))) place *arguments =
      (const __attribute__((address_space(4))) place *)__builtin_amdgcn_implicitarg_ptr();
  place buffer = arguments[__oclc_ABI_version < 500 ? 3 : 9];
  unsigned used = __atomic_load_n(&buffer->used, __ATOMIC_RELAXED);
  do {
    if (size > buffer->size - used) return 0;
  } while (!__atomic_compare_exchange_n(&buffer->used, &used, used + size, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return buffer->bytes + used;
}
#endif
