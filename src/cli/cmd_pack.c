/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull pack` and `lull unpack`: a run with one file for each node, and back. */
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "trace/pack.h"

static struct {
    char *out;
    int replace;
} pack_settings;

#define OUTPUT_OPTION(name)                                    \
    {                                                          \
        "output", 'o', POPT_ARG_STRING, &pack_settings.out, 0, \
            "folder to make (default: " name ")", "DIR"        \
    }
#define REPLACE_OPTION                                                                           \
    {                                                                                            \
        "replace", '\0', POPT_ARG_NONE, &pack_settings.replace, 0, "put it in the place of RUN", \
            NULL                                                                                 \
    }

static const struct poptOption pack_options[] = {
    OUTPUT_OPTION("RUN.packed"),
    REPLACE_OPTION,
    POPT_TABLEEND,
};
static const struct poptOption unpack_options[] = {
    OUTPUT_OPTION("RUN.unpacked"),
    REPLACE_OPTION,
    POPT_TABLEEND,
};

static int rewrite(struct lull_cli_call *call,
                   lull_status (*make)(const struct lull_pack_wish *wish, struct lull_error *err))
{
    const char *name;
    int status = lull_cli_operand(call, "run", &name);
    if (status != LULL_EXIT_OK)
        return status;
    if (!name)
        return lull_cli_usage("expected the name of a run");
    if (pack_settings.out && pack_settings.replace)
        return lull_cli_usage("--output and --replace exclude each other");
    lull_interrupt_clean_up();
    lull_limits_raise_files();
    const struct lull_pack_wish wish = {.run = name,
                                        .out = pack_settings.out,
                                        .replace = pack_settings.replace,
                                        .report = lull_progress_update,
                                        .context = &call->line};
    lull_progress_begin(&call->line, name);
    lull_status done = make(&wish, &call->err);
    lull_progress_end(&call->line);
    return lull_cli_done(call, done);
}

static int pack(struct lull_cli_call *call)
{
    return rewrite(call, lull_pack);
}

static int unpack(struct lull_cli_call *call)
{
    return rewrite(call, lull_unpack);
}

const struct lull_command lull_cmd_pack = {
    .name = "pack",
    .summary = "make a recorded or simulated run small: one file for each node",
    .operands = "RUN",
    .details = "All commands read packed runs. What comes out appears when it is complete, or not\n"
               "at all; RUN stays as it is unless --replace is given, and must have ended.\n\n"
               "examples:\n"
               "  lull pack heat                   heat.packed, for lull metrics and all others\n"
               "  lull pack --replace heat         heat is packed from now on\n",
    .options = pack_options,
    .run = pack,
};

const struct lull_command lull_cmd_unpack = {
    .name = "unpack",
    .summary = "make the files of a packed run as they were",
    .operands = "RUN",
    .details = "What comes out appears when it is complete, or not at all; RUN stays as it is\n"
               "unless --replace is given.\n\n"
               "examples:\n"
               "  lull unpack heat.packed -o heat\n"
               "  lull unpack --replace heat\n",
    .options = unpack_options,
    .run = unpack,
};
