/* Tapes made record by record, as a recorder writes them: for tests of the reader. */
#ifndef LULL_TESTS_TAPE_MAKER_H
#define LULL_TESTS_TAPE_MAKER_H

#include "tape/definition.h"
#include "tape/records.h"

/* One location. Zero it, set what the header shall say differently, and write. */
struct tape_maker {
    struct lull_tape_header header;
    union lull_tape_slot *slots; /* malloc'd */
    size_t count, capacity;
};

/* An open, recorder-like header: ids of the process, thread, name "p.n". */
void tape_begin(struct tape_maker *maker, uint32_t process, uint32_t number);
/* `count` cleared slots at the end; before them a PAD where they would cross a chunk. */
union lull_tape_slot *tape_room(struct tape_maker *maker, unsigned count);
/* A record with cleared extra slots; returns its first slot. */
union lull_tape_slot *tape_record(struct tape_maker *maker, uint64_t time, unsigned kind,
                                  unsigned extra, uint32_t id, uint32_t value);
void tape_call(struct tape_maker *maker, uint64_t time, uint32_t region, uint64_t duration);
void tape_message_call(struct tape_maker *maker, unsigned kind, uint64_t time, uint32_t region,
                       uint32_t duration, int32_t peer, int32_t tag, uint32_t comm, uint64_t bytes);
/* Puts header and records into RUN/<group>/<p>.tape, with the last `behind` slots not committed, and
 * frees the slots. */
void tape_write(struct tape_maker *maker, const char *run, size_t behind);

/* The definitions of a process, or of the run. */
struct definitions_maker {
    struct lull_tape_definitions_header header;
    unsigned char *bytes;
    size_t size;
};

void definitions_begin(struct definitions_maker *maker, uint32_t process);
/* Fields as text: u 32 bits, U 64 bits, f double, s text. */
void definitions_add(struct definitions_maker *maker, unsigned kind, uint32_t id,
                     const char *fields, ...);
void define_region(struct definitions_maker *maker, uint32_t id, const char *name);
/* A communicator of `listed` members given, or of none listed. */
void define_comm(struct definitions_maker *maker, uint32_t id, uint64_t key, uint32_t size,
                 const uint32_t *members, uint32_t remote, const char *name);
void definitions_write(struct definitions_maker *maker, const char *run);

/* The anchor and folder 0. */
void run_begin(const char *run);

#endif
