#include "record/inject/moments.h"

#include "record/aside.h"
#include "record/node.h"
#include "record/site/map.h"
#include "record/store/file.h"
#include "tape/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Messages under way from one process, and how far from its place a moment may lie. */
enum { MESSAGES = 1 << 16, COLLECTIVES = 1 << 12, NEAR = 64 };
/* A place of the table that is being written. */
#define WRITING UINT64_C(1)
#define SIZE \
    (sizeof(struct lull_tape_moments) + (MESSAGES + COLLECTIVES) * sizeof(struct lull_tape_moment))

static struct {
    struct lull_tape_moments *file; /* NULL: there is none */
    struct rec_file on_disk;
    uint32_t process;
} own_moments;

static pthread_mutex_t moments_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map others; /* process number + 1 -> its file, or NOBODY */
static char no_process;

/* ---- files ------------------------------------------------------------------------------------
 */

static void path_of_moments(char *path, uint32_t process)
{
    const char *end = strrchr(rec_process.folder, '/');
    snprintf(path, REC_PATH, "%.*s/" LULL_TAPE_INJECT_NAME "/%u." LULL_TAPE_INJECT_MOMENTS,
             (int)(end ? end - rec_process.folder : 0), rec_process.folder, process);
}

bool rec_moments_begin(uint32_t process)
{
    static char path[REC_PATH];
    path_of_moments(path, process);
    if (!rec_file_create(&own_moments.on_disk, path))
        return false;
    void *file = MAP_FAILED;
    if (rec_file_extend(&own_moments.on_disk, 0, SIZE))
        file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, own_moments.on_disk.fd, 0);
    rec_file_close(&own_moments.on_disk);
    if (file == MAP_FAILED) {
        unlink(path);
        return false;
    }
    own_moments.file = file;
    own_moments.process = process;
    own_moments.file->version = LULL_TAPE_VERSION;
    own_moments.file->byte_order = LULL_TAPE_BYTE_ORDER;
    own_moments.file->node = rec_node_key();
    own_moments.file->messages = MESSAGES;
    own_moments.file->collectives = COLLECTIVES;
    memcpy(own_moments.file->magic, LULL_TAPE_MOMENTS_MAGIC, sizeof own_moments.file->magic);
    return true;
}

/* Others that have mapped it keep it. */
void rec_moments_end(void)
{
    static char path[REC_PATH];
    if (!own_moments.file)
        return;
    path_of_moments(path, own_moments.process);
    unlink(path);
}

static struct lull_tape_moments *map_other(uint32_t process)
{
    static char path[REC_PATH]; /* with the lock held */
    struct stat info;
    void *file = MAP_FAILED;
    path_of_moments(path, process);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 && info.st_size == (off_t)SIZE)
        file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return NULL;
    const struct lull_tape_moments *header = file;
    if (memcmp(header->magic, LULL_TAPE_MOMENTS_MAGIC, sizeof header->magic) == 0 &&
        header->version == LULL_TAPE_VERSION && header->node == rec_node_key() &&
        header->messages == MESSAGES && header->collectives == COLLECTIVES)
        return file;
    munmap(file, SIZE);
    return NULL;
}

/* NULL: it has none that could be compared with our clock. Who has sent a message has made its
 * file before, so that one look is enough. */
static struct lull_tape_moments *file_of(uint32_t process)
{
    if (!own_moments.file || process == own_moments.process)
        return own_moments.file;
    void *found = (void *)rec_map_get(&others, (uintptr_t)process + 1);
    if (REC_UNLIKELY(!found)) { /* aside: a thread that is to be cancelled would be, with locks */
        const struct rec_aside aside = rec_step_aside();
        pthread_mutex_lock(&moments_lock);
        found = (void *)rec_map_get(&others, (uintptr_t)process + 1);
        if (!found) {
            found = map_other(process);
            rec_map_put(&others, (uintptr_t)process + 1, (uintptr_t)(found ? found : &no_process));
        }
        pthread_mutex_unlock(&moments_lock);
        rec_step_back(&aside);
    }
    return found == &no_process ? NULL : found;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static struct lull_tape_moment *messages_of(struct lull_tape_moments *file)
{
    return (struct lull_tape_moment *)(void *)(file + 1);
}

static struct lull_tape_moment *place_of_moment(struct lull_tape_moments *file, uint64_t key,
                                                unsigned distance)
{
    return &messages_of(file)[(key + distance) & (MESSAGES - 1)];
}

static bool claim_moment(struct lull_tape_moment *place, uint64_t before)
{
    return __atomic_compare_exchange_n(&place->key, &before, WRITING, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* A free place, or that of the oldest one; it is WRITING then. */
static struct lull_tape_moment *find_room(uint64_t key)
{
    struct lull_tape_moment *oldest = NULL;
    uint64_t oldest_key = 0;
    for (unsigned i = 0; i < NEAR; i++) {
        struct lull_tape_moment *place = place_of_moment(own_moments.file, key, i);
        uint64_t there = __atomic_load_n(&place->key, __ATOMIC_ACQUIRE);
        if (there == 0 && claim_moment(place, 0))
            return place;
        if (there > WRITING && (!oldest || place->ns < oldest->ns)) {
            oldest = place;
            oldest_key = there;
        }
    }
    return oldest && claim_moment(oldest, oldest_key) ? oldest : NULL;
}

void rec_moment_send(uint64_t key, int64_t ns)
{
    struct lull_tape_moment *place = own_moments.file ? find_room(key) : NULL;
    if (!place)
        return;
    __atomic_store_n(&place->ns, ns, __ATOMIC_RELAXED);
    __atomic_store_n(&place->key, key, __ATOMIC_RELEASE);
}

bool rec_moment_of_message(uint32_t process, uint64_t key, bool take, int64_t *ret_ns)
{
    struct lull_tape_moments *file = file_of(process);
    for (unsigned i = 0; file && i < NEAR; i++) {
        struct lull_tape_moment *place = place_of_moment(file, key, i);
        if (__atomic_load_n(&place->key, __ATOMIC_ACQUIRE) != key)
            continue;
        const int64_t ns = __atomic_load_n(&place->ns, __ATOMIC_RELAXED);
        uint64_t mine = key;
        if (take ? !__atomic_compare_exchange_n(&place->key, &mine, 0, false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_RELAXED)
                 : __atomic_load_n(&place->key, __ATOMIC_ACQUIRE) != key)
            return false; /* its sender has forgotten it just now */
        *ret_ns = ns;
        return true;
    }
    return false;
}

void rec_moment_withdraw(uint64_t key)
{
    int64_t ns;
    if (own_moments.file)
        rec_moment_of_message(own_moments.process, key, true, &ns);
}

/* ---- collective operations --------------------------------------------------------------------
 */

static struct lull_tape_moment *part_of(struct lull_tape_moments *file, uint64_t key)
{
    return &messages_of(file)[MESSAGES + (key & (COLLECTIVES - 1))];
}

void rec_moment_join(uint64_t key, int64_t ns)
{
    if (!own_moments.file)
        return;
    struct lull_tape_moment *part = part_of(own_moments.file, key);
    __atomic_store_n(&part->key, WRITING, __ATOMIC_RELAXED);
    __atomic_store_n(&part->ns, ns, __ATOMIC_RELEASE); /* who sees it, sees WRITING or more */
    __atomic_store_n(&part->key, key, __ATOMIC_RELEASE);
}

bool rec_moment_of_part(uint32_t process, uint64_t key, int64_t *ret_ns)
{
    struct lull_tape_moments *file = file_of(process);
    if (!file)
        return false;
    struct lull_tape_moment *part = part_of(file, key);
    if (__atomic_load_n(&part->key, __ATOMIC_ACQUIRE) != key)
        return false;
    const int64_t ns = __atomic_load_n(&part->ns, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&part->key, __ATOMIC_RELAXED) != key)
        return false;
    *ret_ns = ns;
    return true;
}
