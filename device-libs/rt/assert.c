// What `assert` calls where it fails: `__assert_fail` with the C library's headers, and what that is in DPC++'s.

#ifdef __OPENCL_C_VERSION__
#define LONG long
#define ITEM(i) get_global_id(i)
#define LOCAL_ITEM(i) get_local_id(i)
#else
#define LONG long long
#define ITEM(i) 0
#define LOCAL_ITEM(i) 0
#endif

#if defined(__NVPTX__)
// The driver supplies it.
void __assertfail(const char *expression, const char *file, unsigned line, const char *function, unsigned LONG size);

static void fail(const char *expression, const char *file, unsigned line, const char *function) {
  __assertfail(expression, file, line, function, sizeof *expression);
  __builtin_trap();
}
#elif defined(__AMDGCN__)
unsigned LONG __ockl_fprintf_stderr_begin(void);
unsigned LONG __ockl_fprintf_append_string_n(unsigned LONG message, const char *text, unsigned LONG size, unsigned last);
unsigned LONG __ockl_fprintf_append_args(unsigned LONG message, unsigned count, unsigned LONG value0, unsigned LONG value1,
                                         unsigned LONG value2, unsigned LONG value3, unsigned LONG value4,
                                         unsigned LONG value5, unsigned LONG value6, unsigned last);

// With the zero at its end.
static unsigned LONG size_of(const char *text) {
  unsigned LONG size = 0;
  while (text[size++]) {
  }
  return size;
}

static void fail(const char *expression, const char *file, unsigned line, const char *function) {
  static const char format[] = "%s:%u: %s: Assertion `%s' failed.\n";
  unsigned LONG message = __ockl_fprintf_stderr_begin();
  message = __ockl_fprintf_append_string_n(message, format, sizeof format, 0);
  message = __ockl_fprintf_append_string_n(message, file, size_of(file), 0);
  message = __ockl_fprintf_append_args(message, 1, line, 0, 0, 0, 0, 0, 0, 0);
  message = __ockl_fprintf_append_string_n(message, function, size_of(function), 0);
  __ockl_fprintf_append_string_n(message, expression, size_of(expression), 1);
  __builtin_trap();
}
#else
static void fail_at(const char *expression, const char *file, unsigned line, const char *function, ulong3 item,
                    ulong3 local_item) {
  printf("%s:%u: %s: global id: [%lu,%lu,%lu], local id: [%lu,%lu,%lu] Assertion `%s` failed.\n", file, line, function,
         item.x, item.y, item.z, local_item.x, local_item.y, local_item.z, expression);
  // SPIR-V has no instruction that stops a kernel. Devices stop one that writes to nowhere.
  *(volatile global int *)0 = 0;
}

static void fail(const char *expression, const char *file, unsigned line, const char *function) {
  fail_at(expression, file, line, function, (ulong3)(ITEM(0), ITEM(1), ITEM(2)),
          (ulong3)(LOCAL_ITEM(0), LOCAL_ITEM(1), LOCAL_ITEM(2)));
}
#endif

void __assert_fail(const char *expression, const char *file, unsigned line, const char *function) {
  fail(expression, file, line, function);
}

void __devicelib_assert_fail(const char *expression, const char *file, int line, const char *function,
                             unsigned LONG item0, unsigned LONG item1, unsigned LONG item2, unsigned LONG local_item0,
                             unsigned LONG local_item1, unsigned LONG local_item2) {
#ifdef __OPENCL_C_VERSION__
  fail_at(expression, file, (unsigned)line, function, (ulong3)(item0, item1, item2),
          (ulong3)(local_item0, local_item1, local_item2));
#else
  fail(expression, file, (unsigned)line, function);
#endif
}
