/* rocm FORM [SEED COUNT]: uses HIP as programs do, on the mock (mock.h), which writes down what a recorder must find. Its own
 * output is the same with a recorder and without. Forms:
 *
 *     plain        one of each
 *     devices      two devices
 *     random       COUNT schedules, drawn from SEED
 *     threads      four threads, each with a stream of its own
 *     fork         a child launches a kernel, which is not to be recorded
 *     pause        some launches are in pauses
 *     pause-long   a pause that is so long that nobody has records made in it any more
 *     forever      until it is killed
 *     unfinished   ends without having waited
 *     exit, abort, quick, in-call   ends in that way; in-call: by exit() in a signal handler, within a call that waits */
#include "mock.h"

#include <lull/lull.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KERNELS = 4 };
static function_t kernels[KERNELS];
static char host[4096];
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
}

static void check(result value, const char *what)
{
    if (value == 0)
        return;
    printf("%s: %d\n", what, value);
    exit(1);
}

#define CHECK(call) check((call), #call)

static void set_up(void)
{
    static const char *const names[KERNELS] = {"scale", "_Z3addPfPKf", "_ZN5outer5innerILi3EEEvPd",
                                               "reduce"};
    CHECK(hipInit(0));
    for (int i = 0; i < KERNELS; i++)
        CHECK(hipModuleGetFunction(&kernels[i], NULL, names[i]));
}

static void launch(unsigned kernel, stream_t stream)
{
    CHECK(hipLaunchKernel(kernels[kernel], (struct dim){8, 1, 1}, (struct dim){64, 1, 1}, NULL, 0,
                          stream));
}

static void launch_by_module(unsigned kernel, stream_t stream)
{
    CHECK(hipModuleLaunchKernel(kernels[kernel], 8, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void plain(void)
{
    stream_t one, other;
    event_t event;
    graph_t graph, executable;
    void *memory;
    CHECK(hipMalloc(&memory, 4096));
    CHECK(hipStreamCreate(&one));
    CHECK(hipStreamCreate(&other));
    CHECK(hipEventCreate(&event));
    CHECK(hipMemcpy(memory, host, 4096, HIP_HTOD));
    CHECK(hipMemcpyAsync(memory, host, 2048, HIP_HTOD, one));
    CHECK(hipMemsetAsync(memory, 0, 1024, one));
    launch(0, one);
    launch_by_module(1, one);
    launch(2, other);
    launch(3, NULL);
    CHECK(hipEventRecord(event, one));
    CHECK(hipStreamWaitEvent(other, event, 0));
    launch(0, other);
    CHECK(hipEventSynchronize(event));
    CHECK(hipMemcpyAsync(memory, memory, 256, HIP_DTOD, other));
    CHECK(hipStreamBeginCapture(one, 0));
    launch(1, one);
    launch_by_module(2, one);
    CHECK(hipMemcpyAsync(memory, host, 128, HIP_HTOD, one));
    CHECK(hipStreamEndCapture(one, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
    CHECK(hipGraphLaunch(executable, one));
    CHECK(hipGraphLaunch(executable, one));
    CHECK(hipStreamSynchronize(one));
    CHECK(hipMemcpy(host, memory, 64, HIP_DTOH));
    printf("a wrong launch: %d\n",
           hipModuleLaunchKernel(NULL, 0, 1, 1, 1, 1, 1, 0, one, NULL, NULL));
    printf("a wrong event: %d\n", hipEventRecord(NULL, one));
    CHECK(hipDeviceSynchronize());
    CHECK(hipStreamDestroy(one));
    CHECK(hipStreamCreate(&one)); /* which may have the same handle */
    launch(1, one);
    CHECK(hipStreamSynchronize(one));
    CHECK(hipEventDestroy(event));
    CHECK(hipFree(memory));
    puts("done");
}

static void devices(void)
{
    stream_t streams[2];
    for (int i = 0; i < 2; i++) {
        CHECK(hipSetDevice(i));
        CHECK(hipStreamCreate(&streams[i]));
        launch(0, streams[i]);
        launch(1, NULL);
        CHECK(hipMemcpyAsync(host, host, 100, HIP_HTOD, streams[i]));
    }
    CHECK(hipStreamSynchronize(streams[0]));
    CHECK(hipStreamSynchronize(streams[1]));
    CHECK(hipDeviceSynchronize()); /* of which one, nobody has said */
    CHECK(hipStreamSynchronize(NULL));
    puts("done");
}

static void schedule(void)
{
    enum { STREAMS = 5, EVENTS = 3 };
    stream_t streams[STREAMS] = {NULL}, captured = NULL;
    event_t events[EVENTS];
    graph_t graph = NULL;
    const unsigned n_streams = 1 + (unsigned)draw(STREAMS), n_calls = 5 + (unsigned)draw(40);
    for (unsigned i = 1; i < n_streams; i++)
        CHECK(hipStreamCreate(&streams[i]));
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(hipEventCreate(&events[i]));
    for (unsigned i = 0; i < n_calls; i++) {
        stream_t stream = streams[draw(n_streams)];
        event_t event = events[draw(EVENTS)];
        const unsigned kernel = (unsigned)draw(KERNELS);
        const size_t bytes = 1 + draw(sizeof host);
        switch (draw(16)) {
        case 0:
        case 1:
            CHECK(hipMemcpyAsync(host, host, bytes, 1 + (int)draw(3), stream));
            break;
        case 2:
            CHECK(hipMemsetAsync(host, 0, bytes, stream));
            break;
        case 3:
            if (!captured)
                CHECK(hipMemcpy(host, host, bytes, 1 + (int)draw(2)));
            break;
        case 4:
            if (stream != captured)
                CHECK(hipEventRecord(event, stream));
            break;
        case 5:
            if (stream != captured)
                CHECK(hipStreamWaitEvent(stream, event, 0));
            break;
        case 6:
            if (!captured)
                CHECK(hipEventSynchronize(event));
            break;
        case 7:
            if (stream != captured)
                CHECK(hipStreamSynchronize(stream));
            break;
        case 8:
            if (!captured && !graph && stream) {
                captured = stream;
                CHECK(hipStreamBeginCapture(captured, 0));
            } else if (captured) {
                CHECK(hipStreamEndCapture(captured, &graph));
                captured = NULL;
            }
            break;
        case 9:
            if (graph && !captured)
                CHECK(hipGraphLaunch(graph, stream));
            break;
        case 10:
        case 11:
            launch_by_module(kernel, stream);
            break;
        default:
            launch(kernel, stream);
        }
    }
    if (captured)
        CHECK(hipStreamEndCapture(captured, &graph));
    if (draw(2))
        CHECK(hipDeviceSynchronize());
    for (unsigned i = 1; i < n_streams; i++)
        CHECK(hipStreamDestroy(streams[i]));
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(hipEventDestroy(events[i]));
}

enum { THREADS = 4 };
static pthread_barrier_t all_at_once;

static void *work(void *unused)
{
    stream_t stream;
    (void)unused;
    CHECK(hipStreamCreate(&stream));
    for (unsigned i = 0; i < 200; i++) {
        launch(i % KERNELS, stream);
        if (i % 20 == 0)
            CHECK(hipStreamSynchronize(stream));
    }
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipStreamDestroy(stream));
    pthread_barrier_wait(
        &all_at_once); /* a thread that begins later may take the place of one that has ended */
    return NULL;
}

static void threads(void)
{
    pthread_t made[THREADS];
    pthread_barrier_init(&all_at_once, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&made[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
    puts("done");
}

static void forked(void)
{
    int status = -1;
    launch(0, NULL);
    CHECK(hipDeviceSynchronize());
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        launch(1, NULL);
        exit(5);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    launch(2, NULL);
    CHECK(hipDeviceSynchronize());
}

/* The mock does not know of pauses: these launches differ by their kernel. */
static void paused(void)
{
    for (int i = 0; i < 30; i++) {
        if (i % 3 == 1)
            lull_pause();
        launch(i % 3 == 1 ? 3 : 0, NULL);
        if (i % 3 == 1)
            lull_resume();
    }
    CHECK(hipDeviceSynchronize());
}

/* Nobody has records made in a pause, from some time on, and again when it is over. */
static void pause_long(void)
{
    enum { TURNS = 60000 };
    const struct timespec turn = {.tv_nsec = 1000000};
    launch(0, NULL);
    lull_pause();
    launch(3, NULL);
    for (int i = 0; i < TURNS && mock_attached(); i++)
        nanosleep(&turn, NULL);
    printf("attached: %d\n", mock_attached());
    for (int i = 0; i < 10; i++)
        launch(3, NULL);
    lull_resume();
    for (int i = 0; i < 10; i++)
        launch(1, NULL);
    CHECK(hipDeviceSynchronize());
}

static void forever(void)
{
    stream_t streams[3];
    for (int i = 0; i < 3; i++)
        CHECK(hipStreamCreate(&streams[i]));
    for (unsigned i = 1;; i++) {
        launch(i % KERNELS, streams[i % 3]);
        CHECK(hipMemcpyAsync(host, host, 64, HIP_HTOD, streams[i % 3]));
        if (i % 16 == 0)
            CHECK(hipDeviceSynchronize());
        if (i == 100) {
            puts("runs");
            fflush(stdout);
        }
    }
}

static void unfinished(void)
{
    for (unsigned i = 0; i < 300; i++)
        launch(i % KERNELS, NULL);
    puts("done");
}

static void leave(int signal)
{
    (void)signal;
    exit(6);
}

static void end_by(const char *how)
{
    launch(0, NULL);
    CHECK(hipDeviceSynchronize());
    launch(1, NULL);
    puts("ends");
    fflush(stdout);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "quick") == 0)
        quick_exit(4);
    if (strcmp(how, "in-call") == 0) {
        const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
        signal(SIGALRM, leave);
        setitimer(ITIMER_REAL, &soon, NULL);
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        for (;;) {
            pthread_sigmask(SIG_BLOCK, &alarm, NULL);
            for (int i = 0; i < 100; i++)
                launch(2, NULL);
            pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
            CHECK(hipDeviceSynchronize());
        }
    }
    exit(3);
}

static void schedules(long count)
{
    for (long i = 0; i < count; i++)
        schedule();
    printf("%ld schedules\n", count);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } forms[] = {{"plain", plain},     {"devices", devices},      {"threads", threads},
                 {"fork", forked},     {"pause", paused},         {"pause-long", pause_long},
                 {"forever", forever}, {"unfinished", unfinished}};
    const char *form = argc > 1 ? argv[1] : "plain";
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    set_up();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, form) == 0) {
            forms[i].run();
            return 0;
        }
    if (strcmp(form, "random") == 0)
        schedules(argc > 3 ? atol(argv[3]) : 100);
    else
        end_by(form);
    return 0;
}
