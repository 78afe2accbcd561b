/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/otf2/otf2_archive.h"

#include "base/mix.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ==== library ================================================================================= */

/* libotf2 reports every bad call on stderr unless a callback takes the messages. The first message
 * of a failure tells the cause, those after it are its consequences. */

static _Thread_local char first_message[256];

__attribute__((format(printf, 6, 0))) static OTF2_ErrorCode
take_message(void *context, const char *file, uint64_t line, const char *function,
             OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)context;
    (void)file;
    (void)line;
    (void)function;
    if (first_message[0])
        return code;
    int used = snprintf(first_message, sizeof first_message, "%s", OTF2_Error_GetDescription(code));
    if (format && *format && used > 0 && (size_t)used + 2 < sizeof first_message) {
        used += snprintf(first_message + used, sizeof first_message - (size_t)used, ": ");
        vsnprintf(first_message + used, sizeof first_message - (size_t)used, format, arguments);
    }
    return code;
}

static void register_callback(void)
{
    OTF2_Error_RegisterCallback(take_message, NULL);
}

void lull_otf2_quiet(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_callback);
    first_message[0] = '\0';
}

lull_status lull_otf2_fail(struct lull_error *err, OTF2_ErrorCode code, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *cause = first_message[0] ? first_message : OTF2_Error_GetDescription(code);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: %s (libotf2)", text, cause);
}

/* ==== map ===================================================================================== */

/* Whether ids are dense: an array for them is not much larger than a hash table would be. */
static bool is_dense(uint64_t largest, uint32_t count)
{
    return largest < UINT64_C(4096) + UINT64_C(4) * count;
}

static bool put_dense(struct lull_otf2_map *map, uint64_t id, uint32_t value)
{
    if (map->dense[id] != LULL_NONE)
        return false;
    map->dense[id] = value;
    return true;
}

static bool put_hashed(struct lull_otf2_map *map, uint64_t id, uint32_t value)
{
    uint64_t at = lull_mix(0, id) & map->slot_mask;
    while (map->slots[at].value != LULL_NONE) {
        if (map->slots[at].id == id)
            return false;
        at = (at + 1) & map->slot_mask;
    }
    map->slots[at] = (struct lull_otf2_slot){id, value};
    return true;
}

static void make_dense(struct lull_otf2_map *map, struct lull_arena *arena, uint64_t size)
{
    map->dense = lull_arena_alloc(arena, size * sizeof *map->dense);
    map->n_dense = size;
    for (uint64_t i = 0; i < size; i++)
        map->dense[i] = LULL_NONE;
}

static void make_hashed(struct lull_otf2_map *map, struct lull_arena *arena, uint32_t count)
{
    uint64_t size = 16;
    while (size < UINT64_C(2) * count)
        size *= 2;
    map->slots = lull_arena_alloc(arena, size * sizeof *map->slots);
    map->slot_mask = size - 1;
    for (uint64_t i = 0; i < size; i++)
        map->slots[i].value = LULL_NONE;
}

static uint64_t id_at(const void *ids, size_t stride, uint32_t i)
{
    uint64_t id;
    memcpy(&id, (const char *)ids + stride * i, sizeof id);
    return id;
}

uint32_t lull_otf2_map_build(struct lull_otf2_map *map, struct lull_arena *arena, const void *ids,
                             size_t stride, const uint32_t *values, uint32_t count)
{
    *map = (struct lull_otf2_map){0};
    if (count == 0)
        return 0;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; i++)
        if (id_at(ids, stride, i) > largest)
            largest = id_at(ids, stride, i);
    if (is_dense(largest, count))
        make_dense(map, arena, largest + 1);
    else
        make_hashed(map, arena, count);
    uint32_t repeated = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = values ? values[i] : i;
        if (value == LULL_NONE)
            continue;
        uint64_t id = id_at(ids, stride, i);
        bool fresh = map->dense ? put_dense(map, id, value) : put_hashed(map, id, value);
        repeated += !fresh;
    }
    return repeated;
}

/* ==== tables ================================================================================== */

/* ---- roles ----------------------------------------------------------------------------------- */

static const uint8_t role_from[] = {
    [OTF2_REGION_ROLE_UNKNOWN] = LULL_ROLE_FUNCTION,
    [OTF2_REGION_ROLE_FUNCTION] = LULL_ROLE_FUNCTION,
    [OTF2_REGION_ROLE_WRAPPER] = LULL_ROLE_WRAPPER,
    [OTF2_REGION_ROLE_LOOP] = LULL_ROLE_LOOP,
    [OTF2_REGION_ROLE_CODE] = LULL_ROLE_CODE,
    [OTF2_REGION_ROLE_PARALLEL] = LULL_ROLE_PARALLEL,
    [OTF2_REGION_ROLE_SECTIONS] = LULL_ROLE_SECTIONS,
    [OTF2_REGION_ROLE_SECTION] = LULL_ROLE_SECTION,
    [OTF2_REGION_ROLE_WORKSHARE] = LULL_ROLE_WORKSHARE,
    [OTF2_REGION_ROLE_SINGLE] = LULL_ROLE_SINGLE,
    [OTF2_REGION_ROLE_SINGLE_SBLOCK] = LULL_ROLE_SINGLE_BODY,
    [OTF2_REGION_ROLE_MASTER] = LULL_ROLE_MASTER,
    [OTF2_REGION_ROLE_CRITICAL] = LULL_ROLE_CRITICAL,
    [OTF2_REGION_ROLE_CRITICAL_SBLOCK] = LULL_ROLE_CRITICAL_BODY,
    [OTF2_REGION_ROLE_ATOMIC] = LULL_ROLE_ATOMIC,
    [OTF2_REGION_ROLE_BARRIER] = LULL_ROLE_BARRIER,
    [OTF2_REGION_ROLE_IMPLICIT_BARRIER] = LULL_ROLE_IMPLICIT_BARRIER,
    [OTF2_REGION_ROLE_FLUSH] = LULL_ROLE_FLUSH,
    [OTF2_REGION_ROLE_ORDERED] = LULL_ROLE_ORDERED,
    [OTF2_REGION_ROLE_ORDERED_SBLOCK] = LULL_ROLE_ORDERED_BODY,
    [OTF2_REGION_ROLE_TASK] = LULL_ROLE_TASK,
    [OTF2_REGION_ROLE_TASK_CREATE] = LULL_ROLE_TASK_CREATE,
    [OTF2_REGION_ROLE_TASK_WAIT] = LULL_ROLE_TASK_WAIT,
    [OTF2_REGION_ROLE_COLL_ONE2ALL] = LULL_ROLE_COLL_ONE2ALL,
    [OTF2_REGION_ROLE_COLL_ALL2ONE] = LULL_ROLE_COLL_ALL2ONE,
    [OTF2_REGION_ROLE_COLL_ALL2ALL] = LULL_ROLE_COLL_ALL2ALL,
    [OTF2_REGION_ROLE_COLL_OTHER] = LULL_ROLE_COLL_OTHER,
    [OTF2_REGION_ROLE_FILE_IO] = LULL_ROLE_FILE_IO,
    [OTF2_REGION_ROLE_POINT2POINT] = LULL_ROLE_POINT2POINT,
    [OTF2_REGION_ROLE_RMA] = LULL_ROLE_RMA,
    [OTF2_REGION_ROLE_DATA_TRANSFER] = LULL_ROLE_DATA_TRANSFER,
    [OTF2_REGION_ROLE_ARTIFICIAL] = LULL_ROLE_ARTIFICIAL,
    [OTF2_REGION_ROLE_THREAD_CREATE] = LULL_ROLE_THREAD_CREATE,
    [OTF2_REGION_ROLE_THREAD_WAIT] = LULL_ROLE_THREAD_WAIT,
    [OTF2_REGION_ROLE_TASK_UNTIED] = LULL_ROLE_TASK,
    [OTF2_REGION_ROLE_ALLOCATE] = LULL_ROLE_ALLOCATE,
    [OTF2_REGION_ROLE_DEALLOCATE] = LULL_ROLE_ALLOCATE,
    [OTF2_REGION_ROLE_REALLOCATE] = LULL_ROLE_ALLOCATE,
    [OTF2_REGION_ROLE_FILE_IO_METADATA] = LULL_ROLE_FILE_IO,
};

uint8_t lull_otf2_role_from(OTF2_RegionRole role)
{
    return role < sizeof role_from ? role_from[role] : LULL_ROLE_FUNCTION;
}

OTF2_RegionRole lull_otf2_role_to(uint8_t role)
{
    for (OTF2_RegionRole i = OTF2_REGION_ROLE_FUNCTION; i < sizeof role_from; i++)
        if (role_from[i] == role)
            return i;
    return OTF2_REGION_ROLE_FUNCTION;
}

/* ---- paradigms ------------------------------------------------------------------------------- */

static const uint8_t paradigm_from[] = {
    [OTF2_PARADIGM_UNKNOWN] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_USER] = LULL_PARADIGM_USER,
    [OTF2_PARADIGM_COMPILER] = LULL_PARADIGM_COMPILER,
    [OTF2_PARADIGM_OPENMP] = LULL_PARADIGM_OPENMP,
    [OTF2_PARADIGM_MPI] = LULL_PARADIGM_MPI,
    [OTF2_PARADIGM_CUDA] = LULL_PARADIGM_DEVICE,
    [OTF2_PARADIGM_MEASUREMENT_SYSTEM] = LULL_PARADIGM_MEASUREMENT,
    [OTF2_PARADIGM_PTHREAD] = LULL_PARADIGM_PTHREAD,
    [OTF2_PARADIGM_HMPP] = LULL_PARADIGM_DEVICE,
    [OTF2_PARADIGM_OMPSS] = LULL_PARADIGM_OPENMP,
    [OTF2_PARADIGM_HARDWARE] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_GASPI] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_UPC] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_SHMEM] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_WINTHREAD] = LULL_PARADIGM_PTHREAD,
    [OTF2_PARADIGM_QTTHREAD] = LULL_PARADIGM_PTHREAD,
    [OTF2_PARADIGM_ACETHREAD] = LULL_PARADIGM_PTHREAD,
    [OTF2_PARADIGM_TBBTHREAD] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_OPENACC] = LULL_PARADIGM_DEVICE,
    [OTF2_PARADIGM_OPENCL] = LULL_PARADIGM_DEVICE,
    [OTF2_PARADIGM_MTAPI] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_SAMPLING] = LULL_PARADIGM_COMPILER,
    [OTF2_PARADIGM_NONE] = LULL_PARADIGM_OTHER,
    [OTF2_PARADIGM_HIP] = LULL_PARADIGM_DEVICE,
    [OTF2_PARADIGM_KOKKOS] = LULL_PARADIGM_DEVICE,
};

uint8_t lull_otf2_paradigm_from(OTF2_Paradigm paradigm)
{
    return paradigm < sizeof paradigm_from ? paradigm_from[paradigm] : LULL_PARADIGM_OTHER;
}

/* OTF2 has no paradigm for input and output; there the role says it, see lull_otf2_role_to. */
OTF2_Paradigm lull_otf2_paradigm_to(uint8_t paradigm)
{
    static const OTF2_Paradigm to[LULL_PARADIGMS] = {
        [LULL_PARADIGM_USER] = OTF2_PARADIGM_USER,
        [LULL_PARADIGM_COMPILER] = OTF2_PARADIGM_COMPILER,
        [LULL_PARADIGM_MPI] = OTF2_PARADIGM_MPI,
        [LULL_PARADIGM_OPENMP] = OTF2_PARADIGM_OPENMP,
        [LULL_PARADIGM_PTHREAD] = OTF2_PARADIGM_PTHREAD,
        [LULL_PARADIGM_DEVICE] = OTF2_PARADIGM_CUDA,
        [LULL_PARADIGM_IO] = OTF2_PARADIGM_USER,
        [LULL_PARADIGM_MEASUREMENT] = OTF2_PARADIGM_MEASUREMENT_SYSTEM,
        [LULL_PARADIGM_OTHER] = OTF2_PARADIGM_UNKNOWN,
    };
    return paradigm < LULL_PARADIGMS ? to[paradigm] : OTF2_PARADIGM_UNKNOWN;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static const uint8_t collective_from[] = {
    [OTF2_COLLECTIVE_OP_BARRIER] = LULL_COLLECTIVE_BARRIER,
    [OTF2_COLLECTIVE_OP_BCAST] = LULL_COLLECTIVE_BCAST,
    [OTF2_COLLECTIVE_OP_GATHER] = LULL_COLLECTIVE_GATHER,
    [OTF2_COLLECTIVE_OP_GATHERV] = LULL_COLLECTIVE_GATHERV,
    [OTF2_COLLECTIVE_OP_SCATTER] = LULL_COLLECTIVE_SCATTER,
    [OTF2_COLLECTIVE_OP_SCATTERV] = LULL_COLLECTIVE_SCATTERV,
    [OTF2_COLLECTIVE_OP_ALLGATHER] = LULL_COLLECTIVE_ALLGATHER,
    [OTF2_COLLECTIVE_OP_ALLGATHERV] = LULL_COLLECTIVE_ALLGATHERV,
    [OTF2_COLLECTIVE_OP_ALLTOALL] = LULL_COLLECTIVE_ALLTOALL,
    [OTF2_COLLECTIVE_OP_ALLTOALLV] = LULL_COLLECTIVE_ALLTOALLV,
    [OTF2_COLLECTIVE_OP_ALLTOALLW] = LULL_COLLECTIVE_ALLTOALLW,
    [OTF2_COLLECTIVE_OP_ALLREDUCE] = LULL_COLLECTIVE_ALLREDUCE,
    [OTF2_COLLECTIVE_OP_REDUCE] = LULL_COLLECTIVE_REDUCE,
    [OTF2_COLLECTIVE_OP_REDUCE_SCATTER] = LULL_COLLECTIVE_REDUCE_SCATTER,
    [OTF2_COLLECTIVE_OP_SCAN] = LULL_COLLECTIVE_SCAN,
    [OTF2_COLLECTIVE_OP_EXSCAN] = LULL_COLLECTIVE_EXSCAN,
    [OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK] = LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK,
    [OTF2_COLLECTIVE_OP_CREATE_HANDLE] = LULL_COLLECTIVE_CREATE,
    [OTF2_COLLECTIVE_OP_DESTROY_HANDLE] = LULL_COLLECTIVE_FREE,
    [OTF2_COLLECTIVE_OP_ALLOCATE] = LULL_COLLECTIVE_CREATE,
    [OTF2_COLLECTIVE_OP_DEALLOCATE] = LULL_COLLECTIVE_FREE,
    [OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE] = LULL_COLLECTIVE_CREATE,
    [OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE] = LULL_COLLECTIVE_FREE,
};

uint8_t lull_otf2_collective_from(OTF2_CollectiveOp op)
{
    return op < sizeof collective_from ? collective_from[op] : LULL_COLLECTIVE_UNKNOWN;
}

OTF2_CollectiveOp lull_otf2_collective_to(uint8_t op)
{
    for (OTF2_CollectiveOp i = 0; i < sizeof collective_from; i++)
        if (collective_from[i] == op)
            return i;
    /* OTF2 has no neighbourhood collectives, and none for an unknown operation. Like this one, they
     * move data between all that take part, and have no root. */
    return OTF2_COLLECTIVE_OP_ALLTOALLW;
}

/* ---- what travels in descriptions ------------------------------------------------------------ */

/* Texts for the roles that OTF2 does not have: for a region that is not inside parallel regions,
 * and for one that is. */
static const struct {
    uint8_t role;
    const char *texts[2];
} descriptions[] = {
    {LULL_ROLE_LOCK, {"lull: lock", "lull: lock, parallel"}},
    {LULL_ROLE_SCHEDULE, {"lull: schedule", "lull: schedule, parallel"}},
    {LULL_ROLE_KERNEL, {"lull: kernel", "lull: kernel, parallel"}},
    {LULL_ROLES, {"", "lull: parallel"}}, /* any other role */
};

enum { DESCRIPTIONS = sizeof descriptions / sizeof *descriptions };

const char *lull_otf2_describe_region(const struct lull_region *region)
{
    bool by_role = region->paradigm == LULL_PARADIGM_OPENMP && region->role == LULL_ROLE_PARALLEL;
    int i = 0;
    while (i < DESCRIPTIONS - 1 && descriptions[i].role != region->role)
        i++;
    return descriptions[i].texts[region->parallel && !by_role];
}

void lull_otf2_read_description(struct lull_region *region, const char *description)
{
    for (int i = 0; *description && i < DESCRIPTIONS; i++)
        for (int parallel = 0; parallel < 2; parallel++) {
            if (strcmp(description, descriptions[i].texts[parallel]) != 0)
                continue;
            if (descriptions[i].role != LULL_ROLES)
                region->role = descriptions[i].role;
            region->parallel |= parallel == 1;
        }
}

/* ---- states in properties -------------------------------------------------------------------- */

const struct lull_event lull_otf2_nothing_told = {
    .id = LULL_NONE,
    .operation = {.sequence = LULL_NO_SEQUENCE, .location = LULL_NONE, .peer = LULL_ANY}};

const char *const lull_otf2_device_parameter_names[LULL_OTF2_DEVICE_PARAMETERS] = {
    [LULL_OTF2_LOCATION] = "lull device: location",
    [LULL_OTF2_REGION] = "lull device: called by",
    [LULL_OTF2_BYTES] = "lull device: bytes",
    [LULL_OTF2_OTHER] = "lull device: depends on",
    [LULL_OTF2_SEQUENCE] = "lull device: sequence",
    [LULL_OTF2_PEER] = "lull device: peer",
    [LULL_OTF2_SUBMIT] = "lull device: submits operation",
    [LULL_OTF2_DEPEND] = "lull device: dependent operation",
    [LULL_OTF2_WAIT] = "lull device: waits for operation",
    [LULL_OTF2_RUN] = "lull device: runs operation",
};

void lull_otf2_state_property(char *buffer, size_t size, uint32_t index)
{
    snprintf(buffer, size, "LULL::STATE_%" PRIu32, index);
}

void lull_otf2_state_print(char *buffer, size_t size, const struct lull_state *state)
{
    snprintf(buffer, size, "%" PRIu32 " %s %s", state->number, lull_activity_id(state->activity),
             state->name);
}

bool lull_otf2_state_parse(struct lull_state *ret_state, const char *text, struct lull_arena *arena)
{
    uint32_t number;
    char activity[32];
    int used = 0;
    if (sscanf(text, "%" SCNu32 " %31s%n", &number, activity, &used) != 2)
        return false;
    for (unsigned a = 0; a < LULL_ACTIVITIES; a++) {
        if (strcmp(activity, lull_activity_id(a)) != 0)
            continue;
        const char *name = text + used;
        name += *name == ' ';
        *ret_state = (struct lull_state){lull_arena_strdup(arena, name), number, (uint8_t)a};
        return true;
    }
    return false;
}
