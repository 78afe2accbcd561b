/* Letters that shares of the ideal runtime take. */
#include "replay/ideal/mail.h"
#include "replay/ideal/reader.h"
#include "support/test.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* A share that only listens keeps little of the letters of a long run. */
static void keeps_little_of_what_it_is_told(void **state)
{
    enum { BATCHES = 20000 };
    struct lull_ideal ideal = {0};
    struct share share = {.ideal = &ideal};
    (void)state;
    pthread_mutex_init(&share.lock, NULL);
    const size_t before = mallinfo2().uordblks;
    for (int b = 0; b < BATCHES; b++) {
        lull_post_put(&share, calloc(1, sizeof(struct batch)), false);
        lull_reader_take_letters(&share);
    }
    const size_t kept = mallinfo2().uordblks - before;
    for (struct batch *batch; (batch = share.spare);) {
        share.spare = batch->next;
        free(batch);
    }
    pthread_mutex_destroy(&share.lock);
    assert_in_range(kept, 0, BATCHES * sizeof(struct batch) / 100);
}

TEST_GROUP(test_ideal_mail)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_little_of_what_it_is_told)};
    return run_cases(tests, NULL, NULL);
}
