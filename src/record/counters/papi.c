/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of PAPI: presets (PAPI_TOT_INS) and native events, as PAPI calls them. Its library is
 * loaded when a counter is looked for in it. The few functions that are needed are declared here,
 * as PAPI's manual gives them. */
#include "record/counters/counters.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PAPI_OK = 0, PAPI_NULL = -1 };

static struct {
    void *library;
    int (*library_init)(int version);
    int (*thread_init)(unsigned long (*number)(void));
    int (*event_name_to_code)(const char *name, int *code);
    int (*create_eventset)(int *set);
    int (*add_event)(int set, int code);
    int (*start)(int set);
    int (*read)(int set, long long *values);
    int (*stop)(int set, long long *values);
    int (*cleanup_eventset)(int set);
    int (*destroy_eventset)(int *set);
    char *(*strerror)(int code);
    char why_not[160]; /* "": ready */
} papi;

static const struct {
    const char *name;
    void *place;
} papi_functions[] = {
    {"PAPI_library_init", &papi.library_init},
    {"PAPI_thread_init", &papi.thread_init},
    {"PAPI_event_name_to_code", &papi.event_name_to_code},
    {"PAPI_create_eventset", &papi.create_eventset},
    {"PAPI_add_event", &papi.add_event},
    {"PAPI_start", &papi.start},
    {"PAPI_read", &papi.read},
    {"PAPI_stop", &papi.stop},
    {"PAPI_cleanup_eventset", &papi.cleanup_eventset},
    {"PAPI_destroy_eventset", &papi.destroy_eventset},
    {"PAPI_strerror", &papi.strerror},
};

static unsigned long thread_number(void)
{
    return (unsigned long)pthread_self();
}

/* A program tells PAPI_library_init the version for which it was made, and the library accepts its
 * own version alone, of which it compares the upper two bytes. */
static bool initialise(void)
{
    for (int major = 8; major >= 5; major--)
        for (int minor = 9; minor >= 0; minor--)
            if (papi.library_init(major << 24 | minor << 16) == (major << 24 | minor << 16))
                return true;
    return false;
}

static bool load_functions(void)
{
    for (size_t i = 0; i < sizeof papi_functions / sizeof *papi_functions; i++) {
        void *symbol = dlsym(papi.library, papi_functions[i].name);
        if (!symbol) {
            snprintf(papi.why_not, sizeof papi.why_not, "its library has no %s",
                     papi_functions[i].name);
            return false;
        }
        memcpy(papi_functions[i].place, &symbol, sizeof symbol);
    }
    return true;
}

static void load(void)
{
    static const char *const files[] = {"libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.7",
                                        "libpapi.so.6.0", "libpapi.so.6",   "libpapi.so.5.7",
                                        "libpapi.so.5",   "libpapi.so"};
    for (size_t i = 0; !papi.library && i < sizeof files / sizeof *files; i++)
        papi.library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!papi.library)
        snprintf(papi.why_not, sizeof papi.why_not, "its library (libpapi.so) is not installed");
    else if (load_functions() && (!initialise() || papi.thread_init(thread_number) != PAPI_OK))
        snprintf(papi.why_not, sizeof papi.why_not, "its library cannot be initialised");
}

/* Tries an event in a set of its own: a preset may be known, but not available on this machine. */
static int try_event(int code)
{
    int set = PAPI_NULL, result = papi.create_eventset(&set);
    if (result != PAPI_OK)
        return result;
    result = papi.add_event(set, code);
    papi.cleanup_eventset(set);
    papi.destroy_eventset(&set);
    return result;
}

static const char *find_papi(const char *name, struct rec_counter *ret_counter)
{
    if (!papi.library && !papi.why_not[0])
        load();
    if (papi.why_not[0])
        return papi.why_not;
    const char *own = name;
    if (strcmp(name, "instructions") == 0)
        own = "PAPI_TOT_INS";
    else if (strcmp(name, "cycles") == 0)
        own = "PAPI_TOT_CYC";
    int code, result = papi.event_name_to_code(own, &code);
    if (result == PAPI_OK)
        result = try_event(code);
    if (result != PAPI_OK) {
        const char *text = papi.strerror(result);
        return text ? text : "no such event";
    }
    ret_counter->code = (uint64_t)(int64_t)code;
    return NULL;
}

static bool begin_papi(struct rec_counting *counting, const struct rec_counter *counters,
                       unsigned n)
{
    int set = PAPI_NULL;
    bool good = papi.create_eventset(&set) == PAPI_OK;
    for (unsigned i = 0; good && i < n; i++)
        good = papi.add_event(set, (int)(int64_t)counters[i].code) == PAPI_OK;
    good = good && papi.start(set) == PAPI_OK;
    if (!good && set != PAPI_NULL) {
        papi.cleanup_eventset(set);
        papi.destroy_eventset(&set);
    }
    counting->handles[0] = set;
    return good;
}

static void read_papi(struct rec_counting *counting, const struct rec_counter *counters, unsigned n,
                      uint64_t now, uint64_t *values)
{
    (void)counters, (void)now;
    long long counts[REC_MOST_COUNTERS];
    bool good = papi.read(counting->handles[0], counts) == PAPI_OK;
    for (unsigned i = 0; i < n; i++)
        values[i] = good ? (uint64_t)counts[i] : counting->last[i];
}

static void end_papi(struct rec_counting *counting, unsigned n)
{
    long long counts[REC_MOST_COUNTERS];
    (void)n;
    papi.stop(counting->handles[0], counts);
    papi.cleanup_eventset(counting->handles[0]);
    papi.destroy_eventset(&counting->handles[0]);
}

const struct rec_counter_backend rec_counters_papi = {
    .name = "papi", .find = find_papi, .begin = begin_papi, .read = read_papi, .end = end_papi};
