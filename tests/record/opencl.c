/* opencl FORM: submits kernels and copies to the first OpenCL device, and says what a recorder must find. Status
 * 77: there is no device. Lines of its output:
 *
 *     kernel NAME COUNT            kernels of that name that ran
 *     copy REGION COUNT BYTES      copies of that kind, and the bytes of all of them
 *     depends NUMBER OTHER         the operation with that number, counted from 1 in the order of submission,
 *                                  waits for the other one; 0: for all before it in its queue
 *     waits NUMBER                 a call waited for that operation; 0: for all of a queue
 *     ran NUMBER BEGIN END         by the program's own profiling: ns of the device's clock
 *     calls FUNCTION COUNT
 *
 * All else is the program's own output, the same with a recorder and without. Forms: plain, profiled,
 * unordered, queues, threads, fork, pause, unfinished, forever (until it is killed), exit, abort. */
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <lull/lull.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 4096, SIZE = ITEMS * sizeof(float), NONE = 77 };

static const char source[] =
    "kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }\n"
    "kernel void add(global float *x, global const float *y) { x[get_global_id(0)] += "
    "y[get_global_id(0)]; }\n";

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;
static cl_kernel scale, add;
static cl_mem one, other;
static float host[ITEMS];

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

#define CHECK(call) check((call), #call)

static void set_up(void)
{
    const char *text = source;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        exit(NONE);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    scale = clCreateKernel(program, "scale", &status);
    check(status, "clCreateKernel");
    add = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    one = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    check(status, "clCreateBuffer");
    other = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    check(status, "clCreateBuffer");
    const float by = 2;
    CHECK(clSetKernelArg(scale, 0, sizeof one, &one));
    CHECK(clSetKernelArg(scale, 1, sizeof by, &by));
    CHECK(clSetKernelArg(add, 0, sizeof one, &one));
    CHECK(clSetKernelArg(add, 1, sizeof other, &other));
    for (int i = 0; i < ITEMS; i++)
        host[i] = 1;
}

static cl_command_queue make_queue(cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, &status);
    check(status, "clCreateCommandQueue");
    return queue;
}

static void run(cl_command_queue queue, cl_kernel kernel, cl_uint n, const cl_event *waits,
                cl_event *event)
{
    const size_t items = ITEMS;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, n, waits, event));
}

/* What a program can see of a queue: also a recorder that needs more of it must not show that. */
static void say_properties(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;
    CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    printf("properties %llu\n", (unsigned long long)properties);
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* The usual program: it waits for all, and wants no times. */
static void plain(void)
{
    cl_command_queue queue = make_queue(0);
    cl_event event;
    cl_ulong time = 0;
    enum { STEPS = 10 };
    say_properties(queue);
    CHECK(clEnqueueWriteBuffer(queue, one, CL_TRUE, 0, SIZE, host, 0, NULL, NULL));
    CHECK(clEnqueueCopyBuffer(queue, one, other, 0, 0, SIZE / 2, 0, NULL, NULL));
    for (int i = 0; i < STEPS; i++)
        run(queue, i % 2 ? add : scale, 0, NULL, NULL);
    run(queue, scale, 0, NULL, &event);
    CHECK(clWaitForEvents(1, &event));
    printf("profiling %d\n",
           clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time, NULL));
    CHECK(clReleaseEvent(event));
    CHECK(clFinish(queue));
    CHECK(clEnqueueReadBuffer(queue, one, CL_TRUE, 64, SIZE - 64, host, 0, NULL, NULL));
    printf("result %g\n", host[0]);
    CHECK(clReleaseCommandQueue(queue));
    puts("kernel scale 6\nkernel add 5\ncopy copy@to@device 1 16384\ncopy copy@on@device 1 8192\n"
         "copy copy@from@device 1 16320\nwaits 1\nwaits 13\nwaits 0\nwaits 14\n"
         "calls clEnqueueNDRangeKernel 11\ncalls clFinish 1\ncalls clWaitForEvents 1\n"
         "calls clBuildProgram 1\nstreams 1");
}

/* It reads the times itself. */
static void profiled(void)
{
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_int status;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &status);
    check(status, "clCreateCommandQueueWithProperties");
    enum { STEPS = 40 };
    cl_event events[STEPS];
    say_properties(queue);
    CHECK(clEnqueueWriteBuffer(queue, one, CL_FALSE, 0, SIZE, host, 0, NULL, &events[0]));
    CHECK(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, SIZE, host, 0, NULL, &events[1]));
    for (int i = 2; i < STEPS; i++) {
        run(queue, i % 2 ? add : scale, 0, NULL, &events[i]);
        if (i % 10 == 0)
            usleep(120000); /* longer than a recorder's turn */
    }
    CHECK(clFinish(queue));
    for (int i = 0; i < STEPS; i++) {
        cl_ulong begin, end;
        CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof begin, &begin,
                                      NULL));
        CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
        printf("ran %d %llu %llu\n", i + 1, (unsigned long long)begin, (unsigned long long)end);
        CHECK(clReleaseEvent(events[i]));
    }
    CHECK(clReleaseCommandQueue(queue));
    puts("kernel scale 19\nkernel add 19\ncopy copy@to@device 2 32768\nwaits 0\nstreams 1");
}

/* Operations without an order, but for events, a marker and a barrier. */
static void unordered(void)
{
    cl_command_queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event events[6], user, marker;
    cl_int status;
    say_properties(queue);
    user = clCreateUserEvent(context, &status);
    check(status, "clCreateUserEvent");
    CHECK(clEnqueueWriteBuffer(queue, one, CL_FALSE, 0, SIZE, host, 1, &user, &events[0]));
    CHECK(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, SIZE, host, 0, NULL, &events[1]));
    run(queue, scale, 1, &events[0], &events[2]);
    run(queue, add, 2, &events[1], &events[3]); /* of 2 and 3 */
    CHECK(clEnqueueMarkerWithWaitList(queue, 1, &events[3], &marker));
    CHECK(clSetUserEventStatus(user, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &marker));
    CHECK(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
    run(queue, scale, 0, NULL, &events[4]);
    CHECK(clEnqueueReadBuffer(queue, one, CL_FALSE, 0, SIZE, host, 1, &events[4], &events[5]));
    CHECK(clWaitForEvents(2, &events[4]));
    printf("result %g\n", host[0]);
    for (int i = 0; i < 6; i++)
        CHECK(clReleaseEvent(events[i]));
    CHECK(clReleaseEvent(user));
    CHECK(clReleaseEvent(marker));
    CHECK(clReleaseCommandQueue(queue));
    puts(
        "kernel scale 2\nkernel add 1\ncopy copy@to@device 2 32768\ncopy copy@from@device 1 16384\n"
        "depends 3 1\ndepends 4 2\ndepends 4 3\ndepends 5 4\ndepends 6 0\ndepends 7 6\n"
        "depends 8 7\ndepends 8 6\nwaits 5\nwaits 7\nwaits 8");
}

/* A queue for each step, as some programs have it. */
static void queues(void)
{
    enum { STEPS = 20 };
    for (int i = 0; i < STEPS; i++) {
        cl_command_queue queue = make_queue(0);
        CHECK(clEnqueueWriteBuffer(queue, one, CL_TRUE, 0, SIZE, host, 0, NULL, NULL));
        run(queue, scale, 0, NULL, NULL);
        CHECK(clFinish(queue));
        CHECK(clReleaseCommandQueue(queue));
    }
    puts("kernel scale 20\ncopy copy@to@device 20 327680");
}

static void *work(void *unused)
{
    cl_command_queue queue = make_queue(0);
    (void)unused;
    for (int i = 0; i < 50; i++) {
        CHECK(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, 256, host, 0, NULL, NULL));
        CHECK(clFinish(queue));
    }
    CHECK(clReleaseCommandQueue(queue));
    return NULL;
}

static void threads(void)
{
    pthread_t made[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&made[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(made[i], NULL);
    puts("copy copy@to@device 150 38400\ncalls clFinish 150");
}

/* A child does nothing with OpenCL, and what it does is not recorded. */
static void fork_child(void)
{
    cl_command_queue queue = make_queue(0);
    int status = -1;
    run(queue, scale, 0, NULL, NULL);
    CHECK(clFinish(queue));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(5);
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    run(queue, scale, 0, NULL, NULL);
    CHECK(clFinish(queue));
    puts("kernel scale 2");
}

static void paused(void)
{
    cl_command_queue queue = make_queue(0);
    for (int i = 0; i < 9; i++) {
        if (i % 3 == 1)
            lull_pause();
        if (i % 3 == 2)
            lull_resume();
        run(queue, scale, 0, NULL, NULL);
        CHECK(clFinish(queue));
    }
    puts("kernel scale 6\ncalls clFinish 6");
}

/* It ends without having waited for anything. */
static void unfinished(void)
{
    cl_command_queue queue = make_queue(0);
    for (int i = 0; i < 100; i++)
        run(queue, scale, 0, NULL, NULL);
    CHECK(clFlush(queue));
    puts("calls clEnqueueNDRangeKernel 100");
}

/* Says after each step how many kernels have ended. */
static void forever(void)
{
    cl_command_queue queue = make_queue(0);
    for (unsigned i = 1;; i++) {
        run(queue, scale, 0, NULL, NULL);
        CHECK(clFinish(queue));
        printf("done %u\n", i);
        fflush(stdout);
        usleep(1000);
    }
}

static void end_by(const char *how)
{
    cl_command_queue queue = make_queue(0);
    run(queue, scale, 0, NULL, NULL);
    CHECK(clFinish(queue));
    puts("kernel scale 1");
    fflush(stdout);
    if (strcmp(how, "abort") == 0)
        abort();
    exit(3);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } forms[] = {{"plain", plain},   {"profiled", profiled}, {"unordered", unordered},
                 {"queues", queues}, {"threads", threads},   {"fork", fork_child},
                 {"pause", paused},  {"forever", forever},   {"unfinished", unfinished}};
    const char *form = argc > 1 ? argv[1] : "plain";
    set_up();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, form) == 0) {
            forms[i].run();
            return 0;
        }
    end_by(form);
}
