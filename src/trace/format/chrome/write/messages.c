/* Messages become flow arrows without being stored: the n-th send and the n-th receive of a channel
 * (communicator, source, destination, tag) compute the same id. */
#include "base/array.h"
#include "trace/format/chrome/write/writer.h"

#include <inttypes.h>
#include <stdio.h>

/* Channels beyond this number get no arrows: memory stays bounded. */
enum { MOST_CHANNELS = 1 << 18 };

/* Both ends of a message compute its id from the same numbers. */
static uint64_t mix(uint64_t id, uint64_t value)
{
    id = (id ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return id ^ id >> 29;
}

static uint64_t mix_channel(const struct lull_chrome_channel *channel)
{
    uint64_t id = mix(0, channel->comm);
    id = mix(id, (uint64_t)channel->source << 32 | channel->destination);
    return mix(id, (uint32_t)channel->tag);
}

/* NULL when there are too many channels, or too little memory: arrows are worth no failure. */
static struct lull_chrome_passed *find_passed(struct lull_chrome *chrome,
                                              const struct lull_chrome_channel *channel)
{
    const size_t count = chrome->channels.count;
    uint64_t *index = lull_hash_find(&chrome->channels, channel, sizeof *channel);
    if (index)
        return &chrome->passed[*index];
    if (count == MOST_CHANNELS ||
        !lull_array_reserve(&chrome->passed, &chrome->passed_capacity, count + 1,
                            sizeof *chrome->passed) ||
        !lull_hash_add(&chrome->channels, channel, sizeof *channel, count, NULL))
        return NULL;
    chrome->passed[count] = (struct lull_chrome_passed){0};
    return &chrome->passed[count];
}

void lull_chrome_write_arrow(struct lull_chrome *chrome, uint32_t location,
                             const struct lull_event *event)
{
    bool send = event->kind == LULL_EVENT_SEND;
    if (event->message.peer < 0)
        return;
    uint32_t self = lull_chrome_process_of(chrome, location), peer = (uint32_t)event->message.peer;
    const struct lull_chrome_channel channel = {.comm = event->id,
                                                .source = send ? self : peer,
                                                .destination = send ? peer : self,
                                                .tag = event->message.tag};
    struct lull_chrome_passed *passed = find_passed(chrome, &channel);
    if (!passed)
        return;
    uint64_t number = send ? passed->sent++ : passed->received++;
    char id[20];
    snprintf(id, sizeof id, "%016" PRIx64, mix(mix_channel(&channel), number));
    lull_chrome_begin_event(chrome, send ? "s" : "f", "message", location,
                            lull_chrome_thread_of(chrome, location));
    lull_chrome_write_text(chrome, "cat", "message");
    lull_chrome_write_text(chrome, "id", id);
    if (!send)
        lull_chrome_write_text(chrome, "bp",
                               "e"); /* ends at the span around it, not at the next one */
    lull_chrome_write_time(chrome, "ts", event->time);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    lull_chrome_write_count(chrome, "bytes", event->message.bytes);
    lull_json_object_end(&chrome->json);
    lull_chrome_end_event(chrome);
}
