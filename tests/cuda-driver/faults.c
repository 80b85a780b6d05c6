// What fails, and how often functions were called.

#include "standin.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int lost;

static char fail_function[64], forgotten[64];
// In the place of an error: the call never comes back.
enum { HANGS = -1 };

static long fail_number;
static int fail_code, fail_sticks;

static struct { char name[48]; long count; } calls[128];

int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static void script(const char *text, int sticks) {
  int code;
  long nth;
  if (lost) discard_all(lost);
  fail_function[0] = 0;
  lost = 0;
  fail_sticks = sticks;
  if (text && sscanf(text, "%63[^:]:%ld:%d", fail_function, &nth, &code) == 3) {
    fail_number = nth;
    fail_code = code;
  }
}

EXPORT void standin_fail(const char *text) { script(text, 0); }
EXPORT void standin_sticky(const char *text) { script(text, 1); }
EXPORT void standin_forget(const char *name) { snprintf(forgotten, sizeof forgotten, "%s", name); }

int is_forgotten(const char *name) { return !strcmp(forgotten, name); }

EXPORT long standin_calls(const char *name) {
  long count = 0;
  for (int i = 0; i < 128 && calls[i].name[0]; i++)
    if (!name[0] || !strcmp(calls[i].name, name)) count += calls[i].count;
  return count;
}

__attribute__((constructor)) static void start(void) {
  if (getenv("STANDIN_FAIL")) script(getenv("STANDIN_FAIL"), 0);
  if (getenv("STANDIN_STICKY")) script(getenv("STANDIN_STICKY"), 1);
}

// Counts a call, and says how it fails; 0 if it does not.
CUresult called(const char *name, int ends_something) {
  int loses = 0;
  pthread_mutex_lock(&lock);
  CUresult result = lost;
  for (int i = 0; i < 128; i++) {
    if (calls[i].name[0] && strcmp(calls[i].name, name)) continue;
    snprintf(calls[i].name, sizeof calls[i].name, "%s", name);
    calls[i].count++;
    break;
  }
  if (!result && fail_function[0] && !strcmp(fail_function, name) && --fail_number == 0) {
    result = fail_code;
    loses = fail_sticks;
    if (loses) lost = fail_code;
  }
  pthread_mutex_unlock(&lock);
  while (result == (CUresult)HANGS) pause();
  if (loses) discard_all(result);
  return ends_something ? 0 : result;
}
