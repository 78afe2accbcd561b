/* SPDX-License-Identifier: BSD-3-Clause */
/* lull COMMAND [OPTION...] [OPERAND...] */
#include "base/build.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cli/message.h"
#include "cli/options.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_COMMANDS = 32 };

extern const struct lull_command lull_cmd_record, lull_cmd_top, lull_cmd_metrics, lull_cmd_report,
    lull_cmd_bench, lull_cmd_simulate, lull_cmd_replay, lull_cmd_wave, lull_cmd_model, lull_cmd_fit,
    lull_cmd_diff, lull_cmd_history, lull_cmd_check, lull_cmd_info, lull_cmd_convert, lull_cmd_pack,
    lull_cmd_unpack, lull_cmd_help, lull_cmd_complete;

const struct lull_command *const lull_commands[] = {
    &lull_cmd_record,   &lull_cmd_top,    &lull_cmd_metrics, &lull_cmd_report,   &lull_cmd_bench,
    &lull_cmd_simulate, &lull_cmd_replay, &lull_cmd_wave,    &lull_cmd_model,    &lull_cmd_fit,
    &lull_cmd_history,  &lull_cmd_diff,   &lull_cmd_check,   &lull_cmd_info,     &lull_cmd_convert,
    &lull_cmd_pack,     &lull_cmd_unpack, &lull_cmd_help,    &lull_cmd_complete, NULL};

static const char *last_word(const char *name)
{
    const char *space = strrchr(name, ' ');
    return space ? space + 1 : name;
}

const struct lull_command *lull_command_find(const struct lull_command *const *commands,
                                             const char *word)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(last_word(commands[i]->name), word) == 0)
            return commands[i];
    return NULL;
}

int lull_unknown_command(const struct lull_command *const *commands, const char *word)
{
    const char *names[MAX_COMMANDS];
    size_t count = 0;
    for (size_t i = 0; count < MAX_COMMANDS && commands[i]; i++)
        if (!commands[i]->hidden)
            names[count++] = last_word(commands[i]->name);
    const char *meant = lull_suggest(word, names, count);
    if (commands == lull_commands) /* also when `lull help` asks */
        lull_cli_set_command(NULL);
    if (meant)
        return lull_cli_usage("unknown command '%s', did you mean '%s'?", word, meant);
    return lull_cli_usage("unknown command '%s'", word);
}

/* The command's options with the common ones behind them. */
static struct poptOption *gather_options(const struct lull_command *command,
                                         struct lull_arena *arena)
{
    static const struct poptOption common[] = {
        {"help", 'h', POPT_ARG_NONE, NULL, LULL_OPTION_HELP, "", NULL}, POPT_TABLEEND};
    size_t count = 0;
    while (command->options && command->options[count].longName)
        count++;
    struct poptOption *table = lull_arena_alloc(arena, count * sizeof *table + sizeof common);
    if (count > 0)
        memcpy(table, command->options, count * sizeof *table);
    memcpy(&table[count], common, sizeof common);
    return table;
}

/* Replaces a "--" between operands by LULL_DIVIDER, because popt would drop it. */
static void keep_divider(int argc, const char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            argv[i] = LULL_DIVIDER;
}

/* Does the work of this process: under mpirun only where it is the first or has a part of its
 * own. */
static int do_work(const struct lull_command *command, struct lull_cli_call *call)
{
    int status = lull_cli_join(command, call);
    if (status != LULL_EXIT_OK)
        return status;
    if (command->under_mpirun == LULL_WORK_OF_ONE && lull_cli_leaves_work_to_one(call))
        return status;
    if (command->under_mpirun == LULL_FIRST_DOES_ALL) {
        lull_cli_tell_unshared(call, command->name);
        if (!lull_team_is_first(call->team))
            return status;
    }
    return command->run(call);
}

/* The operands that are left, NULL at the end, and their number. */
static const char *const *take_operands(poptContext context, uint32_t *ret_count)
{
    static const char *const none[] = {NULL};
    const char *const *operands = (const char *const *)poptGetArgs(context);
    operands = operands ? operands : none;
    *ret_count = 0;
    while (operands[*ret_count])
        ++*ret_count;
    return operands;
}

static int run_command(const struct lull_command *command, int argc, const char **argv)
{
    struct lull_arena *arena = lull_cli_arena();
    struct poptOption *options = gather_options(command, arena);
    lull_cli_set_command(command->name);
    if (command->divides)
        keep_divider(argc, argv);
    if (!command->launches)
        signal(SIGPIPE, SIG_IGN);
    poptContext context = poptGetContext(NULL, argc, argv, options,
                                         command->launches ? POPT_CONTEXT_POSIXMEHARDER : 0);
    struct lull_cli_call call = {.arena = arena, .notices = {.arena = arena}};
    bool help;
    lull_cli_look_at_launcher(command, &call);
    int status = lull_read_options(context, options, &help);
    if (status == LULL_EXIT_OK && help && !lull_cli_is_muted())
        lull_help_command(command, stdout);
    else if (status == LULL_EXIT_OK && command->output)
        status = lull_output_check(command->output);
    call.operands = take_operands(context, &call.n_operands);
    call.progress = lull_progress_of_study(&call.line);
    if (status == LULL_EXIT_OK && !help)
        status = do_work(command, &call);
    status = lull_cli_part(&call, status);
    poptFreeContext(context);
    lull_arena_destroy(arena);
    return status;
}

/* `word` follows lull, or a command with parts. */
static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_part(const struct lull_command *command, int argc, const char **argv)
{
    lull_cli_set_command(command->name);
    if (argc < 2)
        return lull_cli_usage("expected one of its parts");
    if (asks_for_help(argv[1])) {
        lull_help_command(command, stdout);
        return LULL_EXIT_OK;
    }
    if (*argv[1] == '-')
        return lull_cli_usage("unknown option '%s' before the part", argv[1]);
    const struct lull_command *part = lull_command_find(command->parts, argv[1]);
    return part ? run_command(part, argc - 1, argv + 1)
                : lull_unknown_command(command->parts, argv[1]);
}

static void tell_version(void)
{
    puts("lull " LULL_VERSION);
    if (*lull_build.commit)
        printf("commit %s\n", lull_build.commit);
    printf("built %s\n", lull_build.how);
}

static int dispatch(int argc, const char **argv)
{
    if (argc < 2)
        return lull_cli_usage("no command given");
    const char *word = argv[1];
    if (asks_for_help(word)) {
        lull_help_overview(stdout);
        return LULL_EXIT_OK;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        tell_version();
        return LULL_EXIT_OK;
    }
    if (*word == '-')
        return lull_cli_usage("unknown option '%s' before the command", word);
    const struct lull_command *command = lull_command_find(lull_commands, word);
    if (!command)
        return lull_unknown_command(lull_commands, word);
    return command->parts ? run_part(command, argc - 1, argv + 1)
                          : run_command(command, argc - 1, argv + 1);
}

/* Whether the reader of a pipe has gone, as `head` does when it has seen enough. */
static bool reader_went_away(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && out.revents & POLLERR;
}

/* A result that was lost on the way out (on a full disk) is a failure. Where its reader went away,
 * lull ends as programs do then, without a word. */
static int close_output(int status)
{
    bool failed = ferror(stdout), unread = reader_went_away();
    errno = 0;
    failed |= fclose(stdout) != 0;
    if (failed && unread) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (!failed || status != LULL_EXIT_OK)
        return status;
    return lull_cli_fail("cannot write standard output%s%s", errno ? ": " : "",
                         errno ? strerror(errno) : "");
}

int main(int argc, char **argv)
{
    lull_protect_inputs();
    setlocale(LC_CTYPE, ""); /* numbers stay as they are in every language */
    return close_output(dispatch(argc, (const char **)(void *)argv));
}
