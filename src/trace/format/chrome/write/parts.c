/* What events are made of: names, times, threads. */
#include "trace/format/chrome/write/writer.h"

uint32_t lull_chrome_process_of(const struct lull_chrome *chrome, uint32_t location)
{
    return chrome->trace->locations[location].process;
}

uint32_t lull_chrome_thread_of(const struct lull_chrome *chrome, uint32_t location)
{
    return location -
           chrome->trace->processes[lull_chrome_process_of(chrome, location)].first_location;
}

uint32_t lull_chrome_track_of(const struct lull_chrome *chrome, uint32_t location,
                              enum lull_chrome_track_kind track)
{
    uint32_t n_locations =
        chrome->trace->processes[lull_chrome_process_of(chrome, location)].n_locations;
    return (uint32_t)track * n_locations + lull_chrome_thread_of(chrome, location);
}

void lull_chrome_write_text(struct lull_chrome *chrome, const char *key, const char *text)
{
    lull_json_key(&chrome->json, key);
    lull_json_string(&chrome->json, text);
}

/* Readers of the format hold numbers in doubles or signed 64-bit integers. */
void lull_chrome_write_count(struct lull_chrome *chrome, const char *key, uint64_t count)
{
    lull_json_key(&chrome->json, key);
    if (count <= INT64_MAX)
        lull_json_uint(&chrome->json, count);
    else
        lull_json_number(&chrome->json, (double)count);
}

/* Microseconds are the unit of the format; doubles hold them to the ns for 100 days. */
void lull_chrome_write_time(struct lull_chrome *chrome, const char *key, int64_t ns)
{
    lull_json_key(&chrome->json, key);
    lull_json_number(&chrome->json, (double)ns / 1e3);
}

/* Opens an event; one event per line keeps the file readable. */
void lull_chrome_begin_event(struct lull_chrome *chrome, const char *phase, const char *name,
                             uint32_t location, uint32_t thread)
{
    fputc('\n', chrome->file);
    lull_json_object_begin(&chrome->json);
    lull_chrome_write_text(chrome, "ph", phase);
    lull_chrome_write_text(chrome, "name", name);
    lull_chrome_write_count(chrome, "pid", lull_chrome_process_of(chrome, location));
    lull_chrome_write_count(chrome, "tid", thread);
}

void lull_chrome_end_event(struct lull_chrome *chrome)
{
    lull_json_object_end(&chrome->json);
}

void lull_chrome_write_name(struct lull_chrome *chrome, const char *what, uint32_t location,
                            uint32_t thread, const char *name, const char *more)
{
    char text[256];
    snprintf(text, sizeof text, "%s%s", name, more);
    lull_chrome_begin_event(chrome, "M", what, location, thread);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    lull_chrome_write_text(chrome, "name", text);
    lull_json_object_end(&chrome->json);
    lull_chrome_end_event(chrome);
}

/* Viewers sort tracks by name unless told otherwise. */
void lull_chrome_write_sort_index(struct lull_chrome *chrome, const char *what, uint32_t location,
                                  uint32_t thread, uint32_t index)
{
    lull_chrome_begin_event(chrome, "M", what, location, thread);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    lull_chrome_write_count(chrome, "sort_index", index);
    lull_json_object_end(&chrome->json);
    lull_chrome_end_event(chrome);
}

void lull_chrome_write_span(struct lull_chrome *chrome, uint32_t location, uint32_t thread,
                            const struct lull_chrome_span *span)
{
    lull_chrome_begin_event(chrome, "X", span->name, location, thread);
    lull_chrome_write_text(chrome, "cat", span->category);
    lull_chrome_write_time(chrome, "ts", span->begin);
    lull_chrome_write_time(chrome, "dur", span->end - span->begin);
    if (span->site) {
        lull_json_key(&chrome->json, "args");
        lull_json_object_begin(&chrome->json);
        lull_chrome_write_text(chrome, "site", span->site);
        lull_json_object_end(&chrome->json);
    }
    lull_chrome_end_event(chrome);
}

void lull_chrome_write_region(struct lull_chrome *chrome, uint32_t location, uint32_t index,
                              int64_t begin, int64_t end)
{
    const struct lull_region *region = &chrome->trace->regions[index];
    const struct lull_chrome_span span = {region->name, lull_paradigm_name(region->paradigm), begin,
                                          end, *region->site ? region->site : NULL};
    lull_chrome_write_span(chrome, location, lull_chrome_thread_of(chrome, location), &span);
}
