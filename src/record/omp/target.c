/* SPDX-License-Identifier: BSD-3-Clause */
/* Target regions of OpenMP, as LLVM's runtime tells them from version 17 on: by those callbacks of the
 * tools interface (OMPT, OpenMP 5.1) that have a begin and an end. On the host a target construct is a
 * region, and in it what the runtime does for it are calls: copies, allocations, launches.
 *
 * The runtime does not tell when the device did something. It tells of which type each device is. The
 * device "generic-64bit" is the host itself: what it is asked for is done when the call returns, so that
 * the call's time is that of the operation. Of other devices the operations are counted as not known:
 * when they ran, their own runtime tells (CUDA), if a back-end records it. */
#include "record/omp/ompt.h"

#include "record/core.h"
#include "record/device/device.h"
#include "record/omp/team.h"
#include "record/report.h"
#include "record/store/definitions.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ==== constructs and calls ==================================================================== */

enum target_call {
    TARGET_REGION,
    TARGET_ENTER_DATA,
    TARGET_EXIT_DATA,
    TARGET_UPDATE,
    TARGET_ALLOC,
    TARGET_COPY_TO,
    TARGET_COPY_FROM,
    TARGET_DELETE,
    TARGET_ASSOCIATE,
    TARGET_DISASSOCIATE,
    TARGET_LAUNCH,
    TARGET_KERNEL, /* on the device */
    TARGET_CALLS
};

#define CALL(name, role)                                                                \
    {                                                                                   \
        LULL_TAPE_PARADIGM_DEVICE, LULL_TAPE_ROLE_##role, false, 0, "!$omp " name, NULL \
    }

static const struct rec_region target_regions[TARGET_CALLS] = {
    [TARGET_REGION] = CALL("target", FUNCTION),
    [TARGET_ENTER_DATA] = CALL("target enter data", FUNCTION),
    [TARGET_EXIT_DATA] = CALL("target exit data", FUNCTION),
    [TARGET_UPDATE] = CALL("target update", FUNCTION),
    [TARGET_ALLOC] = CALL("target allocate", FUNCTION),
    [TARGET_COPY_TO] = CALL("target copy to device", FUNCTION),
    [TARGET_COPY_FROM] = CALL("target copy from device", FUNCTION),
    [TARGET_DELETE] = CALL("target delete", FUNCTION),
    [TARGET_ASSOCIATE] = CALL("target associate", FUNCTION),
    [TARGET_DISASSOCIATE] = CALL("target disassociate", FUNCTION),
    [TARGET_LAUNCH] = CALL("target launch", FUNCTION),
    [TARGET_KERNEL] = CALL("target kernel", KERNEL),
};
static uint32_t target_ids[TARGET_CALLS]; /* atomic: regions */

/* Numbers of call sites behind those of other constructs. */
enum { TARGET_SITES = REC_OMP_SITES + REC_OMP_REGIONS };

static uint32_t target_region(enum target_call call, const void *code)
{
    const uint32_t known =
        (uint32_t)rec_map_get(&rec_sites, rec_site_key(code, TARGET_SITES + call));
    if (REC_LIKELY(known != 0))
        return known;
    const uint32_t region = rec_define_region_once(&target_ids[call], &target_regions[call]);
    return code ? rec_site_of_place(region, TARGET_SITES + call, code) : region;
}

/* ==== devices ================================================================================= */

enum { MOST_TARGETS = 64 };

static struct target_device {
    char type[32];
    bool is_host;              /* its operations have ended when the host's calls have */
    struct rec_stream *stream; /* atomic; NULL: nothing was asked of it, or it cannot be recorded */
} target_devices[MOST_TARGETS];

static const struct rec_device_interface *target_recorder;
static const struct rec_device_backend target_backend = {.name = "OpenMP"};

static void make_target_stream(int number)
{
    static bool attached;
    struct target_device *device = &target_devices[number];
    struct lull_tape_stream what = {.runtime = "OpenMP"};
    snprintf(what.device, sizeof what.device, "device %d%s%s", number, *device->type ? " " : "",
             device->type);
    snprintf(what.key, sizeof what.key, "openmp:%d", number);
    if (!attached)
        target_recorder->attach(&target_backend);
    attached = true;
    __atomic_store_n(&device->stream, target_recorder->stream(&what, "target"), __ATOMIC_RELEASE);
}

/* NULL: it cannot be recorded. */
static struct rec_stream *target_stream(int number)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct target_device *device = &target_devices[number];
    struct rec_stream *stream = __atomic_load_n(&device->stream, __ATOMIC_ACQUIRE);
    if (REC_LIKELY(stream != NULL))
        return stream;
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&lock);
    if (!device->stream)
        make_target_stream(number);
    stream = device->stream;
    pthread_mutex_unlock(&lock);
    rec_step_back(&aside);
    return stream;
}

static void on_device_initialize(int number, const char *type, void *device, ompt_lookup *lookup,
                                 const char *documentation)
{
    (void)device, (void)lookup, (void)documentation;
    if (number < 0 || number >= MOST_TARGETS || !type)
        return;
    snprintf(target_devices[number].type, sizeof target_devices[number].type, "%s", type);
    target_devices[number].is_host = strcmp(type, "generic-64bit") == 0;
}

/* ==== what the runtime tells ================================================================== */

/* Of the construct in which the thread is: its place and its device; and when the call in it began. */
static __thread struct {
    const void *code;
    int device;
    uint64_t begun;
} target_now __attribute__((tls_model("initial-exec")));

static void begin_target_call(enum target_call call, const void *code)
{
    struct rec_thread *self = rec_omp_self();
    if (!self) {
        rec_omp_skip();
        return;
    }
    const uint32_t region = target_region(call, code);
    rec_omp_push(self->omp, region);
    rec_omp_open(self, region);
    target_now.begun = rec_omp_of(self)->opened;
}

/* The call asked the device for an operation. */
static void submit_target(struct rec_thread *self, uint32_t call_region, uint64_t time, int number,
                          struct rec_operation *operation)
{
    if (number < 0 || number >= MOST_TARGETS)
        return;
    struct rec_wait call = {.self = self, .region = call_region, .recorded = true, .begin = time};
    struct rec_stream *stream = target_stream(number);
    if (!stream)
        return;
    target_recorder->submit(&call, stream, operation);
    if (target_devices[number].is_host)
        target_recorder->wait(&call, stream, operation->number);
    else
        operation->region = 0;
    target_recorder->finish(stream, operation);
}

/* `operation`: what the call asked the device for; region 0: nothing. */
static void end_target_call(enum target_call call, int device, struct rec_operation *operation)
{
    uint32_t region;
    struct rec_thread *self = rec_omp_ending(target_ids[call], &region);
    if (!self)
        return;
    const bool whole = rec_omp_of(self)->open != 0; /* nothing began inside of the call */
    operation->begin = target_now.begun;
    operation->end = rec_omp_close(self, region);
    if (operation->region != 0 && !self->paused && target_recorder->is_on())
        submit_target(self, region, whole ? operation->begin : rec_last_time(self), device,
                      operation);
}

/* Kinds: 1 target, 2 enter data, 3 exit data, 4 update; the same without waiting have 8 more. */
static void on_target(int kind, int endpoint, int device, union ompt_data *task,
                      union ompt_data *target_task, union ompt_data *target, const void *code)
{
    const unsigned call = (unsigned)(kind & 7) - 1 + TARGET_REGION;
    (void)task, (void)target_task, (void)target;
    if (call > TARGET_UPDATE)
        return;
    if (endpoint == OMPT_BEGIN) {
        struct rec_thread *self = rec_omp_self();
        target_now.code = code;
        target_now.device = device;
        if (self)
            rec_omp_enter(self, target_region(call, code), rec_omp_now(self));
        else
            rec_omp_skip();
    } else if (endpoint == OMPT_END) {
        uint32_t region;
        struct rec_thread *self = rec_omp_ending(target_ids[call], &region);
        if (self)
            rec_leave(self, region, rec_omp_now(self));
    }
}

/* Kinds: 1 allocate, 2 copy to, 3 copy from, 4 delete, 5 associate, 6 disassociate; the same without
 * waiting have 16 more, up to 20. */
static void on_target_data_op(int endpoint, union ompt_data *target_task, union ompt_data *target,
                              uint64_t *id, int kind, void *from, int from_device, void *to,
                              int to_device, size_t bytes, const void *code)
{
    const unsigned call = (unsigned)(kind & 15) - 1 + TARGET_ALLOC;
    (void)target_task, (void)target, (void)id, (void)from, (void)to;
    if (call < TARGET_ALLOC || call > TARGET_DISASSOCIATE)
        return;
    if (endpoint == OMPT_BEGIN) {
        begin_target_call(call, code);
    } else if (endpoint == OMPT_END) {
        struct rec_operation operation = {.bytes = bytes};
        if (call == TARGET_COPY_TO)
            operation.region = target_recorder->region(REC_DEVICE_COPY_TO, NULL);
        else if (call == TARGET_COPY_FROM)
            operation.region = target_recorder->region(REC_DEVICE_COPY_FROM, NULL);
        end_target_call(call, call == TARGET_COPY_TO ? to_device : from_device, &operation);
    }
}

static void on_target_submit(int endpoint, union ompt_data *target, uint64_t *id, unsigned teams)
{
    (void)target, (void)id, (void)teams;
    if (endpoint == OMPT_BEGIN) {
        begin_target_call(TARGET_LAUNCH, target_now.code);
    } else if (endpoint == OMPT_END) {
        struct rec_operation operation = {.region = target_region(TARGET_KERNEL, target_now.code)};
        end_target_call(TARGET_LAUNCH, target_now.device, &operation);
    }
}

/* ==== start =================================================================================== */

/* Not NULL where the runtime of target regions is there when the recorder is loaded. dlsym is not
 * asked, because a look-up that fails takes memory from the program's heap. */
extern void __tgt_register_lib(void *description) __attribute__((weak));

void rec_target_start(ompt_set_callback *set)
{
    static const struct {
        enum ompt_event event;
        ompt_interface callback;
    } callbacks[] = {
        {OMPT_DEVICE_INITIALIZE, (ompt_interface)on_device_initialize},
        {OMPT_TARGET_EMI, (ompt_interface)on_target},
        {OMPT_TARGET_DATA_OP_EMI, (ompt_interface)on_target_data_op},
        {OMPT_TARGET_SUBMIT_EMI, (ompt_interface)on_target_submit},
    };
    bool told = true;
    target_recorder = lull_record_device();
    if (!target_recorder)
        return;
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
        told &= set((int)callbacks[i].event, callbacks[i].callback) >= OMPT_SET_SOMETIMES;
    if (!told && __tgt_register_lib)
        rec_report_say(
            "this OpenMP runtime does not tell of target regions (LLVM's does from 17 on): "
            "they are not recorded");
}
