#include "support/record/recorded.h"

#include "support/folder.h"
#include "support/test.h"
#include "tape/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char run[4096];
static const char *const child_says = "LULL_TESTS_RECORDED"; /* its run: set in the child alone */

/* ---- at work ----------------------------------------------------------------------------------
 */

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

int recorded_main(int (*tests)(void))
{
    if (getenv(child_says)) {
        snprintf(run, sizeof run, "%s", getenv(child_says));
        return tests();
    }
    int status = 1;
    folder_make();
    snprintf(run, sizeof run, "%s", folder_path("run"));
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        setenv("LULL_RECORD_DIR", run, 1);
        setenv("LULL_RECORD_QUIET", "1", 1);
        setenv(child_says, run, 1);
        execl("/proc/self/exe", "recorded", "--only", test_group_running(), (char *)NULL);
        _exit(1);
    }
    must(waitpid(child, &status, 0) == child, "waitpid");
    folder_remove();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int recorded_main_both(int (*tests)(void))
{
    int status = recorded_main(tests);
    if (status == 0 && !getenv(child_says)) {
        setenv("LULL_RECORD_STORE", "node", 1);
        status = recorded_main(tests);
    }
    return status;
}

const char *recorded_run(void)
{
    return run;
}

const char *recorded_file(void)
{
    static char path[4400];
    const char *own = recorded_path("0.tape");
    DIR *folder = access(own, F_OK) == 0 ? NULL : opendir(run);
    snprintf(path, sizeof path, "%s", own);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strstr(entry->d_name, LULL_TAPE_NODE_ENDING))
            snprintf(path, sizeof path, "%s/%s", run, entry->d_name);
    if (folder)
        closedir(folder);
    return path;
}

const char *recorded_path(const char *name)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/0/%s", run, name);
    return path;
}

/* Where the header of the only process stands. */
static size_t base_of(const unsigned char *file)
{
    struct lull_tape_container_entry entry;
    memcpy(&entry, file + sizeof(struct lull_tape_container_header), sizeof entry);
    return memcmp(file, LULL_TAPE_NODE_MAGIC, 8) == 0 ? entry.place : 0;
}

/* The n-th extent. */
static struct lull_tape_extent extent_of(const unsigned char *file, uint32_t n)
{
    struct lull_tape_process_header header;
    struct lull_tape_extent extent;
    uint32_t place;
    const int table = lull_tape_table_of(n, &place);
    const size_t base = base_of(file);
    memcpy(&header, file + base, sizeof header);
    memcpy(&extent,
           file + (table < 0 ? base + sizeof header : header.tables[table]) + place * sizeof extent,
           sizeof extent);
    return extent;
}

unsigned char *recorded_part(unsigned part, uint32_t number, size_t *ret_size)
{
    size_t size, seen = 0;
    unsigned char *file = folder_read(recorded_file(), &size), *all = malloc(size);
    struct lull_tape_process_header header;
    must(all != NULL, "malloc");
    memcpy(&header, file + base_of(file), sizeof header);
    *ret_size = 0;
    for (uint32_t n = 0; n < header.n_extents; n++) {
        const struct lull_tape_extent extent = extent_of(file, n);
        const bool definitions = extent.part == LULL_TAPE_PART_DEFINITIONS;
        if (extent.part != part || (definitions ? seen++ : extent.location) != number)
            continue;
        const size_t from = (size_t)extent.page * LULL_TAPE_PAGE;
        const size_t more = (size_t)extent.pages * LULL_TAPE_PAGE;
        must(from + more <= size || part == LULL_TAPE_PART_RECORDS, "extent");
        const size_t there = from >= size ? 0 : size - from < more ? size - from : more;
        memcpy(all + *ret_size, file + from, there);
        *ret_size += there;
    }
    free(file);
    return all;
}

struct started {
    pthread_t thread;
    void (*body)(unsigned);
    unsigned number;
};

static void *start(void *argument)
{
    const struct started *started = argument;
    started->body(started->number);
    return NULL;
}

void recorded_threads(unsigned n, void (*body)(unsigned number))
{
    struct started all[64];
    must(n <= sizeof all / sizeof *all, "too many threads");
    for (unsigned i = 0; i < n; i++) {
        all[i] = (struct started){.body = body, .number = i};
        must(pthread_create(&all[i].thread, NULL, start, &all[i]) == 0, "pthread_create");
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(all[i].thread, NULL);
}

/* ---- refused ----------------------------------------------------------------------------------
 *
 * The linker leads the calls of all that is linked statically to these (--wrap). */

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__real_mremap(void *, size_t, size_t, int, ...);
int __real_posix_fallocate(int, off_t, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mremap(void *, size_t, size_t, int, ...);
int __wrap_posix_fallocate(int, off_t, off_t);
int __real_clock_gettime(clockid_t, struct timespec *);
int __real_getrusage(int, struct rusage *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
int __wrap_getrusage(int, struct rusage *);

static size_t most = SIZE_MAX;       /* atomic */
static bool full;                    /* atomic */
static enum recorded_core core_told; /* atomic */

void recorded_refuse_memory(size_t above)
{
    __atomic_store_n(&most, above, __ATOMIC_RELAXED);
}

void recorded_refuse_space(bool refuse)
{
    __atomic_store_n(&full, refuse, __ATOMIC_RELAXED);
}

void recorded_set_core(enum recorded_core core)
{
    __atomic_store_n(&core_told, core, __ATOMIC_RELAXED);
}

static bool refuses(size_t size)
{
    if (size <= __atomic_load_n(&most, __ATOMIC_RELAXED))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
    return refuses(size) ? MAP_FAILED : __real_mmap(place, size, protection, flags, fd, offset);
}

void *__wrap_mremap(void *place, size_t size, size_t wanted, int flags, ...)
{
    if (refuses(wanted))
        return MAP_FAILED;
    if (!(flags & MREMAP_FIXED))
        return __real_mremap(place, size, wanted, flags);
    va_list arguments;
    va_start(arguments, flags);
    void *target = va_arg(arguments, void *);
    va_end(arguments);
    return __real_mremap(place, size, wanted, flags, target);
}

int __wrap_posix_fallocate(int fd, off_t offset, off_t size)
{
    return __atomic_load_n(&full, __ATOMIC_RELAXED) ? ENOSPC
                                                    : __real_posix_fallocate(fd, offset, size);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_THREAD_CPUTIME_ID ||
        __atomic_load_n(&core_told, __ATOMIC_RELAXED) == RECORDED_CORE_REAL)
        return __real_clock_gettime(clock, now);
    *now = (struct timespec){.tv_sec = 1};
    return 0;
}

int __wrap_getrusage(int who, struct rusage *usage)
{
    static long waits;
    const int status = __real_getrusage(who, usage);
    const enum recorded_core core = __atomic_load_n(&core_told, __ATOMIC_RELAXED);
    if (core != RECORDED_CORE_REAL)
        usage->ru_nvcsw = 0;
    if (core == RECORDED_CORE_WAITS)
        usage->ru_nvcsw = __atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED);
    return status;
}
