/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/site/site.h"

#include "base/fnv.h"
#include "base/mix.h"
#include "record/libraries.h"
#include "record/report.h"
#include "record/site/python.h"
#include "record/store/definitions.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

/* ==== sites =================================================================================== */

/* MOST_THROUGH: frames that may lie between a wrapper and the program's code, in runtimes, and
 * above the wrapper in the recorder. MOST_SITES: sites that are told apart. */
enum { MOST_THROUGH = 16, MOST_SITES = 1 << 16 };

/* The place of a call and those of its callers: addresses in code, and behind them, where Python has
 * called, keys of its frames. */
struct path {
    unsigned n, n_code;
    bool fixed; /* the return address of the call alone tells the path */
    uintptr_t places[REC_MOST_CALLPATH];
};

struct rec_map rec_sites, rec_known_paths;
static struct rec_map paths; /* hash of a path and a function -> region */
static struct rec_map steps; /* return address -> a step, see below */
static pthread_mutex_t sites_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_sites;

/* A step from a return address to the next one on the stack: the bits below, and the bytes to the end
 * of the next return address; no bytes: the path cannot be followed further. PASSED: the code passes
 * a call of the program on. PYTHON: it does so for the interpreter, which is asked where it is. UNWALKED:
 * the place has been seen on stacks alone that are not walked, those of coroutines. */
enum {
    STEP_KNOWN = 1,
    STEP_PASSED = 2,
    STEP_VARIES = 4,
    STEP_PYTHON = 8,
    STEP_UNWALKED = 16,
    STEP_SHIFT = 5
};

/* ---- loaded files ---------------------------------------------------------------------------- */

static struct rec_map objects; /* hash of its path and where it lies -> its id */

/* The loaded file that holds an address. There is one of these for all threads, used with the lock
 * held, because it is too large for the stacks of some threads. */
static struct object_search {
    uintptr_t address, bias;
    bool found, own;
    unsigned passed; /* bits of a step, see below */
    char path[REC_MOST_PATH];
    char build_id[REC_BUILD_ID]; /* hexadecimal */
} searched_object;

/* NT_GNU_BUILD_ID among the notes of a segment. */
static void find_build_id(const char *notes, size_t size, struct object_search *search)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, text = name + (note.n_namesz + 3U) / 4 * 4;
        size_t next = text + (note.n_descsz + 3U) / 4 * 4;
        if (next > size)
            return;
        if (note.n_type == 3 && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            note.n_descsz * 2 < sizeof search->build_id) {
            for (size_t i = 0; i < note.n_descsz; i++) {
                unsigned char byte = (unsigned char)notes[text + i];
                search->build_id[2 * i] = digits[byte >> 4];
                search->build_id[2 * i + 1] = digits[byte & 15];
            }
            search->build_id[2 * note.n_descsz] = '\0';
            return;
        }
        at = next;
    }
}

static const char *object_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Beginnings of the names of libraries that pass calls of a program on: what they call, the program has
 * called. The manual has this list (docs/record-reference.md, "Call sites"). */
/* clang-format off */
static const char *const passing_names[] = {
    "libmpi", "libfmpich", "libpmpi", "libcaf_",                                /* MPI */
    "libgfortran", "libflang", "libFortran", "libifcore", "libnvf", "libpgf90", /* Fortran */
    "libstdc++", "libc++", "libgcc_s", "libc.so", "libc-", "libpthread",        /* C++ and C */
    "libgomp", "libomp", "libiomp",                                             /* OpenMP */
    "libOpenCL",                                                                /* OpenCL */
    "libcuda", "libcupti",                                                      /* CUDA: libcudart, too */
    "libamdhip", "librocprofiler", "libhsa-",                                   /* ROCm */
    NULL,
};
static const char *const python_names[] = {
    "libpython", "_ctypes.", "_cffi_backend.", "libffi", /* and those of passed_of */
    NULL,
};
/* clang-format on */

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* "python3.11" */
static bool is_interpreter(const char *name)
{
    return begins(name, "python") && name[strspn(name, "python.0123456789")] == '\0';
}

static bool begins_like(const char *name, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (begins(name, *beginnings))
            return true;
    return false;
}

/* Which bits of a step the file has. Python is asked where its interpreter calls, or what binds it to
 * MPI or to C. */
static unsigned passed_of(const char *path)
{
    const char *name = object_file_name(path);
    if (is_interpreter(name) || begins_like(name, python_names) || strstr(path, "/mpi4py/MPI."))
        return STEP_PASSED | STEP_PYTHON;
    return begins_like(name, passing_names) ? STEP_PASSED : 0;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct object_search *search = context;
    (void)size;
    if (!rec_file_holds(info, search->address))
        return 0;
    search->found = true;
    search->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum && !search->build_id[0]; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            find_build_id((const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                          info->dlpi_phdr[i].p_memsz, search);
    const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    if (!realpath(name, search->path))
        snprintf(search->path, sizeof search->path, "%s", name);
    search->passed = passed_of(search->path) | passed_of(name);
    search->own = rec_file_holds(info, (uintptr_t)&searched_object);
    return 1;
}

/* With the lock held: fills in `object`. */
static bool find_object(uintptr_t address)
{
    searched_object.address = address;
    searched_object.found = false;
    searched_object.path[0] = searched_object.build_id[0] = '\0';
    dl_iterate_phdr(look_at_object, &searched_object);
    return searched_object.found;
}

/* With the lock held: the id of a file. `hash` tells it from others; 0: it cannot be defined. */
static uint32_t id_of_file(uint64_t hash, const char *path, const char *build_id,
                           const char *function)
{
    hash = lull_fnv(hash, path, strlen(path)) | 1;
    uint32_t id = (uint32_t)rec_map_get(&objects, (uintptr_t)hash);
    if (id == 0 && (id = rec_define_object(path, build_id, function)) != 0)
        rec_map_put(&objects, (uintptr_t)hash, id);
    return id;
}

/* With the lock held: of `searched_object`. */
static uint32_t id_of_object(void)
{
    const uint64_t hash =
        lull_fnv(LULL_FNV_BEGIN, &searched_object.bias, sizeof searched_object.bias);
    return id_of_file(hash, searched_object.path, searched_object.build_id, NULL);
}

/* Where Python was when the last path was learned, and what the interpreter says of one of these
 * places. With the lock held. */
static struct rec_python_frame python_frames[REC_MOST_CALLPATH];
static struct rec_python_place python_place;

/* With the lock held. */
static uint32_t id_of_source(const char *file, const char *function)
{
    const uint64_t hash = lull_fnv(LULL_FNV_BEGIN, function, strlen(function) + 1);
    return id_of_file(hash, file, "", function);
}

/* ---- walking the stack ------------------------------------------------------------------------ */

static void ask_for_stack(struct rec_thread *self)
{
    pthread_attr_t attributes;
    void *begin;
    size_t size;
    self->stack_begin = self->stack_end = 1; /* nothing lies in there */
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
        self->stack_begin = (uintptr_t)begin;
        self->stack_end = (uintptr_t)begin + size;
    }
    pthread_attr_destroy(&attributes);
}

static REC_COLD void find_thread_stack(struct rec_thread *self)
{
    const struct rec_aside aside = rec_step_aside();
    ask_for_stack(self);
    rec_step_back(&aside);
}

bool rec_site_is_stack(struct rec_thread *self, uintptr_t frame)
{
    if (REC_UNLIKELY(self->stack_end == 0))
        find_thread_stack(self);
    return frame >= self->stack_begin && frame < self->stack_end;
}

/* The address where reading the stack has to stop; at once on a stack that is not the thread's own
 * (of a coroutine). */
static uintptr_t limit_of(const struct rec_thread *self, uintptr_t frame)
{
    return frame >= self->stack_begin && frame < self->stack_end ? self->stack_end : frame;
}

/* A call of the function with this number, by rec_site_region. */
struct call {
    unsigned function;
    uintptr_t from, frame;
    unsigned most; /* places that its path has at most */
};

static bool is_system(const struct call *call)
{
    return call->function >= REC_SYSTEM_SITES;
}

/* Programs have wrappers of MPI, whose callers tell more than the wrapper does: where nothing is asked
 * for, calls of MPI have three places. They cost few bytes, because a record has the number of a path
 * (docs/record-reference.md has the measurement). The system is called in other ways, and often
 * without MPI, where loading the unwinder would move the blocks of the program's heap. */
static unsigned most_places(unsigned function)
{
    enum { PLACES_OF_MPI = 3 };
    if (rec_process.callpath > 0)
        return rec_process.callpath;
    return function < REC_SYSTEM_SITES ? PLACES_OF_MPI : 1;
}

/* Adds the places in Python; false: there are none. */
static bool add_python(struct path *path, const struct rec_python_frame *frames, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        path->places[path->n++] = (uintptr_t)frames[i].key;
    return n > 0;
}

/* Makes the place of the call a path where nobody else has a place. */
static void end_path(struct path *path, const struct call *call)
{
    if (path->n == 0) {
        path->places[0] = call->from;
        path->n = path->n_code = 1;
    }
    path->fixed = call->most == 1 && !(rec_map_get(&steps, call->from) & STEP_PASSED);
}

/* Walks a path by the steps that are known; false: a step on the way has not been seen before. */
static bool walk(const struct rec_thread *self, const struct call *call, struct path *path)
{
    const uintptr_t limit = limit_of(self, call->frame);
    uintptr_t place = call->from, at = call->frame;
    path->n = path->n_code = 0;
    for (unsigned frames = 0; frames < REC_MOST_CALLPATH + MOST_THROUGH; frames++) {
        uintptr_t step = rec_map_get(&steps, place);
        if (step == 0 || (step & STEP_UNWALKED && limit > at))
            return false;
        if (step & STEP_PYTHON) {
            struct rec_python_frame in_python[REC_MOST_CALLPATH];
            unsigned n;
            if (!rec_python_frames(in_python, call->most - path->n, !is_system(call), &n))
                return false;
            if (add_python(path, in_python, n))
                break;
        }
        if (!(step & STEP_PASSED)) {
            path->places[path->n++] = place;
            path->n_code = path->n;
            if (path->n == call->most)
                break;
        }
        uintptr_t bytes = step >> STEP_SHIFT;
        if (bytes == 0 || bytes > limit - at)
            break;
        at += bytes;
        place = ((const uintptr_t *)at)[-1];
    }
    end_path(path, call);
    return true;
}

/* ---- paths that are known as a whole ---------------------------------------------------------- */

/* All known paths, in blocks; with the lock held. */
enum { PATHS_AT_A_TIME = 256, MOST_PATH_BLOCKS = 64 };
static struct rec_known_path *path_blocks[MOST_PATH_BLOCKS];
static unsigned n_known;

/* With the lock held: the step from a place varies, so that the words of a known path over it may be
 * there where a call has come along another path. Such paths are learned again, and end there. */
static void forget_known_paths(uintptr_t place)
{
    for (unsigned i = 0; i < n_known; i++) {
        struct rec_known_path *known = &path_blocks[i / PATHS_AT_A_TIME][i % PATHS_AT_A_TIME];
        bool over = known->n > 0 && known->from == place;
        for (unsigned word = 0; word + 1 < known->n; word++)
            over = over || known->words[word].place == place;
        if (over)
            __atomic_store_n(&known->region, 0, __ATOMIC_RELAXED);
    }
}

/* With the lock held. Paths for which there is no room are walked. */
static void keep_known_path(const struct call *call, const struct rec_known_path *path)
{
    const uintptr_t key = rec_site_key((const void *)call->from, call->function);
    struct rec_known_path **block = &path_blocks[n_known / PATHS_AT_A_TIME];
    if (n_known == PATHS_AT_A_TIME * MOST_PATH_BLOCKS)
        return;
    if (!*block) {
        void *more = mmap(NULL, PATHS_AT_A_TIME * sizeof **block, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED)
            return;
        *block = more;
    }
    struct rec_known_path *kept = &(*block)[n_known % PATHS_AT_A_TIME];
    *kept = *path;
    kept->next = (const struct rec_known_path *)rec_map_get(&rec_known_paths, key);
    n_known++;
    rec_map_put(&rec_known_paths, key, (uintptr_t)kept);
}

/* A path that was forgotten and learned again stands before the forgotten one. */
uint32_t rec_site_known_behind(const struct rec_known_path *known, const struct rec_thread *self,
                               uintptr_t frame)
{
    enum { MOST_TRIED = 8 };
    for (unsigned i = 1; i < MOST_TRIED && (known = known->next); i++)
        if (rec_site_is_path(known, self, frame))
            return __atomic_load_n(&known->region, __ATOMIC_RELAXED);
    return 0;
}

/* With the lock held. */
static void keep_step(uintptr_t place, unsigned passed, uintptr_t bytes)
{
    uintptr_t known = rec_map_get(&steps, place);
    uintptr_t step = STEP_KNOWN | passed | bytes << STEP_SHIFT;
    if (known == step || known & STEP_VARIES || (known != 0 && passed & STEP_UNWALKED))
        return;
    const bool varies = known != 0 && !(known & STEP_UNWALKED);
    if (varies)
        step = STEP_KNOWN | STEP_VARIES | (known & (STEP_PASSED | STEP_PYTHON));
    rec_map_put(&steps, place, step);
    if (varies)
        forget_known_paths(place);
}

/* The unwinder of the compiler's run-time library, which is loaded when it is needed first. */
static struct {
    __typeof__(&_Unwind_Backtrace) backtrace; /* NULL: there is none */
    __typeof__(&_Unwind_GetIP) place;
    __typeof__(&_Unwind_GetCFA) stack;
    __typeof__(&_Unwind_GetRegionStart) start;
    bool looked_for; /* atomic */
} unwinder;

/* Two threads may find the same at a time. */
static bool has_unwinder(void)
{
    if (__atomic_load_n(&unwinder.looked_for, __ATOMIC_ACQUIRE))
        return unwinder.backtrace != NULL;
    void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *backtrace = library ? dlsym(library, "_Unwind_Backtrace") : NULL;
    void *place = library ? dlsym(library, "_Unwind_GetIP") : NULL;
    void *stack = library ? dlsym(library, "_Unwind_GetCFA") : NULL;
    void *start = library ? dlsym(library, "_Unwind_GetRegionStart") : NULL;
    const bool good = backtrace && place && stack && start;
    if (good) {
        memcpy(&unwinder.place, &place, sizeof place);
        memcpy(&unwinder.stack, &stack, sizeof stack);
        memcpy(&unwinder.start, &start, sizeof start);
        memcpy(&unwinder.backtrace, &backtrace, sizeof backtrace);
    }
    __atomic_store_n(&unwinder.looked_for, true, __ATOMIC_RELEASE);
    return good;
}

void rec_site_prepare(struct rec_thread *self)
{
    rec_site_is_stack(self, 0);
    has_unwinder();
}

struct enclosing {
    uintptr_t place, frame;
    struct rec_enclosing found;
};

static _Unwind_Reason_Code find_enclosing(struct _Unwind_Context *context, void *argument)
{
    struct enclosing *search = argument;
    if (search->found.start != 0) {
        search->found.frame = unwinder.stack(context);
        return _URC_END_OF_STACK;
    }
    if (unwinder.place(context) == search->place && unwinder.stack(context) == search->frame)
        search->found.start = unwinder.start(context);
    return _URC_NO_REASON;
}

struct rec_enclosing rec_site_enclosing(const void *place, const void *frame)
{
    struct enclosing search = {.place = (uintptr_t)place, .frame = (uintptr_t)frame};
    if (has_unwinder())
        unwinder.backtrace(find_enclosing, &search);
    return search.found;
}

/* The frames from the one on that has called the wrapper, up to the one that has called the last place
 * of a path: the unwinder need not go where the program's stack may end oddly. */
struct frames {
    uintptr_t from, frame;
    unsigned n, most, own; /* own: frames that are not passed over, `most` of the path */
    struct {
        uintptr_t place, stack; /* return address; where it lies, or a little below */
        unsigned passed;        /* bits of a step */
    } all[REC_MOST_CALLPATH + MOST_THROUGH];
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
    struct frames *frames = argument;
    uintptr_t place = unwinder.place(context), stack = unwinder.stack(context);
    if (frames->n == 0 && (place != frames->from || stack != frames->frame))
        return _URC_NO_REASON;
    const unsigned passed = find_object(place) ? searched_object.passed : 0;
    frames->own += !(passed & STEP_PASSED);
    frames->all[frames->n].place = place;
    frames->all[frames->n].stack = stack;
    frames->all[frames->n++].passed = passed;
    const bool more = frames->own <= frames->most && !(passed & STEP_PYTHON) &&
                      frames->n < sizeof frames->all / sizeof *frames->all;
    return more ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Bytes from frame `i` to the end of the word that holds the return address of the next frame; 0:
 * it is not where it is expected. Where calls do not push the return address, it lies somewhere in
 * between. */
static uintptr_t bytes_to_next(const struct frames *frames, unsigned i, uintptr_t at,
                               uintptr_t limit)
{
    if (i + 1 >= frames->n)
        return 0;
    uintptr_t end = frames->all[i + 1].stack, value = frames->all[i + 1].place;
    for (; end > at && end <= limit && (end - at) % sizeof value == 0; end -= sizeof value)
        if (((const uintptr_t *)end)[-1] == value)
            return end - at;
    return 0;
}

/* Adds a word to a known path; one with too many has none. */
static void add_word(struct rec_known_path *known, uintptr_t bytes, uintptr_t place, bool *whole)
{
    *whole = *whole && known->n < REC_PATH_WORDS;
    if (!*whole)
        return;
    known->words[known->n].bytes = bytes;
    known->words[known->n++].place = place;
}

/* With the lock held: asks the unwinder for the path, and keeps its steps for `walk`. `known` gets its
 * words, none where these do not tell the path. */
static void learn(const struct rec_thread *self, const struct call *call, struct path *path,
                  struct rec_known_path *known)
{
    const unsigned passed = find_object(call->from) ? searched_object.passed : 0;
    bool whole = true;
    path->n = path->n_code = known->n = 0;
    if (!searched_object.found || (!(passed & STEP_PASSED) && call->most == 1)) {
        keep_step(call->from, passed, 0);
        end_path(path, call);
        return;
    }
    const uintptr_t limit = limit_of(self, call->frame);
    struct frames frames = {.from = call->from, .frame = call->frame, .most = call->most};
    if (limit > call->frame && has_unwinder())
        unwinder.backtrace(add_frame, &frames);
    if (frames.n == 0) {
        frames.all[0].place = call->from;
        frames.all[0].passed = passed | (limit > call->frame ? 0 : STEP_UNWALKED);
        frames.n = 1;
    }
    uintptr_t at = call->frame;
    for (unsigned i = 0; i < frames.n && path->n < call->most; i++) {
        uintptr_t place = frames.all[i].place, bytes = bytes_to_next(&frames, i, at, limit);
        const unsigned flags = frames.all[i].passed;
        keep_step(place, flags, bytes);
        whole = whole && !(flags & STEP_PYTHON);
        if (flags & STEP_PYTHON &&
            add_python(path, python_frames, rec_python_learn(python_frames, call->most - path->n)))
            break;
        if (!(flags & STEP_PASSED)) {
            path->places[path->n++] = place;
            path->n_code = path->n;
        }
        if (bytes == 0 || rec_map_get(&steps, place) & STEP_VARIES)
            break;
        at += bytes;
        if (path->n < call->most)
            add_word(known, at - call->frame, frames.all[i + 1].place, &whole);
    }
    end_path(path, call);
    /* A path that comes through a function more than once may have found just now that its step
     * varies. */
    for (unsigned i = 0; i < known->n; i++)
        whole = whole && !(rec_map_get(&steps, i > 0 ? known->words[i - 1].place : call->from) &
                           STEP_VARIES);
    known->n = whole ? known->n : 0;
}

/* ---- sites ----------------------------------------------------------------------------------- */

static uintptr_t key_of_path(const struct path *path, unsigned function)
{
    uint64_t hash = lull_mix(0, function + 1);
    for (unsigned i = 0; i < path->n; i++)
        hash = lull_mix(hash, path->places[i]);
    return (uintptr_t)hash | 1;
}

static void tell_full(void)
{
    static bool told;
    if (!told)
        rec_report_say(
            "more than %d functions and places of calls: those that come now are not told "
            "apart",
            MOST_SITES);
    told = true;
}

/* Adds a place in code to a site. A return address is that of the next instruction: the instruction
 * before it makes the call. Where that is in the recorder, a function of the program that the recorder
 * has called ended in a jump, and nothing is known of that function: false. */
static bool add_code(struct rec_site *site, uintptr_t place)
{
    const bool calls = site->code == LULL_TAPE_CODE_CALLS || site->code == LULL_TAPE_CODE_PATHS;
    const uintptr_t at = place - calls;
    const uint32_t id = find_object(at) && !searched_object.own ? id_of_object() : 0;
    if (id == 0)
        return false;
    site->objects[site->n] = id;
    site->offsets[site->n++] = at - searched_object.bias;
    return true;
}

/* Adds a place in Python: file and function are its object, the line is its offset. */
static bool add_source(struct rec_site *site, const struct rec_python_frame *frame)
{
    rec_python_describe(frame, &python_place);
    const uint32_t id = id_of_source(python_place.file, python_place.function);
    if (id == 0)
        return false;
    site->objects[site->n] = id;
    site->offsets[site->n++] = python_place.line;
    return true;
}

/* With the lock held. A path that leads through Python has just been learned. */
static uint32_t define_site(uint32_t parent, const struct path *path, unsigned code)
{
    struct rec_site site = {.region = parent, .code = code};
    for (unsigned i = 0; i < path->n; i++)
        if (!(i < path->n_code ? add_code(&site, path->places[i])
                               : add_source(&site, &python_frames[i - path->n_code])))
            break;
    const bool fits = n_sites < MOST_SITES;
    if (site.n > 0 && !fits)
        tell_full();
    uint32_t id = site.n > 0 && fits ? rec_define_site(&site) : 0;
    n_sites += id != 0;
    return id != 0 ? id : parent;
}

static uint32_t region_of_path(uint32_t parent, unsigned function, const struct path *path)
{
    uintptr_t key = key_of_path(path, function);
    uint32_t region = (uint32_t)rec_map_get(&paths, key);
    if (region != 0)
        return region;
    region = define_site(parent, path,
                         rec_process.callpath > 0 ? LULL_TAPE_CODE_PATHS : LULL_TAPE_CODE_CALLS);
    rec_map_put(&paths, key, region);
    return region;
}

static uint32_t learn_region(struct rec_thread *self, uint32_t parent, const struct call *call)
{
    struct path path;
    struct rec_known_path known = {.from = call->from};
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&sites_lock);
    learn(self, call, &path, &known);
    uint32_t region = known.region = region_of_path(parent, call->function, &path);
    if (known.n > 0 || (path.fixed && !is_system(call)))
        keep_known_path(call, &known);
    if (path.fixed)
        rec_map_put(&rec_sites, rec_site_key((const void *)call->from, call->function), region);
    rec_unlock(&sites_lock);
    rec_step_back(&aside);
    return region;
}

uint32_t rec_site_region(struct rec_thread *self, uint32_t parent, unsigned function,
                         const void *from, const void *frame)
{
    const struct call call = {function, (uintptr_t)from, (uintptr_t)frame, most_places(function)};
    struct path path;
    if (self->stack_end == 0)
        find_thread_stack(self);
    uint32_t region = rec_site_known(self, function, from, frame);
    if (region == 0)
        region = (uint32_t)rec_map_get(&rec_sites, rec_site_key(from, function));
    if (region != 0)
        return region;
    if (walk(self, &call, &path) && !path.fixed) {
        region = (uint32_t)rec_map_get(&paths, key_of_path(&path, function));
        if (region != 0)
            return region;
    }
    return learn_region(self, parent, &call);
}

/* The path that is a single place in code. */
static struct path path_of_place(const void *place)
{
    return (struct path){.n = 1, .n_code = 1, .places = {(uintptr_t)place}};
}

uint32_t rec_site_of_place(uint32_t parent, unsigned function, const void *from)
{
    const struct path path = path_of_place(from);
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&sites_lock);
    uint32_t region = region_of_path(parent, function, &path);
    rec_map_put(&rec_sites, rec_site_key(from, function), region);
    rec_unlock(&sites_lock);
    rec_step_back(&aside);
    return region;
}

static uint32_t define_code(uint32_t parent, const void *code, unsigned what)
{
    const struct path path = path_of_place(code);
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&sites_lock);
    uint32_t id = define_site(parent, &path, what);
    rec_unlock(&sites_lock);
    rec_step_back(&aside);
    return id;
}

uint32_t rec_site_of_code(uint32_t parent, const void *code)
{
    return define_code(parent, code, LULL_TAPE_CODE_BLOCK);
}

uint32_t rec_site_of_function(uint32_t parent, const void *function)
{
    return define_code(parent, function, LULL_TAPE_CODE_FUNCTION);
}

bool rec_site_bias(uintptr_t address, uintptr_t *ret_bias)
{
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&sites_lock);
    const bool found = find_object(address);
    *ret_bias = searched_object.bias;
    rec_unlock(&sites_lock);
    rec_step_back(&aside);
    return found;
}

uint32_t rec_site_object(uintptr_t address, uintptr_t *ret_bias)
{
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&sites_lock);
    const uint32_t id = find_object(address) ? id_of_object() : 0;
    *ret_bias = searched_object.bias;
    rec_unlock(&sites_lock);
    rec_step_back(&aside);
    return id;
}

uint32_t rec_site_source(const char *file, const char *function)
{
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&sites_lock);
    const uint32_t id = id_of_source(file, function);
    rec_unlock(&sites_lock);
    rec_step_back(&aside);
    return id;
}

bool rec_site_loaded(uintptr_t address, struct rec_loaded *ret_file)
{
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&sites_lock);
    const bool found = find_object(address);
    ret_file->bias = searched_object.bias;
    memcpy(ret_file->path, searched_object.path, sizeof ret_file->path);
    memcpy(ret_file->build_id, searched_object.build_id, sizeof ret_file->build_id);
    rec_unlock(&sites_lock);
    rec_step_back(&aside);
    return found;
}

/* ==== calls that never return ================================================================= */

/* Whether an open call is below in the stack, which grows downwards, and its return address still
 * stands where it was called. */
__attribute__((no_sanitize("address"))) static bool is_below(const struct rec_thread *self,
                                                             uintptr_t frame)
{
    if (frame >= self->frame)
        return false;
#if defined(__x86_64__)
    return ((const uintptr_t *)self->frame)[-1] == self->from;
#else
    return true;
#endif
}

/* How long the call took is not known. An error handler is called at once, so the call counts
 * without time. */
bool rec_forget_left(struct rec_thread *self, uintptr_t frame)
{
    if (self->frame == 0 || REC_LIKELY(is_below(self, frame)) || !rec_site_is_stack(self, frame) ||
        !rec_site_is_stack(self, self->frame))
        return false;
    const struct lull_tape_record open = self->at->record;
    if (!self->paused && lull_tape_kind_of(open.head) == LULL_TAPE_CALL &&
        open.value == LULL_TAPE_OPEN)
        rec_call(self, lull_tape_id_of(open.head), open.time, 0);
    self->frame = 0;
    rec_gate_open(self);
    return true;
}
