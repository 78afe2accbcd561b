/* A program that has so many MiB of fresh memory at a time, gives it back, and lives on for a while:
 *
 *     resident MIB end | killed | forks
 *
 * Prints the system's high-water mark of itself, in KiB, at its end. `killed`: or kills itself there.
 * `forks`: a child of it has four times as much meanwhile, which is not the program's. */
#include <lull/lull.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, KEPT_TENTHS = 2 };

static void touch(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(2);
    for (size_t i = 0; i < bytes; i += PAGE)
        memory[i] = 1;
    munmap(memory, bytes);
}

static long own_mark(void)
{
    char line[256];
    long kilobytes = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmHWM: %ld kB", &kilobytes);
    if (status)
        fclose(status);
    return kilobytes;
}

int main(int argc, char **argv)
{
    const size_t bytes = (argc > 1 ? (size_t)atol(argv[1]) : 1) << 20;
    const char *how = argc > 2 ? argv[2] : "end";
    if (strcmp(how, "forks") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            touch(4 * bytes);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    touch(bytes);
    for (unsigned i = 0; i < 3;
         i++) { /* the recorder asks the system every 100 ms, where a region ends */
        lull_begin("wait");
        usleep(70000);
        lull_end("wait");
    }
    printf("%ld\n", own_mark());
    fflush(stdout);
    if (strcmp(how, "killed") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
