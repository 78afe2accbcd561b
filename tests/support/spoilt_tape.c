#include "support/spoilt_tape.h"

#include "support/check_trace.h"
#include "support/folder.h"
#include "support/packed.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/format.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct spoilt_tape spoilt;
static char run_path[4400];

int spoilt_set_up(void **state)
{
    (void)state;
    folder_make();
    snprintf(run_path, sizeof run_path, "%s", folder_path("run"));
    spoilt.run = run_path;
    run_begin(spoilt.run);
    definitions_begin(&spoilt.definitions, 0);
    define_region(&spoilt.definitions, 0, "main");
    define_region(&spoilt.definitions, 1, "MPI_Send");
    define_region(&spoilt.definitions, 2, "MPI_Waitall");
    define_comm(&spoilt.definitions, 0, 1, 1, NULL, UINT32_MAX, "world");
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_COUNTER, 0, "Uuss", UINT64_C(1), 0u, "c",
                    "");
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_STATE, 0, "uus", 1u, 0u, "Running");
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_MARKER, 0, "Us", UINT64_C(1), "m");
    tape_begin(&spoilt.tape, 0, 0);
    tape_call(&spoilt.tape, 10, 0, 5);
    return 0;
}

void spoilt_drop(void)
{
    free(spoilt.definitions.bytes);
    free(spoilt.tape.slots);
    spoilt.definitions.bytes = NULL;
    spoilt.tape.slots = NULL;
}

int spoilt_tear_down(void **state)
{
    (void)state;
    spoilt_drop();
    folder_remove();
    return 0;
}

void spoilt_write(void)
{
    definitions_write(&spoilt.definitions, spoilt.run);
    tape_write(&spoilt.tape, spoilt.run, 0);
}

lull_status spoilt_read(void)
{
    packed_check_some(spoilt.run);
    together_check_some(spoilt.run);
    struct lull_trace *trace;
    struct lull_error broken;
    spoilt.err.text[0] = '\0';
    lull_status status = lull_trace_open(spoilt.run, &trace, &spoilt.err);
    if (status == LULL_OK) {
        status = check_trace(trace, 1, &spoilt.err, &broken);
        fail_if(broken.text[0], "promise broken: %s", broken.text);
        lull_trace_close(trace);
    }
    if (status != LULL_OK) {
        assert_true(spoilt.err.text[0] != '\0');
        assert_null(strchr(spoilt.err.text, '\n'));
    }
    return status;
}

void spoilt_check(const char *file, const char *cause)
{
    assert_int_not_equal(spoilt_read(), LULL_OK);
    fail_if(!strstr(spoilt.err.text, file) || !strstr(spoilt.err.text, cause),
            "'%s' does not name '%s' and '%s'", spoilt.err.text, file, cause);
}

union lull_tape_slot *spoilt_record(unsigned kind, unsigned extra, uint32_t id, uint32_t value)
{
    return tape_record(&spoilt.tape, 20, kind, extra, id, value);
}

void spoilt_message(int32_t peer, uint32_t comm)
{
    tape_message_call(&spoilt.tape, LULL_TAPE_CALL_SEND, 20, 1, 1, peer, 0, comm, 0);
}

void spoilt_complete(uint32_t first, uint32_t count, uint32_t matched)
{
    union lull_tape_slot *slot = spoilt_record(LULL_TAPE_CALL_WAIT, 1, 2, 1);
    slot[1].u32[0] = first;
    slot[1].u32[1] = count;
    slot[1].u32[3] = matched;
}
