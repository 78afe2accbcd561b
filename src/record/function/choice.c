/* Which functions are recorded: all but those that the user's filter leaves out, and those that
 * turn out to be too short. */
#include "record/aside.h"
#include "record/function/function.h"
#include "record/keep.h"
#include "record/report.h"
#include "record/site/site.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MOST_FILES: that are looked at before the program runs; others are at their first function. */
enum { MOST_CODE_FILES = 1024, MOST_THROTTLED = 4096 };

static pthread_mutex_t choice_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map function_map; /* address -> region and bits */
static uint32_t parent;             /* what all functions are a part of */
struct rec_throttle rec_throttle = {.calls = 100000, .ns = 1000};

uintptr_t rec_function_known(uintptr_t address)
{
    return rec_map_get(&function_map, address);
}

static void set(uintptr_t address, uintptr_t what)
{
    pthread_mutex_lock(&choice_lock);
    rec_map_put(&function_map, address, what);
    pthread_mutex_unlock(&choice_lock);
}

/* ---- settings ---------------------------------------------------------------------------------
 */

static char filter[REC_MOST_PATH]; /* path; "": there is none */

void rec_functions_prepare(void)
{
    const char *path = getenv("LULL_RECORD_FILTER"), *limit = getenv("LULL_RECORD_THROTTLE");
    if (path)
        snprintf(filter, sizeof filter, "%s", path);
    unsigned long long calls, ns;
    if (limit && strcmp(limit, "none") == 0)
        rec_throttle.calls = 0;
    else if (limit && sscanf(limit, "%llu:%llu", &calls, &ns) == 2)
        rec_throttle = (struct rec_throttle){calls, (double)ns};
}

/* ---- filter -----------------------------------------------------------------------------------
 */

/* As filter/filter.h declares lull_filter_apply. It is in an object of its own, which brings
 * libdw along and is loaded only where there is a filter. */
typedef bool apply_filter(const char *filter_path, const char *object_path, const char *build_id,
                          void (*exclude)(void *context, uint64_t offset), void *context);
static apply_filter *apply; /* NULL: there is no filter, or it cannot be applied */

/* Where files that were looked at are loaded, and 1; a program that is not position-independent is
 * at 0. */
static struct rec_map filtered;

static bool is_filtered(uintptr_t bias)
{
    return rec_map_get(&filtered, bias | 1) != 0;
}

static void add_filtered(uintptr_t bias)
{
    pthread_mutex_lock(&choice_lock);
    rec_map_put(&filtered, bias | 1, true);
    pthread_mutex_unlock(&choice_lock);
}

static void exclude(void *context, uint64_t offset)
{
    const struct rec_loaded *file = context;
    set(file->bias + offset, REC_FUNCTION_EXCLUDED);
}

/* No lock is held: the filter's library may load others. Two threads that come at a time do the
 * same twice. */
static void filter_file_of(uintptr_t address)
{
    uintptr_t bias;
    if (!rec_site_bias(address, &bias) || is_filtered(bias))
        return;
    struct rec_loaded *file = rec_keep(sizeof *file);
    if (!file || !rec_site_loaded(address, file))
        return;
    apply(filter, file->path, file->build_id, exclude, file);
    add_filtered(file->bias);
}

static void load_filter(void)
{
    Dl_info info;
    const void *here = &rec_process;
    char path[REC_MOST_PATH + 32];
    if (dladdr(here, &info) == 0 || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash + 1 - info.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*sliblull-filter.so", length, info.dli_fname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "lull_filter_apply") : NULL;
    memcpy(&apply, &found, sizeof apply);
}

struct code_files {
    uintptr_t codes[MOST_CODE_FILES]; /* an address in each */
    unsigned count;
};

static int add_file(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code_files *files = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && files->count < MOST_CODE_FILES; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            files->codes[files->count++] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            break;
        }
    return 0;
}

void rec_functions_start(void)
{
    if (!*filter)
        return;
    load_filter();
    if (!apply) {
        rec_report_say("%s: cannot be used without liblull-filter.so; all functions are recorded",
                       filter);
        return;
    }
    static struct code_files files;
    dl_iterate_phdr(add_file, &files);
    for (unsigned i = 0; i < files.count; i++)
        filter_file_of(files.codes[i]);
}

/* ---- first calls ------------------------------------------------------------------------------
 */

static uintptr_t define_function(uintptr_t address)
{
    const struct rec_region whole = {.paradigm = LULL_TAPE_PARADIGM_COMPILER,
                                     .role = LULL_TAPE_ROLE_FUNCTION,
                                     .name = "function"};
    const uint32_t any = rec_define_region_once(&parent, &whole);
    const uint32_t region = any != 0 ? rec_site_of_function(any, (const void *)address) : 0;
    return region != 0 ? (uintptr_t)region << REC_FUNCTION_SHIFT | REC_FUNCTION_RECORDED
                       : (uintptr_t)REC_FUNCTION_EXCLUDED;
}

uintptr_t rec_function_learn(uintptr_t address)
{
    const struct rec_aside aside = rec_step_aside();
    if (apply)
        filter_file_of(address);
    pthread_mutex_lock(&choice_lock);
    uintptr_t known = rec_map_get(&function_map, address);
    if (known == 0) {
        known = define_function(address);
        if (!rec_map_put(&function_map, address, known))
            known = REC_FUNCTION_EXCLUDED;
    }
    pthread_mutex_unlock(&choice_lock);
    rec_step_back(&aside);
    return known;
}

/* ---- places -----------------------------------------------------------------------------------
 */

static struct rec_map function_places;

uintptr_t rec_function_place(uintptr_t place)
{
    return rec_map_get(&function_places, place);
}

uintptr_t rec_function_learn_place(uintptr_t function, uintptr_t place, uintptr_t stack)
{
    const struct rec_aside aside = rec_step_aside();
    const struct rec_enclosing found = rec_site_enclosing((const void *)place, (const void *)stack);
    uintptr_t what = REC_PLACE_KNOWN;
    if (found.start != 0 && found.frame >= stack)
        what |= (found.frame - stack) & ~(uintptr_t)7;
    if (found.start != function)
        what |= REC_PLACE_INLINED;
    pthread_mutex_lock(&choice_lock);
    rec_map_put(&function_places, place, what);
    pthread_mutex_unlock(&choice_lock);
    rec_step_back(&aside);
    return what;
}

/* ---- short ones -------------------------------------------------------------------------------
 */

static struct throttled_function {
    uint32_t region;
    uint64_t ns;       /* mean of the calls that decided */
    uint64_t left_out; /* calls since, of threads that have ended */
} throttled_function[MOST_THROTTLED];
static unsigned n_throttled;

void rec_function_throttle(uintptr_t address, uint32_t region, uint64_t ticks)
{
    const double mean = (double)ticks * rec_process.ns_per_tick / (double)rec_throttle.calls;
    if (mean >= rec_throttle.ns)
        return;
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&choice_lock);
    const uintptr_t known = rec_map_get(&function_map, address);
    const bool decided = known & REC_FUNCTION_THROTTLED || n_throttled == MOST_THROTTLED;
    if (!decided) {
        throttled_function[n_throttled++] = (struct throttled_function){region, (uint64_t)mean, 0};
        rec_map_put(&function_map, address, known | REC_FUNCTION_THROTTLED);
    }
    pthread_mutex_unlock(&choice_lock);
    if (!decided)
        rec_define_throttled(region, (uint64_t)mean, LULL_TAPE_NOT_COUNTED);
    rec_step_back(&aside);
}

void rec_function_left_out(uint32_t region, uint64_t calls)
{
    pthread_mutex_lock(&choice_lock);
    for (unsigned i = 0; i < n_throttled; i++)
        if (throttled_function[i].region == region)
            throttled_function[i].left_out += calls;
    pthread_mutex_unlock(&choice_lock);
}

void rec_functions_stop(void)
{
    for (unsigned i = 0; i < n_throttled; i++)
        rec_define_throttled(throttled_function[i].region, throttled_function[i].ns,
                             throttled_function[i].left_out);
}
