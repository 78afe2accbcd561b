/* SPDX-License-Identifier: BSD-3-Clause */
/* Which member of a team that opens a run reads which processes, and how members tell each
 * other. */
#include "trace/format/tape/tape_share.h"

#include "trace/format/tape/read/tape_source.h"
#include "trace/open_trace.h"

#include <stdlib.h>
#include <string.h>

/* ==== share =================================================================================== */

/* ---- who reads what -------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    return (*(const uint32_t *)a > *(const uint32_t *)b) -
           (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* Lists the numbers of all processes. */
static bool list_numbers(const struct lull_tape_data *data, struct lull_tape_share *share)
{
    share->numbers = malloc((data->n_listed + 1) * sizeof *share->numbers);
    share->owners = malloc((data->n_listed + 1) * sizeof *share->owners);
    if (!share->numbers || !share->owners)
        return false;
    for (size_t p = 0; p < data->n_listed; p++)
        share->numbers[share->n++] = data->listed[p].number;
    share->sight = share->n;
    for (size_t i = 0; i < share->n; i++)
        share->sight = (share->sight ^ share->numbers[i]) * UINT64_C(0x100000001b3);
    return true;
}

/* Gives each member a row of neighbours, where the processes in files of nodes come before those
 * with files of their own. All processes in the file of one node get the owner of the first of
 * them. */
static bool choose_owners(const struct lull_trace *trace, struct lull_tape_share *share)
{
    const struct lull_tape_data *data = trace->format_data;
    const size_t n_containers = data->containers ? data->containers->n : 0;
    uint64_t *before = calloc(n_containers + 1, sizeof *before); /* per container: processes */
    if (!before)
        return false;
    for (size_t i = 0; i < share->n; i++) {
        const struct lull_tape_contained *one = lull_tape_contained_find(trace, share->numbers[i]);
        if (one)
            before[one->container->number + 1]++;
    }
    for (size_t c = 0; c < n_containers; c++)
        before[c + 1] += before[c];
    uint64_t by_itself = before[n_containers];
    for (size_t i = 0; i < share->n; i++) {
        const struct lull_tape_contained *one = lull_tape_contained_find(trace, share->numbers[i]);
        const uint64_t place = one ? before[one->container->number] : by_itself++;
        share->owners[i] = (uint32_t)(place * share->exchange->size / share->n);
    }
    free(before);
    return true;
}

lull_status lull_tape_share_begin(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    if (!trace->shared->exchange)
        return LULL_OK;
    struct lull_tape_share *share = lull_arena_zero(trace->arena, 1, sizeof *share);
    share->exchange = trace->shared->exchange;
    share->index = share->exchange->index;
    pthread_mutex_init(&share->lock, NULL);
    share->texts = lull_arena_create(NULL);
    data->share = share;
    if (!list_numbers(data, share) || !choose_owners(trace, share))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    return LULL_OK;
}

void lull_tape_share_end(struct lull_tape_share *share)
{
    if (!share)
        return;
    lull_arena_destroy(share->view.arena);
    lull_arena_destroy(share->texts);
    pthread_mutex_destroy(&share->lock);
    free(share->known);
    free(share->heads);
    free(share->numbers);
    free(share->owners);
}

uint32_t lull_tape_owner(const struct lull_tape_share *share, uint32_t number)
{
    const uint32_t *found =
        share->n == 0 ? NULL
                      : bsearch(&number, share->numbers, share->n, sizeof number, compare_numbers);
    return found ? share->owners[found - share->numbers] : LULL_NONE;
}

bool lull_tape_is_own(const struct lull_trace *trace, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    return !data->share || lull_tape_owner(data->share, number) == data->share->index;
}

/* ---- words ----------------------------------------------------------------------------------- */

static size_t filled_up(size_t size)
{
    return (size + 7) / 8 * 8;
}

void lull_tape_say(struct lull_tape_words *words, const void *bytes, size_t size)
{
    const size_t room = filled_up(size);
    if (words->failed ||
        !lull_array_reserve(&words->bytes, &words->capacity, words->size + room, 1)) {
        words->failed = true;
        return;
    }
    if (size)
        memcpy(words->bytes + words->size, bytes, size);
    memset(words->bytes + words->size + size, 0, room - size);
    words->size += room;
}

void lull_tape_say_text(struct lull_tape_words *words, const char *text)
{
    const uint64_t size = strlen(text) + 1;
    lull_tape_say(words, &size, sizeof size);
    lull_tape_say(words, text, size);
}

const void *lull_tape_hear_bytes(struct lull_tape_ear *ear, size_t size)
{
    const unsigned char *at = ear->at;
    if (ear->bad || size > (size_t)(ear->end - at) || filled_up(size) > (size_t)(ear->end - at)) {
        ear->bad = true;
        return NULL;
    }
    ear->at += filled_up(size);
    return at;
}

bool lull_tape_hear(struct lull_tape_ear *ear, void *bytes, size_t size)
{
    const void *at = lull_tape_hear_bytes(ear, size);
    if (at)
        memcpy(bytes, at, size);
    else
        memset(bytes, 0, size);
    return at != NULL;
}

const char *lull_tape_hear_text(struct lull_tape_ear *ear)
{
    uint64_t size;
    if (!lull_tape_hear(ear, &size, sizeof size))
        return "";
    const char *text = lull_tape_hear_bytes(ear, size);
    if (!text || size == 0 || text[size - 1] != '\0') {
        ear->bad = true;
        return "";
    }
    return text;
}

lull_status lull_tape_tell_all(const struct lull_trace *trace, struct lull_tape_words *words,
                               lull_status status,
                               lull_status (*take)(void *context, uint32_t member,
                                                   const void *bytes, size_t size,
                                                   struct lull_error *err),
                               void *context, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_exchange *exchange = data->share->exchange;
    if (status == LULL_OK && words->failed)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    status = exchange->all(exchange->context, status, data->share->sight, words->bytes, words->size,
                           take, context, err);
    free(words->bytes);
    *words = (struct lull_tape_words){0};
    return status;
}

lull_status lull_tape_other_run(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_RANGE,
                     "%s: is another run here than for other processes of lull, or has changed",
                     trace->path);
}

/* ==== heads =================================================================================== */

/* Headers of locations: each member reads those of its own processes, and tells them. */

/* What is told of a location. Its name follows, or what is wrong with it; then the set of cores
 * that it may use, if the member has not told this set before: then `core_set` is one more than the
 * number of sets that it has told; then of a device stream what it belongs to. */
struct told {
    struct lull_tape_told header;
    struct lull_tape_cores cores;
    struct lull_tape_usage usage;
    uint64_t head, lost, source_id;
    uint32_t process, number, header_number;
    uint32_t core_set; /* 0: not known */
    uint8_t kind, role, has_sums, has_own_file, is_damaged;
    uint8_t reserved[3];
};

/* What is needed of a header to make its location, and not later. */
struct lull_tape_head {
    struct lull_tape_name file; /* the first member, by which heads are sorted */
    struct lull_tape_cores cores;
    struct lull_tape_usage usage;
    const uint64_t *core_set;              /* NULL: not known */
    const struct lull_tape_stream *stream; /* NULL: it is a thread */
    const char *name;
    const char *damage; /* NULL: none */
    uint64_t source_id;
    uint32_t header_number;
    uint8_t kind, role;
};

/* ---- telling --------------------------------------------------------------------------------- */

static uint32_t number_of_set(const struct lull_tape_header *header, struct lull_hash *sets,
                              bool *ret_fresh)
{
    static const uint64_t unknown[LULL_CORE_WORDS];
    *ret_fresh = false;
    if (memcmp(header->core_set, unknown, sizeof unknown) == 0)
        return 0;
    const uint64_t *number =
        lull_hash_add(sets, header->core_set, sizeof header->core_set, sets->count + 1, ret_fresh);
    return number ? (uint32_t)*number : 0; /* without memory the set is not told */
}

static void tell_header(const struct lull_tape_file *file, const struct lull_tape_header *header,
                        const char *damage, struct lull_hash *sets, struct lull_tape_words *words)
{
    struct told told;
    bool fresh = false;
    memset(&told, 0, sizeof told); /* the padding between members, too */
    told.process = file->process;
    told.number = file->number;
    told.head = file->head;
    told.has_sums = file->has_sums;
    told.is_damaged = damage != NULL;
    if (!damage) {
        told.header = file->header;
        told.cores = header->cores;
        told.usage = header->usage;
        told.lost = file->lost;
        told.source_id = header->source_id;
        told.header_number = header->number;
        told.core_set = number_of_set(header, sets, &fresh);
        told.kind = header->kind;
        told.role = header->role;
        told.has_own_file = file->has_own_file;
    }
    lull_tape_say(words, &told, sizeof told);
    lull_tape_say_text(words, damage ? damage : header->name);
    if (fresh)
        lull_tape_say(words, header->core_set, sizeof header->core_set);
    if (told.kind == 1)
        lull_tape_say(words, &header->stream, sizeof header->stream);
}

static lull_status tell_file(const struct lull_trace *trace, struct lull_tape_file *file,
                             struct lull_hash *sets, struct lull_tape_words *words,
                             struct lull_error *err)
{
    struct lull_tape_header header;
    struct lull_error damage;
    lull_status status = LULL_ERR_FORMAT;
    if (file->damage)
        lull_fail(&damage, status, "%s", file->damage);
    else
        status = lull_tape_read_header(trace, file, &header, &damage);
    if (status != LULL_OK && status != LULL_ERR_FORMAT)
        return lull_fail(err, status, "%s", damage.text);
    tell_header(file, &header, status == LULL_OK ? NULL : damage.text, sets, words);
    return LULL_OK;
}

/* Drops the files of other members' processes, which may have been listed: their owners know more
 * of them. */
static void drop_others(const struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    size_t kept = 0;
    for (size_t f = 0; f < data->n_files; f++)
        if (lull_tape_is_own(trace, data->files[f].process))
            data->files[kept++] = data->files[f];
    data->n_files = kept;
    lull_tape_sort_files(data);
}

/* ---- listening ------------------------------------------------------------------------------- */

/* What one member tells, and the sets of cores that it has told so far. */
struct heard_member {
    struct lull_tape_ear ear;
    const uint64_t **sets;
    size_t n_sets, capacity;
};

static const uint64_t *hear_set(const struct lull_trace *trace, struct heard_member *member,
                                uint32_t number)
{
    if (number == 0 || number > member->n_sets + 1) {
        member->ear.bad |= number != 0;
        return NULL;
    }
    if (number == member->n_sets + 1) {
        const size_t size = LULL_CORE_WORDS * sizeof(uint64_t);
        const struct lull_tape_data *data = trace->format_data;
        uint64_t *set = lull_arena_zero(data->share->texts, 1, size);
        lull_tape_hear(&member->ear, set, size);
        lull_tape_make_room(trace, &member->sets, &member->capacity, number, sizeof *member->sets);
        member->sets[member->n_sets++] = set;
    }
    return member->sets[number - 1];
}

static const struct lull_tape_stream *hear_stream(const struct lull_trace *trace,
                                                  struct heard_member *member)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_stream *stream = lull_arena_zero(data->share->texts, 1, sizeof *stream);
    lull_tape_hear(&member->ear, stream, sizeof *stream);
    return stream;
}

static void add_file(struct lull_trace *trace, const struct told *told)
{
    struct lull_tape_data *data = trace->format_data;
    lull_tape_make_room(trace, &data->files, &data->files_capacity, data->n_files + 1,
                        sizeof *data->files);
    data->files[data->n_files++] = (struct lull_tape_file){.process = told->process,
                                                           .number = told->number,
                                                           .header = told->header,
                                                           .head = told->head,
                                                           .lost = told->lost,
                                                           .open_region = LULL_NONE,
                                                           .has_sums = told->has_sums,
                                                           .has_own_file = told->has_own_file};
}

static void hear_location(struct lull_trace *trace, struct heard_member *member, bool own)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_share *share = data->share;
    struct told told;
    if (!lull_tape_hear(&member->ear, &told, sizeof told))
        return;
    const char *text = lull_tape_hear_text(&member->ear);
    text = lull_arena_strdup(share->texts, text);
    if (!own)
        add_file(trace, &told);
    lull_tape_make_room(trace, &share->heads, &share->heads_capacity, share->n_heads + 1,
                        sizeof *share->heads);
    const uint64_t *core_set = hear_set(trace, member, told.core_set);
    share->heads[share->n_heads++] =
        (struct lull_tape_head){.cores = told.cores,
                                .usage = told.usage,
                                .core_set = core_set,
                                .stream = told.kind == 1 ? hear_stream(trace, member) : NULL,
                                .name = text,
                                .damage = told.is_damaged ? text : NULL,
                                .source_id = told.source_id,
                                .file = {told.process, told.number},
                                .header_number = told.header_number,
                                .kind = told.kind,
                                .role = told.role};
}

static lull_status hear_heads(void *context, uint32_t index, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct lull_trace *trace = context;
    const struct lull_tape_data *data = trace->format_data;
    const unsigned char *at = bytes;
    struct heard_member member = {.ear = {at, at + size, false}};
    while (!member.ear.bad && member.ear.at < member.ear.end)
        hear_location(trace, &member, index == data->share->exchange->index);
    free(member.sets);
    return member.ear.bad ? lull_tape_other_run(trace, err) : LULL_OK;
}

/* Tells this member's own files from *next on, as far as they are of processes up to `last`. */
static lull_status tell_files(const struct lull_trace *trace, size_t *next, size_t n_own,
                              uint32_t last, struct lull_tape_words *words, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_hash sets = {0};
    lull_status status = LULL_OK;
    for (; status == LULL_OK && *next < n_own && data->files[*next].process <= last; ++*next) {
        struct lull_tape_file *file = &data->files[*next];
        file->known = lull_tape_packed_location(trace, file->process, file->number);
        status = tell_file(trace, file, &sets, words, err);
    }
    lull_hash_free(&sets);
    return status;
}

lull_status lull_tape_share_heads(struct lull_trace *trace, lull_status status,
                                  struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_share *share = data->share;
    drop_others(trace);
    const size_t n_own = data->n_files; /* others come behind them */
    size_t own = 0;
    for (size_t end = 0; end < share->n;) {
        struct lull_tape_words words = {0};
        end = share->n - end > LULL_TAPE_AT_A_TIME ? end + LULL_TAPE_AT_A_TIME : share->n;
        if (status == LULL_OK)
            status = tell_files(trace, &own, n_own, share->numbers[end - 1], &words, err);
        status = lull_tape_tell_all(trace, &words, status, hear_heads, trace, err);
        if (status != LULL_OK)
            return status;
    }
    return status;
}

/* ---- making locations ------------------------------------------------------------------------ */

void lull_tape_sort_heads(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_share *share = data->share;
    if (share && share->n_heads > 0)
        qsort(share->heads, share->n_heads, sizeof *share->heads, lull_tape_compare_names);
}

lull_status lull_tape_told_header(const struct lull_trace *trace, uint32_t location,
                                  struct lull_tape_header *ret_header, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_head *head = &data->share->heads[location];
    if (head->damage)
        return lull_fail(err, LULL_ERR_FORMAT, "%s", head->damage);
    *ret_header = (struct lull_tape_header){.number = head->header_number,
                                            .kind = head->kind,
                                            .role = head->role,
                                            .source_id = head->source_id,
                                            .cores = head->cores,
                                            .usage = head->usage};
    strncpy(ret_header->name, head->name, sizeof ret_header->name - 1);
    if (head->core_set)
        memcpy(ret_header->core_set, head->core_set, sizeof ret_header->core_set);
    if (head->stream)
        ret_header->stream = *head->stream;
    return LULL_OK;
}

/* ==== names =================================================================================== */

/* Names of call sites: the files of the program are opened by the first member alone. */

/* What is told of a region; its name, file and site follow. */
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
    if (data->n_addresses == 0) /* all members know this number */
        return LULL_OK;
    if (data->share->exchange->index == 0) {
        status = lull_tape_name_sites(trace, err);
        if (status == LULL_OK)
            tell_names(trace, &words);
    }
    return lull_tape_tell_all(trace, &words, status, hear_names, trace, err);
}
