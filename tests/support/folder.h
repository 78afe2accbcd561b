/* A folder of its own for a test's files, in $TMPDIR or /tmp. */
#ifndef LULL_TESTS_FOLDER_H
#define LULL_TESTS_FOLDER_H

#include <stddef.h>

const char *folder_make(void);             /* its path; one per program at a time */
const char *folder_path(const char *name); /* a path in it, valid until the 8th next call */
void folder_remove(void);                  /* with all that is in it */
size_t folder_entries(const char *path);   /* number of entries of a folder, hidden ones too */
/* Writes a file; ends the test when that fails. */
void folder_write(const char *path, const void *bytes, size_t size);
/* Ends the test unless a file holds exactly this text. */
void folder_check(const char *path, const char *expected);
/* Puts a file "a" with this text, and a folder "b" with a file in it, into an empty folder. */
void folder_fill(const char *path, const char *content);
/* Reads a whole file into malloc'd memory. */
unsigned char *folder_read(const char *path, size_t *ret_size);

#endif
