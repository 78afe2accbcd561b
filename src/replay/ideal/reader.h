/* Readers: the workers of the pass, who read steps, evaluate the notes and letters of their share,
 * and find out together when all is over. Internal to the room. */
#ifndef LULL_REPLAY_IDEAL_READER_H
#define LULL_REPLAY_IDEAL_READER_H

#include "replay/ideal/share.h"

struct reader *lull_reader_create(void);         /* NULL: no memory */
void lull_reader_destroy(struct reader *reader); /* NULL is allowed */
lull_status lull_reader_steps(struct reader *reader, const struct lull_steps *steps,
                              struct lull_error *err);
/* Reads the letters in the inbox of a share. */
void lull_reader_take_letters(struct share *share);
/* Evaluates what is there, and sleeps until something may have changed for the reader. */
void lull_reader_sleep(struct reader *reader, enum sleep why);
/* The share's failure, if there is one. */
lull_status lull_reader_failure(struct share *share, struct lull_error *err);
/* For lull_mail_create. */
uint64_t lull_reader_look_at_rest(void *mail);

#endif
