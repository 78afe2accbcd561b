/* Closes all descriptors behind the standard ones, as daemons do, opens files of its own in their
 * place, and goes on: none of these may be touched by anybody else.
 *
 *     closing FOLDER
 *
 * Leaves 40 files with the word "mine" in the folder, and prints what a run must hold. */
#include <fcntl.h>
#include <lull/lull.h>
#include <stdio.h>
#include <unistd.h>

enum { FILES = 40, CALLS = 20000, NAMES = 700 };

static void visit(void)
{
    char name[64];
    for (int i = 0; i < CALLS; i++) {
        lull_begin("again");
        lull_end("again");
    }
    for (int i = 0; i < NAMES; i++) { /* the files of definitions and sums grow, too */
        static int number;
        snprintf(name, sizeof name, "a region with a long and tedious name, the %d-th", number++);
        lull_begin(name);
        lull_end(name);
    }
}

int main(int argc, char **argv)
{
    visit();
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    for (int i = 0; argc > 1 && i < FILES; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/mine%d", argv[1], i);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || write(fd, "mine", 4) != 4)
            return 3;
    }
    visit();
    printf("expect %d again\n", 2 * CALLS);
    return 0;
}
