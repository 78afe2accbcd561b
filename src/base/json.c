/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"

#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== where a reader is ======================================================================= */

static size_t print_step(const struct lull_json_step *step, char *text, size_t size)
{
    if (!step)
        return 0;
    size_t used = print_step(step->up, text, size);
    if (used >= size)
        return used;
    int length = step->key ? snprintf(text + used, size - used, "/%s", step->key)
                           : snprintf(text + used, size - used, "/%zu", step->index);
    return used + (length > 0 ? (size_t)length : 0);
}

lull_status lull_json_wrong(struct lull_error *err, const char *path,
                            const struct lull_json_step *step, const char *what)
{
    char place[300] = "";
    print_step(step, place, sizeof place);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: %s: %s", path, place[0] ? place : "/", what);
}

/* ==== writing ================================================================================= */

void lull_json_begin(struct lull_json *json, FILE *out, bool compact)
{
    *json = (struct lull_json){.out = out, .compact = compact, .first = {true}};
}

/* What stands before a value or a key: a comma, and outside of compact output a new line. */
static void separate(struct lull_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (!json->first[json->depth])
        fputc(',', json->out);
    json->first[json->depth] = false;
    if (!json->compact)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
}

static void open_level(struct lull_json *json, char bracket)
{
    assert(json->depth + 1 < (int)(sizeof json->first / sizeof *json->first));
    separate(json);
    fputc(bracket, json->out);
    json->first[++json->depth] = true;
}

static void close_level(struct lull_json *json, char bracket)
{
    bool empty = json->first[json->depth--];
    if (!empty && !json->compact)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    if (json->depth == 0 && !json->compact)
        fputc('\n', json->out);
}

void lull_json_object_begin(struct lull_json *json)
{
    open_level(json, '{');
}

void lull_json_object_end(struct lull_json *json)
{
    close_level(json, '}');
}

void lull_json_array_begin(struct lull_json *json)
{
    open_level(json, '[');
}

void lull_json_array_end(struct lull_json *json)
{
    close_level(json, ']');
}

static void write_string(FILE *out, const char *value)
{
    static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    fputc('"', out);
    for (size_t length; *value; value += length) {
        const char *escape = NULL;
        for (const char *e = short_escapes; *e; e += 2)
            if (*e == *value)
                escape = e + 1;
        uint32_t code = (unsigned char)*value; /* a byte of another encoding: Latin-1 is a guess */
        length = lull_utf8_decode(value, &code);
        if (escape)
            fprintf(out, "\\%c", *escape);
        else if (length == 0 || lull_utf8_is_control(code))
            fprintf(out, "\\u%04x", code); /* no control lies beyond U+FFFF */
        else
            fwrite(value, 1, length, out);
        length = length ? length : 1;
    }
    fputc('"', out);
}

void lull_json_key(struct lull_json *json, const char *key)
{
    separate(json);
    write_string(json->out, key);
    fputs(json->compact ? ":" : ": ", json->out);
    json->after_key = true;
}

void lull_json_string(struct lull_json *json, const char *value)
{
    if (!value) {
        lull_json_null(json);
        return;
    }
    separate(json);
    write_string(json->out, value);
}

void lull_json_int(struct lull_json *json, int64_t value)
{
    separate(json);
    fprintf(json->out, "%" PRId64, value);
}

void lull_json_uint(struct lull_json *json, uint64_t value)
{
    separate(json);
    fprintf(json->out, "%" PRIu64, value);
}

void lull_json_number(struct lull_json *json, double value)
{
    if (!isfinite(value)) {
        lull_json_null(json);
        return;
    }
    char text[40] = "-0.0"; /* "-0" is an integer to many readers, and loses its sign */
    for (int digits = 15; digits <= 17 && (value != 0 || !signbit(value)); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    separate(json);
    fputs(text, json->out);
}

void lull_json_bool(struct lull_json *json, bool value)
{
    separate(json);
    fputs(value ? "true" : "false", json->out);
}

void lull_json_null(struct lull_json *json)
{
    separate(json);
    fputs("null", json->out);
}
