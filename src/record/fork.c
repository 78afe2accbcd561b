/* What the measured program starts. A fork shares our mappings with the parent, so the child must
 * not write; a program that it executes would find us in its environment. */
#include "record/core.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Takes our own file out of LD_PRELOAD, whose names are separated by colons or blanks. */
static void leave_preload(void)
{
    Dl_info info;
    const char *list = getenv("LD_PRELOAD");
    const void *here = &rec_process;
    if (!list || dladdr(here, &info) == 0 || !info.dli_fname)
        return;
    const char *own = last_part(info.dli_fname);
    char *kept = malloc(strlen(list) + 2);
    if (!kept)
        return;
    *kept = '\0';
    for (const char *word = list; *word;) {
        size_t length = strcspn(word, ": ");
        char *end = kept + strlen(kept);
        snprintf(end, length + 2, "%s%.*s", end > kept ? ":" : "", (int)length, word);
        if (length == 0 || strcmp(last_part(end), own) == 0 || strcmp(end, own) == 0)
            *end = '\0';
        word += length + (word[length] != '\0');
    }
    if (*kept)
        setenv("LD_PRELOAD", kept, 1);
    else
        unsetenv("LD_PRELOAD");
    free(kept);
}

static void leave_environment(void)
{
    static const char *const names[] = {
        "LULL_RECORD_DIR",    "LULL_RECORD_BYTES",   "LULL_RECORD_PROFILE",  "LULL_RECORD_COUNTERS",
        "LULL_RECORD_FOLLOW", "LULL_RECORD_PROCESS", "LULL_RECORD_CALLPATH", "LULL_RECORD_SKEW"};
    leave_preload();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

/* Programs that only start others: with LULL_RECORD_FOLLOW they hand us on and have no location
 * themselves, so that the program in `mpirun script` has the number of its rank. */
static bool is_shell(void)
{
    static const char *const shells[] = {"sh",  "bash", "dash", "ksh",     "zsh",
                                         "csh", "tcsh", "env",  "busybox", "timeout"};
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(last_part(path), shells[i]) == 0)
            return true;
    return false;
}

/* Programs that a rank executes get numbers behind those of all ranks. */
static void number_followers(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    const char *size = NULL;
    for (size_t i = 0; !size && i < sizeof sizes / sizeof *sizes; i++)
        size = getenv(sizes[i]);
    setenv("LULL_RECORD_PROCESS", size ? size : "1", 1);
}

bool rec_prepare_children(void)
{
    pthread_atfork(NULL, NULL, rec_leave_to_parent);
    const char *follow = getenv("LULL_RECORD_FOLLOW");
    if (!follow || strcmp(follow, "1") != 0) {
        leave_environment();
        return true;
    }
    if (is_shell())
        return false;
    number_followers();
    return true;
}
