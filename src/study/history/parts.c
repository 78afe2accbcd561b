/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/history/parts.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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
