/* Error texts: one line, terminated, whatever is put into them. */
#include "base/error.h"
#include "support/test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static void test_fail(void **state)
{
    (void)state;
    struct lull_error err;
    assert_int_equal(lull_fail(&err, LULL_ERR_RANGE, "%s: %d", "file", 7), LULL_ERR_RANGE);
    assert_string_equal(err.text, "file: 7");
}

static void test_errno(void **state)
{
    (void)state;
    struct lull_error err;
    errno = ENOENT;
    assert_int_equal(lull_fail_errno(&err, "cannot open '%s'", "x"), LULL_ERR_IO);
    assert_string_equal(err.text, "cannot open 'x': No such file or directory");
}

static void test_prefix(void **state)
{
    (void)state;
    struct lull_error err;
    lull_fail(&err, LULL_ERR_FORMAT, "state ends before it begins");
    assert_int_equal(lull_fail_prefix(&err, LULL_ERR_FORMAT, "line %d", 812), LULL_ERR_FORMAT);
    lull_fail_prefix(&err, LULL_ERR_FORMAT, "%s", "epoch.prv.gz");
    assert_string_equal(err.text, "epoch.prv.gz: line 812: state ends before it begins");
}

static void test_null_is_allowed(void **state)
{
    (void)state;
    errno = EACCES;
    assert_int_equal(lull_fail(NULL, LULL_ERR_MEMORY, "%d", 1), LULL_ERR_MEMORY);
    assert_int_equal(lull_fail_errno(NULL, "%d", 1), LULL_ERR_IO);
    assert_int_equal(lull_fail_prefix(NULL, LULL_ERR_CANCELLED, "%d", 1), LULL_ERR_CANCELLED);
}

/* Names in files may hold anything: no second line, no terminal escape. */
static void test_one_line(void **state)
{
    (void)state;
    struct lull_error err;
    lull_fail(&err, LULL_ERR_FORMAT, "a\nb\tc\x1b[31md\x7f");
    assert_string_equal(err.text, "a b c [31md ");
    errno = ENOENT;
    lull_fail_errno(&err, "x\r\ny");
    assert_string_equal(err.text, "x  y: No such file or directory");
    lull_fail_prefix(&err, LULL_ERR_FORMAT, "p\nq");
    assert_string_equal(err.text, "p q: x  y: No such file or directory");
    lull_fail(&err, LULL_ERR_FORMAT, "größe");
    assert_string_equal(err.text, "größe");
}

static void test_truncation(void **state)
{
    (void)state;
    struct {
        struct lull_error err;
        char guard[16];
    } room;
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    memset(&room, 0x55, sizeof room);
    size_t most = sizeof room.err.text - 1;
    lull_fail(&room.err, LULL_ERR_FORMAT, "%s", longer);
    assert_int_equal(strlen(room.err.text), most);
    errno = ENOENT;
    lull_fail_errno(&room.err, "%s", longer);
    assert_int_equal(strlen(room.err.text), most);
    lull_fail(&room.err, LULL_ERR_FORMAT, "end");
    lull_fail_prefix(&room.err, LULL_ERR_FORMAT, "%.*s", (int)most - 4, longer);
    assert_int_equal(strlen(room.err.text), most);
    assert_string_equal(room.err.text + most - 5, "x: en");
    lull_fail_prefix(&room.err, LULL_ERR_FORMAT, "%s", longer);
    assert_int_equal(strlen(room.err.text), most);
    for (size_t i = 0; i < sizeof room.guard; i++)
        assert_int_equal(room.guard[i], 0x55);
}

TEST_GROUP(test_error)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail),     cmocka_unit_test(test_errno),
        cmocka_unit_test(test_prefix),   cmocka_unit_test(test_null_is_allowed),
        cmocka_unit_test(test_one_line), cmocka_unit_test(test_truncation),
    };
    return run_cases(tests, NULL, NULL);
}
