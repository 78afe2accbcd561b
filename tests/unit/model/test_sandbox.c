/* What a file in a sandbox cannot do: reach anything, run without end, fill the memory. */
#include "model/sandbox.h"
#include "support/test.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

/* The error of a text, "" if there is none. Its value is left as a text in `ret_value`. */
static const char *run_text(const char *text, size_t size, char *ret_value, size_t room)
{
    static struct lull_error err;
    struct lull_sandbox *sandbox;
    err.text[0] = '\0';
    assert_int_equal(lull_sandbox_open("m.lua", NULL, &sandbox, &err), LULL_OK);
    lull_status status = lull_sandbox_load_text(sandbox, text, size, &err);
    lua_State *L = lull_sandbox_state(sandbox);
    assert_int_equal(lua_gettop(L), status == LULL_OK ? 1 : 0);
    if (status == LULL_OK && ret_value)
        snprintf(ret_value, room, "%s", luaL_tolstring(L, -1, NULL));
    lull_sandbox_close(sandbox);
    return err.text;
}

static void check_value(const char *text, const char *expected)
{
    char value[256] = "";
    assert_string_equal(run_text(text, strlen(text), value, sizeof value), "");
    assert_string_equal(value, expected);
}

static void check_error(const char *text, const char *expected)
{
    assert_string_equal(run_text(text, strlen(text), NULL, 0), expected);
}

static void test_what_is_there(void **state)
{
    (void)state;
    check_value("return 2^10 + math.sqrt(16)", "1028.0");
    check_value("return ('ab'):upper() .. string.format('%03d', 7)", "AB007");
    check_value("local t = {3, 1, 2}; table.sort(t); return table.concat(t, ',')", "1,2,3");
    check_value("local s = ''; for k, v in pairs{b = 2, a = 1, 30, [2.5] = 4, [-1] = 5} do "
                "s = s .. k .. '=' .. v .. ' ' end return s",
                "-1=5 1=30 2.5=4 a=1 b=2 ");
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    static const char *const names[] = {
        "io",           "os",         "debug",       "package",      "require",
        "load",         "dofile",     "loadfile",    "loadstring",   "pcall",
        "xpcall",       "coroutine",  "print",       "setmetatable", "collectgarbage",
        "getmetatable", "string.rep", "string.find", "string.gsub",  "string.dump",
        "math.random",  "table.move", "next",        "rawset",       "warn",
        "utf8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[64];
        snprintf(text, sizeof text, "return %s", names[i]);
        check_value(text, "nil");
    }
    check_value("return ('x').rep", "nil");
    check_error("io.open('/etc/passwd')",
                "m.lua: line 1: attempt to index a nil value (global 'io')");
}

static void test_endless(void **state)
{
    (void)state;
    check_error("\nwhile true do end", "m.lua: line 2: no end after 50.0 million instructions");
    check_error("local function f() return f() end f()",
                "m.lua: line 1: no end after 50.0 million instructions");
    check_error("for i = 1, 1e18 do end", "m.lua: line 1: no end after 50.0 million instructions");
}

/* Texts are compared in one step of the library: two of 4 MB that differ in their last letter, in turn. */
static void test_sort_of_long_texts(void **state)
{
    (void)state;
    check_error(
        "local s = ('x')\nfor i = 1, 22 do s = s .. s end\nlocal a, b, t = s .. 'a', s .. 'b', {}\n"
        "for i = 1, 30000 do t[i] = i % 2 == 0 and a or b end\ntable.sort(t)",
        "m.lua: line 5: sort: 30000 texts of up to 4194305 bytes are too much to compare");
    check_value("local t = {'b', 'c', 'a'} table.sort(t) return t[1] .. t[2] .. t[3]", "abc");
    check_value("local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) "
                "return t[1] .. t[2] .. t[3]",
                "321");
    check_error("table.sort({1, 'a'})", "m.lua: line 1: attempt to compare string with number");
}

static void test_memory_bombs(void **state)
{
    (void)state;
    check_error("local t = {}\nfor i = 1, 1e9 do\nt[i] = i end",
                "m.lua: line 3: needs more than 64 MiB of memory");
    check_error("local s = 'x'\nwhile true do s = s .. s end",
                "m.lua: line 2: needs more than 64 MiB of memory");
    /* just below the limit, where each piece of garbage costs a collection */
    check_error("local t = {}\nlocal i = 0\nlocal s = 'x'\nfor j = 1, 19 do s = s .. s end\n"
                "while i < 119 do i = i + 1 t[i] = s .. i end\nwhile true do local x = s .. s end",
                "m.lua: line 6: needs more than 64 MiB of memory");
    const char *deep = run_text("local function f() return 1 + f() end return f()", 48, NULL, 0);
    assert_non_null(strstr(deep, "m.lua: line 1: "));
}

static void test_errors(void **state)
{
    (void)state;
    check_error("return 1 +", "m.lua: line 1: unexpected symbol near <eof>");
    check_error("\n\nerror('no size')", "m.lua: line 3: no size");
    check_error("\nerror({})", "m.lua: line 2: error with a table as its message");
    check_error("assert(false, 'two\\nlines')", "m.lua: line 1: two lines");
    check_error("pairs({[true] = 1})",
                "m.lua: line 1: pairs: a key is a boolean, expected numbers and strings");
    const char *binary = run_text("\x1bLua", 4, NULL, 0);
    assert_non_null(strstr(binary, "attempt to load a binary chunk"));
    struct lull_sandbox *sandbox;
    struct lull_error err;
    assert_int_equal(lull_sandbox_open("/no/such/file.lua", NULL, &sandbox, &err), LULL_OK);
    assert_int_equal(lull_sandbox_load(sandbox, &err), LULL_ERR_IO);
    assert_non_null(strstr(err.text, "/no/such/file.lua: "));
    lull_sandbox_close(sandbox);
}

TEST_GROUP(test_sandbox)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_there), cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_endless),       cmocka_unit_test(test_sort_of_long_texts),
        cmocka_unit_test(test_memory_bombs),  cmocka_unit_test(test_errors),
    };
    return run_cases(tests, NULL, NULL);
}
