/* Headers of locations: each member reads those of its own processes, and tells them. */
#include "trace/format/tape/read/source.h"
#include "trace/format/tape/share/share.h"

#include <stdlib.h>
#include <string.h>

/* A location; its name, or what is wrong with it, follows, and the cores that it may use if these
 * are `core_set`, one more than the member has told. */
struct told {
    struct lull_tape_told header;
    struct lull_tape_cores cores;
    uint64_t head, lost, source_id;
    uint32_t process, number, header_number;
    uint32_t core_set; /* 0: not known */
    uint8_t kind, role, packed, has_sums, has_own_file, is_damaged;
    uint8_t reserved[2];
};

/* What is needed to make the location, and not later. */
struct lull_tape_head {
    struct lull_tape_name file; /* the first, by which they are sorted */
    struct lull_tape_cores cores;
    const uint64_t *core_set; /* NULL: not known */
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
    return number ? (uint32_t)*number : 0; /* without memory it is not told */
}

static void tell_header(const struct lull_tape_file *file, const struct lull_tape_header *header,
                        const char *damage, struct lull_hash *sets, struct lull_tape_words *words)
{
    struct told told;
    bool fresh = false;
    memset(&told, 0, sizeof told); /* also between its members */
    told.process = file->process;
    told.number = file->number;
    told.head = file->head;
    told.packed = file->packed;
    told.has_sums = file->has_sums;
    told.is_damaged = damage != NULL;
    if (!damage) {
        told.header = file->header;
        told.cores = header->cores;
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

/* Others may have been listed, too, but their owners know more of them. */
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

/* What one member tells. */
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

static void add_file(struct lull_trace *trace, const struct told *told)
{
    struct lull_tape_data *data = trace->format_data;
    lull_tape_make_room(trace, &data->files, &data->files_capacity, data->n_files + 1,
                        sizeof *data->files);
    data->files[data->n_files++] = (struct lull_tape_file){.process = told->process,
                                                           .number = told->number,
                                                           .header = told->header,
                                                           .packed = told->packed,
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
    share->heads[share->n_heads++] =
        (struct lull_tape_head){.cores = told.cores,
                                .core_set = hear_set(trace, member, told.core_set),
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

/* The own files from *next on, as far as they are of processes up to `last`. */
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
                                            .cores = head->cores};
    strncpy(ret_header->name, head->name, sizeof ret_header->name - 1);
    if (head->core_set)
        memcpy(ret_header->core_set, head->core_set, sizeof ret_header->core_set);
    return LULL_OK;
}
