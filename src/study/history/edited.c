/* Parts of the runs of a program that was edited between them: what an edit moves to other lines
 * has another name. */
#include "study/history/parts.h"

#include <stdlib.h>
#include <string.h>

/* A region, or the calls of one from a place, as a run names it. */
struct named {
    const char *region, *site;
    const char *like;     /* both without the numbers of lines */
    const uint64_t *line; /* these, in their order */
    uint32_t n_lines;
    const struct named *now; /* where it is after the edit; NULL: not known */
};

/* ---- lines in names -------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind a line ("heat.c:120") or an offset ("heat+0x14f8") there is nothing, or no more of it. */
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

/* Appends a name without its numbers, and the numbers. */
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

/* Of a region the lines of constructs count ("!$omp parallel @heat.c:125"): other numbers in names
 * are the user's. */
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

/* The places with lines that the other run does not have, in the order of their lines; without
 * those that are too short for a history, because the other run may be from one. */
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

/* How many in a row are the same without their lines. */
static uint32_t count_alike(const struct named *named, uint32_t count, const char *like)
{
    uint32_t n = 0;
    while (n < count && strcmp(named[n].like, like) == 0)
        n++;
    return n;
}

/* Those of `from` become those of `to`, one by one, where both have as many. */
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

/* `moved` is in the order of names. */
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
