/* Fortran of any content. What is accepted becomes C of as many lines, whose brackets close and whose texts end. */
#include "model/kernel/fortran.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Brackets of each kind close in the order in which they open. */
static void check_brackets(const char *code)
{
    enum { MOST = 1024 };
    char open[MOST];
    size_t depth = 0;
    bool quoted = false;
    for (; *code; code++) {
        must(*code == '\n' || (*code >= ' ' && *code <= '~'));
        quoted ^= *code == '"';
        must(!quoted || *code != '\n');
        if (quoted)
            continue;
        if (strchr("([{", *code)) {
            must(depth < MOST);
            open[depth++] = *code;
        } else if (strchr(")]}", *code)) {
            must(depth > 0);
            depth--;
            must(open[depth] == (*code == ')' ? '(' : *code == ']' ? '[' : '{'));
        }
    }
    must(depth == 0 && !quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lull_kernel_size sizes[] = {{"n", 100}, {"dp", 8}};
    if (size > 8192) /* larger ones are no different, only slower */
        return 0;
    for (int is_program = 0; is_program < 2; is_program++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        const struct lull_fortran_source source = {.path = "fuzz.f90",
                                                   .text = (const char *)data,
                                                   .size = size,
                                                   .is_program = is_program,
                                                   .sizes = sizes,
                                                   .n_sizes = 2};
        struct lull_fortran_text text;
        struct lull_error err;
        if (lull_fortran_read(&source, arena, &text, &err) == LULL_OK) {
            size_t lines = 0, expected = size > 0 && data[size - 1] != '\n';
            for (const char *at = text.code; *at; at++)
                lines += *at == '\n';
            for (size_t i = 0; i < size; i++)
                expected += data[i] == '\n';
            must(lines == expected);
            check_brackets(text.code);
            check_brackets(text.helpers);
        }
        lull_arena_destroy(arena);
    }
    return 0;
}
