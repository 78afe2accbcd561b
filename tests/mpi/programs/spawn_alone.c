/* What a spawned process is given is the same as without the recorder: its arguments, the names in
 * its environment, and its folder. Twice only: where a process spawns for the third time, Open MPI
 *4 hangs now and then, also without the recorder (in PMIx_Lookup, the child in PMIx_Init: 2 of 100
 * runs); spawn_named.c has one more.
 *
 *= ranks 1
 *= alone
 *= spawns 1 1
 *= spawns 2 1
 *= 0 calls MPI_Comm_spawn x2
 *= 0 create in 1 root -1 sent 0 received 0 x2
 *= 0 calls MPI_Recv x2
 *= 0 calls MPI_Comm_disconnect x2
 *= 0 free in 1 root -1 sent 0 received 0 x2
 *= 0 receives 1/0 tag 1 bytes 8192 in 1 x1
 *= 0 receives 2/0 tag 1 bytes 8192 in 1 x1
 *= 1/0 calls MPI_Send x1
 *= 1/0 sends 0 tag 1 bytes 8192 in 1 x1
 *= 1/0 calls MPI_Comm_disconnect x1
 *= 1/0 free in 1 root -1 sent 0 received 0 x1
 *= 2/0 calls MPI_Send x1
 *= 2/0 sends 0 tag 1 bytes 8192 in 1 x1
 *= 2/0 calls MPI_Comm_disconnect x1
 *= 2/0 free in 1 root -1 sent 0 received 0 x1
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if !defined(KEY)
#define KEY "wdir"
#endif

extern char **environ;
static char text[8192];

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add(const char *what, int length)
{
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%.*s ", length, what);
}

static void be_child(char **argv, MPI_Comm parent)
{
    char folder[PATH_MAX];
    size_t n = 0;
    /* what is started from the working folder without its being named, has it named */
    for (add(argv[0] + (strncmp(argv[0], "./", 2) == 0 ? 2 : 0), INT_MAX); *++argv;)
        add(*argv, INT_MAX);
    add(getcwd(folder, sizeof folder), INT_MAX);
    while (environ[n])
        n++;
    qsort(environ, n, sizeof *environ, compare);
    for (size_t i = 0; i < n; i++)
        add(environ[i], (int)strcspn(environ[i], "="));
    MPI_Send(text, sizeof text, MPI_CHAR, 0, 1, parent);
    MPI_Comm_disconnect(&parent);
}

static int spawn(const char *program, const char *folder)
{
    char *arguments[] = {"one", "", "two words", "A=B", NULL};
    int code = -1, class;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    if (folder) {
        MPI_Info_create(&info);
        MPI_Info_set(info, KEY, folder);
    }
    MPI_Error_class(MPI_Comm_spawn(program, arguments, 1, info, 0, MPI_COMM_SELF, &inter, &code),
                    &class);
    printf("%s: %d, %d, %s\n", program, class, code, inter == MPI_COMM_NULL ? "none" : "some");
    if (class == MPI_SUCCESS) {
        MPI_Recv(text, sizeof text, MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&inter);
        printf("%s\n", text);
    }
    return class;
}

int main(int argc, char **argv)
{
    char folder[PATH_MAX];
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_child(argv, parent);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#if defined(ONLY_OPEN_MPI) && !defined(OPEN_MPI)
    MPI_Abort(MPI_COMM_WORLD, 77);
#endif
    if (!getcwd(folder, sizeof folder) || chdir("/") != 0)
        return 1;
#ifdef BY_NAME
    if (chdir(folder) != 0 ||
        spawn("program", FOLDER) != MPI_SUCCESS) /* Open MPI looks here, too */
        MPI_Abort(MPI_COMM_WORLD, 77);
#else
    if (spawn(argv[0], NULL) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 77);
    spawn("./program", folder);
#endif
    MPI_Finalize();
    return 0;
}
