/* Suspects: who made others wait, by process and region of the user, and by region over processes.
 * Charges to MPI itself and to what a ledger had no room for are nobody's; threads that wait for
 * each other are looked at by rules of their own. */
#include "base/hash.h"
#include "diagnose/rule.h"

#include <stdlib.h>

static int compare_suspects(const void *a, const void *b)
{
    const struct lull_suspect *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static int compare_suspicions(const void *a, const void *b)
{
    const struct lull_suspicion *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->region < y->region ? -1 : x->region > y->region;
}

static void charge_suspect(struct lull_suspect *suspect, const struct lull_wait_charge *charge)
{
    suspect->ns += charge->ns;
    suspect->kinds[charge->kind] += charge->ns;
    suspect->passed_ns += charge->passed_ns;
    suspect->waits += charge->waits;
    if (!suspect->longest || charge->longest.ns > suspect->longest->longest.ns)
        suspect->longest = charge;
    if (!suspect->most || charge->ns > suspect->most->ns)
        suspect->most = charge;
}

static bool names_suspect(const struct lull_case *c, const struct lull_wait_charge *charge)
{
    return charge->kind < LULL_WAIT_MPI_KINDS && !charge->place.in_mpi &&
           charge->place.region != LULL_WAIT_ELSEWHERE &&
           charge->place.process < c->evidence->trace->n_processes;
}

/* They come with most ns first, so that the first charge of a suspect is its largest. */
static uint32_t gather(struct lull_case *c)
{
    const struct lull_wait_result *waits = c->evidence->waits;
    struct lull_hash numbers = {0};
    uint32_t count = 0;
    c->suspects = lull_arena_zero(c->arena, waits->n_charges + (size_t)1, sizeof *c->suspects);
    for (uint32_t i = 0; i < waits->n_charges; i++) {
        const struct lull_wait_charge *charge = &waits->charges[i];
        const uint32_t key[] = {charge->place.process, charge->place.region};
        bool is_new = false;
        if (!names_suspect(c, charge))
            continue;
        const uint64_t *number = lull_hash_add(&numbers, key, sizeof key, count, &is_new);
        if (!number)
            break; /* without memory: those with less time are not told */
        if (is_new)
            c->suspects[count++] = (struct lull_suspect){.process = key[0], .region = key[1]};
        charge_suspect(&c->suspects[*number], charge);
    }
    lull_hash_free(&numbers);
    return count;
}

void lull_suspicion_divide(struct lull_case *c, struct lull_suspicion *suspicion)
{
    struct lull_suspect *suspects = &c->suspects[suspicion->first];
    double sum = 0;
    qsort(suspects, suspicion->count, sizeof *suspects, compare_suspects);
    suspicion->principal = 0;
    while (suspicion->principal < suspicion->count &&
           sum < LULL_SUSPECTS_MOST * (double)suspicion->ns)
        sum += (double)suspects[suspicion->principal++].ns;
    suspicion->few = suspicion->principal <= 1 || 4 * suspicion->principal <= c->processes;
}

void lull_suspect_explain(struct lull_suspicion *suspicion, struct lull_suspect *suspect)
{
    suspicion->ns -= suspect->ns;
    suspect->ns = 0;
}

void lull_case_find_suspects(struct lull_case *c)
{
    const struct lull_wait_result *waits = c->evidence->waits;
    if (!waits || waits->absent || !c->evidence->trace)
        return;
    const uint32_t count = gather(c);
    qsort(c->suspects, count, sizeof *c->suspects, compare_suspects);
    c->suspicions = lull_arena_zero(c->arena, count + (size_t)1, sizeof *c->suspicions);
    for (uint32_t i = 0; i < count; i++) {
        struct lull_suspicion *last = c->n_suspicions ? &c->suspicions[c->n_suspicions - 1] : NULL;
        if (!last || last->region != c->suspects[i].region) {
            last = &c->suspicions[c->n_suspicions++];
            *last = (struct lull_suspicion){.region = c->suspects[i].region, .first = i};
        }
        last->count++;
        last->ns += c->suspects[i].ns;
    }
    for (uint32_t i = 0; i < c->n_suspicions; i++)
        lull_suspicion_divide(c, &c->suspicions[i]);
    qsort(c->suspicions, c->n_suspicions, sizeof *c->suspicions, compare_suspicions);
}
