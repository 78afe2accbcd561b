/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"
#include "cli/message.h"

#include <string.h>

/* ==== help ==================================================================================== */

#define INDENT 26 /* where descriptions begin */
#define WIDTH  80

void lull_help_overview(FILE *out)
{
    fputs("lull tells why the cores and devices of a parallel program are idle.\n\n"
          "  mpirun -n 4 lull record -o run.lull ./app    your program as it is\n"
          "  lull report run.lull                         what it lost its time by\n"
          "  then what the report names as Next, as       lull replay run.lull --median rank=1\n\n"
          "usage: lull COMMAND [OPTION...] [OPERAND...]\n\n",
          out);
    for (size_t i = 0; lull_commands[i]; i++)
        if (!lull_commands[i]->hidden)
            fprintf(out, "  %-10s %s\n", lull_commands[i]->name, lull_commands[i]->summary);
    fputs("\nA RUN is what a tracer wrote: an OTF2 archive (its .otf2 file), a Paraver .prv or\n"
          ".prv.gz, a .json or .json.gz of PyTorch's or JAX's profiler (or the folder of all\n"
          "ranks), or a lull tape (its directory); it is recognised by content.\n"
          "\n"
          "lull help COMMAND has the options of a command, with examples; lull --version.\n",
          out);
}

/* Text from column INDENT on, broken between words. */
static void put_description(FILE *out, const char *text, size_t column)
{
    if (column >= INDENT - 1) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", (int)(INDENT - column), "");
    column = INDENT;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > INDENT && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, length, out);
        column += length;
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

static void put_option(FILE *out, const struct poptOption *option)
{
    int column = option->shortName
                     ? fprintf(out, "  -%c, --%s", option->shortName, option->longName)
                     : fprintf(out, "      --%s", option->longName);
    if (option->argDescrip)
        column += fprintf(out, (option->argInfo & POPT_ARGFLAG_OPTIONAL) ? "[=%s]" : " %s",
                          option->argDescrip);
    put_description(out, option->descrip, (size_t)column);
}

static void put_parts(const struct lull_command *command, FILE *out)
{
    fprintf(out, "lull %s: %s\n\nusage: lull %s %s\n\n", command->name, command->summary,
            command->name, command->operands);
    for (size_t i = 0; command->parts[i]; i++)
        fprintf(out, "  lull %-16s %s\n", command->parts[i]->name, command->parts[i]->summary);
    fprintf(out, "\nlull help %s PART explains a part.\n", command->name);
}

void lull_help_command(const struct lull_command *command, FILE *out)
{
    if (command->parts) {
        put_parts(command, out);
        return;
    }
    static const struct poptOption help = {"help", 'h', 0, NULL, 0, "this text", NULL};
    fprintf(out, "lull %s: %s\n\nusage: lull %s%s %s\n\noptions:\n", command->name,
            command->summary, command->name, command->options ? " [OPTION...]" : "",
            command->operands);
    for (const struct poptOption *option = command->options; option && option->longName; option++)
        put_option(out, option);
    put_option(out, &help);
    if (command->details)
        fprintf(out, "\n%s", command->details);
}

/* ==== cmd help ================================================================================ */

static int run_help(struct lull_cli_call *call)
{
    const char *const *word = call->operands;
    if (!*word) {
        lull_help_overview(stdout);
        return LULL_EXIT_OK;
    }
    const struct lull_command *const *commands = lull_commands, *command = NULL;
    for (; *word && commands; word++) {
        command = lull_command_find(commands, *word);
        if (!command)
            return lull_unknown_command(commands, *word);
        commands = command->parts;
    }
    if (*word)
        return lull_cli_usage("expected one command, got also '%s'", *word);
    lull_help_command(command, stdout);
    return LULL_EXIT_OK;
}

const struct lull_command lull_cmd_help = {
    .name = "help",
    .summary = "explain lull or one of its commands",
    .operands = "[COMMAND [PART]]",
    .under_mpirun = LULL_EACH_BY_ITSELF,
    .run = run_help,
};
