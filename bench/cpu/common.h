// What the programs need that measure through OpenCL: included once, behind the headers of OpenCL and C.

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

// Ends with 3 where the driver can't do something: the row is left out, not wrong.
static void must(cl_int error, const char *call) {
  if (!error)
    return;
  fprintf(stderr, "%s: error %d\n", call, error);
  exit(3);
}

// A file's bytes with a zero behind them, or null.
static char *contents(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  *size = fread(bytes, 1, *size, file);
  bytes[*size] = 0;
  fclose(file);
  return bytes;
}

// A context of the first device that the driver has.
static cl_context first_device(cl_device_id *device) {
  cl_platform_id platform;
  cl_int error;
  must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, device, NULL, NULL, &error);
  must(error, "clCreateContext");
  return context;
}
