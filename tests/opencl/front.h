// What programs that check the OpenCL driver have in common.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;

// Ends the program unless a condition holds.
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);            \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#define OK(call)                                                               \
    do {                                                                       \
        cl_int code = (call);                                                  \
        if (code) {                                                            \
            fprintf(stderr, "line %d: %s: %d\n", __LINE__, #call, code);       \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static cl_command_queue queue(cl_command_queue_properties flags) {
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, flags, 0};
    cl_int error;
    cl_command_queue made = clCreateCommandQueueWithProperties(context, device, properties, &error);
    OK(error);
    return made;
}

static cl_program built(cl_program program, cl_int error) {
    OK(error);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL)) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
        exit(1);
    }
    return program;
}

static cl_program from_source(const char *source) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    return built(program, error);
}

// The first device, and a context of it.
static void start(void) {
    cl_int error;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    OK(error);
}
