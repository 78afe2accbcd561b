/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/checks.h"

#include "base/error.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/text.h"
#include "report/markup.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ==== what all forms need ===================================================================== */

/* "passed", "failed", "unknown". */
static const char *check_word(enum lull_check_status status)
{
    static const char *const words[] = {"passed", "failed", "unknown"};
    return words[status];
}

struct file {
    const struct lull_checks_form *form;
    const struct lull_checks *checks;
};

static void write_file(const void *content, FILE *out)
{
    const struct file *file = content;
    file->form->write(file->checks, out);
}

lull_status lull_checks_save(const char *path, const struct lull_checks_form *form,
                             const struct lull_checks *checks, struct lull_error *err)
{
    return lull_file_write(path, write_file, &(struct file){form, checks}, err);
}

/* ==== a badge ================================================================================= */

/* A badge for the page of a project: what is checked on the left, how it ended on the right. */

static void write_badge(const struct lull_checks *checks, FILE *out)
{
    enum { BADGE_HEIGHT = 20, TITLE_WIDTH = 86, LETTER = 7, WORD_MARGIN = 12 };
    static const char *const colours[] = {"#2b7a3d", "#b3261e", "#6b6b6b"};
    const char *word = check_word(checks->status);
    const int right = WORD_MARGIN + LETTER * (int)strlen(word), width = TITLE_WIDTH + right;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" role=\"img\" "
            "aria-label=\"performance: %s\">\n<title>performance: %s</title>\n",
            width, BADGE_HEIGHT, word, word);
    fprintf(out, "<rect width=\"%d\" height=\"%d\" rx=\"3\" fill=\"#444\"/>\n", width,
            BADGE_HEIGHT);
    fprintf(out, "<path d=\"M%d 0h%da3 3 0 0 1 3 3v%da3 3 0 0 1 -3 3h-%dz\" fill=\"%s\"/>\n",
            TITLE_WIDTH, right - 3, BADGE_HEIGHT - 6, right - 3, colours[checks->status]);
    fputs("<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" "
          "text-anchor=\"middle\">\n",
          out);
    fprintf(out, "<text x=\"%d\" y=\"14\" textLength=\"%d\">performance</text>\n", TITLE_WIDTH / 2,
            TITLE_WIDTH - WORD_MARGIN);
    fprintf(out, "<text x=\"%d\" y=\"14\" textLength=\"%d\">%s</text>\n</g>\n</svg>\n",
            TITLE_WIDTH + right / 2, right - WORD_MARGIN, word);
}

const struct lull_checks_form lull_checks_badge = {.name = "badge", .write = write_badge};

/* ==== GitHub ================================================================================== */

/* Workflow commands: one line each, which GitHub shows beside the line of the source that it names.
 * https://docs.github.com/actions/reference/workflow-commands-for-github-actions */

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

/* ==== GitLab ================================================================================== */

/* OpenMetrics, of which GitLab compares the values of two branches.
 * https://docs.gitlab.com/ee/ci/testing/metrics_reports.html */

static void put_metric_label(FILE *out, const struct lull_check_label *label)
{
    fprintf(out, "%s=\"", label->name);
    for (const char *text = label->value; *text;) {
        char piece[LULL_UTF8_PIECE];
        const size_t length = lull_utf8_clean(&text, piece);
        if (length == 1 && strchr("\\\"", *piece))
            fputc('\\', out);
        fwrite(piece, 1, length, out);
    }
    fputc('"', out);
}

static void write_gitlab(const struct lull_checks *checks, FILE *out)
{
    for (size_t i = 0; i < checks->n_values; i++) {
        struct lull_json json; /* its numbers are short, and read back the same */
        fprintf(out, "lull_%s{", checks->values[i].name);
        for (size_t k = 0; k < checks->n_labels; k++) {
            fputs(k ? "," : "", out);
            put_metric_label(out, &checks->labels[k]);
        }
        fputs("} ", out);
        lull_json_begin(&json, out, true);
        lull_json_number(&json, checks->values[i].value);
        fputc('\n', out);
    }
    fputs("# EOF\n", out);
}

const struct lull_checks_form lull_checks_gitlab = {.name = "gitlab", .write = write_gitlab};

/* ==== JUnit =================================================================================== */

/* JUnit's XML, as Jenkins and GitLab read it. What is open counts as skipped: it is no failure. */

static size_t count_of(const struct lull_checks *checks, enum lull_check_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < checks->count; i++)
        count += checks->checks[i].status == status;
    return count;
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    lull_markup_text(out, value);
    fputc('"', out);
}

static void put_case(FILE *out, const struct lull_check *check)
{
    static const char *const elements[] = {"system-out", "failure", "skipped"};
    const char *element = elements[check->status];
    fputs("    <testcase classname=\"lull\"", out);
    put_attribute(out, "name", check->name);
    if (*check->file) {
        put_attribute(out, "file", check->file);
        fprintf(out, " line=\"%u\"", check->line);
    }
    fprintf(out, ">\n      <%s", element);
    if (check->status != LULL_CHECK_PASSED)
        put_attribute(out, "message", check->message);
    fputc('>', out);
    lull_markup_text(out, check->message);
    fprintf(out, "</%s>\n    </testcase>\n", element);
}

static void write_junit(const struct lull_checks *checks, FILE *out)
{
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    put_attribute(out, "name", checks->suite);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", checks->count,
            count_of(checks, LULL_CHECK_FAILED), count_of(checks, LULL_CHECK_OPEN));
    for (size_t i = 0; i < checks->count; i++)
        put_case(out, &checks->checks[i]);
    fputs("  </testsuite>\n</testsuites>\n", out);
}

const struct lull_checks_form lull_checks_junit = {.name = "junit", .write = write_junit};

/* ==== Markdown ================================================================================ */

/* Markdown, for summaries of jobs and comments on changes. */

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
    fputs(check_word(checks->status), out);
    fputs(" (", out);
    put_markdown_text(out, checks->suite);
    fputs(")\n\n| fails if | verdict | what was measured |\n| --- | --- | --- |\n", out);
    for (size_t i = 0; i < checks->count; i++) {
        fputs("| ", out);
        put_markdown_text(out, checks->checks[i].name);
        fprintf(out, " | %s | ", check_word(checks->checks[i].status));
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
