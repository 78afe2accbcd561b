/* Writing files on behalf of a program that must not notice: a full disk is a result, and a limit
 * on the size of files (RLIMIT_FSIZE) as well, not the signal that the program would die of. */
#ifndef LULL_RECORD_STORE_FILE_H
#define LULL_RECORD_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file of ours. The program may close any descriptor, and open a file of its own in its place: so
 * a descriptor is used only where it still leads to the file. */
struct rec_file {
    int fd; /* -1: not open */
    uint64_t device, inode;
};

/* RUN/<p / 1000>/<p>.WHAT into `path`, which has room for REC_PATH bytes: they are too many for the
 * stacks of some threads. */
enum { REC_PATH = 4096 };
const char *rec_file_path(char *path, const char *what);

/* Creates it; false, with errno, where it is there already or cannot be made. */
bool rec_file_create(struct rec_file *file, const char *path);
/* Makes an open descriptor one of ours; false, where it is -1 or of no file. */
bool rec_file_take(struct rec_file *file, int fd);
/* Opens it again where it is not open (any more): it must be the file that was created. */
bool rec_file_open(struct rec_file *file, const char *path);
void rec_file_close(struct rec_file *file);

/* Writes all of it at `offset`. Fails without touching anything where the file is not open; sets
 * errno. So do the others. */
bool rec_file_write(const struct rec_file *file, const void *bytes, size_t size, off_t offset);
/* Asks for blocks of a part of the file, which becomes longer where it must, so that writing into a
 * mapping of them cannot fail. */
bool rec_file_extend(const struct rec_file *file, uint64_t offset, size_t size);

/* As mremap(2) with a fixed address `to`: what is there now is replaced. */
bool rec_file_remap(void *from, size_t from_size, void *to, size_t size);
/* Puts private memory in the place of a mapping, in one step: who still writes there changes the
 * file no more. Where there is no memory for that, the mapping stays. */
void rec_file_freeze(void *mapping, size_t size);

#endif
