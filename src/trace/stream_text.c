/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/stream_text.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Behind the last of them is the name of the device, which may hold anything. */
#define BETWEEN " | "

const char *lull_stream_print(const struct lull_trace *trace, uint32_t location,
                              struct lull_arena *arena)
{
    const struct lull_stream *stream = trace->locations[location].stream;
    const struct lull_device *device = &trace->devices[stream->device];
    const char *priority =
        stream->has_priority ? lull_arena_printf(arena, "priority %d, ", stream->priority) : "";
    return lull_arena_printf(arena,
                             "context %" PRIu32 ", in order %d, default %d, lost %" PRIu64
                             ", clock error %.17g ns, %s%s" BETWEEN "%s" BETWEEN "%s",
                             stream->context, stream->in_order, stream->is_default, stream->lost,
                             stream->clock_error, priority, device->runtime, device->key,
                             device->name);
}

/* Takes the text before BETWEEN, and moves *text behind that. A device may have no name, and readers of lines take the space at
 * their end off. NULL: there is none. */
static const char *take_stream_part(struct lull_trace *trace, const char **text)
{
    static const char nameless[] = " |";
    const char *begin = *text, *end = strstr(begin, BETWEEN), *last = begin + strlen(begin);
    const bool ends = !end && last - begin >= (ptrdiff_t)strlen(nameless) &&
                      strcmp(last - strlen(nameless), nameless) == 0;
    if (ends)
        end = last - strlen(nameless);
    if (!end)
        return NULL;
    *text = ends ? last : end + strlen(BETWEEN);
    return lull_arena_strndup(trace->arena, begin, (size_t)(end - begin));
}

void lull_stream_parse(struct lull_trace *trace, uint32_t location, const char *text,
                       size_t *capacity)
{
    struct lull_location *definition = &trace->locations[location];
    struct lull_stream stream = {.device = trace->n_devices};
    int in_order = 0, is_default = 0, read = 0, priority = 0, more = 0;
    if (definition->kind != LULL_LOCATION_DEVICE || definition->stream ||
        sscanf(text,
               "context %" SCNu32 ", in order %d, default %d, lost %" SCNu64
               ", clock error %lf ns, %n",
               &stream.context, &in_order, &is_default, &stream.lost, &stream.clock_error,
               &read) != 5 ||
        read == 0)
        return;
    text += read;
    stream.has_priority = sscanf(text, "priority %d, %n", &priority, &more) == 1 && more > 0 &&
                          priority >= INT16_MIN && priority <= INT16_MAX;
    if (stream.has_priority) {
        stream.priority = (int16_t)priority;
        text += more;
    }
    const char *runtime = take_stream_part(trace, &text),
               *key = runtime ? take_stream_part(trace, &text) : NULL;
    if (!key)
        return;
    stream.in_order = in_order != 0;
    stream.is_default = is_default != 0;
    if (!(stream.clock_error >= 0 && stream.clock_error < 1e18)) /* not known, or damage */
        stream.clock_error = -1;
    definition->stream = lull_arena_zero(trace->arena, 1, sizeof stream);
    *definition->stream = stream;
    trace->devices = lull_arena_grow(trace->arena, trace->devices, capacity,
                                     trace->n_devices + (size_t)1, sizeof *trace->devices);
    trace->devices[trace->n_devices++] =
        (struct lull_device){.name = lull_arena_strdup(trace->arena, text),
                             .runtime = runtime,
                             .key = key,
                             .node = LULL_NONE};
}

void lull_join_devices(struct lull_trace *trace)
{
    struct lull_hash known = {0};
    uint32_t n = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_stream *stream = trace->locations[l].stream;
        if (!stream)
            continue;
        struct lull_device device = trace->devices[stream->device];
        bool fresh = true;
        device.node = trace->processes[trace->locations[l].process].node;
        const char *text = lull_arena_printf(trace->arena, "%u\n%s\n%s\n%s", device.node,
                                             device.runtime, device.key, device.name);
        const uint64_t *index = lull_hash_add(&known, text, strlen(text), n, &fresh);
        stream->device = index ? (uint32_t)*index : n; /* without memory each has its own */
        if (fresh)
            trace->devices[n++] = device;
    }
    trace->n_devices = n;
    lull_hash_free(&known);
}
