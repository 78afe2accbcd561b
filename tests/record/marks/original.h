/* Declarations of other tools' documented functions, for programs that are marked for them. With
 * ORIGINAL a library has them, which counts its calls; without, it is not there, and the program
 * calls only what it finds. */
#ifndef TESTS_RECORD_MARKS_ORIGINAL_H
#define TESTS_RECORD_MARKS_ORIGINAL_H

#include <stdint.h>
#include <stdio.h>

#ifdef ORIGINAL
#define FOUND(function) 1
#define MAYBE
#else
#define FOUND(function) ((function) != NULL)
#define MAYBE           __attribute__((weak))
#endif

extern int original_calls MAYBE;

/* Caliper: caliper/cali.h, cali_macros.h */
void cali_begin_region(const char *name) MAYBE;
void cali_end_region(const char *name) MAYBE;
void cali_begin_phase(const char *name) MAYBE;
void cali_end_phase(const char *name) MAYBE;
#define CALI_MARK_BEGIN(name)         \
    do {                              \
        if (FOUND(cali_begin_region)) \
            cali_begin_region(name);  \
    } while (0)
#define CALI_MARK_END(name)         \
    do {                            \
        if (FOUND(cali_end_region)) \
            cali_end_region(name);  \
    } while (0)

/* DLB: dlb_talp.h */
typedef struct dlb_monitor_t {
    const char *name;
    int num_measurements;
} dlb_monitor_t;
dlb_monitor_t *DLB_MonitoringRegionRegister(const char *name) MAYBE;
int DLB_MonitoringRegionStart(dlb_monitor_t *handle) MAYBE;
int DLB_MonitoringRegionStop(dlb_monitor_t *handle) MAYBE;

/* Score-P: SCOREP_User_Functions.h, SCOREP_User.h */
typedef struct SCOREP_User_Region *SCOREP_User_RegionHandle;
#define SCOREP_USER_INVALID_REGION NULL
void SCOREP_User_RegionInit(SCOREP_User_RegionHandle *handle, const char **last_name,
                            uint32_t *last_file, const char *name, const uint32_t type,
                            const char *file, const uint32_t line) MAYBE;
void SCOREP_User_RegionBegin(SCOREP_User_RegionHandle *handle, const char **last_name,
                             uint32_t *last_file, const char *name, const uint32_t type,
                             const char *file, const uint32_t line) MAYBE;
void SCOREP_User_RegionEnter(const SCOREP_User_RegionHandle handle) MAYBE;
void SCOREP_User_RegionEnd(const SCOREP_User_RegionHandle handle) MAYBE;
void SCOREP_User_RegionByNameBegin(const char *name, const uint32_t type, const char *file,
                                   const uint32_t line) MAYBE;
void SCOREP_User_RegionByNameEnd(const char *name) MAYBE;
#define SCOREP_USER_REGION_DEFINE(handle) \
    static SCOREP_User_RegionHandle handle = SCOREP_USER_INVALID_REGION;
#define SCOREP_USER_REGION_BEGIN(handle, name, type) \
    SCOREP_User_RegionBegin(&handle, &last_name, &last_file, name, type, __FILE__, __LINE__);
#define SCOREP_USER_REGION_INIT(handle, name, type) \
    SCOREP_User_RegionInit(&handle, &last_name, &last_file, name, type, __FILE__, __LINE__);
#define SCOREP_USER_REGION_ENTER(handle) SCOREP_User_RegionEnter(handle);
#define SCOREP_USER_REGION_END(handle)   SCOREP_User_RegionEnd(handle);
#define SCOREP_USER_REGION_BY_NAME_BEGIN(name, type) \
    SCOREP_User_RegionByNameBegin(name, type, "", 0);
#define SCOREP_USER_REGION_BY_NAME_END(name) SCOREP_User_RegionByNameEnd(name);

/* NVTX 2: nvToolsExt.h */
int nvtxRangePushA(const char *message) MAYBE;
int nvtxRangePop(void) MAYBE;

#endif
