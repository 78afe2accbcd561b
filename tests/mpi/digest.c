/* What a run holds, in lines that a person can work out from the program: each different event
 * once, with the number of times it occurs. Times are left out.
 *
 *     digest RUN                    events, sorted
 *     digest --sent RUN             bytes of messages that were sent, by the function that did
 *
 * "1.2" is thread 2 of rank 1, "1" its first thread; "2/1" is rank 1 of application 2, counted from
 * 0, which is left out. Communicators are named by their size. */
#include "base/error.h"
#include "trace/scan.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 160 };

static char (*lines)[LINE];
static size_t n_lines, capacity;

__attribute__((format(printf, 1, 2))) static void add(const char *form, ...)
{
    if (n_lines == capacity) {
        capacity = capacity ? capacity * 2 : 1024;
        lines = realloc(lines, capacity * sizeof *lines);
        if (!lines)
            exit(3);
    }
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(lines[n_lines++], LINE, form, arguments);
    va_end(arguments);
}

struct name {
    char text[32];
};

static struct name name_of(const struct lull_trace *trace, int32_t process)
{
    struct name name;
    if (process < 0)
        snprintf(name.text, sizeof name.text, "%d", process);
    else if (trace->processes[process].application == 0)
        snprintf(name.text, sizeof name.text, "%u", trace->processes[process].rank);
    else
        snprintf(name.text, sizeof name.text, "%u/%u", trace->processes[process].application,
                 trace->processes[process].rank);
    return name;
}

static unsigned size_of(const struct lull_trace *trace, uint32_t comm)
{
    return comm < trace->n_comms ? trace->comms[comm].size : 0;
}

static void add_message(const struct lull_trace *trace, const char *who, const char *verb,
                        const struct lull_event *event)
{
    static const char *const modes[] = {"", " buffered", " synchronous"};
    add("%s %s %s tag %d bytes %llu in %u%s", who, verb, name_of(trace, event->message.peer).text,
        event->message.tag, (unsigned long long)event->message.bytes, size_of(trace, event->id),
        modes[event->op]);
}

static void add_event(const struct lull_trace *trace, const char *who,
                      const struct lull_event *event)
{
    static const char *const rma[] = {"put", "get", "atomic", "sync"};
    static const char *const io[] = {"read", "write", "open", "close", "other"};
    switch (event->kind) {
    case LULL_EVENT_CALL:
        for (uint64_t i = 0; i < lull_calls_of(event); i++)
            add("%s calls %s", who, trace->regions[event->id].name);
        break;
    case LULL_EVENT_ENTER:
        add("%s enters %s", who, trace->regions[event->id].name);
        break;
    case LULL_EVENT_SEND:
        add_message(trace, who, "sends", event);
        break;
    case LULL_EVENT_RECV:
        add_message(trace, who, "receives", event);
        break;
    case LULL_EVENT_REQUEST_CANCELLED:
        add("%s cancels", who);
        break;
    case LULL_EVENT_REQUEST_FREED:
        add("%s gives up a receive", who);
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN:
        if (event->op == LULL_COLLECTIVE_CREATE && event->collective.request != LULL_NO_REQUEST)
            add("%s posts %s in %u", who, lull_collective_name(event->op),
                size_of(trace, event->id));
        break;
    case LULL_EVENT_COLLECTIVE_END:
        add("%s %s in %u root %s sent %llu received %llu", who, lull_collective_name(event->op),
            size_of(trace, event->id), name_of(trace, event->collective.root).text,
            (unsigned long long)event->collective.sent,
            (unsigned long long)event->collective.received);
        break;
    case LULL_EVENT_RMA:
        add("%s rma %s to %s bytes %llu", who, rma[event->op],
            name_of(trace, event->transfer.target).text, (unsigned long long)event->transfer.bytes);
        break;
    case LULL_EVENT_IO:
        add("%s io %s bytes %llu", who, io[event->op], (unsigned long long)event->transfer.bytes);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        add("%s measure %s", who, event->kind == LULL_EVENT_MEASURE_ON ? "on" : "off");
        break;
    default:
        break;
    }
}

/* The main part of a process, where its calls of MPI_Init and MPI_Finalize are on the tape, is what
 * lies between them: a length is rounded by itself. */
static void check_main(const struct lull_trace *trace, const char *who, uint32_t location,
                       const struct lull_event *event)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (event->kind != LULL_EVENT_CALL)
        return;
    const char *name = trace->regions[event->id].name;
    const int64_t end = event->time + event->duration;
    if ((strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0) &&
        llabs(process->main_begin - end) > 1)
        add("%s begins its main part %lld ns after %s", who, (long long)(process->main_begin - end),
            name);
    if (strcmp(name, "MPI_Finalize") == 0 && process->main_end != event->time)
        add("%s ends its main part %lld ns after the begin of %s", who,
            (long long)(process->main_end - event->time), name);
}

/* Messages come behind the call that they belong to. */
struct sender {
    uint64_t *bytes; /* by region */
    uint32_t region;
};

static void add_sent(const struct lull_event *event, struct sender *sender)
{
    if (event->kind == LULL_EVENT_CALL)
        sender->region = event->id;
    if (event->kind == LULL_EVENT_SEND && event->message.peer != LULL_PROC_NULL)
        sender->bytes[sender->region] += event->message.bytes;
}

static void put_sent(const struct lull_trace *trace, const char *who, const struct sender *sender)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (sender->bytes[r] > 0)
            printf("%s %s %llu\n", who, trace->regions[r].name,
                   (unsigned long long)sender->bytes[r]);
}

static void add_open(const char *who, const char *what, long long posted, long long done)
{
    if (posted != done)
        add("%s %s %lld not complete", who, what, posted - done);
}

static lull_status digest_location(const struct lull_trace *trace, uint32_t l, bool sent_only,
                                   struct lull_error *err)
{
    const struct lull_location *location = &trace->locations[l];
    char who[64];
    snprintf(who, sizeof who, location->number ? "%s.%u" : "%s",
             name_of(trace, (int32_t)location->process).text, location->number);
    struct lull_cursor *cursor;
    lull_status status = lull_cursor_open(trace, l, LULL_MASK_ALL, &cursor, err);
    if (status != LULL_OK)
        return status;
    struct sender sender = {calloc(trace->n_regions + 1, sizeof *sender.bytes), 0};
    if (!sender.bytes)
        exit(3);
    long long sends = 0, done = 0, begun = 0, ended = 0;
    for (struct lull_block block; (status = lull_cursor_next(cursor, &block, err)) == LULL_OK;) {
        for (uint32_t i = 0; i < block.count; i++) {
            const struct lull_event *event = &block.events[i];
            if (sent_only) {
                add_sent(event, &sender);
                continue;
            }
            add_event(trace, who, event);
            check_main(trace, who, l, event);
            sends += event->kind == LULL_EVENT_SEND && event->message.request != LULL_NO_REQUEST;
            done += event->kind == LULL_EVENT_SEND_DONE;
            begun += event->kind == LULL_EVENT_COLLECTIVE_BEGIN;
            ended += event->kind == LULL_EVENT_COLLECTIVE_END;
        }
        if (block.count == 0)
            break;
    }
    lull_cursor_close(cursor);
    add_open(who, "sends", sends, done);
    add_open(who, "collectives", begun, ended);
    put_sent(trace, who, &sender);
    free(sender.bytes);
    return status;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

int main(int argc, char **argv)
{
    struct lull_error err = {0};
    struct lull_trace *trace;
    bool sent_only = argc == 3 && strcmp(argv[1], "--sent") == 0;
    if (argc != 2 + sent_only)
        return 2;
    lull_status status = lull_trace_open(argv[1 + sent_only], &trace, &err);
    if (status == LULL_OK) {
        for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
            status = digest_location(trace, l, sent_only, &err);
        struct lull_quirk *quirks;
        struct lull_arena *arena = lull_arena_create(abort);
        uint32_t n = lull_trace_quirks(trace, arena, &quirks);
        for (uint32_t q = 0; !sent_only && q < n; q++)
            add("quirk: %s (%s)", quirks[q].kind, quirks[q].first);
        lull_arena_destroy(arena);
        lull_trace_close(trace);
    }
    if (status != LULL_OK) {
        fprintf(stderr, "digest: %s\n", err.text);
        return 1;
    }
    if (n_lines > 0)
        qsort(lines, n_lines, sizeof *lines, compare);
    for (size_t i = 0, next; i < n_lines; i = next) {
        for (next = i + 1; next < n_lines && strcmp(lines[i], lines[next]) == 0;)
            next++;
        printf("%s x%zu\n", lines[i], next - i);
    }
    free(lines);
    return 0;
}
