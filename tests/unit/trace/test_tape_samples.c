/* Samples of locations: among the events, thinned, damaged, copied, cut. */
#include "stats/random.h"
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/seed.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/scan.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 400, OBJECT = 3 };

/* The samples of location 0, as the recorder writes them. */
static struct file {
    struct lull_tape_samples_header header;
    struct lull_tape_sample samples[MOST_SAMPLES];
} file;

static void begin_file(uint64_t n, uint64_t kept)
{
    memset(&file, 0, sizeof file);
    memcpy(file.header.magic, LULL_TAPE_SAMPLES_MAGIC, sizeof file.header.magic);
    file.header.version = LULL_TAPE_VERSION;
    file.header.byte_order = LULL_TAPE_BYTE_ORDER;
    file.header.header_size = sizeof file.header;
    file.header.sample_size = sizeof *file.samples;
    file.header.source = LULL_TAPE_SAMPLES_PERF;
    file.header.interval = 1000;
    file.header.last_interval = 4000;
    file.header.room = MOST_SAMPLES;
    file.header.state = n | kept << 32;
    file.header.taken = 5 * n;
    file.header.lost = 7;
}

static void write_file(void)
{
    process_put(run.path, 0, LULL_TAPE_PART_SAMPLES, 0, &file, sizeof file);
}

static void write_records(struct tape_maker *tape)
{
    struct definitions_maker definitions;
    define_process(&definitions, 0, 1);
    definitions_add(&definitions, LULL_TAPE_DEFINE_OBJECT, OBJECT, "ss", "/bin/app", "c0ffee");
    definitions_write(&definitions, run.path);
    tape_write(tape, run.path, 0);
}

/* main from 10 to 40, a call in it from 20 to 30 */
static void write_small_run(void)
{
    struct tape_maker tape;
    tape_begin(&tape, 0, 0);
    tape_record(&tape, 10, LULL_TAPE_ENTER, 0, 0, 0);
    tape_call(&tape, 20, 1, 10);
    tape_record(&tape, 40, LULL_TAPE_LEAVE, 0, 0, 0);
    write_records(&tape);
}

static void put_sample(size_t i, uint64_t time, uint32_t object, uint64_t offset)
{
    file.samples[i] = (struct lull_tape_sample){time, lull_tape_place(object, offset), 100 + i};
}

static void check_sample(const struct same_sequence *events, size_t i, int64_t time, uint32_t id,
                         uint64_t offset, uint64_t weight)
{
    check_event(events, i, LULL_EVENT_SAMPLE, time);
    assert_int_equal(events->events[i].id, id);
    assert_int_equal(events->events[i].sample.offset, offset);
    assert_int_equal(events->events[i].sample.weight, weight);
}

/* The run begins at its first event. A sample comes behind the events of its time, and inside of a
 * call behind that; one outside of the run is dropped. */
static void test_among_events(void **state)
{
    (void)state;
    write_small_run();
    begin_file(6, 0);
    put_sample(0, 5, OBJECT, 1);
    put_sample(1, 10, OBJECT, 0x1234);
    put_sample(2, 25, OBJECT, (UINT64_C(1) << 40) - 1);
    put_sample(3, 30, LULL_TAPE_NO_OBJECT, 77);
    put_sample(4, 40, OBJECT + 1, 88); /* an object that is not defined */
    put_sample(5, 41, OBJECT, 99);
    write_file();
    run_open(run.path);
    const struct same_sequence events = run_events(0);
    assert_int_equal(run.trace->n_objects, 1);
    assert_string_equal(run.trace->objects[0].path, "/bin/app");
    assert_string_equal(run.trace->objects[0].build_id, "c0ffee");
    assert_null(run.trace->objects[0].function);
    assert_int_equal(events.count, 7);
    check_event(&events, 0, LULL_EVENT_ENTER, 0);
    check_sample(&events, 1, 0, 0, 0x1234, 101);
    check_event(&events, 2, LULL_EVENT_CALL, 10);
    check_sample(&events, 3, 15, 0, (UINT64_C(1) << 40) - 1, 102);
    check_sample(&events, 4, 20, LULL_NONE, 0, 103);
    check_event(&events, 5, LULL_EVENT_LEAVE, 30);
    check_sample(&events, 6, 30, LULL_NONE, 0, 104);
    together_check(run.path);
}

static void test_how_they_were_taken(void **state)
{
    (void)state;
    struct lull_sampling sampling;
    write_small_run();
    begin_file(9, 4);
    write_file();
    run_open(run.path);
    assert_int_equal(lull_trace_read_sampling(run.trace, 0, &sampling, &run.err), LULL_OK);
    assert_int_equal(sampling.way, LULL_SAMPLES_PERF);
    assert_int_equal(sampling.interval, 1000);
    assert_int_equal(sampling.last_interval, 4000);
    assert_int_equal(sampling.kept, 5); /* 4 that stand for 8, and the ninth */
    assert_int_equal(sampling.taken, 45);
    assert_int_equal(sampling.lost, 7);
}

/* ---- any state ------------------------------------------------------------------------------- */

/* Which samples count, said once more by going through all of them. */
static bool counts(uint64_t index, uint64_t n, uint64_t kept)
{
    return index < kept || (index >= 2 * kept && index < n);
}

/* Events and samples of ascending times, drawn; returns how many samples have the time of an
 * event. */
static unsigned draw_run(struct lull_random *random, uint64_t n, uint64_t kept)
{
    struct tape_maker tape;
    unsigned ties = 0;
    uint64_t time = 0, at = 0;
    const uint64_t step = lull_random_below(random, 2) ? 4 : 400;
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 0, 0, 1);
    begin_file(n, kept);
    for (uint64_t i = 0; i < n; i++) {
        at += lull_random_below(random, 40);
        /* what does not count is anything */
        put_sample(i, counts(i, n, kept) ? at : lull_random_u64(random), OBJECT, i);
    }
    while (time < at + 100) {
        const uint64_t length = lull_random_below(random, step);
        time += 1 + lull_random_below(random, step);
        for (uint64_t i = 0; i < n; i++)
            ties += counts(i, n, kept) && file.samples[i].time == time;
        tape_call(&tape, time, 1, length);
        time += length;
    }
    write_records(&tape);
    write_file();
    return ties;
}

static void check_same_call(const struct lull_event *a, const struct lull_event *b)
{
    assert_int_equal(a->kind, LULL_EVENT_CALL);
    assert_int_equal(b->kind, LULL_EVENT_CALL);
    assert_int_equal(a->time, b->time);
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->duration, b->duration);
}

/* The events without samples, and the samples that count, one of the two at a time. */
static void check_joined(uint64_t n, uint64_t kept)
{
    struct same_sequence all = run_events(0), records;
    const uint64_t mask = LULL_MASK_ALL & ~LULL_MASK(LULL_EVENT_SAMPLE);
    assert_int_equal(collect_by_cursor(run.trace, 0, mask, run.arena, &records, &run.err), LULL_OK);
    size_t r = 0, e = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!counts(i, n, kept))
            continue;
        const int64_t time = (int64_t)file.samples[i].time;
        for (; r < records.count && records.events[r].time <= time; r++, e++)
            check_same_call(&all.events[e], &records.events[r]);
        check_sample(&all, e++, time, 0, i, 100 + i);
    }
    assert_int_equal(all.count - e, records.count - r);
    assert_true(records.count > 0);
}

static void test_any_state(void **state)
{
    (void)state;
    struct lull_random random;
    unsigned thinned = 0, ties = 0;
    const unsigned rounds = lull_test_rounds(120);
    lull_random_seed(&random, lull_test_seed());
    for (unsigned round = 0; round < rounds; round++) {
        const uint64_t n = lull_random_below(&random, MOST_SAMPLES);
        const uint64_t kept =
            lull_random_below(&random, 2) ? 0 : lull_random_below(&random, (n + 1) / 2 + 1);
        ties += draw_run(&random, n, kept) > 0;
        thinned += kept > 0;
        run_open(run.path);
        check_joined(n, kept);
        run_close();
    }
    assert_reached("samples were being thinned", thinned, rounds / 4, rounds);
    assert_reached("samples have the time of an event", ties, rounds / 4, rounds);
}

/* ---- copies and cuts ------------------------------------------------------------------------- */

static void test_copied(void **state)
{
    (void)state;
    struct lull_random random;
    struct lull_sampling before, after;
    const uint64_t n = 300, kept = 100;
    lull_random_seed(&random, lull_test_seed());
    draw_run(&random, n, kept);
    run_open(run.path);
    assert_int_equal(lull_convert(run.trace, folder_path("copy"), &lull_format_tape, false, NULL,
                                  NULL, &run.err),
                     LULL_OK);
    assert_int_equal(lull_trace_read_sampling(run.trace, 0, &before, &run.err), LULL_OK);
    run_close();
    run_open(folder_path("copy"));
    check_joined(n, kept);
    assert_int_equal(lull_trace_read_sampling(run.trace, 0, &after, &run.err), LULL_OK);
    assert_memory_equal(&before, &after, sizeof before);
}

static void test_cut(void **state)
{
    (void)state;
    write_small_run();
    begin_file(3, 0);
    put_sample(0, 15, OBJECT, 1);
    put_sample(1, 25, OBJECT, 2);
    put_sample(2, 35, OBJECT, 3);
    write_file();
    run_open(run.path);
    lull_trace_cut(run.trace, (int64_t[]){15});
    const struct same_sequence events = run_events(0);
    assert_int_equal(events.count, 5);
    check_sample(&events, 1, 5, 0, 1, 100);
    check_event(&events, 2, LULL_EVENT_CALL, 10);
    check_sample(&events, 3, 15, 0, 2, 101);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void check_left_out(const char *what)
{
    struct lull_quirk *quirks;
    struct lull_sampling sampling;
    write_file();
    run_open(run.path);
    assert_int_equal(run_events(0).count, 3);
    const uint32_t n = lull_trace_quirks(run.trace, run.arena, &quirks);
    assert_int_equal(n, *what ? 1 : 0);
    if (*what) {
        assert_non_null(strstr(quirks[0].kind, "samples of a location are damaged"));
        fail_if(!strstr(quirks[0].first, what) || !strstr(quirks[0].first, "0.tape"),
                "'%s' does not say '%s'", quirks[0].first, what);
    }
    assert_int_equal(lull_trace_read_sampling(run.trace, 0, &sampling, &run.err), LULL_OK);
    assert_int_equal(sampling.way, LULL_SAMPLES_NONE);
    run_close();
    write_small_run();
    begin_file(3, 0);
    for (size_t i = 0; i < 3; i++)
        put_sample(i, 10 + 10 * i, OBJECT, i);
}

/* Whatever is wrong with the samples, the events stay. */
static void test_damaged_headers(void **state)
{
    (void)state;
    write_small_run();
    begin_file(0, 0);
    memset(&file.header, 0, sizeof file.header); /* the process died when it had just begun */
    check_left_out("");
    file.header.magic[3] ^= 1;
    check_left_out("no header of samples");
    file.header.byte_order++;
    check_left_out("no header of samples");
    file.header.number = 1;
    check_left_out("another location");
    file.header.process = 1;
    check_left_out("another location");
    file.header.header_size--;
    check_left_out("sizes");
    file.header.header_size = UINT32_MAX;
    check_left_out("sizes");
    file.header.sample_size = 0;
    check_left_out("sizes");
    file.header.sample_size = UINT32_MAX - 7;
    check_left_out("sizes");
    file.header.state = UINT32_MAX;
    check_left_out("room");
    file.header.state = 3 | UINT64_C(3) << 32;
    check_left_out("room");
    file.header.source = LULL_TAPE_SAMPLE_SOURCES;
    check_left_out("interval or a source");
    file.header.interval = 0;
    check_left_out("interval or a source");
    file.header.last_interval = 999;
    check_left_out("interval or a source");
    write_file();
    run_open(run.path);
    assert_int_equal(run_events(0).count, 6);
}

/* Each byte of the part with one bit, with all bits turned, cleared: the run can be read, what holds for
 * events holds, and no event but samples is changed. */
static void test_any_byte(void **state)
{
    (void)state;
    enum { SIZE = sizeof file.header + 3 * sizeof *file.samples };
    unsigned fewer = 0, tried = 0;
    write_small_run();
    begin_file(3, 0);
    for (size_t i = 0; i < 3; i++)
        put_sample(i, 15 + 10 * i, OBJECT, i);
    unsigned char *bytes = (unsigned char *)&file;
    for (size_t i = 0; i < SIZE; i++) {
        const unsigned char good = bytes[i];
        const unsigned char bad[] = {(unsigned char)(good ^ 1U << i % 8), (unsigned char)~good, 0};
        for (size_t b = 0; b < sizeof bad; b++) {
            if (!lull_test_picks(i + b, sizeof bad))
                continue;
            bytes[i] = bad[b];
            write_file();
            run_open(run.path);
            const struct same_sequence events = run_events(0);
            unsigned others = 0;
            for (size_t e = 0; e < events.count; e++)
                others += events.events[e].kind != LULL_EVENT_SAMPLE;
            assert_int_equal(others, 3);
            fewer += events.count < 6;
            tried++;
            run_close();
        }
        bytes[i] = good;
    }
    assert_reached("samples are left out", fewer, tried / 10, tried);
}

/* Samples that lull does not know all of: a newer one keeps more of each. */
static void test_larger_samples(void **state)
{
    (void)state;
    enum { MORE = sizeof(struct lull_tape_sample) + 16, N = 200 };
    static unsigned char bytes[sizeof file.header + N * MORE];
    write_small_run();
    begin_file(N, 0);
    file.header.sample_size = MORE;
    memset(bytes, 0xff, sizeof bytes);
    memcpy(bytes, &file.header, sizeof file.header);
    for (size_t i = 0; i < N; i++) {
        put_sample(i, 10 + i / 8, OBJECT, i);
        memcpy(bytes + sizeof file.header + i * MORE, &file.samples[i], sizeof file.samples[i]);
    }
    process_put(run.path, 0, LULL_TAPE_PART_SAMPLES, 0, bytes, sizeof bytes);
    run_open(run.path);
    const struct same_sequence events = run_events(0);
    unsigned found = 0;
    for (size_t i = 0; i < events.count; i++)
        if (events.events[i].kind == LULL_EVENT_SAMPLE)
            assert_int_equal(events.events[i].sample.offset, found++);
    assert_int_equal(found, N);
}

/* A header of an older tape, which ends in front of what samples have more. */
static void test_older_header(void **state)
{
    (void)state;
    enum { OLDER = 88 };
    static unsigned char bytes[OLDER + sizeof *file.samples];
    struct lull_sample_details *details;
    write_small_run();
    begin_file(1, 0);
    put_sample(0, 25, OBJECT, 77);
    file.header.header_size = OLDER;
    memcpy(bytes, &file.header, OLDER);
    memcpy(bytes + OLDER, file.samples, sizeof *file.samples);
    process_put(run.path, 0, LULL_TAPE_PART_SAMPLES, 0, bytes, sizeof bytes);
    run_open(run.path);
    const struct same_sequence events = run_events(0);
    assert_int_equal(events.count, 4);
    check_sample(&events, 2, 15, 0, 77, 100);
    assert_int_equal(lull_trace_details_open(run.trace, 0, &details, &run.err), LULL_OK);
    assert_null(details);
}

/* ---- counts and stacks ----------------------------------------------------------------------- */

enum { DETAILED = 150, WORDS = 4 };

/* Sample i has 1000 + i instructions, 2000 + i cycles, and i % 3 words behind that of the register. */
static void write_details(void)
{
    enum { SIZE = sizeof(struct lull_tape_sample) + (2 + WORDS) * 8 };
    static unsigned char bytes[sizeof file.header + DETAILED * SIZE];
    write_small_run();
    begin_file(DETAILED, 0);
    file.header.sample_size = SIZE;
    file.header.fields = LULL_TAPE_SAMPLE_COUNTS | LULL_TAPE_SAMPLE_STACK;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &file.header, sizeof file.header);
    for (size_t i = 0; i < DETAILED; i++) {
        const uint64_t more[2 + WORDS] = {
            1000 + i, 2000 + i,
            /* the register: 48 bytes behind the stack pointer; words 5 and 7: in the object; word 9: in one
             * that is not defined */
            UINT64_C(0xfff) << 52 | UINT64_C(0xffff) << 36 | 48,
            i % 3 > 0 ? UINT64_C(5) << 52 | (uint64_t)OBJECT << 36 | i : 0,
            i % 3 > 1 ? UINT64_C(7) << 52 | (uint64_t)OBJECT << 36 | (2 * i) : 0,
            i % 3 > 1 ? UINT64_C(9) << 52 | (uint64_t)(OBJECT + 1) << 36 | 3 : 0};
        unsigned char *at = bytes + sizeof file.header + i * SIZE;
        put_sample(i, 10 + i / 5, OBJECT, i);
        memcpy(at, &file.samples[i], sizeof file.samples[i]);
        memcpy(at + sizeof file.samples[i], more, sizeof more);
    }
    process_put(run.path, 0, LULL_TAPE_PART_SAMPLES, 0, bytes, sizeof bytes);
}

static void check_detail(const struct lull_sample_detail *detail, uint64_t i)
{
    assert_true(detail->counted);
    assert_int_equal(detail->instructions, 1000 + i);
    assert_int_equal(detail->cycles, 2000 + i);
    assert_int_equal(detail->n_stack, 1 + i % 3);
    assert_int_equal(detail->stack[0].slot, LULL_STACK_FRAME);
    assert_int_equal(detail->stack[0].object, LULL_NONE);
    assert_int_equal(detail->stack[0].offset, 48);
    for (uint32_t w = 1; w < detail->n_stack; w++) {
        assert_int_equal(detail->stack[w].slot, 3 + 2 * w);
        assert_int_equal(detail->stack[w].object, 0);
        assert_int_equal(detail->stack[w].offset, w * i);
    }
}

/* Of each SAMPLE of the opened run, whose offset says which one it was, by its number. Returns how many
 * there are. */
static unsigned check_details(void)
{
    const struct same_sequence events = run_events(0);
    struct lull_sample_details *details;
    struct lull_sample_detail detail;
    unsigned n = 0;
    assert_int_equal(lull_trace_details_open(run.trace, 0, &details, &run.err), LULL_OK);
    assert_non_null(details);
    for (size_t e = 0; e < events.count; e++) {
        const struct lull_event *event = &events.events[e];
        if (event->kind != LULL_EVENT_SAMPLE)
            continue;
        assert_int_equal(
            lull_trace_read_detail(run.trace, details, event->sample.number, &detail, &run.err),
            LULL_OK);
        check_detail(&detail, event->sample.offset);
        n++;
    }
    assert_int_equal(lull_trace_read_detail(run.trace, details, DETAILED, &detail, &run.err),
                     LULL_ERR_FORMAT);
    lull_trace_details_close(run.trace, details);
    return n;
}

static void test_details(void **state)
{
    (void)state;
    write_details();
    run_open(run.path);
    assert_int_equal(check_details(), DETAILED);
    assert_int_equal(lull_convert(run.trace, folder_path("copy"), &lull_format_tape, false, NULL,
                                  NULL, &run.err),
                     LULL_OK);
    lull_trace_cut(run.trace, (int64_t[]){20});
    const unsigned left = check_details();
    assert_in_range(left, 1, DETAILED - 1);
    run_close();
    run_open(folder_path("copy"));
    assert_int_equal(check_details(), DETAILED);
}

TEST_GROUP(test_tape_samples)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_among_events, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_how_they_were_taken, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_any_state, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_copied, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_cut, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_headers, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_any_byte, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_larger_samples, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_older_header, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_details, run_set_up, run_tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
