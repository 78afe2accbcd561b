/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/layers.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_POINTS = 64 };

/* Accesses to one array that move together: one stream through memory. */
struct access_stream {
    size_t array;
    struct lull_poly motion; /* the part of the offsets with loop variables, which all have */
    double stride;           /* elements per iteration of the body; 1 where they do not move */
    double bytes;            /* new bytes that an iteration touches, a line at most */
    double lines;            /* lines per unit of work */
    bool read, written;
    /* The number of an access with an index; LULL_KERNEL_NONE: the stream has none. */
    int indirect;
    /* The different offsets without their motion, ascending at the given sizes. */
    struct lull_poly points[MOST_POINTS];
    double at[MOST_POINTS];
    size_t n_points;
};

struct finding {
    const struct lull_kernel *kernel;
    struct lull_arena *arena;
    double values[LULL_POLY_SYMBOLS], line;
    struct access_stream *streams;
    size_t n_streams;
    bool too_many;
};

/* Splits an offset into motion, the terms with loop variables, and point, those without. */
static void split_offset(const struct lull_kernel *kernel, const struct lull_poly *offset,
                         struct lull_poly *ret_motion, struct lull_poly *ret_point)
{
    *ret_motion = *ret_point = (struct lull_poly){0};
    for (size_t i = 0; i < offset->count; i++) {
        bool moves = false;
        for (size_t s = 0; s < kernel->n_symbols; s++)
            moves |= offset->terms[i].power[s] && !kernel->symbols[s].is_size;
        struct lull_poly *part = moves ? ret_motion : ret_point;
        part->terms[part->count++] = offset->terms[i];
    }
}

static void add_point(struct finding *finding, struct access_stream *stream,
                      const struct lull_poly *point)
{
    double at = lull_poly_value(point, finding->values);
    size_t k = 0;
    while (k < stream->n_points && stream->at[k] < at)
        k++;
    if (k < stream->n_points && stream->at[k] == at)
        return;
    if (stream->n_points == MOST_POINTS) {
        finding->too_many = true;
        return;
    }
    for (size_t i = stream->n_points++; i > k; i--) {
        stream->points[i] = stream->points[i - 1];
        stream->at[i] = stream->at[i - 1];
    }
    stream->points[k] = *point;
    stream->at[k] = at;
}

static struct access_stream *stream_of(struct finding *finding,
                                       const struct lull_kernel_access *access,
                                       const struct lull_poly *motion)
{
    const struct lull_kernel *kernel = finding->kernel;
    bool indirect = access->index_access != LULL_KERNEL_NONE;
    for (size_t i = 0; i < finding->n_streams; i++)
        if (finding->streams[i].array == access->array && !indirect &&
            finding->streams[i].indirect == LULL_KERNEL_NONE &&
            lull_poly_equal(&finding->streams[i].motion, motion))
            return &finding->streams[i];
    struct access_stream *stream = &finding->streams[finding->n_streams++];
    double size = kernel->arrays[access->array].bytes;
    double stride = fabs(lull_kernel_stride(kernel, access, (size_t)kernel->body));
    *stream = (struct access_stream){
        .array = access->array, .motion = *motion, .indirect = LULL_KERNEL_NONE};
    if (indirect)
        stream->indirect = (int)(access - kernel->accesses);
    stream->stride = stride > 0 ? stride : 1;
    stream->bytes = fmin(stream->stride * size, finding->line);
    stream->lines = lull_kernel_unit(kernel, finding->line) * stream->bytes / finding->line;
    return stream;
}

static void find_streams(struct finding *finding)
{
    const struct lull_kernel *kernel = finding->kernel;
    finding->streams =
        lull_arena_zero(finding->arena, kernel->n_accesses, sizeof *finding->streams);
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        struct lull_poly motion, point;
        if (access->loop != kernel->body)
            continue;
        split_offset(kernel, &access->offset, &motion, &point);
        struct access_stream *stream = stream_of(finding, access, &motion);
        stream->written |= access->write;
        stream->read |= !access->write;
        add_point(finding, stream, &point);
    }
}

/* ---- conditions ---------------------------------------------------------------------------- */

/* The iterations between the points k and k + 1 of a stream. */
static double distance(const struct access_stream *stream, size_t k)
{
    return (stream->at[k + 1] - stream->at[k]) / stream->stride;
}

/* The cache lines per unit of work that are missed if data are kept for t iterations. */
static double misses_at(const struct finding *finding, double t)
{
    double sum = 0;
    for (size_t i = 0; i < finding->n_streams; i++) {
        const struct access_stream *stream = &finding->streams[i];
        if (stream->indirect != LULL_KERNEL_NONE)
            continue;
        unsigned longer = 1; /* the foremost access always misses */
        for (size_t k = 0; k + 1 < stream->n_points; k++)
            longer += distance(stream, k) > t;
        sum += longer * stream->lines;
    }
    return sum;
}

/* The bytes that a cache needs to keep data for t iterations. */
static double bytes_at(const struct finding *finding, double t)
{
    double sum = 0;
    for (size_t i = 0; i < finding->n_streams; i++) {
        const struct access_stream *stream = &finding->streams[i];
        sum += stream->bytes * t;
        for (size_t k = 0; k + 1 < stream->n_points; k++)
            sum += stream->bytes * fmin(distance(stream, k), t);
    }
    return sum;
}

/* Adds factor * elements * bytes / stride, in bytes, for a distance in elements. False: that is not
 * a whole number. */
static bool add_part(struct lull_poly *sum, const struct lull_poly *elements, double bytes,
                     double stride, int64_t factor)
{
    struct lull_poly part;
    double each = bytes / stride;
    if (each == floor(each))
        return lull_poly_add(sum, elements, factor * (int64_t)each, sum);
    return stride == floor(stride) && lull_poly_divide(elements, (int64_t)stride, &part) &&
           lull_poly_add(sum, &part, factor * (int64_t)bytes, sum);
}

static bool difference(const struct access_stream *stream, size_t k, struct lull_poly *ret_elements)
{
    return lull_poly_add(&stream->points[k + 1], &stream->points[k], -1, ret_elements);
}

/* The same bytes as in bytes_at, as a polynomial of the sizes, for the distance behind the point
 * `at` of a stream. False: they are no polynomial. */
static bool form_bytes(const struct finding *finding, const struct access_stream *of, size_t at,
                       struct lull_poly *ret_bytes)
{
    struct lull_poly sum = {0}, t, part;
    double limit = distance(of, at);
    if (!difference(of, at, &t))
        return false;
    for (size_t i = 0; i < finding->n_streams; i++) {
        const struct access_stream *stream = &finding->streams[i];
        int64_t longer = 1;
        for (size_t k = 0; k + 1 < stream->n_points; k++) {
            if (distance(stream, k) > limit)
                longer++;
            else if (!difference(stream, k, &part) ||
                     !add_part(&sum, &part, stream->bytes, stream->stride, 1))
                return false;
        }
        if (!add_part(&sum, &t, stream->bytes, of->stride, longer))
            return false;
    }
    *ret_bytes = sum;
    return true;
}

static int first_size(const struct lull_kernel *kernel, const struct lull_poly *bytes)
{
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].is_size && !kernel->symbols[s].divisor &&
            lull_poly_contains(bytes, s))
            return (int)s;
    return LULL_KERNEL_NONE;
}

static void add_condition(const struct finding *finding, struct lull_layers *layers,
                          const struct access_stream *stream, size_t at)
{
    const struct lull_kernel *kernel = finding->kernel;
    const char *const *names = lull_kernel_names(kernel, finding->arena);
    double t = distance(stream, at), value = bytes_at(finding, t);
    struct lull_poly elements;
    size_t k = layers->n_conditions;
    for (size_t i = 0; i < layers->n_conditions; i++)
        if (layers->conditions[i].value == value)
            return;
    for (; k > 0 && layers->conditions[k - 1].value > value; k--)
        layers->conditions[k] = layers->conditions[k - 1];
    struct lull_layer_condition *condition = &layers->conditions[k];
    *condition = (struct lull_layer_condition){.array = kernel->arrays[stream->array].name,
                                               .iterations = t,
                                               .value = value,
                                               .misses = misses_at(finding, t),
                                               .size = LULL_KERNEL_NONE};
    condition->distance = difference(stream, at, &elements)
                              ? lull_poly_text(&elements, names, finding->arena)
                              : lull_arena_printf(finding->arena, "%.0f", t * stream->stride);
    if (form_bytes(finding, stream, at, &condition->bytes)) {
        condition->formula = lull_poly_text(&condition->bytes, names, finding->arena);
        condition->size = first_size(kernel, &condition->bytes);
    }
    layers->n_conditions++;
}

static void find_conditions(const struct finding *finding, struct lull_layers *layers)
{
    size_t most = 0;
    for (size_t i = 0; i < finding->n_streams; i++)
        most += finding->streams[i].n_points;
    layers->conditions = lull_arena_zero(finding->arena, most, sizeof *layers->conditions);
    for (size_t i = 0; i < finding->n_streams; i++)
        for (size_t k = 0; k + 1 < finding->streams[i].n_points; k++)
            add_condition(finding, layers, &finding->streams[i], k);
}

/* ---- caches -------------------------------------------------------------------------------- */

/* The largest whole value of a size with which a condition holds. Doubles it, and then bisects: the
 * bytes grow with every size. */
static double find_largest(const struct finding *finding,
                           const struct lull_layer_condition *condition, double capacity)
{
    double values[LULL_POLY_SYMBOLS], low = 0, high = 1;
    for (size_t s = 0; s < LULL_POLY_SYMBOLS; s++)
        values[s] = finding->values[s];
    double *size = &values[condition->size];
    for (*size = high; lull_poly_value(&condition->bytes, values) <= capacity && high < 0x1p50;
         *size = high) {
        low = high;
        high *= 2;
    }
    if (low == 0)
        return 0;
    while (high - low > 1) {
        *size = floor((low + high) / 2);
        if (lull_poly_value(&condition->bytes, values) <= capacity)
            low = *size;
        else
            high = *size;
    }
    return low;
}

/* The block of the body's loop with which a condition holds; NAN: there is none. Distances that
 * depend on sizes shrink in proportion to the block. */
static double find_block(const struct finding *finding,
                         const struct lull_layer_condition *condition, double capacity)
{
    const struct lull_kernel *kernel = finding->kernel;
    double unit = lull_kernel_unit(kernel, finding->line), fixed = 0;
    double trips = lull_kernel_trips(kernel, (size_t)kernel->body);
    /* Where rows have a constant length, only those of the body's own iterations tell that the reuse is one from row to row. */
    if (condition->size == LULL_KERNEL_NONE &&
        (condition->iterations < trips || kernel->loops[kernel->body].parent == LULL_KERNEL_NONE))
        return NAN;
    for (size_t i = 0; i < condition->bytes.count; i++) {
        struct lull_poly term = {.count = 1, .terms = {condition->bytes.terms[i]}};
        if (lull_poly_is_constant(&term, NULL) && condition->size != LULL_KERNEL_NONE)
            fixed = (double)term.terms[0].factor;
    }
    double block = (capacity - fixed) * trips / (condition->value - fixed);
    block = floor(block / unit) * unit;
    return block >= unit && block < trips ? block : NAN;
}

/* The lines that are missed through random indices: of an array that does not fit into the cache,
 * the share that does not fit, a line for each access. */
static double indirect_misses(const struct finding *finding, double capacity)
{
    const struct lull_kernel *kernel = finding->kernel;
    double sum = 0;
    for (size_t i = 0; i < finding->n_streams; i++) {
        const struct access_stream *stream = &finding->streams[i];
        if (stream->indirect == LULL_KERNEL_NONE)
            continue;
        double bytes = lull_kernel_array_bytes(kernel, stream->array);
        sum += lull_kernel_unit(kernel, finding->line) * fmax(0, 1 - capacity / bytes);
    }
    return sum;
}

/* The lines that are written, and in *ret_unread those of them that are not read. */
static double written_lines(const struct finding *finding, double capacity, double *ret_unread)
{
    double sum = 0, unread = 0;
    for (size_t i = 0; i < finding->n_streams; i++) {
        const struct access_stream *stream = &finding->streams[i];
        double bytes = lull_kernel_array_bytes(finding->kernel, stream->array);
        double lines =
            stream->indirect == LULL_KERNEL_NONE
                ? stream->lines
                : lull_kernel_unit(finding->kernel, finding->line) * fmax(0, 1 - capacity / bytes);
        sum += stream->written ? lines : 0;
        unread += stream->written && !stream->read ? lines : 0;
    }
    *ret_unread = unread;
    return sum;
}

static void fill_level(const struct finding *finding, struct lull_layers *layers, size_t level)
{
    double capacity = layers->capacity[level], misses = misses_at(finding, -1);
    for (size_t c = 0; c < layers->n_conditions; c++) {
        const struct lull_layer_condition *condition = &layers->conditions[c];
        struct lull_layer_held *held = &layers->held[c * layers->n_levels + level];
        held->holds = condition->value <= capacity;
        held->largest = held->block = NAN;
        if (held->holds)
            misses = condition->misses;
        if (condition->size != LULL_KERNEL_NONE)
            held->largest = find_largest(finding, condition, capacity);
        if (!held->holds)
            held->block = find_block(finding, condition, capacity);
    }
    layers->fits[level] = layers->footprint <= capacity;
    if (layers->fits[level])
        return;
    layers->lines[level].loads = misses + indirect_misses(finding, capacity);
    layers->lines[level].stores = written_lines(finding, capacity, &layers->lines[level].allocates);
}

static void note_oddities(const struct finding *finding, struct lull_layers *layers)
{
    const struct lull_kernel *kernel = finding->kernel;
    layers->has_others = lull_kernel_count_innermost(kernel) > 1;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        if (access->loop != kernel->body)
            continue;
        if (access->index_access != LULL_KERNEL_NONE) {
            layers->indirect = kernel->arrays[access->array].name;
            continue;
        }
        for (int l = kernel->body; l != LULL_KERNEL_NONE; l = kernel->loops[l].parent)
            layers->has_invariant |= lull_kernel_stride(kernel, access, (size_t)l) == 0 &&
                                     lull_kernel_trips(kernel, (size_t)l) > 1;
    }
}

lull_status lull_layers_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                             unsigned cores, struct lull_arena *arena,
                             struct lull_layers *ret_layers, struct lull_error *err)
{
    struct lull_layers layers = {.footprint = lull_kernel_footprint(kernel)};
    struct finding finding = {.kernel = kernel, .arena = arena, .line = 64};
    if (machine->n_caches == 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "the machine file has no caches: lull bench writes them where the system "
                         "tells them");
    for (size_t c = 0; c < machine->n_caches && c < LULL_LAYER_LEVELS; c++) {
        const struct lull_machine_cache *cache = &machine->caches[c];
        unsigned sharers = cache->shared_cores ? cache->shared_cores : 1;
        if (cache->bytes == 0)
            return lull_fail(err, LULL_ERR_RANGE, "the machine file has no size of cache L%u",
                             cache->level);
        layers.capacity[layers.n_levels++] =
            (double)cache->bytes / (cores < sharers ? cores : sharers);
    }
    if (machine->caches[0].line_bytes)
        finding.line = machine->caches[0].line_bytes;
    lull_kernel_values(kernel, finding.values);
    find_streams(&finding);
    if (finding.too_many)
        return lull_fail(err, LULL_ERR_RANGE, "%s: more than %d accesses to one array",
                         kernel->path, MOST_POINTS);
    find_conditions(&finding, &layers);
    layers.held =
        lull_arena_zero(arena, layers.n_conditions * layers.n_levels + 1, sizeof *layers.held);
    for (size_t level = 0; level < layers.n_levels; level++)
        fill_level(&finding, &layers, level);
    note_oddities(&finding, &layers);
    *ret_layers = layers;
    return LULL_OK;
}
