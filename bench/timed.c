// timed SECONDS COMMAND...: runs a command and prints `STATUS WALL_NS CPU_US PEAK_KIB` of it.
// STATUS is its exit code, 128 and the signal that ended it, or `limit` when it took longer than SECONDS.
// Its output is thrown away. The peak memory that the system reports for a child includes what its parent had
// when it forked, so the parent had better be this small one than an interpreter.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long micros(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

int main(int count, char **arguments) {
  if (count < 3) return 2;
  struct timespec limit = {.tv_sec = atoi(arguments[1])};
  sigset_t child_signal, none;
  sigemptyset(&none);
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, NULL);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  pid_t child;
  long long start = now();
  if (posix_spawnp(&child, arguments[2], &files, &attributes, arguments + 2, environ) != 0) return 3;
  int is_late = sigtimedwait(&child_signal, NULL, &limit) < 0;
  if (is_late) kill(child, SIGKILL);
  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child) return 3;
  long long wall = now() - start;

  if (is_late) printf("limit");
  else printf("%d", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  printf(" %lld %lld %ld\n", wall, micros(usage.ru_utime) + micros(usage.ru_stime), usage.ru_maxrss);
  return 0;
}
