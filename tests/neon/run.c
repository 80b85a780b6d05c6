// Runs a compiled kernel for 64-bit Arm as the CPU device does: `run JOB < nothing > buffers`.
//
// A job is words of eight bytes, little endian: how many bytes the code has from the start of the image, the image itself, where
// the function is in it, bytes of memory in front of what the code asked for and in all, dimensions, offset, global, local, groups
// (three words each), how many arguments and buffers. Then each argument's word, each buffer's argument and size, the image, and what
// is in the buffers.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct launch {
  const uint64_t *arguments;
  const char *cancel;
  uint64_t dimensions, offset[3], global[3], local[3], groups[3], scratch;
  const uint64_t *externals;
  const void *printing;
  const char *stop;
};

typedef void function(const struct launch *, uint64_t first, uint64_t end, char *local);

// What the code calls when its launch is given up.
static void cancelled(const struct launch *launch, uint64_t group) {
  fprintf(stderr, "group %llu of a launch with %llu dimensions was given up\n", (unsigned long long)group,
          (unsigned long long)launch->dimensions);
  exit(2);
}

static FILE *job;

static void take(void *to, size_t size) {
  if (fread(to, 1, size, job) != size) {
    fputs("the job ends early\n", stderr);
    exit(2);
  }
}

static uint64_t word(void) {
  uint64_t word;
  take(&word, sizeof word);
  return word;
}

static void *memory(size_t size) {
  void *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    exit(2);
  }
  return memory;
}

int main(int count, char **names) {
  job = count == 2 ? fopen(names[1], "rb") : 0;
  if (!job) {
    fputs("usage: run JOB\n", stderr);
    return 2;
  }
  const uint64_t externals[] = {(uint64_t)cancelled};
  struct launch launch = {.cancel = "", .externals = externals, .stop = ""};
  uint64_t code_size = word(), image_size = word(), entry = word(), total;
  launch.scratch = word();
  total = word();
  launch.dimensions = word();
  take(launch.offset, sizeof launch.offset);
  take(launch.global, sizeof launch.global);
  take(launch.local, sizeof launch.local);
  take(launch.groups, sizeof launch.groups);
  uint64_t arguments = word(), buffers = word();
  uint64_t *words = memory(8 * arguments + 8);
  take(words, 8 * arguments);
  launch.arguments = words;
  char **contents = memory(8 * buffers + 8);
  uint64_t *sizes = memory(8 * buffers + 8);
  for (uint64_t i = 0; i < buffers; ++i) {
    uint64_t argument = word();
    sizes[i] = word();
    contents[i] = memory(sizes[i] + 1);
    words[argument] = (uint64_t)contents[i];
  }
  char *image = memory(image_size);
  take(image, image_size);
  for (uint64_t i = 0; i < buffers; ++i)
    take(contents[i], sizes[i]);

  // Written first, then executed; what follows the code is read.
  __builtin___clear_cache(image, image + image_size);
  if (mprotect(image, image_size, PROT_READ) || mprotect(image, code_size, PROT_READ | PROT_EXEC)) {
    perror("mprotect");
    return 2;
  }
  function *run = (function *)(image + entry);
  uint64_t groups = launch.groups[0] * launch.groups[1] * launch.groups[2], half = groups / 2;
  char *local = total ? memory(total) : 0;
  run(&launch, 0, half, local);
  if (local)
    memset(local, 0xa5, total);
  run(&launch, half, groups, local);
  for (uint64_t i = 0; i < buffers; ++i)
    fwrite(contents[i], 1, sizes[i], stdout);
  return 0;
}
