/* Workers of the pass. What they read becomes notes at once, without the share; who then finds
 * nobody else at the share evaluates for all of its readers. A reader whose notes have to wait
 * reads on, until it has as much at hand as it can keep. */
#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/read.h"

enum { MOST_AT_HAND = 1 << 12 }; /* notes */

struct reader *lull_reader_create(void)
{
    struct reader *reader = lull_alloc_apart(sizeof *reader);
    if (reader)
        pthread_cond_init(&reader->wake, NULL);
    return reader;
}

void lull_reader_destroy(struct reader *reader)
{
    if (!reader)
        return;
    pthread_cond_destroy(&reader->wake);
    free(reader->notes);
    free(reader->sheaves);
    free(reader);
}

/* ---- evaluation ---------------------------------------------------------------------------- */

void lull_reader_evaluate(struct reader *reader, struct share *share)
{
    lull_post_take(share);
    lull_share_run(share);
    if (share != reader->share)
        return;
    const struct note *notes = reader->notes;
    for (size_t i = 0; i < reader->n_sheaves; i++) {
        const struct sheaf *sheaf = &reader->sheaves[i];
        lull_ideal_stream_notes(share, sheaf->stream, notes, sheaf->count);
        lull_share_run(share);
        notes += sheaf->count;
    }
    reader->n_notes = reader->n_sheaves = 0;
}

/* Once full, until half of that is gone: or readers would be woken for every step. */
static bool is_full(const struct share *share, bool was)
{
    size_t bound = atomic_load_explicit(&share->ideal->bound, memory_order_relaxed);
    return share->pool.queued >= (was ? bound / 2 + 1 : bound);
}

void lull_reader_let_go(struct reader *reader, struct share *share)
{
    bool was = atomic_load_explicit(&share->full, memory_order_relaxed);
    bool full = is_full(share, was);
    atomic_store(&share->full, full);
    pthread_mutex_unlock(&share->evaluation);
    if (!was && !full) /* nobody rests */
        return;
    for (unsigned r = 0; r < share->n_readers; r++) {
        struct reader *other = share->readers[r];
        if (!full)
            atomic_store(&other->hungry, true);
        if (other != reader && atomic_load(&other->hungry))
            lull_post_rouse(other, RESTING);
    }
}

lull_status lull_reader_failure(struct share *share, struct lull_error *err)
{
    return share->status == LULL_OK ? LULL_OK
                                    : lull_fail(err, share->status, "%s", share->error.text);
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Of a stream that is alone in its process; false: no memory. */
static bool read_notes(struct reader *reader, struct stream *stream, const struct lull_steps *steps)
{
    struct share *share = reader->share;
    size_t before = reader->n_notes;
    if (!lull_array_reserve(&reader->notes, &reader->note_capacity, before + steps->count,
                            sizeof *reader->notes) ||
        !lull_array_reserve(&reader->sheaves, &reader->sheaf_capacity, reader->n_sheaves + 1,
                            sizeof *reader->sheaves))
        return false;
    struct note *note = reader->notes + before;
    for (uint32_t i = 0; i < steps->count; i++)
        if (!lull_read_is_silent(share, stream, &steps->steps[i]))
            lull_read_note(share, stream, &steps->steps[i], steps->channels, note++);
    reader->n_notes = (size_t)(note - reader->notes);
    if (reader->n_notes > before)
        reader->sheaves[reader->n_sheaves++] =
            (struct sheaf){.stream = stream, .count = reader->n_notes - before};
    return true;
}

/* Whether this reader may evaluate now. */
static bool take_share(struct share *share, bool waits)
{
    if (waits)
        pthread_mutex_lock(&share->evaluation);
    return waits || pthread_mutex_trylock(&share->evaluation) == 0;
}

/* NULL: no memory, which is noted. */
static struct stream *find_stream(struct share *share, uint32_t location)
{
    struct stream *stream = share->ideal->streams[location];
    if (stream)
        return stream;
    pthread_mutex_lock(&share->evaluation);
    stream = lull_share_stream(share, location);
    pthread_mutex_unlock(&share->evaluation);
    return stream;
}

lull_status lull_reader_steps(struct reader *reader, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct share *share = reader->share;
    struct stream *stream = find_stream(share, steps->location);
    const bool crew = stream && stream->process->crew;
    bool good = !stream || crew || !stream->calls || read_notes(reader, stream, steps);
    atomic_exchange(&reader->hungry, false); /* and what made it so is seen */
    if (!take_share(share, crew || !good || reader->n_notes >= MOST_AT_HAND))
        return LULL_OK;
    if (!good)
        lull_share_no_memory(share);
    lull_reader_evaluate(reader, share);
    if (crew) {
        lull_crew_steps(share, stream, steps);
        lull_share_run(share);
    }
    lull_post_flush_now_and_then(share);
    lull_status status = lull_reader_failure(share, err);
    lull_reader_let_go(reader, share);
    return status;
}
