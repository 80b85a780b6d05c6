// What another runtime's program does, and then what `scopes` does: `both [WORD...] -- [WORD...]`.
#include <string.h>

int run_other(int argc, char **argv);
int run_offkit(int argc, char **argv);

int main(int argc, char **argv) {
  int middle = 1;
  while (middle < argc && strcmp(argv[middle], "--"))
    ++middle;
  if (middle == argc)
    return 2;
  argv[middle] = argv[0];
  const int failed = run_other(middle, argv);
  return failed ? failed : run_offkit(argc - middle, argv + middle);
}
