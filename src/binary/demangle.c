/* SPDX-License-Identifier: BSD-3-Clause */
/* C++ names are read by abi::__cxa_demangle, which the ABI demands of every C++ run-time library.
 * lull contains no C++, so such a library is opened when the first C++ name is met; nearly every
 * machine has one. */
#include "binary/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangler(const char *name, char *buffer, size_t *size, int *status);

static demangler *read_cpp; /* NULL: there is none */

static void find_demangler(void)
{
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (size_t i = 0; !read_cpp && i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&read_cpp, &found, sizeof read_cpp);
    }
}

bool lull_demangles_cpp(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_demangler);
    return read_cpp != NULL;
}

static const char *demangle_cpp(struct lull_arena *arena, const char *name)
{
    enum { LONGEST = 4096 }; /* a name that refers to itself unfolds to any length */
    int status = -1;
    char *plain = strlen(name) <= LONGEST && lull_demangles_cpp()
                      ? read_cpp(name, NULL, NULL, &status)
                      : NULL;
    const char *kept = status == 0 && plain ? lull_arena_strdup(arena, plain) : name;
    free(plain);
    return kept;
}

/* "__MODULE_MOD_PROCEDURE" */
static const char *demangle_fortran(struct lull_arena *arena, const char *name)
{
    const char *module = name + 2, *mark = strstr(module, "_MOD_");
    if (!mark || mark == module || !mark[5])
        return name;
    return lull_arena_printf(arena, "%.*s::%s", (int)(mark - module), module, mark + 5);
}

const char *lull_demangle(struct lull_arena *arena, const char *name)
{
    if (strncmp(name, "_Z", 2) == 0)
        return demangle_cpp(arena, name);
    if (strncmp(name, "__", 2) == 0)
        return demangle_fortran(arena, name);
    return name;
}

/* ---- short names ----------------------------------------------------------------------------- */

/* Behind the bracket that closes the one at `at`; its end if none does. */
static const char *behind_bracket(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        const bool opens = *at == '<' || *at == '(' || *at == '[' || *at == '{';
        const bool closes = *at == ')' || *at == ']' || *at == '}' || (*at == '>' && at[-1] != '-');
        depth += opens - closes;
        if (closes && depth == 0)
            return at + 1;
    }
    return at;
}

static bool is_word(char letter)
{
    return letter == '_' || (letter >= '0' && letter <= '9') ||
           ((letter | 32) >= 'a' && (letter | 32) <= 'z') || (unsigned char)letter >= 128;
}

/* The length of the sign behind "operator": "<<=", "()", " new[]"; 0: it is a type. */
static size_t length_of_operator(const char *sign)
{
    static const char *const signs[] = {"()",      "[]",        " new[]", " new", " delete[]",
                                        " delete", " co_await", "\"\" ",  "<=>",  "->*",
                                        "<<=",     ">>=",       "->",     "<<",   ">>",
                                        "<=",      ">=",        "==",     "!=",   "&&",
                                        "||",      "++",        "--",     "+=",   "-=",
                                        "*=",      "/=",        "%=",     "^=",   "&=",
                                        "|="}; /* longer ones before those that they begin with */
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(sign, signs[i], strlen(signs[i])) == 0)
            return strlen(signs[i]);
    return *sign && strchr("+-*/%^&|~!=<>,", *sign) ? 1 : 0;
}

/* Behind " const", " &", " [clone .cold]" and the like, which may follow parameters. */
static const char *behind_qualifiers(const char *at)
{
    static const char *const words[] = {" const", " volatile", " &&", " &", " noexcept"};
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(at, words[i], strlen(words[i])) == 0) {
                at += strlen(words[i]);
                more = true;
            }
        if (strncmp(at, " [clone", 7) == 0) {
            at = behind_bracket(at + 1);
            more = true;
        }
    }
    return at;
}

const char *lull_short_name(struct lull_arena *arena, const char *name)
{
    static const char unnamed[] = "(anonymous namespace)", op[] = "operator", type[] = "decltype";
    char *kept = lull_arena_alloc(arena, strlen(name) + 1), *begin = kept, *end = kept;
    for (const char *at = name; *at;) {
        const bool word_begins = at == name || !is_word(at[-1]);
        if (word_begins && strncmp(at, op, sizeof op - 1) == 0 && !is_word(at[sizeof op - 1])) {
            size_t sign = length_of_operator(at + sizeof op - 1);
            if (sign == 0) /* "operator std::vector<int>()" */
                sign = strcspn(at + sizeof op - 1, "<(");
            memcpy(end, at, sizeof op - 1 + sign);
            end += sizeof op - 1 + sign;
            at += sizeof op - 1 + sign;
            at += at[0] == ' ' && at[1] == '<'; /* "operator< <int>" */
        } else if (strncmp(at, unnamed, sizeof unnamed - 1) == 0) {
            memcpy(end, at, sizeof unnamed - 1);
            end += sizeof unnamed - 1;
            at += sizeof unnamed - 1;
        } else if (*at == '{') { /* "{lambda(int)#1}" */
            const char *last = behind_bracket(at);
            while (at < last) {
                if (*at == '(' || *at == '<')
                    at = behind_bracket(at);
                else
                    *end++ = *at++;
            }
        } else if (*at == '(') {
            const bool of_type =
                end - begin == sizeof type - 1 && memcmp(begin, type, sizeof type - 1) == 0;
            if (at[1] == '*' || at[1] == '&' || end == begin)
                return name; /* a pointer to a function is the result */
            at = behind_bracket(at);
            if (of_type)
                continue;
            at = behind_qualifiers(at);
            if (strncmp(at, "::", 2) != 0)
                break;
        } else if (*at == '<' || *at == '[') {
            at = behind_bracket(at);
        } else if (*at == ' ') {                /* what was before is the type of the result */
            begin = at[1] == '(' ? begin : end; /* "decltype (x)" */
            at++;
        } else {
            *end++ = *at++;
        }
    }
    *end = '\0';
    return *begin ? begin : name;
}
