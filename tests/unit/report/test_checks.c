/* The forms of checks: what is special in each of them is escaped. */
#include "report/checks.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text that a form makes, to be freed. */
static char *form_text(const struct lull_checks_form *form)
{
    static const struct lull_check checks[] = {
        {"a, b: 5 %", LULL_CHECK_FAILED, "50 % slower\n::error ::<b>|`", "src/a,b:c.f90", 120},
        {"good", LULL_CHECK_PASSED, "fine", "", 0},
        {"open", LULL_CHECK_OPEN, "4 more runs", "", 0},
    };
    static const struct lull_check_value values[] = {{"runtime", 1.5}};
    static const struct lull_check_label labels[] = {{"program", "a\\\"b\n"}};
    static const char *const remarks[] = {"x*y", NULL};
    const struct lull_checks all = {"heat <1>", LULL_CHECK_FAILED, checks, 3, values, 1, labels, 1,
                                    remarks};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    form->write(&all, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void check_holds(const struct lull_checks_form *form, const char *wanted)
{
    char *text = form_text(form);
    fail_if(!strstr(text, wanted), "%s: '%s' is not in:\n%s", form->name, wanted, text);
    free(text);
}

/* https://docs.github.com/actions/reference/workflow-commands-for-github-actions: in properties
 * %, newline, : and , are escaped, in messages % and newline; a message is one line. */
static void test_github(void **state)
{
    (void)state;
    char *text = form_text(&lull_checks_github);
    assert_string_equal(text, "::error file=src/a%2Cb%3Ac.f90,line=120,title=lull check%3A a%2C "
                              "b%3A 5 %25::50 %25 slower ::error ::<b>|`\n"
                              "::warning title=lull check%3A open::4 more runs\n");
    free(text);
}

static void test_others(void **state)
{
    (void)state;
    check_holds(&lull_checks_junit, "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"");
    check_holds(&lull_checks_junit, "file=\"src/a,b:c.f90\" line=\"120\"");
    check_holds(&lull_checks_junit, "::error ::&lt;b&gt;|`</failure>");
    check_holds(&lull_checks_junit, "name=\"heat &lt;1&gt;\"");
    check_holds(&lull_checks_markdown, "50 % slower ::error ::\\<b\\>\\|\\` |\n");
    check_holds(&lull_checks_markdown, "* x\\*y\n");
    check_holds(&lull_checks_gitlab, "lull_runtime{program=\"a\\\\\\\"b \"} 1.5\n# EOF\n");
    check_holds(&lull_checks_badge, "performance: failed");
}

TEST_GROUP(test_checks)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_github),
                                       cmocka_unit_test(test_others)};
    return run_cases(tests, NULL, NULL);
}
