/* Caliper (LLNL): the functions behind CALI_MARK_BEGIN, CALI_MARK_END and their like. */
#include "record/marks/foreign.h"

#define CALIPER_LIBRARY "libcaliper"

#define PAIR(kind)                                                                              \
    REC_EXPORT void cali_begin_##kind(const char *name);                                        \
    REC_EXPORT void cali_end_##kind(const char *name);                                          \
    void cali_begin_##kind(const char *name)                                                    \
    {                                                                                           \
        __typeof__(&cali_begin_##kind) original =                                               \
            REC_ORIGINAL(CALIPER_LIBRARY, cali_begin_##kind);                                   \
        if (original)                                                                           \
            original(name);                                                                     \
        rec_mark_begin(name);                                                                   \
    }                                                                                           \
    void cali_end_##kind(const char *name)                                                      \
    {                                                                                           \
        __typeof__(&cali_end_##kind) original = REC_ORIGINAL(CALIPER_LIBRARY, cali_end_##kind); \
        rec_mark_end();                                                                         \
        if (original)                                                                           \
            original(name);                                                                     \
    }

PAIR(region)
PAIR(phase)
PAIR(comm_region)
