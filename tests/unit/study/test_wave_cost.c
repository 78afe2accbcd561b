/* What a wave cost: by how much a simulated run is longer than the same one without the delay,
 * which lasts for one iteration or for two. */
#include "study/wave/wave_study.h"

#include "replay/sim_tape.h"
#include "sim/pattern/pattern.h"
#include "sim/setup.h"
#include "support/arena_case.h"
#include "support/folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct lull_error err;

static void must(lull_status status)
{
    if (status != LULL_OK)
        fail_msg("%s", err.text);
}

static struct lull_spec *parsed(const char *text)
{
    struct lull_spec *spec;
    must(lull_spec_parse(text, arena, &spec, &err));
    return spec;
}

/* Ranks in a row, of which some are late; how long it takes. */
static int64_t simulate(const char *const *texts, uint32_t n, const char *path)
{
    struct lull_program *program;
    struct lull_network network;
    struct lull_delay delays[2];
    struct lull_sim_tape *tape;
    struct lull_sim_result result;
    must(lull_pattern_open(parsed("chain:ranks=12,iterations=30,exec=1ms"), &program, &err));
    must(lull_network_read(parsed("ideal"), NULL, 12, arena, &network, &err));
    for (uint32_t d = 0; d < n; d++)
        must(lull_delay_read(texts[d], &delays[d], &err));
    must(lull_sim_tape_open(program, NULL, path, false, &tape, &err));
    struct lull_sim_options options = {.network = &network,
                                       .delays = delays,
                                       .n_delays = n,
                                       .workers = 1,
                                       .sink = lull_sim_tape_sink(tape)};
    must(lull_simulate(program, &options, arena, &result, NULL, &err));
    must(lull_sim_tape_close(tape, &result, &err));
    lull_program_close(program);
    return result.runtime;
}

static void check(const char *const *delays, uint32_t n)
{
    folder_make();
    const int64_t with = simulate(delays, n, folder_path("with"));
    const int64_t without = simulate(NULL, 0, folder_path("without"));
    struct lull_notices notices = {.arena = arena};
    struct lull_wave_run run;
    assert_true(with > without);
    must(lull_wave_run_make(folder_path("with"), &(struct lull_wave_run_options){0}, &notices,
                            arena, &run, &err));
    assert_int_equal(run.measured.waves.count, 1);
    if (fabs(run.costs[0] - (double)(with - without)) > 1000)
        fail_msg("a wave cost %.0f ns, expected %lld", run.costs[0], (long long)(with - without));
    lull_wave_run_close(&run);
    folder_remove();
}

static void test_one_iteration(void **state)
{
    (void)state;
    check((const char *const[]){"5@i10:5ms"}, 1);
}

static void test_two_iterations(void **state)
{
    (void)state;
    check((const char *const[]){"5@i10:5ms", "5@i11:3ms"}, 2);
    check((const char *const[]){"5@i10:2ms", "5@i11:7ms"}, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ARENA_TEST(test_one_iteration),
                                       ARENA_TEST(test_two_iterations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
