/* Which clock is read, as a table over what kernel, processor and hypervisor say; and points of two
 * clocks that keep together or do not, which are made up here. */
#include "record/clock.h"

#include "support/record/recorded.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the decision ---------------------------------------------------------------------------- */

#define GOOD_FLAGS \
    "flags\t\t: fpu tsc constant_tsc rep_good nonstop_tsc tsc_known_freq hypervisor\n"
#define VMWARE "flags\t\t: fpu tsc constant_tsc nonstop_tsc tsc_reliable hypervisor\n"

enum { S = REC_CLOCK_READ_SYSTEM, C = REC_CLOCK_READ_COUNTER, COMPARE = REC_CLOCK_COMPARE };

static const struct {
    const struct rec_clock_counter *counter;
    enum rec_clock_wish wish;
    const char *current, *available, *cpuinfo, *kvm; /* NULL: there is no such file */
    int verdict;
    const char *why; /* a part of the reason */
} cases[] = {
    /* clang-format off */
    /* bare metal and guests whose kernel trusts the counter */
    {&rec_clock_tsc, REC_CLOCK_ANY, "tsc", "tsc hpet acpi_pm", GOOD_FLAGS, NULL, C, "source is tsc"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "tsc", "tsc kvm-clock", GOOD_FLAGS, "unstable", C, "source is tsc"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "tsc", "tsc", "flags\t\t: tsc constant_tsc\n", NULL, S, "never stops"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "tsc", "tsc", "flags\t\t: tsc nonstop_tsc\n", NULL, S, "never stops"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "tsc", "tsc", NULL, NULL, S, "never stops"},
    /* the kernel does not trust it, or its user does not */
    {&rec_clock_tsc, REC_CLOCK_ANY, "hpet", "hpet acpi_pm", GOOD_FLAGS, NULL, S, "source is hpet"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "hpet", "tsc hpet acpi_pm", GOOD_FLAGS, "stable", S, "source is hpet"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "tsc-early", "tsc-early", GOOD_FLAGS, NULL, S, "source is tsc-early"},
    {&rec_clock_tsc, REC_CLOCK_ANY, NULL, NULL, GOOD_FLAGS, "stable", S, "source is not known"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "", "", GOOD_FLAGS, "stable", S, "source is not known"},
    /* guests */
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "kvm-clock tsc acpi_pm", GOOD_FLAGS, "stable", COMPARE, "stable"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "tsc kvm-clock", VMWARE, NULL, COMPARE, "stable"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "xen", "xen tsc", VMWARE, NULL, COMPARE, "source is xen"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page tsc",
     GOOD_FLAGS, NULL, COMPARE, "hyperv"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "kvm-clock tsc", GOOD_FLAGS, "unstable", S, "all cores are alike"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "kvm-clock acpi_pm", GOOD_FLAGS, "stable", S, "does not offer"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "kvm-clock tsc-early", GOOD_FLAGS, "stable", S, "does not offer"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", NULL, GOOD_FLAGS, "stable", S, "does not offer"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "kvm-clock tsc",
     "flags\t\t: tsc constant_tsc nonstop_tsc\n", "stable", S, "tsc_known_freq"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "kvm-clock tsc",
     "flags\t\t: tsc nonstop_tsc tsc_known_freq\n", "stable", S, "constant_tsc"},
    {&rec_clock_tsc, REC_CLOCK_ANY, "kvm-clock", "kvm-clock tsc",
     "flags\t\t: tsc not_constant_tsc nonstop_tsc_s3 tsc_known_freq\n", "stable", S, "constant_tsc"},
    /* who knows */
    {&rec_clock_tsc, REC_CLOCK_TSC, "hpet", "hpet", "flags\t\t: tsc\n", "unstable", C, "LULL_CLOCK"},
    {&rec_clock_tsc, REC_CLOCK_SYSTEM, "tsc", "tsc", GOOD_FLAGS, NULL, S, "LULL_CLOCK"},
    /* 64-bit ARM has neither flags nor clocks of hypervisors */
    {&rec_clock_generic_timer, REC_CLOCK_ANY, "arch_sys_counter", "arch_sys_counter", NULL, NULL, C,
     "source is arch_sys_counter"},
    {&rec_clock_generic_timer, REC_CLOCK_ANY, "timer-sp804", "timer-sp804 arch_sys_counter", NULL, NULL, S,
     "source is timer-sp804"},
    {&rec_clock_generic_timer, REC_CLOCK_ANY, "kvm-clock", "kvm-clock arch_sys_counter", GOOD_FLAGS, "stable", S,
     "source is kvm-clock"},
    {&rec_clock_generic_timer, REC_CLOCK_TSC, "timer-sp804", "timer-sp804", NULL, NULL, C, "LULL_CLOCK"},
    /* other processors */
    {NULL, REC_CLOCK_ANY, "timebase", "timebase", NULL, NULL, S, "knows no other"},
    {NULL, REC_CLOCK_TSC, "timebase", "timebase", NULL, NULL, S, "knows no other"},
    /* clang-format on */
};

static void write_file(const char *folder, const char *name, const char *text, const char *end)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    if (!text)
        return;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", text, end);
    fclose(file);
}

static void test_decision(void **state)
{
    char folder[] = "/tmp/lull-clock-XXXXXX", text[256];
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rec_clock_facts facts = {.current = ""};
        char why[320] = "";
        write_file(folder, "current_clocksource", cases[i].current, "\n");
        write_file(folder, "available_clocksource", cases[i].available, " \n");
        snprintf(text, sizeof text, "model name\t: constant\n%s",
                 cases[i].cpuinfo ? cases[i].cpuinfo : "");
        write_file(folder, "cpuinfo", cases[i].cpuinfo ? text : NULL, "bugs\t\t:\n");
        write_file(folder, "kvm", cases[i].kvm, "\n");
        if (cases[i].counter)
            rec_clock_look(cases[i].counter, folder, &facts);
        const int verdict =
            rec_clock_judge(cases[i].counter, &facts, cases[i].wish, why, sizeof why);
        if (verdict != cases[i].verdict || !strstr(why, cases[i].why))
            fail_msg("case %zu: verdict %d because %s, expected %d because %s", i, verdict, why,
                     cases[i].verdict, cases[i].why);
    }
    for (size_t i = 0; i < 4; i++)
        write_file(folder,
                   (const char *const[]){"current_clocksource", "available_clocksource", "cpuinfo",
                                         "kvm"}[i],
                   NULL, "");
    rmdir(folder);
}

/* ---- points that are made up ----------------------------------------------------------------- */

enum { TICKS_PER_US = 2600 };

/* The counter has run at 2.6 GHz since 1 s before the clock's 0, and is `ahead` ns at this point;
 * who read it was held up for `slow` ns. */
static struct lull_clock_point point_at(double ns, double ahead, double slow)
{
    const double ticks = (ns + 1e9 + ahead) * TICKS_PER_US / 1000;
    const uint64_t error = (uint64_t)(slow * TICKS_PER_US / 2000);
    return (struct lull_clock_point){(uint64_t)llround(ticks), llround(ns), error};
}

static void fill_readings(struct rec_clock_reading *readings, const double *ahead, size_t count,
                          double slow)
{
    for (size_t i = 0; i < count; i++)
        readings[i] = (struct rec_clock_reading){point_at(40e3 * (double)i, ahead[i], slow),
                                                 (uint32_t)(i + 1 < count ? i : 0)};
}

static void test_cores(void **state)
{
    static const struct {
        double ahead[6], slow;
        bool fits;
        size_t worst;
        double apart;
    } readings[] = {
        {{0, 0, 0, 0, 0, 0}, 60, true, 0, 0},
        {{0, 15, -12, 14, -15, 0}, 60, true, 1, 15},     /* within half of 60 ns */
        {{0, 0, 200, 0, 0, 0}, 60, false, 2, 200},       /* one core is ahead */
        {{0, -90, 0, 0, 0, 0}, 60, false, 1, 90},        /* one core is behind */
        {{0, 0, 200, 0, 0, 0}, 1000, true, 2, 200},      /* read too slowly to tell */
        {{0, 10, 20, 30, 40, 50}, 60, true, 0, 0},       /* the counter is faster on all of them */
        {{0, 1e6, 1e6, 1e6, 1e6, 0}, 60, false, 1, 1e6}, /* all others are ahead */
        {{0, 0, 0, 0, 0, -1e6}, 60, false, 0, 0},        /* the counter runs backward */
    };
    (void)state;
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        struct rec_clock_reading made[6];
        size_t worst = 0;
        double apart = -1;
        fill_readings(made, readings[i].ahead, 6, readings[i].slow);
        assert_int_equal(rec_clock_fit(made, 6, &worst, &apart), readings[i].fits);
        if (readings[i].apart > 0)
            assert_int_equal(worst, readings[i].worst);
        assert_true(fabs(apart - readings[i].apart) < 2);
    }
}

/* One core alone agrees with itself; where the counter stands still, even that does not hold. */
static void test_one_core(void **state)
{
    struct rec_clock_reading made[2];
    size_t worst;
    double apart;
    (void)state;
    fill_readings(made, (const double[]){0, 0}, 2, 60);
    assert_true(rec_clock_fit(made, 2, &worst, &apart));
    made[1].point.ticks = made[0].point.ticks;
    assert_false(rec_clock_fit(made, 2, &worst, &apart));
}

/* Follows points a second apart, at each of which the counter is so far ahead. Returns at how many
 * the two were apart; *ret_apart gets by how much at the first one. */
static unsigned follow(const double *ahead, size_t count, double slow, double *ret_apart)
{
    struct rec_clock_track track = {.count = 0};
    unsigned found = 0;
    *ret_apart = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lull_clock_point point = point_at(1e9 * (double)i, ahead[i], slow);
        const double apart = rec_clock_follow(&track, &point);
        if (apart != 0 && found++ == 0)
            *ret_apart = apart;
    }
    return found;
}

static void test_drift(void **state)
{
    double apart;
    (void)state;
    /* another rate than the clock's, known from the first two points */
    assert_int_equal(follow((const double[]){0, 5e5, 1e6, 1.5e6, 2e6, 2.5e6}, 6, 60, &apart), 0);
    /* errors of reading */
    assert_int_equal(follow((const double[]){0, 25, -25, 25, -25, 25}, 6, 60, &apart), 0);
    /* 8 parts in a million more from one second to the next, which a quartz may do */
    assert_int_equal(follow((const double[]){0, 0, 0, 8e3, 16e3, 24e3}, 6, 60, &apart), 0);
    /* a step is told once, by its height */
    assert_int_equal(follow((const double[]){0, 0, 0, 50e3, 50e3, 50e3}, 6, 60, &apart), 1);
    assert_true(fabs(apart - 50e3) < 100);
    assert_int_equal(follow((const double[]){0, 0, -3e9, -3e9, -3e9, -3e9}, 6, 60, &apart), 1);
    assert_true(fabs(apart + 3e9) < 100);
    /* a step that reading cannot tell from being held up */
    assert_int_equal(follow((const double[]){0, 0, 0, 50e3, 50e3, 50e3}, 6, 200e3, &apart), 0);
    /* another rate from the fourth point on, as behind a move to another host, is told once */
    assert_int_equal(follow((const double[]){0, 0, 0, 1e5, 2e5, 3e5, 4e5}, 7, 60, &apart), 1);
    assert_true(fabs(apart - 1e5) < 100);
    /* two points, between which nobody can know */
    assert_int_equal(follow((const double[]){0, 1e8}, 2, 60, &apart), 0);
}

/* The first two points of a run are 0.2 ms apart and say little of the rate; the next comes after a
 * second. */
static void test_short_begin(void **state)
{
    static const struct {
        double ahead;
        bool told;
    } later[] = {{0, false}, {100e3, false}, {1e6, true}};
    (void)state;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        struct rec_clock_track track = {.count = 0};
        const struct lull_clock_point points[] = {point_at(0, 0, 60), point_at(200e3, 20, 60),
                                                  point_at(1e9, later[i].ahead, 60)};
        assert_true(rec_clock_follow(&track, &points[0]) == 0);
        assert_true(rec_clock_follow(&track, &points[1]) == 0);
        assert_int_equal(rec_clock_follow(&track, &points[2]) != 0, later[i].told);
    }
}

TEST_GROUP(test_which_clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decision),    cmocka_unit_test(test_cores),
        cmocka_unit_test(test_one_core),    cmocka_unit_test(test_drift),
        cmocka_unit_test(test_short_begin),
    };
    return run_cases(tests, NULL, NULL);
}
