/* Writing files on behalf of a program that must not notice: a full disk is a result, and a limit
 * on the size of files (RLIMIT_FSIZE) as well, not the signal that the program would die of. */
#ifndef LULL_RECORD_STORE_FILE_H
#define LULL_RECORD_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes all of it at `offset`. */
bool rec_file_write(int fd, const void *bytes, size_t size, off_t offset);
/* Makes the file `size` bytes long with blocks for all of them, so that writing into its mapping
 * cannot fail. */
bool rec_file_extend(int fd, size_t size);

#endif
