/* One rank of a run, reduced to its iterations. Internal to the wave room.
 *
 * A *phase* is a call that waits for messages, with all messages sent and received since the phase
 * before it. The phases of a rank repeat; the shortest sequence of phases that does is an
 * iteration. Where the program marks its iterations, they are what lies from mark to mark instead.
 * Memory while a rank is followed: 24 bytes per phase; afterwards 16 bytes per iteration. */
#ifndef LULL_WAVE_ROW_H
#define LULL_WAVE_ROW_H

#include "wave/field.h"

#include <stddef.h>

struct lull_wave_phase {
    int64_t begin, end; /* of the call */
    uint32_t kind;
};

/* Phases with the same messages are of one kind. */
struct lull_wave_phase_kind {
    uint64_t hash;         /* of the messages, in any order */
    uint32_t first, count; /* messages */
    uint32_t shape; /* number of messages sent and received, for programs that change partners */
};

struct lull_wave_builder {
    struct lull_wave_phase *phases;
    size_t n_phases, phases_room;
    struct lull_wave_phase_kind *kinds;
    size_t n_kinds, kinds_room, next_kind; /* next_kind: probably the next one */
    struct lull_wave_message *messages;    /* of all kinds, then of the phase that is open */
    size_t n_messages, messages_room, first_open;
    uint64_t open_hash;
    uint32_t open_sent, open_received;
    struct lull_wave_collective *collectives;
    size_t n_collectives, collectives_room;
    size_t *marks; /* how many phases there are before each */
    size_t n_marks, marks_room;
};

/* All return false when memory runs out. */
bool lull_wave_builder_message(struct lull_wave_builder *builder, bool send, uint32_t peer,
                               uint64_t bytes);
/* A call that waits has ended; without messages since the last one it is no phase. */
bool lull_wave_builder_wait(struct lull_wave_builder *builder, int64_t begin, int64_t end);
bool lull_wave_builder_collective(struct lull_wave_builder *builder, uint8_t operation,
                                  int64_t begin, int64_t end);
/* The program says that an iteration begins. */
bool lull_wave_builder_mark(struct lull_wave_builder *builder);
/* Finds the iterations, those that were marked or those that repeat. `begin`: when the first one
 * may have begun at the earliest. Empties the builder. A rank without three iterations gets none.
 */
bool lull_wave_builder_finish(struct lull_wave_builder *builder, int64_t begin, bool marked,
                              struct lull_wave_row *ret_row);
void lull_wave_builder_free(struct lull_wave_builder *builder);

#endif
