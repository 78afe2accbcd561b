/* A ring (lull record --keep last:SIZE): places in the file of the process for as many full chunks
 * as its budget has, of all threads together. When all are taken, the chunk that was stored first
 * gives way to the newest. So a thread that does little keeps what it did in that time and no more,
 * and from some moment on the events of all threads are there. */
#ifndef LULL_RECORD_STORE_RING_H
#define LULL_RECORD_STORE_RING_H

#include <stdbool.h>
#include <stdint.h>

/* Does nothing where no ring is wanted. */
void rec_ring_start(void);
/* Stores a full chunk, number `number` of its location. It must stay where it is until the header
 * of the location says that it is stored. False: nothing can be written. */
bool rec_ring_store(const void *chunk, uint32_t location, uint32_t number);

#endif
