/* opencl_opened FORM: a program that is not linked with OpenCL's loader. It prints its environment, that of a child,
 * and what it finds of OpenCL among its symbols, which are the same with a recorder and without; and in lines of
 * opencl.c what a recorder must find. Status 77: there is no device. Forms:
 *
 *     absent       it does nothing with OpenCL
 *     platforms, info, context, extension     it opens the loader by dlopen, and this is its first call of it */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 256, WRITES = 3, NONE = 77 };

extern char **environ;
static void *loader;

#define CALL(name) ((__typeof__(&name))found(#name))

static void *found(const char *name)
{
    void *symbol = dlsym(loader, name);
    if (!symbol)
        exit(NONE);
    return symbol;
}

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void say_environment(void)
{
    char *sorted[4096];
    size_t n = 0;
    while (environ[n] && n < sizeof sorted / sizeof *sorted) {
        sorted[n] = environ[n];
        n++;
    }
    qsort(sorted, n, sizeof *sorted, compare);
    for (size_t i = 0; i < n; i++)
        printf("own %s\n", sorted[i]);
    printf("OPENCL_LAYERS %d %d\n", getenv("OPENCL_LAYERS") != NULL,
           secure_getenv("OPENCL_LAYERS") != NULL);
    printf("symbol %d\n", dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != NULL);
    fflush(stdout);
    if (system("env | sort") != 0)
        puts("no child");
}

/* The first call of the loader; nothing is wanted of it. */
static void begin_with(const char *form)
{
    cl_uint n;
    char text[256];
    if (strcmp(form, "platforms") == 0)
        CALL(clGetPlatformIDs)(0, NULL, &n);
    else if (strcmp(form, "info") == 0)
        CALL(clGetPlatformInfo)(NULL, CL_PLATFORM_NAME, sizeof text, text, NULL);
    else if (strcmp(form, "extension") == 0)
        CALL(clGetExtensionFunctionAddress)("clIcdGetPlatformIDsKHR");
}

static cl_context make_context(void)
{
    cl_int status;
    cl_context context =
        CALL(clCreateContextFromType)(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
    if (!context)
        exit(NONE);
    return context;
}

static void write_some(cl_context context)
{
    static const char bytes[SIZE];
    cl_device_id device;
    cl_int status;
    check(CALL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL),
          "device");
    cl_command_queue queue = CALL(clCreateCommandQueue)(context, device, 0, &status);
    check(status, "queue");
    cl_mem buffer = CALL(clCreateBuffer)(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    check(status, "buffer");
    for (int i = 0; i < WRITES; i++)
        check(CALL(clEnqueueWriteBuffer)(queue, buffer, CL_TRUE, 0, SIZE, bytes, 0, NULL, NULL),
              "write");
    check(CALL(clFinish)(queue), "finish");
    CALL(clReleaseMemObject)(buffer);
    CALL(clReleaseCommandQueue)(queue);
    CALL(clReleaseContext)(context);
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "absent";
    if (strcmp(form, "absent") == 0) {
        say_environment();
        puts("streams 0\ncalls clGetPlatformIDs 0");
        return 0;
    }
    loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!loader)
        return NONE;
    begin_with(form);
    write_some(make_context());
    say_environment();
    puts("copy copy@to@device 3 768\ncalls clFinish 1\nstreams 1");
    return 0;
}
