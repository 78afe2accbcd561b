/* Loops, sections and the like, as LLVM's runtime tells them. */
#include "record/omp/ompt.h"
#include "record/omp/team.h"

static enum rec_omp_region work_region(int type)
{
    switch (type) {
    case OMPT_WORK_SECTIONS:
        return REC_OMP_SECTIONS;
    case OMPT_WORK_SINGLE_EXECUTOR:
    case OMPT_WORK_SINGLE_OTHER:
        return REC_OMP_SINGLE;
    case OMPT_WORK_WORKSHARE:
    case OMPT_WORK_SCOPE:
        return REC_OMP_WORKSHARE;
    case OMPT_WORK_DISTRIBUTE:
        return REC_OMP_DISTRIBUTE;
    case OMPT_WORK_TASKLOOP:
        return REC_OMP_TASKLOOP_NOGROUP;
    default: /* later versions tell the schedules apart */
        return REC_OMP_FOR;
    }
}

void rec_ompt_work(int type, int endpoint, union ompt_data *parallel, union ompt_data *task,
                   uint64_t count, const void *code)
{
    (void)parallel, (void)task, (void)count;
    const enum rec_omp_region construct = work_region(type);
    struct rec_thread *self = endpoint == OMPT_BEGIN ? rec_omp_self() : NULL;
    if (endpoint == OMPT_END) {
        rec_omp_leave(construct, rec_ompt_end_request(rec_current()));
        return;
    }
    if (!self) {
        rec_omp_skip();
        return;
    }
    struct rec_omp *omp = rec_omp_of(self);
    rec_omp_enter_shared(self, construct, rec_omp_called_from(omp, code));
    if (omp->n_constructs <= REC_OMP_DEPTH)
        omp->cancellable[omp->n_constructs - 1] =
            construct == REC_OMP_FOR || construct == REC_OMP_SECTIONS;
}
