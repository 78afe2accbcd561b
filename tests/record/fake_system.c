/* A program in whose place a folder tells how much memory there is: files below /proc and /sys that the
 * folder FAKE_ROOT has are opened there, also by the recorder. The node has FAKE_NODE bytes, and from
 * the begin of main on there have been FAKE_FAULTS page faults that read a disk. The program leaves a marked region 120 ms after its
 * begin. */
#include <fcntl.h>
#include <lull/lull.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static bool in_main;

/* These three stand in front of the C library's functions. */

int open(const char *path, int flags, ...)
{
    char fake[4096];
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    const char *root = getenv("FAKE_ROOT");
    if (root && (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0)) {
        snprintf(fake, sizeof fake, "%s%s", root, path);
        if (access(fake, R_OK) == 0)
            path = fake;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int sysinfo(struct sysinfo *info)
{
    const char *node = getenv("FAKE_NODE");
    const int status = (int)syscall(SYS_sysinfo, info);
    if (node) {
        info->totalram = strtoul(node, NULL, 10);
        info->mem_unit = 1;
    }
    return status;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    const char *faults = getenv("FAKE_FAULTS");
    const int status = (int)syscall(SYS_getrusage, who, usage);
    if (faults && in_main) {
        usage->ru_majflt = atol(faults);
        usage->ru_nvcsw++;
    }
    return status;
}

int main(void)
{
    in_main = true;
    lull_begin("wait");
    usleep(120000);
    lull_end("wait");
    return 0;
}
