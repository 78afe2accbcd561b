/* SPDX-License-Identifier: BSD-3-Clause */
/* Locations, regions and call sites. */
#include "base/collective.h"
#include "columns/tables.h"

#include <string.h>

/* ==== locations =============================================================================== */

static const char *kind_of_location(unsigned kind)
{
    return kind == LULL_LOCATION_DEVICE ? "device stream" : "thread";
}

static const char *role_of_thread(unsigned role)
{
    static const char *const roles[] = {[LULL_THREAD_UNKNOWN] = "unknown",
                                        [LULL_THREAD_MASTER] = "master",
                                        [LULL_THREAD_WORKER] = "worker",
                                        [LULL_THREAD_FREE] = "free"};
    return roles[role];
}

enum { N_KINDS = LULL_LOCATION_DEVICE + 1, N_ROLES = LULL_THREAD_FREE + 1 };

struct location_words {
    struct lull_column_words names, processes, nodes, kinds, roles;
};

static bool make_location_words(const struct lull_trace *trace, struct location_words *words)
{
    bool made = lull_column_words_add_all(&words->kinds, N_KINDS, kind_of_location) &&
                lull_column_words_add_all(&words->roles, N_ROLES, role_of_thread);
    for (uint32_t i = 0; made && i < trace->n_locations; i++)
        made = lull_column_words_add(&words->names, trace->locations[i].name);
    for (uint32_t i = 0; made && i < trace->n_processes; i++)
        made = lull_column_words_add(&words->processes, trace->processes[i].name);
    for (uint32_t i = 0; made && i < trace->n_nodes; i++)
        made = lull_column_words_add(&words->nodes, trace->nodes[i].name);
    return made;
}

static lull_status put_location(struct lull_arrow_file *file, const struct lull_trace *trace,
                                const struct location_words *words, uint32_t index,
                                struct lull_error *err)
{
    const struct lull_location *location = &trace->locations[index];
    const struct lull_process *process = &trace->processes[location->process];
    const bool knows_cores = location->cores.on > 0;
    unsigned c = 0;
    lull_set_int32(file, c++, index);
    lull_set_word(file, c++, &words->names, index);
    lull_set_int32(file, c++, location->process);
    lull_set_word(file, c++, &words->processes, location->process);
    lull_set_int32(file, c++, process->application);
    lull_set_int32(file, c++, process->rank);
    lull_set_int32(file, c++, location->number);
    lull_set_word(file, c++, &words->kinds, location->kind);
    lull_set_word(file, c++, &words->roles, location->role);
    lull_set_word(file, c++, &words->nodes, process->node);
    if (knows_cores) {
        lull_set_int64(file, c++, (int64_t)location->cores.on);
        lull_set_int64(file, c++, (int64_t)location->cores.off);
    } else {
        lull_set_null(file, c++);
        lull_set_null(file, c++);
    }
    return lull_arrow_row(file, err);
}

static lull_status write_locations(const struct lull_tables *tables,
                                   const struct location_words *words, struct lull_error *err)
{
    const struct lull_arrow_column columns[] = {
        {"location", LULL_ARROW_INT32, false, NULL},
        {"name", LULL_ARROW_NAME, false, &words->names.texts},
        {"process", LULL_ARROW_INT32, false, NULL},
        {"process_name", LULL_ARROW_NAME, false, &words->processes.texts},
        {"application", LULL_ARROW_INT32, false, NULL},
        {"rank", LULL_ARROW_INT32, false, NULL},
        {"thread", LULL_ARROW_INT32, false, NULL},
        {"kind", LULL_ARROW_NAME, false, &words->kinds.texts},
        {"role", LULL_ARROW_NAME, false, &words->roles.texts},
        {"node", LULL_ARROW_NAME, true, &words->nodes.texts},
        {"on_core", LULL_ARROW_INT64, true, NULL},
        {"without_core", LULL_ARROW_INT64, true, NULL},
    };
    struct lull_arrow_file file;
    lull_status status =
        lull_table_open(tables, "locations", columns, sizeof columns / sizeof *columns, &file, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t i = 0; i < tables->trace->n_locations && status == LULL_OK; i++)
        status = put_location(&file, tables->trace, words, i, err);
    const lull_status closed =
        lull_arrow_close(&file, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}

/* ==== regions ================================================================================= */

static const char *activity_of_region(unsigned activity)
{
    return lull_activity_id(activity);
}

struct region_words {
    struct lull_column_words paradigms, roles, activities, collectives, files, sites;
};

static bool make_region_words(const struct lull_trace *trace, struct region_words *words)
{
    bool made =
        lull_column_words_add_all(&words->paradigms, LULL_PARADIGMS, lull_paradigm_name) &&
        lull_column_words_add_all(&words->roles, LULL_ROLES, lull_role_name) &&
        lull_column_words_add_all(&words->activities, LULL_ACTIVITIES, activity_of_region) &&
        lull_column_words_add_all(&words->collectives, LULL_COLLECTIVE_UNKNOWN,
                                  lull_collective_name);
    for (uint32_t i = 0; made && i < trace->n_regions; i++)
        made = lull_column_words_add(&words->files, trace->regions[i].file) &&
               lull_column_words_add(&words->sites, trace->regions[i].site);
    return made;
}

static void set_place(struct lull_arrow_file *file, unsigned column,
                      const struct region_words *words, const struct lull_region *region,
                      uint32_t index)
{
    lull_set_word(file, column, &words->files, *region->file ? index : LULL_NONE);
    lull_set_index(file, column + 1, region->line ? region->line : LULL_NONE);
}

/* `site`: the number of its call site, or LULL_NONE. */
static lull_status put_region(struct lull_arrow_file *file, const struct lull_tables *tables,
                              const struct region_words *words, uint32_t index, uint32_t site,
                              struct lull_error *err)
{
    const struct lull_region *region = &tables->trace->regions[index];
    unsigned c = 0;
    lull_set_int32(file, c++, index);
    lull_set_word(file, c++, &tables->regions, index);
    lull_set_word(file, c++, &words->paradigms, region->paradigm);
    lull_set_word(file, c++, &words->roles, region->role);
    lull_set_word(file, c++, &words->activities, region->activity);
    lull_set_bool(file, c++, region->user);
    lull_set_bool(file, c++, region->parallel);
    lull_set_word(file, c++, &words->collectives, region->collective);
    set_place(file, c, words, region, index);
    lull_set_index(file, c + 2, site);
    return lull_arrow_row(file, err);
}

static bool has_site(const struct lull_region *region)
{
    return *region->site;
}

static lull_status write_regions(const struct lull_tables *tables, const struct region_words *words,
                                 struct lull_error *err)
{
    const struct lull_arrow_column columns[] = {
        {"region", LULL_ARROW_INT32, false, NULL},
        {"name", LULL_ARROW_NAME, false, &tables->regions.texts},
        {"paradigm", LULL_ARROW_NAME, false, &words->paradigms.texts},
        {"role", LULL_ARROW_NAME, false, &words->roles.texts},
        {"activity", LULL_ARROW_NAME, false, &words->activities.texts},
        {"user", LULL_ARROW_BOOL, false, NULL},
        {"parallel", LULL_ARROW_BOOL, false, NULL},
        {"collective", LULL_ARROW_NAME, true, &words->collectives.texts},
        {"file", LULL_ARROW_NAME, true, &words->files.texts},
        {"line", LULL_ARROW_INT32, true, NULL},
        {"call_site", LULL_ARROW_INT32, true, NULL},
    };
    struct lull_arrow_file file;
    lull_status status =
        lull_table_open(tables, "regions", columns, sizeof columns / sizeof *columns, &file, err);
    if (status != LULL_OK)
        return status;
    const struct lull_trace *trace = tables->trace;
    uint32_t sites = 0;
    for (uint32_t i = 0; i < trace->n_regions && status == LULL_OK; i++)
        status = put_region(&file, tables, words, i,
                            has_site(&trace->regions[i]) ? sites++ : LULL_NONE, err);
    const lull_status closed =
        lull_arrow_close(&file, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}

/* ==== call sites ============================================================================== */

static lull_status put_call_site(struct lull_arrow_file *file, const struct lull_tables *tables,
                                 const struct region_words *words, uint32_t index, uint32_t site,
                                 struct lull_error *err)
{
    const struct lull_region *region = &tables->trace->regions[index];
    unsigned c = 0;
    lull_set_int32(file, c++, site);
    lull_set_int32(file, c++, index);
    lull_set_word(file, c++, &tables->regions, index);
    lull_set_index(file, c++, region->whole);
    set_place(file, c, words, region, index);
    lull_set_word(file, c + 2, &words->sites, index);
    return lull_arrow_row(file, err);
}

static lull_status write_call_sites(const struct lull_tables *tables,
                                    const struct region_words *words, struct lull_error *err)
{
    const struct lull_arrow_column columns[] = {
        {"call_site", LULL_ARROW_INT32, false, NULL},
        {"region", LULL_ARROW_INT32, false, NULL},
        {"name", LULL_ARROW_NAME, false, &tables->regions.texts},
        {"whole", LULL_ARROW_INT32, true, NULL},
        {"file", LULL_ARROW_NAME, true, &words->files.texts},
        {"line", LULL_ARROW_INT32, true, NULL},
        {"callers", LULL_ARROW_NAME, false, &words->sites.texts},
    };
    struct lull_arrow_file file;
    lull_status status = lull_table_open(tables, "call_sites", columns,
                                         sizeof columns / sizeof *columns, &file, err);
    if (status != LULL_OK)
        return status;
    uint32_t sites = 0;
    for (uint32_t i = 0; i < tables->trace->n_regions && status == LULL_OK; i++)
        if (has_site(&tables->trace->regions[i]))
            status = put_call_site(&file, tables, words, i, sites++, err);
    const lull_status closed =
        lull_arrow_close(&file, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}

/* ==== all of them ============================================================================= */

static lull_status write_location_table(const struct lull_tables *tables, struct lull_error *err)
{
    struct location_words words = {0};
    lull_status status = make_location_words(tables->trace, &words)
                             ? write_locations(tables, &words, err)
                             : lull_tables_no_memory(tables, err);
    lull_column_words_free(&words.names);
    lull_column_words_free(&words.processes);
    lull_column_words_free(&words.nodes);
    lull_column_words_free(&words.kinds);
    lull_column_words_free(&words.roles);
    return status;
}

static lull_status write_region_tables(const struct lull_tables *tables, struct lull_error *err)
{
    struct region_words words = {0};
    lull_status status = make_region_words(tables->trace, &words)
                             ? write_regions(tables, &words, err)
                             : lull_tables_no_memory(tables, err);
    if (status == LULL_OK)
        status = write_call_sites(tables, &words, err);
    lull_column_words_free(&words.paradigms);
    lull_column_words_free(&words.roles);
    lull_column_words_free(&words.activities);
    lull_column_words_free(&words.collectives);
    lull_column_words_free(&words.files);
    lull_column_words_free(&words.sites);
    return status;
}

lull_status lull_write_definition_tables(const struct lull_tables *tables, struct lull_error *err)
{
    const lull_status status = write_location_table(tables, err);
    return status == LULL_OK ? write_region_tables(tables, err) : status;
}
