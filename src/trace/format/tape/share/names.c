/* Names of call sites: the files of the program are opened by the first member alone. */
#include "trace/format/tape/share/share.h"

/* Of a region; its name, file and site follow. */
struct named {
    uint32_t region, line, whole, reserved;
};

static void tell_names(const struct lull_trace *trace, struct lull_tape_words *words)
{
    const struct lull_tape_data *data = trace->format_data;
    for (const struct lull_tape_site *site = data->sites; site; site = site->next) {
        const struct lull_region *region = &trace->regions[site->region];
        const struct named named = {
            .region = site->region, .line = region->line, .whole = region->whole};
        lull_tape_say(words, &named, sizeof named);
        lull_tape_say_text(words, region->name);
        lull_tape_say_text(words, region->file ? region->file : "");
        lull_tape_say_text(words, region->site ? region->site : "");
    }
}

static lull_status hear_names(void *context, uint32_t index, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct lull_trace *trace = context;
    const struct lull_tape_data *data = trace->format_data;
    const unsigned char *at = bytes;
    struct lull_tape_ear ear = {at, at + size, false};
    struct named named;
    while (data->share->exchange->index != 0 && !ear.bad && ear.at < ear.end) {
        lull_tape_hear(&ear, &named, sizeof named);
        if (ear.bad || named.region >= trace->n_regions)
            return lull_tape_other_run(trace, err);
        struct lull_region *region = &trace->regions[named.region];
        region->line = named.line;
        region->whole = named.whole;
        region->name = lull_arena_strdup(trace->arena, lull_tape_hear_text(&ear));
        region->file = lull_arena_strdup(trace->arena, lull_tape_hear_text(&ear));
        region->site = lull_arena_strdup(trace->arena, lull_tape_hear_text(&ear));
    }
    (void)index;
    return ear.bad ? lull_tape_other_run(trace, err) : LULL_OK;
}

lull_status lull_tape_share_names(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_words words = {0};
    lull_status status = LULL_OK;
    if (data->n_addresses == 0) /* as all know */
        return LULL_OK;
    if (data->share->exchange->index == 0) {
        status = lull_tape_name_sites(trace, err);
        if (status == LULL_OK)
            tell_names(trace, &words);
    }
    return lull_tape_tell_all(trace, &words, status, hear_names, trace, err);
}
