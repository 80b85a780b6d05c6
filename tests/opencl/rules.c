// What OpenCL's specification says of calls that few programs make: `rules CHECK` does one check on the first device it finds.
#include "front.h"
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

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*check)(void);
    } checks[] = {
        {"times", times},
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
