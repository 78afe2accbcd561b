/* SPDX-License-Identifier: BSD-3-Clause */
/* The back-end of tests: LULL_TEAM_CHAOS=MEMBERS:SEED makes a team of processes of this machine,
 * joined by sockets. Mail that has come is held back for a while, and from which member the next
 * mail is taken is drawn at random by the seed. Mail between two members keeps its order. With
 * ":other" behind the seed the last member is of another version. */
#include "team/team.h"

#include "base/array.h"
#include "base/mix.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_MEMBERS = 32, LONGEST_HOLD = 8 };

struct bytes {
    unsigned char *bytes;
    size_t begin, end, capacity;
};

/* Another member. */
struct peer {
    int socket;      /* -1: gone, or oneself */
    bool gone, told; /* `told`: LULL_TEAM_GONE was returned for it */
    uint32_t hold;   /* how many more times its mail is passed over */
    struct bytes in, out;
};

struct chaos {
    uint32_t index, size;
    uint64_t random;
    uint32_t next; /* the member from which fetch takes */
    struct peer peers[MOST_MEMBERS];
    pid_t children[MOST_MEMBERS]; /* of the first */
};

static const char *wish(void)
{
    return getenv("LULL_TEAM_CHAOS");
}

static bool recognise_chaos(const struct lull_team_start *start)
{
    (void)start;
    return wish() != NULL;
}

bool lull_team_chaos_is_other(uint32_t index, uint32_t size)
{
    return wish() && strstr(wish(), ":other") && index + 1 == size;
}

static uint32_t draw(struct chaos *chaos)
{
    chaos->random ^= chaos->random << 13;
    chaos->random ^= chaos->random >> 7;
    chaos->random ^= chaos->random << 17;
    return (uint32_t)(chaos->random >> 32);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void close_sockets(int sockets[MOST_MEMBERS][MOST_MEMBERS], uint32_t size, uint32_t but)
{
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++)
            if (i != but && sockets[i][j] >= 0)
                close(sockets[i][j]);
}

static bool make_sockets(int sockets[MOST_MEMBERS][MOST_MEMBERS], uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = i; j < size; j++) {
            int pair[2] = {-1, -1};
            if (i != j && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
                return false;
            sockets[i][j] = pair[0];
            sockets[j][i] = pair[1];
        }
    return true;
}

/* Forks the other members; returns the index of this process among them. */
static uint32_t divide(struct chaos *chaos)
{
    for (uint32_t i = 1; i < chaos->size; i++) {
        pid_t child = fork();
        if (child == 0)
            return i;
        chaos->children[i] = child;
    }
    return 0;
}

static lull_status open_chaos(const struct lull_team_start *start, void **ret_state,
                              uint32_t *ret_index, uint32_t *ret_size, struct lull_error *err)
{
    (void)start;
    int sockets[MOST_MEMBERS][MOST_MEMBERS];
    unsigned size, seed;
    if (sscanf(wish(), "%u:%u", &size, &seed) != 2 || size < 1 || size > MOST_MEMBERS)
        return lull_fail(err, LULL_ERR_RANGE, "LULL_TEAM_CHAOS is '%s', expected MEMBERS:SEED",
                         wish());
    struct chaos *chaos = calloc(1, sizeof *chaos);
    if (!chaos)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a team");
    chaos->size = size;
    if (!make_sockets(sockets, size)) {
        free(chaos);
        return lull_fail_errno(err, "cannot make sockets");
    }
    chaos->index = divide(chaos);
    chaos->random = lull_spread(seed * UINT64_C(64) + chaos->index + 1);
    close_sockets(sockets, size, chaos->index);
    for (uint32_t i = 0; i < size; i++)
        chaos->peers[i] = (struct peer){.socket = sockets[chaos->index][i],
                                        .gone = i == chaos->index,
                                        .told = i == chaos->index};
    *ret_state = chaos;
    *ret_index = chaos->index;
    *ret_size = size;
    return LULL_OK;
}

/* ---- sockets --------------------------------------------------------------------------------- */

static bool append_bytes(struct bytes *to, const void *bytes, size_t size)
{
    if (to->end + size > to->capacity && to->begin > to->end / 2) {
        memmove(to->bytes, to->bytes + to->begin, to->end - to->begin);
        to->end -= to->begin;
        to->begin = 0;
    }
    if (!lull_array_reserve(&to->bytes, &to->capacity, to->end + size, 1))
        return false;
    if (size)
        memcpy(to->bytes + to->end, bytes, size);
    to->end += size;
    return true;
}

static void leave(struct peer *peer)
{
    if (peer->socket >= 0)
        close(peer->socket);
    peer->socket = -1;
    peer->gone = true;
}

static void push_out(struct peer *peer)
{
    struct bytes *out = &peer->out;
    while (out->begin < out->end && peer->socket >= 0) {
        ssize_t sent = send(peer->socket, out->bytes + out->begin, out->end - out->begin,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent <= 0)
            out->begin = out->end; /* only sending has failed: what the peer sent may still come */
        else
            out->begin += (size_t)sent;
    }
    out->begin = out->end = 0;
}

static void pull_in(struct peer *peer)
{
    unsigned char room[16384];
    ssize_t got = sizeof room;
    while (peer->socket >= 0 && got == sizeof room) {
        got = recv(peer->socket, room, sizeof room, MSG_DONTWAIT);
        if (got > 0 && !append_bytes(&peer->in, room, (size_t)got))
            got = 0;
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            leave(peer);
    }
}

/* Sends what waits to be sent, and takes what has come. */
static void exchange(struct chaos *chaos)
{
    struct pollfd ready[MOST_MEMBERS];
    for (uint32_t i = 0; i < chaos->size; i++) {
        if (chaos->peers[i].out.begin < chaos->peers[i].out.end)
            push_out(&chaos->peers[i]);
        ready[i] = (struct pollfd){.fd = chaos->peers[i].socket, .events = POLLIN};
    }
    if (poll(ready, chaos->size, 0) <= 0)
        return;
    for (uint32_t i = 0; i < chaos->size; i++)
        if (ready[i].revents)
            pull_in(&chaos->peers[i]);
}

static bool send_chaos(void *state, uint32_t to, const void *head, size_t head_size,
                       const void *bytes, size_t size)
{
    struct chaos *chaos = state;
    struct peer *peer = &chaos->peers[to];
    const uint64_t all = head_size + size;
    if (!append_bytes(&peer->out, &all, sizeof all) || !append_bytes(&peer->out, head, head_size) ||
        !append_bytes(&peer->out, bytes, size))
        return false;
    push_out(peer);
    return true;
}

/* Whether a whole message has come from a peer; *ret_size: its size. */
static bool is_whole(const struct peer *peer, uint64_t *ret_size)
{
    const size_t there = peer->in.end - peer->in.begin;
    if (there < sizeof *ret_size)
        return false;
    memcpy(ret_size, peer->in.bytes + peer->in.begin, sizeof *ret_size);
    return there - sizeof *ret_size >= *ret_size;
}

/* Looks for a whole message that is not held back, from peer `first` on in a circle. */
static enum lull_team_probe look_at_all(struct chaos *chaos, uint32_t first, uint32_t *from,
                                        size_t *size)
{
    for (uint32_t i = 0; i < chaos->size; i++) {
        const uint32_t at = (first + i) % chaos->size;
        struct peer *peer = &chaos->peers[at];
        uint64_t whole;
        *from = chaos->next = at;
        if (is_whole(peer, &whole) && peer->hold == 0) {
            *size = whole;
            return LULL_TEAM_MAIL;
        }
        peer->hold -= peer->hold > 0;
        if (peer->gone && !peer->told && !is_whole(peer, &whole)) {
            peer->told = true;
            return LULL_TEAM_GONE;
        }
    }
    return LULL_TEAM_NOTHING;
}

/* The sockets are read only when there is no message that may be taken. */
static enum lull_team_probe probe_chaos(void *state, uint32_t *from, size_t *size)
{
    struct chaos *chaos = state;
    const uint32_t first = draw(chaos) % chaos->size;
    const enum lull_team_probe found = look_at_all(chaos, first, from, size);
    if (found != LULL_TEAM_NOTHING)
        return found;
    exchange(chaos);
    return look_at_all(chaos, first, from, size);
}

static void fetch_chaos(void *state, void *bytes)
{
    struct chaos *chaos = state;
    struct peer *peer = &chaos->peers[chaos->next];
    uint64_t size;
    if (!is_whole(peer, &size))
        return;
    memcpy(bytes, peer->in.bytes + peer->in.begin + sizeof size, size);
    peer->in.begin += sizeof size + size;
    if (peer->in.begin == peer->in.end)
        peer->in.begin = peer->in.end = 0;
    peer->hold = draw(chaos) % 4 == 0 ? draw(chaos) % LONGEST_HOLD : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool close_chaos(void *state, bool orderly)
{
    struct chaos *chaos = state;
    bool good = true;
    int status;
    for (uint32_t i = 0; i < chaos->size; i++) {
        struct peer *peer = &chaos->peers[i];
        while (orderly && peer->socket >= 0 && peer->out.begin < peer->out.end) {
            struct pollfd ready = {.fd = peer->socket, .events = POLLOUT};
            poll(&ready, 1, 100);
            push_out(peer);
        }
        leave(peer);
        free(peer->in.bytes);
        free(peer->out.bytes);
    }
    for (uint32_t i = 1; chaos->index == 0 && i < chaos->size; i++)
        if (chaos->children[i] > 0)
            good &= waitpid(chaos->children[i], &status, 0) == chaos->children[i] && status == 0;
    free(chaos);
    return good;
}

const struct lull_team_backend lull_team_chaos = {recognise_chaos, open_chaos,  send_chaos,
                                                  probe_chaos,     fetch_chaos, close_chaos};
