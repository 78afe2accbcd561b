/* The place of this process in a run: its number, and the file that is its own or that of its node.
 */
#ifndef LULL_RECORD_STORE_PLACE_H
#define LULL_RECORD_STORE_PLACE_H

#include <stdbool.h>

/* With `store` "node" takes a place in RUN/<node>.tapes, if that can be had. Else creates
 * RUN/<p / 1000>/<p>.tape, where p is rec_process.number or, if that is taken, the first free one
 * behind, which this sets; `store` NULL: no other process of this number is in the file of a node.
 * False: there is none to be had; errno says why. */
bool rec_place_take(const char *run, const char *store);

#endif
