/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing files inside a program that must not notice it. A full disk makes a function fail, and so
 * does a limit on the size of files (RLIMIT_FSIZE): the signal of which the program would die does
 * not come. */
#ifndef LULL_RECORD_STORE_FILE_H
#define LULL_RECORD_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file of ours. The program may close any descriptor and open a file of its own in its place, so
 * a descriptor is used only where it still leads to the file with this device and inode. */
struct rec_file {
    int fd; /* -1: not open */
    uint64_t device, inode;
};

/* Writes the path RUN/<p / 1000>/<p>.WHAT, with p the process number, into `path`, which has room
 * for REC_PATH bytes; so large an array does not fit on the stacks of some threads. */
enum { REC_PATH = 4096 };
const char *rec_file_path(char *path, const char *what);

/* Creates the file; false, with errno, where it is there already or cannot be made. */
bool rec_file_create(struct rec_file *file, const char *path);
/* Takes over an open descriptor; false where it is negative or cannot be asked (fstat). */
bool rec_file_take(struct rec_file *file, int fd);
/* Opens the file again where it is not open (any more); false where it is no longer the file that
 * was created. */
bool rec_file_open(struct rec_file *file, const char *path);
void rec_file_close(struct rec_file *file);

/* Writes all bytes at `offset`. This and the following fail without touching anything where the
 * file is not open; they set errno. */
bool rec_file_write(const struct rec_file *file, const void *bytes, size_t size, off_t offset);
/* Asks for blocks of a part of the file, which becomes longer where it must, so that writing into a
 * mapping of them cannot fail. */
bool rec_file_extend(const struct rec_file *file, uint64_t offset, size_t size);

/* As mremap(2) with a fixed address `to`: what is there now is replaced. */
bool rec_file_remap(void *from, size_t from_size, void *to, size_t size);
/* Puts private memory, all zero, in the place of a mapping, in one step: whoever still writes there
 * changes the file no more. Where there is no memory for that, the mapping stays. */
void rec_file_freeze(void *mapping, size_t size);

#endif
