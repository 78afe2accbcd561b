/* A folder of its own for a fuzz target, filled with files from one input. */
#ifndef LULL_TESTS_FUZZ_FOLDER_H
#define LULL_TESTS_FUZZ_FOLDER_H

#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

/* Made at the first call, removed at the end of the process. In memory where that is possible. */
const char *fuzz_folder(void);

/* Writes a file of the folder anew; without bytes there is none. */
void fuzz_write(const char *name, const uint8_t *bytes, size_t size);

/* The parts of an input: as many lengths of 16 bits as there are parts, little endian, and the
 * parts one after the other. What is too short has short parts, or none. */
struct fuzz_part {
    const uint8_t *bytes;
    size_t size;
};
void fuzz_split(const uint8_t *data, size_t size, struct fuzz_part *parts, size_t count);

/* Opens and reads a run. Aborts where a promise about events is broken or a refusal is not one line
 * of text. `more` then sees the trace, also one that could not be read to its end; may be NULL. */
void fuzz_read_trace(const char *path, void (*more)(const struct lull_trace *trace));
/* For that: reads all sums. */
void fuzz_read_sums(const struct lull_trace *trace);

#endif
