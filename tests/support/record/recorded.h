/* For tests of the recorder's parts: linked into the test instead of loaded before it, at work, and
 * refused what it asks the system for. */
#ifndef LULL_TESTS_RECORD_RECORDED_H
#define LULL_TESTS_RECORD_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs the program once more as its own child, which records itself into a new folder, and calls
 * `tests` there: a recorder cannot begin a second time in one process. Returns what they return,
 * for the test's group. */
int recorded_main(int (*tests)(void));
/* The same twice: what it records into is a file of the process, then one of the node. */
int recorded_main_both(int (*tests)(void));
/* RUN. */
const char *recorded_run(void);
/* RUN/0/NAME, valid until the next call. */
const char *recorded_path(const char *name);
/* The file that holds all, in either form; valid until the next call. */
const char *recorded_file(void);

/* One part of the run's only process, of all extents one behind the other (enum lull_tape_part); of
 * definitions `number` counts the extents, else it is that of the location. The caller frees it. */
unsigned char *recorded_part(unsigned part, uint32_t number, size_t *ret_size);

/* Until the next call, mappings of more than that many bytes fail with ENOMEM; SIZE_MAX: none. */
void recorded_refuse_memory(size_t above);
/* Until the next call, no file becomes longer: the disk is full. */
void recorded_refuse_space(bool refuse);

/* What the system says of a thread's core. */
enum recorded_core {
    RECORDED_CORE_REAL,  /* what is so */
    RECORDED_CORE_TAKEN, /* no processor time passes, and the thread has never waited: others have
                            its core */
    RECORDED_CORE_WAITS  /* no processor time passes, because the thread waits again and again */
};
/* Until the next call. */
void recorded_set_core(enum recorded_core core);

/* Runs `body` on that many threads at the same time, each with its number. */
void recorded_threads(unsigned n, void (*body)(unsigned number));

#endif
