// What a driver of OpenCL takes to list its devices by itself: `discover DRIVER` prints how many there are, and how many
// seconds it took in this process to open the driver and to ask.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

struct _cl_platform_id {
    cl_icd_dispatch *table;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int count, char **words) {
    typedef void *(*by_name)(const char *);
    typedef cl_int (*list)(cl_uint, cl_platform_id *, cl_uint *);
    double start = now();
    void *driver = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!driver)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    by_name find = (by_name)dlsym(driver, "clGetExtensionFunctionAddress");
    list platforms = find ? (list)find("clIcdGetPlatformIDsKHR") : NULL;
    cl_platform_id platform;
    cl_uint number = 0, found = 0;
    cl_device_id devices[16];
    if (!platforms || platforms(0, NULL, &number) || platforms(1, &platform, NULL) ||
        platform->table->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &found) ||
        platform->table->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, found < 16 ? found : 16, devices, NULL))
        return fprintf(stderr, "%s is no driver with devices\n", words[1]), 1;
    printf("%u %.9f\n", found, now() - start);
    return 0;
}
