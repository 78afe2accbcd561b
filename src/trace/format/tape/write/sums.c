/* Sums are copied as they were read: in ns, by the ids of the trace. */
#include "trace/sums.h"
#include "trace/format/tape/write/writer.h"

#include <stdio.h>
#include <stdlib.h>

/* The counters that a location has counted, as many as a file of sums holds. */
static uint32_t find_summed_counters(const struct lull_trace *trace, const struct lull_sums *sums,
                                     uint32_t *ret_counters)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < trace->n_counters && n < LULL_TAPE_MOST_COUNTERS; c++) {
        uint64_t any = sums->counts_outside[c];
        for (uint32_t r = 0; r < sums->n_regions; r++)
            any |= sums->regions[r].counts[0][c] | sums->regions[r].counts[1][c];
        if (any)
            ret_counters[n++] = c;
    }
    return n;
}

static struct lull_tape_sums_header make_header(const struct tape_writer *writer, uint32_t location,
                                                const struct lull_sums *sums)
{
    const struct lull_trace *trace = writer->trace;
    const struct lull_location *of = &trace->locations[location];
    struct lull_tape_sums_header header = {
        .version = LULL_TAPE_VERSION,
        .byte_order = LULL_TAPE_BYTE_ORDER,
        .header_size = sizeof header,
        .process = of->process,
        .number = location - trace->processes[of->process].first_location,
        .regions = trace->n_regions,
        .begin = (uint64_t)sums->begin,
        .end = (uint64_t)sums->end,
        .paused = (uint64_t)sums->paused,
        .absent = (uint64_t)sums->absent,
        .flushing = {(uint64_t)sums->flush[0], (uint64_t)sums->flush[1]},
    };
    memcpy(header.magic, LULL_TAPE_SUMS_MAGIC, sizeof header.magic);
    header.n_counters = find_summed_counters(trace, sums, header.counters);
    header.sum_size =
        (uint32_t)(sizeof(struct lull_tape_sum) + header.n_counters * sizeof(uint64_t));
    for (uint32_t c = 0; c < header.n_counters; c++)
        header.counted[c] = sums->counts_outside[header.counters[c]];
    return header;
}

static void put_region_sum(const struct lull_tape_sums_header *header,
                           const struct lull_region_sum *region, unsigned char *to)
{
    to += (size_t)region->region * 2 * header->sum_size;
    for (unsigned parallel = 0; parallel < 2; parallel++, to += header->sum_size) {
        const struct lull_tape_sum sum = {region->visits[parallel], (uint64_t)region->ns[parallel]};
        memcpy(to, &sum, sizeof sum);
        for (uint32_t c = 0; c < header->n_counters; c++)
            memcpy(to + sizeof sum + c * sizeof(uint64_t),
                   &region->counts[parallel][header->counters[c]], sizeof(uint64_t));
    }
}

static lull_status write_file(const char *path, const struct lull_tape_sums_header *header,
                              const unsigned char *sums, size_t size, struct lull_error *err)
{
    FILE *out = fopen(path, "wb");
    bool good = out && fwrite(header, sizeof *header, 1, out) == 1 &&
                (size == 0 || fwrite(sums, size, 1, out) == 1);
    if (out && fclose(out) != 0)
        good = false;
    return good ? LULL_OK : lull_fail_errno(err, "%s: cannot write", path);
}

lull_status lull_tape_write_sums(const struct tape_writer *writer, uint32_t location,
                                 struct lull_error *err)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct lull_sums sums;
    char path[4096];
    lull_tape_output_path(writer, location, "sums", path, sizeof path);
    lull_status status = lull_trace_read_sums(writer->trace, location, scratch, &sums, err);
    if (status == LULL_OK) {
        const struct lull_tape_sums_header header = make_header(writer, location, &sums);
        size_t size = 2 * (size_t)header.regions * header.sum_size;
        unsigned char *bytes = lull_arena_zero(scratch, size, 1);
        for (uint32_t r = 0; r < sums.n_regions; r++)
            put_region_sum(&header, &sums.regions[r], bytes);
        status = write_file(path, &header, bytes, size, err);
    }
    lull_arena_destroy(scratch);
    return status;
}
