/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/history/history.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "study/run_code.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* ==== the parts =============================================================================== */

int lull_part_compare(const struct lull_part *a, const struct lull_part *b)
{
    int order = strcmp(a->region, b->region);
    if (order == 0)
        order = strcmp(a->site, b->site);
    return order ? order : (int)a->activity - (int)b->activity;
}

static int compare_parts_of_run(const void *left, const void *right)
{
    return lull_part_compare(left, right);
}

const struct lull_part *lull_parts_find(const struct lull_parts *parts,
                                        const struct lull_part *like)
{
    return parts->count ? bsearch(like, parts->parts, parts->count, sizeof(*parts->parts),
                                  compare_parts_of_run)
                        : NULL;
}

int64_t lull_parts_useful(const struct lull_parts *parts)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        sum += parts->parts[i].activity == LULL_USEFUL ? parts->parts[i].ns : 0;
    return sum;
}

/* Reads file and line of a site: "exchange (heat.c:120)", perhaps with its callers behind it. */
static void read_site(struct lull_part *part, struct lull_arena *arena)
{
    const char *end = strstr(part->site, LULL_SITE_CALLER);
    end = end ? end : part->site + strlen(part->site);
    const char *open = NULL, *colon = NULL;
    for (const char *at = part->site; at < end; at++) {
        open = *at == '(' ? at + 1 : open;
        colon = *at == ':' ? at : colon;
    }
    uint64_t line;
    if (!open || !colon || colon < open || end[-1] != ')' ||
        lull_parse_u64(colon + 1, (size_t)(end - 1 - (colon + 1)), &line) != LULL_OK)
        return;
    part->file = lull_arena_strndup(arena, open, (size_t)(colon - open));
    part->line = (uint32_t)line;
}

/* Finds file and line of a part: from its site, or for a function, which has none, from the run. */
static void find_place(struct lull_part *part, const struct lull_trace *trace,
                       struct lull_arena *arena)
{
    part->file = "";
    if (*part->site) {
        read_site(part, arena);
        return;
    }
    for (uint32_t r = 0; trace && *part->region && r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        if (!*region->site && *region->file && strcmp(region->name, part->region) == 0) {
            part->file = lull_arena_strdup(arena, region->file);
            part->line = region->line;
            return;
        }
    }
}

/* Adds a copy of a part, with copies of its names, because parts outlive the trace. */
static void add_part(struct lull_parts *parts, const struct lull_part *part,
                     struct lull_arena *arena)
{
    if (part->ns == 0)
        return;
    struct lull_part *copy = &parts->parts[parts->count++];
    *copy = *part;
    copy->region = lull_arena_strdup(arena, part->region);
    copy->site = lull_arena_strdup(arena, part->site);
}

/* Adds the time that each region accounts for, and takes it away from `left`, [activities] in
 * ns. */
static void add_parts_of_regions(const struct lull_breakdown *breakdown, struct lull_parts *parts,
                                 int64_t left[LULL_ACTIVITIES + 1], struct lull_arena *arena)
{
    for (uint32_t r = 0; r < breakdown->n_regions; r++) {
        const struct lull_region_breakdown *region = &breakdown->regions[r];
        struct lull_part part = {.region = region->name, .site = region->site};
        part.activity = LULL_USEFUL;
        part.ns = region->useful_ns;
        left[LULL_USEFUL] -= part.ns;
        add_part(parts, &part, arena);
        if (region->activity == LULL_USEFUL || region->activity >= LULL_ACTIVITIES)
            continue;
        part.activity = region->activity;
        part.ns = region->exclusive_ns - region->useful_ns;
        left[part.activity] -= part.ns;
        add_part(parts, &part, arena);
    }
}

void lull_parts_of_run(const struct lull_run *run, struct lull_arena *arena,
                       struct lull_parts *ret_parts)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    int64_t left[LULL_ACTIVITIES + 1] = {0};
    *ret_parts = (struct lull_parts){
        .parts = lull_arena_zero(arena, 2 * (size_t)breakdown->n_regions + LULL_ACTIVITIES + 1,
                                 sizeof(struct lull_part))};
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        for (int activity = 0; activity < LULL_ACTIVITIES; activity++)
            left[activity] += thread->times.ns[activity][0] + thread->times.ns[activity][1];
        left[LULL_ACTIVITIES] += thread->disabled_ns;
    }
    for (int activity = 0; activity <= LULL_ACTIVITIES; activity++)
        ret_parts->total_ns += left[activity];
    add_parts_of_regions(breakdown, ret_parts, left, arena);
    for (int activity = 0; activity <= LULL_ACTIVITIES; activity++) {
        const struct lull_part rest = {
            .region = "", .site = "", .activity = (uint8_t)activity, .ns = left[activity]};
        add_part(ret_parts, &rest, arena);
    }
    for (uint32_t i = 0; i < ret_parts->count; i++)
        find_place(&ret_parts->parts[i], run->trace, arena);
    if (ret_parts->count > 1)
        qsort(ret_parts->parts, ret_parts->count, sizeof(*ret_parts->parts), compare_parts_of_run);
}

bool lull_part_is_kept(const struct lull_part *part, const struct lull_parts *parts)
{
    return part->ns >= parts->total_ns / 1000;
}

const char *lull_part_cause(const struct lull_part *part)
{
    if (part->activity == LULL_USEFUL)
        return "computation";
    return part->activity < LULL_ACTIVITIES ? lull_activity_name(part->activity) : "not recorded";
}

const char *lull_part_describe(const struct lull_part *part, struct lull_arena *arena)
{
    if (!*part->region)
        return part->activity == LULL_USEFUL ? "computation outside of regions"
                                             : lull_part_cause(part);
    if (part->activity == LULL_USEFUL)
        return lull_arena_printf(arena, "computation in %s", part->region);
    return *part->site ? lull_arena_printf(arena, "%s from %s", part->region, part->site)
                       : part->region;
}

/* ==== parts of an edited program ============================================================== */

/* An edit of a program between two runs moves places to other lines, which changes their names:
 * "heat.c:120" may become "heat.c:123". */

/* A region, or the calls of a region from one site, as a run names it. */
struct named {
    const char *region, *site;
    const char *like;     /* both names without their line numbers */
    const uint64_t *line; /* the line numbers, in the order of the names */
    uint32_t n_lines;
    const struct named *now; /* the same place after the edit; NULL: not known */
};

/* ---- lines in names -------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads the line at ":120" or the offset at "+0x14f8" if the number ends the name, or stands before
 * ')' or ' '. Returns where it ends; NULL: there is no such number. */
static const char *number_at(const char *text, uint64_t *ret_number)
{
    const bool is_line = text[0] == ':' && is_digit(text[1]);
    const bool is_offset = strncmp(text, "+0x", 3) == 0;
    char *end;
    if (!is_line && !is_offset)
        return NULL;
    *ret_number = strtoull(text + (is_line ? 1 : 3), &end, is_line ? 10 : 16);
    return *end == '\0' || *end == ')' || *end == ' ' ? end : NULL;
}

/* Appends a name without its line numbers to *to, and the numbers to `lines`. */
static void strip_lines(const char *text, char **to, uint64_t *lines, uint32_t *n_lines)
{
    const char *end;
    uint64_t number;
    while (*text)
        if ((end = number_at(text, &number)) != NULL) {
            *(*to)++ = *text;
            lines[(*n_lines)++] = number;
            text = end;
        } else {
            *(*to)++ = *text++;
        }
    *(*to)++ = '\n';
}

/* Names a part without its lines. Of a region's name only the line behind '@' is taken out, as in
 * "!$omp parallel @heat.c:125": other numbers in it are the user's. */
static struct named name_part(const struct lull_part *part, struct lull_arena *arena)
{
    const size_t room = strlen(part->region) + strlen(part->site) + 3;
    char *like = lull_arena_alloc(arena, room), *to = like;
    uint64_t *lines = lull_arena_zero(arena, room, sizeof *lines);
    struct named named = {.region = part->region, .site = part->site, .like = like, .line = lines};
    const char *place = strrchr(part->region, '@');
    const size_t plain = place ? (size_t)(place - part->region) : strlen(part->region);
    memcpy(to, part->region, plain);
    to += plain;
    strip_lines(part->region + plain, &to, lines, &named.n_lines);
    strip_lines(part->site, &to, lines, &named.n_lines);
    *to = '\0';
    return named;
}

/* ---- what moved ------------------------------------------------------------------------------ */

static int by_lines(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    const int order = strcmp(a->like, b->like);
    for (uint32_t i = 0; order == 0 && i < a->n_lines && i < b->n_lines; i++)
        if (a->line[i] != b->line[i])
            return a->line[i] < b->line[i] ? -1 : 1;
    return order;
}

static bool has_place(const struct lull_parts *parts, const struct lull_part *like)
{
    struct lull_part wanted = *like;
    for (int activity = 0; activity <= LULL_ACTIVITIES; activity++) {
        wanted.activity = (uint8_t)activity;
        if (lull_parts_find(parts, &wanted))
            return true;
    }
    return false;
}

static int by_name(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    const int order = strcmp(a->region, b->region);
    return order ? order : strcmp(a->site, b->site);
}

static bool names_part(const struct named *named, const struct lull_part *part)
{
    return strcmp(named->region, part->region) == 0 && strcmp(named->site, part->site) == 0;
}

/* Lists the places with line numbers that the other run does not have, sorted without and then by
 * their lines. Places too short for a history are left out, because the other run may be from
 * one. */
static uint32_t list_moved(const struct lull_parts *parts, const struct lull_parts *other,
                           struct lull_arena *arena, struct named **ret_moved)
{
    struct named *moved = lull_arena_zero(arena, parts->count + (size_t)1, sizeof *moved);
    uint32_t count = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct lull_part *part = &parts->parts[i];
        if (!lull_part_is_kept(part, parts) || has_place(other, part) ||
            (count > 0 && names_part(&moved[count - 1], part)))
            continue;
        moved[count] = name_part(part, arena);
        count += moved[count].n_lines > 0;
    }
    if (count > 1)
        qsort(moved, count, sizeof *moved, by_lines);
    *ret_moved = moved;
    return count;
}

/* How many names in a row are `like` without their lines. */
static uint32_t count_alike(const struct named *named, uint32_t count, const char *like)
{
    uint32_t n = 0;
    while (n < count && strcmp(named[n].like, like) == 0)
        n++;
    return n;
}

/* Pairs names that are the same without their lines, one by one in the order of lines, where both
 * runs have as many of them. Sets `now` of those in `from`. Returns how many pairs there are. */
static uint32_t pair_moved(struct named *from, uint32_t n_from, const struct named *to,
                           uint32_t n_to)
{
    uint32_t paired = 0, t = 0;
    for (uint32_t f = 0, n; f < n_from; f += n) {
        n = count_alike(from + f, n_from - f, from[f].like);
        while (t < n_to && strcmp(to[t].like, from[f].like) < 0)
            t++;
        if (count_alike(to + t, n_to - t, from[f].like) != n)
            continue;
        for (uint32_t i = 0; i < n; i++)
            from[f + i].now = &to[t + i];
        paired += n;
    }
    return paired;
}

static int compare_edited_parts(const void *left, const void *right)
{
    return lull_part_compare(left, right);
}

/* Renames a part if `moved`, sorted by name, says where it is now. */
static void rename_part(struct lull_part *part, const struct named *moved, uint32_t n_moved)
{
    const struct named wanted = {.region = part->region, .site = part->site};
    const struct named *found = bsearch(&wanted, moved, n_moved, sizeof *moved, by_name);
    if (!found || !found->now)
        return;
    part->region = found->now->region;
    part->site = found->now->site;
}

uint32_t lull_parts_follow_edit(struct lull_parts *parts, const struct lull_parts *edited,
                                struct lull_arena *arena)
{
    struct named *from, *to;
    const uint32_t n_from = list_moved(parts, edited, arena, &from);
    const uint32_t n_to = list_moved(edited, parts, arena, &to);
    const uint32_t paired = pair_moved(from, n_from, to, n_to);
    if (paired == 0)
        return 0;
    qsort(from, n_from, sizeof *from, by_name);
    struct lull_part *copies = lull_arena_zero(arena, parts->count, sizeof *copies);
    for (uint32_t i = 0; i < parts->count; i++) {
        copies[i] = parts->parts[i];
        rename_part(&copies[i], from, n_from);
    }
    qsort(copies, parts->count, sizeof *copies, compare_edited_parts);
    parts->parts = copies;
    return paired;
}

/* ==== histories =============================================================================== */

#define HISTORY_SCHEMA "lull-history/1"
#define FUNCTION       "function:" /* begin of the ids of values that are useful times of functions */

/* ==== the entry of a run ====================================================================== */

const char *const lull_history_quantities[] = {"runtime",      "core_time", "useful_time",
                                               "instructions", "cycles",    NULL};

enum { QUANTITIES = sizeof lull_history_quantities / sizeof *lull_history_quantities - 1 };

static struct lull_history_value value_of(const char *id, double value, const char *absent)
{
    return (struct lull_history_value){id, absent ? NAN : value, absent};
}

static void add_values(struct lull_history_entry *entry, const struct lull_run *run,
                       struct lull_arena *arena)
{
    const struct lull_pop_input *input = run->input;
    const struct lull_metric_value quantities[QUANTITIES] = {
        {1e-9 * (double)run->breakdown->runtime_ns, NULL},
        {1e-9 * (double)entry->parts.total_ns, NULL},
        {1e-9 * (double)lull_parts_useful(&entry->parts), NULL},
        {input->instructions, isnan(input->instructions) ? "no instruction counter" : NULL},
        {input->cycles, isnan(input->cycles) ? "no cycle counter" : NULL},
    };
    entry->values =
        lull_arena_zero(arena, QUANTITIES + (size_t)lull_metric_count, sizeof(*entry->values));
    struct lull_history_value *values = entry->values;
    for (size_t i = 0; i < QUANTITIES; i++)
        *values++ = value_of(lull_history_quantities[i], quantities[i].value, quantities[i].absent);
    for (int m = 0; m < lull_metric_count; m++)
        *values++ = value_of(lull_metric_defs[m].id, run->values[m].value, run->values[m].absent);
    entry->n_values = (uint32_t)(values - entry->values);
}

static const char *machine_of(const struct lull_run *run, struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    if (!trace || !trace->n_processes || trace->processes[0].node >= trace->n_nodes)
        return "";
    return lull_arena_strdup(arena, trace->nodes[trace->processes[0].node].name);
}

/* What the run says, by a label of that name or by itself; "" if nothing. */
static const char *said_by(const struct lull_run *run, const char *key, struct lull_arena *arena)
{
    if (!run->trace)
        return "";
    const char *label = lull_arena_printf(arena, LULL_PROPERTY_LABEL "%s", key);
    const char *value = lull_trace_property(run->trace, label);
    if (!value)
        value = lull_trace_property(run->trace, key);
    return value ? lull_arena_strdup(arena, value) : "";
}

const char *lull_history_commit_of_job(void)
{
    const char *github = getenv("GITHUB_SHA"), *gitlab = getenv("CI_COMMIT_SHA");
    return github ? github : gitlab ? gitlab : "";
}

/* Functions with a thousandth of the time or more are values, too, which a history keeps. */
static void add_function_values(struct lull_history_entry *entry, struct lull_arena *arena)
{
    const size_t room = entry->n_values + (size_t)entry->n_functions;
    struct lull_history_value *values = lull_arena_zero(arena, room + 1, sizeof *values);
    memcpy(values, entry->values, entry->n_values * sizeof *values);
    for (uint32_t f = 0; f < entry->n_functions; f++)
        if (entry->functions[f].ns >= entry->parts.total_ns / 1000)
            values[entry->n_values++] =
                value_of(lull_arena_printf(arena, FUNCTION "%s", entry->functions[f].id),
                         1e-9 * (double)entry->functions[f].ns, NULL);
    entry->values = values;
}

static int by_function_id(const void *left, const void *right)
{
    const struct lull_history_function *a = left, *b = right;
    return strcmp(a->id, b->id);
}

/* Functions with the same id, as of files with the same name, are one. */
static void add_history_functions(struct lull_history_entry *entry, const struct lull_run *run,
                                  struct lull_arena *arena)
{
    struct lull_code_table table;
    struct lull_error err;
    const char *absent;
    uint32_t n = 0;
    if (!lull_run_code(run, arena, &absent) ||
        lull_run_code_table(run, LULL_CODE_BY_FUNCTION, arena, &table, &err) != LULL_OK)
        return;
    struct lull_history_function *all =
        lull_arena_zero(arena, table.n_rows + (size_t)1, sizeof *all);
    for (uint32_t i = 0; i < table.n_rows; i++)
        all[i] = (struct lull_history_function){table.rows[i].id, table.rows[i].useful_ns,
                                                (table.rows[i].high - table.rows[i].low) *
                                                    (double)table.useful_ns / (2 * 1.96)};
    qsort(all, table.n_rows, sizeof *all, by_function_id);
    for (uint32_t i = 0; i < table.n_rows; i++) {
        if (n == 0 || strcmp(all[n - 1].id, all[i].id) != 0) {
            all[n++] = all[i];
            continue;
        }
        all[n - 1].ns += all[i].ns;
        all[n - 1].error_ns = hypot(all[n - 1].error_ns, all[i].error_ns);
    }
    entry->functions = all;
    entry->n_functions = n;
    add_function_values(entry, arena);
}

void lull_history_entry_of(const struct lull_run *run, const struct lull_history_about *about,
                           struct lull_arena *arena, struct lull_history_entry *ret_entry)
{
    *ret_entry = (struct lull_history_entry){
        .key = about->key,
        .commit = about->commit,
        .run = lull_arena_strdup(arena, run->name),
        .time = about->now,
    };
    ret_entry->key.layout = lull_run_shape(run, arena);
    if (!ret_entry->key.program)
        ret_entry->key.program = said_by(run, "program", arena);
    if (!ret_entry->key.input)
        ret_entry->key.input = said_by(run, "input", arena);
    if (!ret_entry->key.machine)
        ret_entry->key.machine = said_by(run, "machine", arena);
    if (!*ret_entry->key.machine && !about->key.machine)
        ret_entry->key.machine = machine_of(run, arena);
    if (!*ret_entry->commit)
        ret_entry->commit = said_by(run, "commit", arena);
    if (about->has_time)
        ret_entry->time = about->time;
    else if (run->trace && run->trace->start_realtime > 0)
        ret_entry->time = run->trace->start_realtime / 1000000000;
    lull_parts_of_run(run, arena, &ret_entry->parts);
    add_values(ret_entry, run, arena);
    add_history_functions(ret_entry, run, arena);
}

static double region_time(const struct lull_history_entry *entry, const char *name)
{
    double ns = NAN;
    for (uint32_t i = 0; i < entry->parts.count; i++)
        if (strcmp(entry->parts.parts[i].region, name) == 0)
            ns = (isnan(ns) ? 0 : ns) + (double)entry->parts.parts[i].ns;
    return 1e-9 * ns;
}

/* "smooth" are all functions of that name, "smooth (heat.c)" those of a file. */
static double function_time(const struct lull_history_entry *entry, const char *name)
{
    const size_t length = strlen(name);
    double seconds = NAN;
    for (uint32_t i = 0; i < entry->n_values; i++) {
        const char *id = entry->values[i].id;
        if (strncmp(id, FUNCTION, strlen(FUNCTION)) != 0)
            continue;
        id += strlen(FUNCTION);
        seconds = isnan(seconds) ? 0 : seconds; /* what has no value took no time */
        if (strncmp(id, name, length) == 0 && (!id[length] || strncmp(id + length, " (", 2) == 0))
            seconds += entry->values[i].value;
    }
    return seconds;
}

double lull_history_value_of(const struct lull_history_entry *entry, const char *id)
{
    static const char region[] = "region:";
    if (strncmp(id, FUNCTION, strlen(FUNCTION)) == 0)
        return function_time(entry, id + strlen(FUNCTION));
    if (strncmp(id, region, sizeof region - 1) == 0)
        return region_time(entry, id + sizeof region - 1);
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcmp(entry->values[i].id, id) == 0)
            return entry->values[i].value;
    return NAN;
}

const char *lull_history_absent(const struct lull_history_entry *entry, const char *id)
{
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcmp(entry->values[i].id, id) == 0 && entry->values[i].absent)
            return entry->values[i].absent;
    if (strncmp(id, FUNCTION, strlen(FUNCTION)) == 0)
        return "the runs have no samples; " LULL_HOW_TO_SAMPLE;
    return "the runs do not have it";
}

/* ---- times ----------------------------------------------------------------------------------- */

const char *lull_history_time_text(int64_t time, char *buffer)
{
    const time_t seconds = (time_t)time;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(buffer, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        strcpy(buffer, "?");
    return buffer;
}

lull_status lull_history_time_read(const char *text, int64_t *ret_time, struct lull_error *err)
{
    struct tm parts = {0};
    uint64_t seconds; /* up to the end of the year 9999, see below */
    if (lull_parse_u64(text, strlen(text), &seconds) == LULL_OK &&
        seconds <= UINT64_C(253402300799)) {
        *ret_time = (int64_t)seconds;
        return LULL_OK;
    }
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (!end || *end)
        return lull_fail(err, LULL_ERR_RANGE,
                         "time is '%s', expected one as 2026-11-23T02:51:09Z, or seconds since "
                         "1970",
                         text);
    *ret_time = (int64_t)timegm(&parts);
    return LULL_OK;
}

/* ==== one line of a history =================================================================== */

/* ---- writing --------------------------------------------------------------------------------- */

static void write_member(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_values(struct lull_json *json, const struct lull_history_entry *entry)
{
    lull_json_key(json, "metrics");
    lull_json_object_begin(json);
    for (uint32_t i = 0; i < entry->n_values; i++) {
        if (!isfinite(entry->values[i].value))
            continue;
        lull_json_key(json, entry->values[i].id);
        lull_json_number(json, entry->values[i].value);
    }
    lull_json_object_end(json);
}

static const char *cause_id(unsigned activity)
{
    return activity < LULL_ACTIVITIES ? lull_activity_id(activity) : "not_recorded";
}

/* Each part is an array [region, site, cause, ns]. */
static void write_parts(struct lull_json *json, const struct lull_parts *parts)
{
    lull_json_key(json, "parts");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct lull_part *part = &parts->parts[i];
        if (!lull_part_is_kept(part, parts))
            continue;
        lull_json_array_begin(json);
        lull_json_string(json, part->region);
        lull_json_string(json, part->site);
        lull_json_string(json, cause_id(part->activity));
        lull_json_int(json, part->ns);
        lull_json_array_end(json);
    }
    lull_json_array_end(json);
}

char *lull_history_line_write(const struct lull_history_entry *entry)
{
    char *line = NULL, time[32];
    size_t size;
    struct lull_json json;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    lull_json_begin(&json, out, true);
    lull_json_object_begin(&json);
    write_member(&json, "schema", HISTORY_SCHEMA);
    write_member(&json, "time", lull_history_time_text(entry->time, time));
    write_member(&json, "program", entry->key.program);
    write_member(&json, "input", entry->key.input);
    write_member(&json, "machine", entry->key.machine);
    write_member(&json, "layout", entry->key.layout);
    write_member(&json, "commit", entry->commit);
    write_member(&json, "run", entry->run);
    write_values(&json, entry);
    lull_json_key(&json, "core_ns");
    lull_json_int(&json, entry->parts.total_ns);
    write_parts(&json, &entry->parts);
    lull_json_object_end(&json);
    fputc('\n', out);
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return line;
    free(line);
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static lull_status wrong(struct lull_error *err, const char *what)
{
    return lull_fail(err, LULL_ERR_FORMAT, "%s", what);
}

static lull_status read_texts(const json_t *root, struct lull_arena *arena,
                              struct lull_history_entry *entry, struct lull_error *err)
{
    const struct {
        const char *key, **to;
    } fields[] = {{"program", &entry->key.program}, {"input", &entry->key.input},
                  {"machine", &entry->key.machine}, {"layout", &entry->key.layout},
                  {"commit", &entry->commit},       {"run", &entry->run}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *text = json_string_value(json_object_get(root, fields[i].key));
        if (!text)
            return lull_fail(err, LULL_ERR_FORMAT, "/%s: expected a text", fields[i].key);
        *fields[i].to = lull_arena_strdup(arena, text);
    }
    const char *time = json_string_value(json_object_get(root, "time"));
    if (!time || lull_history_time_read(time, &entry->time, NULL) != LULL_OK)
        return wrong(err, "/time: expected a time as 2026-11-23T02:51:09Z");
    return LULL_OK;
}

static lull_status read_metric_values(json_t *metrics, struct lull_arena *arena,
                                      struct lull_history_entry *entry, struct lull_error *err)
{
    const char *id;
    json_t *value;
    if (!json_is_object(metrics))
        return wrong(err, "/metrics: expected an object");
    if (!json_is_number(json_object_get(metrics, "runtime")))
        return wrong(err, "/metrics/runtime: expected a number");
    entry->values = lull_arena_zero(arena, json_object_size(metrics) + 1, sizeof(*entry->values));
    json_object_foreach(metrics, id, value)
    {
        if (!json_is_number(value))
            return lull_fail(err, LULL_ERR_FORMAT, "/metrics/%s: expected a number", id);
        entry->values[entry->n_values++] = (struct lull_history_value){
            lull_arena_strdup(arena, id), json_number_value(value), NULL};
    }
    return LULL_OK;
}

static lull_status read_cause(const char *id, uint8_t *ret_activity)
{
    for (unsigned activity = 0; id && activity <= LULL_ACTIVITIES; activity++)
        if (strcmp(cause_id(activity), id) == 0) {
            *ret_activity = (uint8_t)activity;
            return LULL_OK;
        }
    return LULL_ERR_FORMAT;
}

/* The most ns that are taken from a line, for the total and for the sum of the parts: int64_t holds
 * both. */
#define MOST_NS (INT64_C(1) << 62)

static lull_status read_part(const json_t *item, struct lull_arena *arena, struct lull_part *part)
{
    const char *region = json_string_value(json_array_get(item, 0));
    const char *site = json_string_value(json_array_get(item, 1));
    const json_t *ns = json_array_get(item, 3);
    if (!region || !site || !json_is_integer(ns) || json_array_size(item) != 4)
        return LULL_ERR_FORMAT;
    if (json_integer_value(ns) < 0)
        return LULL_ERR_FORMAT;
    *part = (struct lull_part){.region = lull_arena_strdup(arena, region),
                               .site = lull_arena_strdup(arena, site),
                               .ns = json_integer_value(ns),
                               .file = ""};
    return read_cause(json_string_value(json_array_get(item, 2)), &part->activity);
}

static int compare_parts_of_entry(const void *left, const void *right)
{
    return lull_part_compare(left, right);
}

static lull_status read_parts(const json_t *root, struct lull_arena *arena,
                              struct lull_parts *parts, struct lull_error *err)
{
    const json_t *items = json_object_get(root, "parts"), *total = json_object_get(root, "core_ns");
    if (!json_is_integer(total) || json_integer_value(total) < 0 ||
        json_integer_value(total) > MOST_NS)
        return wrong(err, "/core_ns: expected a whole number");
    if (!json_is_array(items))
        return wrong(err, "/parts: expected a list");
    parts->total_ns = json_integer_value(total);
    parts->parts = lull_arena_zero(arena, json_array_size(items) + 1, sizeof(*parts->parts));
    int64_t left = MOST_NS;
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct lull_part *part = &parts->parts[parts->count++];
        if (read_part(json_array_get(items, i), arena, part) != LULL_OK || part->ns > left)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "/parts/%zu: expected region, site, activity and nanoseconds", i);
        left -= part->ns;
    }
    if (parts->count > 1)
        qsort(parts->parts, parts->count, sizeof(*parts->parts), compare_parts_of_entry);
    return LULL_OK;
}

static lull_status read_entry(json_t *root, struct lull_arena *arena,
                              struct lull_history_entry *entry, struct lull_error *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (!schema || strcmp(schema, HISTORY_SCHEMA) != 0)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "has schema '%s', expected what 'lull history add' writes "
                         "('" HISTORY_SCHEMA "')",
                         schema ? schema : "");
    lull_status status = read_texts(root, arena, entry, err);
    if (status == LULL_OK)
        status = read_metric_values(json_object_get(root, "metrics"), arena, entry, err);
    return status == LULL_OK ? read_parts(root, arena, &entry->parts, err) : status;
}

lull_status lull_history_line_read(const char *text, size_t size, struct lull_arena *arena,
                                   struct lull_history_entry *ret_entry, struct lull_error *err)
{
    struct lull_history_entry entry = {0};
    json_error_t error;
    json_t *root = json_loadb(text, size, 0, &error);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "is no run of a history: %s", error.text);
    lull_status status = read_entry(root, arena, &entry, err);
    json_decref(root);
    if (status == LULL_OK)
        *ret_entry = entry;
    return status;
}

/* ==== the file ================================================================================ */

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_blank(const char *text, size_t size)
{
    while (size && strchr(" \t\r", *text)) {
        text++;
        size--;
    }
    return size == 0;
}

static lull_status read_line(const char *text, size_t size, uint32_t number,
                             struct lull_history *history, struct lull_arena *arena,
                             struct lull_error *err)
{
    if (is_blank(text, size))
        return LULL_OK;
    history->entries = lull_arena_grow(arena, history->entries, &history->capacity,
                                       history->count + 1, sizeof(*history->entries));
    struct lull_history_entry *entry = &history->entries[history->count];
    lull_status status = lull_history_line_read(text, size, arena, entry, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "%s: line %u", history->path, number);
    entry->line = number;
    history->count++;
    return LULL_OK;
}

static int by_time_and_line(const void *left, const void *right)
{
    const struct lull_history_entry *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Reads the lines that are not in `lines` yet, and adds them to it. After branches were merged the
 * same line may be there twice, and counts once. */
static lull_status read_lines(const struct lull_mapping *mapping, struct lull_hash *lines,
                              struct lull_history *history, struct lull_arena *arena,
                              struct lull_error *err)
{
    const char *at = (const char *)mapping->data, *end = at + mapping->size;
    for (uint32_t number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: line %u: is torn: it has no end, as if its writer was stopped; "
                             "remove it",
                             history->path, number);
        const size_t size = (size_t)(newline - at);
        lull_status status = LULL_OK;
        bool is_new;
        if (!lull_hash_add(lines, at, size, number, &is_new))
            status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", history->path);
        else if (is_new)
            status = read_line(at, size, number, history, arena, err);
        if (status != LULL_OK)
            return status;
        at = newline + 1;
    }
    if (history->count > 1)
        qsort(history->entries, history->count, sizeof(*history->entries), by_time_and_line);
    return LULL_OK;
}

lull_status lull_history_read(const char *path, struct lull_arena *arena,
                              struct lull_history *ret_history, struct lull_error *err)
{
    struct lull_history history = {.path = lull_arena_strdup(arena, path)};
    struct lull_mapping mapping;
    struct lull_hash lines = {0};
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    if (mapping.size)
        status = read_lines(&mapping, &lines, &history, arena, err);
    lull_hash_free(&lines);
    lull_unmap(&mapping);
    if (status == LULL_OK)
        *ret_history = history;
    return status;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Waits up to `patience` seconds. The lock goes when the file is closed, also where its holder
 * dies. */
static lull_status lock_file(int fd, const char *path, double patience, struct lull_error *err)
{
    static const double pause = 0.02;
    for (double waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += pause) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return lull_fail_errno(err, "%s: cannot lock", path);
        if (waited >= patience)
            return lull_fail(err, LULL_ERR_IO, "%s: is locked: another program writes into it",
                             path);
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * pause)}, NULL);
    }
    return LULL_OK;
}

/* The lines of those runs that the history does not have yet. */
static lull_status make_text(const struct lull_history_entry *entries, uint32_t count,
                             const struct lull_history *there, struct lull_arena *arena,
                             const char **ret_text, uint32_t *ret_added, struct lull_error *err)
{
    const char *text = "";
    *ret_added = 0;
    for (uint32_t i = 0; i < count; i++) {
        char *line = lull_history_line_write(&entries[i]);
        if (!line)
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", there->path);
        bool repeated = strstr(text, line) != NULL;
        for (uint32_t k = 0; k < there->count && !repeated; k++) {
            if (there->entries[k].time != entries[i].time)
                continue;
            char *other = lull_history_line_write(&there->entries[k]);
            repeated = other && strcmp(line, other) == 0;
            free(other);
        }
        if (!repeated) {
            text = lull_arena_printf(arena, "%s%s", text, line);
            ++*ret_added;
        }
        free(line);
    }
    *ret_text = text;
    return LULL_OK;
}

/* Appends all of the text or nothing. */
static lull_status append_text(int fd, const char *path, const char *text, struct lull_error *err)
{
    const size_t size = strlen(text);
    const off_t before = lseek(fd, 0, SEEK_END);
    size_t done = 0;
    while (done < size) {
        const ssize_t written = write(fd, text + done, size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            lull_fail_errno(err, "%s: cannot write", path);
            if (before >= 0 && ftruncate(fd, before) != 0)
                return lull_fail_prefix(err, LULL_ERR_IO, "a torn line is left at the end");
            return LULL_ERR_IO;
        }
        done += (size_t)written;
    }
    return fsync(fd) == 0 || errno == EINVAL ? LULL_OK
                                             : lull_fail_errno(err, "%s: cannot write", path);
}

static lull_status append_locked(int fd, const char *path, const struct lull_history_entry *entries,
                                 uint32_t count, struct lull_arena *arena, uint32_t *ret_added,
                                 struct lull_error *err)
{
    struct lull_history there;
    const char *text;
    lull_status status = lull_history_read(path, arena, &there, err);
    if (status == LULL_OK)
        status = make_text(entries, count, &there, arena, &text, ret_added, err);
    return status == LULL_OK ? append_text(fd, path, text, err) : status;
}

lull_status lull_history_append(const char *path, const struct lull_history_entry *entries,
                                uint32_t count, double patience, struct lull_arena *arena,
                                uint32_t *ret_added, struct lull_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot open", path);
    lull_status status = lock_file(fd, path, patience, err);
    if (status == LULL_OK)
        status = append_locked(fd, path, entries, count, arena, ret_added, err);
    close(fd);
    return status;
}

/* ==== series ================================================================================== */

static bool matches(const char *wish, const char *value)
{
    return !wish || strcmp(wish, value) == 0;
}

static bool matches_key(const struct lull_history_key *wish, const struct lull_history_key *key)
{
    return (!*key->program || matches(wish->program, key->program)) &&
           matches(wish->input, key->input) && matches(wish->machine, key->machine) &&
           matches(wish->layout, key->layout);
}

/* Spells a key: "program 'heat', input 'n=512', machine 'a', layout 2 x 1". What it does not say is
 * left out. */
static const char *describe_key(const struct lull_history_key *key, struct lull_arena *arena)
{
    const struct {
        const char *name, *value;
    } parts[] = {{"program", key->program}, {"input", key->input}, {"machine", key->machine}};
    const char *text = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value && *parts[i].value)
            text = lull_arena_printf(arena, "%s%s '%s', ", text, parts[i].name, parts[i].value);
    return lull_arena_printf(arena, "%slayout %s", text, key->layout ? key->layout : "any");
}

/* Lists the different keys of the entries that match, for a message. */
static const char *list_keys(const struct lull_history *history,
                             const struct lull_history_key *wish, struct lull_arena *arena)
{
    enum { MOST_KEYS = 4 };
    const struct lull_history_key *listed[MOST_KEYS];
    const char *text = "";
    size_t count = 0;
    for (uint32_t i = 0; i < history->count; i++) {
        const struct lull_history_key *key = &history->entries[i].key;
        bool known = !matches_key(wish, key);
        for (size_t k = 0; k < count; k++)
            known |= matches_key(listed[k], key);
        if (known)
            continue;
        if (count == MOST_KEYS)
            return lull_arena_printf(arena, "%s; and others", text);
        listed[count++] = key;
        text = lull_arena_printf(arena, "%s%s%s", text, count > 1 ? "; " : "",
                                 describe_key(key, arena));
    }
    return count ? text : "none";
}

static lull_status fail_without(const struct lull_history *history,
                                const struct lull_history_key *wish, struct lull_arena *arena,
                                struct lull_error *err)
{
    static const struct lull_history_key any;
    return lull_fail(err, LULL_ERR_FORMAT, "%s: has no run of %s; it has: %s", history->path,
                     describe_key(wish, arena), list_keys(history, &any, arena));
}

/* Selects the entries that match the wish, in their order, without those of the commit `but_commit`
 * (NULL or "": all). They must have one key; where none match or there are several keys, fails and
 * names the keys. */
static lull_status history_select(const struct lull_history *history,
                                  const struct lull_history_key *wish, const char *but_commit,
                                  struct lull_arena *arena, struct lull_history *ret_series,
                                  struct lull_error *err)
{
    struct lull_history series = {.path = history->path};
    struct lull_history_key key = {.program = ""};
    bool any = false;
    series.entries = lull_arena_zero(arena, history->count + 1, sizeof(*series.entries));
    for (uint32_t i = 0; i < history->count; i++) {
        const struct lull_history_entry *entry = &history->entries[i];
        if (!matches_key(wish, &entry->key))
            continue;
        if (any && !matches_key(&key, &entry->key) && !matches_key(&entry->key, &key))
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: holds runs that cannot be compared, choose with --program, "
                             "--input, --machine or --layout: %s",
                             history->path, list_keys(history, wish, arena));
        const char *program = *key.program ? key.program : entry->key.program;
        key = entry->key;
        key.program = program;
        any = true;
        if (!but_commit || !*but_commit || strcmp(but_commit, entry->commit) != 0)
            series.entries[series.count++] = *entry;
        else
            series.of_same_commit++;
    }
    if (!any)
        return fail_without(history, wish, arena, err);
    *ret_series = series;
    return LULL_OK;
}

lull_status lull_history_read_series(const char *path, const struct lull_history_key *wish,
                                     const char *but_commit, struct lull_arena *arena,
                                     struct lull_history *ret_series, struct lull_error *err)
{
    struct lull_history history;
    *ret_series = (struct lull_history){.path = ""};
    if (!path)
        return LULL_OK;
    lull_status status = lull_history_read(path, arena, &history, err);
    return status == LULL_OK ? history_select(&history, wish, but_commit, arena, ret_series, err)
                             : status;
}
