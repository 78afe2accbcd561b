/* SPDX-License-Identifier: BSD-3-Clause */
#include "match/exchange.h"

#include "base/array.h"
#include "base/mix.h"
#include "base/sorted.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of NCCL, with what it carries out. */
struct carrier {
    uint64_t number;
    int64_t begin, end; /* on its stream, behind the one before */
    uint32_t location, order, process;
    uint32_t comm;  /* among those of NCCL, over all processes */
    uint32_t ranks; /* 0: that is not told */
    uint32_t sequence;
    uint32_t n_told; /* operations */
    uint8_t op;      /* of the first */
    bool sized, usable;
    uint64_t bytes, signature; /* signature: of all that it carries out */
};

/* An operation that NCCL told. */
struct told_operation {
    uint64_t number, bytes;
    uint32_t comm, ranks, sequence;
    uint8_t op;
};

struct exchange_search {
    const struct lull_trace *trace;
    const struct lull_device_log *log;
    uint32_t application;
    struct lull_hash comms;      /* key of a communicator -> its number */
    struct carrier *carriers;    /* those of the process that is looked at behind `first` */
    struct told_operation *told; /* of the process that is looked at */
    size_t n, first, capacity, n_told, told_capacity;
};

/* ---- a process ------------------------------------------------------------------------------- */

/* Operations in which each rank needs the data of all others; LULL_COLLECTIVE_UNKNOWN: another one. */
static uint8_t op_of_exchange(const char *region)
{
    static const struct {
        const char *name;
        uint8_t op;
    } known[] = {{"ncclAllReduce", LULL_COLLECTIVE_ALLREDUCE},
                 {"ncclAllGather", LULL_COLLECTIVE_ALLGATHER},
                 {"ncclReduceScatter", LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK},
                 {"ncclAlltoAll", LULL_COLLECTIVE_ALLTOALL}};
    const size_t length = strcspn(region, " ");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && strncmp(region, known[i].name, length) == 0)
            return known[i].op;
    return LULL_COLLECTIVE_UNKNOWN;
}

static bool gather_carriers(struct exchange_search *search, uint32_t location)
{
    struct lull_device_run run = lull_device_run_open(search->log, location);
    int64_t until = 0;
    for (uint32_t order = 0; lull_device_run_next(&run); order++) {
        const int64_t begin = run.begin > until ? run.begin : until;
        until = run.end > begin ? run.end : begin;
        if (run.kind != LULL_OPERATION_EXCHANGE)
            continue;
        if (!lull_array_reserve(&search->carriers, &search->capacity, search->n + 1,
                                sizeof *search->carriers))
            return false;
        search->carriers[search->n++] =
            (struct carrier){.number = run.number,
                             .begin = begin,
                             .end = until,
                             .location = location,
                             .order = order,
                             .process = search->trace->locations[location].process,
                             .usable = run.number > 0 && !run.again};
    }
    return true;
}

static bool gather_told(struct exchange_search *search, uint32_t location)
{
    const struct lull_trace *trace = search->trace;
    const struct lull_device *device = &trace->devices[trace->locations[location].stream->device];
    struct lull_device_run run = lull_device_run_open(search->log, location);
    const uint64_t *comm =
        lull_hash_add(&search->comms, device->key, strlen(device->key), search->comms.count, NULL);
    if (!comm)
        return false;
    while (lull_device_run_next(&run)) {
        if (!lull_array_reserve(&search->told, &search->told_capacity, search->n_told + 1,
                                sizeof *search->told))
            return false;
        search->told[search->n_told++] = (struct told_operation){
            .number = run.number,
            .bytes = run.bytes,
            .comm = (uint32_t)*comm,
            .ranks = lull_communicator_ranks(device),
            .sequence = run.sequence,
            .op = run.region < trace->n_regions ? op_of_exchange(trace->regions[run.region].name)
                                                : LULL_COLLECTIVE_UNKNOWN};
    }
    return true;
}

static int by_told_number(const void *a, const void *b)
{
    const struct told_operation *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_carrier_number(const void *a, const void *b)
{
    const struct carrier *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->location != y->location)
        return x->location < y->location ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* The kernel of that number, if there is one alone; NULL: there is not. */
static struct carrier *find_carrier(struct exchange_search *search, uint64_t number)
{
    struct carrier *own = search->carriers + search->first;
    const size_t n = search->n - search->first;
    const size_t at =
        lull_sorted_first_u64(own, n, sizeof *own, offsetof(struct carrier, number), number);
    const bool alone =
        at < n && own[at].number == number && (at + 1 == n || own[at + 1].number != number);
    return alone && own[at].usable ? &own[at] : NULL;
}

static const struct told_operation *find_told(const struct exchange_search *search, uint64_t number)
{
    const size_t at = lull_sorted_first_u64(search->told, search->n_told, sizeof *search->told,
                                            offsetof(struct told_operation, number), number);
    return at < search->n_told && search->told[at].number == number ? &search->told[at] : NULL;
}

static void carry_out(struct carrier *of, const struct told_operation *told)
{
    if (of->n_told++ == 0) {
        of->comm = told->comm;
        of->ranks = told->ranks;
        of->sequence = told->sequence;
        of->op = told->op;
        of->sized = true;
    }
    of->usable &= told->comm == of->comm && told->sequence != LULL_NONE && told->ranks > 0 &&
                  told->op != LULL_COLLECTIVE_UNKNOWN;
    of->sized &= told->op == of->op && told->bytes > 0;
    of->bytes += told->bytes;
    of->signature = lull_mix(lull_mix(of->signature, told->op), told->sequence);
}

static void follow_thread(struct exchange_search *search, uint32_t location)
{
    struct lull_device_submit submit = lull_device_submit_open(search->log, location);
    struct carrier *last = NULL;
    while (lull_device_submit_next(&submit)) {
        const struct told_operation *told = find_told(search, submit.number);
        if (!told)
            last = find_carrier(search, submit.number);
        else if (last)
            carry_out(last, told);
    }
}

static bool search_process(struct exchange_search *search, uint32_t process)
{
    const struct lull_process *of = &search->trace->processes[process];
    const uint32_t end = of->first_location + of->n_locations;
    bool good = true;
    search->first = search->n;
    search->n_told = 0;
    for (uint32_t l = of->first_location; good && l < end; l++) {
        if (lull_is_of_device(search->trace, l, search->application))
            good = gather_carriers(search, l);
        else if (lull_is_of_communicator(search->trace, l, search->application))
            good = gather_told(search, l);
    }
    if (!good || search->n == search->first || search->n_told == 0)
        return good;
    qsort(search->carriers + search->first, search->n - search->first, sizeof *search->carriers,
          by_carrier_number);
    qsort(search->told, search->n_told, sizeof *search->told, by_told_number);
    for (uint32_t l = of->first_location; l < end; l++)
        if (search->trace->locations[l].kind != LULL_LOCATION_DEVICE)
            follow_thread(search, l);
    return true;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int by_operation(const void *a, const void *b)
{
    const struct carrier *x = a, *y = b;
    const uint32_t keys[][2] = {{x->n_told == 0, y->n_told == 0},
                                {x->comm, y->comm},
                                {x->op, y->op},
                                {x->sequence, y->sequence},
                                {x->process, y->process},
                                {x->location, y->location},
                                {x->order, y->order}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool is_same_operation(const struct carrier *a, const struct carrier *b)
{
    return a->comm == b->comm && a->op == b->op && a->sequence == b->sequence;
}

static int64_t corrected(const int64_t *shifts, const struct carrier *of, int64_t time)
{
    return time + (shifts ? shifts[of->process] : 0);
}

/* Whether the kernels make an exchange. */
static bool is_complete(const struct carrier *of, uint32_t n, const int64_t *shifts)
{
    int64_t begun = INT64_MIN, ended = INT64_MAX;
    bool complete = n == of[0].ranks;
    for (uint32_t i = 0; complete && i < n; i++) {
        const int64_t begin = corrected(shifts, &of[i], of[i].begin),
                      end = corrected(shifts, &of[i], of[i].end);
        complete = of[i].usable && of[i].signature == of[0].signature &&
                   of[i].ranks == of[0].ranks && (i == 0 || of[i].process > of[i - 1].process);
        begun = begin > begun ? begin : begun;
        ended = end < ended ? end : ended;
    }
    return complete && begun < ended;
}

static bool add_exchange(struct lull_exchanges *exchanges, const struct carrier *of, uint32_t n,
                         const int64_t *shifts, uint32_t *locations)
{
    struct lull_joint_exchange exchange = {
        .n = n, .op = of[0].op, .sized = true, .bytes = of[0].bytes, .met = INT64_MIN};
    if (!lull_array_reserve(&exchanges->kernels, &exchanges->kernels_capacity,
                            exchanges->n_kernels + n, sizeof *exchanges->kernels))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t begin = corrected(shifts, &of[i], of[i].begin);
        exchanges->kernels[exchanges->n_kernels++] =
            (struct lull_exchange_kernel){of[i].location, of[i].order, exchanges->count};
        locations[i] = of[i].location;
        exchange.sized &= of[i].sized && of[i].bytes == of[0].bytes;
        exchange.met = begin > exchange.met ? begin : exchange.met;
    }
    const uint64_t *circle = lull_hash_add(&exchanges->circles, locations, n * sizeof *locations,
                                           exchanges->circles.count, NULL);
    if (!circle || !lull_array_reserve(&exchanges->items, &exchanges->capacity,
                                       exchanges->count + (size_t)1, sizeof *exchanges->items))
        return false;
    exchange.circle = (uint32_t)*circle;
    exchanges->items[exchanges->count++] = exchange;
    exchanges->n_sized += exchange.sized ? n : 0;
    return true;
}

static int by_stream(const void *a, const void *b)
{
    const struct lull_exchange_kernel *x = a, *y = b;
    if (x->location != y->location)
        return x->location < y->location ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool join_ranks(struct exchange_search *search, const int64_t *shifts,
                       struct lull_exchanges *exchanges)
{
    uint32_t *locations =
        malloc((search->trace->n_processes + (size_t)1) * sizeof *locations); /* of one exchange */
    bool good = locations;
    uint32_t n;
    if (search->n > 0)
        qsort(search->carriers, search->n, sizeof *search->carriers, by_operation);
    for (size_t i = 0; good && i < search->n && search->carriers[i].n_told > 0; i += n) {
        const struct carrier *of = &search->carriers[i];
        for (n = 1; i + n < search->n && of[n].n_told > 0 && is_same_operation(of, &of[n]);)
            n++;
        good = !is_complete(of, n, shifts) || add_exchange(exchanges, of, n, shifts, locations);
    }
    if (exchanges->n_kernels > 0)
        qsort(exchanges->kernels, exchanges->n_kernels, sizeof *exchanges->kernels, by_stream);
    free(locations);
    return good;
}

lull_status lull_exchanges_find(const struct lull_trace *trace, uint32_t application,
                                const struct lull_device_log *log, const int64_t *shifts,
                                struct lull_exchanges *ret_exchanges, struct lull_error *err)
{
    struct exchange_search search = {.trace = trace, .log = log, .application = application};
    struct lull_exchanges exchanges = {0};
    bool good = true;
    for (uint32_t p = 0; good && p < trace->n_processes; p++)
        good = !lull_device_log_uses(log, p) || search_process(&search, p);
    exchanges.n_all = search.n;
    good = good && join_ranks(&search, shifts, &exchanges);
    lull_hash_free(&search.comms);
    free(search.carriers);
    free(search.told);
    if (!good) {
        lull_exchanges_free(&exchanges);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for what devices did",
                         trace->path);
    }
    *ret_exchanges = exchanges;
    return LULL_OK;
}

void lull_exchanges_free(struct lull_exchanges *exchanges)
{
    lull_hash_free(&exchanges->circles);
    free(exchanges->items);
    free(exchanges->kernels);
    *exchanges = (struct lull_exchanges){0};
}

const struct lull_joint_exchange *lull_exchange_of(const struct lull_exchanges *exchanges,
                                                   uint32_t location, uint32_t order)
{
    const struct lull_exchange_kernel wanted = {.location = location, .order = order};
    const struct lull_exchange_kernel *kernels = exchanges->kernels;
    struct lull_bisection at = {.end = exchanges->n_kernels};
    while (lull_bisect(&at))
        at.in_front = by_stream(&kernels[at.middle], &wanted) < 0;
    return at.begin < exchanges->n_kernels && by_stream(&kernels[at.begin], &wanted) == 0
               ? &exchanges->items[kernels[at.begin].exchange]
               : NULL;
}

uint32_t lull_exchange_circles(const struct lull_exchanges *exchanges)
{
    return (uint32_t)exchanges->circles.count;
}

uint32_t lull_exchange_circle_size(const struct lull_exchanges *exchanges, uint32_t circle)
{
    return (uint32_t)(exchanges->circles.entries[circle].size / sizeof(uint32_t));
}

uint32_t lull_exchange_stream(const struct lull_exchanges *exchanges, uint32_t circle, uint32_t i)
{
    const unsigned char *locations = lull_hash_key(&exchanges->circles, circle);
    uint32_t location;
    memcpy(&location, locations + i * sizeof location, sizeof location);
    return location;
}
