/* Arbitrary bytes as a trace of PyTorch's profiler, plain or gzip, alone in a folder; behind a NUL byte a second file,
 * of another rank. */
#include "support/fuzz_folder.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool gzip = size > 2 && data[0] == 0x1f; /* holds NUL bytes of its own */
    const uint8_t *nul = gzip || size == 0 ? NULL : memchr(data, 0, size);
    const size_t length = nul ? (size_t)(nul - data) : size;
    fuzz_write("a.json", data, length);
    fuzz_write("b.json", nul ? nul + 1 : NULL, nul ? size - length - 1 : 0);
    fuzz_read_trace(fuzz_folder(), NULL);
    return 0;
}
