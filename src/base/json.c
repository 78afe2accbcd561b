#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Length of the valid UTF-8 sequence at `text`, 0 if there is none. */
static int utf8_length(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead;
        int length;
        unsigned least;
    } forms[] = {{0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if ((text[0] & forms[i].mask) != forms[i].lead)
            continue;
        unsigned code = text[0] & (unsigned char)~forms[i].mask;
        for (int k = 1; k < forms[i].length; k++) {
            if ((text[k] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (text[k] & 0x3f);
        }
        bool surrogate = code >= 0xd800 && code < 0xe000;
        return code >= forms[i].least && code < 0x110000 && !surrogate ? forms[i].length : 0;
    }
    return 0;
}

static void write_string(FILE *out, const char *value)
{
    static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        const char *escape = NULL;
        for (const char *e = short_escapes; *e; e += 2)
            if (*e == (char)*c)
                escape = e + 1;
        if (escape) {
            fprintf(out, "\\%c", *escape);
        } else if (*c < 0x20 || *c == 0x7f) {
            fprintf(out, "\\u%04x", *c);
        } else if (*c < 0x80) {
            fputc(*c, out);
        } else {
            int length = utf8_length(c);
            if (length == 0) { /* a byte of another encoding: Latin-1 is the best guess */
                fprintf(out, "\\u%04x", *c);
            } else {
                fwrite(c, 1, (size_t)length, out);
                c += length - 1;
            }
        }
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
