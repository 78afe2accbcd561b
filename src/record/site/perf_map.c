/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/site/perf_map.h"

#include "base/clock.h"
#include "base/sorted.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PERF_FUNCTIONS = 1 << 17, PERF_PART = 1 << 16 };

static struct {
    uint64_t read;                       /* bytes of the file that have been read: whole lines */
    struct rec_perf_function *functions; /* [MOST_PERF_FUNCTIONS] ascending by begin, of equal ones
                                            the last one that was written behind */
    size_t n;
} perf_map;

/* ---- the file -------------------------------------------------------------------------------- */

static int64_t process_began; /* as the system stamps files */

__attribute__((constructor)) static void note_begin(void)
{
    process_began = lull_clock_read(CLOCK_REALTIME_COARSE);
}

/* Whether the file is the user's own, and was written by this process: nobody removes those of processes that
 * had the same number before. */
static bool is_own_map(const struct stat *info)
{
    return S_ISREG(info->st_mode) && info->st_uid == geteuid() &&
           info->st_mtim.tv_sec * INT64_C(1000000000) + info->st_mtim.tv_nsec >= process_began;
}

/* Opens the file: it does not stay open, as programs close descriptors that are not theirs. -1: it is not
 * there. */
static int open_perf_map(void)
{
    char path[sizeof "/tmp/perf-.map" + 3 * sizeof(pid_t)];
    struct stat info;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0 && fstat(file, &info) == 0 && is_own_map(&info))
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static bool has_room_for_functions(void)
{
    if (perf_map.functions)
        return true;
    void *room = mmap(NULL, MOST_PERF_FUNCTIONS * sizeof *perf_map.functions,
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    perf_map.functions = room == MAP_FAILED ? NULL : room;
    return perf_map.functions != NULL;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* How many functions begin at the address or before it. */
static size_t count_until(uintptr_t address)
{
    struct lull_bisection at = {.end = perf_map.n};
    while (lull_bisect(&at))
        at.in_front = perf_map.functions[at.middle].begin <= address;
    return at.begin;
}

static void add_perf_function(const struct rec_perf_function *function)
{
    if (perf_map.n == MOST_PERF_FUNCTIONS)
        return;
    const size_t at = count_until(function->begin);
    memmove(perf_map.functions + at + 1, perf_map.functions + at,
            (perf_map.n - at) * sizeof *perf_map.functions);
    perf_map.functions[at] = *function;
    perf_map.n++;
}

/* Adds the function of a line, which ends with a NUL; one that is no such line is passed over. */
static void read_perf_line(const char *line, uint64_t at)
{
    char *end;
    const unsigned long long begin = strtoull(line, &end, 16);
    if (end == line || *end != ' ')
        return;
    const char *next = end + 1;
    const unsigned long long size = strtoull(next, &end, 16);
    if (end == next || *end != ' ' || size == 0 || begin > UINTPTR_MAX - size)
        return;
    add_perf_function(&(const struct rec_perf_function){
        .begin = (uintptr_t)begin, .end = (uintptr_t)(begin + size), .at = at});
}

/* Reads the lines of a part of the file, which begins where `read` says. Returns their bytes: what is
 * behind the last end of a line is still to be written. */
static size_t read_perf_part(char *part, size_t size)
{
    size_t done = 0;
    for (char *end; (end = memchr(part + done, '\n', size - done)) != NULL;
         done = (size_t)(end - part) + 1) {
        *end = '\0';
        read_perf_line(part + done, perf_map.read + done);
    }
    return done == 0 && size == PERF_PART ? size : done; /* no line is so long */
}

void rec_perf_map_look(void)
{
    static char part[PERF_PART];
    size_t done = 1;
    const int file = open_perf_map();
    if (file < 0)
        return;
    while (done > 0 && has_room_for_functions()) {
        const ssize_t got = pread(file, part, sizeof part, (off_t)perf_map.read);
        done = got > 0 ? read_perf_part(part, (size_t)got) : 0;
        perf_map.read += done;
    }
    close(file);
}

struct rec_perf_function *rec_perf_map_find(uintptr_t address)
{
    const size_t until = count_until(address);
    struct rec_perf_function *last = until > 0 ? &perf_map.functions[until - 1] : NULL;
    return last && address < last->end ? last : NULL;
}

void rec_perf_map_name(const struct rec_perf_function *function, struct rec_perf_name *ret_name)
{
    static const char python[] = "py::";
    char *name = ret_name->text;
    const int file = open_perf_map();
    const ssize_t got =
        file >= 0 ? pread(file, name, sizeof ret_name->text - 1, (off_t)function->at) : 0;
    if (file >= 0)
        close(file);
    name[got > 0 ? got : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    for (unsigned i = 0; i < 2; i++) { /* behind both numbers */
        name += strcspn(name, " ");
        name += *name == ' ';
    }
    ret_name->function = name;
    ret_name->file = "";
    if (strncmp(name, python, sizeof python - 1) != 0)
        return;
    ret_name->function = name += sizeof python - 1;
    name += strcspn(name, ":");
    if (*name == ':') {
        *name = '\0';
        ret_name->file = name + 1;
    }
}
