/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull record`: runs a program under the recorder, by itself or behind mpirun. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "launch/executable.h"
#include "launch/launcher.h"
#include "launch/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static struct lull_recording_texts record_texts;
static struct {
    const char *output;
    char *counters, *seed, **inject, **labels;
    int force, profile, follow, files, region_memory, sample_stack, verbose;
} record_settings;

static const struct poptOption record_options[] = {
    {"output", 'o', POPT_ARG_STRING, &record_settings.output, 0,
     "folder of the run (PROGRAM.RANKSxTHREADS.lull, or with a number behind if that is there)",
     "DIR"},
    {"force", '\0', POPT_ARG_NONE, &record_settings.force, 0, "replace DIR if it is a run", NULL},
    {"max-size", '\0', POPT_ARG_STRING, &record_texts.max_size, 0,
     "size of the events of each process (1GiB); then they stop, sums go on", "SIZE"},
    {"keep", '\0', POPT_ARG_STRING, &record_texts.keep, 0,
     "keep the newest events of each process, for what happens before a crash; sums are of all",
     "last:SIZE"},
    {"store", '\0', POPT_ARG_STRING, &record_texts.store, 0,
     "one file for all processes of a node, or one for each process (node, where that runs 32 or "
     "more)",
     "node|process"},
    {"profile", '\0', POPT_ARG_NONE, &record_settings.profile, 0, "keep sums only, no events",
     NULL},
    {"counters", '\0', POPT_ARG_STRING, &record_settings.counters, 0,
     "hardware counters, separated by commas, or none (instructions,cycles, where perf_event has "
     "them)",
     "NAME,..."},
    {"follow", '\0', POPT_ARG_NONE, &record_settings.follow, 0,
     "record also the programs that COMMAND starts", NULL},
    {"files", '\0', POPT_ARG_NONE, &record_settings.files, 0,
     "record also the C library's calls that open, read, write and close files", NULL},
    {"region-memory", '\0', POPT_ARG_NONE, &record_settings.region_memory, 0,
     "note the most memory that a process had in each marked region; the system's own high-water "
     "mark is reset for that",
     NULL},
    {"callpath", '\0', POPT_ARG_STRING, &record_texts.callpath, 0,
     "tell calls apart by N places, their own and those of callers, and show all of them (3 for "
     "MPI, 1 for others, shown as far as they tell calls apart)",
     "N"},
    {"filter", '\0', POPT_ARG_STRING, &record_texts.filter, 0,
     "which functions of a program compiled with -finstrument-functions are recorded, in the "
     "syntax "
     "of Score-P's filter files (all)",
     "FILE"},
    {"throttle", '\0', POPT_ARG_STRING, &record_texts.throttle, 0,
     "leave out functions after CALLS calls whose mean is below TIME, or none (100000:1us)",
     "CALLS:TIME"},
    {"start-after", '\0', POPT_ARG_STRING, &record_texts.start_after, 0,
     "record from that time on after the program's begin (0s)", "TIME"},
    {"duration", '\0', POPT_ARG_STRING, &record_texts.duration, 0,
     "record for that long (to the end)", "TIME"},
    {"iterations", '\0', POPT_ARG_STRING, &record_texts.iterations, 0,
     "record these iterations that lull_iteration marks, or visits of a marked region NAME, "
     "counted from 1",
     "[NAME:]FIRST:LAST"},
    {"signals", '\0', POPT_ARG_STRING, &record_texts.signals, 0,
     "SIGUSR1 switches recording on, SIGUSR2 off; it is on or off at first", "on|off"},
    {"waits", '\0', POPT_ARG_STRING, &record_texts.waits, 0,
     "record waits for mutexes, conditions and semaphores from that length on, or none (1us)",
     "TIME|none"},
    {"sample", '\0', POPT_ARG_STRING, &record_texts.sample, 0,
     "note RATE times a second of its processor time which code each thread is in, with SIZE bytes "
     "for a thread at most (16KiB); off: never (100; with --profile off)",
     "off|RATE[:SIZE]|timer:RATE"},
    {"sample-stack", '\0', POPT_ARG_NONE, &record_settings.sample_stack, 0,
     "with each sample the begin of the thread's stack, for call paths (256KiB for a thread)",
     NULL},
    {"device", '\0', POPT_ARG_STRING, &record_texts.device, 0,
     "record what is submitted to devices by OpenCL, CUDA, ROCm, OpenMP and NCCL, and when it runs "
     "there; "
     "summary: sums of it alone (full)",
     "full|summary|off"},
    {"mpi", '\0', POPT_ARG_STRING, &record_texts.mpi, 0,
     "which MPI the program uses (found out from its libraries)", "openmpi|mpich|none"},
    {"inject", '\0', POPT_ARG_ARGV, &record_settings.inject, 0,
     "disturb the program on purpose: hockney:latency=1ms for all messages, a noise as for lull "
     "simulate, a delay RANK@WHEN:LENGTH; may be repeated",
     "SPEC"},
    {"seed", '\0', POPT_ARG_STRING, &record_settings.seed, 0, "of the noise that is injected (1)",
     "N"},
    {"label", '\0', POPT_ARG_ARGV, &record_settings.labels, 0,
     "what you call the run, kept with it (lull info): input=n512; may be repeated", "KEY=VALUE"},
    {"verbose", '\0', POPT_ARG_NONE, &record_settings.verbose, 0, "say what is done", NULL},
    POPT_TABLEEND,
};

/* ---- what was typed -------------------------------------------------------------------------- */

static lull_status read_record_settings(struct lull_cli_call *call,
                                        struct lull_recording_wish *wish,
                                        const struct lull_disturbance **ret_disturbance)
{
    *wish = (struct lull_recording_wish){.output = record_settings.output,
                                         .replace = record_settings.force,
                                         .profile = record_settings.profile,
                                         .follow = record_settings.follow,
                                         .files = record_settings.files,
                                         .region_memory = record_settings.region_memory,
                                         .sample_stack = record_settings.sample_stack,
                                         .counters = record_settings.counters};
    record_texts.labels = record_settings.labels;
    lull_status status = lull_recording_wish_read(&record_texts, call->arena, wish, &call->err);
    return status == LULL_OK ? lull_injection_read(record_settings.inject, record_settings.seed,
                                                   call, ret_disturbance)
                             : status;
}

/* ---- in front of mpirun ---------------------------------------------------------------------- */

/* The options as they were given. */
static void add_options(struct lull_words *words)
{
    for (const struct poptOption *option = record_options; option->longName; option++) {
        if (option->argInfo == POPT_ARG_STRING)
            lull_words_option(words, option->longName, *(char *const *)option->arg);
        else if (option->argInfo == POPT_ARG_NONE && *(const int *)option->arg)
            lull_words_add(words, lull_arena_printf(words->arena, "--%s", option->longName));
        else if (option->argInfo == POPT_ARG_ARGV)
            for (char *const *text = *(char *const *const *)option->arg; text && *text; text++)
                lull_words_option(words, option->longName, *text);
    }
}

/* `mpirun ... program` becomes `mpirun ... lull record ... program`: ourselves again, with the
 * options that we were given. */
static char **insert_ourselves(char **argv, struct lull_arena *arena)
{
    struct lull_words words = {.arena = arena};
    record_settings.output = lull_launcher_output(argv, record_settings.output, arena);
    lull_words_add(&words, lull_own_path(arena));
    lull_words_add(&words, "record");
    add_options(&words);
    lull_words_add(&words, "--");
    return lull_launcher_insert(argv, words.items, arena);
}

/* ---- running --------------------------------------------------------------------------------- */

static int execute(char **argv)
{
    execvp(argv[0], argv);
    int reason = errno;
    lull_cli_fail("%s: cannot run: %s", argv[0], strerror(reason));
    return reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int prepare_recording(const struct lull_recording_wish *wish,
                             const struct lull_disturbance *disturbance, struct lull_cli_call *call)
{
    struct lull_recording recording;
    if (lull_recording_prepare(wish, call->arena, &recording, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    if (recording.warning)
        lull_cli_warn("%s", recording.warning);
    if (lull_injection_write(disturbance, &recording, call->arena, &call->err) != LULL_OK &&
        recording.job.rank == 0)
        lull_cli_warn("%s; nothing is injected", call->err.text);
    if (record_settings.verbose && recording.library)
        fprintf(stderr, "lull record: rank %u of %u: %s, recorded by %s into %s\n",
                recording.job.rank, recording.job.size, recording.executable.path,
                recording.library, recording.run);
    return LULL_EXIT_OK;
}

static int run_record(struct lull_cli_call *call)
{
    struct lull_recording_wish wish;
    const struct lull_disturbance *disturbance;
    struct lull_words words = {.arena = call->arena};
    if (!call->n_operands)
        return lull_cli_usage("expected a COMMAND to run");
    for (uint32_t i = 0; i < call->n_operands; i++)
        lull_words_add(&words, call->operands[i]);
    char **argv = words.items;
    int status = lull_cli_read(call, read_record_settings(call, &wish, &disturbance));
    if (status != LULL_EXIT_OK)
        return status;
    if (lull_is_launcher(argv[0])) {
        argv = insert_ourselves(words.items, call->arena);
        if (!argv)
            status = lull_cli_usage("found no program behind '%s'", words.items[0]);
    } else {
        wish.command = argv;
        status = prepare_recording(&wish, disturbance, call);
    }
    return status == LULL_EXIT_OK ? execute(argv) : status;
}

const struct lull_command lull_cmd_record = {
    .name = "record",
    .summary = "run a program and record what its threads do",
    .operands = "[--] COMMAND...",
    .details = "COMMAND is a program, or mpirun, mpiexec or srun with one; it may as well be\n"
               "started by these: mpirun -n 4 lull record ./app. It may stand behind taskset,\n"
               "numactl, time, env, nice, ionice, chrt, stdbuf, timeout, nohup and setsid. Its\n"
               "exit status is kept.\n\n"
               "examples:\n"
               "  lull record ./app input.dat\n"
               "  mpirun -n 4 lull record -o before ./app\n"
               "  lull record --max-size 200MiB mpirun -n 4 ./app && lull metrics app.4x1.lull\n",
    .options = record_options,
    .under_mpirun = LULL_EACH_BY_ITSELF,
    .run = run_record,
    .launches = true,
};
