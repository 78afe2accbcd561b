/* opencl_mpi FORM [FILE]: ranks of MPI with a queue of OpenCL each, on the first device. Each rank prints what a recorder
 * must find of it: "rank RANK REGION COUNT BYTES". Status 77: there is no device. Forms:
 *
 *     plain
 *     fork       rank 0 has a child, which does nothing
 *     killed     rank 1 kills itself as soon as there is the file */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 1024, SIZE = ITEMS * sizeof(float), NONE = 77 };

static const char *const source =
    "kernel void scale(global float *x) { x[get_global_id(0)] *= 2; }\n";
static int rank;
static cl_command_queue queue;
static cl_kernel scale;

static void check(cl_int status)
{
    if (status == CL_SUCCESS)
        return;
    printf("status %d\n", status);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Whether every rank has a device. */
static int set_up(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    int has = clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
              clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &has, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!has)
        return 0;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status);
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL));
    scale = clCreateKernel(program, "scale", &status);
    check(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    check(status);
    static float host[ITEMS];
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, host, 0, NULL, NULL));
    check(clSetKernelArg(scale, 0, sizeof buffer, &buffer));
    return 1;
}

static void compute(int steps)
{
    const size_t items = ITEMS;
    for (int i = 0; i < steps; i++) {
        check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &items, NULL, 0, NULL, NULL));
        check(clFinish(queue));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "plain";
    enum { STEPS = 10 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!set_up()) {
        MPI_Finalize();
        return NONE;
    }
    compute(STEPS);
    if (strcmp(form, "fork") == 0 && rank == 0) {
        const pid_t child = fork();
        if (child == 0)
            _exit(5);
        int status = 0;
        waitpid(child, &status, 0);
        printf("child %d\n", WEXITSTATUS(status));
    }
    compute(STEPS);
    if (rank == 1) { /* one more than the others */
        const size_t items = ITEMS;
        check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &items, NULL, 0, NULL, NULL));
        check(clFinish(queue));
    }
    printf("rank %d scale %d 0\nrank %d copy@to@device 1 %d\n", rank, 2 * STEPS + (rank == 1), rank,
           SIZE);
    fflush(stdout);
    while (strcmp(form, "killed") == 0) {
        if (rank == 1 && access(argv[2], F_OK) == 0)
            raise(SIGKILL);
        usleep(10000);
    }
    MPI_Finalize();
    return 0;
}
