/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/site/python.h"

#include "base/mix.h"
#include "record/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ==== structures of the interpreter ============================================================ */

/* Where fields are, in bytes. Source: Include/cpython/pystate.h, frameobject.h, code.h,
 * unicodeobject.h and Include/internal/pycore_frame.h of each version, as gcc lays them out where
 * pointers have 8 bytes. Within a version 3.x they do not change. */
struct python_layout {
    unsigned version; /* x of 3.x */
    unsigned current; /* in the state of a thread: the frame, or what points to it */
    bool indirect;    /* `current` is the address of a structure that has the frame at `inner` */
    unsigned inner;
    unsigned previous, code, instruction, owner; /* in a frame; owner 0: there is none */
    unsigned unit; /* bytes that an instruction counts, where it is a number; 0: it is an address */
    unsigned begin; /* in a code object: its instructions, where one is an address */
    unsigned first_line, file, name; /* in a code object */
    unsigned ascii;                  /* where the characters of a text begin that has ASCII alone */
    unsigned compact;                /* where those of others do */
};

static const struct python_layout layouts[] = {
    /* version, current, indirect, inner, previous, code, instruction, owner, unit, begin, first_line,
     * file, name, ascii, compact */
    {8, 24, false, 0, 24, 32, 104, 0, 1, 0, 40, 104, 112, 48, 72},
    {9, 24, false, 0, 24, 32, 104, 0, 1, 0, 40, 104, 112, 48, 72},
    {10, 24, false, 0, 24, 32, 96, 0, 2, 0, 40, 104, 112, 48, 72},
    {11, 56, true, 8, 48, 32, 56, 69, 0, 184, 72, 112, 120, 48, 72},
    {12, 56, true, 0, 8, 0, 56, 70, 0, 192, 68, 112, 120, 40, 56},
    {13, 72, false, 0, 8, 0, 56, 70, 0, 200, 68, 112, 120, 40, 56},
};

/* Fields that are in the same place in all of them. */
enum { OBJECT_TYPE = 8, TEXT_LENGTH = 16, TEXT_STATE = 32 };
/* Bits of a text's state. */
enum { KIND_SHIFT = 2, KIND_MASK = 7, IS_COMPACT = 1 << 5, IS_ASCII = 1 << 6 };

enum { OWNED_BY_C = 3 }; /* a frame by which C calls Python: it has no code of its own */

/* The interpreter of this process. */
static struct {
    int state; /* atomic; see below */
    const struct python_layout *layout;
    void *(*thread_state)(void); /* PyGILState_GetThisThreadState: of the calling thread, which need
                                    not hold the interpreter's lock; NULL: it has none */
    int (*line_of)(uintptr_t code, int at); /* PyCode_Addr2Line */
    uintptr_t code_type, text_type;
} python;

/* NEW: not looked for. FOUND: a version that is known. USED: its structures have been compared with
 * what they say of themselves. UNKNOWN: it tells nothing. */
enum { PYTHON_NEW, PYTHON_FOUND, PYTHON_USED, PYTHON_UNKNOWN };

/* ==== reading ================================================================================== */

/* How memory is read: `exact` as it is, else by the system, which refuses what is no memory. */
struct reader {
    bool exact, bad;
};

static void read_bytes(struct reader *reader, uintptr_t address, void *to, size_t size)
{
    if (reader->exact) {
        memcpy(to, (const void *)address, size);
        return;
    }
    const struct iovec here = {to, size}, there = {(void *)address, size};
    if (reader->bad || process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)size) {
        reader->bad = true;
        memset(to, 0, size);
    }
}

static uintptr_t read_address(struct reader *reader, uintptr_t address)
{
    uintptr_t value;
    read_bytes(reader, address, &value, sizeof value);
    return value;
}

static uint32_t read_number(struct reader *reader, uintptr_t address)
{
    uint32_t value;
    read_bytes(reader, address, &value, sizeof value);
    return value;
}

/* A text of Python. */
struct text {
    uintptr_t characters;
    size_t count;
    unsigned width; /* bytes of a character: 1, 2 or 4 */
};

/* False: it is no text, or an odd one. */
static bool read_python_text(struct reader *reader, uintptr_t object, struct text *ret_text)
{
    if (read_address(reader, object + OBJECT_TYPE) != python.text_type)
        return false;
    const uint32_t state = read_number(reader, object + TEXT_STATE);
    const unsigned width = state >> KIND_SHIFT & KIND_MASK;
    const uintptr_t count = read_address(reader, object + TEXT_LENGTH);
    if (reader->bad || !(state & IS_COMPACT) || (width != 1 && width != 2 && width != 4) ||
        count > INT32_MAX)
        return false;
    ret_text->characters =
        object + (state & IS_ASCII ? python.layout->ascii : python.layout->compact);
    ret_text->count = count;
    ret_text->width = width;
    return true;
}

/* The first bytes of a text, as many as there is room for; returns how many. */
static size_t read_characters(struct reader *reader, const struct text *text, void *to, size_t room)
{
    size_t size = text->count * text->width;
    size = size < room ? size : room / text->width * text->width;
    read_bytes(reader, text->characters, to, size);
    return reader->bad ? 0 : size;
}

/* ==== frames =================================================================================== */

/* Where a frame is in its code, in bytes; -1: it has not begun. */
static int find_instruction(struct reader *reader, uintptr_t frame, uintptr_t code)
{
    const struct python_layout *layout = python.layout;
    if (layout->unit != 0)
        return (int)read_number(reader, frame + layout->instruction) * (int)layout->unit;
    const uintptr_t at = read_address(reader, frame + layout->instruction);
    const uintptr_t begin = code + layout->begin;
    return at >= begin && at - begin <= INT32_MAX ? (int)(at - begin) : -1;
}

/* Mixes a text into a hash: its last 256 bytes, because names of files differ there. */
static uint64_t mix_text(struct reader *reader, const struct text *text, uint64_t hash)
{
    enum { MOST = 256 };
    char bytes[MOST];
    struct text end = *text;
    const size_t most = MOST / text->width;
    if (text->count > most) {
        end.count = most;
        end.characters += (text->count - most) * text->width;
    }
    const size_t size = read_characters(reader, &end, bytes, MOST);
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, size - at < sizeof word ? size - at : sizeof word);
        hash = lull_mix(hash, word);
    }
    return lull_mix(hash, text->count);
}

/* Whether the name of a file begins so. */
static bool name_begins(struct reader *reader, const struct text *file, const char *beginning)
{
    char begin[16];
    const size_t length = strlen(beginning);
    return file->width == 1 && length <= sizeof begin &&
           read_characters(reader, file, begin, length) == length &&
           memcmp(begin, beginning, length) == 0;
}

/* Fills in a frame. False: it is the interpreter's own. What is not laid out as expected is bad. */
static bool find_python_place(struct reader *reader, uintptr_t address,
                              struct rec_python_frame *ret_frame)
{
    const struct python_layout *layout = python.layout;
    unsigned char owner = 0;
    if (layout->owner != 0)
        read_bytes(reader, address + layout->owner, &owner, 1);
    if (owner == OWNED_BY_C)
        return false;
    const uintptr_t code = read_address(reader, address + layout->code);
    struct text file, name;
    if (code == 0 || read_address(reader, code + OBJECT_TYPE) != python.code_type ||
        !read_python_text(reader, read_address(reader, code + layout->file), &file) ||
        !read_python_text(reader, read_address(reader, code + layout->name), &name)) {
        reader->bad = true;
        return false;
    }
    const int at = find_instruction(reader, address, code);
    uint64_t key =
        lull_mix((uint64_t)(unsigned)at << 32, read_number(reader, code + layout->first_line));
    key = mix_text(reader, &name, mix_text(reader, &file, key));
    if (name_begins(reader, &file, "<")) /* made at run time, perhaps often under one name */
        key = lull_mix(key, (uint64_t)python.line_of(code, at));
    *ret_frame = (struct rec_python_frame){key, code, at};
    return !name_begins(reader, &file, "<frozen ");
}

/* Returns how many were found. Sets `*ret_any` where the thread has frames at all. */
static unsigned list_frames(struct reader *reader, struct rec_python_frame *frames, unsigned most,
                            bool *ret_any)
{
    enum { DEEPEST = 1000 }; /* frames that are looked at */
    const struct python_layout *layout = python.layout;
    const uintptr_t thread = (uintptr_t)python.thread_state();
    uintptr_t frame = thread != 0 ? read_address(reader, thread + layout->current) : 0;
    if (layout->indirect && frame != 0)
        frame = read_address(reader, frame + layout->inner);
    unsigned n = 0;
    *ret_any = frame != 0;
    for (unsigned depth = 0; frame != 0 && n < most && depth < DEEPEST && !reader->bad; depth++) {
        n += find_python_place(reader, frame, &frames[n]);
        frame = read_address(reader, frame + layout->previous);
    }
    return reader->bad ? 0 : n;
}

bool rec_python_frames(struct rec_python_frame *frames, unsigned most, bool exact, unsigned *ret_n)
{
    struct reader reader = {.exact = exact};
    const int state = __atomic_load_n(&python.state, __ATOMIC_ACQUIRE);
    bool any;
    *ret_n = state == PYTHON_USED ? list_frames(&reader, frames, most, &any) : 0;
    return state == PYTHON_USED || state == PYTHON_UNKNOWN;
}

/* ==== the interpreter ========================================================================== */

static bool find_symbol(void *library, const char *name, void *pointer)
{
    void *found = dlsym(library, name);
    memcpy(pointer, &found, sizeof found);
    return found != NULL;
}

/* Looks for the interpreter: in what all see, else in a library that its user has for itself. */
static int find_python(void)
{
    static const char thread_state[] = "PyGILState_GetThisThreadState";
    const char *(*version_of)(void);
    unsigned version;
    void *library = RTLD_DEFAULT;
    if (sizeof(void *) != 8)
        return PYTHON_UNKNOWN;
    if (!dlsym(library, thread_state) &&
        !(library = rec_private_library("libpython", thread_state)))
        return PYTHON_UNKNOWN;
    if (!find_symbol(library, thread_state, &python.thread_state) ||
        !find_symbol(library, "PyCode_Addr2Line", &python.line_of) ||
        !find_symbol(library, "PyCode_Type", &python.code_type) ||
        !find_symbol(library, "PyUnicode_Type", &python.text_type) ||
        !find_symbol(library, "Py_GetVersion", &version_of) ||
        sscanf(version_of(), "3.%u.", &version) != 1)
        return PYTHON_UNKNOWN;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == version)
            python.layout = &layouts[i];
    return python.layout ? PYTHON_FOUND : PYTHON_UNKNOWN;
}

unsigned rec_python_learn(struct rec_python_frame *frames, unsigned most)
{
    struct reader reader = {.exact = false};
    bool any;
    if (python.state == PYTHON_NEW)
        python.state = find_python();
    if (python.state == PYTHON_UNKNOWN)
        return 0;
    const unsigned n = list_frames(&reader, frames, most, &any);
    if (python.state == PYTHON_FOUND && any)
        __atomic_store_n(&python.state, reader.bad ? PYTHON_UNKNOWN : PYTHON_USED,
                         __ATOMIC_RELEASE);
    return n;
}

/* ==== texts ==================================================================================== */

/* Writes a character in UTF-8 to `to`; returns the bytes. Bytes of a file's name that are no UTF-8
 * are characters from U+DC80 to U+DCFF in Python (PEP 383). */
static size_t put_character(uint32_t character, char *to)
{
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    if (character < 0x80 || (character >= 0xdc80 && character <= 0xdcff)) {
        to[0] = (char)character;
        return 1;
    }
    const size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    to[0] = (char)(first[more] | character >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* Copies a text, and cuts it where it is too long. */
static void copy_text(uintptr_t object, char *to)
{
    enum { LONGEST = 4 };                        /* bytes of a character in UTF-8 */
    static unsigned char bytes[REC_PYTHON_TEXT]; /* the lock is held */
    struct reader reader = {.exact = false};
    struct text text;
    char *end = to;
    const size_t size = read_python_text(&reader, object, &text)
                            ? read_characters(&reader, &text, bytes, sizeof bytes)
                            : 0;
    for (size_t at = 0; at < size && end - to < REC_PYTHON_TEXT - LONGEST; at += text.width) {
        uint32_t character = 0;
        for (unsigned i = 0; i < text.width; i++) /* the lowest bits come first */
            character |= (uint32_t)bytes[at + i] << 8 * i;
        end += put_character(character, end);
    }
    *end = '\0';
}

void rec_python_describe(const struct rec_python_frame *frame, struct rec_python_place *ret_place)
{
    struct reader reader = {.exact = false};
    const struct python_layout *layout = python.layout;
    copy_text(read_address(&reader, frame->code + layout->file), ret_place->file);
    copy_text(read_address(&reader, frame->code + layout->name), ret_place->function);
    const int line = python.line_of(frame->code, frame->at);
    ret_place->line =
        line > 0 ? (uint32_t)line : read_number(&reader, frame->code + layout->first_line);
}
