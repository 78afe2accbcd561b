/* The files around the records: the first lines of the .prv, the .pcf and the .row. */
#include "base/output_file.h"
#include "trace/format/paraver/write/codes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- header ---------------------------------------------------------------------------------- */

struct header {
    const struct lull_trace *trace;
    const struct lull_prv_codes *codes;
    void (*put)(void *out, const char *text);
    void *out;
};

static void put_header_number(const struct header *header, const char *before, uint64_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%llu", before, (unsigned long long)number);
    header->put(header->out, text);
}

static void put_date(const struct header *header)
{
    time_t seconds = header->trace->start_realtime > 0
                         ? (time_t)(header->trace->start_realtime / 1000000000)
                         : time(NULL);
    struct tm date;
    char text[64] = "(01/01/1970 at 00:00)";
    if (gmtime_r(&seconds, &date))
        strftime(text, sizeof text, "(%d/%m/%Y at %H:%M)", &date);
    header->put(header->out, "#Paraver ");
    header->put(header->out, text);
}

static void put_nodes(const struct header *header)
{
    const struct lull_prv_codes *codes = header->codes;
    put_header_number(header, ":", codes->n_nodes);
    for (uint32_t n = 0; n < codes->n_nodes; n++)
        put_header_number(header, n == 0 ? "(" : ",", codes->node_cpus[n]);
    header->put(header->out, ")");
}

static void put_applications(const struct header *header)
{
    const struct lull_trace *trace = header->trace;
    put_header_number(header, ":", trace->n_applications);
    uint32_t p = 0;
    for (uint32_t a = 0; a < trace->n_applications; a++) {
        uint32_t first = p;
        while (p < trace->n_processes && trace->processes[p].application == a)
            p++;
        put_header_number(header, a == 0 ? ":" : ",", p - first);
        for (uint32_t t = first; t < p; t++) {
            put_header_number(header, t == first ? "(" : ",", trace->processes[t].n_locations);
            put_header_number(header, ":", header->codes->nodes[t]);
        }
        header->put(header->out, ")");
    }
}

static void put_comm(const struct header *header, uint32_t index)
{
    const struct lull_trace *trace = header->trace;
    const struct lull_comm *comm = &trace->comms[index];
    put_header_number(header,
                      "c:", trace->processes[lull_comm_member(comm, 0)].application + UINT64_C(1));
    put_header_number(header, ":", header->codes->comms[index]);
    put_header_number(header, ":", comm->size);
    for (uint32_t r = 0; r < comm->size; r++)
        put_header_number(header, ":", header->codes->tasks[lull_comm_member(comm, r)]);
    header->put(header->out, "\n");
}

void lull_prv_write_header(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                           int64_t duration, void (*put)(void *out, const char *text), void *out)
{
    struct header header = {trace, codes, put, out};
    uint32_t comms = 0;
    for (uint32_t c = 0; c < trace->n_comms; c++)
        comms += codes->comms[c] != 0;
    put_date(&header);
    put_header_number(&header, ":", (uint64_t)duration);
    put(out, "_ns");
    put_nodes(&header);
    put_applications(&header);
    put_header_number(&header, ",", comms);
    put(out, "\n");
    for (uint32_t c = 0; c < trace->n_comms; c++)
        if (codes->comms[c] != 0)
            put_comm(&header, c);
}

/* ---- .pcf ------------------------------------------------------------------------------------ */

/* A label must stay on its line. */
static void put_label(FILE *out, const char *label)
{
    const char *begin = label;
    for (; *label; label++)
        fputc((unsigned char)*label < ' ' ? ' ' : *label, out);
    if (label == begin)
        fputs("unnamed", out);
    fputc('\n', out);
}

static void put_states(FILE *out, const struct lull_trace *trace,
                       const struct lull_prv_codes *codes)
{
    fputs("STATES\n", out);
    for (size_t i = 0; i < lull_prv_n_known_states; i++) {
        const char *name = lull_prv_known_states[i].label;
        for (uint32_t s = trace->n_states; s-- > 0;)
            if (codes->states[s] == lull_prv_known_states[i].number &&
                trace->states[s].number == codes->states[s])
                name = trace->states[s].name;
        fprintf(out, "%u    ", lull_prv_known_states[i].number);
        put_label(out, name);
    }
    fputs("\n\n", out);
}

static void begin_type(FILE *out, int gradient, uint64_t type)
{
    fprintf(out, "EVENT_TYPE\n%d    %llu    ", gradient, (unsigned long long)type);
}

static void put_own_label(FILE *out, uint64_t type)
{
    struct lull_prv_known_type own;
    const struct lull_prv_known_type *known = lull_prv_known_type(type);
    if (known)
        put_label(out, known->label);
    else if (lull_prv_own_region(type, &own))
        fprintf(out, "%s, %s\n", lull_paradigm_name(own.paradigm), lull_role_name(own.role));
}

/* The type of code `first` and all values of it. */
static void put_region_type(FILE *out, const struct lull_trace *trace,
                            const struct lull_prv_codes *codes, uint32_t first)
{
    uint64_t type = codes->regions[first].type;
    uint32_t n = trace->n_regions;
    begin_type(out, trace->regions[first % n].paradigm == LULL_PARADIGM_MPI ? 1 : 2, type);
    put_own_label(out, type);
    fputs("VALUES\n0    End\n", out);
    for (uint32_t r = first; r < 2 * n; r++) {
        if (!codes->regions[r].used || codes->regions[r].type != type)
            continue;
        fprintf(out, "%llu    ", (unsigned long long)codes->regions[r].value);
        put_label(out, trace->regions[r % n].name);
    }
    fputs("\n\n", out);
}

static void put_region_types(FILE *out, const struct lull_trace *trace,
                             const struct lull_prv_codes *codes)
{
    for (uint32_t r = 0; r < 2 * trace->n_regions; r++) {
        bool first = codes->regions[r].used;
        for (uint32_t before = 0; first && before < r; before++)
            first = !codes->regions[before].used ||
                    codes->regions[before].type != codes->regions[r].type;
        if (first)
            put_region_type(out, trace, codes, r);
    }
}

/* Where calls come from, as Extrae has it. */
static void put_callers(FILE *out, const struct lull_trace *trace,
                        const struct lull_prv_codes *codes)
{
    bool any = false;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        if (!codes->regions[r].called)
            continue;
        if (!any) {
            begin_type(out, 1, LULL_PRV_CALLER);
            fputs("Caller at level 1\nVALUES\n0    End\n", out);
        }
        any = true;
        fprintf(out, "%llu    ", (unsigned long long)LULL_PRV_OWN_VALUES + r);
        put_label(out, trace->regions[r].site);
    }
    if (any)
        fputs("\n\n", out);
}

/* Parameters and lull's own events: labelled always, they are few. */
static void put_fixed_types(FILE *out, const struct lull_trace *trace)
{
    bool free_threads = false;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        free_threads |= trace->locations[l].role == LULL_THREAD_FREE;
    for (size_t i = 0; i < lull_prv_n_known_types; i++) {
        const struct lull_prv_known_type *known = &lull_prv_known_types[i];
        if (known->kind == LULL_PRV_REGION && !(free_threads && known->number == 61000000))
            continue;
        begin_type(out, 6, known->number);
        put_label(out, known->label);
        fputs("\n\n", out);
    }
}

lull_status lull_prv_write_pcf(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err)
{
    int failure;
    FILE *out = lull_output_stream_open(path, &failure);
    if (!out)
        return lull_fail_errno(err, "%s: cannot create", path);
    fputs("DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\n\n"
          "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n\n",
          out);
    put_states(out, trace, codes);
    put_region_types(out, trace, codes);
    put_callers(out, trace, codes);
    put_fixed_types(out, trace);
    for (uint32_t c = 0; c < trace->n_counters; c++) {
        begin_type(out, 7, codes->counters[c].type);
        put_label(out, trace->counters[c].name);
        fputs("\n\n", out);
    }
    for (uint32_t m = 0; m < trace->n_markers; m++) {
        if (!codes->markers[m].used)
            continue;
        begin_type(out, 9, codes->markers[m].type);
        put_label(out, trace->markers[m].name);
        fputs("\n\n", out);
    }
    return lull_output_stream_close(out, &failure, path, err);
}

/* ---- .row ------------------------------------------------------------------------------------ */

static const char *node_name(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                             uint32_t code)
{
    uint32_t node = codes->node_of[code - 1];
    return node == LULL_NONE ? "node" : trace->nodes[node].name;
}

lull_status lull_prv_write_row(const struct lull_trace *trace, const struct lull_prv_codes *codes,
                               const char *path, struct lull_error *err)
{
    int failure;
    FILE *out = lull_output_stream_open(path, &failure);
    if (!out)
        return lull_fail_errno(err, "%s: cannot create", path);
    fprintf(out, "LEVEL NODE SIZE %u\n", codes->n_nodes);
    for (uint32_t n = 1; n <= codes->n_nodes; n++)
        put_label(out, node_name(trace, codes, n));
    fprintf(out, "\nLEVEL TASK SIZE %u\n", trace->n_processes);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        put_label(out, trace->processes[p].name);
    fprintf(out, "\nLEVEL THREAD SIZE %u\n", trace->n_locations);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        if (trace->locations[l].kind == LULL_LOCATION_DEVICE)
            fputs(LULL_PRV_STREAM, out);
        put_label(out, trace->locations[l].name);
    }
    return lull_output_stream_close(out, &failure, path, err);
}
