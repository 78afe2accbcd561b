/* Letters of a replay that members of a team simulate together: all come, in order within a pair,
 * and all members know when it is over; who posts much waits until it is taken, and who keeps much
 * leaves the rest where it is until nothing else can be done. */
#include "replay/shared_replay.h"

#include "stats/random.h"
#include "support/seed.h"
#include "support/team_of.h"
#include "support/test.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_MEMBERS = 5 };

typedef const char *body_fn(struct lull_team *team, const struct lull_sim_part *part);

static body_fn *letters_body; /* the same in all members */

static const char *with_letters(struct lull_team *team)
{
    lull_team_begin(team, LULL_TEAM_REPLAY);
    struct lull_letters *letters = lull_letters_create(team);
    const struct lull_sim_part part = lull_letters_part(letters);
    const char *wrong = letters_body(team, &part);
    wrong = wrong || lull_letters_ended(letters) ? wrong : "has not ended";
    lull_letters_destroy(letters);
    return wrong;
}

static void run_team(body_fn *body, unsigned members, unsigned seed)
{
    letters_body = body;
    team_of_run(with_letters, members, seed);
}

static lull_status post(const struct lull_sim_part *part, uint32_t to, uint32_t number)
{
    struct lull_error err;
    const struct lull_sim_letter letter = {.source = part->index, .id = number, .time = number};
    return part->post(part->context, to, &letter, &err);
}

/* A letter goes on to a random member so many times; each member begins with some. */
static const char *pass_on(struct lull_team *team, const struct lull_sim_part *part)
{
    enum { LETTERS = 300, LEGS = 40 };
    struct lull_sim_news news = {0};
    struct lull_error err;
    struct lull_random random;
    uint32_t next[MOST_MEMBERS] = {0}, posted[MOST_MEMBERS] = {0};
    int64_t counts[2] = {0}; /* posted, taken */
    lull_random_seed(&random, part->index);
    for (uint32_t i = 0; i < LETTERS; i++) {
        const uint32_t to =
            (part->index + 1 + (uint32_t)lull_random_below(&random, part->n - 1)) % part->n;
        /* `time`: legs that are left; `id`: the how-manieth of the pair */
        const struct lull_sim_letter letter = {
            .source = part->index, .id = posted[to]++, .time = LEGS};
        if (part->post(part->context, to, &letter, &err) != LULL_OK)
            return "posting fails";
        counts[0]++;
    }
    while (!news.over) {
        if (part->take(part->context, news.count == 0, 0, &news, &err) != LULL_OK)
            return "taking fails";
        for (size_t i = 0; i < news.count; i++) {
            struct lull_sim_letter letter = news.letters[i];
            counts[1]++;
            if (letter.id != next[letter.source]++)
                return "a letter is not the next of its pair";
            if (letter.time-- == 0)
                continue;
            const uint32_t to =
                (part->index + 1 + (uint32_t)lull_random_below(&random, part->n - 1)) % part->n;
            letter.source = part->index;
            letter.id = posted[to]++;
            if (part->post(part->context, to, &letter, &err) != LULL_OK)
                return "posting fails";
            counts[0]++;
        }
    }
    if (lull_team_sum(team, counts, 2, &err) != LULL_OK)
        return "cannot be summed";
    const int64_t expected = (int64_t)part->n * LETTERS * (LEGS + 1);
    if (lull_team_is_first(team) && (counts[0] != expected || counts[1] != expected))
        return "letters are missing";
    return NULL;
}

static void all_come_in_order(void **state)
{
    (void)state;
    for (unsigned members = 2; members <= MOST_MEMBERS; members++)
        for (unsigned seed = 0; seed < 2 * lull_test_rounds(4); seed++)
            run_team(pass_on, members, seed);
}

static atomic_bool
    *was_held_back; /* seen by all members: the one that posts was full, or is through */

/* The first posts as much as it may. The other one keeps all, and is busy with something else until
 * the first is held back: neither has more than some ten MiB of it until the other one is idle. */
static const char *post_much(struct lull_team *team, const struct lull_sim_part *part)
{
    /* 192 MB; where letters are dear, 20 MB more than a member keeps */
    const uint32_t letters = lull_test_rounds(2) == 2 ? 4000000 : 1800000;
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    struct lull_sim_news news = {0};
    struct lull_error err;
    size_t most = 0;
    uint32_t posted = 0, kept = 0;
    bool was_full = false;
    const bool posts = lull_team_is_first(team);
    for (unsigned looks = 0; !news.over; looks++) {
        for (unsigned i = 0; posts && !news.full && posted < letters && i < 4096; i++)
            if (post(part, 1, posted++) != LULL_OK)
                return "posting fails";
        if (posts && (news.full || posted == letters))
            atomic_store(was_held_back, true);
        const bool idle = posts ? posted == letters : news.count == 0 && atomic_load(was_held_back);
        if (part->take(part->context, idle, kept, &news, &err) != LULL_OK)
            return "taking fails";
        for (size_t i = 0; i < news.count; i++)
            if (news.letters[i].id != kept++)
                return "a letter is not the next";
        was_full |= news.full;
        if (looks % 64 == 0) {
            const size_t now = mallinfo2().uordblks + mallinfo2().hblkhd;
            most = now > most ? now : most;
        }
    }
    if (posts && !was_full)
        return "nothing holds it back";
    if (!posts && kept != letters)
        return "letters are missing";
    return most < before + (100 << 20) ? NULL : "too much is on its way";
}

static void much_is_held_back(void **state)
{
    (void)state;
    was_held_back = mmap(NULL, sizeof *was_held_back, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(was_held_back != MAP_FAILED);
    run_team(post_much, 2, 0);
    munmap(was_held_back, sizeof *was_held_back);
}

/* Both post as much as they may, and keep all that they get: each goes on as the other one has
 * nothing else to do. */
static const char *fill_each_other(struct lull_team *team, const struct lull_sim_part *part)
{
    const uint32_t letters = lull_test_rounds(2) == 2 ? 3000000 : 1400000;
    struct lull_sim_news news = {0};
    struct lull_error err;
    uint32_t posted = 0, kept = 0;
    (void)team;
    while (!news.over) {
        for (unsigned i = 0; !news.full && posted < letters && i < 4096; i++)
            if (post(part, 1 - part->index, posted++) != LULL_OK)
                return "posting fails";
        const bool idle = posted == letters && news.count == 0;
        if (part->take(part->context, idle, kept, &news, &err) != LULL_OK)
            return "taking fails";
        kept += (uint32_t)news.count;
    }
    return kept == letters ? NULL : "letters are missing";
}

static void who_is_full_goes_on_where_all_wait(void **state)
{
    (void)state;
    run_team(fill_each_other, 2, 0);
}

TEST_GROUP(test_letters)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_come_in_order),
        cmocka_unit_test(much_is_held_back),
        cmocka_unit_test(who_is_full_goes_on_where_all_wait),
    };
    return run_cases(tests, NULL, NULL);
}
