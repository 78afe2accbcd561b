/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/fortran.h"

#include "model/kernel/fortran_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_BYTES = 16 << 20, /* of a file */
    MOST_NAMES = 2048,     /* of a program unit */
    MOST_BLOCKS = 64,      /* one in another; libclang takes 256 brackets */
    MOST_BRACKETS = 40,    /* of an expression, one in another */
    MOST_USES = 8          /* of modules by modules */
};

/* ==== what is declared ======================================================================== */

enum type { TYPE_INTEGER, TYPE_REAL, TYPE_OTHER };

struct dimension {
    struct lull_fortran_tokens lower, upper; /* no lower: 1; no upper: it is not known */
};

struct name {
    const char *text;
    const char *c; /* its name in C */
    enum type type;
    unsigned bytes;
    size_t n_dimensions; /* 0: it is no array */
    struct dimension dimensions[LULL_KERNEL_DIMENSIONS];
    struct lull_fortran_tokens value; /* that it is declared with */
    bool is_dummy, is_parameter, is_read_only /* intent(in) */, is_known;
    bool is_shaped;  /* its dimensions are those of an allocate statement */
    int64_t known;   /* the value of an integer parameter */
    unsigned sets;   /* statements that give it a value, or may */
    const char *why; /* why nothing that uses it is understood; NULL */
    bool is_allocatable;
    bool is_typed;      /* a declaration says its type, and not its first letter */
    size_t unit;        /* that declares it */
    unsigned allocated; /* by so many statements */
    bool
        is_declared_in_c; /* of a variable of a module or a main program that procedures in it share */
};

enum unit_kind { UNIT_BARE, UNIT_PROGRAM, UNIT_MODULE, UNIT_SUBROUTINE, UNIT_FUNCTION };

struct unit {
    enum unit_kind kind;
    const char *name, *c;
    size_t parent; /* SIZE_MAX: none */
    size_t header; /* its first statement */
    struct name **names;
    size_t n_names, names_capacity;
    struct name **used; /* that C has to declare in the function */
    size_t n_used, used_capacity;
    const char **modules; /* that it uses */
    size_t n_modules, modules_capacity;
    const char **dummies;
    size_t n_dummies, dummies_capacity;
    const char *result; /* of a function */
    bool is_closed;     /* its part of statements has ended */
    bool is_explicit;   /* implicit none */
    bool has_letters;   /* another implicit statement, by which letters stand for other types */
    struct name
        letters; /* the type of names that begin with a to h and o to z; `why`: letters stand for something else */
    bool uses_others; /* modules of other files, or files that are included */
    bool is_torn;     /* the preprocessor chooses between its lines */
    bool leaves;      /* it has a goto */
};

struct fortran {
    const struct lull_fortran_source *source;
    struct lull_arena *arena;
    struct lull_error *err;
    struct lull_fortran_statement *statements;
    size_t n_statements;
    struct unit *units;
    size_t n_units, units_capacity;
    unsigned n_lines;
    /* C that is being written. */
    char *out;
    size_t size, capacity;
    const char *shared; /* declarations of what procedures share */
    const char *rest;   /* what closes program units that the text does not close */
    /* The expression that is being read. */
    size_t unit; /* names are looked up there */
    const struct lull_fortran_token *at;
    unsigned brackets;
    const char *why; /* why it is not understood */
    bool looks;      /* only looks for a value: no names are made */
    /* Blocks that are open. */
    struct {
        enum { BLOCK_DO, BLOCK_IF, BLOCK_OTHER } kind;
        unsigned label; /* of the statement that ends a do loop; 0: end do does */
        bool hides;     /* names mean something else in it */
    } blocks[MOST_BLOCKS];
    size_t n_blocks;
    unsigned hiding; /* how many of them hide names */
};

static lull_status fortran_wrong(const struct fortran *f, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static lull_status fortran_wrong(const struct fortran *f, unsigned line, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lull_fail(f->err, LULL_ERR_FORMAT, "%s: line %u: %s", f->source->path, line, text);
}

static bool refuse(struct fortran *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes the first reason; always false. */
static bool refuse(struct fortran *f, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (f->why)
        return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    f->why = lull_arena_strdup(f->arena, text);
    return false;
}

static bool is_sign(const struct lull_fortran_token *token, const char *text)
{
    return token->kind == LULL_TOKEN_SIGN && strcmp(token->text, text) == 0;
}

static bool is_word(const struct lull_fortran_token *token, const char *text)
{
    return token->kind == LULL_TOKEN_NAME && strcmp(token->text, text) == 0;
}

/* The token behind the bracket that closes the one at `open`; NULL: none does before `end`. */
static const struct lull_fortran_token *behind_brackets(const struct lull_fortran_token *open,
                                                        const struct lull_fortran_token *end)
{
    unsigned depth = 0;
    for (const struct lull_fortran_token *at = open; at < end; at++) {
        depth += is_sign(at, "(");
        if (is_sign(at, ")") && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* The first token with a sign that stands outside of brackets; `end`: there is none. */
static const struct lull_fortran_token *find_sign(const struct lull_fortran_token *from,
                                                  const struct lull_fortran_token *end,
                                                  const char *sign)
{
    unsigned depth = 0;
    for (const struct lull_fortran_token *at = from; at < end; at++) {
        if (depth == 0 && is_sign(at, sign))
            return at;
        depth += is_sign(at, "(");
        depth -= depth > 0 && is_sign(at, ")");
    }
    return end;
}

/* ==== names =================================================================================== */

static const char *name_in_c(struct fortran *f, const char *text)
{
    static const char *const taken[] = {
        "auto",     "break",  "case",   "char",     "const",    "continue", "default",  "do",
        "double",   "else",   "enum",   "extern",   "float",    "for",      "goto",     "if",
        "inline",   "int",    "long",   "register", "restrict", "return",   "short",    "signed",
        "sizeof",   "static", "struct", "switch",   "typedef",  "union",    "unsigned", "void",
        "volatile", "while",  "main",   "asm",      "typeof"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(text, taken[i]) == 0)
            return lull_arena_printf(f->arena, "%s_", text);
    return strncmp(text, "lull_", 5) == 0 || text[0] == '_'
               ? lull_arena_printf(f->arena, "f%s", text)
               : text;
}

static struct name *own_name(const struct unit *unit, const char *text)
{
    for (size_t i = 0; i < unit->n_names; i++)
        if (strcmp(unit->names[i]->text, text) == 0)
            return unit->names[i];
    return NULL;
}

/* Gives a name the type that its first letter tells. */
static void take_letters(const struct fortran *f, size_t unit, struct name *name)
{
    const bool is_integer = strchr("ijklmn", *name->text) != NULL;
    if (name->is_typed)
        return;
    name->type = is_integer ? TYPE_INTEGER : TYPE_REAL;
    name->bytes = 4;
    for (size_t u = unit; u != SIZE_MAX; u = f->units[u].parent) {
        const struct unit *of = &f->units[u];
        if (!of->has_letters)
            continue;
        if (of->letters.why)
            name->why = of->letters.why;
        else if (!is_integer) {
            name->type = of->letters.type;
            name->bytes = of->letters.bytes;
        }
        return;
    }
}

static struct name *add_own_name(struct fortran *f, size_t unit, const char *text)
{
    struct unit *of = &f->units[unit];
    struct name *name = own_name(of, text);
    if (name)
        return name;
    if (of->n_names == MOST_NAMES) {
        static struct name too_many;
        too_many = (struct name){.text = text,
                                 .c = "lull_unknown",
                                 .type = TYPE_OTHER,
                                 .why = "it is of a program unit with too many names"};
        return &too_many;
    }
    name = lull_arena_zero(f->arena, 1, sizeof *name);
    *name = (struct name){.text = text, .c = name_in_c(f, text), .bytes = 4, .unit = unit};
    take_letters(f, unit, name);
    of->names = lull_arena_grow(f->arena, of->names, &of->names_capacity, of->n_names + 1,
                                sizeof(struct name *));
    of->names[of->n_names++] = name;
    return name;
}

static struct name *name_of_module(struct fortran *f, const char *module, const char *text,
                                   unsigned depth)
{
    for (size_t u = 0; u < f->n_units && depth < MOST_USES; u++) {
        const struct unit *unit = &f->units[u];
        if (unit->kind != UNIT_MODULE || strcmp(unit->name, module) != 0)
            continue;
        struct name *name = own_name(unit, text);
        for (size_t i = 0; i < unit->n_modules && !name; i++)
            name = name_of_module(f, unit->modules[i], text, depth + 1);
        return name;
    }
    return NULL;
}

/* Finds a name that is declared in a unit, around it, or in a module of the file. *ret_unit is the unit it belongs
 * to, SIZE_MAX that of a module. */
static struct name *find_name(struct fortran *f, size_t unit, const char *text, size_t *ret_unit)
{
    for (size_t u = unit; u != SIZE_MAX; u = f->units[u].parent) {
        const struct unit *of = &f->units[u];
        struct name *name = own_name(of, text);
        *ret_unit = u;
        for (size_t i = 0; i < of->n_modules && !name; i++) {
            name = name_of_module(f, of->modules[i], text, 0);
            *ret_unit = SIZE_MAX;
        }
        if (name)
            return name;
    }
    return NULL;
}

static const struct unit *find_procedure(const struct fortran *f, const char *text)
{
    const struct unit *found = NULL;
    for (size_t u = 0; u < f->n_units; u++)
        if ((f->units[u].kind == UNIT_SUBROUTINE || f->units[u].kind == UNIT_FUNCTION) &&
            strcmp(f->units[u].name, text) == 0) {
            if (found)
                return NULL;
            found = &f->units[u];
        }
    return found;
}

/* ==== writing C =============================================================================== */

static void put_text(struct fortran *f, const char *text)
{
    const size_t length = strlen(text);
    f->out = lull_arena_grow(f->arena, f->out, &f->capacity, f->size + length + 1, 1);
    memcpy(f->out + f->size, text, length + 1);
    f->size += length;
}

static void insert_text(struct fortran *f, size_t at, const char *text)
{
    const size_t length = strlen(text);
    f->out = lull_arena_grow(f->arena, f->out, &f->capacity, f->size + length + 1, 1);
    memmove(f->out + at + length, f->out + at, f->size - at + 1);
    memcpy(f->out + at, text, length);
    f->size += length;
}

/* Takes away what was written from a place on, and returns it. */
static const char *cut_text(struct fortran *f, size_t from)
{
    if (from >= f->size)
        return "";
    const char *text = lull_arena_strndup(f->arena, f->out + from, f->size - from);
    f->size = from;
    f->out[from] = '\0';
    return text;
}

/* ==== expressions ============================================================================= */

/* What was written last. */
struct value {
    enum type type;
    unsigned bytes;
    bool is_known; /* a constant integer */
    int64_t known;
    struct name *variable; /* it is this one, and nothing else; NULL */
};

static bool read_sum(struct fortran *f, struct value *ret_value);

static bool is_given(const struct fortran *f, const char *text)
{
    for (size_t i = 0; i < f->source->n_sizes; i++)
        if (strcasecmp(f->source->sizes[i].name, text) == 0)
            return true;
    return false;
}

/* Notes that C has to declare a variable, and makes one of a name that no declaration has. NULL: it is not known. */
static struct name *use_name(struct fortran *f, const char *text)
{
    size_t owner;
    struct name *name = find_name(f, f->unit, text, &owner);
    struct unit *unit = &f->units[f->unit];
    if (!name) {
        const bool is_said = is_given(f, text);
        bool is_open = true;
        for (size_t u = f->unit; u != SIZE_MAX; u = f->units[u].parent)
            is_open &= !f->units[u].is_explicit && !f->units[u].uses_others;
        if (f->looks || (!is_open && !is_said)) {
            refuse(f, "'%s' is not declared in this file", text);
            return NULL;
        }
        name = add_own_name(f, f->unit, text);
        if (is_said) {
            name->type = TYPE_INTEGER;
            name->is_typed = true;
            name->why = NULL;
        }
        owner = f->unit;
    }
    if (name->why) {
        refuse(f, "%s", name->why);
        return NULL;
    }
    if (name->is_known)
        return name;
    const bool is_shared =
        owner != f->unit && name->type == TYPE_INTEGER && name->n_dimensions == 0;
    if (is_shared && !name->is_declared_in_c) {
        /* What one procedure sets, another one reads. Other files may set variables of modules. */
        const bool is_program = owner != SIZE_MAX && f->units[owner].kind == UNIT_PROGRAM;
        name->is_declared_in_c = true;
        struct value value;
        const struct lull_fortran_token *at = f->at;
        const size_t begin = f->size;
        const char *initial = "";
        f->at = name->value.from;
        if (f->at && f->brackets < MOST_BRACKETS && read_sum(f, &value) && value.is_known)
            initial = lull_arena_printf(f->arena, " = %lld", (long long)value.known);
        cut_text(f, begin);
        f->at = at;
        f->shared = lull_arena_printf(f->arena, "%s%slong %s%s; ", f->shared,
                                      is_program ? "static " : "", name->c, initial);
    }
    for (size_t i = 0; i < unit->n_used; i++)
        if (unit->used[i] == name)
            return name;
    if (!name->is_declared_in_c) {
        unit->used = lull_arena_grow(f->arena, unit->used, &unit->used_capacity, unit->n_used + 1,
                                     sizeof(struct name *));
        unit->used[unit->n_used++] = name;
    }
    return name;
}

/* ---- literals -------------------------------------------------------------------------------- */

static void put_known(struct fortran *f, int64_t known, struct value *ret_value)
{
    char text[32];
    snprintf(text, sizeof text, known < 0 ? "(%lld)" : "%lld", (long long)known);
    put_text(f, text);
    *ret_value = (struct value){.type = TYPE_INTEGER, .bytes = 4, .is_known = true, .known = known};
}

/* The constant that a name is in the modules of the language, and what -D says. */
static bool known_constant(const struct fortran *f, const char *text, int64_t *ret_known)
{
    static const struct {
        const char *name;
        int64_t known;
    } constants[] = {{"real32", 4},  {"real64", 8},   {"int8", 1},    {"int16", 2},
                     {"int32", 4},   {"int64", 8},    {"c_int", 4},   {"c_long", 8},
                     {"c_float", 4}, {"c_double", 8}, {"c_size_t", 8}};
    for (size_t i = 0; i < f->source->n_sizes && f->looks; i++)
        if (strcasecmp(f->source->sizes[i].name, text) == 0) {
            *ret_known = (int64_t)f->source->sizes[i].value;
            return true;
        }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(constants[i].name, text) == 0) {
            *ret_known = constants[i].known;
            return true;
        }
    return false;
}

/* The kind of a literal: 1.0_dp, 5_8. */
static bool kind_of_literal(struct fortran *f, const char *kind, int64_t *ret_known)
{
    size_t owner;
    char *end;
    *ret_known = strtoll(kind, &end, 10);
    if (*kind && !*end)
        return *ret_known == 1 || *ret_known == 2 || *ret_known == 4 || *ret_known == 8;
    const struct name *name = find_name(f, f->unit, kind, &owner);
    if (name && name->is_known)
        *ret_known = name->known;
    else if (name || !known_constant(f, kind, ret_known))
        return refuse(f, "the kind '%s' is not known here", kind);
    return *ret_known > 0 && *ret_known <= 8;
}

static bool read_number(struct fortran *f, struct value *ret_value)
{
    const struct lull_fortran_token *token = f->at++;
    const char *kind = strchr(token->text, '_');
    char digits[64];
    int64_t bytes = 4;
    const size_t length = kind ? (size_t)(kind - token->text) : strlen(token->text);
    if (length >= sizeof digits)
        return refuse(f, "a number is too long");
    memcpy(digits, token->text, length);
    digits[length] = '\0';
    if (kind && !kind_of_literal(f, kind + 1, &bytes))
        return refuse(f, "a number's kind is not known");
    if (token->kind == LULL_TOKEN_INTEGER) {
        if (length > 15)
            return refuse(f, "a number is too large");
        put_known(f, strtoll(digits, NULL, 10), ret_value);
        return true;
    }
    char *exponent = strchr(digits, 'd');
    if (exponent) {
        *exponent = 'e';
        bytes = 8;
    }
    put_text(f, digits);
    put_text(f, bytes == 8 ? "" : "f");
    *ret_value = (struct value){.type = TYPE_REAL, .bytes = (unsigned)bytes};
    return true;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Reads a list of tokens as a whole number or polynomial of sizes. */
static bool read_whole(struct fortran *f, struct lull_fortran_tokens tokens,
                       struct value *ret_value)
{
    const struct lull_fortran_token *at = f->at;
    f->at = tokens.from;
    const bool good =
        read_sum(f, ret_value) && f->at == tokens.to && ret_value->type == TYPE_INTEGER;
    f->at = at;
    return good || refuse(f, "a bound of an array is not understood");
}

/* Writes " - lower" behind an index, or " + 1 - lower" behind an upper bound. */
static bool put_distance(struct fortran *f, const struct dimension *dimension, int64_t more)
{
    struct value lower = {.is_known = true, .known = 1};
    const size_t begin = f->size;
    if (dimension->lower.from) {
        put_text(f, " - (");
        if (!read_whole(f, dimension->lower, &lower))
            return false;
        put_text(f, ")");
    }
    if (!lower.is_known) {
        if (more != 0)
            put_text(f, " + 1");
        return true;
    }
    cut_text(f, begin);
    char text[32];
    const int64_t distance = more - lower.known;
    snprintf(text, sizeof text, " %c %lld", distance < 0 ? '-' : '+',
             (long long)(distance < 0 ? -distance : distance));
    put_text(f, distance == 0 ? "" : text);
    return true;
}

static const char *name_of_size(struct fortran *f, const struct name *array, size_t dimension)
{
    return lull_arena_printf(f->arena, "%s_size%zu", array->c, dimension + 1);
}

/* Writes how many elements a dimension has. */
static bool put_size(struct fortran *f, const struct name *array, size_t dimension)
{
    const struct dimension *of = &array->dimensions[dimension];
    struct value upper, lower = {.is_known = true, .known = 1};
    const size_t begin = f->size;
    if (++f->brackets > MOST_BRACKETS) /* a(size(a)) */
        return refuse(f, "the shape of '%s'", array->text);
    if (!of->upper.from) {
        if (f->looks)
            return refuse(f, "the shape of '%s'", array->text);
        struct name *size = add_own_name(f, f->unit, name_of_size(f, array, dimension));
        size->type = TYPE_INTEGER;
        size->is_typed = true;
        size->why = NULL;
        if (!use_name(f, size->text))
            return false;
        put_text(f, size->c);
        f->brackets--;
        return true;
    }
    if (!read_whole(f, of->upper, &upper))
        return false;
    if (!put_distance(f, of, 1))
        return false;
    if (upper.is_known && of->lower.from) {
        const size_t behind = f->size;
        const bool good = read_whole(f, of->lower, &lower);
        cut_text(f, behind);
        if (!good)
            return false;
    }
    if (upper.is_known && lower.is_known) {
        cut_text(f, begin);
        put_known(f, upper.known - lower.known + 1, &upper);
    }
    f->brackets--;
    return true;
}

static bool read_element(struct fortran *f, struct name *array, struct value *ret_value)
{
    const char *indices[LULL_KERNEL_DIMENSIONS];
    size_t count = 0;
    if (++f->brackets > MOST_BRACKETS)
        return refuse(f, "brackets are too deep");
    f->at++; /* the bracket */
    for (;;) {
        const size_t begin = f->size;
        struct value index;
        if (is_sign(f->at, ":"))
            return refuse(f, "a section of '%s'", array->text);
        if (count == array->n_dimensions || !read_sum(f, &index))
            return refuse(f, "the indices of '%s' are not understood", array->text);
        if (is_sign(f->at, ":"))
            return refuse(f, "a section of '%s'", array->text);
        if (index.type != TYPE_INTEGER)
            return refuse(f, "an index of '%s' is no integer", array->text);
        if (index.variable && index.variable->n_dimensions > 0)
            return refuse(f, "an operation on whole arrays");
        if (!put_distance(f, &array->dimensions[count], 0))
            return false;
        indices[count++] = cut_text(f, begin);
        if (is_sign(f->at, ","))
            f->at++;
        else
            break;
    }
    if (!is_sign(f->at, ")") || count != array->n_dimensions)
        return refuse(f, "the indices of '%s' are not understood", array->text);
    f->at++;
    f->brackets--;
    put_text(f, array->c);
    while (count > 0) {
        put_text(f, "[");
        put_text(f, indices[--count]);
        put_text(f, "]");
    }
    *ret_value = (struct value){.type = array->type, .bytes = array->bytes};
    return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

struct intrinsic {
    const char *name;
    const char *c; /* of doubles; of floats with f behind it */
    size_t n_arguments;
};

static const struct intrinsic intrinsics[] = {
    {"abs", "fabs", 1},      {"dabs", "fabs", 1},      {"sqrt", "sqrt", 1},
    {"dsqrt", "sqrt", 1},    {"exp", "exp", 1},        {"dexp", "exp", 1},
    {"log", "log", 1},       {"dlog", "log", 1},       {"log10", "log10", 1},
    {"sin", "sin", 1},       {"dsin", "sin", 1},       {"cos", "cos", 1},
    {"dcos", "cos", 1},      {"tan", "tan", 1},        {"asin", "asin", 1},
    {"acos", "acos", 1},     {"atan", "atan", 1},      {"sinh", "sinh", 1},
    {"cosh", "cosh", 1},     {"tanh", "tanh", 1},      {"atan2", "atan2", 2},
    {"sign", "copysign", 2}, {"dsign", "copysign", 2}, {"hypot", "hypot", 2},
    {"erf", "erf", 1},       {"gamma", "tgamma", 1},   {"max", "lull_max", 2},
    {"min", "lull_min", 2},  {"dmax1", "lull_max", 2}, {"dmin1", "lull_min", 2}};

/* Functions of whole arrays, of which nobody knows here how they are compiled. */
static const char *const whole[] = {
    "sum",    "product",   "dot_product", "matmul", "maxval", "minval", "cshift", "reshape",
    "spread", "transpose", "count",       "any",    "all",    "merge",  "pack",   "eoshift"};

/* Reads arguments up to the bracket that closes, and writes them with commas between them. */
static bool read_arguments(struct fortran *f, size_t *ret_count, struct value *ret_widest)
{
    *ret_count = 0;
    *ret_widest = (struct value){.type = TYPE_INTEGER, .bytes = 4};
    if (++f->brackets > MOST_BRACKETS)
        return refuse(f, "brackets are too deep");
    f->at++; /* the bracket */
    while (!is_sign(f->at, ")")) {
        struct value value;
        if (*ret_count > 0)
            put_text(f, ", ");
        if (f->at->kind == LULL_TOKEN_NAME && is_sign(f->at + 1, "="))
            return refuse(f, "arguments by name");
        if (!read_sum(f, &value))
            return false;
        if (value.variable && value.variable->n_dimensions > 0)
            return refuse(f, "an operation on whole arrays");
        if (value.type == TYPE_REAL) {
            ret_widest->bytes = ret_widest->type == TYPE_REAL && ret_widest->bytes > value.bytes
                                    ? ret_widest->bytes
                                    : value.bytes;
            ret_widest->type = TYPE_REAL;
        }
        ++*ret_count;
        if (is_sign(f->at, ","))
            f->at++;
        else if (!is_sign(f->at, ")"))
            return refuse(f, "the arguments of a function are not understood");
    }
    f->at++;
    f->brackets--;
    return true;
}

/* real(x), real(x, 8), dble(x), int(x) */
static bool read_conversion(struct fortran *f, const char *function, struct value *ret_value)
{
    const size_t begin = f->size;
    int64_t bytes = strcmp(function, "dble") == 0 ? 8 : 4;
    struct value inside;
    if (++f->brackets > MOST_BRACKETS)
        return refuse(f, "brackets are too deep");
    f->at++;
    if (!read_sum(f, &inside))
        return false;
    if (is_sign(f->at, ",")) {
        struct value kind;
        const size_t behind = f->size;
        f->at += is_word(f->at + 1, "kind") && is_sign(f->at + 2, "=") ? 3 : 1;
        if (!read_sum(f, &kind) || !kind.is_known)
            return refuse(f, "a kind is not known");
        bytes = kind.known;
        cut_text(f, behind);
    }
    if (!is_sign(f->at, ")") || (inside.variable && inside.variable->n_dimensions > 0))
        return refuse(f, "a conversion is not understood");
    f->at++;
    f->brackets--;
    const bool to_integer = *function == 'i' || *function == 'n';
    if (to_integer && inside.type == TYPE_INTEGER)
        bytes = 8;
    insert_text(f, begin, to_integer ? "((long)(" : bytes == 8 ? "((double)(" : "((float)(");
    put_text(f, "))");
    *ret_value =
        (struct value){.type = to_integer ? TYPE_INTEGER : TYPE_REAL, .bytes = (unsigned)bytes};
    return true;
}

/* size(a, 1) */
static bool read_size(struct fortran *f, struct value *ret_value)
{
    const struct lull_fortran_token *array = f->at + 1;
    char *end = NULL;
    long dimension = 1;
    size_t behind = 2;
    if (is_sign(f->at + 2, ",") && (f->at + 3)->kind == LULL_TOKEN_INTEGER) {
        dimension = strtol((f->at + 3)->text, &end, 10);
        behind = 4;
    }
    struct name *name = array->kind == LULL_TOKEN_NAME ? use_name(f, array->text) : NULL;
    if (!name || !is_sign(f->at + behind, ")") || dimension < 1 ||
        (size_t)dimension > name->n_dimensions || (behind == 2 && name->n_dimensions != 1))
        return refuse(f, "a size is not understood");
    f->at += behind + 1;
    put_text(f, "(");
    if (!put_size(f, name, (size_t)dimension - 1))
        return false;
    put_text(f, ")");
    *ret_value = (struct value){.type = TYPE_INTEGER, .bytes = 4};
    return true;
}

/* kind(1.0d0), selected_real_kind(15, 307) */
static bool read_kind_function(struct fortran *f, const char *function, struct value *ret_value)
{
    const size_t begin = f->size;
    struct value value;
    f->at++;
    if (f->at->kind == LULL_TOKEN_NAME && is_sign(f->at + 1, "=")) /* p=15 */
        f->at += 2;
    if (!read_sum(f, &value))
        return false;
    cut_text(f, begin);
    while (f->at->kind != LULL_TOKEN_END && !is_sign(f->at, ")"))
        f->at++;
    if (f->at->kind == LULL_TOKEN_END)
        return refuse(f, "a kind is not understood");
    f->at++;
    if (strcmp(function, "kind") == 0)
        put_known(f, value.bytes, ret_value);
    else if (!value.is_known)
        return refuse(f, "a kind is not known");
    else if (strcmp(function, "selected_real_kind") == 0)
        put_known(f, value.known <= 6 ? 4 : value.known <= 15 ? 8 : 16, ret_value);
    else
        put_known(f, value.known <= 9 ? 4 : 8, ret_value);
    return true;
}

static bool read_intrinsic(struct fortran *f, const struct intrinsic *intrinsic,
                           struct value *ret_value)
{
    const size_t begin = f->size;
    size_t count;
    if (!read_arguments(f, &count, ret_value))
        return false;
    const bool is_choice = strncmp(intrinsic->c, "lull_", 5) == 0;
    if (count != intrinsic->n_arguments || ret_value->type != TYPE_REAL)
        return refuse(f, "'%s' of %s is not understood", intrinsic->name,
                      is_choice && count > 2 ? "more than two numbers" : "integers");
    insert_text(
        f, begin,
        lull_arena_printf(f->arena, "%s%s(", intrinsic->c, ret_value->bytes == 4 ? "f" : ""));
    put_text(f, ")");
    return true;
}

static bool read_function(struct fortran *f, const char *function, const struct name *declared,
                          struct value *ret_value)
{
    const size_t begin = f->size;
    size_t count;
    if (!declared) {
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
            if (strcmp(function, whole[i]) == 0)
                return refuse(f, "an operation on whole arrays");
        for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++)
            if (strcmp(function, intrinsics[i].name) == 0)
                return read_intrinsic(f, &intrinsics[i], ret_value);
        if (strcmp(function, "real") == 0 || strcmp(function, "dble") == 0 ||
            strcmp(function, "int") == 0 || strcmp(function, "float") == 0)
            return read_conversion(f, function, ret_value);
        if (strcmp(function, "size") == 0)
            return read_size(f, ret_value);
        if (strcmp(function, "kind") == 0 || strcmp(function, "selected_real_kind") == 0 ||
            strcmp(function, "selected_int_kind") == 0)
            return read_kind_function(f, function, ret_value);
    }
    const struct unit *unit = find_procedure(f, function);
    if (!declared && !unit)
        return refuse(f, "'%s' is no array or function of this file", function);
    if (!read_arguments(f, &count, ret_value))
        return false;
    if (declared) {
        ret_value->type = declared->type;
        ret_value->bytes = declared->bytes;
    }
    if (unit && count != unit->n_dummies)
        return refuse(f, "the arguments of '%s' are not understood", function);
    insert_text(f, begin, lull_arena_printf(f->arena, "%s(", unit ? unit->c : declared->c));
    put_text(f, ")");
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* What is known stays far from where numbers of 64 bits overflow, so that it may be negated and divided. */
static bool is_small(int64_t known)
{
    return known <= 1000000000000000 && known >= -1000000000000000;
}

static bool read_primary(struct fortran *f, struct value *ret_value)
{
    const struct lull_fortran_token *token = f->at;
    if (token->kind == LULL_TOKEN_INTEGER || token->kind == LULL_TOKEN_REAL)
        return read_number(f, ret_value);
    if (is_sign(token, "(")) {
        if (++f->brackets > MOST_BRACKETS)
            return refuse(f, "brackets are too deep");
        f->at++;
        put_text(f, "(");
        if (!read_sum(f, ret_value))
            return false;
        if (!is_sign(f->at, ")"))
            return refuse(f, is_sign(f->at, ",") ? "a complex number"
                                                 : "an expression is not understood");
        f->at++;
        f->brackets--;
        put_text(f, ")");
        if (ret_value->variable && ret_value->variable->n_dimensions == 0)
            ret_value->variable = NULL;
        return true;
    }
    if (token->kind != LULL_TOKEN_NAME)
        return refuse(f, "an expression is not understood");
    f->at++;
    const bool is_call = is_sign(f->at, "(");
    size_t owner;
    struct name *name = find_name(f, f->unit, token->text, &owner);
    int64_t known;
    if (is_call && (!name || (name->n_dimensions == 0 && !name->is_known)) && !(name && name->why))
        return read_function(f, token->text, name, ret_value);
    if (!name && known_constant(f, token->text, &known) &&
        (f->looks || !is_given(f, token->text))) {
        put_known(f, known, ret_value);
        return is_small(known) || refuse(f, "a number is too large");
    }
    name = use_name(f, token->text);
    if (!name)
        return false;
    if (is_sign(f->at, "%"))
        return refuse(f, "a component of '%s'", name->text);
    if (name->is_known && !is_call) {
        put_known(f, name->known, ret_value);
        return true;
    }
    if (is_call)
        return name->n_dimensions > 0 ? read_element(f, name, ret_value)
                                      : refuse(f, "'%s' is no array", name->text);
    put_text(f, name->c);
    *ret_value = (struct value){.type = name->type, .bytes = name->bytes, .variable = name};
    return true;
}

static bool raise_known(int64_t base, int64_t exponent, int64_t *ret_power)
{
    int64_t power = 1;
    if (exponent < 0 || exponent > 62)
        return false;
    for (int64_t i = 0; i < exponent; i++)
        if (__builtin_mul_overflow(power, base, &power) || !is_small(power))
            return false;
    *ret_power = power;
    return true;
}

static bool read_power(struct fortran *f, struct value *ret_value)
{
    const size_t begin = f->size;
    if (!read_primary(f, ret_value))
        return false;
    if (!is_sign(f->at, "**"))
        return true;
    f->at++;
    const size_t behind = f->size;
    const struct value base = *ret_value;
    struct value exponent;
    int64_t known;
    const bool is_negative = is_sign(f->at, "-");
    if (++f->brackets > MOST_BRACKETS) /* a ** b ** c is a ** (b ** c) */
        return refuse(f, "powers are too deep");
    f->at += is_negative;
    if (!read_power(f, &exponent))
        return false;
    f->brackets--;
    const char *written = cut_text(f, behind);
    if (base.is_known && exponent.is_known && !is_negative &&
        raise_known(base.known, exponent.known, &known)) {
        cut_text(f, begin);
        put_known(f, known, ret_value);
        return true;
    }
    if (base.type != TYPE_REAL)
        return refuse(f, "a power of an integer");
    const char *suffix = base.bytes == 4 ? "f" : "";
    if (exponent.is_known && !is_negative && exponent.known >= 2 && exponent.known <= 4) {
        insert_text(
            f, begin,
            lull_arena_printf(f->arena, "lull_power%lld%s(", (long long)exponent.known, suffix));
        put_text(f, ")");
    } else {
        insert_text(f, begin, lull_arena_printf(f->arena, "pow%s(", suffix));
        put_text(f, is_negative ? ", -(" : ", (");
        put_text(f, written);
        put_text(f, "))");
    }
    *ret_value = (struct value){.type = TYPE_REAL, .bytes = base.bytes};
    return true;
}

static bool no_whole_array(struct fortran *f, const struct value *value)
{
    return (value->variable && value->variable->n_dimensions > 0)
               ? refuse(f, "an operation on whole arrays")
               : true;
}

/* What two operands make, of which the second has just been written. */
static bool combine(struct fortran *f, const struct value *a, const struct value *b, char op,
                    size_t begin, struct value *ret_value)
{
    int64_t known = 0;
    if (!no_whole_array(f, a) || !no_whole_array(f, b))
        return false;
    *ret_value = (struct value){
        .type = a->type == TYPE_REAL || b->type == TYPE_REAL ? TYPE_REAL : TYPE_INTEGER};
    const unsigned first = a->type == ret_value->type ? a->bytes : 0;
    const unsigned second = b->type == ret_value->type ? b->bytes : 0;
    ret_value->bytes = first > second ? first : second;
    if (a->type == TYPE_OTHER || b->type == TYPE_OTHER)
        return refuse(f, "an expression of something else than numbers");
    if (!a->is_known || !b->is_known || (op == '/' && b->known == 0))
        return true;
    const bool overflows = op == '+'   ? __builtin_add_overflow(a->known, b->known, &known)
                           : op == '-' ? __builtin_sub_overflow(a->known, b->known, &known)
                           : op == '*' ? __builtin_mul_overflow(a->known, b->known, &known)
                                       : (known = a->known / b->known, false);
    if (overflows || !is_small(known))
        return refuse(f, "a number is too large");
    cut_text(f, begin);
    put_known(f, known, ret_value);
    return true;
}

static bool read_product(struct fortran *f, struct value *ret_value)
{
    const size_t begin = f->size;
    if (!read_power(f, ret_value))
        return false;
    while (is_sign(f->at, "*") || is_sign(f->at, "/")) {
        const struct value a = *ret_value;
        struct value b;
        const char op = *f->at++->text;
        put_text(f, op == '*' ? " * " : " / ");
        if (!read_power(f, &b) || !combine(f, &a, &b, op, begin, ret_value))
            return false;
    }
    return true;
}

static bool read_sum(struct fortran *f, struct value *ret_value)
{
    const size_t begin = f->size;
    const bool is_negative = is_sign(f->at, "-");
    f->at += is_negative || is_sign(f->at, "+");
    put_text(f, is_negative ? "-" : "");
    const size_t inside = f->size;
    if (!read_product(f, ret_value))
        return false;
    if (is_negative) {
        if (!no_whole_array(f, ret_value))
            return false;
        ret_value->variable = NULL;
        if (ret_value->is_known) {
            const int64_t known = -ret_value->known;
            cut_text(f, begin);
            put_known(f, known, ret_value);
        } else if (f->out[inside] == '-') {
            insert_text(f, inside, " ");
        }
    }
    while (is_sign(f->at, "+") || is_sign(f->at, "-")) {
        const struct value a = *ret_value;
        struct value b;
        const char op = *f->at++->text;
        put_text(f, op == '+' ? " + " : " - ");
        if (!read_product(f, &b) || !combine(f, &a, &b, op, begin, ret_value))
            return false;
    }
    return true;
}

/* Reads a whole expression as an integer that is known without running anything. */
static bool read_known(struct fortran *f, size_t unit, struct lull_fortran_tokens tokens,
                       int64_t *ret_known)
{
    struct value value = {0};
    if (tokens.from && tokens.from + 1 == tokens.to && tokens.from->kind == LULL_TOKEN_INTEGER &&
        strspn(tokens.from->text, "0123456789") == strlen(tokens.from->text) &&
        strlen(tokens.from->text) < 16) {
        *ret_known = strtoll(tokens.from->text, NULL, 10);
        return true;
    }
    if (unit >= f->n_units)
        return false;
    const size_t begin = f->size, was = f->unit;
    const struct lull_fortran_token *at = f->at;
    f->unit = unit;
    f->at = tokens.from;
    f->brackets = 0;
    f->why = NULL;
    f->looks = true;
    const size_t n_used = f->units[unit].n_used;
    const bool good = tokens.from && read_sum(f, &value) && f->at == tokens.to && value.is_known;
    f->units[unit].n_used = n_used;
    f->looks = false;
    cut_text(f, begin);
    f->unit = was;
    f->at = at;
    f->why = NULL;
    *ret_known = value.known;
    return good;
}

/* ==== declarations ============================================================================ */

/* Reads the type that a declaration begins with. Returns what stands behind it; NULL: it is no type. */
static const struct lull_fortran_token *read_type(struct fortran *f, size_t unit,
                                                  const struct lull_fortran_token *at,
                                                  const struct lull_fortran_token *end,
                                                  struct name *type)
{
    static const struct {
        const char *word;
        enum type type;
        unsigned bytes;
        const char *why;
    } types[] = {{"integer", TYPE_INTEGER, 4, NULL},
                 {"real", TYPE_REAL, 4, NULL},
                 {"doubleprecision", TYPE_REAL, 8, NULL},
                 {"double", TYPE_REAL, 8, NULL},
                 {"logical", TYPE_OTHER, 4, "a logical variable"},
                 {"complex", TYPE_OTHER, 8, "complex numbers"},
                 {"character", TYPE_OTHER, 1, "characters"},
                 {"type", TYPE_OTHER, 0, "a derived type"},
                 {"class", TYPE_OTHER, 0, "a derived type"}};
    size_t i = 0;
    while (i < sizeof types / sizeof *types && !is_word(at, types[i].word))
        i++;
    if (i == sizeof types / sizeof *types)
        return NULL;
    *type = (struct name){.type = types[i].type, .bytes = types[i].bytes, .why = types[i].why};
    at++;
    if (strncmp(types[i].word, "double", 6) == 0) {
        const bool is_one_word = types[i].word[6];
        if (!is_one_word && !is_word(at, "precision"))
            return NULL;
        return at + !is_one_word;
    }
    if (types[i].why && types[i].bytes == 0 && !is_sign(at, "("))
        return NULL;
    const struct lull_fortran_token *behind = at;
    struct lull_fortran_tokens kind = {NULL, NULL};
    if (is_sign(at, "(")) {
        behind = behind_brackets(at, end);
        if (!behind)
            return NULL;
        const bool by_name = is_word(at + 1, "kind") && is_sign(at + 2, "=");
        kind = (struct lull_fortran_tokens){at + (by_name ? 3 : 1), behind - 1};
    } else if (is_sign(at, "*") && (at + 1)->kind == LULL_TOKEN_INTEGER) {
        kind = (struct lull_fortran_tokens){at + 1, at + 2};
        behind = at + 2;
    }
    int64_t bytes;
    if (!kind.from || type->type == TYPE_OTHER)
        return behind;
    if (!read_known(f, unit, kind, &bytes))
        type->why = "its kind is not known in this file: say it with -D";
    else if (bytes != 4 && bytes != 8 && (type->type == TYPE_REAL || (bytes != 1 && bytes != 2)))
        type->why = "numbers of another size than 4 and 8 bytes";
    type->bytes = (unsigned)bytes;
    return behind;
}

/* Reads the dimensions between brackets. False: they are too many. */
static bool read_dimensions(const struct lull_fortran_token *open,
                            const struct lull_fortran_token *behind, struct name *name)
{
    name->n_dimensions = 0;
    for (const struct lull_fortran_token *at = open + 1; at < behind;) {
        const struct lull_fortran_token *end = find_sign(at, behind - 1, ",");
        const struct lull_fortran_token *colon = find_sign(at, end, ":");
        if (name->n_dimensions == LULL_KERNEL_DIMENSIONS)
            return false;
        struct dimension *dimension = &name->dimensions[name->n_dimensions++];
        *dimension = (struct dimension){{NULL, NULL}, {NULL, NULL}};
        if (colon < end && colon > at)
            dimension->lower = (struct lull_fortran_tokens){at, colon};
        const struct lull_fortran_token *upper = colon < end ? colon + 1 : at;
        if (upper < end && !is_sign(upper, "*"))
            dimension->upper = (struct lull_fortran_tokens){upper, end};
        at = end + 1;
    }
    return name->n_dimensions > 0;
}

struct attributes {
    bool parameter, allocatable, pointer, read_only, procedure;
    struct name shape; /* of dimension(...) */
};

static const struct lull_fortran_token *read_attributes(const struct lull_fortran_token *at,
                                                        const struct lull_fortran_token *end,
                                                        struct attributes *attributes)
{
    while (at < end && is_sign(at, ",")) {
        const struct lull_fortran_token *word = ++at;
        const struct lull_fortran_token *behind = at + 1;
        if (behind < end && is_sign(behind, "("))
            behind = behind_brackets(behind, end);
        if (!behind)
            return NULL;
        attributes->parameter |= is_word(word, "parameter");
        attributes->allocatable |= is_word(word, "allocatable");
        attributes->pointer |= is_word(word, "pointer");
        attributes->procedure |= is_word(word, "external") || is_word(word, "intrinsic");
        attributes->read_only |= is_word(word, "intent") && is_word(word + 2, "in");
        if (is_word(word, "dimension") && is_sign(word + 1, "(") &&
            !read_dimensions(word + 1, behind, &attributes->shape))
            attributes->shape.why = "too many dimensions";
        at = behind;
    }
    return at;
}

static bool is_own_dummy(const struct unit *unit, const char *text)
{
    for (size_t i = 0; i < unit->n_dummies; i++)
        if (strcmp(unit->dummies[i], text) == 0)
            return true;
    return false;
}

/* Reads names with their shapes and values: a(n), b = 3, c(0:n) */
static void read_entities(struct fortran *f, size_t unit, const struct lull_fortran_token *at,
                          const struct lull_fortran_token *end, const struct name *type,
                          const struct attributes *attributes)
{
    while (at < end) {
        const struct lull_fortran_token *next = find_sign(at, end, ",");
        if (at->kind != LULL_TOKEN_NAME)
            return;
        struct name *name = add_own_name(f, unit, at->text);
        if (type) {
            name->is_typed = true;
            name->type = type->type;
            name->bytes = type->bytes;
            if (name->why && name->why == f->units[unit].letters.why)
                name->why = NULL;
            name->why = type->why ? lull_arena_printf(f->arena, "'%s': %s", name->text, type->why)
                                  : name->why;
        }
        const struct lull_fortran_token *shape = at + 1;
        const struct lull_fortran_token *behind = shape;
        if (shape < next && is_sign(shape, "(")) {
            behind = behind_brackets(shape, next);
            if (!behind || !read_dimensions(shape, behind, name))
                name->why = lull_arena_printf(f->arena, "'%s': its shape", name->text);
            behind = behind ? behind : next;
        } else if (attributes->shape.n_dimensions > 0) {
            name->n_dimensions = attributes->shape.n_dimensions;
            memcpy(name->dimensions, attributes->shape.dimensions, sizeof name->dimensions);
        }
        if (attributes->shape.why)
            name->why = lull_arena_printf(f->arena, "'%s': %s", name->text, attributes->shape.why);
        if (attributes->pointer)
            name->why = lull_arena_printf(f->arena, "'%s' is a pointer, which may point anywhere",
                                          name->text);
        name->is_allocatable |= attributes->allocatable;
        name->is_parameter |= attributes->parameter;
        name->is_read_only |= attributes->read_only;
        name->is_dummy |= is_own_dummy(&f->units[unit], name->text);
        const struct lull_fortran_token *equals = find_sign(behind, next, "=");
        if (equals < next)
            name->value = (struct lull_fortran_tokens){equals + 1, next};
        if (name->is_parameter && name->type == TYPE_INTEGER && name->n_dimensions == 0)
            name->is_known = read_known(f, unit, name->value, &name->known);
        at = next + 1;
    }
}

static void read_use(struct fortran *f, size_t unit, const struct lull_fortran_token *at,
                     const struct lull_fortran_token *end)
{
    static const char *const known[] = {"iso_fortran_env", "iso_c_binding"};
    struct unit *of = &f->units[unit];
    const struct lull_fortran_token *colons = find_sign(at, end, "::");
    const struct lull_fortran_token *module = colons < end ? colons + 1 : at + 1;
    bool is_known = false;
    if (module >= end || module->kind != LULL_TOKEN_NAME)
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        is_known |= is_word(module, known[i]);
    for (size_t u = 0; u < f->n_units; u++)
        is_known |= f->units[u].kind == UNIT_MODULE && strcmp(f->units[u].name, module->text) == 0;
    of->uses_others |= !is_known;
    of->modules = lull_arena_grow(f->arena, of->modules, &of->modules_capacity, of->n_modules + 1,
                                  sizeof(const char *));
    of->modules[of->n_modules++] = module->text;
    for (at = module + 1; at + 2 < end; at++) /* dp => real64 */
        if (is_sign(at + 1, "=>") && at->kind == LULL_TOKEN_NAME &&
            (at + 2)->kind == LULL_TOKEN_NAME) {
            struct name *name = add_own_name(f, unit, at->text);
            name->type = TYPE_INTEGER;
            name->is_typed = true;
            name->is_known =
                read_known(f, unit, (struct lull_fortran_tokens){at + 2, at + 3}, &name->known);
            if (!name->is_known)
                name->why = lull_arena_printf(f->arena, "'%s' is another name of '%s'", at->text,
                                              (at + 2)->text);
        }
}

/* parameter (n = 10, m = 2 * n) */
static void read_parameters(struct fortran *f, size_t unit, const struct lull_fortran_token *at,
                            const struct lull_fortran_token *end)
{
    const struct attributes parameter = {.parameter = true};
    const struct lull_fortran_token *behind = behind_brackets(at + 1, end);
    if (behind)
        read_entities(f, unit, at + 2, behind - 1, NULL, &parameter);
}

/* implicit none, implicit real(8) (a-h, o-z) */
static void read_implicit(struct fortran *f, size_t unit, const struct lull_fortran_token *at,
                          const struct lull_fortran_token *end)
{
    static const char *const usual[] = {"(", "a", "-", "h", ",", "o", "-", "z", ")"};
    enum { USUAL = sizeof usual / sizeof *usual };
    struct unit *of = &f->units[unit];
    if (is_word(at, "none")) {
        of->is_explicit = true;
        return;
    }
    const struct lull_fortran_token *behind = read_type(f, unit, at, end, &of->letters);
    bool is_usual = behind && end - behind == USUAL && !of->has_letters;
    for (size_t i = 0; i < USUAL && is_usual; i++)
        is_usual = strcmp(behind[i].text, usual[i]) == 0;
    if (!is_usual)
        of->letters.why = "the type of names is that of an implicit statement";
    of->has_letters = true;
    for (size_t i = 0; i < of->n_names; i++)
        take_letters(f, unit, of->names[i]);
}

/* A statement that may stand among declarations. False: it is none. */
static bool read_declared(struct fortran *f, struct lull_fortran_statement *statement)
{
    const struct lull_fortran_token *at = statement->tokens, *const end = at + statement->count;
    const size_t unit = statement->unit;
    struct attributes attributes = {0};
    struct name type;
    const struct lull_fortran_token *behind = read_type(f, unit, at, end, &type);
    if (behind) {
        behind = read_attributes(behind, end, &attributes);
        if (behind && behind < end && is_sign(behind, "::"))
            behind++;
        if (behind && !attributes.procedure)
            read_entities(f, unit, behind, end, &type, &attributes);
        return true;
    }
    const struct lull_fortran_token *names = at + 1 + (at + 1 < end && is_sign(at + 1, "::"));
    if (is_word(at, "implicit"))
        read_implicit(f, unit, at + 1, end);
    else if (is_word(at, "use"))
        read_use(f, unit, at, end);
    else if (is_word(at, "parameter"))
        read_parameters(f, unit, at, end);
    else if (is_word(at, "dimension"))
        read_entities(f, unit, names, end, NULL, &attributes);
    else if (is_word(at, "allocatable"))
        read_entities(f, unit, names, end, NULL, (attributes.allocatable = true, &attributes));
    else if (is_word(at, "pointer") || is_word(at, "equivalence"))
        for (; at < end; at++) {
            if (at->kind == LULL_TOKEN_NAME && at > statement->tokens) {
                struct name *name = add_own_name(f, unit, at->text);
                name->why = lull_arena_printf(f->arena, "'%s' may be the same data as another name",
                                              name->text);
            }
        }
    else if (is_word(at, "include"))
        f->units[unit].uses_others = true;
    else
        return is_word(at, "save") || is_word(at, "external") || is_word(at, "intrinsic") ||
               is_word(at, "common") || is_word(at, "data") || is_word(at, "namelist") ||
               is_word(at, "import") || is_word(at, "private") || is_word(at, "public") ||
               is_word(at, "target") || is_word(at, "optional") || is_word(at, "format") ||
               is_word(at, "procedure") || is_word(at, "generic") || is_word(at, "final") ||
               is_word(at, "enumerator") || is_word(at, "volatile") || is_word(at, "contiguous");
    return true;
}

/* ==== program units =========================================================================== */

/* The "=" of an assignment; NULL: it is another statement. */
static const struct lull_fortran_token *find_assignment(const struct lull_fortran_token *at,
                                                        const struct lull_fortran_token *end)
{
    if (at >= end || at->kind != LULL_TOKEN_NAME)
        return NULL;
    for (at++; at < end;) {
        if (is_sign(at, "("))
            at = behind_brackets(at, end);
        else if (is_sign(at, "%") && (at + 1)->kind == LULL_TOKEN_NAME)
            at += 2;
        else
            break;
        if (!at)
            return NULL;
    }
    return at < end && is_sign(at, "=") ? at : NULL;
}

static size_t add_unit(struct fortran *f, enum unit_kind kind, const char *name, size_t parent,
                       size_t header)
{
    f->units =
        lull_arena_grow(f->arena, f->units, &f->units_capacity, f->n_units + 1, sizeof *f->units);
    const char *c = kind == UNIT_PROGRAM ? "main" : name_in_c(f, name);
    for (size_t u = 0; u < f->n_units; u++)
        if (strcmp(f->units[u].c, c) == 0 && kind != UNIT_MODULE)
            c = lull_arena_printf(f->arena, "%s_%zu", name, f->n_units);
    f->units[f->n_units] =
        (struct unit){.kind = kind, .name = name, .c = c, .parent = parent, .header = header};
    return f->n_units++;
}

/* Reads the first statement of a program unit. False: it is none. */
static bool read_header(struct fortran *f, size_t number, size_t parent)
{
    static const char *const prefixes[] = {"pure",   "elemental", "impure",
                                           "module", "recursive", "non_recursive"};
    struct lull_fortran_statement *statement = &f->statements[number];
    const struct lull_fortran_token *at = statement->tokens, *const end = at + statement->count;
    struct name type = {.type = TYPE_OTHER, .why = ""};
    bool is_typed = false;
    if ((is_word(at, "program") || is_word(at, "module")) && at + 2 == end &&
        (at + 1)->kind == LULL_TOKEN_NAME) {
        statement->unit = add_unit(f, is_word(at, "program") ? UNIT_PROGRAM : UNIT_MODULE,
                                   (at + 1)->text, parent, number);
        return true;
    }
    if (is_word(at, "submodule") || (is_word(at, "block") && is_word(at + 1, "data"))) {
        const char *name = at[statement->count - 1].text;
        statement->unit = add_unit(f, UNIT_MODULE, *name ? name : "submodule", parent, number);
        f->units[statement->unit].uses_others = true;
        return true;
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !more; i++)
            more = is_word(at, prefixes[i]) && at + 1 < end;
        at += more;
        const struct lull_fortran_token *behind =
            more || is_typed ? NULL : read_type(f, parent == SIZE_MAX ? 0 : parent, at, end, &type);
        if (behind && behind < end) {
            at = behind;
            is_typed = more = true;
        }
    }
    const bool is_function =
        is_word(at, "function") && (at + 1)->kind == LULL_TOKEN_NAME && is_sign(at + 2, "(");
    if (!is_function && !(is_word(at, "subroutine") && (at + 1)->kind == LULL_TOKEN_NAME))
        return false;
    const size_t unit =
        add_unit(f, is_function ? UNIT_FUNCTION : UNIT_SUBROUTINE, (at + 1)->text, parent, number);
    struct unit *of = &f->units[unit];
    statement->unit = unit;
    of->result = (at + 1)->text;
    const struct lull_fortran_token *close =
        at + 2 < end && is_sign(at + 2, "(") ? behind_brackets(at + 2, end) : NULL;
    for (at += 3; close && at < close; at++)
        if (at->kind == LULL_TOKEN_NAME) {
            of->dummies = lull_arena_grow(f->arena, of->dummies, &of->dummies_capacity,
                                          of->n_dummies + 1, sizeof(const char *));
            of->dummies[of->n_dummies++] = at->text;
        }
    for (at = close; at && at + 2 < end; at++)
        if (is_word(at, "result") && is_sign(at + 1, "(") && (at + 2)->kind == LULL_TOKEN_NAME)
            of->result = (at + 2)->text;
    for (size_t i = 0; i < of->n_dummies; i++)
        add_own_name(f, unit, of->dummies[i])->is_dummy = true;
    if (is_function) {
        struct name *result = add_own_name(f, unit, of->result);
        if (is_typed) {
            result->is_typed = true;
            result->type = type.type;
            result->bytes = type.bytes;
            result->why = type.why;
        }
    }
    return true;
}

/* Whether "end ..." ends a block of statements, and not a program unit. */
static bool ends_block(const struct lull_fortran_token *at)
{
    static const char *const blocks[] = {"do",     "if",        "select", "where",
                                         "forall", "associate", "block",  "critical",
                                         "type",   "interface", "enum",   "team"};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if ((is_word(at, "end") && is_word(at + 1, blocks[i]) &&
             !(strcmp(blocks[i], "block") == 0 && is_word(at + 2, "data"))) ||
            (strncmp(at->text, "end", 3) == 0 && strcmp(at->text + 3, blocks[i]) == 0))
            return true;
    return false;
}

static bool ends_unit(const struct lull_fortran_token *at)
{
    static const char *const units[] = {"program",   "subroutine", "function", "module",
                                        "submodule", "procedure",  "blockdata"};
    if (is_word(at, "end"))
        return !ends_block(at);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (at->kind == LULL_TOKEN_NAME && strncmp(at->text, "end", 3) == 0 &&
            strcmp(at->text + 3, units[i]) == 0)
            return true;
    return false;
}

/* Divides the statements among program units, and reads what is declared. */
static lull_status read_units(struct fortran *f)
{
    size_t unit = SIZE_MAX;
    unsigned skipping = 0; /* interfaces and types, which declare nothing here */
    if (!f->source->is_program)
        unit = add_unit(f, UNIT_BARE, "", SIZE_MAX, 0);
    for (size_t i = 0; i < f->n_statements; i++) {
        struct lull_fortran_statement *statement = &f->statements[i];
        const struct lull_fortran_token *at = statement->tokens, *const end = at + statement->count;
        statement->unit = unit;
        if (statement->comment) {
            if (unit != SIZE_MAX && statement->is_directive)
                f->units[unit].is_torn = true;
            continue;
        }
        const bool is_assignment = find_assignment(at, end) != NULL;
        const bool is_type = is_word(at, "type") && statement->count > 1 && !is_sign(at + 1, "(") &&
                             !is_assignment && !(is_word(at + 1, "is"));
        if (!is_assignment && (is_word(at, "interface") ||
                               (is_word(at, "abstract") && is_word(at + 1, "interface")) ||
                               (is_word(at, "enum") && is_sign(at + 1, ",")) || is_type))
            skipping++;
        if (skipping > 0) {
            statement->role = LULL_FORTRAN_SKIPPED;
            skipping -= !is_assignment && ends_block(at);
            continue;
        }
        if (!is_assignment && f->source->is_program && read_header(f, i, unit)) {
            statement->role = LULL_FORTRAN_UNIT;
            unit = statement->unit;
            continue;
        }
        if (!is_assignment && !f->source->is_program && read_header(f, i, unit))
            return fortran_wrong(f, statement->line,
                                 "has program units: name the one with the loops as %s:NAME",
                                 f->source->path);
        if (unit == SIZE_MAX) { /* a main program without its first statement */
            unit = statement->unit = add_unit(f, UNIT_PROGRAM, "main", SIZE_MAX, i);
            f->units[unit].header = SIZE_MAX;
        }
        if (!is_assignment && is_word(at, "contains") && statement->count == 1) {
            statement->role = LULL_FORTRAN_CONTAINS;
        } else if (!is_assignment && ends_unit(at)) {
            statement->role = LULL_FORTRAN_UNIT_END;
            unit = f->units[unit].parent;
            if (f->units[statement->unit].kind == UNIT_BARE)
                return fortran_wrong(f, statement->line, "an end without what it ends");
        } else if (!is_assignment && read_declared(f, statement)) {
            statement->role = LULL_FORTRAN_DECLARATION;
        }
    }
    return LULL_OK;
}

/* ---- what changes ---------------------------------------------------------------------------- */

static bool is_integer_variable(const struct name *name)
{
    return name && name->type == TYPE_INTEGER && name->n_dimensions == 0 && !name->is_known &&
           !name->why;
}

/* Whether a call leaves the variable as it is that its argument at `at` is. */
static bool is_only_read(const struct fortran *f, const struct lull_fortran_token *call,
                         const struct lull_fortran_token *at)
{
    const struct unit *unit = find_procedure(f, call->text);
    size_t number = 0;
    if (!unit || !is_sign(call + 1, "("))
        return false;
    for (const struct lull_fortran_token *other = call + 2; other < at; other++) {
        if (is_sign(other, "(") || is_sign(other, ")") || is_sign(other, "="))
            return false;
        number += is_sign(other, ",");
    }
    if (number >= unit->n_dummies)
        return false;
    const struct name *dummy = own_name(unit, unit->dummies[number]);
    return dummy && dummy->is_read_only;
}

static void note_allocation(struct fortran *f, const struct lull_fortran_statement *statement,
                            const struct lull_fortran_token *at,
                            const struct lull_fortran_token *end)
{
    size_t owner;
    for (const struct lull_fortran_token *item = at; item < end;) {
        const struct lull_fortran_token *next = find_sign(item, end, ",");
        const struct lull_fortran_token *colons = find_sign(item, next, "::");
        item = colons < next ? colons + 1 : item;
        struct name *name = item->kind == LULL_TOKEN_NAME
                                ? find_name(f, statement->unit, item->text, &owner)
                                : NULL;
        const struct lull_fortran_token *behind =
            item + 1 < next && is_sign(item + 1, "(") ? behind_brackets(item + 1, next) : NULL;
        struct name shape = {0};
        if (name && name->is_allocatable && behind == next &&
            read_dimensions(item + 1, behind, &shape) && shape.n_dimensions == name->n_dimensions &&
            name->allocated++ == 0) {
            memcpy(name->dimensions, shape.dimensions, sizeof name->dimensions);
            name->is_shaped = true;
        } else if (name) {
            name->allocated++;
        }
        item = next + 1;
    }
}

/* Whether what the shape of an array was made from is the same at any time, and wherever the array is known. */
static bool is_fixed(struct fortran *f, const struct name *array, struct lull_fortran_tokens tokens)
{
    for (const struct lull_fortran_token *at = tokens.from; at < tokens.to; at++) {
        size_t owner;
        if (at->kind != LULL_TOKEN_NAME)
            continue;
        const struct name *name = find_name(f, array->unit, at->text, &owner);
        if (!name || (!name->is_known && !(name->is_dummy && name->is_read_only) &&
                      (!is_integer_variable(name) || name->sets > 1)))
            return false;
    }
    return true;
}

static void note_changes(struct fortran *f)
{
    for (size_t i = 0; i < f->n_statements; i++) {
        const struct lull_fortran_statement *statement = &f->statements[i];
        const struct lull_fortran_token *at = statement->tokens, *const end = at + statement->count;
        size_t owner;
        if (statement->role != LULL_FORTRAN_OTHER || statement->comment)
            continue;
        if (is_word(at, "allocate") && is_sign(at + 1, "(") && !find_assignment(at, end)) {
            const struct lull_fortran_token *behind = behind_brackets(at + 1, end);
            if (behind)
                note_allocation(f, statement, at + 2, behind - 1);
            continue;
        }
        const bool is_assignment = find_assignment(at, end) != NULL;
        if (!is_assignment && (is_word(at, "print") || is_word(at, "write")))
            continue;
        const struct lull_fortran_token *call = is_word(at, "call") ? at + 1 : NULL;
        for (const struct lull_fortran_token *token = at; token < end; token++) {
            struct name *name = token->kind == LULL_TOKEN_NAME
                                    ? find_name(f, statement->unit, token->text, &owner)
                                    : NULL;
            if (is_integer_variable(name) && !(call && is_only_read(f, call, token)))
                name->sets += is_word(at, "do") ? 2 : 1;
            if (is_assignment)
                break; /* what stands behind is read */
        }
    }
    for (size_t u = 0; u < f->n_units; u++)
        for (size_t n = 0; n < f->units[u].n_names; n++) {
            struct name *name = f->units[u].names[n];
            bool is_good = name->is_shaped && name->allocated == 1;
            for (size_t d = 0; d < name->n_dimensions && is_good; d++)
                is_good = is_fixed(f, name, name->dimensions[d].lower) &&
                          is_fixed(f, name, name->dimensions[d].upper);
            for (size_t d = 0; d < name->n_dimensions && name->is_allocatable && !is_good; d++)
                name->dimensions[d] = (struct dimension){{NULL, NULL}, {NULL, NULL}};
        }
}

/* ==== statements in C ========================================================================= */

/* Says of every variable that a statement names that it may change there. */
static void put_changes(struct fortran *f, const struct lull_fortran_token *at,
                        const struct lull_fortran_token *end)
{
    for (; at < end; at++) {
        size_t owner;
        struct name *name =
            at->kind == LULL_TOKEN_NAME ? find_name(f, f->unit, at->text, &owner) : NULL;
        if (!is_integer_variable(name) || !use_name(f, at->text))
            continue;
        put_text(f, "(void)&");
        put_text(f, name->c);
        put_text(f, "; ");
    }
}

static void put_refused(struct fortran *f, const char *why)
{
    put_text(f, "lull_refused(\"");
    put_text(f, why);
    put_text(f, "\"); ");
}

static void begin_expression(struct fortran *f, const struct lull_fortran_token *at)
{
    f->at = at;
    f->brackets = 0;
    f->why = NULL;
}

static bool open_block(struct fortran *f, int kind, unsigned label, bool hides)
{
    if (f->n_blocks == MOST_BLOCKS)
        return false;
    f->blocks[f->n_blocks].kind = kind;
    f->blocks[f->n_blocks].label = label;
    f->blocks[f->n_blocks++].hides = hides;
    f->hiding += hides;
    return true;
}

static void close_block(struct fortran *f)
{
    f->hiding -= f->blocks[--f->n_blocks].hides;
    put_text(f, "} ");
}

/* for (i = 1; i <= n; i++) */
static bool put_counted(struct fortran *f, const struct lull_fortran_token *at,
                        const struct lull_fortran_token *end)
{
    struct value first, last, step = {.known = 1};
    begin_expression(f, at + 2);
    struct name *variable = use_name(f, at->text);
    if (!variable)
        return false;
    if (!is_integer_variable(variable))
        return refuse(f, "the variable of the loop is no integer");
    put_text(f, "for (");
    put_text(f, variable->c);
    put_text(f, " = ");
    if (!read_sum(f, &first) || first.type != TYPE_INTEGER || !no_whole_array(f, &first) ||
        !is_sign(f->at, ","))
        return refuse(f, "begin of the loop is not understood");
    f->at++;
    put_text(f, "; ");
    put_text(f, variable->c);
    const size_t compare = f->size;
    if (!read_sum(f, &last) || last.type != TYPE_INTEGER || !no_whole_array(f, &last))
        return refuse(f, "end of the loop is not understood");
    const char *bound = cut_text(f, compare);
    if (is_sign(f->at, ",")) {
        f->at++;
        if (!read_sum(f, &step) || !step.is_known || step.known == 0)
            return refuse(f, "step of the loop is not a constant");
        cut_text(f, compare);
    }
    if (f->at != end)
        return refuse(f, "bounds of the loop are not understood");
    put_text(f, lull_arena_printf(f->arena, " %s %s; %s %s= %lld) { ", step.known > 0 ? "<=" : ">=",
                                  bound, variable->c, step.known > 0 ? "+" : "-",
                                  (long long)(step.known > 0 ? step.known : -step.known)));
    return true;
}

static bool put_do(struct fortran *f, const struct lull_fortran_statement *statement,
                   const struct lull_fortran_token *at, const struct lull_fortran_token *end)
{
    const size_t begin = f->size;
    unsigned label = 0;
    at++;
    if (at < end && at->kind == LULL_TOKEN_INTEGER) {
        label = strlen(at->text) < 6 ? (unsigned)strtoul(at->text, NULL, 10) : 0;
        at++;
        at += at < end && is_sign(at, ",");
    }
    if (!open_block(f, BLOCK_DO, label, false))
        return false;
    if (at == end) {
        put_text(f, "while (1) { ");
        return true;
    }
    if (is_word(at, "while") && is_sign(at + 1, "(")) {
        put_text(f, "while (lull_unknown) { ");
        return true;
    }
    f->why = NULL;
    if (f->units[statement->unit].is_torn)
        refuse(f, "the preprocessor chooses between lines of this procedure");
    else if (f->hiding > 0)
        refuse(f, "it stands in a block whose names may be others");
    else if (is_word(at, "concurrent"))
        refuse(f, "a do concurrent");
    else if (at + 1 >= end || at->kind != LULL_TOKEN_NAME || !is_sign(at + 1, "="))
        refuse(f, "a loop that is not understood");
    else if (put_counted(f, at, end))
        return true;
    cut_text(f, begin);
    put_changes(f, at, at + 1);
    put_text(f, "for (");
    put_text(f, lull_arena_printf(
                    f->arena, "lull_refused(\"%s\"); lull_unknown; lull_unknown++) { ", f->why));
    return true;
}

static const char *type_in_c(const struct name *name)
{
    if (name->type == TYPE_REAL)
        return name->bytes == 8 ? "double" : "float";
    if (name->n_dimensions == 0 || name->bytes == 8)
        return "long";
    return name->bytes == 4 ? "int" : name->bytes == 2 ? "short" : "signed char";
}

/* The arguments of a call of a procedure of this file. False: they are not understood. */
static bool put_arguments(struct fortran *f, const struct unit *unit,
                          const struct lull_fortran_token *at, const struct lull_fortran_token *end)
{
    size_t number = 0;
    for (; at < end; number++) {
        const struct lull_fortran_token *next = find_sign(at, end, ",");
        const struct name *dummy =
            number < unit->n_dummies ? own_name(unit, unit->dummies[number]) : NULL;
        if (!dummy || (at + 1 < next && is_sign(at + 1, "=")) || at == next)
            return false;
        put_text(f, number > 0 ? ", " : "");
        const size_t begin = f->size;
        if (!is_integer_variable(dummy)) {
            put_text(f, "0");
        } else {
            struct value value;
            begin_expression(f, at);
            const bool good = read_sum(f, &value) && f->at == next && value.type == TYPE_INTEGER &&
                              (!value.variable || value.variable->n_dimensions == 0);
            if (!good) {
                cut_text(f, begin);
                put_text(f, "lull_unknown");
            } else if (value.variable && !dummy->is_read_only) { /* it may be changed */
                insert_text(f, begin, "*&");
            }
        }
        at = next + 1;
    }
    return number == unit->n_dummies;
}

static void put_call(struct fortran *f, const struct lull_fortran_token *at,
                     const struct lull_fortran_token *end)
{
    const struct unit *unit = at->kind == LULL_TOKEN_NAME ? find_procedure(f, at->text) : NULL;
    const size_t begin = f->size;
    const struct lull_fortran_token *open = at + 1 < end && is_sign(at + 1, "(") ? at + 1 : NULL;
    const struct lull_fortran_token *close = open ? behind_brackets(open, end) : NULL;
    const bool is_plain = at->kind == LULL_TOKEN_NAME && (open ? close == end : at + 1 == end);
    if (unit && is_plain) {
        put_text(f, unit->c);
        put_text(f, "(");
        if (put_arguments(f, unit, open ? open + 1 : end, open ? close - 1 : end)) {
            put_text(f, "); ");
            /* Arguments in expressions are changed by nothing, and the others say so themselves. */
            return;
        }
        cut_text(f, begin);
        put_text(f, "(void)&");
        put_text(f, unit->c);
        put_text(f, "; ");
    }
    put_changes(f, at + 1, end);
    put_refused(f, at->kind == LULL_TOKEN_NAME
                       ? lull_arena_printf(f->arena, "call of '%s'", at->text)
                       : "a call");
}

static bool put_assignment(struct fortran *f, const struct lull_fortran_token *at,
                           const struct lull_fortran_token *equals,
                           const struct lull_fortran_token *end)
{
    struct value target, value;
    begin_expression(f, at);
    size_t owner;
    const struct name *name = find_name(f, f->unit, at->text, &owner);
    if (is_sign(at + 1, "(") && (!name || name->n_dimensions == 0))
        return refuse(f, "'%s' is no array of this file", at->text);
    if (name && (name->is_known || name->is_parameter))
        return refuse(f, "'%s' is a constant", at->text);
    if (!read_primary(f, &target) || f->at != equals)
        return refuse(f, "an assignment that is not understood");
    if (target.type == TYPE_OTHER || (target.variable && target.variable->n_dimensions > 0))
        return refuse(f, "an operation on whole arrays");
    f->at++;
    put_text(f, " = ");
    if (!read_sum(f, &value))
        return false;
    if (value.type == TYPE_OTHER || !no_whole_array(f, &value) || f->at != end)
        return refuse(f, "an expression that is not understood");
    put_text(f, "; ");
    return true;
}

static const char *why_not(const struct lull_fortran_token *at)
{
    static const struct {
        const char *word, *why;
    } reasons[] = {{"write", "output"},
                   {"print", "output"},
                   {"read", "input"},
                   {"open", "opening a file"},
                   {"close", "closing a file"},
                   {"allocate", "an allocation"},
                   {"deallocate", "a deallocation"},
                   {"nullify", "a pointer"},
                   {"where", "an operation on whole arrays"},
                   {"forall", "a forall"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (is_word(at, reasons[i].word))
            return reasons[i].why;
    return "a statement that is not understood";
}

static void put_leaving(struct fortran *f, const struct unit *unit)
{
    const struct name *result = unit->kind == UNIT_FUNCTION ? own_name(unit, unit->result) : NULL;
    put_text(f, unit->kind == UNIT_PROGRAM || (result && result->type != TYPE_OTHER) ? "return 0; "
                                                                                     : "return; ");
}

/* Writes a statement that is no block. */
static void put_action(struct fortran *f, const struct lull_fortran_statement *statement,
                       const struct lull_fortran_token *at, const struct lull_fortran_token *end)
{
    struct unit *unit = &f->units[statement->unit];
    const struct lull_fortran_token *equals = find_assignment(at, end);
    const size_t begin = f->size;
    if (equals) {
        if (put_assignment(f, at, equals, end))
            return;
        cut_text(f, begin);
        put_changes(f, at, at + 1);
        put_refused(f, f->why);
    } else if (is_word(at, "call") && at + 1 < end) {
        put_call(f, at + 1, end);
    } else if (is_word(at, "cycle") || is_word(at, "exit")) {
        /* Of a loop by its name it is that loop: what is around it ends likewise. */
        bool is_in_loop = false;
        for (size_t b = 0; b < f->n_blocks; b++)
            is_in_loop |= f->blocks[b].kind == BLOCK_DO;
        if (!is_in_loop || at + 1 < end) {
            unit->leaves = true;
            put_text(f, "goto lull_end; ");
        } else {
            put_text(f, is_word(at, "cycle") ? "continue; " : "break; ");
        }
    } else if (is_word(at, "return") || is_word(at, "stop") || is_word(at, "error")) {
        put_leaving(f, unit);
    } else if (is_word(at, "go") || is_word(at, "goto") || at->kind == LULL_TOKEN_INTEGER) {
        unit->leaves = true;
        put_text(f, "goto lull_end; ");
    } else if (is_word(at, "continue") && at + 1 == end) {
        put_text(f, "; ");
    } else {
        if (!is_word(at, "print") && !is_word(at, "write") && !is_word(at, "allocate"))
            put_changes(f, at, end);
        put_refused(f, find_sign(at, end, "=>") < end ? "a pointer" : why_not(at));
    }
}

static lull_status put_if(struct fortran *f, const struct lull_fortran_statement *statement,
                          const struct lull_fortran_token *at, const struct lull_fortran_token *end)
{
    const struct lull_fortran_token *behind =
        is_sign(at + 1, "(") ? behind_brackets(at + 1, end) : NULL;
    if (!behind)
        return fortran_wrong(f, statement->line, "an if without its condition");
    put_text(f, "if (lull_unknown) { ");
    if (behind + 1 == end && is_word(behind, "then"))
        return open_block(f, BLOCK_IF, 0, false)
                   ? LULL_OK
                   : fortran_wrong(f, statement->line, "blocks are too deep");
    if (behind < end)
        put_action(f, statement, behind, end);
    put_text(f, "} ");
    return LULL_OK;
}

/* "select case (...)" and others that are blocks. False: it is none. */
static bool put_other_block(struct fortran *f, const struct lull_fortran_token *at,
                            const struct lull_fortran_token *end, bool *ret_is_deep)
{
    const struct lull_fortran_token *behind =
        at + 1 < end && is_sign(at + 1, "(") ? behind_brackets(at + 1, end) : NULL;
    const char *why = NULL;
    bool hides = false;
    if (is_word(at, "select") || is_word(at, "selectcase"))
        why = "a select, whose cost depends on data,";
    else if ((is_word(at, "where") || is_word(at, "forall")) && behind == end)
        why = "an operation on whole arrays";
    else if (is_word(at, "associate") && behind == end)
        why = "an associate", hides = true;
    else if (is_word(at, "block") && at + 1 == end)
        why = "a block", hides = true;
    else if (is_word(at, "critical") && (at + 1 == end || behind == end))
        why = "a critical block";
    if (!why)
        return false;
    *ret_is_deep = !open_block(f, BLOCK_OTHER, 0, hides);
    put_text(f, "if (lull_unknown) { ");
    put_refused(f, why);
    return true;
}

static bool ends_this(const struct lull_fortran_token *at, const char *word)
{
    return (is_word(at, "end") && is_word(at + 1, word)) ||
           (at->kind == LULL_TOKEN_NAME && strncmp(at->text, "end", 3) == 0 &&
            strcmp(at->text + 3, word) == 0);
}

static lull_status put_statement(struct fortran *f, const struct lull_fortran_statement *statement)
{
    const struct lull_fortran_token *at = statement->tokens, *const end = at + statement->count;
    bool is_deep = false;
    if (statement->count > 2 && at->kind == LULL_TOKEN_NAME && is_sign(at + 1, ":"))
        at += 2; /* the name of a block */
    if (find_assignment(at, end)) {
        put_action(f, statement, at, end);
        return LULL_OK;
    }
    if (ends_block(at)) {
        const int kind = ends_this(at, "do")   ? BLOCK_DO
                         : ends_this(at, "if") ? BLOCK_IF
                                               : BLOCK_OTHER;
        if (f->n_blocks == 0 || (int)f->blocks[f->n_blocks - 1].kind != kind ||
            (f->blocks[f->n_blocks - 1].label != 0 &&
             f->blocks[f->n_blocks - 1].label != statement->label))
            return fortran_wrong(f, statement->line, "an end without what it ends");
        close_block(f);
        return LULL_OK;
    }
    if (is_word(at, "do"))
        return put_do(f, statement, at, end)
                   ? LULL_OK
                   : fortran_wrong(f, statement->line, "blocks are too deep");
    if (is_word(at, "if"))
        return put_if(f, statement, at, end);
    if (is_word(at, "else") || is_word(at, "elseif")) {
        const bool is_if = f->n_blocks > 0 && f->blocks[f->n_blocks - 1].kind == BLOCK_IF;
        const bool has_condition = is_word(at, "elseif") || is_word(at + 1, "if");
        if (!is_if && f->n_blocks == 0)
            return fortran_wrong(f, statement->line, "an else without its if");
        if (is_if)
            put_text(f, has_condition ? "} else if (lull_unknown) { " : "} else { ");
        return LULL_OK;
    }
    if (is_word(at, "elsewhere") || is_word(at, "case") || is_word(at, "default") ||
        (is_word(at, "class") && at + 1 < end) || (is_word(at, "type") && is_word(at + 1, "is")))
        return LULL_OK;
    if (put_other_block(f, at, end, &is_deep))
        return is_deep ? fortran_wrong(f, statement->line, "blocks are too deep") : LULL_OK;
    put_action(f, statement, at, end);
    return LULL_OK;
}

/* Ends the loops whose last statement has this label. */
static void end_labelled(struct fortran *f, const struct lull_fortran_statement *statement)
{
    while (statement->label > 0 && f->n_blocks > 0 && f->blocks[f->n_blocks - 1].kind == BLOCK_DO &&
           f->blocks[f->n_blocks - 1].label == statement->label)
        close_block(f);
}

/* ==== procedures in C ========================================================================= */

/* Declares what a procedure uses: numbers first, as shapes of arrays use them. */
static const char *declarations(struct fortran *f, size_t number)
{
    struct unit *unit = &f->units[number];
    const char *arrays = "", *numbers = "";
    f->unit = number;
    for (size_t i = 0; i < unit->n_used; i++) { /* grows meanwhile */
        const struct name *name = unit->used[i];
        const size_t begin = f->size;
        if (name->n_dimensions == 0)
            continue;
        bool good = true, is_pointer = !name->dimensions[name->n_dimensions - 1].upper.from;
        begin_expression(f, NULL);
        put_text(f, type_in_c(name));
        put_text(f, is_pointer ? name->n_dimensions > 1 ? " (*" : " *" : " ");
        put_text(f, name->c);
        put_text(f, is_pointer && name->n_dimensions > 1 ? ")" : "");
        for (size_t d = name->n_dimensions - is_pointer; d-- > 0 && good;) {
            put_text(f, "[");
            good = put_size(f, name, d);
            put_text(f, "]");
        }
        put_text(f, "; ");
        const char *text = cut_text(f, begin);
        /* A shape that is not understood makes the array one that the reader refuses. */
        arrays = good ? lull_arena_printf(f->arena, "%s%s", arrays, text)
                      : lull_arena_printf(f->arena, "%sstruct { int unknown; } %s[1]; ", arrays,
                                          name->c);
    }
    for (size_t i = 0; i < unit->n_used; i++) {
        const struct name *name = unit->used[i];
        int64_t known;
        if (name->n_dimensions > 0 || (name->is_dummy && name->unit == number))
            continue;
        numbers = lull_arena_printf(f->arena, "%s%s %s", numbers, type_in_c(name), name->c);
        if (name->type == TYPE_INTEGER && read_known(f, number, name->value, &known))
            numbers = lull_arena_printf(f->arena, "%s = %lld", numbers, (long long)known);
        numbers = lull_arena_printf(f->arena, "%s; ", numbers);
    }
    return lull_arena_printf(f->arena, "%s%s", numbers, arrays);
}

static const char *head_in_c(struct fortran *f, const struct unit *unit)
{
    const char *parameters = "", *type = "void";
    const bool is_private = unit->parent != SIZE_MAX && f->units[unit->parent].kind != UNIT_MODULE;
    if (unit->kind == UNIT_PROGRAM)
        return "int main(void)";
    for (size_t i = 0; i < unit->n_dummies; i++) {
        const struct name *name = own_name(unit, unit->dummies[i]);
        const bool is_number =
            name && name->n_dimensions == 0 && name->type != TYPE_OTHER && !name->why;
        const char *comma = i ? ", " : "";
        parameters = is_number
                         ? lull_arena_printf(f->arena, "%s%s%s %s", parameters, comma,
                                             type_in_c(name), name->c)
                         : lull_arena_printf(f->arena, "%s%svoid *lull_%zu", parameters, comma, i);
    }
    const struct name *result = unit->kind == UNIT_FUNCTION ? own_name(unit, unit->result) : NULL;
    if (result && result->type != TYPE_OTHER)
        type = type_in_c(result);
    return lull_arena_printf(f->arena, "%s%s %s(%s)", is_private ? "static " : "", type, unit->c,
                             *parameters ? parameters : "void");
}

/* Ends the statements of a program unit, and writes what it begins with. */
static void close_unit(struct fortran *f, size_t number)
{
    struct unit *unit = &f->units[number];
    if (unit->is_closed)
        return;
    unit->is_closed = true;
    if (unit->kind == UNIT_MODULE)
        return;
    while (f->n_blocks > 0)
        close_block(f);
    put_text(f, unit->leaves ? "lull_end:; " : "");
    put_text(f, unit->kind == UNIT_BARE ? "" : "} ");
    const char *written = cut_text(f, 0); /* declarations are written in the same place */
    const char *head = unit->kind == UNIT_BARE ? "" : head_in_c(f, unit);
    const char *declared = declarations(f, number);
    const char *text = lull_arena_printf(f->arena, "%s%s%s", head, *head ? " { " : "", declared);
    if (unit->kind != UNIT_BARE)
        f->shared = lull_arena_printf(f->arena, "%s%s; ", f->shared, head);
    if (unit->header >= f->n_statements || f->statements[unit->header].role != LULL_FORTRAN_UNIT)
        for (size_t i = 0; i < f->n_statements; i++) {
            struct lull_fortran_statement *statement = &f->statements[i];
            if (statement->unit != number || statement->comment)
                continue;
            statement->out =
                lull_arena_printf(f->arena, "%s%s", text, statement->out ? statement->out : "");
            break;
        }
    else
        f->statements[unit->header].out = lull_arena_printf(
            f->arena, "%s%s",
            f->statements[unit->header].out ? f->statements[unit->header].out : "", text);
    put_text(f, written);
}

static lull_status put_all(struct fortran *f)
{
    for (size_t i = 0; i < f->n_statements; i++) {
        struct lull_fortran_statement *statement = &f->statements[i];
        struct unit *unit = statement->unit == SIZE_MAX ? NULL : &f->units[statement->unit];
        lull_status status = LULL_OK;
        f->unit = statement->unit;
        if (statement->comment || !unit)
            continue;
        if (statement->role == LULL_FORTRAN_UNIT && unit->parent != SIZE_MAX)
            close_unit(f, unit->parent);
        if (statement->role == LULL_FORTRAN_CONTAINS || statement->role == LULL_FORTRAN_UNIT_END) {
            close_unit(f, statement->unit);
        } else if (statement->role == LULL_FORTRAN_OTHER && !unit->is_closed &&
                   unit->kind != UNIT_MODULE) {
            status = put_statement(f, statement);
            end_labelled(f, statement);
        }
        if (status != LULL_OK)
            return status;
        const char *written = cut_text(f, 0);
        statement->out =
            statement->out ? lull_arena_printf(f->arena, "%s%s", statement->out, written) : written;
    }
    for (size_t u = 0; u < f->n_units; u++) { /* of a text that ends too early */
        f->unit = u;
        close_unit(f, u);
    }
    f->rest = cut_text(f, 0);
    return LULL_OK;
}

/* Puts what stands for each statement into its line. */
static const char *join_lines(struct fortran *f)
{
    size_t next = 0;
    cut_text(f, 0);
    for (unsigned line = 1; line <= f->n_lines; line++) {
        for (; next < f->n_statements && f->statements[next].line <= line; next++) {
            const struct lull_fortran_statement *statement = &f->statements[next];
            if (statement->comment && *statement->comment &&
                (f->size == 0 || f->out[f->size - 1] != '\n'))
                continue; /* a directive has a line of its own, behind the helpers' */
            put_text(f, statement->comment ? statement->comment
                        : statement->out   ? statement->out
                                           : "");
        }
        put_text(f, "\n");
    }
    put_text(f, f->rest);
    return lull_arena_strndup(f->arena, f->out ? f->out : "", f->size);
}

lull_status lull_fortran_read(const struct lull_fortran_source *source, struct lull_arena *arena,
                              struct lull_fortran_text *ret_text, struct lull_error *err)
{
    static const char helpers[] =
        "extern int lull_unknown; void lull_refused(const char *why); "
        "static inline double lull_max(double a, double b) { return a > b ? a : b; } "
        "static inline double lull_min(double a, double b) { return a < b ? a : b; } "
        "static inline float lull_maxf(float a, float b) { return a > b ? a : b; } "
        "static inline float lull_minf(float a, float b) { return a < b ? a : b; } "
        "static inline double lull_power2(double x) { return x * x; } "
        "static inline double lull_power3(double x) { return x * x * x; } "
        "static inline double lull_power4(double x) { return lull_power2(lull_power2(x)); } "
        "static inline float lull_power2f(float x) { return x * x; } "
        "static inline float lull_power3f(float x) { return x * x * x; } "
        "static inline float lull_power4f(float x) { return lull_power2f(lull_power2f(x)); } ";
    struct fortran f = {.source = source, .arena = arena, .err = err, .shared = ""};
    if (source->size > MOST_BYTES)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: more than %d bytes", source->path, MOST_BYTES);
    struct lull_fortran_lines lines;
    lull_status status =
        lull_fortran_split(source->path, source->text, source->size, arena, &lines, err);
    f.statements = lines.statements;
    f.n_statements = lines.n_statements;
    f.n_lines = lines.n_lines;
    if (status == LULL_OK)
        status = read_units(&f);
    if (status != LULL_OK)
        return status;
    note_changes(&f);
    status = put_all(&f);
    if (status != LULL_OK)
        return status;
    const char *program = NULL;
    for (size_t u = 0; u < f.n_units; u++)
        program = f.units[u].kind == UNIT_PROGRAM ? f.units[u].name : program;
    *ret_text =
        (struct lull_fortran_text){.code = join_lines(&f),
                                   .helpers = lull_arena_printf(arena, "%s%s", helpers, f.shared),
                                   .program = program};
    return LULL_OK;
}
