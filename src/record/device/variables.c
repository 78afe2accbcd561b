/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of the environment by which runtimes of devices are told to load a back-end. The environment
 * itself is left alone: it is the program's, which may print it, search it and hand it to its children, and
 * other threads may be reading it. Instead the recorder stands in front of getenv and secure_getenv, and
 * answers with the back-end's path where the code of the runtime asks for its variable, whenever that is.
 * Everybody else is told what the environment says. So it does not matter how a program begins with the
 * runtime, or whether it has opened it by dlopen.
 *
 * Not seen are runtimes that are linked into the program itself, or that find another getenv than the
 * program does (dlmopen, RTLD_DEEPBIND, a program that exports one of its own). */
#include "record/device/device.h"
#include "record/device/opencl_drivers.h"
#include "record/keep.h"
#include "record/libraries.h"
#include "record/life_cycle.h"
#include "record/next.h"
#include "record/report.h"
#include "record/site/site.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUNCTIONS(X) X(getenv) X(secure_getenv)
enum { FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
static const char *const next_names[N_NEXT] = {FUNCTIONS(REC_NEXT_NAME)};
static rec_function next[N_NEXT];

__attribute__((constructor)) static void find_next(void)
{
    rec_next_find(next, next_names, N_NEXT);
}

static const struct loaded_backend {
    const char *runtime, *variable;
    const char *askers[2]; /* how the names of files begin whose code is the runtime's */
    const char *library;   /* lies beside the recorder */
    enum {
        IN_LIST, /* the user's come first, and a colon behind them */
        ALONE,   /* there can be one: the user's */
        IN_FRONT /* there can be one: the back-end, which loads the user's */
    } place;
} loaded_backends[] = {
    {"OpenCL", "OPENCL_LAYERS", {"libOpenCL"}, "liblull-record-opencl.so", IN_LIST},
    {"CUDA", "CUDA_INJECTION64_PATH", {"libcuda"}, "liblull-record-cuda.so", IN_FRONT},
    {"ROCm",
     "ROCP_TOOL_LIBRARIES",
     {"librocprofiler-register", "librocprofiler-sdk"},
     "liblull-record-rocm.so",
     IN_LIST},
    {"NCCL", "NCCL_PROFILER_PLUGIN", {"libnccl", "libtorch"}, "liblull-record-nccl.so", ALONE},
};

REC_BEFORE_SANITIZERS static bool is_variable(const char *name, const char *variable)
{
    while (*name != '\0' && *name == *variable) {
        name++;
        variable++;
    }
    return *name == *variable;
}

REC_BEFORE_SANITIZERS static const struct loaded_backend *backend_of(const char *variable)
{
    for (size_t i = 0; i < sizeof loaded_backends / sizeof *loaded_backends; i++)
        if (is_variable(variable, loaded_backends[i].variable))
            return &loaded_backends[i];
    return NULL;
}

static bool is_asked_by(const struct loaded_backend *backend, const void *place)
{
    for (size_t i = 0; i < 2 && backend->askers[i]; i++)
        if (rec_lies_in(place, backend->askers[i]))
            return true;
    return false;
}

/* The path of a library beside the recorder. False: there is none, or a list cannot name it. */
static bool find_beside(const char *library, char *path, size_t size)
{
    Dl_info info;
    const void *here = loaded_backends;
    if (dladdr(here, &info) == 0 || !info.dli_fname || !strchr(info.dli_fname, '/'))
        return false;
    const int folder = (int)(strrchr(info.dli_fname, '/') - info.dli_fname),
              length = snprintf(path, size, "%.*s/%s", folder, info.dli_fname, library);
    return length > 0 && (size_t)length < size && !strchr(path, ':') && access(path, R_OK) == 0;
}

/* Said once of each. A runtime may ask several times, one thread after the other or two at once. */
static void say_not_beside(const struct loaded_backend *backend)
{
    static bool said[sizeof loaded_backends / sizeof *loaded_backends]; /* atomic */
    if (!__atomic_test_and_set(&said[backend - loaded_backends], __ATOMIC_RELAXED))
        rec_report_say("%s: %s is not beside the recorder, or cannot be read there: what is done "
                       "with %s is not recorded",
                       backend->runtime, backend->library, backend->runtime);
}

/* What the runtime is told, where the environment says `value`. It may write to that text: ocl-icd divides
 * it where it stands. */
static char *answer_with(const struct loaded_backend *backend, char *value)
{
    char path[PATH_MAX];
    if (!find_beside(backend->library, path, sizeof path)) {
        say_not_beside(backend);
        return value;
    }
    if (value && strstr(value, path))
        return value;
    if (value && *value && backend->place == ALONE) {
        rec_report_say("%s: %s is set to '%s', of which there can be one: %s is not recorded",
                       backend->runtime, backend->variable, value, backend->runtime);
        return value;
    }
    const char *before = value && backend->place == IN_LIST ? value : "";
    const size_t size = strlen(before) + strlen(path) + 2;
    char *text = rec_keep(size);
    if (!text)
        return value;
    snprintf(text, size, "%s%s%s", before, *before ? ":" : "", path);
    return text;
}

static REC_COLD char *answer(const struct loaded_backend *backend, char *value, const void *from)
{
    if (!is_asked_by(backend, from))
        return value;
    rec_start();
    if (!rec_device_is_wanted())
        return value;
    const struct rec_aside aside = rec_step_aside();
    char *answered = answer_with(backend, value);
    rec_step_back(&aside);
    return answered;
}

/* libOpenCL is about to load drivers. */
static REC_COLD void watch_drivers(const void *from)
{
    if (!rec_lies_in(from, "libOpenCL"))
        return;
    rec_start();
    if (!rec_device_is_wanted())
        return;
    const struct rec_aside aside = rec_step_aside();
    rec_opencl_drivers_watch();
    rec_step_back(&aside);
}

/* The value of a variable as somebody is to be told it. */
REC_BEFORE_SANITIZERS static char *told_value(const char *name, char *value, const void *from)
{
    const struct loaded_backend *backend = backend_of(name);
    if (REC_UNLIKELY(backend != NULL))
        return answer(backend, value, from);
    if (REC_UNLIKELY(is_variable(name, REC_OPENCL_VENDORS) ||
                     is_variable(name, REC_OPENCL_FILENAMES)))
        watch_drivers(from);
    return value;
}

REC_BEFORE_SANITIZERS REC_EXPORT char *getenv(const char *name)
{
    return told_value(name, REC_NEXT(getenv)(name), REC_CALLER);
}

REC_BEFORE_SANITIZERS REC_EXPORT char *secure_getenv(const char *name)
{
    return told_value(name, REC_NEXT(secure_getenv)(name), REC_CALLER);
}
