/* Waves of a run whose clocks disagree by more than the longest of them are told with a warning. */
#include "study/wave/wave_study.h"

#include "replay/sim_tape.h"
#include "sim/pattern/pattern.h"
#include "sim/setup.h"
#include "support/arena_case.h"
#include "support/folder.h"
#include "support/test.h"
#include "trace/convert.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static struct lull_error err;

static void must(lull_status status)
{
    fail_if(status != LULL_OK, "%s", err.text);
}

static struct lull_spec *parsed(const char *text)
{
    struct lull_spec *spec;
    must(lull_spec_parse(text, arena, &spec, &err));
    return spec;
}

/* Eight ranks in a row, of which rank 3 is 20 ms late. */
static void simulate(const char *path)
{
    struct lull_program *program;
    struct lull_network network;
    struct lull_delay delay;
    struct lull_sim_tape *tape;
    struct lull_sim_result result;
    must(lull_pattern_open(parsed("chain:ranks=8,iterations=20,exec=1ms"), &program, &err));
    must(lull_network_read(parsed("ideal"), NULL, 8, arena, &network, &err));
    must(lull_delay_read("3@i8:20ms", &delay, &err));
    must(lull_sim_tape_open(program, NULL, path, false, &tape, &err));
    struct lull_sim_options options = {.network = &network,
                                       .delays = &delay,
                                       .n_delays = 1,
                                       .workers = 1,
                                       .sink = lull_sim_tape_sink(tape)};
    must(lull_simulate(program, &options, arena, &result, NULL, &err));
    must(lull_sim_tape_close(tape, &result, &err));
    lull_program_close(program);
}

/* The same run with clocks that disagree. */
static void make_run(const char *path, double clock_error)
{
    struct lull_trace *trace;
    simulate(folder_path("simulated"));
    must(lull_trace_open(folder_path("simulated"), &trace, &err));
    trace->clock_error = clock_error;
    must(lull_convert(trace, path, lull_format_find("tape"), false, NULL, NULL, &err));
    lull_trace_close(trace);
}

static bool warns(double clock_error)
{
    folder_make();
    make_run(folder_path("run"), clock_error);
    struct lull_notices notices = {.arena = arena};
    struct lull_wave_run run;
    must(lull_wave_run_make(folder_path("run"), &(struct lull_wave_run_options){.no_replay = true},
                            &notices, arena, &run, &err));
    assert_int_equal(run.measured.waves.count, 1);
    bool found = false;
    for (size_t n = 0; n < notices.count; n++)
        found = found || strstr(notices.items[n].text, "the clocks of its ranks disagree");
    lull_wave_run_close(&run);
    folder_remove();
    return found;
}

static void test_clocks(void **state)
{
    (void)state;
    assert_true(warns(21e6));
    assert_false(warns(19e6));
    assert_false(warns(-1)); /* not known */
}

TEST_GROUP(test_wave_clocks)
{
    const struct CMUnitTest tests[] = {ARENA_TEST(test_clocks)};
    return run_cases(tests, NULL, NULL);
}
