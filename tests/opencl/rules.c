// What OpenCL's specification says of calls that few programs make: `rules CHECK` does one check on the first device it finds.
#include "front.h"
#include <pthread.h>
#include <unistd.h>

// The times of a command that is over.
static void in_order(cl_event event) {
    cl_ulong times[5];
    OK(clWaitForEvents(1, &event));
    for (int i = 0; i < 5; i++)
        OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof *times, times + i, NULL));
    CHECK(times[0] && times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3] && times[3] <= times[4]);
}

// Commands without work have times like others, whether they wait or not.
static void times(void) {
    cl_int error;
    cl_command_queue commands = queue(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem buffer = clCreateBuffer(context, 0, 64, NULL, &error);
    OK(error);
    void *svm = clSVMAlloc(context, 0, 64, 0);
    for (int waits = 0; waits < 2; waits++) {
        cl_event gate = clCreateUserEvent(context, &error), events[7], *list = waits ? &gate : NULL;
        OK(error);
        OK(clEnqueueMarkerWithWaitList(commands, waits, list, events));
        OK(clEnqueueMapBuffer(commands, buffer, CL_FALSE, CL_MAP_READ, 0, 64, waits, list, events + 1, &error) ? error : -1);
        OK(clEnqueueMigrateMemObjects(commands, 1, &buffer, 0, waits, list, events + 2));
        OK(clEnqueueSVMMap(commands, CL_FALSE, CL_MAP_READ, svm, 64, waits, list, events + 3));
        OK(clEnqueueSVMUnmap(commands, svm, waits, list, events + 4));
        OK(clEnqueueSVMFree(commands, 0, NULL, NULL, NULL, waits, list, events + 5));
        OK(clEnqueueBarrierWithWaitList(commands, waits, list, events + 6));
        OK(clSetUserEventStatus(gate, CL_COMPLETE));
        for (int i = 0; i < 7; i++)
            in_order(events[i]);
    }
}

static cl_program unbuilt(const char *source) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    OK(error);
    return program;
}

static cl_program with_options(const char *source, const char *options) {
    cl_program program = unbuilt(source);
    OK(clBuildProgram(program, 1, &device, options, NULL, NULL));
    return program;
}

static cl_program compiled(const char *source, const char *options) {
    cl_program program = unbuilt(source);
    OK(clCompileProgram(program, 1, &device, options, 0, NULL, NULL, NULL, NULL));
    return program;
}

static cl_program linked(cl_uint count, cl_program *parts, const char *options) {
    cl_int error;
    cl_program program = clLinkProgram(context, 1, &device, options, count, parts, NULL, NULL, &error);
    OK(error);
    return program;
}

// The program of a program's binary, as it is before it is built.
static cl_program from_binary(cl_program program) {
    size_t size;
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    unsigned char *bytes = malloc(size);
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
    cl_int error;
    const unsigned char *binary = bytes;
    cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, &binary, NULL, &error);
    OK(error);
    free(bytes);
    return again;
}

// A program's kernel `k`, with a new buffer for its one argument.
static cl_kernel with_buffer(cl_program program, size_t size, cl_mem *buffer) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    OK(error);
    *buffer = clCreateBuffer(context, 0, size, NULL, &error);
    OK(error);
    OK(clSetKernelArg(kernel, 0, sizeof *buffer, buffer));
    return kernel;
}

static const char *SIZE = "kernel void k(global int *x) { x[get_global_id(0)] = get_local_size(0); }";

// Launches 7 work-items in groups of 4.
static cl_int uneven_launch(cl_program program) {
    cl_mem buffer;
    cl_kernel kernel = with_buffer(program, 64, &buffer);
    cl_command_queue commands = queue(0);
    size_t global = 7, local = 4;
    cl_int error = clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    OK(clFinish(commands));
    return error;
}

// Groups at the end of a range may be smaller only where all of the program is OpenCL C 2.0 or later, and not compiled
// for even ranges.
static void uneven(void) {
    static const struct {
        const char *options;
        cl_int expected;
    } cases[] = {
        {"", CL_INVALID_WORK_GROUP_SIZE},
        {"-cl-std=CL1.2", CL_INVALID_WORK_GROUP_SIZE},
        {"-cl-std=CL3.0", CL_SUCCESS},
        {"-cl-std=CL3.0 -cl-uniform-work-group-size", CL_INVALID_WORK_GROUP_SIZE},
    };
    for (int i = 0; i < 4; i++) {
        cl_program program = with_options(SIZE, cases[i].options), part = compiled(SIZE, cases[i].options);
        CHECK(uneven_launch(program) == cases[i].expected);
        program = from_binary(program);
        OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
        CHECK(uneven_launch(program) == cases[i].expected);
        CHECK(uneven_launch(linked(1, &part, "")) == cases[i].expected);
        part = from_binary(linked(1, &part, "-create-library"));
        cl_program parts[] = {compiled("void other(void) {}", "-cl-std=CL3.0"), part};
        CHECK(uneven_launch(linked(2, parts, "")) == cases[i].expected);
    }
}

static volatile int is_freed;

static void CL_CALLBACK free_slowly(cl_command_queue queue, cl_uint count, void **pointers, void *data) {
    (void)queue;
    usleep(100000);
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(data, pointers[i]);
    is_freed = 1;
}

static volatile int failures;

static void CL_CALLBACK count_failure(const char *text, const void *unused, size_t size, void *data) {
    (void)text, (void)unused, (void)size, (void)data;
    failures++;
}

static void *open_later(void *gate) {
    usleep(50000);
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    return NULL;
}

// A command that frees is over when its function has returned, and not carried out where what it waits for fails.
static void freeing(void) {
    cl_int error;
    context = clCreateContext(NULL, 1, &device, count_failure, NULL, &error);
    OK(error);
    for (int unordered = 0; unordered < 2; unordered++) {
        failures = 0;
        cl_command_queue commands = queue(unordered ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
        for (int finishes = 0; finishes < 2; finishes++) {
            void *svm = clSVMAlloc(context, 0, 64, 0);
            cl_event gate = clCreateUserEvent(context, &error), event;
            OK(error);
            is_freed = 0;
            OK(clEnqueueSVMFree(commands, 1, &svm, free_slowly, context, 1, &gate, finishes ? NULL : &event));
            // In another thread, which calls the function while this one waits.
            pthread_t opener;
            CHECK(!pthread_create(&opener, NULL, open_later, gate));
            OK(finishes ? clFinish(commands) : clWaitForEvents(1, &event));
            CHECK(is_freed);
            CHECK(!pthread_join(opener, NULL));
        }
        void *svm = clSVMAlloc(context, 0, 64, 0);
        cl_event gate = clCreateUserEvent(context, &error), event;
        OK(error);
        is_freed = 0;
        OK(clEnqueueSVMFree(commands, 1, &svm, free_slowly, context, 1, &gate, &event));
        OK(clSetUserEventStatus(gate, -7));
        CHECK(clWaitForEvents(1, &event) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        CHECK(!is_freed);
        while (!failures) {
        }
        CHECK(failures == 1);
    }
}

// A transfer of nothing is a command like others: it waits, and does nothing.
static void nothing(void) {
    cl_int error, value = 5;
    cl_command_queue commands = queue(0);
    cl_mem from = clCreateBuffer(context, 0, 64, NULL, &error), to = clCreateBuffer(context, 0, 64, NULL, &error);
    OK(error);
    int *svm = clSVMAlloc(context, 0, 64, 0);
    OK(clEnqueueReadBuffer(commands, from, CL_TRUE, 64, 0, &value, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(commands, from, CL_TRUE, 65, 0, &value, 0, NULL, NULL) == CL_INVALID_VALUE);
    cl_event gate = clCreateUserEvent(context, &error), events[4];
    OK(error);
    OK(clEnqueueReadBuffer(commands, from, CL_FALSE, 0, 0, &value, 1, &gate, events));
    OK(clEnqueueWriteBuffer(commands, from, CL_FALSE, 0, 0, &value, 1, &gate, events + 1));
    OK(clEnqueueCopyBuffer(commands, from, to, 0, 0, 0, 1, &gate, events + 2));
    OK(clEnqueueSVMMemcpy(commands, CL_FALSE, svm, svm + 1, 0, 1, &gate, events + 3));
    cl_command_type types[] = {CL_COMMAND_READ_BUFFER, CL_COMMAND_WRITE_BUFFER, CL_COMMAND_COPY_BUFFER, CL_COMMAND_SVM_MEMCPY};
    for (int i = 0; i < 4; i++) {
        cl_int status;
        cl_command_type type;
        OK(clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
        OK(clGetEventInfo(events[i], CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
        CHECK(status > CL_COMPLETE && type == types[i]);
    }
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(clFinish(commands));
    OK(clEnqueueWriteBuffer(commands, from, CL_TRUE, 0, 0, &value, 4, events, NULL));
    OK(clEnqueueSVMMemcpy(commands, CL_TRUE, svm, svm + 1, 0, 4, events, NULL));
    CHECK(value == 5);
}

static void CL_CALLBACK note(cl_event event, cl_int status, void *data) {
    (void)event;
    *(volatile cl_int *)data = status;
}

// A command that fails has a code of OpenCL's, whoever asks; an event of the caller's has the caller's number.
static void codes(void) {
    cl_int error, status;
    volatile cl_int told = 1;
    cl_platform_id platforms[2];
    cl_uint count;
    OK(clGetPlatformIDs(2, platforms, &count));
    // The last one's device checks every access.
    OK(clGetDeviceIDs(platforms[count - 1], CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    OK(error);
    cl_command_queue commands = queue(0);
    cl_mem buffer;
    cl_kernel kernel = with_buffer(from_source("kernel void k(global int *x) { x[100000000] = 1; }"), 64, &buffer);
    size_t one = 1;
    cl_event event, own = clCreateUserEvent(context, &error);
    OK(error);
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, &event));
    OK(clSetEventCallback(event, CL_COMPLETE, note, (void *)&told));
    CHECK(clWaitForEvents(1, &event) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    CHECK(status == CL_OUT_OF_RESOURCES);
    while (told == 1) {
    }
    CHECK(told == CL_OUT_OF_RESOURCES);
    told = 1;
    OK(clSetEventCallback(own, CL_COMPLETE, note, (void *)&told));
    OK(clSetUserEventStatus(own, -1000));
    while (told == 1) {
    }
    OK(clGetEventInfo(own, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    CHECK(told == -1000 && status == -1000);
}

// What is told of a kernel's first argument: its type, or an error.
static const char *argument_type(cl_program program, cl_int expected) {
    static char type[64];
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    OK(error);
    cl_kernel_arg_type_qualifier qualifiers = 0;
    cl_kernel_arg_address_qualifier space;
    CHECK(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, NULL) == expected);
    CHECK(expected || qualifiers == CL_KERNEL_ARG_TYPE_VOLATILE);
    CHECK(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL) == expected);
    OK(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL));
    CHECK(space == CL_KERNEL_ARG_ADDRESS_GLOBAL);
    OK(clReleaseKernel(kernel));
    return type;
}

// Types of arguments are those of the source, also behind a link and with a header; a binary's are not known.
static void arguments(void) {
    const char *text = "#include <t.h>\nkernel void k(volatile global T *x) {}", *header = "typedef unsigned T;", *name = "t.h";
    cl_program part = unbuilt(text), headers = unbuilt(header);
    OK(clCompileProgram(part, 1, &device, "-cl-kernel-arg-info", 1, &headers, &name, NULL, NULL));
    cl_program parts[] = {compiled("void other(void) {}", ""), part}, program = linked(2, parts, "");
    CHECK(!strcmp(argument_type(program, CL_SUCCESS), "T*"));
    program = from_binary(program);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    argument_type(program, CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
}

// Freeing waits for commands only where there is something to free.
static void waiting_free(void) {
    clMemBlockingFreeINTEL_fn release = clGetExtensionFunctionAddressForPlatform(platform, "clMemBlockingFreeINTEL");
    cl_int error, value;
    cl_command_queue commands = queue(0);
    cl_event gate = clCreateUserEvent(context, &error);
    OK(error);
    OK(clEnqueueMarkerWithWaitList(commands, 1, &gate, NULL));
    // Instead of waiting for ever.
    alarm(30);
    OK(release(context, NULL));
    CHECK(release(context, &value) == CL_INVALID_VALUE);
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
}

static cl_build_status status_for(cl_program program, cl_device_id which) {
    cl_build_status status;
    OK(clGetProgramBuildInfo(program, which, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
    return status;
}

// A program that is built for one device of two is not there for the other.
static void devices(void) {
    cl_int error;
    cl_device_id both[2];
    cl_device_partition_property ones[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, 0, 0};
    OK(clCreateSubDevices(device, ones, 2, both, NULL));
    device = both[0];
    context = clCreateContext(NULL, 2, both, NULL, NULL, &error);
    OK(error);
    cl_program program = with_options(SIZE, ""), part = compiled(SIZE, ""), whole = linked(1, &part, "");
    CHECK(status_for(program, both[0]) == CL_BUILD_SUCCESS && status_for(program, both[1]) == CL_BUILD_NONE);
    size_t sizes[2], one = 1;
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL));
    CHECK(sizes[0] && !sizes[1]);
    unsigned char *bytes[2] = {malloc(sizes[0]), NULL};
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, bytes, NULL));
    cl_program again = clCreateProgramWithBinary(context, 1, both, sizes, (const unsigned char **)bytes, NULL, &error);
    OK(error);
    cl_program of_one[] = {again, whole};
    for (int i = 0; i < 2; i++) {
        cl_uint count;
        cl_device_id only;
        OK(clGetProgramInfo(of_one[i], CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL));
        OK(clGetProgramInfo(of_one[i], CL_PROGRAM_DEVICES, sizeof only, &only, NULL));
        CHECK(count == 1 && only == both[0]);
        cl_build_status status;
        error = clGetProgramBuildInfo(of_one[i], both[1], CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL);
        CHECK(error == CL_INVALID_DEVICE);
    }
    CHECK(clBuildProgram(again, 1, both + 1, "", NULL, NULL) == CL_INVALID_DEVICE);
    // Some parts for a device, and some not.
    cl_program parts[] = {part, unbuilt("void other(void) {}")};
    OK(clCompileProgram(parts[1], 0, NULL, "", 0, NULL, NULL, NULL, NULL));
    CHECK(!clLinkProgram(context, 0, NULL, "", 2, parts, NULL, NULL, &error) && error == CL_INVALID_OPERATION);
    // As soon as it is built for the second too, it runs on both.
    cl_mem buffer = clCreateBuffer(context, 0, 64, NULL, &error);
    OK(error);
    for (int built = 1; built <= 2; built++) {
        cl_kernel kernel = clCreateKernel(program, "k", &error);
        OK(error);
        OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
        for (int i = 0; i < 2; i++) {
            device = both[i];
            cl_command_queue commands = queue(0);
            error = clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
            CHECK(error == (i < built ? CL_SUCCESS : CL_INVALID_PROGRAM_EXECUTABLE));
            OK(clFinish(commands));
        }
        OK(clReleaseKernel(kernel));
        OK(clBuildProgram(program, 1, both + 1, "", NULL, NULL));
    }
}

#define EXTENSION(name) name##_fn name = clGetExtensionFunctionAddressForPlatform(platform, #name)

// What USM allocations may be asked for, and what is told of it.
static void usm(void) {
    EXTENSION(clHostMemAllocINTEL);
    EXTENSION(clDeviceMemAllocINTEL);
    EXTENSION(clSharedMemAllocINTEL);
    EXTENSION(clGetMemAllocInfoINTEL);
    EXTENSION(clMemFreeINTEL);
    EXTENSION(clEnqueueMemFillINTEL);
    cl_int error;
    cl_ulong most, flags;
    cl_device_id of;
    OK(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL));
    CHECK(!clHostMemAllocINTEL(context, NULL, most + 1, 0, &error) && error == CL_INVALID_BUFFER_SIZE);
    CHECK(!clDeviceMemAllocINTEL(context, device, NULL, most + 1, 0, &error) && error == CL_INVALID_BUFFER_SIZE);
    CHECK(!clSharedMemAllocINTEL(context, NULL, NULL, most + 1, 0, &error) && error == CL_INVALID_BUFFER_SIZE);
    cl_mem_properties_intel placement = CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL;
    cl_mem_properties_intel wrong[][5] = {{CL_MEM_ALLOC_FLAGS_INTEL, 1 << 20},
                                          {CL_MEM_ALLOC_FLAGS_INTEL, 0, CL_MEM_ALLOC_FLAGS_INTEL, 0},
                                          {CL_MEM_ALLOC_FLAGS_INTEL, placement | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL},
                                          {CL_MEM_ALLOC_FLAGS_INTEL, placement}};
    for (int i = 0; i < 4; i++) {
        CHECK(!clHostMemAllocINTEL(context, wrong[i], 64, 0, &error) && error == CL_INVALID_PROPERTY);
        CHECK(!clDeviceMemAllocINTEL(context, device, wrong[i], 64, 0, &error) && error == CL_INVALID_PROPERTY);
        void *shared = clSharedMemAllocINTEL(context, NULL, wrong[i], 64, 0, &error);
        CHECK(i == 3 ? !error : !shared && error == CL_INVALID_PROPERTY);
        if (shared) {
            OK(clGetMemAllocInfoINTEL(context, (char *)shared + 9, CL_MEM_ALLOC_FLAGS_INTEL, sizeof flags, &flags, NULL));
            OK(clGetMemAllocInfoINTEL(context, shared, CL_MEM_ALLOC_DEVICE_INTEL, sizeof of, &of, NULL));
            CHECK(flags == placement && !of);
            OK(clMemFreeINTEL(context, shared));
        }
    }
    // Perhaps at the same address.
    void *shared = clSharedMemAllocINTEL(context, device, NULL, 64, 0, &error);
    OK(error);
    OK(clGetMemAllocInfoINTEL(context, shared, CL_MEM_ALLOC_FLAGS_INTEL, sizeof flags, &flags, NULL));
    OK(clGetMemAllocInfoINTEL(context, shared, CL_MEM_ALLOC_DEVICE_INTEL, sizeof of, &of, NULL));
    CHECK(!flags && of == device);
    // Null is no memory, not even for nothing.
    cl_command_queue commands = queue(0);
    CHECK(clEnqueueMemFillINTEL(commands, NULL, &error, 4, 0, 0, NULL, NULL) == CL_INVALID_VALUE);
    CHECK(clEnqueueSVMMemcpy(commands, CL_TRUE, NULL, NULL, 0, 0, NULL, NULL) == CL_INVALID_VALUE);
}

// A source may have any encoding, and its strings a NUL that counts.
static void bytes(void) {
    const char *strings[] = {"// \xe9\nconstant char t[] = \"\xe9\";", "kernel void k(global int *x) { x[0] = sizeof t; x[1] = (uchar)*t; }"};
    size_t lengths[] = {strlen(strings[0]) + 1, strlen(strings[1]) + 1}, size;
    char expected[256], answer[256];
    snprintf(expected, sizeof expected, "%s%s", strings[0], strings[1]);
    cl_int error, found[2];
    cl_program program = clCreateProgramWithSource(context, 2, strings, lengths, &error);
    OK(error);
    OK(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof answer, answer, &size));
    CHECK(size == strlen(expected) + 1 && !memcmp(answer, expected, size));
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_command_queue commands = queue(0);
    cl_mem buffer;
    cl_kernel kernel = with_buffer(program, sizeof found, &buffer);
    size_t one = 1;
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(commands, buffer, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    CHECK(found[0] == 2 && found[1] == 0xe9);
}

// Options are the specification's, and not whatever looks like one.
static void options(void) {
    static const struct {
        const char *options;
        cl_int built, linked;
    } cases[] = {
        {"-cl-bogus", CL_INVALID_BUILD_OPTIONS, CL_INVALID_LINKER_OPTIONS},
        {"-cl-ext=-all", CL_INVALID_BUILD_OPTIONS, CL_INVALID_LINKER_OPTIONS},
        {"-fsyntax-only", CL_INVALID_BUILD_OPTIONS, CL_INVALID_LINKER_OPTIONS},
        {"-create-library", CL_INVALID_BUILD_OPTIONS, CL_SUCCESS},
        {"-create-library -enable-link-options", CL_INVALID_BUILD_OPTIONS, CL_SUCCESS},
        {"-enable-link-options", CL_INVALID_BUILD_OPTIONS, CL_INVALID_LINKER_OPTIONS},
        {"-cl-std=CL1.0", CL_SUCCESS, CL_INVALID_LINKER_OPTIONS},
        {"-cl-std=CL3.0", CL_SUCCESS, CL_INVALID_LINKER_OPTIONS},
        {"-cl-std=CL2.0", CL_BUILD_PROGRAM_FAILURE, CL_INVALID_LINKER_OPTIONS},
        {"-cl-std=c99", CL_INVALID_BUILD_OPTIONS, CL_INVALID_LINKER_OPTIONS},
        {"-DA -D B=\"x y\" -I. -I .", CL_SUCCESS, CL_INVALID_LINKER_OPTIONS},
        {"-w -Werror -g -O2", CL_SUCCESS, CL_INVALID_LINKER_OPTIONS},
        {"-cl-single-precision-constant -cl-fp32-correctly-rounded-divide-sqrt -cl-opt-disable -cl-mad-enable", CL_SUCCESS,
         CL_INVALID_LINKER_OPTIONS},
        {"-cl-strict-aliasing -cl-kernel-arg-info -cl-uniform-work-group-size", CL_SUCCESS, CL_INVALID_LINKER_OPTIONS},
        {"-cl-denorms-are-zero -cl-no-signed-zeros -cl-unsafe-math-optimizations", CL_SUCCESS, CL_SUCCESS},
        {"-cl-finite-math-only -cl-fast-relaxed-math -cl-no-subgroup-ifp", CL_SUCCESS, CL_SUCCESS},
        {"-offkit-check-bounds -cl-intel-no-prera-scheduling", CL_SUCCESS, CL_SUCCESS},
    };
    cl_program part = compiled(SIZE, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cl_int error;
        cl_program program = unbuilt(SIZE);
        printf("%s\n", cases[i].options);
        CHECK(clBuildProgram(program, 1, &device, cases[i].options, NULL, NULL) == cases[i].built);
        error = clCompileProgram(program, 1, &device, cases[i].options, 0, NULL, NULL, NULL, NULL);
        CHECK(error == (cases[i].built == CL_INVALID_BUILD_OPTIONS   ? CL_INVALID_COMPILER_OPTIONS
                        : cases[i].built == CL_BUILD_PROGRAM_FAILURE ? CL_COMPILE_PROGRAM_FAILURE
                                                                     : CL_SUCCESS));
        clLinkProgram(context, 1, &device, cases[i].options, 1, &part, NULL, NULL, &error);
        CHECK(error == cases[i].linked);
    }
}

// Objects of two contexts do not go together, and what is to be linked is not built.
static void strangers(void) {
    cl_int error;
    cl_context own = context, other = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    OK(error);
    cl_program program = from_source(SIZE), part = compiled(SIZE, ""), user = unbuilt("#include <t.h>\n");
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    OK(error);
    cl_program built[] = {from_binary(part), from_binary(linked(1, &part, "-create-library"))};
    for (int i = 0; i < 2; i++)
        CHECK(clBuildProgram(built[i], 1, &device, "", NULL, NULL) == CL_INVALID_BINARY);
    context = other;
    cl_program strange = compiled("void other(void) {}", ""), parts[] = {part, strange};
    cl_mem buffer = clCreateBuffer(other, 0, 64, NULL, &error);
    OK(error);
    context = own;
    const char *name = "t.h";
    CHECK(clCompileProgram(user, 1, &device, "", 1, &strange, &name, NULL, NULL) == CL_INVALID_CONTEXT);
    CHECK(!clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &error) && error == CL_INVALID_CONTEXT);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer) == CL_INVALID_CONTEXT);
    CHECK(!clCreateProgramWithIL(context, "\3\2\43\7", 4, &error) && error == CL_INVALID_VALUE);
}

// Nothing is read, and nothing moved, past the end of an allocation.
static void ends(void) {
    EXTENSION(clEnqueueMigrateMemINTEL);
    cl_int error;
    cl_bool svm_used = CL_TRUE;
    cl_command_queue commands = queue(0);
    char *svm = clSVMAlloc(context, 0, 256, 0);
    CHECK(!clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 257, svm, &error) && error == CL_INVALID_BUFFER_SIZE);
    CHECK(!clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 255, svm + 2, &error) && error == CL_INVALID_BUFFER_SIZE);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 256, svm, &error);
    OK(error);
    OK(clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof svm_used, &svm_used, NULL));
    CHECK(!svm_used);
    const void *pointers[] = {svm, svm + 100};
    size_t sizes[] = {0, 156}, beyond[] = {0, 157};
    OK(clEnqueueSVMMigrateMem(commands, 2, pointers, NULL, 0, 0, NULL, NULL));
    OK(clEnqueueSVMMigrateMem(commands, 2, pointers, sizes, 0, 0, NULL, NULL));
    CHECK(clEnqueueSVMMigrateMem(commands, 2, pointers, beyond, 0, 0, NULL, NULL) == CL_INVALID_VALUE);
    OK(clEnqueueMigrateMemINTEL(commands, svm, 256, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    CHECK(clEnqueueMigrateMemINTEL(commands, svm, 256, 1 << 9, 0, NULL, NULL) == CL_INVALID_VALUE);
    OK(clFinish(commands));
}

static cl_uint units_of(cl_device_id which) {
    cl_uint units;
    OK(clGetDeviceInfo(which, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    return units;
}

static cl_uint references(cl_device_id which) {
    cl_uint count;
    OK(clGetDeviceInfo(which, CL_DEVICE_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

// Launches 64 work-items of a program on a device, which has to be one of the context.
static void run_on(cl_program program, cl_device_id which) {
    cl_int found[64];
    device = which;
    cl_command_queue commands = queue(0);
    cl_mem buffer;
    cl_kernel kernel = with_buffer(program, sizeof found, &buffer);
    size_t items = 64, group = 4;
    OK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(commands, buffer, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    for (int i = 0; i < 64; i++)
        CHECK(found[i] == 4);
    OK(clReleaseCommandQueue(commands));
}

// The device that checks has a platform of its own. Contexts are of one platform: a program that takes all devices of one has
// none that is slow.
static void platforms(void) {
    cl_platform_id found[3], of_device;
    cl_uint count;
    cl_int error;
    cl_device_id devices[2];
    OK(clGetPlatformIDs(3, found, &count));
    CHECK(count == 2);
    for (int i = 0; i < 2; i++) {
        OK(clGetDeviceIDs(found[i], CL_DEVICE_TYPE_ALL, 1, devices + i, &count));
        CHECK(count == 1);
        OK(clGetDeviceInfo(devices[i], CL_DEVICE_PLATFORM, sizeof of_device, &of_device, NULL));
        CHECK(of_device == found[i]);
    }
    char names[2][64];
    for (int i = 0; i < 2; i++)
        OK(clGetPlatformInfo(found[i], CL_PLATFORM_NAME, sizeof *names, names[i], NULL));
    CHECK(!strcmp(names[0], "offkit CPU") && !strcmp(names[1], "offkit CPU (checked)"));
    CHECK(!clCreateContext(NULL, 2, devices, NULL, NULL, &error) && error == CL_INVALID_DEVICE);
    cl_context_properties second[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)found[1], 0};
    CHECK(!clCreateContext(second, 1, devices, NULL, NULL, &error) && error == CL_INVALID_DEVICE);
    context = clCreateContext(second, 1, devices + 1, NULL, NULL, &error);
    OK(error);
    device = devices[1];
    CHECK(with_options(SIZE, ""));
    context = clCreateContextFromType(second, CL_DEVICE_TYPE_ALL, NULL, NULL, &error);
    OK(error);
    OK(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL));
    CHECK(device == devices[1]);
}

// A device of four compute units has parts, which are devices with fewer of them, and go when they are released.
static void parts(void) {
    cl_device_id whole = device, found[4], parent;
    cl_uint count;
    cl_int error;
    cl_device_partition_property ways[3], kept[8];
    size_t size;
    CHECK(units_of(whole) == 4 && references(whole) == 1);
    OK(clGetDeviceInfo(whole, CL_DEVICE_PARTITION_PROPERTIES, sizeof ways, ways, NULL));
    CHECK(ways[0] == CL_DEVICE_PARTITION_EQUALLY && ways[1] == CL_DEVICE_PARTITION_BY_COUNTS && !ways[2]);
    OK(clGetDeviceInfo(whole, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof count, &count, NULL));
    CHECK(count == 4);
    static const struct {
        cl_device_partition_property list[6];
        cl_int expected;
        cl_uint parts;
    } cases[] = {
        {{CL_DEVICE_PARTITION_EQUALLY, 2}, CL_SUCCESS, 2},
        {{CL_DEVICE_PARTITION_EQUALLY, 3}, CL_SUCCESS, 1},
        {{CL_DEVICE_PARTITION_EQUALLY, 4}, CL_DEVICE_PARTITION_FAILED, 0},
        {{CL_DEVICE_PARTITION_EQUALLY, 5}, CL_INVALID_DEVICE_PARTITION_COUNT, 0},
        {{CL_DEVICE_PARTITION_EQUALLY, 0}, CL_INVALID_VALUE, 0},
        {{CL_DEVICE_PARTITION_BY_COUNTS, 1, 2}, CL_SUCCESS, 2},
        {{CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, 2}, CL_SUCCESS, 3},
        {{CL_DEVICE_PARTITION_BY_COUNTS, 3, 2}, CL_INVALID_DEVICE_PARTITION_COUNT, 0},
        {{CL_DEVICE_PARTITION_BY_COUNTS, 2, -1}, CL_INVALID_DEVICE_PARTITION_COUNT, 0},
        {{CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE}, CL_INVALID_VALUE, 0},
        {{0}, CL_INVALID_VALUE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        count = 0;
        CHECK(clCreateSubDevices(whole, cases[i].list, 0, NULL, &count) == cases[i].expected);
        CHECK(count == cases[i].parts);
    }
    cl_device_partition_property of_three[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, 2, 0, 0};
    CHECK(clCreateSubDevices(whole, of_three, 2, found, NULL) == CL_INVALID_VALUE);
    CHECK(clCreateSubDevices(whole, NULL, 4, found, NULL) == CL_INVALID_VALUE);
    OK(clCreateSubDevices(whole, of_three, 4, found, &count));
    CHECK(count == 3 && units_of(found[0]) == 1 && units_of(found[2]) == 2 && references(found[2]) == 1);
    OK(clGetDeviceInfo(found[2], CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL));
    CHECK(parent == whole);
    OK(clGetDeviceInfo(found[2], CL_DEVICE_PARTITION_TYPE, sizeof kept, kept, &size));
    CHECK(size == 6 * sizeof *kept && !memcmp(kept, of_three, size));
    CHECK(clCreateSubDevices(found[0], cases[0].list, 0, NULL, &count) == CL_DEVICE_PARTITION_FAILED);
    OK(clGetDeviceInfo(found[0], CL_DEVICE_PARTITION_PROPERTIES, sizeof ways, ways, NULL));
    CHECK(!ways[0]);
    // A part of a part keeps it, and needs the caller's reference no more.
    cl_device_partition_property singly[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id smallest[2];
    OK(clCreateSubDevices(found[2], singly, 2, smallest, NULL));
    OK(clRetainDevice(found[2]));
    CHECK(references(found[2]) == 2);
    OK(clReleaseDevice(found[2]));
    OK(clReleaseDevice(found[2]));
    OK(clGetDeviceInfo(smallest[1], CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL));
    CHECK(parent == found[2]);
    // In a context with a part, that is what programs are built for; what is built for the whole runs on parts, too.
    cl_device_id both[] = {whole, found[1], smallest[0]};
    context = clCreateContext(NULL, 2, both + 1, NULL, NULL, &error);
    OK(error);
    device = found[1];
    run_on(with_options(SIZE, ""), found[1]);
    context = clCreateContext(NULL, 3, both, NULL, NULL, &error);
    OK(error);
    device = whole;
    cl_program program = with_options(SIZE, "");
    for (int i = 0; i < 3; i++) {
        CHECK(status_for(program, both[i]) == CL_BUILD_SUCCESS);
        run_on(program, both[i]);
    }
    device = smallest[0];
    cl_program of_part = with_options(SIZE, "");
    run_on(of_part, smallest[0]);
    cl_command_queue commands;
    device = whole;
    commands = queue(0);
    cl_mem buffer;
    cl_kernel kernel = with_buffer(of_part, 256, &buffer);
    size_t one = 1;
    CHECK(clEnqueueNDRangeKernel(commands, kernel, 1, NULL, &one, NULL, 0, NULL, NULL) == CL_INVALID_PROGRAM_EXECUTABLE);
    OK(clReleaseDevice(found[0]));
    CHECK(clReleaseDevice(found[0]) == CL_INVALID_DEVICE);
    OK(clReleaseDevice(whole));
    OK(clReleaseDevice(whole));
}

// Functions that are declared `inline` are there without another definition, also in two programs that are linked; what is
// not called is in no binary.
static void inlines(void) {
    // Too large for clang to put it where it is called.
    const char *header = "#define ONE b = b / (a | 1) + mad_hi(a, b, a); a = a * 31 ^ (a >> 3) * b;\n"
                         "#define EIGHT ONE ONE ONE ONE ONE ONE ONE ONE\n"
                         "inline int f(int a) { int b = 1; EIGHT EIGHT EIGHT EIGHT return a + b; }\n",
               *texts[] = {"kernel void k(global int *x) { *x = f(x[1]) + f(x[2]) * f(x[3]); }",
                           "int other(int a) { return f(a) - f(a + 7) * f(a + 8); }"};
    cl_int error;
    cl_program parts[2];
    for (int i = 0; i < 2; i++) {
        const char *both[] = {header, texts[i]};
        parts[i] = clCreateProgramWithSource(context, 2, both, NULL, &error);
        OK(error);
        OK(clCompileProgram(parts[i], 1, &device, "", 0, NULL, NULL, NULL, NULL));
    }
    const char *alone[] = {header, texts[0]};
    cl_program program = clCreateProgramWithSource(context, 2, alone, NULL, &error);
    built(program, error);
    clCreateKernel(program, "k", &error);
    OK(error);
    clCreateKernel(linked(2, parts, ""), "k", &error);
    OK(error);
    // By the rules of C99, which mean the opposite.
    const char *standard[] = {header, "extern inline int f(int a);\n", texts[0]};
    program = clCreateProgramWithSource(context, 3, standard, NULL, &error);
    built(program, error);
    clCreateKernel(program, "k", &error);
    OK(error);
    const char *library[] = {header, "extern inline int f(int a);\n"}, *user[] = {"int f(int a);\n", texts[0]};
    parts[0] = clCreateProgramWithSource(context, 2, library, NULL, &error);
    parts[1] = clCreateProgramWithSource(context, 2, user, NULL, &error);
    for (int i = 0; i < 2; i++)
        OK(clCompileProgram(parts[i], 1, &device, "", 0, NULL, NULL, NULL, NULL));
    clCreateKernel(linked(2, parts, ""), "k", &error);
    OK(error);
    size_t sizes[2];
    const char *empty = "kernel void k(void) {}", *unused[] = {header, empty};
    cl_program without = from_source(empty), with = clCreateProgramWithSource(context, 2, unused, NULL, &error);
    built(with, error);
    OK(clGetProgramInfo(without, CL_PROGRAM_BINARY_SIZES, sizeof *sizes, sizes, NULL));
    OK(clGetProgramInfo(with, CL_PROGRAM_BINARY_SIZES, sizeof *sizes, sizes + 1, NULL));
    CHECK(sizes[1] < sizes[0] + 256);
}

// Programs multiply by the clock frequency to choose the fastest device: where Linux tells one, there is one.
static void clock_frequency(void) {
    char line[256];
    int is_known = !access("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", R_OK);
    FILE *file = fopen("/proc/cpuinfo", "r");
    CHECK(file != NULL);
    while (!is_known && fgets(line, sizeof line, file))
        is_known = !strncmp(line, "cpu MHz", 7);
    fclose(file);
    cl_uint frequency;
    OK(clGetDeviceInfo(device, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof frequency, &frequency, NULL));
    // In MHz.
    CHECK(is_known ? frequency >= 100 && frequency < 20000 : frequency == 0);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*check)(void);
    } checks[] = {
        {"times", times},
        {"uneven", uneven},
        {"freeing", freeing},
        {"nothing", nothing},
        {"codes", codes},
        {"arguments", arguments},
        {"waiting-free", waiting_free},
        {"devices", devices},
        {"platforms", platforms},
        {"usm", usm},
        {"bytes", bytes},
        {"options", options},
        {"strangers", strangers},
        {"ends", ends},
        {"parts", parts},
        {"inlines", inlines},
        {"clock-frequency", clock_frequency},
    };
    start();
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (count > 1 && !strcmp(words[1], checks[i].name)) {
            checks[i].check();
            puts("done");
            return 0;
        }
    }
    CHECK(!"a check of that name");
}
