/* Tasks: the runtime copies a block of arguments for each and calls the task's code with it. It is
 * given code of ours around the program's. Which that is, the function of ours knows of its own
 * (gomp_trampoline.h); where there is none left, a larger block says it, with a head of ours. */
#include "record/omp/gomp.h"
#include "record/omp/gomp_trampoline.h"

#include <string.h>

enum {
    NOGROUP = 1 << 11,
    REDUCES = 1 << 12,
    DETACHES = 1 << 13
}; /* of the flags of a task and of a taskloop */

/* At the start of the block. The runtime writes a taskloop's bounds into the first two words; the
 * program's own block stands `offset` bytes behind, aligned as it asks. */
struct head {
    uint64_t bounds[2];
    rec_body *body;
    uint32_t region;
    uint32_t offset;
};

/* What is copied from: lives while the task is made. Its first words are those that the runtime
 * reads or writes in the program's block: the handle of the event of a task that detaches, or the
 * bounds and reductions of a taskloop. */
struct source {
    uint64_t words[3];
    struct head head;
    void *data;
    rec_copy *copy;
    size_t size;
    bool detaches;
};

static void copy(void *to, void *from)
{
    const struct source *source = from;
    memcpy(to, &source->head, sizeof source->head);
    void *data = (char *)to + source->head.offset;
    if (source->detaches && source->data)
        memcpy(source->data, &source->words[0], sizeof(void *));
    if (source->copy)
        source->copy(data, source->data);
    else if (source->size > 0)
        memcpy(data, source->data, source->size);
    REC_COMES_BEFORE(to);
}

void rec_gomp_run_task(rec_body *body, uint32_t region, void *data)
{
    struct rec_thread *self = rec_omp_self();
    if (self)
        rec_omp_task_begin(self, region);
    rec_gomp_run(body, data);
    if (self)
        rec_omp_task_end(self, region);
    REC_COMES_BEFORE(&rec_omp_tasks_ended);
}

static void run_task(void *block)
{
    const struct head *head = block;
    REC_COMES_AFTER(block);
    rec_gomp_run_task(head->body, head->region, (char *)block + head->offset);
}

static void run_taskloop(void *block)
{
    const struct head *head = block;
    REC_COMES_AFTER(block);
    char *data = (char *)block + head->offset;
    memcpy(data, head->bounds, sizeof head->bounds);
    rec_gomp_run_task(head->body, head->region, data);
}

static void prepare(struct source *source, rec_body *body, void *data, rec_copy *copier, long size,
                    long *align)
{
    if (*align < (long)_Alignof(struct head))
        *align = _Alignof(struct head);
    size_t head = (sizeof(struct head) + (size_t)*align - 1) / (size_t)*align * (size_t)*align;
    *source = (struct source){
        .head = {.body = body,
                 .region = rec_omp_outlined(REC_OMP_TASK, rec_gomp_place(body)),
                 .offset = (uint32_t)head},
        .data = data,
        .copy = copier,
        .size = size > 0 ? (size_t)size : 0,
    };
}

void GOMP_task(rec_body *body, void *data, rec_copy *copier, long size, long align, bool deferred,
               unsigned flags, void **depend, int priority, void *detach)
{
    const struct rec_gomp *gomp = rec_gomp_at(rec_gomp_place(body));
    struct rec_thread *self = rec_gomp_self(gomp);
    if (!self) {
        gomp->GOMP_task(body, data, copier, size, align, deferred, flags, depend, priority, detach);
        return;
    }
    rec_body *trampoline = rec_gomp_trampoline(body);
    struct source source;
    if (REC_UNLIKELY(!trampoline)) {
        prepare(&source, body, data, copier, size, &align);
        source.detaches = flags & DETACHES;
        trampoline = run_task;
        data = &source;
        copier = copy;
        size = (long)(source.head.offset + source.size);
    }
    /* gcc does not tell the line of such a call. */
    const void *place = rec_omp_place_of(rec_gomp_place(body));
    const struct rec_call made = rec_gomp_open_for(self, REC_OMP_TASK_CREATE, place);
    gomp->GOMP_task(trampoline, data, copier, size, align, deferred, flags, depend, priority,
                    detach);
    rec_gomp_close(&made);
}

#define TASKLOOP(name)                                                                           \
    const struct rec_gomp *gomp = rec_gomp_at(rec_gomp_place(body));                             \
    struct rec_thread *self = rec_gomp_self(gomp);                                               \
    if (!self) {                                                                                 \
        gomp->name(body, data, copier, size, align, flags, tasks, priority, begin, end, step);   \
        return;                                                                                  \
    }                                                                                            \
    rec_body *trampoline = rec_gomp_trampoline(body);                                            \
    struct source source;                                                                        \
    if (REC_UNLIKELY(!trampoline)) {                                                             \
        prepare(&source, body, data, copier, size, &align);                                      \
        if (flags & REDUCES)                                                                     \
            memcpy(source.words, data, sizeof source.words);                                     \
        trampoline = run_taskloop;                                                               \
        data = &source;                                                                          \
        copier = copy;                                                                           \
        size = (long)(source.head.offset + source.size);                                         \
    }                                                                                            \
    struct rec_call made = rec_gomp_open_for(                                                    \
        self, flags & NOGROUP ? REC_OMP_TASKLOOP_NOGROUP : REC_OMP_TASKLOOP, REC_CALLER);        \
    gomp->name(trampoline, data, copier, size, align, flags, tasks, priority, begin, end, step); \
    rec_gomp_close(&made)

void GOMP_taskloop(rec_body *body, void *data, rec_copy *copier, long size, long align,
                   unsigned flags, unsigned long tasks, int priority, long begin, long end,
                   long step)
{
    TASKLOOP(GOMP_taskloop);
}

void GOMP_taskloop_ull(rec_body *body, void *data, rec_copy *copier, long size, long align,
                       unsigned flags, unsigned long tasks, int priority, rec_ull begin,
                       rec_ull end, rec_ull step)
{
    TASKLOOP(GOMP_taskloop_ull);
}

/* ---- waiting for tasks ----------------------------------------------------------------------- */

void GOMP_taskwait(void)
{
    REC_GOMP_CALL(REC_OMP_TASK_WAIT, gomp->GOMP_taskwait());
}

void GOMP_taskwait_depend(void **depend)
{
    REC_GOMP_CALL(REC_OMP_TASK_WAIT, gomp->GOMP_taskwait_depend(depend));
}

void GOMP_taskyield(void)
{
    REC_GOMP_CALL(REC_OMP_TASK_YIELD, gomp->GOMP_taskyield());
}

void GOMP_taskgroup_end(void)
{
    REC_GOMP_CALL(REC_OMP_TASKGROUP, gomp->GOMP_taskgroup_end());
}
