/* The companions of a .prv: names of states, event types and values (.pcf), of nodes and threads
 * (.row). Both are optional, and what they hold is taken as it comes. */
#include "trace/format/paraver/paraver.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const char *lull_prv_sibling(const char *path, const char *suffix, struct lull_arena *arena)
{
    size_t length = strlen(path);
    if (length > 3 && strcasecmp(path + length - 3, ".gz") == 0)
        length -= 3;
    if (length > 4 && strncasecmp(path + length - 4, ".prv", 4) == 0)
        length -= 4;
    return lull_arena_printf(arena, "%.*s%s", (int)length, path, suffix);
}

/* ---- text ------------------------------------------------------------------------------------ */

struct text {
    const char *at, *end;
};

static struct text text_of_mapping(const struct lull_mapping *mapping)
{
    const char *begin = mapping->size ? (const char *)mapping->data : "";
    return (struct text){begin, begin + mapping->size};
}

/* A line without white space at its ends; false at the end of the text. */
static bool next_line(struct text *text, const char **ret_line, size_t *ret_length)
{
    if (text->at == text->end)
        return false;
    const char *from = text->at;
    const char *to = memchr(from, '\n', (size_t)(text->end - from));
    text->at = to ? to + 1 : text->end;
    if (!to)
        to = text->end;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    *ret_line = from;
    *ret_length = (size_t)(to - from);
    return true;
}

/* "<number> <rest>"; false if the line does not begin with a number. */
static bool take_number(const char **line, size_t *length, uint64_t *ret_number)
{
    uint64_t value = 0;
    size_t digits = 0;
    while (digits < *length && isdigit((unsigned char)(*line)[digits])) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)((*line)[digits] - '0'), &value))
            return false;
        digits++;
    }
    if (digits == 0)
        return false;
    while (digits < *length && isspace((unsigned char)(*line)[digits]))
        digits++;
    *line += digits;
    *length -= digits;
    *ret_number = value;
    return true;
}

static bool is_word(const char *line, size_t length, const char *word)
{
    return length == strlen(word) && strncmp(line, word, length) == 0;
}

static lull_status open_companion(const struct lull_trace *trace, const char *suffix,
                                  struct lull_mapping *ret_mapping)
{
    const char *path = lull_prv_sibling(trace->path, suffix, trace->arena);
    struct lull_error err;
    if (access(path, F_OK) != 0) {
        lull_trace_add_quirk(trace,
                             strcmp(suffix, ".pcf") == 0
                                 ? "there is no .pcf file; event types are called by number"
                                 : "there is no .row file; threads are called by number",
                             "expected '%s'", path);
        return LULL_ERR_IO;
    }
    lull_status status = lull_map_file(path, ret_mapping, &err);
    if (status != LULL_OK)
        lull_trace_add_quirk(trace, "a file of names cannot be read; done without", "%s", err.text);
    return status;
}

/* ---- .pcf ------------------------------------------------------------------------------------ */

enum section { OTHER, STATES, EVENT_TYPES, VALUES };

struct pcf {
    const struct lull_trace *trace;
    struct lull_prv_labels *labels;
    enum section section;
    size_t block; /* first type of the current EVENT_TYPE block */
    struct lull_prv_label *values;
    size_t n_values, values_capacity;
};

/* All types of a block share its values. */
static void end_block(struct pcf *pcf)
{
    for (size_t i = pcf->block; i < pcf->labels->n_types; i++) {
        pcf->labels->types[i].values = pcf->values;
        pcf->labels->types[i].n_values = pcf->n_values;
    }
    pcf->block = pcf->labels->n_types;
    pcf->values = NULL;
    pcf->n_values = pcf->values_capacity = 0;
}

static bool begin_section(struct pcf *pcf, const char *line, size_t length)
{
    if (is_word(line, length, "VALUES")) {
        pcf->section = VALUES;
        return true;
    }
    if (length == 0 || !isupper((unsigned char)line[0]))
        return false;
    end_block(pcf);
    pcf->section = is_word(line, length, "STATES")       ? STATES
                   : is_word(line, length, "EVENT_TYPE") ? EVENT_TYPES
                                                         : OTHER;
    return true;
}

static struct lull_prv_label make_label(const struct pcf *pcf, uint64_t number, const char *text,
                                        size_t length)
{
    return (struct lull_prv_label){number, lull_arena_strndup(pcf->trace->arena, text, length)};
}

static void read_pcf_line(struct pcf *pcf, const char *line, size_t length)
{
    struct lull_prv_labels *labels = pcf->labels;
    struct lull_arena *arena = pcf->trace->arena;
    uint64_t number, gradient;
    if (begin_section(pcf, line, length) || pcf->section == OTHER)
        return;
    if (!take_number(&line, &length, pcf->section == EVENT_TYPES ? &gradient : &number))
        return;
    if (pcf->section == EVENT_TYPES && !take_number(&line, &length, &number))
        return;
    struct lull_prv_label label = make_label(pcf, number, line, length);
    switch (pcf->section) {
    case STATES:
        labels->states = lull_arena_grow(arena, labels->states, &labels->states_capacity,
                                         labels->n_states + 1, sizeof *labels->states);
        labels->states[labels->n_states++] = label;
        break;
    case EVENT_TYPES:
        labels->types = lull_arena_grow(arena, labels->types, &labels->types_capacity,
                                        labels->n_types + 1, sizeof *labels->types);
        labels->types[labels->n_types++] =
            (struct lull_prv_label_type){.number = number, .text = label.text};
        break;
    default:
        pcf->values = lull_arena_grow(arena, pcf->values, &pcf->values_capacity, pcf->n_values + 1,
                                      sizeof *pcf->values);
        pcf->values[pcf->n_values++] = label;
    }
}

void lull_prv_read_pcf(const struct lull_trace *trace, struct lull_prv_labels *labels)
{
    struct lull_mapping mapping;
    if (open_companion(trace, ".pcf", &mapping) != LULL_OK)
        return;
    labels->found = true;
    struct text text = text_of_mapping(&mapping);
    struct pcf pcf = {.trace = trace, .labels = labels};
    const char *line;
    size_t length;
    while (next_line(&text, &line, &length))
        read_pcf_line(&pcf, line, length);
    end_block(&pcf);
    lull_unmap(&mapping);
}

/* ---- .row ------------------------------------------------------------------------------------ */

struct level {
    char word[16];
    uint32_t count; /* of the objects in the trace */
    void (*rename)(struct lull_trace *trace, uint32_t index, const char *name);
};

static void rename_node(struct lull_trace *trace, uint32_t index, const char *name)
{
    trace->nodes[index].name = name;
}

static void rename_process(struct lull_trace *trace, uint32_t index, const char *name)
{
    trace->processes[index].name = name;
}

static void rename_location(struct lull_trace *trace, uint32_t index, const char *name)
{
    struct lull_location *location = &trace->locations[index];
    bool stream = strncmp(name, LULL_PRV_STREAM, strlen(LULL_PRV_STREAM)) == 0;
    if (stream || strncmp(name, "CUDA-D", 6) == 0)
        location->kind = LULL_LOCATION_DEVICE;
    location->name = stream ? name + strlen(LULL_PRV_STREAM) : name;
}

/* "LEVEL THREAD SIZE 8" */
static const struct level *find_level(const struct level *levels, size_t n, const char *line,
                                      size_t length)
{
    for (size_t i = 0; i < n; i++) {
        size_t word = strlen(levels[i].word);
        if (length > 6 + word && strncmp(line + 6, levels[i].word, word) == 0)
            return &levels[i];
    }
    return NULL;
}

void lull_prv_read_row(struct lull_trace *trace)
{
    struct lull_mapping mapping;
    if (open_companion(trace, ".row", &mapping) != LULL_OK)
        return;
    const struct level levels[] = {{"NODE ", trace->n_nodes, rename_node},
                                   {"TASK ", trace->n_processes, rename_process},
                                   {"THREAD ", trace->n_locations, rename_location}};
    struct text text = text_of_mapping(&mapping);
    const struct level *level = NULL;
    uint32_t index = 0;
    const char *line;
    size_t length;
    while (next_line(&text, &line, &length)) {
        if (length > 6 && strncmp(line, "LEVEL ", 6) == 0) {
            level = find_level(levels, sizeof levels / sizeof *levels, line, length);
            index = 0;
        } else if (level && length > 0 && index < level->count) {
            level->rename(trace, index++, lull_arena_strndup(trace->arena, line, length));
        }
    }
    lull_unmap(&mapping);
}
