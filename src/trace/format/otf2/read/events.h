/* What the files of callbacks share: events.c (regions, metrics, the tracer itself),
 * messages.c (messages, collectives, RMA, I/O) and threads.c (threads, tasks, locks).
 * Internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_READ_EVENTS_H
#define LULL_TRACE_FORMAT_OTF2_READ_EVENTS_H

#include "trace/format/otf2/otf2.h"
#include "trace/format/otf2/read/records.h"

/* The arguments that all callbacks share, and those of them that are never used. */
#define COMMON                                                                     \
    OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user, \
        OTF2_AttributeList *attributes
#define IGNORE_COMMON ((void)location, (void)position, (void)attributes)

#define SET(kind, callback) (callbacks->kind = (callback))

/* Every callback adds one event at most, in the place that the stream provides; fields that the
 * kind does not use are left as they are. */
static inline struct lull_event *lull_otf2_add(struct otf2_stream *stream, OTF2_TimeStamp time,
                                               uint8_t kind, uint32_t id)
{
    struct lull_event *event = stream->next++;
    event->time = lull_otf2_ns(&stream->archive->clock, time);
    event->kind = kind;
    event->op = 0;
    event->reserved = 0;
    event->id = id;
    return event;
}

static inline OTF2_CallbackCode
lull_otf2_add_number(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t kind, uint64_t number)
{
    lull_otf2_add(stream, time, kind, LULL_NONE)->number = number;
    return OTF2_CALLBACK_SUCCESS;
}

/* One more oddity of this kind, at "location <its id>: <what> <id>". */
void lull_otf2_add_quirk(const struct otf2_stream *stream, const char *kind, const char *what,
                         uint64_t id);

/* Set the callbacks that the mask needs, and no others: what has none is skipped fast. */
void lull_otf2_set_callbacks(struct lull_otf2_callbacks *callbacks, uint64_t mask);
void lull_otf2_set_messages(struct lull_otf2_callbacks *callbacks, uint64_t mask);
void lull_otf2_set_collectives(struct lull_otf2_callbacks *callbacks, uint64_t mask);
void lull_otf2_set_transfers(struct lull_otf2_callbacks *callbacks, uint64_t mask);
void lull_otf2_set_threads(struct lull_otf2_callbacks *callbacks, uint64_t mask);
void lull_otf2_set_tasks_and_locks(struct lull_otf2_callbacks *callbacks, uint64_t mask);

#endif
