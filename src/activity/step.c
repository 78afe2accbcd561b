/* SPDX-License-Identifier: BSD-3-Clause */
#include "activity/step.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name; /* without MPI_ */
    uint8_t call;
} calls[] = {
    {"send", LULL_CALL_SEND},
    {"bsend", LULL_CALL_BSEND},
    {"rsend", LULL_CALL_SEND},
    {"ssend", LULL_CALL_SSEND},
    {"recv", LULL_CALL_RECV},
    {"mrecv", LULL_CALL_RECV},
    {"sendrecv", LULL_CALL_SENDRECV},
    {"sendrecv_replace", LULL_CALL_SENDRECV},
    {"isend", LULL_CALL_ISEND},
    {"ibsend", LULL_CALL_IBSEND},
    {"irsend", LULL_CALL_ISEND},
    {"issend", LULL_CALL_ISSEND},
    {"irecv", LULL_CALL_IRECV},
    {"imrecv", LULL_CALL_IRECV},
    {"start", LULL_CALL_START},
    {"startall", LULL_CALL_START},
    {"isendrecv", LULL_CALL_START},
    {"isendrecv_replace", LULL_CALL_START},
    {"wait", LULL_CALL_WAIT},
    {"waitany", LULL_CALL_WAIT},
    {"waitsome", LULL_CALL_WAIT},
    {"waitall", LULL_CALL_WAITALL},
    {"test", LULL_CALL_TEST},
    {"testany", LULL_CALL_TEST},
    {"testsome", LULL_CALL_TEST},
    {"testall", LULL_CALL_TEST},
    {"probe", LULL_CALL_PROBE},
    {"mprobe", LULL_CALL_PROBE},
    {"iprobe", LULL_CALL_IPROBE},
    {"improbe", LULL_CALL_IPROBE},
    {"request_free", LULL_CALL_REQUEST_FREE},
    {"finalize", LULL_CALL_FINALIZE},
};

static const char *const suffixes[] = {"", "_", "__", "_c", "_f08", "_f08ts"};

/* "PMPI_Isend", "mpi_isend_", "MPI_Isend_c" */
static bool is_called(const char *region, const char *name)
{
    if (strncasecmp(region, "pmpi_", 5) == 0)
        region++;
    if (strncasecmp(region, "mpi_", 4) != 0)
        return false;
    size_t length = strlen(name);
    if (strncasecmp(region + 4, name, length) != 0)
        return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(region + 4 + length, suffixes[i]) == 0)
            return true;
    return false;
}

/* Whether it is like MPI_Bcast_init, which makes a persistent request and waits for nobody. */
static bool makes_persistent(const char *region)
{
    const char *last = NULL;
    for (const char *at = region; (at = strcasestr(at, "_init")); at++)
        last = at;
    for (size_t i = 0; last && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(last + strlen("_init"), suffixes[i]) == 0)
            return true;
    return false;
}

static bool is_non_blocking(const char *region)
{
    const char *base = strncasecmp(region, "pmpi_", 5) == 0 ? region + 5 : region + 4;
    return strlen(base) > 1 && (base[0] == 'i' || base[0] == 'I');
}

bool lull_makes_collective_requests(const struct lull_region *region)
{
    return region->paradigm == LULL_PARADIGM_MPI && region->collective != LULL_COLLECTIVE_UNKNOWN &&
           strlen(region->name) >= 5 &&
           (is_non_blocking(region->name) || makes_persistent(region->name));
}

enum lull_call lull_call_of_region(const struct lull_region *region)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (is_called(region->name, calls[i].name))
            return calls[i].call;
    if (region->collective >= LULL_COLLECTIVE_CREATE || strlen(region->name) < 5 ||
        makes_persistent(region->name))
        return LULL_CALL_OTHER;
    return is_non_blocking(region->name) ? LULL_CALL_ICOLLECTIVE : LULL_CALL_COLLECTIVE;
}

bool lull_call_leaves_operations(uint8_t call)
{
    static const bool leaves[LULL_CALLS] = {
        [LULL_CALL_SEND] = true,    [LULL_CALL_SSEND] = true,      [LULL_CALL_BSEND] = true,
        [LULL_CALL_RECV] = true,    [LULL_CALL_SENDRECV] = true,   [LULL_CALL_WAIT] = true,
        [LULL_CALL_WAITALL] = true, [LULL_CALL_COLLECTIVE] = true, [LULL_CALL_ICOLLECTIVE] = true,
        [LULL_CALL_TEST] = true,
    };
    return leaves[call];
}

bool lull_makes_threads(const struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (trace->regions[r].paradigm == LULL_PARADIGM_PTHREAD &&
            trace->regions[r].role == LULL_ROLE_THREAD_CREATE)
            return true;
    return false;
}

const char *lull_step_kind_name(unsigned kind)
{
    static const char *const names[LULL_STEP_KINDS] = {
        [LULL_STEP_SPAN] = "span",
        [LULL_STEP_STRETCH] = "stretch",
        [LULL_STEP_DEVICE_WAIT] = "device wait",
        [LULL_STEP_CALL] = "call",
        [LULL_STEP_CALL_BEGIN] = "call begin",
        [LULL_STEP_CALL_END] = "call end",
        [LULL_STEP_SEND] = "send",
        [LULL_STEP_SEND_DONE] = "send done",
        [LULL_STEP_RECV_POST] = "receive posted",
        [LULL_STEP_RECV] = "receive",
        [LULL_STEP_TEST] = "test",
        [LULL_STEP_CANCEL] = "cancel",
        [LULL_STEP_FREE] = "free",
        [LULL_STEP_COLLECTIVE_BEGIN] = "collective begin",
        [LULL_STEP_COLLECTIVE_END] = "collective end",
        [LULL_STEP_ONE_SIDED] = "one-sided",
        [LULL_STEP_IO] = "input/output",
        [LULL_STEP_FORK] = "fork",
        [LULL_STEP_JOIN] = "join",
        [LULL_STEP_LOCK_ACQUIRE] = "lock acquired",
        [LULL_STEP_LOCK_RELEASE] = "lock released",
        [LULL_STEP_MARKER] = "marker",
        [LULL_STEP_SAMPLE] = "sample",
        [LULL_STEP_THREAD_CREATE] = "thread create",
        [LULL_STEP_THREAD_BEGIN] = "thread begin",
        [LULL_STEP_THREAD_END] = "thread end",
        [LULL_STEP_THREAD_WAIT_BEGIN] = "thread wait begin",
        [LULL_STEP_THREAD_WAIT_END] = "thread wait end",
        [LULL_STEP_CREW] = "crew",
        [LULL_STEP_READING] = "reading",
        [LULL_STEP_USER] = "region of the user",
        [LULL_STEP_VISIT] = "visit",
        [LULL_STEP_TICK] = "tick",
        [LULL_STEP_END] = "end",
    };
    return kind < LULL_STEP_KINDS ? names[kind] : "unknown";
}

bool lull_call_sends_synchronously(const struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (trace->regions[r].paradigm == LULL_PARADIGM_MPI &&
            strcasestr(trace->regions[r].name, "ssend"))
            return true;
    return false;
}
