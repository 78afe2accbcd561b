/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/store/definitions.h"

#include "record/clock.h"
#include "record/core.h"
#include "record/node.h"
#include "record/store/container.h"
#include "tape/definition.h"
#include "tape/life.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FIRST_DEFINITION_BYTES = LULL_TAPE_PAGE, MOST_STEP = 64 << 10 };
#define MOST_DEFINITION_BYTES ((size_t)1 << 30)

static struct {
    pthread_mutex_t lock;
    struct lull_tape_definitions_header
        *header;          /* of the extent that is being filled; NULL: nothing
                                                    is recorded */
    size_t mapped, whole; /* bytes of this extent, and of all extents */
    uint32_t n_regions, n_comms, n_markers, n_counters, n_objects, n_files;
    int64_t last_point; /* ns */
    bool full;          /* there is no room for more, and none is asked for again */
    bool holds_memory;  /* a definition of this extent is changed while the program runs */
} own_definitions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the file -------------------------------------------------------------------------------- */

static size_t next_size(size_t least)
{
    size_t size = own_definitions.header ? own_definitions.mapped * 2 : FIRST_DEFINITION_BYTES;
    size = size > MOST_STEP ? MOST_STEP : size;
    least = (least + LULL_TAPE_PAGE - 1) / LULL_TAPE_PAGE * LULL_TAPE_PAGE;
    return size > least ? size : least;
}

/* The mapping stays where something in it still changes. */
static void leave_extent(void)
{
    if (own_definitions.header && !own_definitions.holds_memory)
        munmap(own_definitions.header, own_definitions.mapped);
    own_definitions.holds_memory = false;
    own_definitions.header = NULL;
}

/* Begins another extent, with room for a header and `size` bytes. */
static bool map_more_definitions(size_t size)
{
    struct rec_extent extent;
    if (size > MOST_DEFINITION_BYTES - own_definitions.whole)
        return false;
    const size_t whole = next_size(sizeof *own_definitions.header + size);
    struct lull_tape_definitions_header *header = rec_container_map(whole, NULL, &extent);
    if (header == MAP_FAILED)
        return false;
    memcpy(header->magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof header->magic);
    header->version = LULL_TAPE_VERSION;
    header->byte_order = LULL_TAPE_BYTE_ORDER;
    header->header_size = sizeof *header;
    header->process = rec_process.number;
    rec_container_enter(&extent, LULL_TAPE_PART_DEFINITIONS, 0);
    leave_extent();
    own_definitions.header = header;
    own_definitions.mapped = whole;
    own_definitions.whole += whole;
    return true;
}

static bool grow_definitions(size_t size)
{
    own_definitions.full = own_definitions.full || !map_more_definitions(size);
    return !own_definitions.full;
}

static struct rec_aside lock_all(void)
{
    const struct rec_aside aside = rec_step_aside();
    rec_lock(&own_definitions.lock);
    return aside;
}

static void unlock_all(const struct rec_aside *aside)
{
    rec_unlock(&own_definitions.lock);
    rec_step_back(aside);
}

void rec_definitions_drop(void)
{
    const struct rec_aside aside = lock_all();
    leave_extent();
    rec_container_drop();
    unlock_all(&aside);
}

bool rec_definitions_begin(const char *run, const char *store)
{
    if (!rec_place_take(run, store))
        return false;
    if (grow_definitions(0))
        return true;
    int reason = errno;
    rec_definitions_drop();
    errno = reason;
    return false;
}

/* ---- appending ------------------------------------------------------------------------------- */

typedef void fill(struct lull_tape_builder *builder, const void *what);

/* Appends a definition, with the lock held. False: there is no room for it, or nothing is
 * recorded. */
static bool append(unsigned kind, uint32_t id, fill *body, const void *what)
{
    if (!own_definitions.header)
        return false;
    size_t size = 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        const size_t used = sizeof *own_definitions.header + own_definitions.header->committed;
        struct lull_tape_builder builder;
        lull_tape_build_begin(&builder, (unsigned char *)own_definitions.header + used,
                              own_definitions.mapped - used, kind, id);
        body(&builder, what);
        size = lull_tape_build_end(&builder);
        if (size <= own_definitions.mapped - used)
            break;
        if (!grow_definitions(size))
            return false;
    }
    __atomic_store_n(&own_definitions.header->committed, own_definitions.header->committed + size,
                     __ATOMIC_RELEASE);
    return true;
}

/* Gives out the next id of a kind; 0 when it could not be written. */
static uint32_t append_definition(unsigned kind, uint32_t *count, fill *body, const void *what)
{
    rec_define_clock(10000000);
    const struct rec_aside aside = lock_all();
    uint32_t id = *count + 1;
    bool good = id < LULL_TAPE_MOST_IDS && append(kind, id, body, what);
    if (good)
        *count = id;
    unlock_all(&aside);
    return good ? id : 0;
}

static void fill_region(struct lull_tape_builder *builder, const void *what)
{
    const struct rec_region *region = what;
    lull_tape_build_u32(builder, region->paradigm);
    lull_tape_build_u32(builder, region->role);
    lull_tape_build_u32(builder, region->parallel);
    lull_tape_build_u32(builder, region->line);
    lull_tape_build_text(builder, region->name);
    lull_tape_build_text(builder, region->file ? region->file : "");
}

uint32_t rec_define_region(const struct rec_region *region)
{
    return append_definition(LULL_TAPE_DEFINE_REGION, &own_definitions.n_regions, fill_region,
                             region);
}

uint32_t rec_define_region_once(uint32_t *id, const struct rec_region *region)
{
    uint32_t known = __atomic_load_n(id, __ATOMIC_ACQUIRE);
    if (known != 0)
        return known;
    uint32_t fresh = rec_define_region(region);
    /* Two threads may both have written a definition; the reader makes one region of the two. */
    if (!__atomic_compare_exchange_n(id, &known, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return known;
    return fresh;
}

struct object_definition {
    const char *path, *build_id, *function;
};

static void fill_object(struct lull_tape_builder *builder, const void *what)
{
    const struct object_definition *object = what;
    lull_tape_build_text(builder, object->path);
    lull_tape_build_text(builder, object->build_id);
    if (object->function)
        lull_tape_build_text(builder, object->function);
}

uint32_t rec_define_object(const char *path, const char *build_id, const char *function)
{
    const struct object_definition object = {path, build_id, function};
    return append_definition(LULL_TAPE_DEFINE_OBJECT, &own_definitions.n_objects, fill_object,
                             &object);
}

static void fill_site(struct lull_tape_builder *builder, const void *what)
{
    const struct rec_site *site = what;
    lull_tape_build_u32(builder, site->region);
    lull_tape_build_u32(builder, site->code);
    lull_tape_build_u32(builder, site->n);
    for (unsigned i = 0; i < site->n; i++) {
        lull_tape_build_u32(builder, site->objects[i]);
        lull_tape_build_u64(builder, site->offsets[i]);
    }
}

uint32_t rec_define_site(const struct rec_site *site)
{
    return append_definition(LULL_TAPE_DEFINE_SITE, &own_definitions.n_regions, fill_site, site);
}

struct throttled_definition {
    uint64_t ns, calls;
};

static void fill_throttled(struct lull_tape_builder *builder, const void *what)
{
    const struct throttled_definition *throttled = what;
    lull_tape_build_u64(builder, throttled->ns);
    lull_tape_build_u64(builder, throttled->calls);
}

void rec_define_throttled(uint32_t region, uint64_t ns, uint64_t calls)
{
    const struct throttled_definition throttled = {ns, calls};
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_THROTTLED, region, fill_throttled, &throttled);
    unlock_all(&aside);
}

static void fill_members(struct lull_tape_builder *builder, const struct rec_comm *comm)
{
    lull_tape_build_u32(builder, comm->members ? comm->size : 0);
    for (uint32_t r = 0; comm->members && r < comm->size; r++)
        lull_tape_build_u32(builder, comm->members[r]);
}

static void fill_comm(struct lull_tape_builder *builder, const void *what)
{
    const struct rec_comm *comm = what;
    lull_tape_build_u64(builder, comm->key);
    lull_tape_build_u32(builder, comm->paradigm);
    lull_tape_build_u32(builder, comm->size);
    lull_tape_build_u32(builder, comm->first);
    lull_tape_build_u32(builder, comm->parent);
    lull_tape_build_u32(builder, comm->remote);
    fill_members(builder, comm);
    lull_tape_build_text(builder, comm->name ? comm->name : "");
    if (comm->tells_rank)
        lull_tape_build_u64(builder, comm->rank);
}

uint32_t rec_define_comm(const struct rec_comm *comm)
{
    return append_definition(LULL_TAPE_DEFINE_COMM, &own_definitions.n_comms, fill_comm, comm);
}

uint32_t rec_define_intercomm(struct rec_comm *local, struct rec_comm *remote)
{
    const struct rec_aside aside = lock_all();
    uint32_t id = own_definitions.n_comms + 1;
    local->remote = id + 1;
    remote->remote = id;
    bool good = id + 1 < LULL_TAPE_MOST_IDS &&
                append(LULL_TAPE_DEFINE_COMM, id, fill_comm, local) &&
                append(LULL_TAPE_DEFINE_COMM, id + 1, fill_comm, remote);
    own_definitions.n_comms += 2;
    unlock_all(&aside);
    return good ? id : 0;
}

struct far {
    uint64_t link, own;
    const struct rec_comm *group;
};

static void fill_far(struct lull_tape_builder *builder, const void *what)
{
    const struct far *far = what;
    lull_tape_build_u64(builder, far->link);
    lull_tape_build_u64(builder, far->own);
    lull_tape_build_u64(builder, far->group->key);
    lull_tape_build_u32(builder, far->group->size);
    lull_tape_build_u32(builder, far->group->tells_rank ? UINT32_MAX : far->group->first);
    fill_members(builder, far->group);
}

uint32_t rec_define_half(const struct rec_comm *local, uint64_t link, uint64_t own,
                         const struct rec_comm *group)
{
    const struct far far = {link, own, group};
    const uint32_t id = rec_define_comm(local);
    const struct rec_aside aside = lock_all();
    const bool good = id != 0 && append(LULL_TAPE_DEFINE_FAR, id, fill_far, &far);
    unlock_all(&aside);
    return good ? id : 0;
}

static void fill_marker(struct lull_tape_builder *builder, const void *what)
{
    lull_tape_build_u64(builder, 0);
    lull_tape_build_text(builder, what);
}

uint32_t rec_define_marker(const char *name)
{
    return append_definition(LULL_TAPE_DEFINE_MARKER, &own_definitions.n_markers, fill_marker,
                             name);
}

struct file {
    const char *path;
    unsigned kind;
};

static void fill_file(struct lull_tape_builder *builder, const void *what)
{
    const struct file *file = what;
    lull_tape_build_u32(builder, file->kind);
    lull_tape_build_text(builder, file->path);
}

uint32_t rec_define_file(const char *path, unsigned kind)
{
    const struct file file = {path, kind};
    return append_definition(LULL_TAPE_DEFINE_FILE, &own_definitions.n_files, fill_file, &file);
}

struct counter_definition {
    const char *name, *unit;
    unsigned role;
};

static void fill_counter(struct lull_tape_builder *builder, const void *what)
{
    const struct counter_definition *counter = what;
    lull_tape_build_u64(builder, 0);
    lull_tape_build_u32(builder, counter->role);
    lull_tape_build_text(builder, counter->name);
    lull_tape_build_text(builder, counter->unit);
}

uint32_t rec_define_counter(const char *name, const char *unit, unsigned role)
{
    const struct counter_definition counter = {name, unit, role};
    return append_definition(LULL_TAPE_DEFINE_COUNTER, &own_definitions.n_counters, fill_counter,
                             &counter);
}

/* ---- the process and its clock --------------------------------------------------------------- */

static void fill_node(struct lull_tape_builder *builder, const void *what)
{
    lull_tape_build_u32(builder, UINT32_MAX);
    lull_tape_build_text(builder, what);
    lull_tape_build_text(builder, "node");
}

static void fill_process(struct lull_tape_builder *builder, const void *what)
{
    lull_tape_build_u32(builder, rec_process.application);
    lull_tape_build_u32(builder, rec_process.rank);
    lull_tape_build_u32(builder, 1); /* the node below */
    lull_tape_build_text(builder, what);
    lull_tape_build_u64(builder, rec_node_key());
}

void rec_define_process(void)
{
    char name[64];
    rec_process_name(name, sizeof name);
    struct utsname host;
    bool has_host = uname(&host) == 0;
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_NODE, 1, fill_node, has_host ? host.nodename : "");
    append(LULL_TAPE_DEFINE_PROCESS, rec_process.number, fill_process, name);
    unlock_all(&aside);
}

static void fill_life(struct lull_tape_builder *builder, const void *what)
{
    const struct lull_tape_life *life = what;
    lull_tape_build_u64(builder, life->node);
    lull_tape_build_u64(builder, life->space);
    lull_tape_build_u64(builder, life->pid);
    lull_tape_build_u64(builder, life->start);
}

void rec_define_life(void)
{
    struct lull_tape_life life;
    if (!lull_tape_own_life(&life))
        return;
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_LIFE, 0, fill_life, &life);
    unlock_all(&aside);
}

struct world_definition {
    uint32_t first, size, rank;
};

static void fill_world(struct lull_tape_builder *builder, const void *what)
{
    const struct world_definition *world = what;
    lull_tape_build_u32(builder, world->first);
    lull_tape_build_u32(builder, world->size);
    lull_tape_build_u32(builder, world->rank);
}

void rec_define_world(uint32_t first, uint32_t size, uint32_t rank)
{
    const struct world_definition world = {first, size, rank};
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_WORLD, 0, fill_world, &world);
    unlock_all(&aside);
}

static void fill_run(struct lull_tape_builder *builder, const void *what)
{
    const int64_t *realtime = what;
    lull_tape_build_u64(builder, 0); /* when the run began, and how long it took: records tell */
    lull_tape_build_u64(builder, 0);
    lull_tape_build_u64(builder, (uint64_t)*realtime);
    lull_tape_build_f64(builder, rec_process.ns_per_tick);
    lull_tape_build_f64(builder, 0); /* the clock's points tell */
    lull_tape_build_u32(builder, false);
    lull_tape_build_text(builder, "lull " LULL_VERSION);
}

void rec_define_run(void)
{
    int64_t now = lull_clock_read(CLOCK_REALTIME);
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_RUN, 0, fill_run, &now);
    unlock_all(&aside);
}

struct property {
    const char *key, *value;
};

static void fill_property(struct lull_tape_builder *builder, const void *what)
{
    const struct property *property = what;
    lull_tape_build_text(builder, property->key);
    lull_tape_build_text(builder, property->value);
}

struct point {
    struct lull_clock_point pair;
    double error;
};

static void fill_clock(struct lull_tape_builder *builder, const void *what)
{
    const struct point *point = what;
    lull_tape_build_u64(builder, point->pair.ticks);
    lull_tape_build_u64(builder, (uint64_t)point->pair.ns);
    lull_tape_build_f64(builder, point->error);
}

void rec_define_clock(int64_t ns)
{
    int64_t now = rec_node_clock();
    if (now - __atomic_load_n(&own_definitions.last_point, __ATOMIC_RELAXED) < ns)
        return;
    /* Read with the lock held, because points stand in the order of their times. */
    const struct rec_aside aside = lock_all();
    struct point point = {.pair = lull_clock_pair(rec_process.tsc)};
    point.pair.ns = rec_node_clock_of(point.pair.ns);
    /* The error is the time, in ns, by which the two readings of the pair may be apart, and by which
     * the clock was wrong since the last point. */
    const bool drifted = rec_clock_drift_text() != NULL;
    point.error = (double)point.pair.error_ticks * rec_process.ns_per_tick + rec_clock_check();
    if (append(LULL_TAPE_DEFINE_CLOCK, 0, fill_clock, &point))
        __atomic_store_n(&own_definitions.last_point, point.pair.ns, __ATOMIC_RELAXED);
    if (!drifted && rec_clock_drift_text())
        append(LULL_TAPE_DEFINE_PROPERTY, 0, fill_property,
               &(struct property){LULL_TAPE_PROPERTY_CLOCK_DRIFT, rec_clock_drift_text()});
    unlock_all(&aside);
}

struct offset_definition {
    int64_t ns, to_root;
    double error;
};

static void fill_offset(struct lull_tape_builder *builder, const void *what)
{
    const struct offset_definition *offset = what;
    lull_tape_build_u64(builder, (uint64_t)offset->ns);
    lull_tape_build_u64(builder, (uint64_t)offset->to_root);
    lull_tape_build_f64(builder, offset->error);
}

void rec_define_offset(int64_t ns, int64_t to_root, double error)
{
    const struct offset_definition offset = {ns, to_root, error};
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_OFFSET, 0, fill_offset, &offset);
    unlock_all(&aside);
}

/* ---- what the process says of itself --------------------------------------------------------- */

void rec_define_property(const char *key, const char *value)
{
    const struct property property = {key, value};
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_PROPERTY, 0, fill_property, &property);
    unlock_all(&aside);
}

static void fill_memory(struct lull_tape_builder *builder, const void *what)
{
    lull_tape_build_memory(builder, what);
}

/* The last bytes of the definition that was appended last. */
static void *last_fields(size_t size)
{
    return (unsigned char *)(own_definitions.header + 1) + own_definitions.header->committed - size;
}

/* Appends a definition that ends with `size` bytes that will change. Returns where these are; NULL: nowhere. */
static void *append_changing(unsigned kind, fill *body, const void *what, size_t size)
{
    const uint32_t id = kind == LULL_TAPE_DEFINE_REGION_MEMORY ? 0 : rec_process.number;
    void *place = NULL;
    const struct rec_aside aside = lock_all();
    if (append(kind, id, body, what)) {
        place = last_fields(size);
        own_definitions.holds_memory = true;
    }
    unlock_all(&aside);
    return place;
}

struct lull_tape_memory *rec_define_memory(const struct lull_tape_memory *memory)
{
    return append_changing(LULL_TAPE_DEFINE_MEMORY, fill_memory, memory, sizeof *memory);
}

static void fill_readings(struct lull_tape_builder *builder, const void *what)
{
    (void)what;
    for (unsigned i = 0; i < LULL_TAPE_READINGS; i++)
        lull_tape_build_reading(builder, &(struct lull_tape_reading){0});
}

struct lull_tape_reading *rec_define_readings(void)
{
    return append_changing(LULL_TAPE_DEFINE_READINGS, fill_readings, NULL,
                           sizeof(struct lull_tape_reading[LULL_TAPE_READINGS]));
}

static void fill_region_memory(struct lull_tape_builder *builder, const void *what)
{
    lull_tape_build_u32(builder, *(const uint32_t *)what);
    lull_tape_build_u32(builder, rec_process.number);
    lull_tape_build_region_memory(builder, &(struct lull_tape_region_memory){.peak = 0});
}

struct lull_tape_region_memory *rec_define_region_memory(uint32_t region)
{
    return append_changing(LULL_TAPE_DEFINE_REGION_MEMORY, fill_region_memory, &region,
                           sizeof(struct lull_tape_region_memory));
}

/* ---- the end --------------------------------------------------------------------------------- */

static void fill_exit(struct lull_tape_builder *builder, const void *what)
{
    (void)what;
    lull_tape_build_u64(builder, LULL_TAPE_NOT_EXITED);
}

uint64_t *rec_definitions_end(void)
{
    uint64_t *status = NULL;
    const struct rec_aside aside = lock_all();
    if (append(LULL_TAPE_DEFINE_EXIT, 0, fill_exit, NULL))
        status = last_fields(sizeof *status); /* the mapping stays: the status may come later */
    else
        leave_extent();
    own_definitions.header = NULL;
    unlock_all(&aside);
    return status;
}

/* ---- what disturbed the program -------------------------------------------------------------- */

struct disturbance {
    uint64_t seed;
    const char *specs;
};

static void fill_disturbance(struct lull_tape_builder *builder, const void *what)
{
    const struct disturbance *disturbance = what;
    lull_tape_build_u64(builder, disturbance->seed);
    lull_tape_build_text(builder, disturbance->specs);
}

void rec_define_disturbance(uint64_t seed, const char *specs)
{
    const struct disturbance disturbance = {seed, specs};
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_DISTURBANCE, 0, fill_disturbance, &disturbance);
    unlock_all(&aside);
}

static void fill_held(struct lull_tape_builder *builder, const void *what)
{
    const uint64_t *counts = what;
    lull_tape_build_u64(builder, counts[0]);
    lull_tape_build_u64(builder, counts[1]);
}

void rec_define_held(uint64_t known, uint64_t unknown)
{
    const uint64_t counts[] = {known, unknown};
    const struct rec_aside aside = lock_all();
    append(LULL_TAPE_DEFINE_HELD, 0, fill_held, counts);
    unlock_all(&aside);
}
