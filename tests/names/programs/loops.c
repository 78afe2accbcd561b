/* Loops of many forms. L begins a loop and E ends it: the first and the last line that have code of it
 * in some translation. Loops are told apart by these lines, so no two begin on the same one. */
/* clang-format off */
#include <stdlib.h>
#include <string.h>

double a[1024], b[1024], c[64][64], d[64][64], e[64][64];
int table[256];

static inline double square(double x)
{
    return x * x;
}

static inline double sum_of(int n, const double *x)
{
    double s = 0;
    for (int i = 0; i < n; i++) /* L */
        s += x[i];              /* E */
    return s;
}

void add(int n, const double *x, double *y)
{
    for (int i = 0; i < n; i++) /* L */
        y[i] += x[i];           /* E */
}

void multiply(int n)
{
    for (int i = 0; i < n; i++)       /* L */
        for (int j = 0; j < n; j++) { /* L */
            double s = 0;
            for (int k = 0; k < n; k++) /* L */
                s += d[i][k] * e[k][j]; /* E */
            c[i][j] = s;                /* E E */
        }
}

double calls(int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) { /* L */
        s += square(a[i]);
        s += sum_of(n, b + i); /* E */
    }
    return s;
}

int switches(int n, const char *text)
{
    int s = 0;
    while (n-- > 0) { /* L */
        switch (text[n]) {
        case 0:
            s += 1;
            break;
        case 1:
            s *= 3;
            break;
        case 2:
            s ^= n;
            break;
        case 3:
            s -= table[s & 255];
            break;
        case 4:
            s /= 7;
            break;
        case 5:
            s ^= 77;
            do {
                s += 2; /* L */
            } while (s % 5); /* E */
            break;
        case 6:
            return s;
        default:
            s--; /* E */
        }
    }
    return s;
}

/* The loop is entered in its middle. */
void duff(int n, const char *from, char *to)
{
    int rounds = (n + 3) / 4;
    switch (n % 4) {
        case 0: do { *to++ = *from++; /* L */
        case 3:
            *to++ = *from++;
        case 2:
            *to++ = *from++;
        case 1:
            *to++ = *from++;
        } while (--rounds > 0); /* E */
    }
}

int backwards(int n, int *x)
{
    int i = 0;
again:
    x[i] += table[i & 255]; /* L */
    if (x[i] > 100)
        goto out;
    i++;
    if (i < n)
        goto again; /* E */
out:
    return i;
}

struct node {
    struct node *next;
    int value;
};

int list(const struct node *node, int wanted)
{
    int found = 0;
    for (; node; node = node->next) { /* L */
        if (node->value < 0)
            continue;
        if (node->value == wanted)
            return -1;
        if (__builtin_expect(node->value > 1000, 0))
            abort();
        found += node->value; /* E */
    }
    return found;
}

int triangle(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) { /* L */
        if (table[i] == 0)
            continue;
        for (int j = i; j < n; j++) { /* L */
            if (table[j] == i)
                break;
            s += table[j]; /* E */
        }
        s ^= i; /* E */
    }
    for (int i = 0; i < n; i++) /* L */
        if (s > table[i])
            s -= table[i]; /* E */
    return s;
}

struct place {
    double from[2], to[2];
    const char *name;
    long count;
};

static inline struct place start(void)
{
    return (struct place){.name = "start"};
}

void look(const struct place *places, int n);
long next(void);

/* LLVM makes the zeros of the function that was inlined before the loop anew in the loop, with that one's
 * line. */
void places(int n)
{
    struct place own = start();
    struct place all[12];
    for (int i = 0; i < 12; i++) { /* L */
        all[i] = (struct place){.count = next()}; /* E */
    }
    look(&own, 1);
    look(all, n);
}

__attribute__((noinline))
void look(const struct place *places, int n)
{
    table[n & 255] += (int)places[n % 2].count;
}

__attribute__((noinline))
long next(void)
{
    return ++table[0];
}

/* No loop. */
int straight(int n)
{
    if (n > 100)
        return table[n & 255] + 1;
    return n < 3 ? n : n * table[n];
}

int main(int argc, char **argv)
{
    add(argc, a, b);
    multiply(argc);
    places(argc);
    duff(argc, argv[0], (char *)c);
    return (int)calls(argc) + switches(argc, argv[0]) + backwards(argc, table) +
           list((struct node *)(void *)argv, argc) + triangle(argc) + straight(argc);
}
