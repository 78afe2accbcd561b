/* More regions than the first piece of the definitions and of the sums has room for, each visited
 * as often as the argument says. */
#include <lull/lull.h>
#include <stdio.h>
#include <stdlib.h>

enum { REGIONS = 3000 };

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < times * REGIONS; i++) {
        char name[64];
        snprintf(name, sizeof name, "a region with a name of its own, number %d", i % REGIONS);
        lull_begin(name);
        lull_end(name);
    }
    printf("regions %d\n", REGIONS);
    return 0;
}
