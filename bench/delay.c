/* delay MS COMMAND [ARGUMENT...]: takes MS milliseconds of processor time, then becomes COMMAND. A
 * known cost, for controls of what measures unknown ones. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double used_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    double delay = argc > 2 ? strtod(argv[1], NULL) : 0;
    if (!(delay > 0)) {
        fprintf(stderr, "usage: delay MS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    double end = used_ms() + delay;
    while (used_ms() < end)
        ;
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
