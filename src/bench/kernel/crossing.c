/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors that cross from one cache line to the next, beside vectors that lie within a line: 256
 * loads or stores in the first cache, one per line, of each width. No measured access overlaps
 * another one but for the lines that both touch. */
#include "bench/benchmark.h"
#include "bench/kernel/x86.h"

enum { LINE_BYTES = 64, LINES = 256, GROUP_LINES = 8 };

/* Where in a line vectors begin that cross to the next one: at its last 8 bytes, as those of
 * neighbours in a row of doubles do. Half a vector before its end would be no crossing where the
 * core takes 64 bytes as two halves: on an AMD EPYC of family 25 (Zen 4) a load takes 1.1 cycles
 * there as it does within a line, and 1.65 everywhere else. */
enum { CROSSING_PLACE = LINE_BYTES - 8 };

#if defined(__x86_64__)

typedef void access_code(const char *first);

#define LOAD(MOV, W, K)  LULL_DO(MOV " 64*" #K "(%[at]), " LULL_REG(W, K))
#define STORE(MOV, W, K) LULL_DO(MOV " " LULL_REG(W, K) ", 64*" #K "(%[at])")
#define GROUP(WAY, MOV, W) \
    WAY(MOV, W, 0)         \
    WAY(MOV, W, 1)         \
    WAY(MOV, W, 2) WAY(MOV, W, 3) WAY(MOV, W, 4) WAY(MOV, W, 5) WAY(MOV, W, 6) WAY(MOV, W, 7)
#define ACCESSES(name, WAY, MOV, W)                                                     \
    static void name(const char *first)                                                 \
    {                                                                                   \
        for (const char *at = first; at < first + LINES * LINE_BYTES;                   \
             at += GROUP_LINES * LINE_BYTES)                                            \
            __asm__ volatile(GROUP(WAY, MOV, W) : : [at] "r"(at) : LULL_ALL_REGISTERS); \
    }

ACCESSES(crossing_load_sse, LOAD, "movups", "xmm")
ACCESSES(crossing_load_avx2, LOAD, "vmovups", "ymm")
ACCESSES(crossing_load_avx512, LOAD, "vmovups", "zmm")
ACCESSES(crossing_store_sse, STORE, "movups", "xmm")
ACCESSES(crossing_store_avx2, STORE, "vmovups", "ymm")
ACCESSES(crossing_store_avx512, STORE, "vmovups", "zmm")

static access_code *const codes[2][LULL_SIMD_WIDTHS] = {
    {NULL, crossing_load_sse, crossing_load_avx2, crossing_load_avx512},
    {NULL, crossing_store_sse, crossing_store_avx2, crossing_store_avx512}};
static const char *const ways[2] = {"load", "store"};

struct access_job {
    access_code *code;
    const char *first;
};

static void run_accesses(void *context, unsigned thread, uint64_t repetitions)
{
    const struct access_job *job = context;
    (void)thread;
    for (uint64_t i = 0; i < repetitions; i++)
        job->code(job->first);
}

static lull_status visit_accesses(struct lull_bench *bench, const struct lull_task *task,
                                  double seconds, struct lull_error *err)
{
    const struct lull_timing timing = {.body = run_accesses,
                                       .context = task->data,
                                       .threads = 1,
                                       .seconds = seconds,
                                       .clock = true};
    return lull_bench_time(bench, task, &timing, err);
}

static void plan_access(struct lull_bench *bench, const char *lines, unsigned way,
                        enum lull_simd simd, bool crosses)
{
    unsigned bytes = lull_simd_bytes(simd);
    struct access_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    *job = (struct access_job){codes[way][simd], lines + (crosses ? CROSSING_PLACE : 0)};
    const struct lull_probe probe = {.name = lull_bench_text(bench, "%s.%s.%s.1",
                                                             crosses ? "crossing" : "within",
                                                             ways[way], lull_simd_name(simd)),
                                     .unit = "B/s",
                                     .amount = (double)LINES * bytes};
    const struct lull_task task = {.name = probe.name,
                                   .visit = visit_accesses,
                                   .data = job,
                                   .first_probe = lull_bench_probe(bench, &probe),
                                   .n_probes = 1,
                                   .share = 0.1};
    lull_bench_task(bench, &task);
}

static lull_status plan_crossing(const struct lull_benchmark *self, struct lull_bench *bench,
                                 struct lull_error *err)
{
    (void)self, (void)err;
    char *memory = lull_arena_zero(bench->arena, LINES + 3, LINE_BYTES);
    memory += LINE_BYTES - (uintptr_t)memory % LINE_BYTES;
    for (unsigned way = 0; way < 2; way++)
        for (int simd = LULL_SIMD_SSE; simd < LULL_SIMD_WIDTHS; simd++)
            if (lull_simd_usable((enum lull_simd)simd, false)) {
                plan_access(bench, memory, way, (enum lull_simd)simd, false);
                plan_access(bench, memory, way, (enum lull_simd)simd, true);
            }
    return LULL_OK;
}

#else

static lull_status plan_crossing(const struct lull_benchmark *self, struct lull_bench *bench,
                                 struct lull_error *err)
{
    (void)err;
    lull_bench_skip(bench, "%s: only known on x86-64", self->name);
    return LULL_OK;
}

#endif

const struct lull_benchmark lull_bench_crossing = {
    .name = "crossing",
    .group = "bandwidth",
    .summary = "loads and stores that cross cache lines, in the first cache",
    .plan = plan_crossing,
};
