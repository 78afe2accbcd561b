/* The notes of the threads of a process, merged. */
#include "wait/crew.h"

#include <stdlib.h>

struct wait_crew *lull_wait_crew_create(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_process *of = &trace->processes[process];
    struct wait_crew *crew = calloc(1, sizeof *crew);
    if (!crew)
        return NULL;
    crew->process = process;
    crew->first_location = of->first_location;
    crew->n_threads = of->n_threads;
    crew->threads = calloc(of->n_threads, sizeof *crew->threads);
    pthread_mutex_init(&crew->lock, NULL);
    if (!crew->threads) {
        lull_wait_crew_destroy(crew);
        return NULL;
    }
    for (uint32_t t = 0; t < crew->n_threads; t++)
        crew->threads[t].reading.user = LULL_NONE;
    return crew;
}

static void free_thread(struct crew_thread *thread)
{
    if (thread->meeting && --thread->meeting->references == 0) {
        lull_wait_moment_drop(&thread->meeting->late);
        free(thread->meeting);
    }
    lull_wait_ledger_free(&thread->ledger);
    lull_ring_free(&thread->notes);
}

void lull_wait_crew_destroy(struct wait_crew *crew)
{
    if (!crew)
        return;
    for (uint32_t t = 0; crew->threads && t < crew->n_threads; t++)
        free_thread(&crew->threads[t]);
    for (size_t i = 0; i < crew->n_lives; i++) {
        lull_wait_moment_drop(&crew->lives[i].made);
        lull_wait_moment_drop(&crew->lives[i].late);
    }
    free(crew->threads);
    free(crew->lives);
    free(crew->holds);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

/* ---- the order ----------------------------------------------------------------------------- */

static const struct crew_note *first_note(const struct crew_thread *thread)
{
    return thread->notes.count ? lull_ring_at(&thread->notes, sizeof(struct crew_note), 0) : NULL;
}

static bool comes_before(const struct crew_note *a, const struct crew_note *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return (a->kind >= CREW_LEAVE) < (b->kind >= CREW_LEAVE);
}

/* The thread with the first of all notes, the lower one of two; LULL_NONE: of a thread that has not
 * ended none is known. */
static uint32_t find_earliest_thread(const struct wait_crew *crew)
{
    uint32_t first = LULL_NONE;
    for (uint32_t t = 0; t < crew->n_threads; t++) {
        const struct crew_note *note = first_note(&crew->threads[t]);
        if (!note && !crew->threads[t].ended)
            return LULL_NONE;
        if (note && (first == LULL_NONE || comes_before(note, first_note(&crew->threads[first]))))
            first = t;
    }
    return first;
}

static void take_notes(struct lull_waits *waits, struct wait_crew *crew)
{
    for (uint32_t t; !crew->no_memory && (t = find_earliest_thread(crew)) != LULL_NONE;) {
        const struct crew_note note = *first_note(&crew->threads[t]);
        lull_ring_pop(&crew->threads[t].notes);
        lull_wait_crew_note(waits, crew, t, &note);
    }
}

bool lull_wait_crew_take(struct lull_waits *waits, struct wait_crew *crew,
                         const struct lull_steps *steps)
{
    const bool is_master = steps->location == crew->first_location;
    struct crew_thread *thread = &crew->threads[steps->location - crew->first_location];
    pthread_mutex_lock(&crew->lock);
    for (uint32_t i = 0; i < steps->count && !crew->no_memory; i++) {
        struct crew_note notes[CREW_NOTES_OF_STEP];
        const size_t n = lull_wait_crew_notes_of_step(waits->trace, &thread->reading,
                                                      &steps->steps[i], is_master, notes);
        for (size_t k = 0; k < n; k++) {
            struct crew_note *pushed = lull_ring_push(&thread->notes, sizeof *pushed);
            crew->no_memory |= !pushed;
            if (pushed)
                *pushed = notes[k];
        }
        thread->ended |= steps->steps[i].kind == LULL_STEP_END;
    }
    take_notes(waits, crew);
    const bool good = !crew->no_memory;
    pthread_mutex_unlock(&crew->lock);
    return good;
}
