/* Markdown, for summaries of jobs and comments on changes. */
#include "base/text.h"
#include "report/checks/checks.h"

#include <string.h>

/* What Markdown and HTML would read is escaped; the text stays one line. */
static void put_markdown_text(FILE *out, const char *text)
{
    while (*text) {
        char piece[LULL_UTF8_PIECE];
        const size_t length = lull_utf8_clean(&text, piece);
        if (length == 1 && strchr("\\`*_[]<>|#~&", *piece))
            fputc('\\', out);
        fwrite(piece, 1, length, out);
    }
}

static void write_markdown(const struct lull_checks *checks, FILE *out)
{
    fputs("### Performance: ", out);
    fputs(lull_check_word(checks->status), out);
    fputs(" (", out);
    put_markdown_text(out, checks->suite);
    fputs(")\n\n| fails if | verdict | what was measured |\n| --- | --- | --- |\n", out);
    for (size_t i = 0; i < checks->count; i++) {
        fputs("| ", out);
        put_markdown_text(out, checks->checks[i].name);
        fprintf(out, " | %s | ", lull_check_word(checks->checks[i].status));
        put_markdown_text(out, checks->checks[i].message);
        fputs(" |\n", out);
    }
    for (size_t i = 0; checks->remarks[i]; i++) {
        fputs(i ? "* " : "\n* ", out);
        put_markdown_text(out, checks->remarks[i]);
        fputc('\n', out);
    }
}

const struct lull_checks_form lull_checks_markdown = {.name = "markdown", .write = write_markdown};
