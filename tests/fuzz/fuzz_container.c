/* The file of a node, as its processes record it, from a blob. */
#include "support/fuzz_folder.h"
#include "tape/layout.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_write(LULL_TAPE_ANCHOR_NAME, (const uint8_t *)LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR));
    fuzz_write("n.tapes", data, size);
    fuzz_read_trace(fuzz_folder(), fuzz_read_sums);
    return 0;
}
