/* Traces in memory: definitions like any trace, events held per location, served by a pull or a
 * push format. For tests of writers and readers (write a drawn trace, read it back, compare), of
 * scans and of whatever visits events.
 *
 * Limits: what is drawn is valid location by location (order, nesting, requests opened before they
 * complete); messages and collectives of different processes do not fit each other. */
#ifndef LULL_TESTS_MEMORY_TRACE_H
#define LULL_TESTS_MEMORY_TRACE_H

#include "stats/random.h"
#include "trace/format.h"

/* ---- made by hand ---------------------------------------------------------------------------- */

/* A trace whose path is "memory"; definitions are the caller's to fill. */
struct lull_trace *memory_trace_create(void);

/* Defines `threads` threads in each of `processes` processes, all in application 0, and the
 * regions named, with paradigm USER (so that the name decides), ended by NULL; completes the
 * trace. */
struct lull_trace *memory_trace_simple(uint32_t processes, uint32_t threads, int64_t duration,
                                       const char *const *regions);

/* Defines communicator 0, "world", of so many processes. */
void memory_trace_world(struct lull_trace *trace, uint32_t processes);

/* Appends an event; readings are copied. Order is the caller's: wrong order is served as it is. */
void memory_trace_add(struct lull_trace *trace, uint32_t location, const struct lull_event *event);
void memory_trace_clear(struct lull_trace *trace, uint32_t location); /* drops its events */
/* Puts all locations into a region from their last event to the end of the run. */
void memory_trace_end_in(struct lull_trace *trace, uint32_t region);
struct lull_event memory_event(int64_t time, unsigned kind, uint32_t id);
struct lull_event memory_span(int64_t time, unsigned kind, uint32_t id, int64_t duration);

/* Serve the events location by location (as made), or as one sequence merged by time. */
extern const struct lull_format memory_format_pull;
extern const struct lull_format memory_format_push;

/* Events of a location as they were added; does not look at masks. */
const struct lull_event *memory_trace_events(const struct lull_trace *trace, uint32_t location,
                                             uint32_t *ret_count);

/* ---- drawn ----------------------------------------------------------------------------------- */

struct memory_trace_options {
    uint32_t events;           /* per location, about; 0: 300 */
    uint64_t without;          /* kinds that must not occur (CALL: they become ENTER and LEAVE) */
    bool without_states;       /* the same as kind STATE and has_states together */
    bool with_states;          /* has_states for certain, else in half of the traces */
    bool without_devices;      /* only CPU threads */
    bool without_applications; /* only one application */
    bool without_intercomms;
    bool without_teams;     /* no communicators of threads */
    bool without_listed;    /* only communicators of consecutive processes */
    bool without_extremes;  /* times below an hour, bytes below 2^31, no more than 15 readings at
                               once, plain ASCII names */
    bool without_wildcards; /* neither LULL_ANY nor LULL_PROC_NULL */
    bool samples;           /* also SAMPLEs, of the objects that the trace has then */
    bool operations;        /* also what is submitted to devices, and what these did */
};

/* NULL options: everything. Served by memory_format_pull. */
struct lull_trace *memory_trace_draw(struct lull_random *random,
                                     const struct memory_trace_options *options);

#endif
