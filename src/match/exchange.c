/* SPDX-License-Identifier: BSD-3-Clause */
#include "match/exchange.h"

#include "base/array.h"
#include "base/mix.h"
#include "base/sorted.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What a rank needs of the others in an operation. */
enum told_kind { TOLD_OTHER, TOLD_ALL, TOLD_ROOT_GIVES, TOLD_ROOT_TAKES, TOLD_SEND, TOLD_RECV };
enum {
    KINDS_ROOTED = 1 << TOLD_ROOT_GIVES | 1 << TOLD_ROOT_TAKES,
    KINDS_OF_MESSAGES = 1 << TOLD_SEND | 1 << TOLD_RECV
};

/* A kernel of NCCL, with what it carries out. */
struct carrier {
    uint64_t number;
    int64_t begin, end; /* on its stream, behind the one before */
    int64_t came;       /* when it had begun and was submitted */
    uint32_t location, order, process;
    uint32_t part,
        comm; /* of the first of its operations: location on the communicator, and number of that */
    uint32_t ranks;                      /* of the communicator; 0: that is not told */
    uint32_t sequence, root;             /* of the first; LULL_NONE: none */
    uint32_t n_told;                     /* operations */
    uint32_t exchange, position, kernel; /* as in the result; LULL_NONE: none */
    uint8_t op;                          /* of the first */
    uint8_t kinds;                       /* of all, 1 << enum told_kind */
    bool alone;    /* there is no other kernel of its number, and windows have not cut it */
    bool uniform;  /* all are of the first one's communicator, and have a sequence number */
    bool one_root; /* all have the root of the first one */
    bool sized;    /* all are of the first one's function, and their bytes are told */
    bool bytes_told;
    bool unmet;                /* it waits for kernels that are not known */
    bool shares;               /* it has a link with a kernel of its own process */
    uint64_t bytes, signature; /* signature: of all that it carries out */
};

/* An operation that NCCL told. */
struct told_operation {
    uint64_t number, bytes;
    int64_t time;        /* when its thread told it */
    uint32_t part;       /* location on the communicator */
    uint32_t comm;       /* among those of NCCL, over all processes */
    uint32_t ranks;      /* of the communicator; 0: that is not told */
    uint32_t rank, peer; /* in the communicator; LULL_NONE: not told */
    uint32_t sequence;
    uint32_t carrier; /* index, or LULL_NONE */
    uint8_t op, kind;
};

/* Found so far, by carriers. */
struct found_link {
    uint32_t comm, from, to, number;
    uint64_t bytes;
};

struct exchange_search {
    const struct lull_trace *trace;
    const struct lull_device_log *log;
    const int64_t *shifts;
    uint32_t application;
    struct lull_hash comms; /* key of a communicator -> its number */
    /* Those of the process that is looked at behind `first` and `first_told`, in the order of numbers. */
    struct carrier *carriers;
    struct told_operation *told;
    struct found_link *links;
    uint32_t *key; /* of a circle */
    size_t n, first, capacity, n_told, first_told, told_capacity;
    size_t n_links, links_capacity, key_capacity;
    bool no_memory;
};

/* ---- a process ------------------------------------------------------------------------------- */

static void name_function(const char *region, struct told_operation *ret_told)
{
    static const struct {
        const char *name;
        uint8_t kind, op;
    } known[] = {{"ncclAllReduce", TOLD_ALL, LULL_COLLECTIVE_ALLREDUCE},
                 {"ncclAllGather", TOLD_ALL, LULL_COLLECTIVE_ALLGATHER},
                 {"ncclReduceScatter", TOLD_ALL, LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK},
                 {"ncclAlltoAll", TOLD_ALL, LULL_COLLECTIVE_ALLTOALL},
                 {"ncclBroadcast", TOLD_ROOT_GIVES, LULL_COLLECTIVE_BCAST},
                 {"ncclScatter", TOLD_ROOT_GIVES, LULL_COLLECTIVE_SCATTER},
                 {"ncclReduce", TOLD_ROOT_TAKES, LULL_COLLECTIVE_REDUCE},
                 {"ncclGather", TOLD_ROOT_TAKES, LULL_COLLECTIVE_GATHER},
                 {"ncclSend", TOLD_SEND, LULL_COLLECTIVE_UNKNOWN},
                 {"ncclRecv", TOLD_RECV, LULL_COLLECTIVE_UNKNOWN}};
    const size_t length = strcspn(region, " ");
    ret_told->kind = TOLD_OTHER;
    ret_told->op = LULL_COLLECTIVE_UNKNOWN;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && strncmp(region, known[i].name, length) == 0) {
            ret_told->kind = known[i].kind;
            ret_told->op = known[i].op;
        }
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
                             .came = begin,
                             .location = location,
                             .order = order,
                             .process = search->trace->locations[location].process,
                             .exchange = LULL_NONE,
                             .kernel = LULL_NONE,
                             .alone = run.number > 0 && !run.again,
                             .uniform = true,
                             .one_root = true,
                             .sized = true,
                             .bytes_told = true};
    }
    return true;
}

static bool gather_told(struct exchange_search *search, uint32_t location)
{
    const struct lull_trace *trace = search->trace;
    const struct lull_location *stream = &trace->locations[location];
    const struct lull_device *device = &trace->devices[stream->stream->device];
    struct lull_device_run run = lull_device_run_open(search->log, location);
    const uint64_t *comm =
        lull_hash_add(&search->comms, device->key, strlen(device->key), search->comms.count, NULL);
    if (!comm)
        return false;
    while (lull_device_run_next(&run)) {
        if (run.again)
            continue;
        if (!lull_array_reserve(&search->told, &search->told_capacity, search->n_told + 1,
                                sizeof *search->told))
            return false;
        struct told_operation *told = &search->told[search->n_told++];
        *told = (struct told_operation){.number = run.number,
                                        .bytes = run.bytes,
                                        .part = location,
                                        .comm = (uint32_t)*comm,
                                        .ranks = lull_communicator_ranks(device),
                                        .rank = lull_communicator_rank(stream->name),
                                        .peer = run.peer < 0 ? LULL_NONE : (uint32_t)run.peer,
                                        .sequence = run.sequence,
                                        .carrier = LULL_NONE};
        name_function(run.region < trace->n_regions ? trace->regions[run.region].name : "", told);
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

/* The kernel of that number, if there is one alone; LULL_NONE: there is not. */
static uint32_t find_carrier(const struct exchange_search *search, uint64_t number)
{
    const struct carrier *own = search->carriers + search->first;
    const size_t n = search->n - search->first;
    const size_t at =
        lull_sorted_first_u64(own, n, sizeof *own, offsetof(struct carrier, number), number);
    const bool alone =
        at < n && own[at].number == number && (at + 1 == n || own[at + 1].number != number);
    return alone && own[at].alone ? (uint32_t)(search->first + at) : LULL_NONE;
}

static struct told_operation *find_told(const struct exchange_search *search, uint64_t number)
{
    struct told_operation *own = search->told + search->first_told;
    const size_t n = search->n_told - search->first_told;
    const size_t at =
        lull_sorted_first_u64(own, n, sizeof *own, offsetof(struct told_operation, number), number);
    return at < n && own[at].number == number ? &own[at] : NULL;
}

static void carry_out(struct carrier *of, const struct told_operation *told)
{
    if (of->n_told++ == 0) {
        of->part = told->part;
        of->comm = told->comm;
        of->ranks = told->ranks;
        of->sequence = told->sequence;
        of->root = told->peer;
        of->op = told->op;
    }
    of->kinds |= (uint8_t)(1U << told->kind);
    of->uniform &= told->part == of->part && told->sequence != LULL_NONE;
    of->one_root &= told->peer == of->root;
    of->sized &= told->op == of->op && told->bytes > 0;
    of->bytes_told &= told->bytes > 0;
    of->bytes += told->bytes;
    of->signature = lull_mix(lull_mix(of->signature, told->op), told->sequence);
}

static void follow_thread(struct exchange_search *search, uint32_t location)
{
    struct lull_device_submit submit = lull_device_submit_open(search->log, location);
    uint32_t last = LULL_NONE;
    while (lull_device_submit_next(&submit)) {
        struct told_operation *told = find_told(search, submit.number);
        if (!told) {
            last = find_carrier(search, submit.number);
            if (last != LULL_NONE && submit.time > search->carriers[last].came)
                search->carriers[last].came = submit.time;
            continue;
        }
        told->time = submit.time;
        told->carrier = last;
        if (last != LULL_NONE)
            carry_out(&search->carriers[last], told);
    }
}

static bool search_process(struct exchange_search *search, uint32_t process)
{
    const struct lull_process *of = &search->trace->processes[process];
    const uint32_t end = of->first_location + of->n_locations;
    bool good = true;
    search->first = search->n;
    search->first_told = search->n_told;
    for (uint32_t l = of->first_location; good && l < end; l++) {
        if (lull_is_of_device(search->trace, l, search->application))
            good = gather_carriers(search, l);
        else if (lull_is_of_communicator(search->trace, l, search->application))
            good = gather_told(search, l);
    }
    if (!good || search->n == search->first || search->n_told == search->first_told)
        return good;
    qsort(search->carriers + search->first, search->n - search->first, sizeof *search->carriers,
          by_carrier_number);
    qsort(search->told + search->first_told, search->n_told - search->first_told,
          sizeof *search->told, by_told_number);
    for (uint32_t l = of->first_location; l < end; l++)
        if (search->trace->locations[l].kind != LULL_LOCATION_DEVICE)
            follow_thread(search, l);
    return true;
}

/* ---- lists of indices ------------------------------------------------------------------------ */

static int compare_keys(const uint64_t (*keys)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

struct index_list {
    uint32_t *items;
    size_t count, capacity;
};

static bool list_index(struct exchange_search *search, struct index_list *list, size_t index)
{
    if (!lull_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        search->no_memory = true;
        return false;
    }
    list->items[list->count++] = (uint32_t)index;
    return true;
}

static void sort_indices(struct index_list *list,
                         int (*compare)(const void *, const void *, void *),
                         const struct exchange_search *search)
{
    if (list->count > 0)
        qsort_r(list->items, list->count, sizeof *list->items, compare, (void *)(uintptr_t)search);
}

/* The number of the circle of a communicator and streams; LULL_NONE: no memory. `joint`: of joint exchanges. */
static uint32_t find_circle(struct exchange_search *search, struct lull_exchanges *exchanges,
                            uint32_t comm, bool joint, const uint32_t *carriers, uint32_t n)
{
    if (!lull_array_reserve(&search->key, &search->key_capacity, n + (size_t)1,
                            sizeof *search->key)) {
        search->no_memory = true;
        return LULL_NONE;
    }
    search->key[0] = 2 * comm + joint;
    for (uint32_t i = 0; i < n; i++)
        search->key[1 + i] = search->carriers[carriers[i]].location;
    const uint64_t *circle =
        lull_hash_add(&exchanges->circles, search->key, (n + (size_t)1) * sizeof *search->key,
                      exchanges->circles.count, NULL);
    search->no_memory |= !circle;
    return circle ? (uint32_t)*circle : LULL_NONE;
}

/* ---- joint exchanges ------------------------------------------------------------------------- */

static int by_operation(const void *a, const void *b, void *context)
{
    const struct exchange_search *search = context;
    const struct carrier *x = &search->carriers[*(const uint32_t *)a],
                         *y = &search->carriers[*(const uint32_t *)b];
    const uint64_t keys[][2] = {{x->comm, y->comm},         {x->op, y->op},
                                {x->sequence, y->sequence}, {x->part, y->part},
                                {x->location, y->location}, {x->order, y->order}};
    return compare_keys(keys, sizeof keys / sizeof *keys);
}

static bool is_same_operation(const struct carrier *a, const struct carrier *b)
{
    return a->comm == b->comm && a->op == b->op && a->sequence == b->sequence;
}

static int64_t corrected(const struct exchange_search *search, const struct carrier *of,
                         int64_t time)
{
    return time + (search->shifts ? search->shifts[of->process] : 0);
}

/* Whether these kernels carry out the same operations, and those of all ranks. */
static bool is_complete(const struct exchange_search *search, const uint32_t *items, uint32_t n)
{
    const struct carrier *first = &search->carriers[items[0]];
    int64_t came = INT64_MIN, ended = INT64_MAX;
    bool complete = n == first->ranks;
    for (uint32_t i = 0; complete && i < n; i++) {
        const struct carrier *of = &search->carriers[items[i]];
        const int64_t comes = corrected(search, of, of->came), end = corrected(search, of, of->end);
        complete = of->signature == first->signature && of->ranks == first->ranks &&
                   (of->kinds == 1 << TOLD_ALL || of->root == first->root) &&
                   (i == 0 || of->part > search->carriers[items[i - 1]].part);
        came = comes > came ? comes : came;
        ended = end < ended ? end : ended;
    }
    return complete && came < ended;
}

/* The process of the root of a rooted operation; LULL_NONE: it is not among the ranks. */
static uint32_t find_root(const struct exchange_search *search, const uint32_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct carrier *of = &search->carriers[items[i]];
        const char *name = search->trace->locations[of->part].name;
        if (of->root != LULL_NONE && lull_communicator_rank(name) == of->root)
            return of->process;
    }
    return LULL_NONE;
}

/* The kernels of a rooted operation are linked; as a joint exchange they are of use where a network says how long that takes. */
static bool add_exchange(struct exchange_search *search, struct lull_exchanges *exchanges,
                         const uint32_t *items, uint32_t n)
{
    const struct carrier *first = &search->carriers[items[0]];
    const bool rooted = first->kinds & KINDS_ROOTED;
    struct lull_joint_exchange exchange = {
        .n = n, .root = LULL_NONE, .op = first->op, .sized = true, .bytes = first->bytes};
    for (uint32_t i = 0; i < n; i++) {
        const struct carrier *of = &search->carriers[items[i]];
        exchange.sized &= of->sized && of->bytes == first->bytes &&
                          (i == 0 || of->process != search->carriers[items[i - 1]].process);
    }
    if (rooted) {
        exchange.root = find_root(search, items, n);
        if (!exchange.sized || exchange.root == LULL_NONE)
            return true;
    }
    exchange.circle = find_circle(search, exchanges, first->comm, true, items, n);
    if (search->no_memory ||
        !lull_array_reserve(&exchanges->items, &exchanges->capacity, exchanges->count + (size_t)1,
                            sizeof *exchanges->items))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        search->carriers[items[i]].exchange = exchanges->count;
        search->carriers[items[i]].position = i;
    }
    exchanges->items[exchanges->count++] = exchange;
    return true;
}

static bool is_known(const struct carrier *of)
{
    const bool linked = of->n_told > 0 && !(of->kinds & ~(KINDS_ROOTED | KINDS_OF_MESSAGES));
    return of->exchange != LULL_NONE || (linked && !of->unmet);
}

/* Whether a kernel could be a rank's part in a joint exchange, of operations with a root or without. */
static bool may_join(const struct carrier *of, bool rooted)
{
    const bool one =
        rooted ? (of->op == LULL_COLLECTIVE_BCAST && of->kinds == 1 << TOLD_ROOT_GIVES) ||
                     (of->op == LULL_COLLECTIVE_REDUCE && of->kinds == 1 << TOLD_ROOT_TAKES)
               : of->kinds == 1 << TOLD_ALL;
    return of->n_told > 0 && one && of->ranks > 0 && of->uniform &&
           (!rooted || (of->one_root && of->sized && is_known(of)));
}

static bool join_ranks(struct exchange_search *search, struct lull_exchanges *exchanges,
                       bool rooted)
{
    struct index_list list = {0};
    bool good = true;
    uint32_t n;
    for (size_t i = 0; good && i < search->n; i++)
        if (may_join(&search->carriers[i], rooted))
            good = list_index(search, &list, i);
    sort_indices(&list, by_operation, search);
    for (size_t i = 0; good && i < list.count; i += n) {
        const uint32_t *items = list.items + i;
        for (n = 1; i + n < list.count &&
                    is_same_operation(&search->carriers[items[0]], &search->carriers[items[n]]);)
            n++;
        good = !is_complete(search, items, n) || add_exchange(search, exchanges, items, n);
    }
    free(list.items);
    return good;
}

/* ---- links ----------------------------------------------------------------------------------- */

/* The kernel of `to` waits for that of `from`, if both are known. */
static void add_link(struct exchange_search *search, const struct told_operation *from,
                     const struct told_operation *to)
{
    if (to->carrier == LULL_NONE || to->carrier == from->carrier)
        return;
    struct carrier *waits = &search->carriers[to->carrier];
    struct carrier *of = from->carrier == LULL_NONE ? NULL : &search->carriers[from->carrier];
    if (!of || corrected(search, of, of->came) >= corrected(search, waits, waits->end)) {
        waits->unmet = true;
        return;
    }
    if (!lull_array_reserve(&search->links, &search->links_capacity, search->n_links + 1,
                            sizeof *search->links)) {
        search->no_memory = true;
        return;
    }
    if (of->process == waits->process)
        of->shares = waits->shares = true;
    search->links[search->n_links] = (struct found_link){to->comm, from->carrier, to->carrier,
                                                         (uint32_t)search->n_links, from->bytes};
    search->n_links++;
}

static void leave_unmet(struct exchange_search *search, const struct told_operation *told)
{
    if (told->carrier != LULL_NONE)
        search->carriers[told->carrier].unmet = true;
}

static int by_rooted(const void *a, const void *b, void *context)
{
    const struct exchange_search *search = context;
    const struct told_operation *x = &search->told[*(const uint32_t *)a],
                                *y = &search->told[*(const uint32_t *)b];
    const uint64_t keys[][2] = {{x->comm, y->comm},
                                {x->op, y->op},
                                {x->sequence, y->sequence},
                                {x->part, y->part},
                                {x->number, y->number}};
    return compare_keys(keys, sizeof keys / sizeof *keys);
}

/* The parts of ranks in an operation with a root. */
static void link_rooted(struct exchange_search *search, const uint32_t *items, uint32_t n)
{
    const struct told_operation *first = &search->told[items[0]], *root = NULL;
    const bool gives = first->kind == TOLD_ROOT_GIVES;
    bool good = first->sequence != LULL_NONE && (gives || n == first->ranks);
    for (uint32_t i = 0; i < n; i++) {
        const struct told_operation *of = &search->told[items[i]];
        good &= of->peer == first->peer && of->rank != LULL_NONE &&
                (i == 0 || of->part != search->told[items[i - 1]].part);
        root = of->rank == of->peer ? of : root;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct told_operation *of = &search->told[items[i]];
        const bool is_root = of->rank != LULL_NONE && of->rank == of->peer;
        if (is_root == gives && of->rank != LULL_NONE)
            continue; /* it needs nobody, or is needed */
        if (!good || !root)
            leave_unmet(search, of);
        else if (gives)
            add_link(search, root, of);
        for (uint32_t j = 0; !gives && good && root && j < n; j++)
            add_link(search, &search->told[items[j]], of);
    }
}

static int by_message(const void *a, const void *b, void *context)
{
    const struct exchange_search *search = context;
    const struct told_operation *x = &search->told[*(const uint32_t *)a],
                                *y = &search->told[*(const uint32_t *)b];
    const bool x_sends = x->kind == TOLD_SEND, y_sends = y->kind == TOLD_SEND;
    const uint64_t keys[][2] = {{x->comm, y->comm},
                                {x_sends ? x->rank : x->peer, y_sends ? y->rank : y->peer},
                                {x_sends ? x->peer : x->rank, y_sends ? y->peer : y->rank},
                                {x->kind, y->kind},
                                {(uint64_t)x->time, (uint64_t)y->time},
                                {x->number, y->number}};
    return compare_keys(keys, sizeof keys / sizeof *keys);
}

static bool is_same_way(const struct told_operation *a, const struct told_operation *b)
{
    const bool same = a->kind == b->kind;
    return a->comm == b->comm && (same ? a->rank : a->peer) == b->rank &&
           (same ? a->peer : a->rank) == b->peer;
}

/* Sends of one rank to another one, and behind them the receives there. */
static void link_messages(struct exchange_search *search, const uint32_t *items, uint32_t n)
{
    uint32_t sends = 0;
    while (sends < n && search->told[items[sends]].kind == TOLD_SEND)
        sends++;
    for (uint32_t i = sends; i < n; i++) {
        const struct told_operation *of = &search->told[items[i]];
        if (2 * sends == n && of->rank != LULL_NONE && of->peer != LULL_NONE)
            add_link(search, &search->told[items[i - sends]], of);
        else
            leave_unmet(search, of);
    }
}

static bool is_same_rooted(const struct told_operation *a, const struct told_operation *b)
{
    return a->comm == b->comm && a->op == b->op && a->sequence == b->sequence;
}

/* Links what was told of some kinds, in groups of what belongs together. */
static bool link_told(struct exchange_search *search, unsigned kinds,
                      int (*compare)(const void *, const void *, void *),
                      bool (*belongs)(const struct told_operation *, const struct told_operation *),
                      void (*link)(struct exchange_search *, const uint32_t *, uint32_t))
{
    struct index_list list = {0};
    bool good = true;
    uint32_t n;
    for (size_t i = 0; good && i < search->n_told; i++)
        if (kinds >> search->told[i].kind & 1)
            good = list_index(search, &list, i);
    sort_indices(&list, compare, search);
    for (size_t i = 0; good && i < list.count; i += n) {
        const uint32_t *items = list.items + i;
        for (n = 1;
             i + n < list.count && belongs(&search->told[items[n - 1]], &search->told[items[n]]);)
            n++;
        link(search, items, n);
    }
    free(list.items);
    return good && !search->no_memory;
}

/* ---- the order of links ---------------------------------------------------------------------- */

static int by_streams(const void *a, const void *b, void *context)
{
    const struct exchange_search *search = context;
    const struct found_link *x = a, *y = b;
    const struct carrier *x_from = &search->carriers[x->from], *x_to = &search->carriers[x->to],
                         *y_from = &search->carriers[y->from], *y_to = &search->carriers[y->to];
    const uint64_t keys[][2] = {{x->comm, y->comm},
                                {x_from->location, y_from->location},
                                {x_to->location, y_to->location},
                                {x_from->order, y_from->order},
                                {x_to->order, y_to->order},
                                {x->number, y->number}};
    return compare_keys(keys, sizeof keys / sizeof *keys);
}

static bool is_same_circle(const struct exchange_search *search, const struct found_link *a,
                           const struct found_link *b)
{
    return a->comm == b->comm &&
           search->carriers[a->from].location == search->carriers[b->from].location &&
           search->carriers[a->to].location == search->carriers[b->to].location;
}

/* Leaves links out to kernels that are not known. */
static void drop_unmet(struct exchange_search *search)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->n_links; i++)
        if (is_known(&search->carriers[search->links[i].to]))
            search->links[kept++] = search->links[i];
    search->n_links = kept;
}

/* Sorts links by circles. Where kernels come in another order on the two streams of a circle, it is not known what waits. */
static void order_links(struct exchange_search *search)
{
    size_t n;
    drop_unmet(search);
    if (search->n_links > 0)
        qsort_r(search->links, search->n_links, sizeof *search->links, by_streams, search);
    for (size_t i = 0; i < search->n_links; i += n) {
        const struct found_link *of = &search->links[i];
        bool in_order = true;
        for (n = 1; i + n < search->n_links && is_same_circle(search, of, &of[n]); n++)
            in_order &= search->carriers[of[n].to].order >= search->carriers[of[n - 1].to].order;
        for (size_t k = 0; !in_order && k < n; k++)
            search->carriers[of[k].to].unmet = true;
    }
    drop_unmet(search);
}

/* ---- the result ------------------------------------------------------------------------------ */

static int by_stream(const void *a, const void *b)
{
    const struct lull_exchange_kernel *x = a, *y = b;
    if (x->location != y->location)
        return x->location < y->location ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_place(const void *a, const void *b, void *context)
{
    const struct exchange_search *search = context;
    const struct carrier *x = &search->carriers[*(const uint32_t *)a],
                         *y = &search->carriers[*(const uint32_t *)b];
    const uint64_t keys[][2] = {{x->location, y->location}, {x->order, y->order}};
    return compare_keys(keys, 2);
}

/* Whether a network says how long a kernel without a joint exchange takes. */
static bool is_sized(const struct carrier *of)
{
    return is_known(of) && !(of->kinds & ~KINDS_OF_MESSAGES) && of->bytes_told && !of->shares;
}

static bool put_kernels(struct exchange_search *search, struct lull_exchanges *exchanges)
{
    struct index_list list = {0};
    bool good = true;
    for (size_t i = 0; i < search->n_links; i++)
        search->carriers[search->links[i].from].kernel = 0; /* it is needed */
    for (size_t i = 0; good && i < search->n; i++)
        if (is_known(&search->carriers[i]) || search->carriers[i].kernel == 0)
            good = list_index(search, &list, i);
    sort_indices(&list, by_place, search);
    good = good && lull_array_reserve(&exchanges->kernels, &exchanges->kernels_capacity,
                                      list.count + 1, sizeof *exchanges->kernels);
    for (uint32_t k = 0; good && k < list.count; k++) {
        struct carrier *of = &search->carriers[list.items[k]];
        const bool joint = of->exchange != LULL_NONE;
        of->kernel = k;
        exchanges->kernels[k] = (struct lull_exchange_kernel){
            .location = of->location,
            .order = of->order,
            .exchange = of->exchange,
            .position = of->position,
            .latest = k,
            .met = corrected(search, of, of->begin),
            .came = corrected(search, of, of->came),
            .known = is_known(of),
            .sized = joint ? exchanges->items[of->exchange].sized : is_sized(of)};
        exchanges->n_known += exchanges->kernels[k].known;
        exchanges->n_sized += exchanges->kernels[k].sized;
    }
    exchanges->n_kernels = good ? list.count : 0;
    free(list.items);
    return good;
}

/* When a kernel began, and when it had come. */
struct kernel_times {
    int64_t begin, came;
};

/* A kernel waits for another one; of several that begin last, that of the lowest stream counts. */
static void wait_for(struct lull_exchanges *exchanges, const struct kernel_times *times,
                     uint32_t waits, uint32_t other)
{
    struct lull_exchange_kernel *of = &exchanges->kernels[waits];
    const struct kernel_times *last = &times[other];
    if (last->begin > of->met || (last->begin == of->met && other < of->latest)) {
        of->met = last->begin;
        of->latest = other;
    }
    if (last->came > of->came)
        of->came = last->came;
}

/* Kernels of a joint exchange wait for each other, and kernels for those from which there are links to them. */
static bool find_latest(struct lull_exchanges *exchanges)
{
    const size_t n = exchanges->n_kernels;
    struct kernel_times *times = malloc((n + 1) * sizeof *times);
    /* Of each joint exchange the kernels that began and came last. */
    uint32_t(*last)[2] = malloc((exchanges->count + (size_t)1) * sizeof *last);
    const bool good = times && last;
    for (uint32_t i = 0; good && i < exchanges->count; i++)
        last[i][0] = last[i][1] = LULL_NONE;
    for (uint32_t k = 0; good && k < n; k++) {
        const uint32_t e = exchanges->kernels[k].exchange;
        times[k] = (struct kernel_times){exchanges->kernels[k].met, exchanges->kernels[k].came};
        if (e != LULL_NONE && (last[e][0] == LULL_NONE || times[k].begin > times[last[e][0]].begin))
            last[e][0] = k;
        if (e != LULL_NONE && (last[e][1] == LULL_NONE || times[k].came > times[last[e][1]].came))
            last[e][1] = k;
    }
    for (uint32_t k = 0; good && k < n; k++) {
        const uint32_t e = exchanges->kernels[k].exchange;
        for (int i = 0; i < 2 && e != LULL_NONE && exchanges->items[e].root == LULL_NONE; i++)
            wait_for(exchanges, times, k, last[e][i]);
    }
    for (size_t i = 0; good && i < exchanges->n_links; i++)
        wait_for(exchanges, times, exchanges->links[i].to, exchanges->links[i].from);
    free(times);
    free(last);
    return good;
}

static int by_sender(const void *a, const void *b, void *context)
{
    const struct lull_exchange_link *links = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t keys[][2] = {{links[x].from, links[y].from}, {x, y}};
    return compare_keys(keys, 2);
}

static int by_receiver(const void *a, const void *b, void *context)
{
    const struct lull_exchange_link *links = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t keys[][2] = {{links[x].to, links[y].to}, {x, y}};
    return compare_keys(keys, 2);
}

static bool put_links(struct exchange_search *search, struct lull_exchanges *exchanges)
{
    const size_t n = search->n_links;
    uint32_t *sent = malloc((n + 1) * sizeof *sent), *received = malloc((n + 1) * sizeof *sent);
    exchanges->sent = sent;
    exchanges->received = received;
    if (!sent || !received ||
        !lull_array_reserve(&exchanges->links, &exchanges->links_capacity, n + 1,
                            sizeof *exchanges->links))
        return false;
    for (uint32_t i = 0; i < n && !search->no_memory; i++) {
        const struct found_link *of = &search->links[i];
        const uint32_t ends[2] = {of->from, of->to};
        const uint32_t to = search->carriers[of->to].kernel;
        exchanges->links[i] = (struct lull_exchange_link){
            .circle = find_circle(search, exchanges, of->comm, false, ends, 2),
            .from = search->carriers[of->from].kernel,
            .to = to,
            .bytes = of->bytes,
            .sized = is_sized(&search->carriers[of->to])};
        sent[i] = received[i] = i;
    }
    exchanges->n_links = n;
    if (n > 0) {
        qsort_r(sent, n, sizeof *sent, by_sender, exchanges->links);
        qsort_r(received, n, sizeof *received, by_receiver, exchanges->links);
    }
    for (uint32_t i = (uint32_t)n; i-- > 0 && !search->no_memory;) {
        struct lull_exchange_kernel *from = &exchanges->kernels[exchanges->links[sent[i]].from],
                                    *to = &exchanges->kernels[exchanges->links[received[i]].to];
        from->first_sent = to->first_received = i;
        from->n_sent++;
        to->n_received++;
    }
    return !search->no_memory;
}

lull_status lull_exchanges_find(const struct lull_trace *trace, uint32_t application,
                                const struct lull_device_log *log, const int64_t *shifts,
                                struct lull_exchanges *ret_exchanges, struct lull_error *err)
{
    struct exchange_search search = {
        .trace = trace, .log = log, .shifts = shifts, .application = application};
    struct lull_exchanges exchanges = {0};
    bool good = true;
    for (uint32_t p = 0; good && p < trace->n_processes; p++)
        good = !lull_device_log_uses(log, p) || search_process(&search, p);
    exchanges.n_all = search.n;
    good = good && join_ranks(&search, &exchanges, false) &&
           link_told(&search, KINDS_ROOTED, by_rooted, is_same_rooted, link_rooted) &&
           link_told(&search, KINDS_OF_MESSAGES, by_message, is_same_way, link_messages);
    if (good)
        order_links(&search);
    good = good && join_ranks(&search, &exchanges, true) && put_kernels(&search, &exchanges) &&
           put_links(&search, &exchanges) && find_latest(&exchanges);
    lull_hash_free(&search.comms);
    free(search.carriers);
    free(search.told);
    free(search.links);
    free(search.key);
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
    free(exchanges->links);
    free((void *)(uintptr_t)exchanges->sent);
    free((void *)(uintptr_t)exchanges->received);
    *exchanges = (struct lull_exchanges){0};
}

const struct lull_exchange_kernel *lull_exchange_of(const struct lull_exchanges *exchanges,
                                                    uint32_t location, uint32_t order)
{
    const struct lull_exchange_kernel wanted = {.location = location, .order = order};
    const struct lull_exchange_kernel *kernels = exchanges->kernels;
    struct lull_bisection at = {.end = exchanges->n_kernels};
    while (lull_bisect(&at))
        at.in_front = by_stream(&kernels[at.middle], &wanted) < 0;
    return at.begin < exchanges->n_kernels && by_stream(&kernels[at.begin], &wanted) == 0
               ? &kernels[at.begin]
               : NULL;
}

uint32_t lull_exchange_circles(const struct lull_exchanges *exchanges)
{
    return (uint32_t)exchanges->circles.count;
}

uint32_t lull_exchange_circle_size(const struct lull_exchanges *exchanges, uint32_t circle)
{
    return (uint32_t)(exchanges->circles.entries[circle].size / sizeof(uint32_t)) - 1;
}

uint32_t lull_exchange_stream(const struct lull_exchanges *exchanges, uint32_t circle, uint32_t i)
{
    const unsigned char *key = lull_hash_key(&exchanges->circles, circle);
    uint32_t location;
    memcpy(&location, key + (1 + i) * sizeof location, sizeof location);
    return location;
}
