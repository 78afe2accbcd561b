/* Names of functions: C++ by the examples of the Itanium C++ ABI (section 5.1), Fortran by what
 * gfortran makes of a procedure in a module. */
#include "binary/demangle.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct lull_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    return 0;
}

static void test_cpp(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"_Z1fv", "f()"},
        {"_Z1fi", "f(int)"},
        {"_Z3foo3bar", "foo(bar)"},
        {"_Zrm1XS_", "operator%(X, X)"},
        {"_ZplR1XS0_", "operator+(X&, X&)"},
        {"_ZlsRK1XS1_", "operator<<(X const&, X const&)"},
        {"_ZN3FooIA4_iE3barE", "Foo<int [4]>::bar"},
        {"_Z5firstI3DuoEvS0_", "void first<Duo>(Duo)"},
    };
    if (!lull_demangles_cpp()) {
        print_message("skipped: no C++ run-time library\n");
        skip();
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_string_equal(lull_demangle(arena, pairs[i][0]), pairs[i][1]);
}

static void test_fortran(void **state)
{
    (void)state;
    assert_string_equal(lull_demangle(arena, "__heat_MOD_step"), "heat::step");
    assert_string_equal(lull_demangle(arena, "__my_mod_MOD_do_it"), "my_mod::do_it");
}

static void test_others(void **state)
{
    (void)state;
    static const char *const names[] = {"",       "main",        "_Z",      "_ZZZZ",
                                        "_Zebra", "__heat_MOD_", "___MOD",  "__init_x",
                                        "step_",  "f()",         "MPI_Send"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_ptr_equal(lull_demangle(arena, names[i]), names[i]);
}

/* A name may be made to unfold to more than there is memory: it stays as it is. */
static void test_endless(void **state)
{
    (void)state;
    size_t size = 1 << 20;
    char *name = malloc(size + 1);
    assert_non_null(name);
    memset(name, 'P', size);
    memcpy(name, "_Z1f", 4);
    name[size - 1] = 'i';
    name[size] = '\0';
    assert_ptr_equal(lull_demangle(arena, name), name);
    free(name);
}

/* Names in the form of __cxa_demangle, and what of each is the name in the sense of the C++ standard:
 * qualified, without arguments. tests/names compares many more with what compilers say. */
static void test_short(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"main", "main"},
        {"f(int)", "f"},
        {"double heat::Grid<double, 3>::step<int>(int) const", "heat::Grid::step"},
        {"void first<Duo>(Duo)", "first"},
        {"void f<int>(int) [clone .cold]", "f"},
        {"run(int)::{lambda(int)#1}::operator()(int) const", "run::{lambda#1}::operator()"},
        {"each<run()::{lambda(int)#2}>(run()::{lambda(int)#2})::x", "each::x"},
        {"operator<<(X const&, X const&)", "operator<<"},
        {"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
        {"std::function<void (int)>::operator()(int) const", "std::function::operator()"},
        {"int operator-<int*, std::vector<int> >(A const&, A const&)", "operator-"},
        {"operator\"\" _m(long double)", "operator\"\" _m"},
        {"X::operator->() const", "X::operator->"},
        {"X::operator std::string() const", "X::operator std::string"},
        {"operator new(unsigned long)", "operator new"},
        {"operator delete[](void*)", "operator delete[]"},
        {"(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden"},
        {"heat::(anonymous namespace)::A<int>::f()", "heat::(anonymous namespace)::A::f"},
        {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
         ">::_M_append(char const*, unsigned long)",
         "std::__cxx11::basic_string::_M_append"},
        {"std::vector<int, std::allocator<int> > make<int>(int)", "make"},
        {"decltype (x.begin()) first_of<A>(A)", "first_of"},
        {"decltype(auto) std::get<0ul, int>(std::tuple<int>&)", "std::get"},
        {"f() const &::g()", "f::g"},
        {"name[abi:cxx11]()", "name"},
        {"void (*pick<int>(int))(double)", "void (*pick<int>(int))(double)"},
        {"auto A::operator<=>(A const&) const", "A::operator<=>"},
        {"heat::step", "heat::step"},
        {"", ""},
        {"(", "("},
        {"<", "<"},
        {"a(", "a"},
        {"operator", "operator"},
        {"x::~x()", "x::~x"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_string_equal(lull_short_name(arena, pairs[i][0]), pairs[i][1]);
}

TEST_GROUP(test_demangle)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cpp, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fortran, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_endless, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
