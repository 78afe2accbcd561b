/* Mailboxes of the members of a team: all letters of a round come in it, in order within a pair, and
 * all members decide the same. How far a member may be ahead of the others is worked out by hand. */
#include "team/mailbox.h"

#include "stats/random.h"
#include "support/seed.h"
#include "support/team_of.h"
#include "support/test.h"

#include <string.h>
#include <unistd.h>

enum { MOST_MEMBERS = 7 };

#define TEXT_OF(number)   #number
#define LINE_TEXT(number) "line " TEXT_OF(number)
#define EXPECT(condition) \
    if (!(condition))     \
    return LINE_TEXT(__LINE__) ": not " #condition

/* ---- lead ------------------------------------------------------------------------------------ */

/* The first of three members: one share of two workers, which may be 3200 bytes ahead. */
static struct lull_lead *lead_of(struct lull_team *team)
{
    const struct lull_mailbox_options options = {.team = team, .workers = 2, .ahead = 3200};
    return lull_lead_create(&options);
}

/* Both workers have come to this time when so many letters of 32 bytes have been posted. */
static bool post(struct lull_lead *lead, int64_t time, uint32_t letters)
{
    lull_lead_reads(lead, 0, time);
    lull_lead_reads(lead, 1, time + 5);
    lull_lead_posted(lead, 0, letters * (size_t)32);
    return lull_lead_is_too_large(lead, 0);
}

/* Whether the share goes on when it hears how far another member has come. */
static bool hear(struct lull_lead *lead, uint32_t member, int64_t time)
{
    lull_lead_heard(lead, member, time);
    return lull_lead_goes_on(lead, 0);
}

static const char *follow(struct lull_lead *lead)
{
    EXPECT(!post(lead, 10, 60));
    EXPECT(!post(lead, 20, 40)); /* 100 that nobody has come near */
    EXPECT(post(lead, 30, 1));
    EXPECT(!hear(lead, 1, 25)); /* the other one has not been heard of */
    EXPECT(!hear(lead, 2, 9));
    EXPECT(hear(lead, 2, 10)); /* 41 are left */
    EXPECT(!post(lead, 40, 59));
    EXPECT(post(lead, 50, 1));
    EXPECT(hear(lead, 2, INT64_MAX)); /* member 1 is at 25: 61 are left */
    EXPECT(post(lead, 60, 100));
    EXPECT(lull_lead_double(lead)); /* 200 from now on */
    EXPECT(lull_lead_goes_on(lead, 0));
    EXPECT(!lull_lead_double(lead));
    EXPECT(!post(lead, 70, 39));
    EXPECT(post(lead, 80, 1));
    EXPECT(hear(lead, 1, INT64_MAX)); /* nobody needs to be waited for */
    EXPECT(!post(lead, 90, 1000000));
    return NULL;
}

static const char *tell(struct lull_lead *lead)
{
    int64_t time;
    lull_lead_reads(lead, 0, 7);
    lull_lead_reads(lead, 1, 3);
    EXPECT(lull_lead_to_tell(lead, &time) && time == 3);
    EXPECT(!lull_lead_to_tell(lead, &time)); /* it is as it was told */
    return NULL;
}

static const char *with_lead(struct lull_team *team, const char *(*body)(struct lull_lead *lead))
{
    if (!lull_team_is_first(team))
        return NULL;
    struct lull_lead *lead = lead_of(team);
    const char *wrong = body(lead);
    lull_lead_destroy(lead);
    return wrong;
}

static const char *follow_in_team(struct lull_team *team)
{
    return with_lead(team, follow);
}

static const char *tell_in_team(struct lull_team *team)
{
    return with_lead(team, tell);
}

static void rests_where_others_are_far_behind(void **state)
{
    (void)state;
    team_of_run(follow_in_team, 3, 1);
}

static void tells_once(void **state)
{
    (void)state;
    team_of_run(tell_in_team, 3, 1);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

enum { ROUNDS = 40, LETTERS = 5, LEGS = 8 };

/* A letter goes on to a random member so many times, within a round. */
struct letter {
    uint32_t number; /* of those that its sender has written to that member */
    uint16_t round, legs;
};

/* A parcel of one letter. */
struct lone {
    unsigned char head[LULL_MAILBOX_HEAD];
    struct letter letter;
};

struct rambler {
    struct lull_team *team;
    struct lull_mailbox *mailbox;
    struct lull_random random;
    bool alone; /* each letter in a parcel of its own */
    uint32_t round;
    uint32_t written[MOST_MEMBERS], read[MOST_MEMBERS];
    int64_t counts[2]; /* letters written, taken */
    int wrong;
};

static void send_on(struct rambler *rambler, uint32_t legs)
{
    const uint32_t size = lull_team_size(rambler->team);
    const uint32_t to = (lull_team_index(rambler->team) + 1 +
                         (uint32_t)lull_random_below(&rambler->random, size - 1)) %
                        size;
    struct lone lone = {.letter = {.number = rambler->written[to]++,
                                   .round = (uint16_t)rambler->round,
                                   .legs = (uint16_t)legs}};
    rambler->counts[0]++;
    if (rambler->alone) {
        lull_mailbox_post(rambler->mailbox, 0, to, &lone, sizeof lone);
        return;
    }
    void *room = lull_mailbox_room(rambler->mailbox, to, sizeof lone.letter);
    memcpy(room, &lone.letter, sizeof lone.letter);
    lull_mailbox_fill(rambler->mailbox, to, sizeof lone.letter);
}

static void take_letters(void *context, uint32_t from, const void *letters, size_t size)
{
    struct rambler *rambler = context;
    const struct letter *letter = letters;
    for (size_t i = 0; i < size / sizeof *letter; i++) {
        if (letter[i].round != rambler->round || letter[i].number != rambler->read[from]++)
            rambler->wrong = __LINE__;
        rambler->counts[1]++;
        if (letter[i].legs > 0)
            send_on(rambler, letter[i].legs - 1U);
    }
}

static bool has_settled(void *context)
{
    (void)context;
    return true; /* it only takes letters, which is done at once */
}

static uint64_t find_own_bit(void *context)
{
    const struct rambler *rambler = context;
    return UINT64_C(1) << (lull_team_index(rambler->team) + 8 * (rambler->round % 8));
}

static void begin_round(struct rambler *rambler)
{
    for (uint32_t i = 0; i < LETTERS && rambler->round < ROUNDS; i++)
        send_on(rambler, LEGS);
}

static void end_round(void *context, uint64_t findings)
{
    struct rambler *rambler = context;
    const uint64_t all = (UINT64_C(1) << lull_team_size(rambler->team)) - 1;
    if (findings != all << 8 * (rambler->round % 8))
        rambler->wrong = __LINE__;
    rambler->round++;
    begin_round(rambler);
}

static const struct lull_mailbox_owner ramblers = {.channel = LULL_TEAM_WAITS,
                                                   .take = take_letters,
                                                   .has_settled = has_settled,
                                                   .look = find_own_bit,
                                                   .decide = end_round};

static unsigned ramble_seed; /* the same in all members */

static const char *ramble(struct lull_team *team)
{
    struct rambler rambler = {.team = team, .alone = (ramble_seed + lull_team_index(team)) % 2};
    const struct lull_mailbox_options options = {.team = team, .workers = 1};
    struct lull_error err;
    lull_random_seed(&rambler.random, ramble_seed * UINT64_C(100) + lull_team_index(team));
    lull_team_begin(team, LULL_TEAM_WAITS);
    rambler.mailbox = lull_mailbox_open(&ramblers, &rambler, &options);
    EXPECT(rambler.mailbox);
    begin_round(&rambler);
    while (rambler.round < ROUNDS && lull_mailbox_failure(rambler.mailbox, &err) == LULL_OK)
        lull_mailbox_look_out(rambler.mailbox);
    lull_mailbox_close(rambler.mailbox);
    int64_t counts[3] = {rambler.counts[0], rambler.counts[1], rambler.wrong};
    EXPECT(lull_team_sum_to_all(team, counts, 3, &err) == LULL_OK);
    EXPECT(counts[2] == 0);
    EXPECT(counts[0] == (int64_t)lull_team_size(team) * ROUNDS * LETTERS * (LEGS + 1));
    EXPECT(counts[1] == counts[0]);
    EXPECT(rambler.wrong == 0);
    return NULL;
}

static void brings_all_letters_of_a_round(void **state)
{
    (void)state;
    const unsigned seed = (unsigned)lull_test_seed() % 1000;
    for (unsigned members = 2; members <= MOST_MEMBERS; members++) {
        ramble_seed = seed + members;
        team_of_run(ramble, members, ramble_seed);
    }
}

TEST_GROUP(test_mailbox)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rests_where_others_are_far_behind),
                                       cmocka_unit_test(tells_once),
                                       cmocka_unit_test(brings_all_letters_of_a_round)};
    return run_cases(tests, NULL, NULL);
}
