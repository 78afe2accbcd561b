/* A good run of one process that a test spoils: definitions and tape are made, not written. */
#ifndef LULL_TESTS_SPOILT_TAPE_H
#define LULL_TESTS_SPOILT_TAPE_H

#include "base/error.h"
#include "support/tape_maker.h"

extern struct spoilt_tape {
    const char *run; /* the folder; a test may name another one */
    struct definitions_maker definitions;
    struct tape_maker tape;
    struct lull_error err; /* of the last reading */
} spoilt;

/* Fixtures of cmocka. */
int spoilt_set_up(void **state);
int spoilt_tear_down(void **state);
#define SPOILT_TEST(name) cmocka_unit_test_setup_teardown(name, spoilt_set_up, spoilt_tear_down)

/* Definitions and tape again as if they had never been begun, for tests that make their own. */
void spoilt_drop(void);
void spoilt_write(void);
/* Opens and reads everything; every promise about events must hold whatever the files say. Every
 * 16th that can be opened says the same packed and comes back. */
lull_status spoilt_read(void);
/* The run is refused with a text that holds both. */
void spoilt_check(const char *file, const char *cause);

/* A record at time 20; a send there; a wait for requests, there as well. */
union lull_tape_slot *spoilt_record(unsigned kind, unsigned extra, uint32_t id, uint32_t value);
void spoilt_message(int32_t peer, uint32_t comm);
void spoilt_complete(uint32_t first, uint32_t count, uint32_t matched);

#endif
