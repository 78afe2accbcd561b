/* Files of processes from a blob: two lengths of 16 bits, then the contents of as many files. */
#include "support/fuzz_folder.h"
#include "tape/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_files(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"0/0.tape", "0/1.tape"};
    struct fuzz_part parts[2];
    char path[4400];
    snprintf(path, sizeof path, "%s/0", fuzz_folder());
    mkdir(path, 0700);
    fuzz_write(LULL_TAPE_ANCHOR_NAME, (const uint8_t *)LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR));
    fuzz_split(data, size, parts, 2);
    for (int f = 0; f < 2; f++)
        fuzz_write(names[f], parts[f].bytes, parts[f].size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    write_files(data, size);
    fuzz_read_trace(fuzz_folder(), fuzz_read_sums);
    return 0;
}
