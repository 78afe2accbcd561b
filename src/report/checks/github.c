/* Workflow commands: one line each, which GitHub shows beside the line of the source that it names.
 * https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
#include "base/text.h"
#include "report/checks/checks.h"

#include <string.h>

/* Percent, and in properties what ends them, are written as their codes. */
static void put_command_text(FILE *out, const char *text, const char *special)
{
    while (*text) {
        char piece[LULL_UTF8_PIECE];
        const size_t length = lull_utf8_clean(&text, piece);
        if (length == 1 && strchr(special, *piece))
            fprintf(out, "%%%02X", (unsigned char)*piece);
        else
            fwrite(piece, 1, length, out);
    }
}

static void write_github(const struct lull_checks *checks, FILE *out)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct lull_check *check = &checks->checks[i];
        if (check->status == LULL_CHECK_PASSED)
            continue;
        fputs(check->status == LULL_CHECK_FAILED ? "::error " : "::warning ", out);
        if (*check->file) {
            fputs("file=", out);
            put_command_text(out, check->file, "%:,");
            fprintf(out, ",line=%u,", check->line);
        }
        fputs("title=lull check%3A ", out);
        put_command_text(out, check->name, "%:,");
        fputs("::", out);
        put_command_text(out, check->message, "%");
        fputc('\n', out);
    }
}

const struct lull_checks_form lull_checks_github = {.name = "github", .write = write_github};
