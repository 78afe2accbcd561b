#include "launch/wish.h"

#include "base/text.h"
#include "base/text/option.h"
#include "filter/filter.h"
#include "lull_features.h"
#include "tape/layout.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_NAME = 255,  /* of a region that iterations refer to, bytes */
    MOST_CALLERS = 32 /* that the recorder follows */
};

/* "100000:1us" becomes "100000:1000", calls and ns. */
static lull_status read_throttle(const char *text, struct lull_arena *arena,
                                 const char **ret_throttle, struct lull_error *err)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    uint64_t calls;
    int64_t ns;
    *ret_throttle = text;
    if (!text || strcmp(text, "none") == 0)
        return LULL_OK;
    if (!colon || lull_parse_u64(text, (size_t)(colon - text), &calls) != LULL_OK || calls == 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--throttle: expected CALLS:TIME such as 100000:1us, or none, got '%s'",
                         text);
    if (lull_parse_time(colon + 1, 1, &ns, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--throttle");
    *ret_throttle = lull_arena_printf(arena, "%llu:%lld", (unsigned long long)calls, (long long)ns);
    return LULL_OK;
}

static lull_status read_time(const char *option, const char *text, struct lull_arena *arena,
                             const char **ret_ns, struct lull_error *err)
{
    const double ns_per_second = 1e9;
    int64_t ns;
    if (!text)
        return LULL_OK;
    if (lull_parse_time(text, ns_per_second, &ns, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--%s", option);
    if (ns < 0)
        return lull_fail(err, LULL_ERR_RANGE, "--%s: %s lies in the past", option, text);
    *ret_ns = lull_arena_printf(arena, "%lld", (long long)ns);
    return LULL_OK;
}

static lull_status read_duration(const char *text, struct lull_arena *arena, const char **ret_ns,
                                 struct lull_error *err)
{
    lull_status status = read_time("duration", text, arena, ret_ns, err);
    if (status == LULL_OK && text && strcmp(*ret_ns, "0") == 0)
        return lull_fail(err, LULL_ERR_RANGE, "--duration: nothing would be recorded in %s", text);
    return status;
}

/* "3:10", or "solve:3:10". */
static lull_status read_iterations(const char *text, const char **ret_iterations,
                                   struct lull_error *err)
{
    const char *last = text ? strrchr(text, ':') : NULL, *first = last;
    uint64_t from, to;
    if (!text)
        return LULL_OK;
    while (first && first > text && first[-1] != ':')
        first--;
    if (!last || lull_parse_u64(first, (size_t)(last - first), &from) != LULL_OK ||
        lull_parse_u64(last + 1, strlen(last + 1), &to) != LULL_OK || to > INT32_MAX ||
        strlen(text) > MOST_NAME)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--iterations: expected FIRST:LAST or NAME:FIRST:LAST such as 10:19, got "
                         "'%s'",
                         text);
    if (from > to || (first > text && from == 0))
        return lull_fail(err, LULL_ERR_RANGE, "--iterations: %s holds none", text);
    *ret_iterations = text;
    return LULL_OK;
}

/* "last:64MiB" */
static lull_status read_kept(const char *text, struct lull_recording_wish *wish,
                             struct lull_error *err)
{
    static const char last[] = "last:";
    if (wish->profile)
        return lull_fail(err, LULL_ERR_RANGE, "--keep: a profile has no events");
    if (strncmp(text, last, strlen(last)) != 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--keep: expected last:SIZE such as last:64MiB, got '%s'", text);
    if (lull_parse_size(text + strlen(last), &wish->bytes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--keep");
    if (wish->bytes < LULL_TAPE_CHUNK)
        return lull_fail(err, LULL_ERR_RANGE, "--keep: expected 64KiB at least, got '%s'", text);
    wish->last = true;
    return LULL_OK;
}

static lull_status read_bytes(const struct lull_recording_texts *texts,
                              struct lull_recording_wish *wish, struct lull_error *err)
{
    wish->has_bytes = texts->max_size || texts->keep;
    if (texts->max_size && texts->keep)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--keep and --max-size exclude each other: events are the first or the "
                         "last ones");
    if (texts->keep)
        return read_kept(texts->keep, wish, err);
    if (texts->max_size && lull_parse_size(texts->max_size, &wish->bytes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--max-size");
    return LULL_OK;
}

/* It is read here to be checked, and again by the recorder. */
static lull_status read_filter(const char *path, struct lull_arena *arena, const char **ret_filter,
                               struct lull_error *err)
{
    const struct lull_filter *filter;
    if (!path)
        return LULL_OK;
    if (!LULL_HAVE_LIBDW)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "--filter: lull was built without libdw (lull info)");
    lull_status status = lull_filter_read(path, arena, &filter, err);
    if (status != LULL_OK)
        return status;
    char *whole = realpath(path, NULL);
    *ret_filter = whole ? lull_arena_strdup(arena, whole) : path;
    free(whole);
    return LULL_OK;
}

static lull_status read_words(const struct lull_recording_texts *texts,
                              struct lull_recording_wish *wish, struct lull_error *err)
{
    static const char *const families[] = {"openmpi", "mpich", "none", NULL};
    static const enum lull_mpi_family family_of[] = {LULL_MPI_NONE, LULL_MPI_OPENMPI,
                                                     LULL_MPI_MPICH, LULL_MPI_NONE};
    static const char *const states[] = {"on", "off", NULL};
    static const char *const stores[] = {"node", "process", NULL};
    static const enum lull_recording_store store_of[] = {LULL_STORE_CHOSEN, LULL_STORE_NODE,
                                                         LULL_STORE_PROCESS};
    uint64_t callers;
    unsigned family, state, store;
    lull_status status =
        lull_option_number("callpath", texts->callpath, 1, MOST_CALLERS, &callers, err);
    if (status == LULL_OK)
        status = lull_option_word("mpi", texts->mpi, families, &family, err);
    if (status == LULL_OK)
        status = lull_option_word("signals", texts->signals, states, &state, err);
    if (status == LULL_OK)
        status = lull_option_word("store", texts->store, stores, &store, err);
    if (status != LULL_OK)
        return status;
    wish->store = store_of[store];
    wish->callpath = texts->callpath;
    wish->signals = texts->signals;
    wish->mpi_named = family > 0;
    wish->mpi = family_of[family];
    return LULL_OK;
}

lull_status lull_recording_wish_read(const struct lull_recording_texts *texts,
                                     struct lull_arena *arena, struct lull_recording_wish *wish,
                                     struct lull_error *err)
{
    lull_status status = read_words(texts, wish, err);
    if (status == LULL_OK)
        status = read_bytes(texts, wish, err);
    if (status == LULL_OK)
        status = read_throttle(texts->throttle, arena, &wish->throttle, err);
    if (status == LULL_OK)
        status = read_time("start-after", texts->start_after, arena, &wish->start, err);
    if (status == LULL_OK)
        status = read_duration(texts->duration, arena, &wish->duration, err);
    wish->waits = texts->waits;
    if (status == LULL_OK && texts->waits && strcmp(texts->waits, "none") != 0)
        status = read_time("waits", texts->waits, arena, &wish->waits, err);
    if (status == LULL_OK)
        status = read_iterations(texts->iterations, &wish->iterations, err);
    return status == LULL_OK ? read_filter(texts->filter, arena, &wish->filter, err) : status;
}
