/* Who of those that open a run together reads what, and how they tell each other. */
#include "trace/format/tape/share/share.h"

#include "trace/format/tape/read/source.h"
#include "trace/shared.h"

#include <stdlib.h>
#include <string.h>

/* ---- who reads what -------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    return (*(const uint32_t *)a > *(const uint32_t *)b) -
           (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* Of all processes that have files. */
static bool list_numbers(const struct lull_tape_data *data, struct lull_tape_share *share)
{
    const size_t most = data->n_packed + data->n_files;
    share->numbers = malloc((most + 1) * sizeof *share->numbers);
    share->owners = malloc((most + 1) * sizeof *share->owners);
    if (!share->numbers || !share->owners)
        return false;
    size_t n = 0;
    for (size_t p = 0; p < data->n_packed; p++)
        share->numbers[n++] = data->packed[p];
    for (size_t f = 0; f < data->n_files; f++)
        share->numbers[n++] = data->files[f].process;
    qsort(share->numbers, n, sizeof *share->numbers, compare_numbers);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || share->numbers[i] != share->numbers[i - 1])
            share->numbers[share->n++] = share->numbers[i];
    share->sight = share->n;
    for (size_t i = 0; i < share->n; i++)
        share->sight = (share->sight ^ share->numbers[i]) * UINT64_C(0x100000001b3);
    return true;
}

/* Neighbours; the processes in the file of a node are before those with files of their own, and
 * belong to whom the first of them would. */
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
    if (share->merge)
        lull_tape_merge_free(share->merge);
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
