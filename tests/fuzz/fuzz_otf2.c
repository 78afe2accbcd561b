/* OTF2 archives from a blob: the anchor, the global definitions, and of two locations the events
 * and the local definitions, as fuzz_split cuts them. A part of length 0 does not exist.
 * fuzz/pack_otf2.py makes such a blob of an archive. */
#include "support/fuzz_folder.h"

#include <stdio.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

/* libotf2 (2.3, 3.0) loses memory in many places where it finds damage: for an archive or a file
 * that it cannot open, for a definition that breaks off. What it allocates is not looked at. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libopen-trace-format2\nleak:libotf2\n";
}

/* Nor how much: it believes any number of members of a group, takes as much memory as these need, even fills it in some
 * definitions, and copes where there is no room. So there is none for more than 256 MiB. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

static const char *const files[] = {"traces.otf2",  "traces.def",   "traces/0.evt",
                                    "traces/1.evt", "traces/0.def", "traces/1.def"};
enum { FILES = sizeof files / sizeof *files };

static void write_archive(const uint8_t *data, size_t size)
{
    struct fuzz_part parts[FILES];
    char path[4400];
    snprintf(path, sizeof path, "%s/traces", fuzz_folder());
    mkdir(path, 0700);
    fuzz_split(data, size, parts, FILES);
    for (size_t i = 0; i < FILES; i++)
        fuzz_write(files[i], parts[i].bytes, parts[i].size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[4400];
    write_archive(data, size);
    snprintf(path, sizeof path, "%s/traces.otf2", fuzz_folder());
    fuzz_read_trace(path, NULL);
    return 0;
}
