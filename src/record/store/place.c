#include "record/store/place.h"

#include "record/core.h"
#include "record/store/container.h"
#include "record/store/file.h"
#include "tape/container.h"
#include "tape/definition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PROBES = 1 << 20 };

static void make_anchor(const char *run)
{
    char path[4096];
    mkdir(run, 0777);
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, run);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (write(fd, LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR)) < 0)
        unlink(path);
    close(fd);
}

static bool make_process_folder(const char *run)
{
    make_anchor(run);
    return mkdir(rec_process.folder, 0777) == 0 || errno == EEXIST;
}

/* Folders are made where they are missing, after the anchor, so that only the first of a thousand
 * processes asks a file system for more than its own file. */
static bool create(const char *run)
{
    if (rec_container_create())
        return true;
    return errno == ENOENT && make_process_folder(run) && rec_container_create();
}

static bool name_folder(const char *run)
{
    const int length = snprintf(rec_process.folder, sizeof rec_process.folder, "%s/%u", run,
                                rec_process.number / LULL_TAPE_GROUP);
    return length >= 0 && (size_t)length < sizeof rec_process.folder;
}

/* Whether there is a file of a process with this number. */
static bool has_file(void)
{
    static char path[REC_PATH]; /* too large for the stacks of some threads */
    return access(rec_file_path(path, "tape"), F_OK) == 0;
}

/* As create, in the file of the node. Who records there looks for a file of a process with its
 * number afterwards, and who has such a file for a place in that of a node: so one of two with the
 * same number sees the other. */
static bool join_node_file(const char *run, bool *ret_taken)
{
    enum rec_joined joined = rec_container_join(run);
    if (joined == REC_JOINED_NOT && errno == ENOENT) {
        make_anchor(run);
        joined = rec_container_join(run);
    }
    *ret_taken = joined == REC_JOINED_TAKEN;
    if (joined == REC_JOINED && has_file()) {
        rec_container_drop();
        return false;
    }
    return joined == REC_JOINED;
}

/* Moves rec_process.number on to the first one that is free. `among_nodes`: it may also be taken in
 * the file of a node. */
static bool open_own_file(const char *run, bool among_nodes)
{
    for (uint32_t probes = 0; probes < MOST_PROBES; probes++, rec_process.number++) {
        among_nodes |= probes > 0;
        if (!name_folder(run))
            return false;
        if (among_nodes && lull_tape_containers_have(run, rec_process.number))
            continue;
        if (!create(run)) {
            if (errno != EEXIST)
                return false;
            continue;
        }
        if (!among_nodes || !lull_tape_containers_have(run, rec_process.number))
            return true;
        rec_container_drop();
    }
    return false;
}

bool rec_place_take(const char *run, const char *store)
{
    bool taken = false;
    if (!name_folder(run))
        return false;
    if (store && strcmp(store, "node") == 0 && join_node_file(run, &taken))
        return true;
    rec_process.number += taken;
    return open_own_file(run, store != NULL);
}
