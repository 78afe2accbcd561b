/* JUnit's XML, as Jenkins and GitLab read it. What is open counts as skipped: it is no failure. */
#include "report/checks/checks.h"
#include "report/markup.h"

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
