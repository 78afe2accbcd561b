/* The kernel as a C function that can be compiled by itself. */
#include "model/kernel/incore/incore.h"

#include <stdlib.h>
#include <string.h>

static const char *plain_type(const char *type)
{
    return strncmp(type, "const ", 6) == 0 ? type + 6 : type;
}

/* "double (*restrict in)[N]", "const int *restrict idx" */
static const char *parameter(const struct lull_kernel_array *array, struct lull_arena *arena)
{
    const char *text = lull_arena_printf(
        arena, "%s%s %s*restrict %s%s", array->is_const ? "const " : "", array->element,
        array->n_dimensions > 1 ? "(" : "", array->name, array->n_dimensions > 1 ? ")" : "");
    for (size_t d = 1; d < array->n_dimensions; d++)
        text = lull_arena_printf(arena, "%s[%s]", text, array->extent_text[d]);
    return text;
}

struct function_text {
    const char *head, *parameters, *arguments, *begin, *end;
    struct lull_arena *arena;
};

static void add_parameter(struct function_text *text, const char *parameter_text,
                          const char *argument)
{
    const char *comma = *text->parameters ? ", " : "";
    text->parameters =
        lull_arena_printf(text->arena, "%s%s%s", text->parameters, comma, parameter_text);
    text->arguments = lull_arena_printf(text->arena, "%s%s%s", text->arguments, comma, argument);
}

static void add_symbols(struct function_text *text, const struct lull_kernel *kernel, bool constant)
{
    size_t number = 0;
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        const char *name = kernel->symbols[s].name;
        if (kernel->symbols[s].divisor)
            continue;
        if (kernel->symbols[s].is_size && constant)
            text->head = lull_arena_printf(text->arena, "%s#define %s %.0f\n", text->head, name,
                                           kernel->symbols[s].value);
        else if (kernel->symbols[s].is_size)
            add_parameter(text, lull_arena_printf(text->arena, "const long %s", name),
                          lull_arena_printf(text->arena, "sizes[%zu]", number++));
    }
    /* Loop variables that are not declared in their loops; the others hide these. */
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        bool again = kernel->symbols[s].is_size;
        for (size_t k = 0; k < s; k++)
            again |= !kernel->symbols[k].is_size &&
                     strcmp(kernel->symbols[k].name, kernel->symbols[s].name) == 0;
        if (!again)
            text->begin = lull_arena_printf(text->arena, "%s    long %s; (void)%s;\n", text->begin,
                                            kernel->symbols[s].name, kernel->symbols[s].name);
    }
}

static void add_arrays(struct function_text *text, const struct lull_kernel *kernel)
{
    for (size_t a = 0; a < kernel->n_arrays; a++)
        add_parameter(text, parameter(&kernel->arrays[a], text->arena),
                      lull_arena_printf(text->arena, "arrays[%zu]", a));
}

static void add_scalars(struct function_text *text, const struct lull_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_scalars; i++) {
        const struct lull_kernel_scalar *scalar = &kernel->scalars[i];
        if (!scalar->type)
            continue;
        const char *type = plain_type(scalar->type);
        add_parameter(text,
                      lull_arena_printf(text->arena, "%s *restrict lull_%s", type, scalar->name),
                      lull_arena_printf(text->arena, "scalars[%zu]", i));
        text->begin = lull_arena_printf(text->arena, "%s    %s %s = *lull_%s;\n", text->begin, type,
                                        scalar->name, scalar->name);
        text->end = lull_arena_printf(text->arena, "%s    *lull_%s = %s;\n", text->end,
                                      scalar->name, scalar->name);
    }
}

static const char *absolute(const char *path, struct lull_arena *arena)
{
    char *real = realpath(path, NULL);
    const char *copy = lull_arena_strdup(arena, real ? real : path);
    free(real);
    return copy;
}

/* A copy stays a loop, and does not become a call of memcpy; for clang an option says so. */
static const char keep_loops[] = "#if defined __GNUC__ && !defined __clang__\n"
                                 "#pragma GCC optimize \"no-tree-loop-distribute-patterns\"\n"
                                 "#endif\n";

const char *lull_incore_c_source(const struct lull_kernel *kernel, bool constant_sizes,
                                 struct lull_arena *arena)
{
    struct function_text text = {"#include <math.h>\n", "", "", "", "", arena};
    if (kernel->is_file)
        text.head = lull_arena_printf(arena, "%s#define main lull_unused_main\n#include \"%s\"\n",
                                      kernel->macros, absolute(kernel->path, arena));
    for (size_t i = 0; i < kernel->n_calls && !kernel->is_file; i++)
        text.head = lull_arena_printf(arena, "%sdouble %s();\n", text.head, kernel->calls[i].name);
    /* Sizes of a source file are variables there, those of a kernel by itself are macros. */
    add_symbols(&text, kernel, constant_sizes && !kernel->is_file);
    add_arrays(&text, kernel);
    add_scalars(&text, kernel);
    return lull_arena_printf(arena,
                             "%s%s__attribute__((noinline)) void lull_loop(%s)\n{\n%s    %s\n"
                             "#line %u \"%s\"\n%s\n%s}\n"
                             "void lull_kernel(const long *sizes, void *const *arrays,\n"
                             "                 void *const *scalars)\n{\n"
                             "    (void)sizes, (void)arrays, (void)scalars;\n"
                             "    lull_loop(%s);\n}\n",
                             text.head, keep_loops, text.parameters, text.begin, kernel->preamble,
                             kernel->code_line, kernel->path, kernel->code, text.end,
                             text.arguments);
}
