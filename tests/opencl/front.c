// A program that knows OpenCL and nothing else: `front CHECK [FILE]` does one check on the first device it finds.
#include "front.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N 1000

static const char *SAXPY = "kernel void saxpy(float a, global const float *x, global float *y) {"
                           "  size_t i = get_global_id(0);"
                           "  y[i] = a * x[i] + y[i];"
                           "}";

/// A program from SPIR-V: attributes of a kernel are told of sources alone.
static cl_program without_attributes(cl_program program) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, "saxpy", &error);
    OK(error);
    size_t size = 0;
    OK(clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, 0, NULL, &size));
    CHECK(size == 1);
    OK(clReleaseKernel(kernel));
    return program;
}

/// Fails where the macros are not those of a device of OpenCL 3.0 without images.
static const char *MACROS = "#if defined(__IMAGE_SUPPORT__) || __OPENCL_VERSION__ != 300 || __ENDIAN_LITTLE__ != 1\n"
                            "#error wrong macros\n"
                            "#endif\n";

/// What a program says that its variables take.
static void variables(void) {
    const char *source = "global int four = 4; global long eight[2]; kernel void k(global long *x) { *x = four + eight[1]; }";
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    OK(error);
    OK(clBuildProgram(program, 1, &device, "-cl-std=CL3.0", NULL, NULL));
    size_t size = 0;
    OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof size, &size, NULL));
    CHECK(size >= 20 && size <= 32);
    OK(clReleaseProgram(program));
}

static cl_program from_il(const char *name) {
    static char il[1 << 16];
    FILE *file = fopen(name, "rb");
    CHECK(file);
    size_t size = fread(il, 1, sizeof il, file);
    fclose(file);
    cl_int error;
    cl_program program = clCreateProgramWithIL(context, il, size, &error);
    return built(program, error);
}

// Runs saxpy of a program twice over, and checks what it computes.
static void saxpy(cl_program program) {
    float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 1;
    }
    cl_int error;
    cl_command_queue commands = queue(0);
    cl_mem from = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof x, x, &error);
    OK(error);
    cl_mem to = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof y, y, &error);
    OK(error);
    cl_kernel kernel = clCreateKernel(program, "saxpy", &error);
    OK(error);
    float a = 2;
    OK(clSetKernelArg(kernel, 0, sizeof a, &a));
    OK(clSetKernelArg(kernel, 1, sizeof from, &from));
    OK(clSetKernelArg(kernel, 2, sizeof to, &to));
    size_t global = N;
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    cl_kernel copy = clCloneKernel(kernel, &error);
    OK(error);
    OK(clEnqueueNDRangeKernel(commands, copy, 1, NULL, &global, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(commands, to, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL));
    for (int i = 0; i < N; i++)
        CHECK(y[i] == 4 * i + 1);
    OK(clReleaseKernel(kernel));
    OK(clReleaseKernel(copy));
    OK(clReleaseMemObject(from));
    OK(clReleaseMemObject(to));
    OK(clReleaseCommandQueue(commands));
}

// A program's binary makes a program that computes the same.
static void binary(void) {
    cl_program program = from_source(SAXPY);
    size_t size;
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    CHECK(size > 0);
    unsigned char *bytes = malloc(size);
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
    cl_int status, error;
    const unsigned char *binary = bytes;
    cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, &binary, &status, &error);
    OK(status);
    saxpy(built(again, error));
    bytes[0] ^= 0xff;
    CHECK(!clCreateProgramWithBinary(context, 1, &device, &size, &binary, &status, &error));
    CHECK(error == CL_INVALID_BINARY && status == CL_INVALID_BINARY);
}

// A library and its user are compiled apart, and linked; what is missing is named in the log.
static void linked(void) {
    const char *user = "float twice(float); kernel void saxpy(float a, global const float *x, global float *y) {"
                       "  size_t i = get_global_id(0); y[i] = twice(x[i]) + y[i]; }";
    const char *library = "#include \"two.h\"\nfloat twice(float x) { return TWO * x; }", *header = "#define TWO 2\n";
    const char *name = "two.h";
    cl_int error;
    cl_program parts[2] = {clCreateProgramWithSource(context, 1, &user, NULL, &error),
                           clCreateProgramWithSource(context, 1, &library, NULL, &error)};
    cl_program two = clCreateProgramWithSource(context, 1, &header, NULL, &error);
    OK(clCompileProgram(parts[0], 1, &device, "", 0, NULL, NULL, NULL, NULL));
    cl_program unlinked = clLinkProgram(context, 1, &device, "", 1, parts, NULL, NULL, &error);
    CHECK(unlinked && error == CL_LINK_PROGRAM_FAILURE);
    char log[1024] = "";
    OK(clGetProgramBuildInfo(unlinked, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
    CHECK(strstr(log, "twice"));
    OK(clCompileProgram(parts[1], 1, &device, "", 1, &two, &name, NULL, NULL));
    cl_program shelf = clLinkProgram(context, 1, &device, "-create-library", 1, parts + 1, NULL, NULL, &error);
    OK(error);
    cl_program both[2] = {parts[0], shelf};
    cl_program program = clLinkProgram(context, 1, &device, "", 2, both, NULL, NULL, &error);
    OK(error);
    saxpy(program);
    // A kernel may call a kernel of another program.
    const char *caller = "extern kernel void saxpy(float, global const float *, global float *);"
                         "kernel void again(float a, global const float *x, global float *y) { saxpy(a, x, y); }";
    both[0] = clCreateProgramWithSource(context, 1, &SAXPY, NULL, &error);
    both[1] = clCreateProgramWithSource(context, 1, &caller, NULL, &error);
    for (int i = 0; i < 2; i++)
        OK(clCompileProgram(both[i], 1, &device, "", 0, NULL, NULL, NULL, NULL));
    program = clLinkProgram(context, 1, &device, "", 2, both, NULL, NULL, &error);
    OK(error);
    saxpy(program);
}

// Handles that are null, of another kind, released or made up get an error, and no call is followed by a crash.
static void handles(void) {
    cl_int error;
    cl_command_queue commands = queue(0);
    cl_mem buffer = clCreateBuffer(context, 0, 64, NULL, &error);
    OK(error);
    size_t answer;
    CHECK(clFinish((cl_command_queue)buffer) == CL_INVALID_COMMAND_QUEUE);
    CHECK(clGetMemObjectInfo((cl_mem)commands, CL_MEM_SIZE, sizeof answer, &answer, NULL) == CL_INVALID_MEM_OBJECT);
    CHECK(clEnqueueReadBuffer(commands, (cl_mem)device, CL_TRUE, 0, 4, &answer, 0, NULL, NULL) == CL_INVALID_MEM_OBJECT);
    OK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(buffer) == CL_INVALID_MEM_OBJECT);
    CHECK(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof answer, &answer, NULL) == CL_INVALID_MEM_OBJECT);
    OK(clReleaseCommandQueue(commands));
    CHECK(clFlush(commands) == CL_INVALID_COMMAND_QUEUE);
    // Something that begins like an object of the driver, with the loader's word, and is none.
    void **real = (void **)context, *made_up[8] = {real[0], real[1]};
    CHECK(clRetainContext((cl_context)made_up) == CL_INVALID_CONTEXT);
    cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    CHECK(!clCreateImage(context, 0, &format, &desc, NULL, &error) && error == CL_INVALID_OPERATION);
    CHECK(!clCreatePipe(context, 0, 4, 4, NULL, &error) && error == CL_INVALID_OPERATION);
}

// Commands of an out-of-order queue do not wait for each other, and user events hold back and fail what waits for them.
static void out_of_order(void) {
    cl_int error, status;
    cl_command_queue commands = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    int value = 0, first = 1, second = 2;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof value, &value, &error);
    OK(error);
    cl_event gate = clCreateUserEvent(context, &error), held;
    OK(error);
    OK(clEnqueueWriteBuffer(commands, buffer, CL_FALSE, 0, sizeof first, &first, 1, &gate, &held));
    // Would wait for ever in a queue that runs in order.
    OK(clEnqueueWriteBuffer(commands, buffer, CL_TRUE, 0, sizeof second, &second, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(commands, buffer, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL));
    CHECK(value == 2);
    OK(clGetEventInfo(held, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    CHECK(status > CL_COMPLETE);
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(clFinish(commands));
    OK(clEnqueueReadBuffer(commands, buffer, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL));
    CHECK(value == 1);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE) == CL_INVALID_OPERATION);
    cl_event failing = clCreateUserEvent(context, &error);
    OK(clEnqueueWriteBuffer(commands, buffer, CL_FALSE, 0, sizeof second, &second, 1, &failing, &held));
    OK(clSetUserEventStatus(failing, -7));
    CHECK(clWaitForEvents(1, &held) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

static volatile int called;

static void CL_CALLBACK note(cl_event event, cl_int status, void *data) {
    (void)event;
    *(cl_int *)data = status;
    called = 1;
}

// Events tell when their commands began and ended, by the clock that the timers show, and call back.
static void profiling(void) {
    cl_int error, told = 1;
    cl_command_queue commands = queue(CL_QUEUE_PROFILING_ENABLE);
    cl_program program = from_source("kernel void nothing(void) {}");
    cl_kernel kernel = clCreateKernel(program, "nothing", &error);
    OK(error);
    size_t one = 1;
    cl_ulong before, after, host, times[4];
    OK(clGetDeviceAndHostTimer(device, &before, &host));
    cl_event event;
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, &event));
    OK(clSetEventCallback(event, CL_COMPLETE, note, &told));
    OK(clWaitForEvents(1, &event));
    OK(clGetDeviceAndHostTimer(device, &after, &host));
    for (int i = 0; i < 4; i++)
        OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof *times, times + i, NULL));
    CHECK(before <= times[0] && times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3] && times[3] <= after);
    while (!called) {
    }
    CHECK(told == CL_COMPLETE);
}

typedef void *(*shared_alloc)(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int (*memory_free)(cl_context, void *);
typedef cl_int (*memory_fill)(cl_command_queue, void *, const void *, size_t, size_t, cl_uint, const cl_event *, cl_event *);

// Memory that host and kernels reach at the same address: SVM, USM, mapped and shared buffers, and parts.
static void memory(void) {
    cl_int error;
    cl_command_queue commands = queue(0);
    cl_kernel kernel = clCreateKernel(from_source("kernel void add(global int *x) { x[get_global_id(0)]++; }"), "add", &error);
    OK(error);
    size_t global = 64;
    int seven = 7;
    int *svm = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 256, 0);
    CHECK(svm);
    OK(clEnqueueSVMMemFill(commands, svm, &seven, sizeof seven, 256, 0, NULL, NULL));
    OK(clSetKernelArgSVMPointer(kernel, 0, svm));
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    OK(clFinish(commands));
    CHECK(svm[0] == 8 && svm[63] == 8);
    CHECK(clEnqueueSVMMemFill(commands, svm, &seven, (size_t)-1, 256, 0, NULL, NULL) == CL_INVALID_VALUE);
    // What is to be overwritten is not to be read.
    cl_map_flags both = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION;
    CHECK(clEnqueueSVMMap(commands, CL_TRUE, both, svm, 256, 0, NULL, NULL) == CL_INVALID_VALUE);
    // A buffer of that memory, and a part of it.
    cl_mem buffer = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 256, svm, &error);
    OK(error);
    cl_buffer_region region = {128, 128};
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    OK(error);
    OK(clSetKernelArg(kernel, 0, sizeof part, &part));
    global = 32;
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    int *mapped = clEnqueueMapBuffer(commands, buffer, CL_TRUE, CL_MAP_READ, 0, 256, 0, NULL, NULL, &error);
    OK(error);
    CHECK(mapped == svm && mapped[31] == 8 && mapped[32] == 9);
    OK(clEnqueueUnmapMemObject(commands, buffer, mapped, 0, NULL, NULL));
    CHECK(clEnqueueUnmapMemObject(commands, buffer, mapped, 0, NULL, NULL) == CL_INVALID_VALUE);
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(buffer));
    OK(clEnqueueSVMFree(commands, 1, (void **)&svm, NULL, NULL, 0, NULL, NULL));
    OK(clFinish(commands));
    shared_alloc allocate = (shared_alloc)clGetExtensionFunctionAddressForPlatform(platform, "clSharedMemAllocINTEL");
    memory_free release = (memory_free)clGetExtensionFunctionAddressForPlatform(platform, "clMemBlockingFreeINTEL");
    memory_fill fill = (memory_fill)clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMemFillINTEL");
    CHECK(allocate && release && fill);
    long *usm = allocate(context, device, NULL, 800, 0, &error), pattern = 0x123456789;
    OK(error);
    OK(fill(commands, usm, &pattern, sizeof pattern, 800, 0, NULL, NULL));
    OK(clFinish(commands));
    CHECK(usm[0] == pattern && usm[99] == pattern);
    CHECK(fill(commands, usm, &pattern, (size_t)-1, 800, 0, NULL, NULL) == CL_INVALID_VALUE);
    OK(release(context, usm));
}

// The memory of a buffer, and what was in it when the driver gave it up.
struct given_up {
    volatile int is_told;
    int memory[1024], found;
    void *handle;
};

// Whether a context is gone, and whether its memory was given up by then.
static volatile int is_context_gone;
static volatile int was_told_before;
static cl_context gone;

static void CL_CALLBACK context_gone(cl_context context, void *data) {
    gone = context;
    was_told_before = ((struct given_up *)data)->is_told;
    is_context_gone = 1;
}

static void CL_CALLBACK give_up(cl_mem buffer, void *data) {
    struct given_up *given_up = data;
    given_up->handle = buffer;
    given_up->found = given_up->memory[0];
    given_up->is_told = 1;
}

// Memory that a host has lent is its own again when the commands that use it are over, and not when it has let go of all.
static void lent(void) {
    // Whether the queue goes first.
    for (int goes = 0; goes < 2; goes++) {
        cl_int error;
        static struct given_up used, idle;
        used = idle = (struct given_up){0};
        cl_command_queue commands = queue(goes ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
        cl_mem buffer = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof used.memory, used.memory, &error);
        OK(error);
        OK(clSetMemObjectDestructorCallback(buffer, give_up, &used));
        cl_mem other = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof idle.memory, idle.memory, &error);
        OK(error);
        OK(clSetMemObjectDestructorCallback(other, give_up, &idle));
        // Without commands there is nothing to wait for.
        OK(clReleaseMemObject(other));
        while (!idle.is_told) {
        }
        cl_event gate = clCreateUserEvent(context, &error);
        OK(error);
        int seven = 7;
        OK(clEnqueueFillBuffer(commands, buffer, &seven, sizeof seven, 0, sizeof used.memory, 1, &gate, NULL));
        if (goes)
            OK(clReleaseCommandQueue(commands));
        OK(clReleaseMemObject(buffer));
        CHECK(!used.is_told);
        OK(clSetUserEventStatus(gate, CL_COMPLETE));
        while (!used.is_told) {
        }
        CHECK(used.found == 7 && used.handle == buffer && idle.handle == other);
        OK(clReleaseEvent(gate));
        if (!goes)
            OK(clReleaseCommandQueue(commands));
    }
    // A context goes behind what is in it, whatever goes last and whatever runs.
    cl_int error;
    static struct given_up used;
    cl_context own = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    OK(error);
    OK(clSetContextDestructorCallback(own, context_gone, &used));
    cl_command_queue commands = clCreateCommandQueueWithProperties(own, device, NULL, &error);
    OK(error);
    cl_mem buffer = clCreateBuffer(own, CL_MEM_USE_HOST_PTR, sizeof used.memory, used.memory, &error);
    OK(error);
    OK(clSetMemObjectDestructorCallback(buffer, give_up, &used));
    cl_event gate = clCreateUserEvent(own, &error);
    OK(error);
    int seven = 7;
    OK(clEnqueueFillBuffer(commands, buffer, &seven, sizeof seven, 0, sizeof used.memory, 1, &gate, NULL));
    OK(clReleaseCommandQueue(commands));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseContext(own));
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(clReleaseEvent(gate));
    while (!is_context_gone) {
    }
    CHECK(was_told_before && gone == own && used.handle == buffer);
}

static volatile int is_asked;

static void *ask_for_binary(void *program) {
    size_t size;
    while (is_asked)
        OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    return NULL;
}

// What is built stays built whoever asks for something else, and of what was not built nothing is told.
static void status(void) {
    const char *source = "#ifdef WRONG\n#error wrong\n#endif\n"
                         "global int four = 4; kernel void k(global int *x) { *x = four; }";
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    OK(error);
    OK(clBuildProgram(program, 1, &device, "-cl-std=CL3.0", NULL, NULL));
    cl_build_status found;
    pthread_t other;
    is_asked = 1;
    CHECK(!pthread_create(&other, NULL, ask_for_binary, program));
    for (int i = 0; i < 100000; i++) {
        OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof found, &found, NULL));
        CHECK(found == CL_BUILD_SUCCESS);
    }
    is_asked = 0;
    CHECK(!pthread_join(other, NULL));
    size_t size;
    cl_program_build_info variables = CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE;
    OK(clGetProgramBuildInfo(program, device, variables, sizeof size, &size, NULL));
    CHECK(size);
    CHECK(clBuildProgram(program, 1, &device, "-cl-std=CL3.0 -DWRONG", NULL, NULL) == CL_BUILD_PROGRAM_FAILURE);
    OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof found, &found, NULL));
    CHECK(found == CL_BUILD_ERROR);
    OK(clGetProgramBuildInfo(program, device, variables, sizeof size, &size, NULL));
    CHECK(!size);
}

// Numbers of a caller's may be anything.
static void numbers(void) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(from_source("kernel void k(local int *a, local int *b) {}"), "k", &error);
    OK(error);
    size_t sizes[3] = {(size_t)1 << 62, 8, 1}, answer[3];
    for (int i = 0; i < 2; i++) {
        cl_kernel_sub_group_info asked[] = {CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE};
        error = clGetKernelSubGroupInfo(kernel, device, asked[i], sizeof sizes, sizes, sizeof answer, answer, NULL);
        CHECK(error == CL_INVALID_VALUE);
    }
    // A number of 8 bytes, of which half are there.
    error = clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, 4, sizes, sizeof answer, answer, NULL);
    CHECK(error == CL_INVALID_VALUE);
    for (int i = 0; i < 2; i++)
        clSetKernelArg(kernel, i, (size_t)-1, NULL);
    cl_ulong local;
    OK(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL));
    // Without a list its length says nothing.
    cl_uint count = 0;
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, NULL, &count));
    CHECK(count);
}

// What a loader does with a driver of version 2 of cl_khr_icd: it asks for every function by name, and every handle
// leads to what the loader says, also those that were there before.
static void loader(const char *library) {
    typedef void *(*by_name)(const char *);
    typedef void *(*of_platform)(cl_platform_id, const char *);
    typedef cl_int (*set_data)(cl_platform_id, void *);
    typedef cl_int (*list)(cl_uint, cl_platform_id *, cl_uint *);
    const long tag = 0x4F50454E434C3331;
    void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(opened);
    by_name find = (by_name)dlsym(opened, "clGetExtensionFunctionAddress");
    list ids = (list)find("clIcdGetPlatformIDsKHR");
    of_platform function = (of_platform)find("clIcdGetFunctionAddressForPlatformKHR");
    set_data set = (set_data)find("clIcdSetPlatformDispatchDataKHR");
    CHECK(ids && function && set);
    void **drivers;
    cl_uint count = 0;
    OK(ids(1, NULL, &count));
    CHECK(count == 2);
    OK(ids(1, (cl_platform_id *)&drivers, NULL));
    void **table = drivers[0], *before = drivers[1];
    CHECK((long)table[0] == tag && (long)table[31] == tag);
    for (int slot = 0; slot < 160; slot++)
        CHECK(table[slot]);
    cl_platform_id known = (cl_platform_id)drivers;
    CHECK(function(known, "clFinish") == table[47] && function(known, "clSetEventCallback") == table[81]);
    CHECK(!function(known, "clNoSuchFunction") && !function((cl_platform_id)context, "clFinish"));
    void **event = (void **)clCreateUserEvent(context, NULL);
    int data[1];
    OK(set(known, data));
    CHECK(set((cl_platform_id)context, data) == CL_INVALID_PLATFORM);
    cl_int (*release)(void *) = (cl_int (*)(void *))function(known, "clReleaseEvent");
    void *(*create)(cl_context, cl_int *) = (void *(*)(cl_context, cl_int *))function(known, "clCreateUserEvent");
    // More than a slab has to begin with.
    void **events[500];
    for (int i = 0; i < 500; i++) {
        events[i] = create(context, NULL);
        CHECK(events[i] && events[i][0] == table && events[i][1] == data);
    }
    void **handles[] = {drivers, (void **)device, (void **)context, event};
    for (int i = 0; i < 4; i++)
        CHECK(handles[i][0] == table && handles[i][1] == data);
    OK(set(known, before));
    CHECK(drivers[1] == before && events[499][1] == before);
    for (int i = 0; i < 500; i++)
        OK(release(events[i]));
    OK(release(event));
}

// What the C library's allocator is asked for, counted in this thread.
static __thread int allocations;
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void *malloc(size_t size) { return allocations++, __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return allocations++, __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return allocations++, __libc_realloc(old, size); }
int posix_memalign(void **to, size_t alignment, size_t size) {
    return allocations++, *to = __libc_memalign(alignment, size), *to ? 0 : 12;
}

typedef cl_int (*allocation_info)(cl_context, const void *, cl_uint, size_t, void *, size_t *);
typedef cl_int (*pointer_argument)(cl_kernel, cl_uint, const void *);

// The calls that programs make for every launch, and queries of what does not change, allocate nothing.
static void allocation_free(void) {
    cl_int error;
    cl_command_queue commands = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    shared_alloc allocate = (shared_alloc)clGetExtensionFunctionAddressForPlatform(platform, "clSharedMemAllocINTEL");
    allocation_info about = (allocation_info)clGetExtensionFunctionAddressForPlatform(platform, "clGetMemAllocInfoINTEL");
    pointer_argument set =
        (pointer_argument)clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgMemPointerINTEL");
    float *x = allocate(context, device, NULL, 64, 0, &error), *y = allocate(context, device, NULL, 64, 0, &error), a = 2;
    OK(error);
    cl_mem buffer = clCreateBuffer(context, 0, 64, NULL, &error);
    OK(error);
    cl_kernel kernel = clCreateKernel(from_source(SAXPY), "saxpy", &error);
    OK(error);
    cl_device_info asked[] = {CL_DEVICE_TYPE,    CL_DEVICE_VENDOR,     CL_DRIVER_VERSION,      CL_DEVICE_MAX_WORK_ITEM_SIZES,
                              CL_DEVICE_VERSION, CL_DEVICE_EXTENSIONS, CL_DEVICE_PARENT_DEVICE, CL_DEVICE_ILS_WITH_VERSION};
    static char answer[1 << 14];
    size_t global = 16, local = 4, size;
    int counted = 0;
    for (int round = 0; round < 100; round++) {
        int before = allocations;
        cl_device_id devices[1];
        cl_event events[2];
        OK(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof answer, answer, &size));
        OK(clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof answer, answer, &size));
        OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, devices, NULL));
        for (int i = 0; i < sizeof asked / sizeof *asked; i++)
            OK(clGetDeviceInfo(device, asked[i], sizeof answer, answer, &size));
        OK(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof answer, answer, &size));
        OK(clGetCommandQueueInfo(commands, CL_QUEUE_PROPERTIES_ARRAY, sizeof answer, answer, &size));
        OK(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof answer, answer, &size));
        OK(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof answer, answer, &size));
        OK(about(context, x, 0x419A /* CL_MEM_ALLOC_TYPE_INTEL */, sizeof answer, answer, &size));
        OK(about(context, x + 3, 0x419D /* CL_MEM_ALLOC_DEVICE_INTEL */, sizeof answer, answer, &size));
        OK(clSetKernelArg(kernel, 0, sizeof a, &a));
        OK(set(kernel, 1, x));
        OK(clSetKernelArg(kernel, 2, sizeof buffer, &buffer));
        OK(set(kernel, 2, y));
        OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &global, &local, 0, NULL, events));
        OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &global, NULL, 1, events, events + 1));
        OK(clWaitForEvents(2, events));
        OK(clGetEventInfo(events[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof answer, answer, &size));
        OK(clReleaseEvent(events[0]));
        OK(clReleaseEvent(events[1]));
        OK(clFinish(commands));
        // The first rounds make room.
        if (round >= 50)
            counted += allocations - before;
    }
    printf("%d allocations in 50 rounds\n", counted);
    CHECK(!counted);
}

// Local arguments may take all there is, in whatever order they are set.
static void local_memory(void) {
    const char *source = "kernel void ends(local char *a, local char *b, global ulong *p) {"
                         "  local char own[64]; own[p[1] % 64] = 3; own[0] = 4; a[p[0] - 1] = 1; b[p[1] - 1] = 2;"
                         "  *p = a[p[0] - 1] + 10 * b[p[1] - 1] + 100 * own[p[1] % 64]; }";
    cl_ulong all;
    OK(clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof all, &all, NULL));
    cl_int error;
    cl_command_queue commands = queue(0);
    cl_program program = from_source(source);
    for (int first = 0; first < 2; first++) {
        cl_ulong p[] = {all - 164, 100};
        cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof p, p, &error);
        OK(error);
        cl_kernel kernel = clCreateKernel(program, "ends", &error);
        OK(error);
        OK(clSetKernelArg(kernel, first, p[first], NULL));
        OK(clSetKernelArg(kernel, !first, p[!first], NULL));
        OK(clSetKernelArg(kernel, 2, sizeof buffer, &buffer));
        cl_ulong used;
        OK(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof used, &used, NULL));
        CHECK(used == all);
        size_t one = 1;
        OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
        OK(clEnqueueReadBuffer(commands, buffer, CL_TRUE, 0, sizeof p, p, 0, NULL, NULL));
        CHECK(*p == 321);
        OK(clSetKernelArg(kernel, 1, 101, NULL));
        CHECK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, NULL) == CL_OUT_OF_RESOURCES);
        OK(clReleaseKernel(kernel));
        OK(clReleaseMemObject(buffer));
    }

    // Three hundred of them.
    static char many[1 << 14];
    char *end = many + sprintf(many, "kernel void many(global int *p");
    for (int i = 0; i < 300; i++)
        end += sprintf(end, ", local int *a%d", i);
    sprintf(end, ") { a0[0] = 1; a299[0] = 2; *p = a0[0] + a299[0]; }");
    int sum = 0;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof sum, &sum, &error);
    OK(error);
    cl_kernel kernel = clCreateKernel(from_source(many), "many", &error);
    OK(error);
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i < 300; i++)
        OK(clSetKernelArg(kernel, 1 + i, sizeof sum, NULL));
    size_t one = 1;
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(commands, buffer, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL));
    CHECK(sum == 3);
}

static char told[1024];

static void hear(const char *text, const void *data, size_t size, void *user) {
    strncpy(user, text, sizeof told - 1);
}

// Why a kernel has failed is told to the function that the context was made with, also if nobody has the event.
static void failing(void) {
    cl_int error;
    OK(clReleaseContext(context));
    context = clCreateContext(NULL, 1, &device, hear, told, &error);
    OK(error);
    cl_command_queue commands = queue(0);
    cl_mem buffer = clCreateBuffer(context, 0, 64, NULL, &error);
    OK(error);
    cl_program program = from_source("kernel void far(global int *p) { p[1000] = 1; } kernel void near(global int *p) { *p = 1; }");
    const char *names[] = {"near", "far"};
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = clCreateKernel(program, names[i], &error);
        OK(error);
        OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
        size_t one = 1;
        CHECK(!*told);
        OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
        clFinish(commands);
    }
    for (int waited = 0; !*told && waited < 1000; waited++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    puts(told);
    CHECK(strstr(told, "far"));
}

// Prints how long an empty kernel takes from the call to its end, in nanoseconds.
static void round_trip(void) {
    cl_int error;
    cl_command_queue commands = queue(0);
    cl_kernel kernel = clCreateKernel(from_source("kernel void nothing(void) {}"), "nothing", &error);
    OK(error);
    size_t one = 1;
    struct timespec start, end;
    for (int round = 0; round < 2; round++) {
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int i = 0; i < 100000; i++) {
            OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
            OK(clFinish(commands));
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
    }
    printf("%.0f ns\n", ((end.tv_sec - start.tv_sec) * 1e9 + end.tv_nsec - start.tv_nsec) / 1e5);
}

// Prints how long a query about the device takes, in nanoseconds.
static void queries(void) {
    static char answer[1 << 14];
    cl_device_info asked[] = {CL_DEVICE_VENDOR, CL_DRIVER_VERSION, CL_DEVICE_MAX_WORK_ITEM_SIZES, CL_DEVICE_TYPE};
    struct timespec start, end;
    for (int round = 0; round < 2; round++) {
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int i = 0; i < 1000000; i++)
            OK(clGetDeviceInfo(device, asked[i % 4], sizeof answer, answer, NULL));
        clock_gettime(CLOCK_MONOTONIC, &end);
    }
    printf("%.1f ns\n", ((end.tv_sec - start.tv_sec) * 1e9 + end.tv_nsec - start.tv_nsec) / 1e6);
}

/// How many workers have been started, by what they put down at their start: a line each with their processes' numbers.
static int workers(const char *file, pid_t *last) {
    int started = 0;
    FILE *lines = fopen(file, "r");
    for (int process; lines && fscanf(lines, "%d", &process) == 1; started++)
        *last = process;
    if (lines)
        fclose(lines);
    return started;
}

/// Builds a program that nobody has built before.
static void build_new(void) {
    static _Atomic int number;
    char source[200];
    snprintf(source, sizeof source, "kernel void f(global int *x) { *x = %d; } // %d", number++, (int)getpid());
    OK(clReleaseProgram(from_source(source)));
}

static void *build_some(void *unused) {
    for (int i = 0; i < 4; i++)
        build_new();
    return unused;
}

/// What OpenCL C is compiled with is kept from one program to the next.
static void rebuild(const char *file) {
    pid_t worker = 0;
    build_new();
    build_new();
    CHECK(workers(file, &worker) == 1);

    // One that is wrong takes nothing along.
    const char *wrong = "kernel void f( {";
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &wrong, NULL, &error);
    OK(error);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_BUILD_PROGRAM_FAILURE);
    build_new();
    CHECK(workers(file, &worker) == 1);

    // Somebody ends it. This program has no handler for the signal of a pipe that nobody reads.
    CHECK(!kill(worker, SIGKILL));
    build_new();
    CHECK(workers(file, &worker) == 2);

    // A process that is forked off has its own.
    pid_t child = fork();
    if (!child) {
        build_new();
        build_new();
        _exit(workers(file, &worker) != 3);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    build_new();
    CHECK(workers(file, &worker) == 3);

    // As many as are at work at once.
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_create(&threads[i], NULL, build_some, NULL));
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_join(threads[i], NULL));
    CHECK(workers(file, &worker) <= 5);
}

// What the signals do that end a program.
static void handlers(void (*found[3])(int)) {
    for (int i = 0; i < 3; i++) {
        struct sigaction action;
        CHECK(!sigaction((int[]){SIGINT, SIGTERM, SIGHUP}[i], NULL, &action));
        found[i] = action.sa_handler;
    }
}

int main(int count, char **words) {
    void (*before[3])(int), (*behind[3])(int);
    handlers(before);
    start();
    const char *check = count > 1 ? words[1] : "";
    if (!strcmp(check, "source")) {
        saxpy(from_source(SAXPY));
        // Signals are the program's own business, whatever a driver writes and starts.
        handlers(behind);
        CHECK(!memcmp(before, behind, sizeof before));
        clReleaseProgram(from_source(MACROS));
        variables();
    }
    else if (!strcmp(check, "il") && count > 2)
        saxpy(without_attributes(from_il(words[2])));
    else if (!strcmp(check, "rebuild") && count > 2)
        rebuild(words[2]);
    else if (!strcmp(check, "binary"))
        binary();
    else if (!strcmp(check, "linked"))
        linked();
    else if (!strcmp(check, "handles"))
        handles();
    else if (!strcmp(check, "out-of-order"))
        out_of_order();
    else if (!strcmp(check, "profiling"))
        profiling();
    else if (!strcmp(check, "memory"))
        memory();
    else if (!strcmp(check, "lent"))
        lent();
    else if (!strcmp(check, "status"))
        status();
    else if (!strcmp(check, "numbers"))
        numbers();
    else if (!strcmp(check, "local-memory"))
        local_memory();
    else if (!strcmp(check, "loader") && count > 2)
        loader(words[2]);
    else if (!strcmp(check, "allocations"))
        allocation_free();
    else if (!strcmp(check, "failing"))
        failing();
    else if (!strcmp(check, "queries"))
        queries();
    else if (!strcmp(check, "round-trip"))
        round_trip();
    else
        CHECK(!"a check of that name");
    OK(clReleaseContext(context));
    puts("done");
    return 0;
}
