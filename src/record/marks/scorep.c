/* Score-P: the functions behind SCOREP_USER_REGION_BEGIN, SCOREP_USER_REGION_BY_NAME_BEGIN,
 * SCOREP_USER_FUNC_BEGIN, SCOREP_USER_REGION of C++, and their ends. */
#include "record/marks/foreign.h"

#define SCOREP_LIBRARY "libscorep"

typedef struct region *scorep_handle;

REC_EXPORT void SCOREP_User_RegionInit(scorep_handle *region, const char **last_name,
                                       void *last_file, const char *name, uint32_t type,
                                       const char *file, uint32_t line);
REC_EXPORT void SCOREP_User_RegionBegin(scorep_handle *region, const char **last_name,
                                        void *last_file, const char *name, uint32_t type,
                                        const char *file, uint32_t line);
REC_EXPORT void SCOREP_User_RegionEnter(scorep_handle region);
REC_EXPORT void SCOREP_User_RegionEnd(scorep_handle region);
REC_EXPORT void SCOREP_User_RegionByNameBegin(const char *name, uint32_t type, const char *file,
                                              uint32_t line);
REC_EXPORT void SCOREP_User_RegionByNameEnd(const char *name);

/* What the original, if there is one, has made of the handle; else ours. */
static void take_region_name(scorep_handle *region, const char *name)
{
    if (*region)
        rec_handle_is(*region, rec_handle_name(*region) ? rec_handle_name(*region) : name);
    else if (name)
        *region = rec_handle_make(name, 0);
}

void SCOREP_User_RegionInit(scorep_handle *region, const char **last_name, void *last_file,
                            const char *name, uint32_t type, const char *file, uint32_t line)
{
    __typeof__(&SCOREP_User_RegionInit) original =
        REC_ORIGINAL(SCOREP_LIBRARY, SCOREP_User_RegionInit);
    if (original)
        original(region, last_name, last_file, name, type, file, line);
    take_region_name(region, name);
}

void SCOREP_User_RegionBegin(scorep_handle *region, const char **last_name, void *last_file,
                             const char *name, uint32_t type, const char *file, uint32_t line)
{
    __typeof__(&SCOREP_User_RegionBegin) original =
        REC_ORIGINAL(SCOREP_LIBRARY, SCOREP_User_RegionBegin);
    if (original && !rec_handle_is_own(*region))
        original(region, last_name, last_file, name, type, file, line);
    take_region_name(region, name);
    rec_mark_begin(rec_handle_name(*region));
}

void SCOREP_User_RegionEnter(scorep_handle region)
{
    __typeof__(&SCOREP_User_RegionEnter) original =
        REC_ORIGINAL(SCOREP_LIBRARY, SCOREP_User_RegionEnter);
    if (original && !rec_handle_is_own(region))
        original(region);
    rec_mark_begin(rec_handle_name(region));
}

void SCOREP_User_RegionEnd(scorep_handle region)
{
    __typeof__(&SCOREP_User_RegionEnd) original =
        REC_ORIGINAL(SCOREP_LIBRARY, SCOREP_User_RegionEnd);
    rec_mark_end();
    if (original && !rec_handle_is_own(region))
        original(region);
}

void SCOREP_User_RegionByNameBegin(const char *name, uint32_t type, const char *file, uint32_t line)
{
    __typeof__(&SCOREP_User_RegionByNameBegin) original =
        REC_ORIGINAL(SCOREP_LIBRARY, SCOREP_User_RegionByNameBegin);
    if (original)
        original(name, type, file, line);
    rec_mark_begin(name);
}

void SCOREP_User_RegionByNameEnd(const char *name)
{
    __typeof__(&SCOREP_User_RegionByNameEnd) original =
        REC_ORIGINAL(SCOREP_LIBRARY, SCOREP_User_RegionByNameEnd);
    rec_mark_end();
    if (original)
        original(name);
}
