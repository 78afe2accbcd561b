#include "launch/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lull_proc_look(int pid, struct lull_proc *ret_process)
{
    char path[64], line[1024];
    struct lull_proc process = {.parent = 0};
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *in = fopen(path, "re");
    bool good = in && fgets(line, sizeof line, in);
    if (in)
        fclose(in);
    char *name = good ? strchr(line, '(') : NULL, *field = name ? strrchr(name, ')') : NULL;
    if (!field)
        return false;
    snprintf(process.name, sizeof process.name, "%.*s", (int)(field - name - 1), name + 1);
    for (int i = 2; field && i < 22; i++) { /* field 2 is the name, 4 the parent, 22 the start */
        field = strchr(field + 1, ' ');
        if (i == 3 && field)
            process.parent = (int)strtol(field, NULL, 10);
    }
    good = field && sscanf(field, "%31s", process.start) == 1;
    *ret_process = process;
    return good;
}

bool lull_proc_lives(int pid, const char *start)
{
    struct lull_proc process;
    return lull_proc_look(pid, &process) && strcmp(process.start, start) == 0;
}
