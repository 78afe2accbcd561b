#include "study/model/spmv_wish.h"

#include "base/text.h"
#include "base/text/option.h"
#include "bench/sparse/sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPMV_CORES = 4096, USUAL_CHUNK = 32, USUAL_SIGMA = 256 };

static int compare_numbers(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static lull_status read_cores(const char *text, struct lull_arena *arena,
                              struct lull_spmv_wish *wish, struct lull_error *err)
{
    size_t count, different = 0;
    if (!text)
        return LULL_OK;
    const char **pieces = lull_split(text, ",", arena, &count);
    unsigned *cores = lull_arena_zero(arena, count, sizeof *cores);
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        if (lull_parse_u64(pieces[i], strlen(pieces[i]), &number) != LULL_OK || !number ||
            number > MOST_SPMV_CORES)
            return lull_fail(err, LULL_ERR_RANGE,
                             "--cores is '%s', expected numbers from 1 to %d with commas", text,
                             MOST_SPMV_CORES);
        cores[i] = (unsigned)number;
    }
    qsort(cores, count, sizeof *cores, compare_numbers);
    for (size_t i = 0; i < count; i++)
        if (!i || cores[i] != cores[i - 1])
            cores[different++] = cores[i];
    wish->cores = cores;
    wish->n_cores = different;
    return LULL_OK;
}

static lull_status read_storage(const struct lull_spmv_texts *texts, struct lull_spmv_wish *wish,
                                struct lull_error *err)
{
    static const char *const storages[] = {"crs", "sell", NULL};
    unsigned storage;
    if (texts->chunk < 0 || texts->chunk > LULL_SPARSE_MOST_CHUNK || texts->sigma < 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--chunk and --sigma are numbers above 0, --chunk up to %d",
                         LULL_SPARSE_MOST_CHUNK);
    lull_status status = lull_option_word("storage", texts->storage, storages, &storage, err);
    if (status != LULL_OK)
        return status;
    bool is_sell = storage == 2;
    if (is_sell && wish->transposed)
        return lull_fail(err, LULL_ERR_RANGE, "--transposed is for --storage crs");
    if (!is_sell && (texts->chunk || texts->sigma))
        return lull_fail(err, LULL_ERR_RANGE, "--chunk and --sigma are for --storage sell");
    wish->chunk = !is_sell ? 0 : texts->chunk ? (uint32_t)texts->chunk : USUAL_CHUNK;
    wish->sigma = texts->sigma ? (uint32_t)texts->sigma : USUAL_SIGMA;
    return LULL_OK;
}

lull_status lull_spmv_wish_read(const struct lull_spmv_texts *texts, struct lull_arena *arena,
                                struct lull_spmv_wish *wish, struct lull_error *err)
{
    uint64_t volume = 0;
    wish->core = (struct lull_spmv_core){NAN, NAN};
    wish->seconds = 2;
    lull_status status = read_storage(texts, wish, err);
    if (status == LULL_OK)
        status = lull_option_real("t-ol", texts->t_ol, 0, &wish->core.t_ol, err);
    if (status == LULL_OK)
        status = lull_option_real("t-nol", texts->t_nol, 0, &wish->core.t_nol, err);
    if (status == LULL_OK)
        status = lull_option_real("seconds", texts->seconds, 0.01, &wish->seconds, err);
    if (status == LULL_OK)
        status = read_cores(texts->cores, arena, wish, err);
    if (status == LULL_OK)
        status = lull_option_size("bytes", texts->bytes, 0, "", &volume, err);
    wish->volume = texts->bytes ? (double)volume : NAN;
    if (status == LULL_OK)
        status = lull_option_real("rows", texts->rows, 1, &wish->rows, err);
    return status == LULL_OK
               ? lull_option_real("nonzeros", texts->nonzeros, 1, &wish->nonzeros, err)
               : status;
}
