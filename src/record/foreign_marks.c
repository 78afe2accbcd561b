/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks of four other tools, each of which has a section: DLB, Score-P, NVTX and Caliper. Their
 * functions are defined here as record/marker.h describes. */
#include "record/marker.h"

#include <stdint.h>

/* ==== DLB ===================================================================================== */

/* Monitoring regions of TALP, a part of DLB (BSC). */

#define DLB_LIBRARY "libdlb"

enum { SUCCESS = 0, MOST_OPEN_MONITORS = 64 };

/* dlb_monitor_t of DLB begins with a pointer to the name; behind it are numbers, which programs may
 * read. A handle of our own has zeros there. */
typedef struct monitor monitor;

enum { MONITOR_SIZE = 1024 };

REC_EXPORT monitor *DLB_MonitoringRegionRegister(const char *name);
REC_EXPORT int DLB_MonitoringRegionStart(monitor *handle);
REC_EXPORT int DLB_MonitoringRegionStop(monitor *handle);

/* DLB's library returns no monitor where TALP was not switched on: then the handle is our own. */
monitor *DLB_MonitoringRegionRegister(const char *name)
{
    __typeof__(&DLB_MonitoringRegionRegister) original =
        REC_ORIGINAL(DLB_LIBRARY, DLB_MonitoringRegionRegister);
    monitor *handle = original ? original(name) : NULL;
    if (handle)
        rec_handle_is(handle, name);
    else if (name)
        handle = rec_handle_make(name, MONITOR_SIZE);
    return handle;
}

/* Regions of TALP need not end in the order in which they began, as those of a tape must. The
 * regions that began inside of a region are ended with it and begun again. */
static __thread struct {
    unsigned n;
    const monitor *open[MOST_OPEN_MONITORS];
} open_monitors;

static void begin_monitor(const monitor *handle)
{
    if (!rec_handle_name(handle) || open_monitors.n == MOST_OPEN_MONITORS)
        return;
    open_monitors.open[open_monitors.n++] = handle;
    rec_mark_begin(rec_handle_name(handle));
}

static void end_monitor(const monitor *handle)
{
    unsigned at = open_monitors.n;
    while (at > 0 && open_monitors.open[at - 1] != handle)
        at--;
    if (at == 0)
        return;
    for (unsigned i = at - 1; i < open_monitors.n; i++)
        rec_mark_end();
    open_monitors.n--;
    for (unsigned i = at - 1; i < open_monitors.n; i++) {
        open_monitors.open[i] = open_monitors.open[i + 1];
        rec_mark_begin(rec_handle_name(open_monitors.open[i]));
    }
}

int DLB_MonitoringRegionStart(monitor *handle)
{
    __typeof__(&DLB_MonitoringRegionStart) original =
        REC_ORIGINAL(DLB_LIBRARY, DLB_MonitoringRegionStart);
    const int status = original && !rec_handle_is_own(handle) ? original(handle) : SUCCESS;
    begin_monitor(handle);
    return status;
}

int DLB_MonitoringRegionStop(monitor *handle)
{
    __typeof__(&DLB_MonitoringRegionStop) original =
        REC_ORIGINAL(DLB_LIBRARY, DLB_MonitoringRegionStop);
    end_monitor(handle);
    return original && !rec_handle_is_own(handle) ? original(handle) : SUCCESS;
}

/* ==== Score-P ================================================================================= */

/* Score-P: the functions behind SCOREP_USER_REGION_BEGIN, SCOREP_USER_REGION_BY_NAME_BEGIN,
 * SCOREP_USER_FUNC_BEGIN, SCOREP_USER_REGION of C++, and their ends. */

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

/* Keeps the name of the handle that Score-P's own library has made; without one makes a handle of
 * our own. */
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

/* ==== NVTX ==================================================================================== */

/* NVTX (NVIDIA): ranges that are pushed and popped on a thread, in any domain.
 *
 * Version 3 is a header, which loads the library that NVTX_INJECTION64_PATH names and gives it
 * tables of functions to fill: the recorder may be that library. Version 2 is a library of its own,
 * which does the same; where it is not there, its functions are found here. Layouts and numbers are
 * those of nvtxTypes.h and nvToolsExt.h, which have not changed since version 2. */

#define NVTX_LIBRARY "libnvToolsExt"

enum { ERROR = -1, CALLBACKS = 1, CORE = 1, CORE2 = 5 };

/* Indices of the functions in NVTX's tables. */
enum { RANGE_PUSH_EX = 8, RANGE_PUSH = 9, RANGE_POP = 11 };

enum { DOMAIN_RANGE_PUSH_EX = 4, DOMAIN_RANGE_POP = 5, DOMAIN_REGISTER = 10 };

/* Kinds of messages: a text, or one that was registered. */
enum { MESSAGE_TEXT = 1, MESSAGE_REGISTERED = 3 };

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

typedef void nvtx_function(void);

struct callbacks {
    size_t size;
    int (*table_of)(int module, nvtx_function ***ret_table, unsigned *ret_size);
};

REC_EXPORT int nvtxRangePushA(const char *message);
REC_EXPORT int nvtxRangePushEx(const struct attributes *attributes);
REC_EXPORT int nvtxRangePop(void);
REC_EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

static __thread int depth;

/* Returns the level of the range, counted from 0, as NVTX does. */
static int push(const char *message)
{
    rec_mark_begin(message);
    return depth++;
}

static int pop(void)
{
    if (depth == 0)
        return ERROR;
    rec_mark_end();
    return --depth;
}

static int push_attributes(const struct attributes *attributes)
{
    const int32_t type = attributes ? attributes->message_type : 0;
    if (type == MESSAGE_REGISTERED)
        return push(rec_handle_name(attributes->message));
    return push(type == MESSAGE_TEXT ? attributes->message : NULL);
}

/* ---- version 2 --------------------------------------------------------------------------------
 *
 * Where NVTX's own library is there, it calls the functions that InitializeInjectionNvtx2 has put
 * into its tables; so the mark is not recorded here. */

int nvtxRangePushA(const char *message)
{
    __typeof__(&nvtxRangePushA) original = REC_ORIGINAL(NVTX_LIBRARY, nvtxRangePushA);
    return original ? original(message) : push(message);
}

int nvtxRangePushEx(const struct attributes *attributes)
{
    __typeof__(&nvtxRangePushEx) original = REC_ORIGINAL(NVTX_LIBRARY, nvtxRangePushEx);
    return original ? original(attributes) : push_attributes(attributes);
}

int nvtxRangePop(void)
{
    __typeof__(&nvtxRangePop) original = REC_ORIGINAL(NVTX_LIBRARY, nvtxRangePop);
    return original ? original() : pop();
}

/* ---- version 3 ------------------------------------------------------------------------------- */

static int push_in_domain(const void *domain, const struct attributes *attributes)
{
    (void)domain;
    return push_attributes(attributes);
}

static int pop_in_domain(const void *domain)
{
    (void)domain;
    return pop();
}

static const void *register_text(const void *domain, const char *text)
{
    (void)domain;
    return text ? rec_handle_make(text, 0) : NULL;
}

static void fill_callback(const struct callbacks *callbacks, int module, unsigned place,
                          nvtx_function *with)
{
    nvtx_function **table;
    unsigned size;
    if (callbacks->table_of(module, &table, &size) && place < size)
        *(nvtx_function **)(void *)table[place] = with;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    const struct callbacks *callbacks = export_table(CALLBACKS);
    if (!callbacks || callbacks->size < sizeof *callbacks || !rec_process.on)
        return 0;
    fill_callback(callbacks, CORE, RANGE_PUSH_EX, (nvtx_function *)push_attributes);
    fill_callback(callbacks, CORE, RANGE_PUSH, (nvtx_function *)push);
    fill_callback(callbacks, CORE, RANGE_POP, (nvtx_function *)pop);
    fill_callback(callbacks, CORE2, DOMAIN_RANGE_PUSH_EX, (nvtx_function *)push_in_domain);
    fill_callback(callbacks, CORE2, DOMAIN_RANGE_POP, (nvtx_function *)pop_in_domain);
    fill_callback(callbacks, CORE2, DOMAIN_REGISTER, (nvtx_function *)register_text);
    return 1;
}

/* ==== Caliper ================================================================================= */

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
