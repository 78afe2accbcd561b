/* The machine file: what is written is read back, what is wrong is told in one line. */
#include "machine/machine.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA(name) "../data/" name ".json"

static struct lull_number interval(const char *name, double value, double low, double high)
{
    struct lull_number number = lull_number_plain(value, "s", "p10");
    number.name = name;
    number.low = low;
    number.high = high;
    number.confidence = 0.95;
    number.samples = 1234;
    number.rounds = 6;
    number.verdict = LULL_VERDICT_NOISY;
    number.note = "a \"note\"";
    return number;
}

static const char *const texts[] = {"one", "two \xc3\xa9"};

/* Something in every field. */
static struct lull_machine *fill(struct lull_arena *arena)
{
    static struct lull_machine_cache caches[] = {
        {1, "data", 32768, 8, 64, 2, 1, LULL_NO, "hwloc"},
        {3, "unified", UINT64_C(1) << 40, 0, 64, 1, 2, LULL_UNKNOWN, "cpuid"}};
    static struct lull_machine_link links[] = {{"L1", "L2", 63.5, true}, {"L2", "L3", 32, false}};
    static struct lull_machine_numa numa[] = {{0, 1 << 30, 2}};
    static struct lull_detour detours[] = {{0.1, 1e-6}, {0.25, 3.3e-5}};
    static double edges[] = {1e-7, 1e-6, 1e-5};
    static uint64_t bins[] = {3, UINT64_C(1) << 53};
    static struct lull_series_point points[] = {{1, 2, 1.5, 2.5}, {3, 4, NAN, NAN}};
    static struct lull_network_range ranges[2];
    ranges[0] = (struct lull_network_range){0, 4096, "eager", interval(NULL, 1e-6, 9e-7, 2e-6),
                                            lull_number_plain(3e9, "B/s", "fit")};
    ranges[1] = ranges[0];
    ranges[1].from = 4097;
    ranges[1].to = UINT64_MAX;
    ranges[1].protocol = NULL;
    static struct lull_network_level network[1];
    network[0] = (struct lull_network_level){"socket",
                                             "cores 0 and 1",
                                             ranges,
                                             2,
                                             true,
                                             0,
                                             interval(NULL, 5e-7, 4e-7, 6e-7),
                                             lull_number_empty(),
                                             lull_number_empty(),
                                             lull_number_plain(1e-10, "s/B", "fit")};
    static struct lull_machine_noise noise[1];
    noise[0] = (struct lull_machine_noise){.core = 1,
                                           .quantum = 1e-4,
                                           .duration = 1.5,
                                           .share = interval(NULL, 0.01, 0, 0.02),
                                           .power = lull_number_empty(),
                                           .detours = detours,
                                           .n_detours = 2,
                                           .edges = edges,
                                           .n_edges = 3,
                                           .bins = bins,
                                           .n_bins = 2};
    static struct lull_series series[] = {
        {"sweep", "A sweep", "size", "B", "rate", "B/s", points, 2}};

    struct lull_machine *machine = lull_machine_create(arena);
    machine->name = "test";
    machine->provenance.kind = "measured";
    machine->provenance.date = "2026-01-02T03:04:05Z";
    machine->provenance.remarks = (const char **)lull_arena_alloc(arena, sizeof texts);
    memcpy(machine->provenance.remarks, texts, sizeof texts);
    machine->provenance.n_remarks = 2;
    machine->host.name = "h";
    machine->cpu.model = "m";
    machine->cpu.cores = 2;
    machine->memory_bytes = UINT64_C(1) << 33;
    machine->caches = caches;
    machine->n_caches = 2;
    machine->numa = numa;
    machine->n_numa = 1;
    machine->core =
        (struct lull_machine_core){"caches", links, 2, "znver3", machine->provenance.remarks, 2};
    machine->network = network;
    machine->n_network = 1;
    machine->noise = noise;
    machine->n_noise = 1;
    machine->series = series;
    machine->n_series = 1;
    struct lull_number number = interval("L1.load.1", 0.1, 0.05, 1.0 / 3);
    lull_machine_set(machine, arena, &number);
    number = interval("memory.load.2", 2, 2, 2);
    number.in_cycles = 2;
    number.in_cycles_low = 1.5;
    number.in_cycles_high = 2.5;
    number.with_write_allocate = 3;
    number.mean = 1.75;
    lull_machine_set(machine, arena, &number);
    return machine;
}

static char *text_of(const struct lull_machine *machine, size_t *size)
{
    char *text;
    FILE *out = open_memstream(&text, size);
    lull_machine_write(machine, out);
    fclose(out);
    return text;
}

static lull_status read_text(const char *text, size_t size, struct lull_arena *arena,
                             struct lull_machine **machine, struct lull_error *err)
{
    char path[] = "/tmp/lull-machine-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
    lull_status status = lull_machine_read(path, arena, machine, err);
    unlink(path);
    if (status != LULL_OK && err && strncmp(err->text, path, strlen(path)) == 0)
        memmove(err->text, err->text + strlen(path), strlen(err->text + strlen(path)) + 1);
    return status;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = fill(arena), *again = NULL;
    struct lull_error err = {""};
    size_t size, size_again;
    char *text = text_of(machine, &size);
    fail_if(read_text(text, size, arena, &again, &err) != LULL_OK, "%s\n%s", err.text, text);
    char *text_again = text_of(again, &size_again);
    assert_string_equal(text, text_again);
    /* Not only the same text: the values. */
    assert_int_equal(again->caches[1].bytes, UINT64_C(1) << 40);
    assert_int_equal(again->caches[0].inclusive, LULL_NO);
    assert_int_equal(again->caches[1].inclusive, LULL_UNKNOWN);
    assert_true(again->core.links[0].full_duplex && !again->core.links[1].full_duplex);
    assert_string_equal(again->core.load_ports[1], texts[1]);
    assert_true(again->network[0].has_eager_limit && again->network[0].eager_limit == 0);
    assert_true(again->network[0].ranges[1].to == UINT64_MAX);
    assert_null(again->network[0].ranges[1].protocol);
    assert_true(isnan(again->network[0].overhead.value));
    assert_true(again->network[0].latency.low == 4e-7);
    assert_int_equal(again->noise[0].bins[1], UINT64_C(1) << 53);
    assert_true(again->noise[0].detours[1].length == 3.3e-5);
    assert_true(isnan(again->series[0].points[1].low) && again->series[0].points[0].high == 2.5);
    const struct lull_number *number = lull_machine_find(again, "L1.load.1");
    assert_non_null(number);
    assert_true(number->high == 1.0 / 3 && number->samples == 1234 && number->rounds == 6);
    assert_int_equal(number->verdict, LULL_VERDICT_NOISY);
    assert_string_equal(number->note, "a \"note\"");
    free(text);
    free(text_again);
    lull_arena_destroy(arena);
}

static void test_lookup(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = lull_machine_create(arena);
    static const char *const names[] = {"memory.load.1", "memory.load.2", "memory.load.8",
                                        "memory.load.x", "memory.loads.4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct lull_number number = lull_number_plain((double)i, "B/s", "p10");
        number.name = names[i];
        lull_machine_set(machine, arena, &number);
    }
    unsigned threads = 0;
    assert_string_equal(lull_machine_find_threads(machine, "memory.load", 7, &threads)->name,
                        "memory.load.2");
    assert_int_equal(threads, 2);
    assert_string_equal(lull_machine_find_threads(machine, "memory.load", 8, NULL)->name,
                        "memory.load.8");
    assert_null(lull_machine_find_threads(machine, "memory.load", 0, NULL));
    assert_null(lull_machine_find_threads(machine, "memory.copy", 8, NULL));
    struct lull_number better = lull_number_plain(9, "B/s", "p10");
    better.name = "memory.load.2";
    lull_machine_set(machine, arena, &better);
    assert_int_equal(machine->numbers.count, 5);
    assert_true(lull_machine_find(machine, "memory.load.2")->value == 9);
    assert_null(lull_machine_find(machine, "none"));
    lull_arena_destroy(arena);
}

#define HEAD "{\"format\":\"lull-machine/1\",\"provenance\":{\"kind\":\"measured\"}"

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", ": line 1: '[' or '{' expected near end of file"},
        {"[]", ": /: is no machine file, expected \"format\": \"lull-machine/1\""},
        {"{\"format\":\"lull-machine/2\"}", ": /format: is another version than lull-machine/1"},
        {"{\"format\":\"lull-machine/1\"}", ": /provenance: is missing"},
        {"{\"format\":\"lull-machine/1\",\"provenance\":{\"kind\":\"guessed\"}}",
         ": /provenance/kind: expected measured or published"},
        {HEAD ",\"cashes\":[]}", ": /cashes: the key is not known"},
        {HEAD ",\"caches\":{}}", ": /caches: expected an array"},
        {HEAD ",\"caches\":[{\"level\":-1}]}", ": /caches/0/level: the number is out of range"},
        {HEAD ",\"caches\":[{\"level\":1},{\"level\":1}]}", ": /caches/1/level: levels ascend"},
        {HEAD ",\"numbers\":{\"x\":{\"value\":\"1\"}}}", ": /numbers/x/value: expected a number"},
        {HEAD ",\"numbers\":{\"x\":{\"value\":1}}}", ": /numbers/x/unit: is missing"},
        {HEAD ",\"numbers\":{\"x\":{\"value\":1,\"unit\":\"s\",\"statistic\":\"p10\",\"verdict\":"
              "\"fine\"}}}",
         ": /numbers/x/verdict: expected quiet, noisy, not converged or published"},
        {HEAD ",\"numbers\":{\"x\":{\"value\":1,\"unit\":\"s\",\"statistic\":\"p10\",\"verdict\":"
              "\"quiet\",\"low\":2,\"high\":3}}}",
         ": /numbers/x: the value is not between low and high"},
        {HEAD ",\"numbers\":{\"x\":{\"value\":-1,\"unit\":\"s\",\"statistic\":\"p10\",\"verdict\":"
              "\"quiet\"}}}",
         ": /numbers/x/value: expected a number from 0"},
        {HEAD ",\"numbers\":{\"x\":3}}", ": /numbers/x: expected an object"},
        {HEAD ",\"noise\":[{\"core\":0,\"quantum\":1,\"duration\":2,\"detours\":[[1,0.5],[1.2,0.1]]"
              "}]}",
         ": /noise/0/detours/1: detours ascend, do not overlap, and end within the duration"},
        {HEAD ",\"noise\":[{\"core\":0,\"quantum\":1,\"duration\":2,\"detours\":[[1]]}]}",
         ": /noise/0/detours/0: expected an array of numbers"},
        {HEAD ",\"noise\":[{\"core\":0,\"quantum\":1,\"duration\":2,\"bins\":[1]}]}",
         ": /noise/0/edges: expected one more than bins"},
        {HEAD ",\"series\":[{\"name\":\"s\",\"points\":[[2,1],[2,1]]}]}",
         ": /series/0/points/1: points ascend in x"},
        {HEAD ",\"core\":{\"overlap\":\"all\"}}", ": /core/overlap: expected none or caches"},
        {HEAD ",\"cpu\":{\"isa\":[1]}}", ": /cpu/isa/0: expected a string"},
        {HEAD "} x", ": line 1: end of file expected near 'x'"},
        {HEAD ",\"name\":\"a\",\"name\":\"b\"}", ": line 1: duplicate object key near '\"name\"'"},
    };
    struct lull_arena *arena = lull_arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_machine *machine = NULL;
        struct lull_error err = {""};
        assert_int_equal(read_text(cases[i].text, strlen(cases[i].text), arena, &machine, &err),
                         LULL_ERR_FORMAT);
        assert_null(machine);
        assert_string_equal(err.text, cases[i].message);
    }
    struct lull_machine *machine;
    struct lull_error err;
    assert_int_equal(lull_machine_read("no/such/file.json", arena, &machine, &err), LULL_ERR_IO);
    lull_arena_destroy(arena);
}

/* Every prefix of a good file is refused, none crashes. */
static void test_cut_files(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    size_t size;
    char *text = text_of(fill(arena), &size);
    for (size_t cut = 0; cut + 1 < size; cut += 7) {
        struct lull_machine *machine;
        struct lull_error err;
        assert_int_equal(read_text(text, cut, arena, &machine, &err), LULL_ERR_FORMAT);
    }
    free(text);
    lull_arena_destroy(arena);
}

/* The shipped files, against what is printed: cycles of the table from their own numbers. */
static void test_published(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *haswell, *kerncraft, *sandy;
    struct lull_error err = {""};
    fail_if(lull_machine_read(DATA("haswell-e5-2695v3-cod-cg"), arena, &haswell, &err) != LULL_OK ||
                lull_machine_read(DATA("haswell-e5-2695v3-cod"), arena, &kerncraft, &err) !=
                    LULL_OK ||
                lull_machine_read(DATA("sandybridge-e5-2680"), arena, &sandy, &err) != LULL_OK,
            "%s", err.text);
    /* Hager 2018: 5-point kernel, 5 lines L1-L2, 5 lines L2-L3, 3 lines from memory:
     * 6.7, 10 and 16.9 cycles; dot product of one vector: 4.6 from memory. */
    double clock = lull_machine_find(haswell, "clock.nominal")->value;
    assert_true(fabs(5 * 64 / haswell->core.links[0].bytes_per_cycle - 6.7) < 0.05);
    assert_true(fabs(5 * 64 / haswell->core.links[1].bytes_per_cycle - 10) < 0.05);
    const struct lull_number *copy = lull_machine_find_threads(haswell, "memory.copy", 7, NULL);
    const struct lull_number *load = lull_machine_find_threads(haswell, "memory.load", 7, NULL);
    assert_true(fabs(3 * 64 * clock / copy->with_write_allocate - 16.9) < 0.05);
    assert_true(fabs(64 * clock / load->value - 4.6) < 0.05);
    assert_true(fabs(copy->value * 1.5 - copy->with_write_allocate) < 1);
    assert_int_equal(lull_machine_cache(kerncraft, 3)->shared_cores, 7);
    assert_int_equal(lull_machine_cache(sandy, 3)->bytes, 20971520);
    assert_true(lull_machine_find(sandy, "memory.triad.8")->with_write_allocate == 38412500000.0);
    assert_true(lull_machine_find(kerncraft, "memory.triad.7")->with_write_allocate ==
                28062500000.0);
    lull_arena_destroy(arena);
}

/* Memory moves lines about as fast whatever it reads and writes, if all lines are counted: from
 * 0.8 to 1.05 times as fast as it loads them. Explicit bytes alone are 2 of 3 lines of a copy, and
 * 4 of 5 of a triad. No more than 6 channels of 2666 MT/s (Skylake-SP) or 2 of 3200 (a domain of
 * Zen 2) bring. */
static void test_published_lines(void **state)
{
    static const struct {
        const char *file;
        unsigned cores;
        double most;
    } files[] = {{DATA("haswell-e5-2695v3-cod"), 7, INFINITY},
                 {DATA("sandybridge-e5-2680"), 8, INFINITY},
                 {DATA("skylake-gold-6148"), 20, 6 * 8 * 2666e6},
                 {DATA("zen2-epyc-7452"), 8, 2 * 8 * 3200e6}};
    static const char *const streams[] = {"copy", "triad", "daxpy", "update"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_machine *machine;
        struct lull_error err = {""};
        fail_if(lull_machine_read(files[i].file, arena, &machine, &err) != LULL_OK, "%s", err.text);
        double load =
            lull_machine_find_threads(machine, "memory.load", files[i].cores, NULL)->value;
        assert_true(load < files[i].most);
        for (size_t s = 0; s < sizeof streams / sizeof *streams; s++) {
            const struct lull_number *number = lull_machine_find_threads(
                machine, lull_arena_printf(arena, "memory.%s", streams[s]), files[i].cores, NULL);
            if (!number)
                continue;
            bool more = number->with_write_allocate > 0;
            double share = (more ? number->with_write_allocate : number->value) / load;
            fail_if(!(share > 0.8 && share < 1.05), "%s, %s: %.2f of load", files[i].file,
                    streams[s], share);
            assert_int_equal(more, s < 2);
        }
        lull_arena_destroy(arena);
    }
}

TEST_GROUP(test_machine)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_bad_files),  cmocka_unit_test(test_cut_files),
        cmocka_unit_test(test_published),  cmocka_unit_test(test_published_lines),
    };
    return run_cases(tests, NULL, NULL);
}
