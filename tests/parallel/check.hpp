// What the programs of this folder share: a check that says where it failed.
#pragma once

#include <offkit/parallel.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define REQUIRE(what)                                                                                                  \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                          \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (0)

// Requires an error of that kind, with that in its text.
template <class F> void require_error(const char *file, int line, offkit_code code, const char *text, const F &does) {
  try {
    does();
  } catch (const offkit::error &error) {
    if (error.code() == code && std::strstr(error.what(), text))
      return;
    std::fprintf(stderr, "%s:%d: error %d: %s\n", file, line, error.code(), error.what());
    std::exit(1);
  }
  std::fprintf(stderr, "%s:%d: no error\n", file, line);
  std::exit(1);
}
#define FAILS(code, text, ...) require_error(__FILE__, __LINE__, code, text, [&] { __VA_ARGS__; })

// The text of what main fails with.
template <class F> int run(const F &all) {
  try {
    all();
    std::puts("ok");
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
