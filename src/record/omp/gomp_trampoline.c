#include "record/omp/gomp_trampoline.h"

#include "record/omp/gomp.h"

enum { TRAMPOLINE_PROBES = 8 };

/* Open addressing by the code; a place is never given free. Those who come first to one at the same
 * time write the same region. */
static struct trampoline_place {
    rec_body *body;  /* atomic */
    uint32_t region; /* atomic; 0: not known yet */
} trampoline_places[256];

static void run_at(const struct trampoline_place *place, void *data)
{
    REC_COMES_AFTER(place);
    rec_gomp_run_task(__atomic_load_n(&place->body, __ATOMIC_RELAXED),
                      __atomic_load_n(&place->region, __ATOMIC_RELAXED), data);
}

/* One function for each place, 0x00 to 0xff. */
/* clang-format off */
#define ROW(X, high)                                                                       \
    X(high##0) X(high##1) X(high##2) X(high##3) X(high##4) X(high##5) X(high##6) X(high##7) \
    X(high##8) X(high##9) X(high##a) X(high##b) X(high##c) X(high##d) X(high##e) X(high##f)
#define ALL(X)                                                                             \
    ROW(X, 0x0) ROW(X, 0x1) ROW(X, 0x2) ROW(X, 0x3) ROW(X, 0x4) ROW(X, 0x5) ROW(X, 0x6)     \
    ROW(X, 0x7) ROW(X, 0x8) ROW(X, 0x9) ROW(X, 0xa) ROW(X, 0xb) ROW(X, 0xc) ROW(X, 0xd)     \
    ROW(X, 0xe) ROW(X, 0xf)
/* clang-format on */

#define DEFINE(n)                            \
    static void trampoline_##n(void *data)   \
    {                                        \
        run_at(&trampoline_places[n], data); \
    }
ALL(DEFINE)

#define ENTRY(n) trampoline_##n,
static rec_body *const trampolines[] = {ALL(ENTRY)};
_Static_assert(sizeof trampolines / sizeof *trampolines ==
                   sizeof trampoline_places / sizeof *trampoline_places,
               "one for each place");

rec_body *rec_gomp_trampoline(rec_body *body)
{
    const void *code = rec_gomp_place(body);
    const uint64_t hash = (uint64_t)(uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < TRAMPOLINE_PROBES; i++) {
        const size_t at =
            ((hash >> 40) + i) % (sizeof trampoline_places / sizeof *trampoline_places);
        struct trampoline_place *place = &trampoline_places[at];
        rec_body *there = __atomic_load_n(&place->body, __ATOMIC_ACQUIRE);
        if (!there && __atomic_compare_exchange_n(&place->body, &there, body, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            there = body;
        if (there != body)
            continue;
        if (REC_UNLIKELY(__atomic_load_n(&place->region, __ATOMIC_RELAXED) == 0))
            __atomic_store_n(&place->region, rec_omp_outlined(REC_OMP_TASK, code),
                             __ATOMIC_RELEASE);
        REC_COMES_BEFORE(place);
        return trampolines[at];
    }
    return NULL;
}
