/* What the page embeds of random timelines, decoded as docs/formats/report.md says: shares are
 * those of the spans to 1/255, nothing vanishes, and steps and messages are the same. */
#include "report/model.h"
#include "report/page/timeline_blocks.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/memory_trace.h"
#include "support/random_windows.h"
#include "support/seed.h"
#include "support/test.h"
#include "support/timeline_case.h"
#include "view/report/report_document.h"
#include "view/report/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWPORTS = 200 };

enum { DRAWN, SHARED, STEPS, MESSAGES, COUNTED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [DRAWN] = {.what = "there is a picture", .least = 500},
    [SHARED] = {.what = "activities share a cell", .least = 500},
    [STEPS] = {.what = "steps are embedded", .least = 500},
    [MESSAGES] = {.what = "messages are embedded", .least = 200},
    [COUNTED] = {.what = "counts are embedded", .least = 100},
};

struct decoder {
    const unsigned char *at, *end;
};

static unsigned take_byte(struct decoder *decoder)
{
    assert_true(decoder->at < decoder->end);
    return *decoder->at++;
}

static uint64_t take_varint(struct decoder *decoder)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const unsigned byte = take_byte(decoder);
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static int64_t take_zigzag(struct decoder *decoder)
{
    const uint64_t value = take_varint(decoder);
    return value & 1 ? -(int64_t)(value / 2) - 1 : (int64_t)(value / 2);
}

/* ---- tiles --------------------------------------------------------------------------------- */

static const struct lull_timeline *timeline;

static int64_t edge_of(unsigned level, uint32_t bin)
{
    return timeline->begin + (int64_t)((__int128)(timeline->end - timeline->begin) * bin >> level);
}

/* The shares of a cell, from the spans. */
static void raster(const struct timeline_case *made, uint32_t row, unsigned level, uint32_t bin,
                   double *shares)
{
    int64_t ns[LULL_STEP_ACTIVITIES] = {0}, all = 0;
    const struct lull_timeline_row *at = &timeline->rows[row];
    for (uint32_t l = 0; l < at->n_leaves; l++)
        timeline_case_raster(made, timeline->leaves[at->first_leaf + l].location,
                             edge_of(level, bin), edge_of(level, bin + 1), ns);
    for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
        all += ns[a];
    for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
        shares[a] = all > 0 ? (double)ns[a] / (double)all : 0;
}

/* The activity of the trace that the picture calls so. */
static unsigned activity_of(const struct lull_picture_activity *activity)
{
    for (unsigned a = 0; a < LULL_ACTIVITIES; a++)
        if (strcmp(activity->id, lull_activity_id(a)) == 0)
            return a;
    return strcmp(activity->id, "disabled") == 0 ? LULL_ACTIVITY_DISABLED : LULL_ACTIVITY_OUTSIDE;
}

/* A few neighbouring rows of one level, of which some cells are looked at. */
static void check_tile(struct lull_random *random, const struct timeline_case *made,
                       const struct lull_picture_timeline *picture)
{
    uint32_t rows[3], n = 0;
    const uint32_t first = (uint32_t)lull_random_below(random, picture->n_rows);
    const unsigned level = (unsigned)lull_random_below(random, picture->rows[first].level + 1u);
    for (uint32_t r = first; r < picture->n_rows && n < 3; r++)
        if (picture->rows[r].level >= level)
            rows[n++] = r;
    struct lull_bytes bytes = {0};
    assert_true(lull_block_tile(picture, level, rows, n, &bytes));
    struct decoder decoder = {bytes.data, bytes.data + bytes.size};
    const unsigned low = take_byte(&decoder), mask = low | take_byte(&decoder) << 8;
    const unsigned char *planes[LULL_STEP_ACTIVITIES] = {0};
    const size_t cells = (size_t)n << level;
    for (uint32_t a = 0; a < picture->n_activities; a++) {
        if (!(mask >> a & 1))
            continue;
        planes[activity_of(&picture->activities[a])] = decoder.at;
        decoder.at += cells;
    }
    assert_ptr_equal(decoder.at, decoder.end);
    const unsigned char *sums = mask ? bytes.data + 2 : NULL; /* the sums of all planes */
    for (unsigned probe = 0; probe < 16; probe++) {
        const uint32_t row = (uint32_t)lull_random_below(random, n);
        const uint32_t bin = (uint32_t)lull_random_below(random, UINT64_C(1) << level);
        double shares[LULL_STEP_ACTIVITIES];
        raster(made, rows[row], level, bin, shares);
        const size_t cell = ((size_t)row << level) + bin;
        unsigned rest = 0; /* that the other planes hold */
        for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
            rest += planes[a] && planes[a] != sums ? planes[a][cell] : 0;
        for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++) {
            unsigned byte = planes[a] ? planes[a][cell] : 0;
            if (planes[a] && planes[a] == sums)
                byte = (byte - rest) & 255;
            assert_true(fabs(byte / 255.0 - shares[a]) <= 1 / 255.0);
            assert_int_equal(byte > 0, shares[a] > 0);
            branch_reach(&branches[SHARED], shares[a] > 0 && shares[a] < 1);
        }
    }
    lull_bytes_free(&bytes);
}

/* ---- steps and messages -------------------------------------------------------------------- */

static void check_step(struct decoder *decoder, const struct lull_picture_timeline *picture,
                       const struct lull_timeline_step *step, int64_t began)
{
    assert_int_equal(take_varint(decoder), step->end - began);
    assert_int_equal(activity_of(&picture->activities[take_byte(decoder)]), step->activity);
    const uint64_t region = take_varint(decoder);
    assert_int_equal(region == 0, step->region == LULL_NONE);
    if (region > 0)
        assert_string_equal(picture->regions[region - 1].name,
                            timeline->trace->regions[step->region].name);
}

static void check_steps(const struct lull_picture_timeline *picture)
{
    struct lull_bytes bytes = {0};
    assert_true(lull_block_steps(picture, 0, picture->n_leaves, &bytes));
    struct decoder decoder = {bytes.data, bytes.data + bytes.size};
    for (uint32_t l = 0; l < timeline->n_leaves; l++) {
        const struct lull_timeline_leaf *leaf = &timeline->leaves[l];
        assert_int_equal(take_varint(&decoder), leaf->n_pieces);
        for (uint32_t p = 0; p < leaf->n_pieces; p++) {
            int64_t began = leaf->pieces[p].begin;
            assert_int_equal(take_varint(&decoder), began - timeline->begin);
            assert_int_equal(take_varint(&decoder), leaf->pieces[p].count);
            for (size_t s = 0; s < leaf->pieces[p].count; s++) {
                check_step(&decoder, picture, &leaf->pieces[p].steps[s], began);
                began = leaf->pieces[p].steps[s].end;
                branch_reach(&branches[STEPS], true);
            }
        }
    }
    assert_ptr_equal(decoder.at, decoder.end);
    lull_bytes_free(&bytes);
}

static void check_messages(const struct lull_picture_timeline *picture)
{
    struct lull_bytes bytes = {0};
    assert_true(lull_block_messages(picture, &bytes));
    struct decoder decoder = {bytes.data, bytes.data + bytes.size};
    assert_int_equal(take_varint(&decoder), timeline->n_kept_messages);
    branch_reach(&branches[MESSAGES], timeline->n_kept_messages > 0);
    int64_t sent = timeline->begin;
    for (size_t i = 0; i < timeline->n_kept_messages; i++) {
        const struct lull_timeline_message *message = &timeline->messages[i];
        sent += (int64_t)take_varint(&decoder);
        assert_int_equal(sent, message->sent);
        assert_int_equal(sent + take_zigzag(&decoder), message->received);
        assert_int_equal(take_varint(&decoder), message->sender);
        assert_int_equal(take_varint(&decoder), message->receiver);
        assert_int_equal(take_varint(&decoder), message->bytes);
        assert_int_equal(take_zigzag(&decoder), message->tag);
    }
    assert_ptr_equal(decoder.at, decoder.end);
    lull_bytes_free(&bytes);
}

/* Drawn gaps, because random traces have none. */
static void check_gaps(const struct lull_picture_timeline *picture)
{
    struct lull_picture_gap gaps[20];
    struct lull_random random;
    lull_random_seed(&random, picture->n_steps);
    struct lull_picture_timeline with = *picture;
    int64_t begin = picture->begin;
    with.gaps = gaps;
    with.n_gaps = (uint32_t)lull_random_below(&random, 20);
    for (uint32_t i = 0; i < with.n_gaps; i++) {
        begin += (int64_t)lull_random_below(&random, 1000);
        struct lull_picture_gap *gap = &gaps[i];
        *gap = (struct lull_picture_gap){.begin = begin, .region = (uint32_t)i, .cause = i % 9};
        gap->end = begin + (int64_t)lull_random_below(&random, 1 << 20);
        gap->until = gap->end + (int64_t)lull_random_below(&random, 300);
        gap->submitted = gap->until - (int64_t)lull_random_below(&random, 1 << 21) + 1000;
        gap->leaf = (uint32_t)lull_random_below(&random, 300);
        gap->submitter = i % 3 ? (uint32_t)lull_random_below(&random, 300) : LULL_PICTURE_NO_ROW;
        if (i % 4 == 0)
            gap->region = LULL_PICTURE_NO_ROW;
    }
    struct lull_bytes bytes = {0};
    assert_true(lull_block_gaps(&with, &bytes));
    struct decoder decoder = {bytes.data, bytes.data + bytes.size};
    assert_int_equal(take_varint(&decoder), with.n_gaps);
    begin = picture->begin;
    for (uint32_t i = 0; i < with.n_gaps; i++) {
        const struct lull_picture_gap *gap = &gaps[i];
        begin += (int64_t)take_varint(&decoder);
        const int64_t end = begin + (int64_t)take_varint(&decoder);
        const int64_t until = end + (int64_t)take_varint(&decoder);
        assert_int_equal(begin, gap->begin);
        assert_int_equal(end, gap->end);
        assert_int_equal(until, gap->until);
        assert_int_equal(until - take_zigzag(&decoder), gap->submitted);
        assert_int_equal(take_varint(&decoder), gap->leaf);
        assert_int_equal(take_varint(&decoder),
                         gap->submitter == LULL_PICTURE_NO_ROW ? 0 : gap->submitter + 1);
        assert_int_equal(take_varint(&decoder),
                         gap->region == LULL_PICTURE_NO_ROW ? 0 : gap->region + 1);
        assert_int_equal(take_varint(&decoder), gap->cause);
    }
    assert_ptr_equal(decoder.at, decoder.end);
    lull_bytes_free(&bytes);
}

static float take_float(struct decoder *decoder)
{
    uint32_t bits = 0;
    float value;
    for (unsigned shift = 0; shift < 32; shift += 8)
        bits |= (uint32_t)take_byte(decoder) << shift;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Instructions before cycles, where there are such counters. */
static void check_counts(const struct lull_picture_timeline *picture)
{
    struct lull_bytes bytes = {0};
    if (picture->n_counters == 0)
        return;
    assert_true(lull_block_counts(picture, 0, picture->n_leaves, &bytes));
    struct decoder decoder = {bytes.data, bytes.data + bytes.size};
    for (uint32_t l = 0; l < timeline->n_leaves; l++)
        for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
            uint64_t counts[1 << LULL_TIMELINE_COARSE] = {0};
            lull_timeline_counts(timeline, timeline->leaves[l].row, which, counts);
            for (uint32_t bin = 0; timeline->has_counts[which] && bin < 1 << LULL_TIMELINE_COARSE;
                 bin++) {
                assert_true(take_float(&decoder) == (float)(int64_t)counts[bin]);
                branch_reach(&branches[COUNTED], counts[bin] > 0);
            }
        }
    assert_ptr_equal(decoder.at, decoder.end);
    lull_bytes_free(&bytes);
}

/* ---- traces -------------------------------------------------------------------------------- */

static void check_one(struct lull_random *random, unsigned round)
{
    const struct memory_trace_options drawn = {.without_extremes = round % 3};
    struct lull_trace *trace = memory_trace_draw(random, &drawn);
    const struct lull_timeline_options options = {
        .reading =
            &(const struct lull_reading){.windows =
                                             round & 1 ? random_windows_draw(random, trace) : NULL},
        .fine = LULL_TIMELINE_COARSE + round % 4,
        .most_steps = round % 5 ? 1000000 : 100,
        .most_messages = 1000000};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    timeline = made.timeline;
    const struct lull_run run = {.path = "it's here", .name = "run", .trace = trace};
    const struct lull_report_run of = {.timeline = timeline};
    const struct lull_report_wish wish = {.options = ""};
    struct lull_document *document = lull_document_create(trace->arena, "test/1", "");
    lull_report_add_timeline(document, &run, &of, &wish, trace->arena);
    const struct lull_picture_timeline *picture = document->timelines[0];
    branch_reach(&branches[DRAWN], !picture->absent);
    if (!picture->absent) {
        for (unsigned i = 0; i < VIEWPORTS; i++)
            check_tile(random, &made, picture);
        check_steps(picture);
        check_messages(picture);
        check_gaps(picture);
        check_counts(picture);
        assert_string_equal(picture->command, "lull report 'it'\\''s here' --window");
    }
    timeline_case_free(&made);
    lull_trace_close(trace);
}

static void test_random_traces(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(320);
    for (unsigned i = 0; i < rounds; i++) {
        check_one(&random, i);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_timeline_blocks)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_traces)};
    return run_cases(tests, NULL, NULL);
}
