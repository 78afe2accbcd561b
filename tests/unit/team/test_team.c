/* The functions of a team, each over members joined at random (chaos) and alone. What members
 * should have of each other is worked out by each of them for itself. */
#include "support/seed.h"
#include "support/team_of.h"
#include "support/test.h"
#include "team/ending.h"
#include "team/team.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SEEDS = 6, WORDS = 50 };
#define LULL_NOBODY UINT32_MAX

static void run_all(team_body *body)
{
    static const unsigned sizes[] = {1, 2, 3, 4, 5, 7, 8};
    static unsigned calls; /* every second size where processes are dear, others each time */
    calls++;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned seed = 0; lull_test_picks(i + calls, 2) && seed < lull_test_rounds(SEEDS);
             seed++)
            team_of_run(body, sizes[i], seed);
}

/* ---- together ------------------------------------------------------------------------------ */

static const char *add_and_compare(struct lull_team *team)
{
    struct lull_error err;
    const int64_t n = lull_team_size(team), own = lull_team_index(team);
    int64_t sums[WORDS], most[WORDS];
    for (int64_t i = 0; i < WORDS; i++) {
        sums[i] = own * i - 7;
        most[i] = i % 2 ? own - i : -own - i;
    }
    if (lull_team_sum(team, sums, WORDS, &err) != LULL_OK ||
        lull_team_max(team, most, WORDS, &err) != LULL_OK)
        return err.text[0] ? "sums fail" : "without a text";
    for (int64_t i = 0; own == 0 && i < WORDS; i++)
        if (sums[i] != n * (n - 1) / 2 * i - 7 * n || most[i] != (i % 2 ? n - 1 - i : -i))
            return "a sum or the largest is wrong";
    return NULL;
}

static void test_sums(void **state)
{
    (void)state;
    run_all(add_and_compare);
}

struct collected {
    uint32_t next;
    bool good;
};

/* Member i has i * 37 % 100 bytes. */
static lull_status take_bytes(void *context, uint32_t member, const void *bytes, size_t size,
                              struct lull_error *err)
{
    (void)err;
    struct collected *collected = context;
    const unsigned char *at = bytes;
    collected->good &= member == collected->next++ && size == member * 37 % 100;
    collected->good &= (uintptr_t)bytes % 8 == 0;
    for (size_t i = 0; i < size; i++)
        collected->good &= at[i] == (unsigned char)(member + i);
    return LULL_OK;
}

static const char *collect(struct lull_team *team)
{
    struct lull_error err;
    unsigned char bytes[100];
    const uint32_t own = lull_team_index(team);
    struct collected collected = {0, true};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(own + i);
    if (lull_team_collect(team, bytes, own * 37 % 100, take_bytes, &collected, &err) != LULL_OK)
        return "collecting fails";
    if (collected.next != (own == 0 ? lull_team_size(team) : 0) || !collected.good)
        return "not all has been collected in order";
    uint64_t word = own == 0 ? 0x123456789abcdef : own;
    if (lull_team_broadcast(team, &word, sizeof word, &err) != LULL_OK || word != 0x123456789abcdef)
        return "what the first has does not come";
    return NULL;
}

static void test_collect(void **state)
{
    (void)state;
    run_all(collect);
}

/* Member i brings i * STEP bytes, in pieces of all sizes, of which some fill parts exactly. */
enum { STEP = (1 << 20) - 4096, FIRST_PART = 64 << 10, PART = 4 << 20 };

struct brought {
    uint32_t next;
    size_t more; /* bytes of each member */
    bool good;
    uint32_t refuses; /* member that puts, or is got from, no further than half of it */
    bool gives_up;    /* this member gets no further than half */
};

static size_t size_of(const struct brought *brought, uint32_t member)
{
    return brought->more + member * (size_t)STEP;
}

static unsigned char byte_at(uint32_t member, size_t i)
{
    return (unsigned char)(member * 31 + i + i / 251);
}

/* At least 1 of those that are left. */
static size_t piece_at(size_t i, size_t end, size_t most)
{
    const size_t piece = 1 + i % most;
    return piece < end - i ? piece : end - i;
}

static bool put_bytes(void *context, struct lull_flow *flow)
{
    const struct brought *brought = context;
    const uint32_t own = brought->next;
    const size_t end = size_of(brought, own);
    unsigned char *bytes = malloc(end + 1);
    bool good = bytes != NULL;
    for (size_t i = 0; good && i < end; i++)
        bytes[i] = byte_at(own, i);
    for (size_t i = 0, some; good && i < end; i += some) {
        some = piece_at(i, end, 70001);
        good = lull_flow_put(flow, bytes + i, some) && (own != brought->refuses || i < end / 2);
    }
    good = good && lull_flow_put_items(flow, bytes, own, 3);
    free(bytes);
    return good;
}

static bool get_bytes(void *context, uint32_t member, struct lull_flow *flow)
{
    struct brought *brought = context;
    const size_t end = size_of(brought, member);
    unsigned char *bytes = malloc(50021);
    size_t count;
    bool good = bytes && member == ++brought->next;
    for (size_t i = 0, some; good && i < end; i += some) {
        some = piece_at(i, end, 50021);
        good = lull_flow_get(flow, bytes, some) && (!brought->gives_up || i < end / 2);
        for (size_t k = 0; good && k < some; k++)
            brought->good &= bytes[k] == byte_at(member, i + k);
    }
    free(bytes);
    unsigned char *items = good ? lull_flow_get_items(flow, 3, &count) : NULL;
    for (size_t k = 0; items && k < count * 3; k++)
        brought->good &= items[k] == byte_at(member, k);
    brought->good &= items && count == member;
    free(items);
    return items != NULL;
}

static const char *bring(struct lull_team *team)
{
    static const size_t sizes[] = {0, 1, FIRST_PART - 8, FIRST_PART + PART - 8};
    const uint32_t n = lull_team_size(team), own = lull_team_index(team);
    struct lull_error err = {""};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t bad = 0; bad < (i % 2 ? n : 1) && bad <= 2; bad++) { /* 0: nobody refuses */
            struct brought brought = {own, sizes[i], true, bad > 0 ? bad : LULL_NOBODY, false};
            const struct lull_freight freight = {put_bytes, get_bytes, &brought, "a test"};
            const lull_status status = lull_team_bring(team, &freight, &err);
            if (brought.refuses != LULL_NOBODY) {
                if (status == LULL_OK || (own == 0 && !strstr(err.text, "memory for a test")))
                    return "nobody says that one refused";
                continue;
            }
            if (status != LULL_OK)
                return "bringing fails";
            if (own == 0 && n > 1 && (brought.next != n - 1 || !brought.good))
                return "not all has been brought in order";
        }
    int64_t one = 1;
    if (lull_team_sum(team, &one, 1, &err) != LULL_OK || (own == 0 && one != n))
        return "what comes behind is wrong";
    return NULL;
}

static void test_bring(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 2, 3, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned seed = 0; seed < lull_test_rounds(2); seed++)
            team_of_run(bring, sizes[i], seed);
}

/* The other way; `bad`: who goes on no further than half of it. */
static const char *spread_once(struct lull_team *team, size_t size, uint32_t bad)
{
    const uint32_t n = lull_team_size(team), own = lull_team_index(team);
    struct lull_error err = {""};
    struct brought brought = {own == 0 ? 0 : LULL_NOBODY, size, true, bad == 0 ? 0 : LULL_NOBODY,
                              own > 0 && own == bad};
    const struct lull_freight freight = {put_bytes, get_bytes, &brought, "a test"};
    const lull_status status = lull_team_spread(team, &freight, &err);
    if (bad < n && n > 1)
        return status != LULL_OK && (own > 0 || strstr(err.text, "memory for a test"))
                   ? NULL
                   : "nobody says that one refused";
    if (status != LULL_OK)
        return "spreading fails";
    return own == 0 || (brought.next == 0 && brought.good) ? NULL : "not all has been spread";
}

static const char *spread(struct lull_team *team)
{
    static const size_t sizes[] = {0,       1, FIRST_PART - 8, FIRST_PART, FIRST_PART + PART - 8,
                                   3 * PART};
    const uint32_t n = lull_team_size(team), own = lull_team_index(team);
    const char *wrong = NULL;
    struct lull_error err;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !wrong; i++) {
        wrong = spread_once(team, sizes[i], LULL_NOBODY);
        for (uint32_t bad = 0; bad < 3 && bad < n && i % 2 && !wrong; bad++)
            wrong = spread_once(team, sizes[i], bad);
    }
    int64_t one = 1;
    if (!wrong && (lull_team_sum(team, &one, 1, &err) != LULL_OK || (own == 0 && one != n)))
        wrong = "what comes behind is wrong";
    return wrong;
}

static void test_spread(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 2, 3, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned seed = 0; seed < lull_test_rounds(2); seed++)
            team_of_run(spread, sizes[i], seed);
}

/* The first that failed is told, whoever it is, and afterwards all goes on. */
static const char *agree(struct lull_team *team)
{
    const uint32_t n = lull_team_size(team), own = lull_team_index(team);
    struct lull_error err = {""};
    if (lull_team_agree(team, LULL_OK, &err) != LULL_OK)
        return "all was well";
    for (uint32_t bad = 0; bad < n; bad++) {
        const bool fails = own == bad || own == bad + 1;
        lull_status status = LULL_OK;
        if (fails)
            status = lull_fail(&err, LULL_ERR_FORMAT, "x: member %u", own);
        else if (own + 1 == bad) /* who was stopped by others does not know why */
            status = lull_fail(&err, LULL_ERR_CANCELLED, "stopped");
        status = lull_team_agree(team, status, &err);
        char expected[64];
        snprintf(expected, sizeof expected, "x: member %u", bad);
        if (status == LULL_OK)
            return "a failure is forgotten";
        if (own == 0 && status != LULL_ERR_FORMAT)
            return "the status is another";
        if (own == 0 && !strstr(err.text, expected))
            return "the text is another";
        if (own == 0 && bad > 0 &&
            (strncmp(err.text, "rank ", 5) != 0 || !strstr(err.text, lull_team_host(team, bad))))
            return "rank and host are missing";
    }
    return NULL;
}

static void test_agree(void **state)
{
    (void)state;
    run_all(agree);
}

/* One fails while the others still do things together, or wait for parcels: they all come to the
 * agreement, the first knows why, and afterwards all goes on. */
static const char *fail_out_of_step(struct lull_team *team)
{
    const uint32_t n = lull_team_size(team), own = lull_team_index(team);
    struct lull_error err = {""};
    for (uint32_t round = 0; n > 1 && round < 3 * n; round++) {
        const uint32_t bad = round % n;
        int64_t value = own, most = own;
        lull_status status = LULL_OK;
        lull_team_begin(team, LULL_TEAM_REPLAY);
        if (own == bad)
            status = lull_fail(&err, LULL_ERR_MEMORY, "x: member %u", own);
        if (status == LULL_OK && round < 2 * n)
            status = lull_team_sum(team, &value, 1, &err);
        if (status == LULL_OK && round < 2 * n)
            status = lull_team_broadcast(team, &value, sizeof value, &err);
        while (status == LULL_OK && (round >= 2 * n || own == (bad + 1) % n)) {
            struct lull_team_parcel parcel;
            status = lull_team_take(team, LULL_TEAM_REPLAY, &parcel, &err);
        }
        if (lull_team_agree(team, status, &err) == LULL_OK)
            return "a failure is forgotten";
        if (own == 0 && !strstr(err.text, "x: member "))
            return "the reason is missing";
        if (lull_team_max(team, &most, 1, &err) != LULL_OK || (own == 0 && most != (int64_t)n - 1))
            return "what comes behind is wrong";
        if (lull_team_agree(team, LULL_OK, &err) != LULL_OK)
            return "all was well";
    }
    return NULL;
}

/* The first ends while others still come to agreements, some to more of them than others: all come
 * to their end. */
static const char *outlast_the_first(struct lull_team *team)
{
    const uint32_t own = lull_team_index(team);
    struct lull_error err = {""};
    for (uint32_t i = 0; own > 0 && i < 1 + own % 3; i++)
        if (lull_team_agree(team, LULL_ERR_CANCELLED, &err) == LULL_OK)
            return "a failure is forgotten";
    return NULL;
}

static void test_first_ends(void **state)
{
    (void)state;
    run_all(outlast_the_first);
}

static void test_out_of_step(void **state)
{
    (void)state;
    run_all(fail_out_of_step);
}

/* ---- parcels ------------------------------------------------------------------------------- */

enum { PARCELS = 200, READINGS = 3 };

struct parcel {
    uint32_t reading, number, from, filler[60];
};

/* Each sends each of the others many, who find them in order, those of this reading alone: of the
 * last reading but one half of them are never taken. */
static const char *post(struct lull_team *team)
{
    const uint32_t n = lull_team_size(team), own = lull_team_index(team);
    struct lull_error err;
    for (uint32_t reading = 0; reading < READINGS; reading++) {
        uint32_t next[32] = {0}, sent = 0, got = 0;
        const uint32_t most = reading == 1 ? (n - 1) * PARCELS / 2 : (n - 1) * PARCELS;
        lull_team_begin(team, LULL_TEAM_REPLAY);
        while (got < most || sent < PARCELS) {
            struct parcel parcel = {reading, sent, own, {0}};
            for (uint32_t to = 0; sent < PARCELS && to < n; to++)
                if (to != own && lull_team_post(team, LULL_TEAM_REPLAY, to, &parcel, sizeof parcel,
                                                &err) != LULL_OK)
                    return "posting fails";
            sent += sent < PARCELS;
            struct lull_team_parcel taken;
            if (lull_team_take(team, LULL_TEAM_REPLAY, &taken, &err) != LULL_OK)
                return "taking fails";
            if (!taken.bytes)
                continue;
            memcpy(&parcel, taken.bytes, sizeof parcel);
            bool good = taken.size == sizeof parcel && parcel.from == taken.from &&
                        parcel.reading == reading && parcel.number == next[taken.from]++;
            lull_team_give_back(&taken);
            if (!good)
                return "a parcel is another than expected";
            got++;
        }
        if (lull_team_agree(team, LULL_OK, &err) != LULL_OK)
            return "no agreement";
    }
    return NULL;
}

static void test_parcels(void **state)
{
    (void)state;
    run_all(post);
}

static const char *stop(struct lull_team *team)
{
    struct lull_error err = {""};
    lull_team_begin(team, LULL_TEAM_REPLAY);
    lull_status status = LULL_OK;
    if (lull_team_size(team) == 1)
        return NULL;
    if (lull_team_index(team) == 1) {
        lull_team_stop(team);
        status = lull_fail(&err, LULL_ERR_IO, "it");
    }
    while (status == LULL_OK) {
        struct lull_team_parcel parcel;
        status = lull_team_take(team, LULL_TEAM_REPLAY, &parcel, &err);
    }
    if (lull_team_agree(team, status, &err) == LULL_OK)
        return "nothing has failed";
    if (lull_team_is_first(team) && !strstr(err.text, ": it"))
        return "the reason is missing";
    lull_team_begin(team, LULL_TEAM_REPLAY); /* and the next reading goes on */
    struct lull_team_parcel parcel;
    return lull_team_take(team, LULL_TEAM_REPLAY, &parcel, &err) == LULL_OK
               ? NULL
               : "the next reading is stopped";
}

static void test_stop(void **state)
{
    (void)state;
    run_all(stop);
}

/* ---- what goes wrong ----------------------------------------------------------------------- */

/* ---- an ending ------------------------------------------------------------------------------ */

/* Parcels that are sent on some times, and notes. */
struct chatter {
    uint32_t is_note, hops;
    struct lull_ending_note note;
};

static lull_status tell_note(void *context, uint32_t to, const struct lull_ending_note *note,
                             struct lull_error *err)
{
    const struct chatter chatter = {.is_note = 1, .note = *note};
    return lull_team_post(context, LULL_TEAM_REPLAY, to, &chatter, sizeof chatter, err);
}

static uint64_t look_who(void *context)
{
    return UINT64_C(1) << lull_team_index(context);
}

static bool send_on(struct lull_team *team, struct lull_ending *ending, uint32_t hops)
{
    const struct chatter chatter = {.hops = hops};
    const uint32_t n = lull_team_size(team), to = (lull_team_index(team) + 1 + hops % (n - 1)) % n;
    ending->sent++;
    return lull_team_post(team, LULL_TEAM_REPLAY, to, &chatter, sizeof chatter, NULL) == LULL_OK;
}

/* Takes what has come until it is over. */
static const char *chat_to_the_end(struct lull_team *team, struct lull_ending *ending)
{
    struct lull_patience patience = {.at_once = 3};
    struct lull_team_parcel parcel;
    bool good = true;
    ending->settled = true;
    while (good && !ending->over) {
        good = lull_team_take(team, LULL_TEAM_REPLAY, &parcel, NULL) == LULL_OK;
        const struct chatter *chatter = parcel.bytes;
        if (!chatter) {
            good = good && lull_ending_report(ending, NULL) == LULL_OK;
            lull_patience_wait(lull_patience_lose(&patience));
            continue;
        }
        lull_patience_renew(&patience);
        ending->received += !chatter->is_note;
        if (chatter->is_note)
            good = lull_ending_hear(ending, parcel.from, &chatter->note, NULL) == LULL_OK;
        else if (chatter->hops > 0)
            good = send_on(team, ending, chatter->hops - 1);
        lull_team_give_back(&parcel);
    }
    return good ? NULL : "something fails";
}

/* Nobody ends while a parcel is on its way, all know what all have found, and there can be another
 * ending. */
static const char *end_together(struct lull_team *team)
{
    const uint32_t n = lull_team_size(team), own = lull_team_index(team);
    struct lull_ending ending = {
        .team = team, .tell = tell_note, .look = look_who, .context = team};
    const char *wrong = NULL;
    if (n == 1)
        return NULL;
    lull_team_begin(team, LULL_TEAM_REPLAY);
    if (!lull_ending_open(&ending))
        return "no memory";
    for (uint32_t round = 0; round < 3 && !wrong; round++) {
        lull_ending_again(&ending);
        for (uint32_t i = 0; i < (own * 7 + round) % 5; i++)
            send_on(team, &ending, (own + i) % 9);
        wrong = chat_to_the_end(team, &ending);
        int64_t counts[] = {(int64_t)ending.sent, -(int64_t)ending.received};
        lull_team_sum(team, counts, 2, NULL);
        if (own == 0 && counts[0] + counts[1] != 0)
            wrong = "it ends while parcels are on their way";
        if (ending.findings != (UINT64_C(1) << n) - 1)
            wrong = "what a member has found is missing";
        if (lull_team_agree(team, LULL_OK, NULL) != LULL_OK)
            wrong = "no agreement";
    }
    lull_ending_close(&ending);
    return wrong;
}

static void test_ending(void **state)
{
    (void)state;
    run_all(end_together);
}

/* A member is killed while others wait for it: they end, and the first says who has gone, also
 * where another one was faster to say that something has failed. */
static void test_killed(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < lull_test_rounds(12); seed++) {
        const uint32_t victim = 1 + seed % 3;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct lull_team *team = NULL;
            struct lull_error err = {""};
            char expected[32];
            alarm(TEST_HANG_SECONDS);
            /* Who is told last that there is a team may already find the victim gone. */
            if (team_of(4, seed, "", &team, &err) != LULL_OK) {
                lull_team_end(team);
                _exit(2);
            }
            if (lull_team_index(team) == victim)
                raise(SIGKILL);
            lull_status status =
                seed % 2 ? lull_fail(&err, LULL_ERR_CANCELLED, "another one has failed") : LULL_OK;
            status = lull_team_agree(team, status, &err);
            snprintf(expected, sizeof expected, "rank %u on ", victim);
            int bad = status == LULL_OK ? 3 : 0;
            if (lull_team_is_first(team) && !strstr(err.text, "has gone"))
                bad = 4;
            if (lull_team_is_first(team) && !strstr(err.text, expected))
                bad = 5;
            if (bad)
                fprintf(stderr, "%s\n", err.text);
            lull_team_end(team);
            _exit(bad);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void test_other_version(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lull_team *team = NULL;
        struct lull_error err = {""};
        alarm(TEST_HANG_SECONDS);
        pid_t own = getpid();
        bool refused = team_of(3, 1, ":other", &team, &err) != LULL_OK && team;
        bool first = getpid() == own;
        bool says = strstr(err.text, "rank 2 on ") && strstr(err.text, "1.0-other");
        lull_team_end(team);
        _exit(refused && (!first || says) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_alone(void **state)
{
    (void)state;
    const struct lull_team_start start = {.size = 1, .version = "1.0"};
    struct lull_team *team;
    struct lull_error err;
    assert_int_equal(lull_team_open(&start, &team, &err), LULL_OK);
    assert_null(team);
    assert_int_equal(lull_team_size(NULL), 1);
    assert_true(lull_team_is_first(NULL));
    assert_null(add_and_compare(NULL));
    assert_null(collect(NULL));
    struct lull_team_parcel parcel;
    lull_team_begin(NULL, LULL_TEAM_REPLAY);
    assert_int_equal(lull_team_take(NULL, LULL_TEAM_REPLAY, &parcel, &err), LULL_OK);
    assert_null(parcel.bytes);
    lull_fail(&err, LULL_ERR_IO, "it");
    assert_int_equal(lull_team_agree(NULL, LULL_ERR_IO, &err), LULL_ERR_IO);
    assert_string_equal(err.text, "it");
    lull_team_stop(NULL);
    lull_team_end(NULL);
}

static void test_no_library(void **state)
{
    (void)state;
    static const char *const folders[] = {"/nowhere", NULL};
    const struct lull_team_start start = {
        .size = 3, .family = "openmpi", .folders = folders, .version = "1.0"};
    struct lull_team *team;
    struct lull_error err;
    assert_int_equal(lull_team_open(&start, &team, &err), LULL_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "liblull-team-openmpi.so"));
}

TEST_GROUP(test_team)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),       cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_sums),        cmocka_unit_test(test_collect),
        cmocka_unit_test(test_bring),       cmocka_unit_test(test_spread),
        cmocka_unit_test(test_agree),       cmocka_unit_test(test_parcels),
        cmocka_unit_test(test_stop),        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_first_ends),  cmocka_unit_test(test_ending),
        cmocka_unit_test(test_out_of_step), cmocka_unit_test(test_other_version),
    };
    return run_cases(tests, NULL, NULL);
}
