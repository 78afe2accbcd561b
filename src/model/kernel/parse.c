/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the file with libclang, and finds the loop nest in it. */
#include "lull_features.h"
#include "model/kernel/kernel.h"

#if LULL_HAVE_LIBCLANG
#include "base/file.h"
#include "model/kernel/fortran.h"
#include "model/kernel/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the text ------------------------------------------------------------------------------ */

/* The language that the name of a file tells, if it is not C; NULL: it tells none. libclang would
 * read a file as what its name says, and the compiler that the nest is given to reads C. */
static const char *other_language(const char *path)
{
    static const struct {
        const char *ending, *language;
    } known[] = {{".f", "fixed"},     {".for", "fixed"},   {".ftn", "fixed"},   {".fpp", "fixed"},
                 {".f77", "fixed"},   {".f90", "Fortran"}, {".f95", "Fortran"}, {".f03", "Fortran"},
                 {".f08", "Fortran"}, {".f18", "Fortran"}, {".cc", "C++"},      {".cpp", "C++"},
                 {".cxx", "C++"},     {".c++", "C++"},     {".hpp", "C++"},     {".cu", "CUDA"},
                 {".py", "Python"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (strcasecmp(dot, known[i].ending) == 0)
            return known[i].language;
    return NULL;
}

static bool is_in_program(const struct lull_kernel_source *source)
{
    return source->place != NULL || source->first_line > 0;
}

/* Makes a kernel without a function the body of one. The line before it declares sizes and
 * functions. */
static void wrap(struct lull_kernel_reader *reader, const char *file, const char *text)
{
    const struct lull_kernel_source *source = reader->source;
    for (size_t i = 0; i < source->n_sizes && !reader->is_fortran; i++)
        text = lull_arena_printf(reader->arena, "%sextern long %s; ", text, source->sizes[i].name);
    for (size_t i = 0; i < source->n_costs; i++)
        text = lull_arena_printf(reader->arena, "%sdouble %s(); ", text, source->costs[i].name);
    reader->text =
        lull_arena_printf(reader->arena, "%svoid lull_kernel(void) {\n%s\n}\n", text, file);
    reader->lines_before = 1;
}

/* Makes C of a file of Fortran. */
static lull_status take_fortran(struct lull_kernel_reader *reader, const char *file, size_t size)
{
    const struct lull_kernel_source *source = reader->source;
    const struct lull_fortran_source fortran = {.path = source->path,
                                                .text = file,
                                                .size = size,
                                                .is_program = is_in_program(source),
                                                .sizes = source->sizes,
                                                .n_sizes = source->n_sizes};
    struct lull_fortran_text text;
    lull_status status = lull_fortran_read(&fortran, reader->arena, &text, reader->err);
    if (status != LULL_OK)
        return status;
    reader->kernel->macros = lull_arena_printf(reader->arena, "%s\n", text.helpers);
    if (!is_in_program(source))
        wrap(reader, text.code, text.helpers);
    else
        reader->text = lull_arena_printf(reader->arena, "%s%s", text.helpers, text.code);
    if (!source->place)
        return LULL_OK;
    char *place = lull_arena_strdup(reader->arena, source->place);
    for (char *at = place; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    reader->place = text.program && strcmp(place, text.program) == 0 ? "main" : place;
    return LULL_OK;
}

/* Reads the file, and makes of it what libclang is given. */
static lull_status read_file(struct lull_kernel_reader *reader)
{
    struct lull_mapping mapping;
    const char *path = reader->source->path;
    const char *language = other_language(path);
    const bool is_cpp = language && strcmp(language, "C++") == 0;
    reader->is_fortran = language && strcmp(language, "Fortran") == 0;
    reader->is_cpp = is_cpp && reader->source->first_line > 0;
    reader->place = reader->source->place;
    if (language && strcmp(language, "fixed") == 0)
        return lull_fail(reader->err, LULL_ERR_FORMAT,
                         "%s: is Fortran of fixed form by its name: free form is read (.f90)",
                         path);
    if (language && !reader->is_cpp && !reader->is_fortran)
        return lull_fail(reader->err, LULL_ERR_FORMAT,
                         "%s: is %s by its name, expected a loop nest in C or Fortran: the loops "
                         "alone, without a function around them, are enough",
                         path, language);
    lull_status status = lull_map_file(reader->source->path, &mapping, reader->err);
    if (status != LULL_OK)
        return status;
    if (mapping.size && memchr(mapping.data, 0, mapping.size)) {
        lull_unmap(&mapping);
        return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: is no %s source: it has a byte 0",
                         reader->source->path, reader->is_fortran ? "Fortran" : "C");
    }
    const char *text = mapping.size ? (const char *)mapping.data : "";
    if (reader->is_fortran)
        status = take_fortran(reader, text, mapping.size);
    else if (is_in_program(reader->source))
        reader->text = lull_arena_strndup(reader->arena, text, mapping.size);
    else
        wrap(reader, lull_arena_strndup(reader->arena, text, mapping.size), "");
    lull_unmap(&mapping);
    return status;
}

/* ---- the library --------------------------------------------------------------------------- */

/* The name in clang's message that an identifier was never declared; NULL: it is another
 * message. */
static const char *undeclared(const char *message, struct lull_arena *arena)
{
    static const char begin[] = "use of undeclared identifier '";
    if (strncmp(message, begin, sizeof begin - 1) != 0)
        return NULL;
    const char *name = message + sizeof begin - 1;
    return lull_arena_strndup(arena, name, strcspn(name, "'"));
}

/* Fails with the first error in the file itself; errors in headers, which may be those of another
 * compiler, do not matter. Sizes among undeclared names are found on the way. */
static lull_status check_messages(struct lull_kernel_reader *reader)
{
    lull_status status = LULL_OK;
    const struct lull_clang *clang = reader->clang;
    unsigned count = clang->getNumDiagnostics(reader->unit);
    for (unsigned i = 0; i < count; i++) {
        CXDiagnostic message = clang->getDiagnostic(reader->unit, i);
        CXSourceLocation location = clang->getDiagnosticLocation(message);
        bool counts = clang->getDiagnosticSeverity(message) >= CXDiagnostic_Error &&
                      clang->Location_isFromMainFile(location);
        unsigned line = 0;
        clang->getFileLocation(location, NULL, &line, NULL, NULL);
        CXString spelling = clang->getDiagnosticSpelling(message);
        const char *text = lull_arena_strdup(reader->arena, clang->getCString(spelling));
        clang->disposeString(spelling);
        clang->disposeDiagnostic(message);
        line = line > reader->lines_before ? line - reader->lines_before : 1;
        const char *name = undeclared(text, reader->arena);
        for (size_t k = 0; name && k < reader->source->n_sizes; k++)
            if (strcmp(reader->source->sizes[k].name, name) == 0 && !reader->as_macro[k])
                reader->as_macro[k] = reader->again = true;
        if (!counts || status != LULL_OK)
            continue;
        if (name)
            status = lull_fail(reader->err, LULL_ERR_FORMAT,
                               "%s: line %u: '%s' has no value: give it with -D %s=VALUE",
                               reader->source->path, line, name, name);
        else if (strstr(text, "function definition is not allowed here"))
            status =
                lull_fail(reader->err, LULL_ERR_FORMAT,
                          "%s: line %u: has functions: name the one with the loops as %s:FUNCTION",
                          reader->source->path, line, reader->source->path);
        else
            status = lull_fail(reader->err, LULL_ERR_FORMAT, "%s: line %u: %s",
                               reader->source->path, line, text);
    }
    return status;
}

/* The flags of the compiler, and as macros those sizes of a source file that its build would
 * define. */
static const char **all_flags(const struct lull_kernel_reader *reader)
{
    const struct lull_kernel_source *source = reader->source;
    size_t count = 0, n_flags = 0;
    while (source->flags && source->flags[n_flags])
        n_flags++;
    const char **flags =
        lull_arena_zero(reader->arena, n_flags + source->n_sizes + 4, sizeof *flags);
    flags[count++] = reader->is_cpp ? "-std=gnu++17" : "-std=gnu17";
    flags[count++] = "-Wno-implicit-function-declaration";
    flags[count++] = "-Wno-error";
    for (size_t i = 0; i < n_flags; i++)
        flags[count++] = source->flags[i];
    for (size_t i = 0; i < source->n_sizes; i++)
        if (reader->as_macro[i])
            flags[count++] = lull_arena_printf(reader->arena, "-D%s=%.0f", source->sizes[i].name,
                                               source->sizes[i].value);
    return flags;
}

static lull_status parse(struct lull_kernel_reader *reader, CXIndex index)
{
    const char **flags = all_flags(reader);
    int n_flags = 0;
    while (flags[n_flags])
        n_flags++;
    struct CXUnsavedFile file = {
        .Filename = reader->source->path, .Contents = reader->text, .Length = reader->text_size};
    /* A name that ends in .c makes it C, whatever the file is called. */
    if (!is_in_program(reader->source) || reader->is_fortran)
        file.Filename = "lull-kernel.c";
    if (reader->clang->parseTranslationUnit2(index, file.Filename, flags, n_flags, &file, 1,
                                             CXTranslationUnit_None,
                                             &reader->unit) != CXError_Success)
        return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: libclang cannot read it",
                         reader->source->path);
    return check_messages(reader);
}

/* ---- the nest ------------------------------------------------------------------------------ */

struct search {
    const struct lull_kernel_reader *reader;
    const char *function;
    unsigned line; /* the first loop behind it is wanted; 0: those of the function */
    CXCursor function_declaration, body, nests[16];
    bool has_body;
    size_t count;
};

static enum CXChildVisitResult find_loops(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct search *search = data;
    (void)parent;
    if (search->reader->clang->getCursorKind(cursor) != CXCursor_ForStmt)
        return CXChildVisit_Recurse;
    if (lull_reader_line(search->reader, cursor) <= search->line)
        return CXChildVisit_Recurse; /* the marked loop may be inside */
    if (search->count < sizeof search->nests / sizeof *search->nests)
        search->nests[search->count++] = cursor;
    return CXChildVisit_Continue;
}

static enum CXChildVisitResult find_function(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct search *search = data;
    const struct lull_clang *clang = search->reader->clang;
    (void)parent;
    if (clang->getCursorKind(cursor) != CXCursor_FunctionDecl ||
        !clang->Location_isFromMainFile(clang->getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    struct lull_cursors parts = lull_reader_children(search->reader, cursor);
    if (parts.count == 0 ||
        clang->getCursorKind(parts.items[parts.count - 1]) != CXCursor_CompoundStmt)
        return CXChildVisit_Continue;
    CXCursor body = parts.items[parts.count - 1];
    size_t begin, end;
    lull_reader_extent(search->reader, cursor, &begin, &end);
    unsigned last = 1;
    for (size_t i = 0; i < end; i++)
        last += search->reader->text[i] == '\n';
    bool wanted = search->function
                      ? strcmp(lull_reader_spelling(search->reader, cursor), search->function) == 0
                      : last - search->reader->lines_before > search->line;
    if (!wanted)
        return CXChildVisit_Continue;
    search->function_declaration = cursor;
    search->body = body;
    search->has_body = true;
    clang->visitChildren(body, find_loops, search);
    return CXChildVisit_Break;
}

/* The line of `#pragma lull kernel NAME`; 0: there is none. */
static unsigned find_mark(const struct lull_kernel_reader *reader, const char *mark)
{
    unsigned number = 0;
    for (const char *line = reader->text; line && *line;) {
        char name[128];
        number++;
        if (sscanf(line, " #pragma lull kernel %127s", name) == 1 && strcmp(name, mark) == 0)
            return number - reader->lines_before;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

static lull_status find_nest(const struct lull_kernel_reader *reader, struct search *search)
{
    const char *path = reader->source->path, *place = reader->place;
    const char *mark = reader->is_fortran ? "!$" : "#pragma ";
    CXCursor file = reader->clang->getTranslationUnitCursor(reader->unit);
    search->reader = reader;
    search->function = place ? place : "lull_kernel";
    reader->clang->visitChildren(file, find_function, search);
    if (!search->has_body && (search->line = find_mark(reader, place))) {
        search->function = NULL;
        reader->clang->visitChildren(file, find_function, search);
    }
    if (!search->has_body)
        return lull_fail(reader->err, LULL_ERR_FORMAT,
                         "%s: has neither a %s '%s' nor a mark %slull kernel %s", path,
                         reader->is_fortran ? "procedure" : "function", place, mark, place);
    if (search->count == 0)
        return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: has no %s loop%s%s", path,
                         reader->is_fortran ? "do" : "for", place ? " in " : "",
                         place ? place : "");
    if (search->count > 1 && search->line == 0)
        return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: line %u: a second loop nest: %s", path,
                         lull_reader_line(reader, search->nests[1]),
                         place ? lull_arena_printf(reader->arena,
                                                   "mark the one that is meant with %slull "
                                                   "kernel NAME",
                                                   mark)
                               : "expected one");
    return LULL_OK;
}

/* Reads the declarations of integers before the loops that give them a value, and never another one, which then
 * stands for them. */
static void read_declarations(struct lull_kernel_reader *reader, const struct search *search)
{
    struct lull_cursors parts = lull_reader_children(reader, search->body);
    unsigned first = lull_reader_line(reader, search->nests[0]);
    struct lull_error *err = reader->err;
    reader->err = NULL;
    for (size_t i = 0; i < parts.count; i++) {
        if (reader->clang->getCursorKind(parts.items[i]) != CXCursor_DeclStmt ||
            lull_reader_line(reader, parts.items[i]) > first)
            continue;
        struct lull_cursors variables = lull_reader_children(reader, parts.items[i]);
        if (variables.count == 1 && lull_reader_children(reader, variables.items[0]).count == 1 &&
            lull_reader_is_integer(reader, reader->clang->getCursorType(variables.items[0])) &&
            !lull_reader_is_changed(reader, variables.items[0]) &&
            lull_reader_statement(reader, parts.items[i]) == LULL_OK)
            reader->kernel->preamble =
                lull_arena_printf(reader->arena, "%s%s\n", reader->kernel->preamble,
                                  lull_reader_source_text(reader, parts.items[i]));
        reader->kernel->n_accesses = 0;
    }
    reader->err = err;
}

/* ---- a nest by its lines ------------------------------------------------------------------- */

/* The loops around some lines of the file, outer ones first, and the function that they are in. */
struct around {
    const struct lull_kernel_reader *reader;
    unsigned first, last;
    CXCursor function, loops[32];
    bool has_function;
    bool is_template; /* it is one, or stands in one */
    size_t count;
};

static bool is_loop(enum CXCursorKind kind)
{
    return kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt ||
           kind == CXCursor_CXXForRangeStmt;
}

static void lines_of(const struct lull_kernel_reader *reader, CXCursor cursor, unsigned *ret_first,
                     unsigned *ret_last)
{
    const struct lull_clang *clang = reader->clang;
    CXSourceRange range = clang->getCursorExtent(cursor);
    clang->getFileLocation(clang->getRangeStart(range), NULL, ret_first, NULL, NULL);
    clang->getFileLocation(clang->getRangeEnd(range), NULL, ret_last, NULL, NULL);
    *ret_first -= *ret_first > reader->lines_before ? reader->lines_before : 0;
    *ret_last -= *ret_last > reader->lines_before ? reader->lines_before : 0;
}

static enum CXChildVisitResult find_around(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct around *around = data;
    const struct lull_clang *clang = around->reader->clang;
    const enum CXCursorKind kind = clang->getCursorKind(cursor);
    unsigned first, last;
    if (clang->getCursorKind(parent) == CXCursor_TranslationUnit &&
        !clang->Location_isFromMainFile(clang->getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    lines_of(around->reader, cursor, &first, &last);
    if (around->first < first || around->last > last)
        return CXChildVisit_Continue;
    around->is_template |= kind == CXCursor_FunctionTemplate || kind == CXCursor_ClassTemplate ||
                           kind == CXCursor_ClassTemplatePartialSpecialization;
    if (kind == CXCursor_LambdaExpr) /* the loops around it are executed when it is made */
        around->count = 0;
    if (kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod ||
        kind == CXCursor_Constructor || kind == CXCursor_FunctionTemplate) {
        around->function = cursor;
        around->has_function = true;
        around->count = 0;
    }
    if (is_loop(kind) && around->count < sizeof around->loops / sizeof *around->loops)
        around->loops[around->count++] = cursor;
    return CXChildVisit_Recurse;
}

/* The line of a "#pragma omp parallel for" that stands right before a place in the text; 0: there is
 * none. */
static unsigned find_parallel_for(const struct lull_kernel_reader *reader, size_t place)
{
    const char *text = reader->text;
    for (;;) { /* goes back to the begin of the line before, and those that it continues */
        size_t end = place;
        while (end > 0 && text[end - 1] != '\n')
            end--;
        if (end == 0)
            return 0;
        size_t begin = end - 1;
        while (begin > 0 && (text[begin - 1] != '\n' || (begin > 1 && text[begin - 2] == '\\')))
            begin--;
        const char *line = text + begin;
        line += strspn(line, " \t");
        if (strncmp(line, "#pragma omp parallel for", 24) == 0) {
            unsigned number = 1;
            for (size_t i = 0; i < begin; i++)
                number += text[i] == '\n';
            return number > reader->lines_before ? number - reader->lines_before : 0;
        }
        if (begin == 0 || (*line != '#' && *line != '\n' && strncmp(line, "//", 2) != 0))
            return 0;
        place = begin;
    }
}

/* Looks for what of C++ hides where variables get their values, and how often functions are called. */
static enum CXChildVisitResult find_open_values(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct lull_kernel_reader *reader = data;
    const struct lull_clang *clang = reader->clang;
    if (clang->getCursorKind(parent) == CXCursor_TranslationUnit &&
        !clang->Location_isFromMainFile(clang->getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    switch (clang->getCursorKind(cursor)) {
    case CXCursor_CXXMethod:
    case CXCursor_Constructor:
    case CXCursor_Destructor:
    case CXCursor_ConversionFunction:
    case CXCursor_FunctionTemplate:
    case CXCursor_ClassTemplate:
    case CXCursor_LambdaExpr:
        reader->values_are_open = true;
        break;
    case CXCursor_VarDecl:
    case CXCursor_ParmDecl: {
        const CXType type = clang->getCanonicalType(clang->getCursorType(cursor));
        if (type.kind == CXType_LValueReference || type.kind == CXType_RValueReference) {
            const CXType to = clang->getPointeeType(type);
            reader->values_are_open |=
                lull_reader_is_integer(reader, to) && !clang->isConstQualifiedType(to);
        }
        break;
    }
    default:
        break;
    }
    return reader->values_are_open ? CXChildVisit_Break : CXChildVisit_Recurse;
}

/* ---- all ----------------------------------------------------------------------------------- */

static bool is_symbol(const struct lull_kernel *kernel, const char *name)
{
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].is_size && !kernel->symbols[s].divisor &&
            (kernel->is_fortran ? strcasecmp : strcmp)(kernel->symbols[s].name, name) == 0)
            return true;
    return false;
}

static lull_status check_given_sizes(const struct lull_kernel_reader *reader)
{
    const struct lull_kernel *kernel = reader->kernel;
    const struct lull_kernel_source *source = reader->source;
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].is_size && !kernel->symbols[s].has_value)
            return lull_fail(reader->err, LULL_ERR_FORMAT,
                             "%s: line %u: '%s' has no value: give it with -D %s=VALUE",
                             source->path, kernel->symbols[s].line, kernel->symbols[s].name,
                             kernel->symbols[s].name);
    for (size_t i = 0; i < source->n_sizes; i++)
        if (!reader->as_macro[i] && !is_symbol(kernel, source->sizes[i].name))
            return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: the kernel has no size '%s'",
                             source->path, source->sizes[i].name);
    return LULL_OK;
}

static const char *kernel_name(const struct lull_kernel_source *source, struct lull_arena *arena)
{
    const char *slash = strrchr(source->path, '/'), *name = slash ? slash + 1 : source->path;
    const char *dot = strrchr(name, '.');
    if (source->place)
        return lull_arena_strdup(arena, source->place);
    return lull_arena_strndup(arena, name,
                              dot && dot != name ? (size_t)(dot - name) : strlen(name));
}

static lull_status read_nest(struct lull_kernel_reader *reader, const struct search *search)
{
    struct lull_kernel *kernel = reader->kernel;
    size_t begin, end;
    reader->code_begin = reader->code_end = 0;
    read_declarations(reader, search);
    lull_reader_extent(reader, search->nests[0], &begin, &end);
    /* A nest without braces needs the semicolon behind it. */
    end += end < reader->text_size && reader->text[end] == ';';
    kernel->code = lull_arena_strndup(reader->arena, reader->text + begin, end - begin);
    kernel->code_line = lull_reader_line(reader, search->nests[0]);
    reader->code_begin = begin;
    reader->code_end = end;
    lull_status status = lull_reader_statement(reader, search->nests[0]);
    if (status == LULL_OK)
        status = lull_reader_check_names(reader);
    lull_kernel_divide(kernel);
    for (size_t i = 0; i < reader->source->n_sizes; i++)
        if (reader->as_macro[i])
            kernel->macros =
                lull_arena_printf(reader->arena, "%s#define %s %.0f\n", kernel->macros,
                                  reader->source->sizes[i].name, reader->source->sizes[i].value);
    return status;
}

/* Reads a loop with all that stands in it, for the lines that are wanted. */
static lull_status read_around(struct lull_kernel_reader *reader, const struct around *around,
                               size_t number)
{
    struct lull_kernel *kernel = reader->kernel;
    struct lull_cursors parts = lull_reader_children(reader, around->function);
    struct search search = {.reader = reader,
                            .function_declaration = around->function,
                            .body = parts.items[parts.count - 1],
                            .nests = {around->loops[number]},
                            .count = 1};
    size_t begin, end;
    lull_status status = read_nest(reader, &search);
    if (status != LULL_OK)
        return status;
    kernel->function = lull_reader_spelling(reader, around->function);
    lull_reader_extent(reader, around->loops[number], &begin, &end);
    kernel->omp_line = find_parallel_for(reader, begin);
    if (!reader->values_are_open)
        kernel->executions = lull_reader_executions(reader, around->function, around->loops[number],
                                                    &kernel->whole_function);
    lull_kernel_suppose(kernel, reader->source->suppose_bytes);
    return lull_kernel_check(kernel, reader->err);
}

/* Reads the nest around the lines that are wanted, as far out as it is understood. */
static lull_status parse_around(struct lull_kernel_reader *reader)
{
    const struct lull_kernel begun = *reader->kernel;
    const struct lull_kernel_source *source = reader->source;
    struct around around = {
        .reader = reader, .first = source->first_line, .last = source->last_line};
    struct lull_error why = {""}, *err = reader->err;
    reader->clang->visitChildren(reader->clang->getTranslationUnitCursor(reader->unit), find_around,
                                 &around);
    if (around.is_template)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %u: it is a template, whose types are known where it is used",
                         source->path, source->first_line);
    if (!around.has_function || around.count == 0)
        return lull_fail(
            err, LULL_ERR_FORMAT, "%s: line %u: no loop of this file is around it: it may be %s",
            source->path, source->first_line,
            reader->is_fortran ? "an operation on whole arrays"
                               : "made by a macro or a template, or stand in a header");
    if (reader->is_cpp)
        reader->clang->visitChildren(reader->clang->getTranslationUnitCursor(reader->unit),
                                     find_open_values, reader);
    size_t outermost = around.count - 1; /* of those that are for loops */
    while (outermost > 0 &&
           reader->clang->getCursorKind(around.loops[outermost - 1]) == CXCursor_ForStmt)
        outermost--;
    lull_status status = LULL_ERR_FORMAT;
    for (size_t i = outermost; i < around.count && status != LULL_OK; i++) {
        struct lull_error other = {""};
        *reader->kernel = begun;
        reader->n_names = reader->names_capacity = 0;
        reader->names = NULL;
        reader->loops_capacity = reader->flops_capacity = reader->arrays_capacity = 0;
        reader->accesses_capacity = reader->scalars_capacity = reader->calls_capacity = 0;
        reader->objects_capacity = 0;
        reader->n_parameters = 0;
        reader->loop = LULL_KERNEL_NONE;
        reader->in_bound = reader->met_macro = false;
        reader->err = i + 1 == around.count ? err : &other;
        status = read_around(reader, &around, i);
        if (status == LULL_ERR_FORMAT && reader->met_macro)
            lull_fail(reader->err, status, "%s: line %u: it is made by a macro", source->path,
                      lull_reader_line(reader, around.loops[i]));
        if (status == LULL_OK && i > 0)
            reader->kernel->around =
                i > outermost ? lull_arena_strdup(reader->arena, why.text) : "it is no for loop";
        why = other;
    }
    reader->err = err;
    return status;
}

static lull_status parse_kernel(struct lull_kernel_reader *reader)
{
    struct search search = {0};
    lull_status status = find_nest(reader, &search);
    if (status == LULL_OK)
        status = read_nest(reader, &search);
    return status == LULL_OK ? check_given_sizes(reader) : status;
}

/* Replaces the function in the text by itself as the compiler sees it, without macros. False: it
 * was named by a mark, which would be lost. */
static bool expand_macros(struct lull_kernel_reader *reader)
{
    struct search search = {0};
    size_t begin, end;
    if (find_nest(reader, &search) != LULL_OK || search.line > 0)
        return false;
    lull_reader_extent(reader, search.function_declaration, &begin, &end);
    reader->line_of_text = lull_reader_line(reader, search.nests[0]);
    CXString printed = reader->clang->getCursorPrettyPrinted(search.function_declaration, NULL);
    reader->text = lull_arena_printf(reader->arena, "%.*s%s%s", (int)begin, reader->text,
                                     reader->clang->getCString(printed), reader->text + end);
    reader->text_size = strlen(reader->text);
    reader->clang->disposeString(printed);
    return true;
}

static lull_status parse_text(struct lull_kernel_reader *reader, CXIndex index)
{
    lull_status status = LULL_OK;
    do {
        if (reader->unit)
            reader->clang->disposeTranslationUnit(reader->unit);
        reader->unit = NULL;
        reader->again = false;
        status = parse(reader, index);
    } while (status != LULL_OK && reader->again);
    if (status != LULL_OK)
        return status;
    return reader->source->first_line > 0 ? parse_around(reader) : parse_kernel(reader);
}

static lull_status read_with(struct lull_kernel_reader *reader, CXIndex index)
{
    struct lull_kernel_reader again = *reader;
    struct lull_kernel begun = *reader->kernel;
    lull_status status = parse_text(reader, index);
    if (status == LULL_ERR_FORMAT && reader->met_macro && reader->source->first_line == 0 &&
        expand_macros(reader)) {
        again.text = reader->text;
        again.text_size = reader->text_size;
        again.line_of_text = reader->line_of_text;
        again.unit = NULL;
        reader->clang->disposeTranslationUnit(reader->unit);
        *reader = again;
        *reader->kernel = begun;
        status = parse_text(reader, index);
    }
    if (reader->unit)
        reader->clang->disposeTranslationUnit(reader->unit);
    return status;
}

lull_status lull_kernel_read(const struct lull_kernel_source *source, struct lull_arena *arena,
                             struct lull_kernel **ret_kernel, struct lull_error *err)
{
    struct lull_kernel_reader reader = {
        .source = source, .arena = arena, .err = err, .loop = LULL_KERNEL_NONE};
    lull_status status = lull_clang_load(&reader.clang, err);
    if (status != LULL_OK)
        return status;
    struct lull_kernel *kernel = lull_arena_zero(arena, 1, sizeof *kernel);
    *kernel = (struct lull_kernel){.name = kernel_name(source, arena),
                                   .path = lull_arena_strdup(arena, source->path),
                                   .preamble = "",
                                   .macros = "",
                                   .executions = NAN};
    reader.kernel = kernel;
    reader.as_macro = lull_arena_zero(arena, source->n_sizes + 1, sizeof *reader.as_macro);
    status = read_file(&reader);
    if (status != LULL_OK)
        return status;
    kernel->is_cpp = reader.is_cpp;
    kernel->is_fortran = reader.is_fortran;
    kernel->is_file = is_in_program(source) && !reader.is_fortran;
    reader.text_size = strlen(reader.text);
    CXIndex index = reader.clang->createIndex(0, 0);
    status = read_with(&reader, index);
    reader.clang->disposeIndex(index);
    if (status == LULL_OK)
        status = lull_kernel_check(kernel, err);
    if (status == LULL_OK)
        *ret_kernel = kernel;
    return status;
}

lull_status lull_kernel_find_reader(struct lull_error *err)
{
    const struct lull_clang *clang;
    return lull_clang_load(&clang, err);
}

#else

static lull_status no_libclang(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_UNSUPPORTED,
                     "libclang, which reads C, was not found at build time");
}

lull_status lull_kernel_find_reader(struct lull_error *err)
{
    return no_libclang(err);
}

lull_status lull_kernel_read(const struct lull_kernel_source *source, struct lull_arena *arena,
                             struct lull_kernel **ret_kernel, struct lull_error *err)
{
    (void)source, (void)arena, (void)ret_kernel;
    return no_libclang(err);
}
#endif
