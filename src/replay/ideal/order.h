/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which streams go on with their notes; that of a crew (crew.h) is common to its
 * threads. Internal to the room. */
#ifndef LULL_REPLAY_IDEAL_ORDER_H
#define LULL_REPLAY_IDEAL_ORDER_H

#include "replay/ideal/share.h"

/* The next steps of a thread of a crew: makes notes of them, brings into order what can be, and
 * evaluates that. */
void lull_order_steps(struct share *share, struct stream *stream, const struct lull_steps *steps);
/* Lets the streams go on that are ready. */
void lull_order_run(struct share *share);

#endif
