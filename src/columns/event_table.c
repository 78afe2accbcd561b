/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as they were recorded: a row each, and one for each value of a reading of counters. */
#include "base/collective.h"
#include "columns/tables.h"

#include <stdlib.h>

/* ==== words =================================================================================== */

/* What the `id` of an event is an index into. */
enum names_set {
    NAMES_NOTHING,
    NAMES_REGION,
    NAMES_STATE,
    NAMES_COMM,
    NAMES_COUNTER,
    NAMES_MARKER,
    NAMES_FILE,
    NAMES_OBJECT,
    NAMES_SETS
};

/* What the `op` of an event is one of. */
enum ops_set {
    OPS_NONE,
    OPS_COLLECTIVE,
    OPS_SEND_MODE,
    OPS_RMA,
    OPS_IO,
    OPS_THREAD_WAIT,
    OPS_SEVERAL,
    OPS_SETS
};

static const char *const send_modes[LULL_SEND_MODES] = {
    [LULL_SEND_STANDARD] = "standard",
    [LULL_SEND_BUFFERED] = "buffered",
    [LULL_SEND_SYNCHRONOUS] = "synchronous",
};
static const char *const rma_ops[LULL_RMA_OPS] = {
    [LULL_RMA_PUT] = "put",
    [LULL_RMA_GET] = "get",
    [LULL_RMA_ATOMIC] = "atomic",
    [LULL_RMA_SYNC] = "sync",
};
static const char *const io_ops[LULL_IO_OPS] = {
    [LULL_IO_READ] = "read",   [LULL_IO_WRITE] = "write", [LULL_IO_OPEN] = "open",
    [LULL_IO_CLOSE] = "close", [LULL_IO_OTHER] = "other",
};
static const char *const thread_waits[LULL_THREAD_WAITS] = {
    [LULL_THREAD_WAIT_JOIN] = "join",
    [LULL_THREAD_WAIT_BARRIER] = "barrier",
};
static const char *const several[] = {"several calls"};

static const struct {
    unsigned count;
    const char *const *names; /* NULL: lull_collective_name has them */
    unsigned first;           /* the op that the first name is of */
} op_sets[OPS_SETS] = {
    [OPS_COLLECTIVE] = {LULL_COLLECTIVE_UNKNOWN, NULL, 0},
    [OPS_SEND_MODE] = {LULL_SEND_MODES, send_modes, LULL_SEND_STANDARD},
    [OPS_RMA] = {LULL_RMA_OPS, rma_ops, LULL_RMA_PUT},
    [OPS_IO] = {LULL_IO_OPS, io_ops, LULL_IO_READ},
    [OPS_THREAD_WAIT] = {LULL_THREAD_WAITS, thread_waits, LULL_THREAD_WAIT_JOIN},
    [OPS_SEVERAL] = {1, several, LULL_SEVERAL},
};

struct lull_event_table {
    struct lull_arrow_file file;
    struct lull_column_words kinds;
    struct lull_column_words names; /* of all that an `id` may name, one after the other */
    uint32_t first[NAMES_SETS + 1]; /* the first of them, by enum names_set */
    struct lull_column_words ops;   /* of all sets */
    uint32_t first_op[OPS_SETS + 1];
};

static bool add_states(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_states; i++)
        if (!lull_column_words_add(words, trace->states[i].name))
            return false;
    return true;
}

static bool add_counters(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_counters; i++)
        if (!lull_column_words_add(words, trace->counters[i].name))
            return false;
    return true;
}

static bool add_markers(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_markers; i++)
        if (!lull_column_words_add(words, trace->markers[i].name))
            return false;
    return true;
}

static bool add_files(struct lull_column_words *words, const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_files; i++)
        if (!lull_column_words_add(words, trace->files[i].name))
            return false;
    return true;
}

static bool make_event_words(struct lull_event_table *table, const struct lull_trace *trace)
{
    static bool (*const add[NAMES_SETS])(struct lull_column_words *, const struct lull_trace *) = {
        [NAMES_REGION] = lull_column_words_of_regions,
        [NAMES_STATE] = add_states,
        [NAMES_COMM] = lull_column_words_of_comms,
        [NAMES_COUNTER] = add_counters,
        [NAMES_MARKER] = add_markers,
        [NAMES_FILE] = add_files,
        [NAMES_OBJECT] = lull_column_words_of_objects,
    };
    bool made = lull_column_words_add_all(&table->kinds, LULL_EVENT_KINDS, lull_event_kind_name);
    for (unsigned i = NAMES_NOTHING + 1; made && i < NAMES_SETS; i++) {
        table->first[i] = (uint32_t)table->names.count;
        made = add[i](&table->names, trace);
    }
    table->first[NAMES_SETS] = (uint32_t)table->names.count;
    for (unsigned i = OPS_NONE + 1; made && i < OPS_SETS; i++) {
        table->first_op[i] = (uint32_t)table->ops.count;
        for (unsigned op = 0; made && op < op_sets[i].count; op++)
            made = lull_column_words_add(&table->ops, op_sets[i].names ? op_sets[i].names[op]
                                                                       : lull_collective_name(op));
    }
    table->first_op[OPS_SETS] = (uint32_t)table->ops.count;
    return made;
}

/* ==== rows ==================================================================================== */

enum event_column {
    EVENT_LOCATION,
    EVENT_TIME,
    EVENT_KIND,
    EVENT_ID,
    EVENT_NAME,
    EVENT_OP,
    EVENT_DURATION,
    EVENT_VALUE,
    EVENT_PARTNER,
    EVENT_COLUMNS
};

/* What the members of an event are, by its kind. */
enum event_value {
    VALUE_NONE,
    VALUE_CALLS,
    VALUE_NUMBER,
    VALUE_MEETING,
    VALUE_MESSAGE,
    VALUE_REQUEST,
    VALUE_SENT,
    VALUE_TRANSFER,
    VALUE_WEIGHT,
    VALUE_OPERATION
};

static const struct {
    uint8_t id;    /* enum names_set */
    uint8_t op;    /* enum ops_set */
    uint8_t value; /* enum event_value */
    bool lasts;    /* it has a duration */
} shapes[LULL_EVENT_KINDS] = {
    [LULL_EVENT_ENTER] = {.id = NAMES_REGION},
    [LULL_EVENT_LEAVE] = {.id = NAMES_REGION},
    [LULL_EVENT_CALL] = {.id = NAMES_REGION,
                         .op = OPS_SEVERAL,
                         .value = VALUE_CALLS,
                         .lasts = true},
    [LULL_EVENT_STATE] = {.id = NAMES_STATE, .lasts = true},
    [LULL_EVENT_SEND] = {.id = NAMES_COMM, .op = OPS_SEND_MODE, .value = VALUE_MESSAGE},
    [LULL_EVENT_SEND_DONE] = {.value = VALUE_REQUEST},
    [LULL_EVENT_RECV_POST] = {.id = NAMES_COMM, .value = VALUE_MESSAGE},
    [LULL_EVENT_RECV] = {.id = NAMES_COMM, .value = VALUE_MESSAGE},
    [LULL_EVENT_REQUEST_TEST] = {.value = VALUE_REQUEST},
    [LULL_EVENT_REQUEST_CANCELLED] = {.value = VALUE_REQUEST},
    [LULL_EVENT_REQUEST_FREED] = {.value = VALUE_REQUEST},
    [LULL_EVENT_COLLECTIVE_BEGIN] = {.id = NAMES_COMM, .op = OPS_COLLECTIVE},
    [LULL_EVENT_COLLECTIVE_END] = {.id = NAMES_COMM, .op = OPS_COLLECTIVE, .value = VALUE_SENT},
    [LULL_EVENT_RMA] = {.id = NAMES_COMM, .op = OPS_RMA, .value = VALUE_TRANSFER},
    [LULL_EVENT_IO] = {.id = NAMES_FILE, .op = OPS_IO, .value = VALUE_TRANSFER},
    [LULL_EVENT_FORK] = {.value = VALUE_NUMBER},
    [LULL_EVENT_TEAM_BEGIN] = {.id = NAMES_COMM},
    [LULL_EVENT_TEAM_END] = {.id = NAMES_COMM},
    [LULL_EVENT_THREAD_BEGIN] = {.value = VALUE_NUMBER},
    [LULL_EVENT_THREAD_END] = {.value = VALUE_NUMBER},
    [LULL_EVENT_THREAD_CREATE] = {.value = VALUE_NUMBER},
    [LULL_EVENT_THREAD_WAIT_BEGIN] = {.op = OPS_THREAD_WAIT, .value = VALUE_MEETING},
    [LULL_EVENT_THREAD_WAIT_END] = {.op = OPS_THREAD_WAIT, .value = VALUE_MEETING},
    [LULL_EVENT_TASK_CREATE] = {.value = VALUE_NUMBER},
    [LULL_EVENT_TASK_SWITCH] = {.value = VALUE_NUMBER},
    [LULL_EVENT_TASK_COMPLETE] = {.value = VALUE_NUMBER},
    [LULL_EVENT_LOCK_ACQUIRE] = {.value = VALUE_NUMBER},
    [LULL_EVENT_LOCK_RELEASE] = {.value = VALUE_NUMBER},
    [LULL_EVENT_COUNTERS] = {.id = NAMES_COUNTER},
    [LULL_EVENT_FLUSH] = {.lasts = true},
    [LULL_EVENT_MARKER] = {.id = NAMES_MARKER, .value = VALUE_NUMBER},
    [LULL_EVENT_SAMPLE] = {.id = NAMES_OBJECT, .value = VALUE_WEIGHT},
    [LULL_EVENT_SUBMIT] = {.value = VALUE_OPERATION},
    [LULL_EVENT_DEPEND] = {.value = VALUE_OPERATION},
    [LULL_EVENT_DEVICE_WAIT] = {.value = VALUE_OPERATION},
    [LULL_EVENT_OPERATION] = {.id = NAMES_REGION, .value = VALUE_OPERATION},
};

/* Where the value of an event is; NULL: it has none. */
static const uint64_t *value_of(const struct lull_event *event)
{
    switch ((enum event_value)shapes[event->kind].value) {
    case VALUE_CALLS:
        return event->op == LULL_SEVERAL ? &event->calls : NULL;
    case VALUE_NUMBER:
        return &event->number;
    case VALUE_MEETING:
        return &event->meeting.number;
    case VALUE_MESSAGE:
        return &event->message.bytes;
    case VALUE_REQUEST:
        return &event->message.request;
    case VALUE_SENT:
        return &event->collective.sent;
    case VALUE_TRANSFER:
        return &event->transfer.bytes;
    case VALUE_WEIGHT:
        return &event->sample.weight;
    case VALUE_OPERATION:
        return &event->operation.number;
    case VALUE_NONE:
        break;
    }
    return NULL;
}

/* The process at the other end, or the root; below 0: none, or it is not known. */
static int32_t partner_of(const struct lull_event *event)
{
    switch ((enum event_value)shapes[event->kind].value) {
    case VALUE_MESSAGE:
        return event->message.peer;
    case VALUE_SENT:
        return event->collective.root;
    case VALUE_TRANSFER:
        return shapes[event->kind].op == OPS_RMA ? event->transfer.target : LULL_ANY;
    default:
        return LULL_ANY;
    }
}

static void set_op(struct lull_event_table *table, const struct lull_event *event)
{
    const uint8_t set = shapes[event->kind].op;
    const uint32_t op = (uint32_t)event->op - op_sets[set].first;
    lull_set_word(&table->file, EVENT_OP, &table->ops,
                  op < op_sets[set].count ? table->first_op[set] + op : LULL_NONE);
}

/* `id` and `value` are those of the event, or of one of its readings. */
static lull_status put_event(struct lull_event_table *table, uint32_t location,
                             const struct lull_event *event, uint32_t id, const uint64_t *value,
                             struct lull_error *err)
{
    struct lull_arrow_file *file = &table->file;
    const uint8_t named = shapes[event->kind].id;
    const int32_t partner = partner_of(event);
    const bool has_id =
        named != NAMES_NOTHING && id < table->first[named + 1] - table->first[named];
    lull_set_int32(file, EVENT_LOCATION, location);
    lull_set_int64(file, EVENT_TIME, event->time);
    lull_set_word(file, EVENT_KIND, &table->kinds, event->kind);
    lull_set_index(file, EVENT_ID, has_id ? id : LULL_NONE);
    lull_set_word(file, EVENT_NAME, &table->names, has_id ? table->first[named] + id : LULL_NONE);
    set_op(table, event);
    if (shapes[event->kind].lasts)
        lull_set_int64(file, EVENT_DURATION, event->duration);
    else
        lull_set_null(file, EVENT_DURATION);
    if (value)
        lull_set_uint64(file, EVENT_VALUE, *value);
    else
        lull_set_null(file, EVENT_VALUE);
    lull_set_index(file, EVENT_PARTNER, partner < 0 ? LULL_NONE : (uint32_t)partner);
    return lull_arrow_row(file, err);
}

static lull_status put_readings(struct lull_event_table *table, uint32_t location,
                                const struct lull_event *event, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < event->readings.count && status == LULL_OK; i++) {
        const struct lull_counter_reading *reading = &event->readings.values[i];
        status = put_event(table, location, event, reading->counter, &reading->value, err);
    }
    return status;
}

static lull_status put_event_block(void *context, unsigned worker, const struct lull_block *block,
                                   struct lull_error *err)
{
    struct lull_event_table *table = context;
    lull_status status = LULL_OK;
    (void)worker;
    for (uint32_t i = 0; i < block->count && status == LULL_OK; i++) {
        const struct lull_event *event = &block->events[i];
        status = event->kind == LULL_EVENT_COUNTERS
                     ? put_readings(table, block->location, event, err)
                     : put_event(table, block->location, event, event->id, value_of(event), err);
    }
    return status;
}

/* ==== table =================================================================================== */

static void free_event_table(struct lull_event_table *table)
{
    lull_column_words_free(&table->kinds);
    lull_column_words_free(&table->names);
    lull_column_words_free(&table->ops);
    free(table);
}

lull_status lull_event_table_open(const struct lull_tables *tables,
                                  struct lull_event_table **ret_table, struct lull_error *err)
{
    struct lull_event_table *table = calloc(1, sizeof *table);
    if (!table)
        return lull_tables_no_memory(tables, err);
    const struct lull_arrow_column columns[EVENT_COLUMNS] = {
        [EVENT_LOCATION] = {"location", LULL_ARROW_INT32, false, NULL},
        [EVENT_TIME] = {"time", LULL_ARROW_INT64, false, NULL},
        [EVENT_KIND] = {"kind", LULL_ARROW_NAME, false, &table->kinds.texts},
        [EVENT_ID] = {"id", LULL_ARROW_INT32, true, NULL},
        [EVENT_NAME] = {"name", LULL_ARROW_NAME, true, &table->names.texts},
        [EVENT_OP] = {"op", LULL_ARROW_NAME, true, &table->ops.texts},
        [EVENT_DURATION] = {"duration", LULL_ARROW_INT64, true, NULL},
        [EVENT_VALUE] = {"value", LULL_ARROW_UINT64, true, NULL},
        [EVENT_PARTNER] = {"partner", LULL_ARROW_INT32, true, NULL},
    };
    lull_status status =
        make_event_words(table, tables->trace)
            ? lull_table_open(tables, "events", columns, EVENT_COLUMNS, &table->file, err)
            : lull_tables_no_memory(tables, err);
    if (status != LULL_OK) {
        free_event_table(table);
        return status;
    }
    *ret_table = table;
    return LULL_OK;
}

struct lull_visitor lull_event_table_visitor(struct lull_event_table *table)
{
    return (struct lull_visitor){.context = table, .block = put_event_block};
}

lull_status lull_event_table_close(struct lull_event_table *table, bool complete,
                                   struct lull_error *err)
{
    const lull_status status = lull_arrow_close(&table->file, complete, err);
    free_event_table(table);
    return status;
}
