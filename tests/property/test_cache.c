/* The cache simulator against a slow one that is written differently (support/slow_cache.h). On
 * random hierarchies and random streams every count must be the same. */
#include "model/cache.h"

#include "stats/random.h"
#include "support/branches.h"
#include "support/seed.h"
#include "support/slow_cache.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEVERAL_LEVELS, SEVERAL_CORES, TREE, INCLUSIVE, HIT, WRITTEN, VICTIM, FLUSHED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [SEVERAL_LEVELS] = {.what = "there are several levels", .least = 300},
    [SEVERAL_CORES] = {.what = "there are several cores", .least = 50},
    [TREE] = {.what = "a level replaces by a tree", .least = 100},
    [INCLUSIVE] = {.what = "a level is inclusive", .least = 200},
    [HIT] = {.what = "the last level hits", .least = 300},
    [WRITTEN] = {.what = "a dirty line leaves the last level", .least = 300},
    [VICTIM] = {.what = "a clean line goes to the next level", .least = 100},
    [FLUSHED] = {.what = "lines are dirty at the end", .least = 300},
};

/* ---- random hierarchies and streams --------------------------------------------------------- */

static uint64_t below(struct lull_random *random, uint64_t bound)
{
    return lull_random_below(random, bound);
}

/* What most processors have, for which the simulator has code of its own: of one core, least
 * recently used, few ways; the last level often inclusive. */
static struct lull_cache_spec draw_usual_spec(struct lull_random *random)
{
    struct lull_cache_spec spec = {.n_levels = 2 + below(random, 2), .line_bytes = 64, .cores = 1};
    for (size_t n = 0; n < spec.n_levels; n++) {
        uint32_t ways = 1 + (uint32_t)below(random, 16);
        spec.levels[n] = (struct lull_cache_level){.bytes = (1 + below(random, 6) * (n + 1)) *
                                                            ways * spec.line_bytes,
                                                   .ways = ways,
                                                   .sharers = 1};
    }
    spec.levels[spec.n_levels - 1].filling = (enum lull_cache_filling)below(random, 4);
    if (below(random, 2))
        spec.levels[spec.n_levels - 1].filling = LULL_CACHE_INCLUSIVE;
    return spec;
}

static struct lull_cache_spec draw_spec(struct lull_random *random)
{
    if (below(random, 2))
        return draw_usual_spec(random);
    struct lull_cache_spec spec = {.n_levels = 1 + below(random, LULL_CACHE_LEVELS),
                                   .line_bytes = 8u << below(random, 5),
                                   .cores = 1 + (uint32_t)below(random, 4)};
    uint32_t sharers = 1;
    for (size_t n = 0; n < spec.n_levels; n++) {
        struct lull_cache_level *level = &spec.levels[n];
        if (n && below(random, 2))
            sharers *= 1 + (uint32_t)below(random, 3);
        level->policy = below(random, 3) ? LULL_CACHE_LRU : LULL_CACHE_PLRU;
        uint32_t most = below(random, 4) ? 18 : LULL_CACHE_MAX_WAYS;
        level->ways = level->policy == LULL_CACHE_PLRU ? 1u << below(random, 7)
                                                       : 1 + (uint32_t)below(random, most);
        level->bytes = (1 + below(random, 12) * (n + 1)) * level->ways * spec.line_bytes +
                       below(random, spec.line_bytes);
        level->filling = n ? (enum lull_cache_filling)below(random, 4) : LULL_CACHE_NORMAL;
        level->sharers = sharers;
    }
    return spec;
}

/* Addresses of a stream, above `base`: mostly near the last one, at times anywhere in a region that
 * the caches hold in part, and again and again at its begin, which the first level does not lose
 * when others do. */
static lull_cache_access draw_access(struct lull_random *random, uint64_t base, uint64_t region,
                                     uint64_t *last)
{
    if (below(random, 8) == 0)
        return lull_cache_read(base + below(random, 128));
    *last = below(random, 4) ? (*last + 8 * below(random, 4)) % region : below(random, region);
    return below(random, 3) ? lull_cache_read(base + *last) : lull_cache_write(base + *last);
}

static void check_counts(const struct lull_cache *cache, const struct slow_cache *slow,
                         const char *when)
{
    for (size_t n = 0; n < slow->spec.n_levels; n++) {
        struct lull_cache_traffic got = lull_cache_traffic(cache, n);
        fail_if(memcmp(&got, &slow->traffic[n], sizeof got) != 0,
                "%s: level %zu of %zu: accesses %llu, hits %llu, writes %llu, victims %llu; "
                "the slow one %llu, %llu, %llu, %llu",
                when, n + 1, slow->spec.n_levels, (unsigned long long)got.accesses,
                (unsigned long long)got.hits, (unsigned long long)got.writes,
                (unsigned long long)got.victims, (unsigned long long)slow->traffic[n].accesses,
                (unsigned long long)slow->traffic[n].hits,
                (unsigned long long)slow->traffic[n].writes,
                (unsigned long long)slow->traffic[n].victims);
    }
}

/* Lines that are dirty somewhere below an instance of the last level. */
static uint64_t slow_dirty(struct slow_cache *slow)
{
    uint64_t count = 0;
    for (size_t n = 0; n < slow->spec.n_levels; n++)
        for (uint64_t s = 0; s < slow->n_sets[n] * slow->spec.cores; s++)
            for (uint32_t w = 0; w < slow->spec.levels[n].ways; w++)
                count += slow->sets[n][s].lines[w].valid && slow->sets[n][s].lines[w].dirty;
    return count;
}

enum { BATCH = 97 };

/* A batch of accesses once, or a short one several times. Returns how many accesses that were. */
static size_t run_batch(struct lull_random *random, struct lull_cache *cache,
                        struct slow_cache *slow, uint64_t base, uint64_t region, uint64_t *last)
{
    lull_cache_access batch[BATCH];
    uint32_t core = (uint32_t)below(random, slow->spec.cores);
    bool repeat = below(random, 2);
    size_t count = repeat ? 1 + below(random, 12) : BATCH, times = repeat ? below(random, 9) : 1;
    for (size_t i = 0; i < count; i++)
        batch[i] = draw_access(random, base, region, last);
    for (size_t i = 0; i < count * times; i++)
        slow_cache_access(slow, core, batch[i % count] >> 1, batch[i % count] & 1);
    if (repeat)
        lull_cache_repeat(cache, core, batch, count, times);
    else
        lull_cache_run(cache, core, batch, count);
    return count * times;
}

static void run_one(struct lull_random *random)
{
    enum { ACCESSES = 4000 };
    struct lull_cache_spec spec = draw_spec(random);
    struct lull_cache *cache;
    struct slow_cache slow;
    struct lull_error err = {""};
    fail_if(lull_cache_create(&spec, &cache, &err) != LULL_OK, "%s", err.text);
    slow_cache_open(&slow, &spec);
    branch_reach(&branches[SEVERAL_LEVELS], spec.n_levels > 1);
    branch_reach(&branches[SEVERAL_CORES], spec.cores > 1);
    for (size_t n = 0; n < spec.n_levels; n++) {
        branch_reach(&branches[TREE], spec.levels[n].policy == LULL_CACHE_PLRU);
        branch_reach(&branches[INCLUSIVE], spec.levels[n].filling == LULL_CACHE_INCLUSIVE);
    }
    uint64_t region = spec.levels[spec.n_levels - 1].bytes * (1 + below(random, 3)) + 512;
    uint64_t base = below(random, 2) ? below(random, (UINT64_C(1) << 60) - region) : 0, last = 0;
    for (size_t done = 0; done < ACCESSES;) {
        done += run_batch(random, cache, &slow, base, region, &last);
        check_counts(cache, &slow, "running");
    }
    uint64_t dirty = slow_dirty(&slow), written = slow.traffic[spec.n_levels - 1].writes;
    lull_cache_flush(cache);
    uint64_t flushed = lull_cache_traffic(cache, spec.n_levels - 1).writes - written;
    /* Each dirty copy reaches memory, those of one line below one instance as one. */
    assert_true(flushed <= dirty && (flushed > 0) == (dirty > 0));
    if (spec.n_levels == 1)
        assert_int_equal(flushed, dirty);
    branch_reach(&branches[HIT], slow.traffic[spec.n_levels - 1].hits > 0);
    branch_reach(&branches[WRITTEN], written > 0);
    for (size_t n = 0; n < spec.n_levels; n++)
        branch_reach(&branches[VICTIM], slow.traffic[n].victims > 0);
    branch_reach(&branches[FLUSHED], flushed > 0);
    slow_cache_close(&slow);
    lull_cache_free(cache);
}

static void test_random(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(400);
    for (unsigned round = 0; round < rounds; round++) {
        run_one(&random);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_cache)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return run_cases(tests, NULL, NULL);
}
