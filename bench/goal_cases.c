/* GOAL text of well-known schedules, on standard output.
 *
 *     bench_goal_cases stencil NX NY ITERATIONS COMPUTE_NS BYTES    open 2-D halo exchange
 *     bench_goal_cases dissemination RANKS BYTES
 *     bench_goal_cases reduce RANKS BYTES                           binomial tree, to rank 0
 *     bench_goal_cases alltoall RANKS BYTES                         all sends and receives at once
 *     bench_goal_cases chain RANKS ITERATIONS COMPUTE_NS BYTES      next neighbours, both
 * directions
 *
 * The number of events (sends, receives, computations, messages) goes to standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long events;
static unsigned label; /* last one of the rank */

static void rank_begins(unsigned rank)
{
    printf("\nrank %u {\n", rank);
    label = 0;
}

static void calc(unsigned long ns)
{
    printf("l%u: calc %lu\n", ++label, ns);
    events++;
}

static void message(const char *kind, const char *preposition, unsigned peer, unsigned bytes,
                    unsigned tag)
{
    printf("l%u: %s %ub %s %u tag %u\n", ++label, kind, bytes, preposition, peer, tag);
    events += *kind == 's' ? 2 : 1;
}

static void send_to(unsigned peer, unsigned bytes, unsigned tag)
{
    message("send", "to", peer, bytes, tag);
}

static void receive(unsigned peer, unsigned bytes, unsigned tag)
{
    message("recv", "from", peer, bytes, tag);
}

static void requires(unsigned after, unsigned before)
{
    printf("l%u requires l%u\n", after, before);
}

/* Computation, then receives from and sends to all neighbours, again and again. */
static void exchange(const unsigned *neighbours, unsigned count, const unsigned *numbers)
{
    unsigned iterations = numbers[0], ns = numbers[1], bytes = numbers[2], first = 0;
    for (unsigned i = 0; i < iterations; i++) {
        calc(ns);
        unsigned work = label;
        for (unsigned l = first; i > 0 && l < work; l++)
        requires(work, l);
        first = label + 1;
        for (unsigned n = 0; n < 2 * count; n++) {
            if (n < count)
                receive(neighbours[n], bytes, i);
            else
                send_to(neighbours[n - count], bytes, i);
            requires(label, work);
        }
    }
}

static void stencil(const unsigned *numbers)
{
    unsigned nx = numbers[0], ny = numbers[1];
    printf("num_ranks %u\n", nx * ny);
    for (unsigned rank = 0; rank < nx * ny; rank++) {
        unsigned neighbours[4], count = 0, x = rank % nx, y = rank / nx;
        if (x > 0)
            neighbours[count++] = rank - 1;
        if (x + 1 < nx)
            neighbours[count++] = rank + 1;
        if (y > 0)
            neighbours[count++] = rank - nx;
        if (y + 1 < ny)
            neighbours[count++] = rank + nx;
        rank_begins(rank);
        exchange(neighbours, count, numbers + 2);
        printf("}\n");
    }
}

static void chain(const unsigned *numbers)
{
    unsigned line[] = {numbers[0], 1, numbers[1], numbers[2], numbers[3]};
    stencil(line);
}

static void dissemination(const unsigned *numbers)
{
    unsigned ranks = numbers[0];
    printf("num_ranks %u\n", ranks);
    for (unsigned rank = 0; rank < ranks; rank++) {
        rank_begins(rank);
        for (unsigned distance = 1; distance < ranks; distance *= 2) {
            send_to((rank + distance) % ranks, numbers[1], 0);
            if (distance > 1)
            requires(label, label - 1);
            receive((rank + ranks - distance) % ranks, numbers[1], 0);
        }
        printf("}\n");
    }
}

static void reduce(const unsigned *numbers)
{
    unsigned ranks = numbers[0];
    printf("num_ranks %u\n", ranks);
    for (unsigned rank = 0; rank < ranks; rank++) {
        rank_begins(rank);
        unsigned level = 1;
        for (; level <= rank; level *= 2)
            ;
        if (rank > 0)
            send_to(rank - level / 2, numbers[1], 0);
        for (; rank + level < ranks; level *= 2) {
            receive(rank + level, numbers[1], 0);
            if (rank > 0)
            requires(1, label);
        }
        printf("}\n");
    }
}

static void alltoall(const unsigned *numbers)
{
    unsigned ranks = numbers[0];
    printf("num_ranks %u\n", ranks);
    for (unsigned rank = 0; rank < ranks; rank++) {
        rank_begins(rank);
        for (unsigned i = 1; i < ranks; i++) {
            send_to((rank + i) % ranks, numbers[1], 0);
            receive((rank + ranks - i) % ranks, numbers[1], 0);
        }
        printf("}\n");
    }
}

static const struct {
    const char *name;
    int count;
    void (*write)(const unsigned *numbers);
} cases[] = {
    {"stencil", 5, stencil}, {"dissemination", 2, dissemination},
    {"reduce", 2, reduce},   {"alltoall", 2, alltoall},
    {"chain", 4, chain},
};

int main(int argc, char **argv)
{
    unsigned numbers[8] = {0};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc < 2 || strcmp(cases[i].name, argv[1]) != 0 || argc != cases[i].count + 2)
            continue;
        for (int n = 0; n < cases[i].count; n++)
            numbers[n] = (unsigned)strtoul(argv[n + 2], NULL, 10);
        cases[i].write(numbers);
        fprintf(stderr, "%llu\n", events);
        return ferror(stdout) ? 1 : 0;
    }
    fprintf(stderr, "usage: %s CASE NUMBER..., see the head of the source\n", argv[0]);
    return 2;
}
