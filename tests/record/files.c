/* Reads and writes that are known, in files of the folder that it is given:
 *
 *     files FOLDER descriptors | streams | others | threads
 *     files FOLDER handlers     says what check_run is to find
 *
 * Prints a line for each file: NAME KIND OPENS READS BYTES WRITES BYTES OTHERS. What it says itself
 * goes to the standard output at its end, which counts nowhere: the lines are written there by one
 * call that is not recorded. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <lull/lull.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                     \
    do {                                                                                \
        if (!(what)) {                                                                  \
            dprintf(2, "line %d: not so: %s (%s)\n", __LINE__, #what, strerror(errno)); \
            exit(3);                                                                    \
        }                                                                               \
    } while (0)

static char bytes[70000], told[4096];
static volatile size_t unknown = sizeof bytes; /* what a compiler cannot check beforehand */

__attribute__((format(printf, 1, 2))) static void tell(const char *form, ...)
{
    va_list arguments;
    va_start(arguments, form);
    size_t length = strlen(told);
    vsnprintf(told + length, sizeof told - length, form, arguments);
    va_end(arguments);
}

static size_t at_most(size_t size)
{
    return size < unknown ? size : unknown;
}

static void by_descriptors(void)
{
    struct iovec parts[2] = {{bytes, 100}, {bytes + 100, 23}};
    errno = 77;
    int file = open("one", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && errno == 77);
    CHECK(write(file, bytes, 1000) == 1000);
    CHECK(pwrite(file, bytes, 65, 1000) == 65 && pwrite64(file, bytes, 7, 2000) == 7);
    CHECK(writev(file, parts, 2) == 123 && pwritev(file, parts, 1, 5000) == 100);
    CHECK(fsync(file) == 0 && fdatasync(file) == 0 && lseek(file, 0, SEEK_SET) == 0);
    CHECK(read(file, bytes, at_most(300)) == 300 && pread(file, bytes, at_most(10), 4) == 10);
    CHECK(pread64(file, bytes, at_most(11), 4) == 11 && readv(file, parts, 2) == 123);
    CHECK(preadv(file, parts, 1, 100) == 100);
    int second = dup(file), third = dup2(file, 60);
    CHECK(second >= 0 && third == 60 && write(second, bytes, 5) == 5 &&
          write(third, bytes, 6) == 6);
    CHECK(close(file) == 0 && close(second) == 0);
    tell("one file 1 5 544 7 1306 4\n");

    /* The same number for another file, and one that is unlinked while it is open. */
    file = open64("two", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(dup2(file, 60) == 60 && write(60, bytes, 9) == 9 && unlink("two") == 0);
    CHECK(write(file, bytes, 10) == 10 && close(file) == 0 && close(60) == 0);
    tell("two file 1 0 0 2 19 2\n");

    file = openat(AT_FDCWD, "./three", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && close(file) == 0 && (file = creat("three", 0600)) >= 0);
    CHECK(write(file, bytes, 70000) == 70000 && close(file) == 0);
    volatile int flags = O_RDONLY;
    CHECK((file = open("../files.folder/three", flags)) >= 0);
    CHECK(read(file, bytes, at_most(70000)) == 70000 && read(file, bytes, at_most(70000)) == 0);
    CHECK(close(file) == 0 && openat64(AT_FDCWD, "missing", flags) == -1 && errno == ENOENT);
    errno = 0;
    CHECK(write(-1, bytes, 1) == -1 && errno == EBADF && close(-1) == -1);
    tell("three file 3 2 70000 1 70000 3\n");
}

static void by_streams(void)
{
    errno = 77;
    FILE *stream = fopen("stream", "w+");
    CHECK(stream && errno == 77);
    CHECK(fwrite(bytes, 8, 100, stream) == 100 && fputs("text\n", stream) >= 0);
    CHECK(fprintf(stream, "%s %d\n", "number", 42) == 10 && fflush(stream) == 0);
    CHECK(fseek(stream, 800, SEEK_SET) == 0);
    char line[64], *all = NULL;
    volatile int room = sizeof line;
    size_t size = 0;
    CHECK(fgets(line, room, stream) && strcmp(line, "text\n") == 0);
    CHECK(getline(&all, &size, stream) == 10 && !fgets(line, room, stream));
    free(all);
    CHECK(fseek(stream, 0, SEEK_SET) == 0 && fread(bytes, 10, at_most(1000), stream) == 81);
    CHECK(fclose(stream) == 0);
    tell("stream file 2 4 825 3 815 2\n");
    /* What is in memory is no file. */
    CHECK((stream = fmemopen(bytes, 100, "w")) && fprintf(stream, "%d", 4) == 1);
    CHECK(errno == 77 && fclose(stream) == 0);
    CHECK((stream = fopen("stream", "a")) && (stream = freopen("again", "w", stream)));
    CHECK(fprintf(stream, "%05d", 4) == 5 && fclose(stream) == 0);
    tell("again file 1 0 0 1 5 1\n");
}

static void of_other_kinds(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], bytes, 12) == 12 && read(ends[0], bytes, 100) == 12);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    tell("pipe pipe 0 1 12 1 12 2\n");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(write(ends[1], bytes, 13) == 13 && read(ends[0], bytes, 100) == 13);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    tell("socket socket 0 1 13 1 13 2\n");
    int device = open("/dev/null", O_WRONLY);
    CHECK(device >= 0 && write(device, bytes, 14) == 14 && close(device) == 0);
    tell("/dev/null device 1 0 0 1 14 1\n");
    pid_t child = fork(); /* what it writes is not this process's */
    if (child == 0)
        _exit(write(open("child", O_WRONLY | O_CREAT, 0600), bytes, 15) == 15 ? 0 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    int file = open("paused", O_RDWR | O_CREAT | O_TRUNC, 0600);
    lull_pause();
    CHECK(write(file, bytes, 16) == 16 && close(file) == 0);
    file = open("later", O_RDWR | O_CREAT | O_TRUNC, 0600);
    lull_resume();
    CHECK(write(file, bytes, 17) == 17 && close(file) == 0);
    tell("paused file 1 0 0 0 0 0\nlater file 0 0 0 1 17 1\n");
}

enum { THREADS = 4, EACH = 500 };

static void *write_much(void *number)
{
    char name[32], text[100] = "";
    snprintf(name, sizeof name, "thread%d", (int)(size_t)number);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < EACH; i++)
        CHECK(write(file, text, (size_t)(i % 100)) == i % 100);
    CHECK(close(file) == 0);
    return NULL;
}

static void on_threads(void)
{
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, write_much, (void *)t) == 0);
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        tell("thread%zu file 1 0 0 %d %d 1\n", t, EACH, EACH / 100 * 4950);
    }
}

/* A handler that writes comes wherever it likes: also while a mark is being recorded. */
static int null;

static void write_one(int signal)
{
    (void)signal;
    CHECK(write(null, bytes, 1) == 1);
}

static void in_handlers(void)
{
    enum { MARKS = 300000 };
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    const struct sigaction action = {.sa_handler = write_one, .sa_flags = SA_RESTART};
    CHECK((null = open("/dev/null", O_WRONLY)) >= 0 && sigaction(SIGALRM, &action, NULL) == 0);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < MARKS; i++) {
        lull_begin("mark");
        lull_end("mark");
    }
    setitimer(ITIMER_REAL, &never, NULL);
    tell("expect %d mark\n", MARKS);
}

int main(int argc, char **argv)
{
    CHECK(argc > 2 && chdir(argv[1]) == 0);
    if (strcmp(argv[2], "handlers") == 0)
        in_handlers();
    if (strcmp(argv[2], "descriptors") == 0)
        by_descriptors();
    if (strcmp(argv[2], "streams") == 0)
        by_streams();
    if (strcmp(argv[2], "others") == 0)
        of_other_kinds();
    if (strcmp(argv[2], "threads") == 0)
        on_threads();
    return syscall(SYS_write, 1, told, strlen(told)) == (long)strlen(told) ? 0 : 3;
}
