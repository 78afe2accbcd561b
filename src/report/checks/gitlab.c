/* OpenMetrics, of which GitLab compares the values of two branches.
 * https://docs.gitlab.com/ee/ci/testing/metrics_reports.html */
#include "base/json.h"
#include "base/text.h"
#include "report/checks/checks.h"

#include <string.h>

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
