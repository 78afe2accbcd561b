/* A program with an allocator of its own, whose functions are instrumented and run while it has its
 * lock: nothing may be allocated there. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define HERE static inline __attribute__((always_inline))
enum { UNIT = 16 };
/* Nothing comes back to it: enough for libdw, which reads names for a filter. */
static char space[1 << 28];
static size_t used;
static int locked;

__attribute__((noinline)) static void take_lock(void)
{
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) {
    }
}

HERE void give_lock(void)
{
    __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

HERE char *from_space(size_t size)
{
    char *block = space + used + UNIT;
    memcpy(space + used, &size, sizeof size);
    used += (size + 2 * UNIT - 1) / UNIT * UNIT;
    return block;
}

void *malloc(size_t size)
{
    take_lock();
    char *block = from_space(size);
    give_lock();
    return block;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *old, size_t size)
{
    char *block = malloc(size);
    size_t before = 0;
    if (old)
        memcpy(&before, (char *)old - UNIT, sizeof before);
    if (old)
        memcpy(block, old, before < size ? before : size);
    return block;
}

static void *in_thread(void *argument)
{
    return malloc(argument ? 1 : 2);
}

int main(void)
{
    pthread_t thread;
    void *block = NULL;
    if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
        pthread_join(thread, &block);
    puts(block ? "allocated" : "not allocated");
    return 0;
}
