/* How far a member of a team may be ahead of the others, worked out by hand. The member is the
 * first of three, with one share of two readers, and may be 100 letters ahead. */
#include "activity/pass.h"
#include "replay/ideal/mail.h"
#include "replay/ideal/reader.h"
#include "support/test.h"

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
    struct lull_reading reading;
    struct lull_ideal ideal;
    struct lull_ideal_options options;
    struct lull_division division;
    struct share share;
    struct share *shares[3];
    struct reader *readers[2];
};

static void set_up(struct scene *scene, struct lull_team *team)
{
    struct lull_ideal *ideal = &scene->ideal;
    memset(scene, 0, sizeof *scene);
    scene->division.team = team;
    scene->options = (struct lull_ideal_options){.ahead = 100};
    scene->reading.division = &scene->division;
    ideal->options = &scene->options;
    ideal->reading = &scene->reading;
    ideal->end_share = 1;
    ideal->n_shares = 3;
    ideal->shares = scene->shares;
    ideal->readers = scene->readers;
    ideal->n_readers = scene->share.n_readers = 2;
    scene->shares[0] = &scene->share;
    scene->share.ideal = ideal;
    scene->share.readers = scene->readers;
    pthread_mutex_init(&scene->share.lock, NULL);
    for (int r = 0; r < 2; r++) {
        scene->readers[r] = lull_reader_create();
        scene->readers[r]->share = &scene->share;
    }
    ideal->leads = lull_leads_create(ideal);
}

static void tear_down(struct scene *scene)
{
    lull_leads_destroy(scene->ideal.leads);
    for (int r = 0; r < 2; r++)
        lull_reader_destroy(scene->readers[r]);
    pthread_mutex_destroy(&scene->share.lock);
}

/* Both readers have come to this time when so many letters have been posted. */
static bool post(struct scene *scene, int64_t time, uint32_t letters)
{
    lull_lead_reads(scene->readers[0], time);
    lull_lead_reads(scene->readers[1], time + 5);
    lull_lead_posted(&scene->share, letters);
    return lull_lead_is_too_large(&scene->share);
}

static bool hear(struct scene *scene, uint32_t member, int64_t time)
{
    lull_lead_heard(scene->ideal.leads, member, time);
    return lull_lead_is_too_large(&scene->share);
}

/* 0, or the line that is not as expected. */
#define EXPECT(condition) \
    if (!(condition))     \
    return __LINE__

static int follow(struct scene *scene)
{
    EXPECT(!post(scene, 10, 60));
    EXPECT(!post(scene, 20, 40)); /* 100 that nobody has come near */
    EXPECT(post(scene, 30, 1));
    EXPECT(scene->readers[0]->hungry == false);
    EXPECT(hear(scene, 1, 25)); /* the other one has not been heard of */
    EXPECT(hear(scene, 2, 9));
    EXPECT(!hear(scene, 2, 10)); /* 41 are left */
    EXPECT(scene->readers[0]->hungry && scene->readers[1]->hungry);
    EXPECT(!post(scene, 40, 59));
    EXPECT(post(scene, 50, 1));
    EXPECT(!hear(scene, 2, INT64_MAX)); /* member 1 is at 25: 61 are left */
    EXPECT(post(scene, 60, 100));
    lull_lead_grant(scene->ideal.leads); /* 200 from now on */
    EXPECT(!lull_lead_is_too_large(&scene->share));
    EXPECT(!post(scene, 70, 39));
    EXPECT(post(scene, 80, 1));
    EXPECT(!hear(scene, 1, INT64_MAX)); /* nobody needs to be waited for */
    EXPECT(!post(scene, 90, 1000000));
    return 0;
}

static int tell(struct scene *scene)
{
    int64_t time;
    lull_lead_reads(scene->readers[0], 7);
    lull_lead_reads(scene->readers[1], 3);
    EXPECT(lull_lead_to_tell(scene->ideal.leads, &time) && time == 3);
    EXPECT(!lull_lead_to_tell(scene->ideal.leads, &time)); /* it is as it was told */
    return 0;
}

/* A member that only listens keeps little of the letters of a long run. */
static int listen(struct scene *scene)
{
    enum { BATCHES = 20000 };
    const size_t before = mallinfo2().uordblks;
    for (int b = 0; b < BATCHES; b++) {
        lull_post_put(&scene->share, calloc(1, sizeof(struct batch)), false);
        lull_reader_take_letters(&scene->share);
    }
    const size_t kept = mallinfo2().uordblks - before;
    for (struct batch *batch; (batch = scene->share.spare);) {
        scene->share.spare = batch->next;
        free(batch);
    }
    EXPECT(kept < BATCHES * sizeof(struct batch) / 100);
    return 0;
}

static void run_in_team(int (*body)(struct scene *scene))
{
    const pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
        const struct lull_team_start start = {.size = 1, .version = "1"};
        struct lull_team *team;
        struct scene scene;
        int wrong = 0;
        alarm(TEST_HANG_SECONDS);
        setenv("LULL_TEAM_CHAOS", "3:1", 1);
        if (lull_team_open(&start, &team, NULL) != LULL_OK)
            _exit(1);
        if (lull_team_is_first(team)) {
            set_up(&scene, team);
            wrong = body(&scene);
            tear_down(&scene);
        }
        lull_team_end(team);
        if (wrong)
            fprintf(stderr, "line %d\n", wrong);
        _exit(wrong != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void rests_where_others_are_far_behind(void **state)
{
    (void)state;
    run_in_team(follow);
}

static void tells_once(void **state)
{
    (void)state;
    run_in_team(tell);
}

static void keeps_little_of_what_it_is_told(void **state)
{
    (void)state;
    run_in_team(listen);
}

TEST_GROUP(test_ideal_lead)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rests_where_others_are_far_behind),
                                       cmocka_unit_test(tells_once),
                                       cmocka_unit_test(keeps_little_of_what_it_is_told)};
    return run_cases(tests, NULL, NULL);
}
