/* cuda FORM [SEED COUNT]: uses CUDA's driver and runtime as programs do, on the mock (mock.h), which writes down what a
 * recorder must find. Its own output is the same with a recorder and without. Forms:
 *
 *     plain        one of each
 *     random       COUNT schedules, drawn from SEED
 *     threads      four threads, each with streams of its own
 *     fork         a child launches a kernel, which is not to be recorded
 *     spawn        another program is executed, which uses CUDA as well
 *     pause        some launches are in pauses
 *     pause-long   a pause that is so long that nobody has records made in it any more
 *     reset        a device is reset
 *     closing      all descriptors are closed
 *     libraries    a library with a runtime of its own is loaded and unloaded
 *     ranges       launches within ranges of NVTX
 *     many         4,000 operations on each of two streams
 *     priorities   streams of all priorities that there are, and of such as there are not
 *     forever      until it is killed
 *     unfinished   ends without having waited
 *     exit, abort, quick, in-call, exit-callback   ends in that way; in-call: by exit() in a signal handler, within a call that
 *                  waits; exit-callback: by exit() on a thread of the driver; exit-submitting: likewise, while another thread
 *                  goes on launching
 *     fork-first   a child is made before CUDA is used, and uses it
 *     seccomp      system calls are filtered
 *     late         COUNT steps: the host prepares, launches a kernel of 2 ms (with the mock's word `sized`), waits for it, and
 *                  meets the other ranks, each with a device of its own of two; the last rank prepares for SEED ms more
 *     bench        prints ns of the thread's processor time for a launch, of COUNT of them */
#include "mock.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <lull/lull.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { KERNELS = 5, NONE = 77 };
#define ON        "_and_on_and_on_and_on_and_on"
#define LONG_NAME "a_name_of_a_kernel_that_goes_on" ON ON ON

static context_t contexts[2];
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
                                               LONG_NAME, "reduce"};
    const result value = cuInit(0);
    if (value != 0) {
        printf("cuInit: %d\n", value);
        exit(NONE);
    }
    for (int i = 0; i < 2; i++)
        CHECK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    CHECK(cuCtxSetCurrent(contexts[0]));
    for (int i = 0; i < KERNELS; i++)
        CHECK(cuModuleGetFunction(&kernels[i], NULL, names[i]));
}

static void launch(unsigned kernel, stream_t stream)
{
    CHECK(cuLaunchKernel(kernels[kernel], 8, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

static void launch_by_runtime(unsigned kernel, stream_t stream)
{
    static const unsigned grid[3] = {8, 1, 1}, block[3] = {128, 1, 1};
    CHECK(cudaLaunchKernel(kernels[kernel], grid, block, NULL, 0, stream));
}

static void launch_by_config(unsigned kernel, stream_t stream)
{
    const struct launch_config config = {.grid = {8, 1, 1}, .block = {32, 1, 1}, .stream = stream};
    CHECK(cuLaunchKernelEx(&config, kernels[kernel], NULL, NULL));
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void plain(void)
{
    stream_t one, other;
    event_t event;
    graph_t graph, executable;
    device_memory memory;
    void *by_runtime;
    CHECK(cuMemAlloc_v2(&memory, 4096));
    CHECK(cudaMalloc(&by_runtime, 4096));
    CHECK(cuStreamCreate(&one, 0));
    CHECK(cuStreamCreate(&other, 0));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuMemcpyHtoD_v2(memory, host, 4096));
    CHECK(cudaMemcpyAsync(by_runtime, host, 2048, HTOD, one));
    CHECK(cuMemsetD8Async(memory, 0, 1024, one));
    launch(0, one);
    launch_by_runtime(1, one);
    launch_by_config(2, other);
    CHECK(cuLaunchKernel_ptsz(kernels[3], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    launch(4, NULL);
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(other, event, 0));
    launch(0, other);
    CHECK(cuEventSynchronize(event));
    CHECK(cuMemcpyPeerAsync(memory, contexts[1], memory, contexts[0], 512, other));
    CHECK(cuMemcpyDtoDAsync_v2(memory, memory + 1, 256, other));
    CHECK(cuStreamBeginCapture_v2(one, 0));
    launch(1, one);
    launch_by_runtime(2, one);
    CHECK(cuMemsetD8Async(memory, 1, 128, one));
    CHECK(cuStreamEndCapture(one, &graph));
    CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cuGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaMemcpy(host, by_runtime, 64, DTOH));
    printf("a wrong launch: %d\n", cuLaunchKernel(NULL, 0, 1, 1, 1, 1, 1, 0, one, NULL, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cudaDeviceSynchronize());
    CHECK(cuCtxSetCurrent(contexts[1]));
    launch(3, NULL);
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuStreamSynchronize(other)); /* of another context than the current one */
    CHECK(cuCtxSetCurrent(contexts[0]));
    CHECK(cuStreamDestroy_v2(one));
    CHECK(cuStreamCreate(&one, 0)); /* which may have the same handle */
    launch(1, one);
    CHECK(cuStreamSynchronize(one));
    CHECK(cuEventDestroy_v2(event));
    CHECK(cudaFree(by_runtime));
    CHECK(cuMemFree_v2(memory));
    puts("done");
}

/* A schedule: a few streams and events on one of the devices, and a few dozens of calls. */
static void schedule(void)
{
    enum { STREAMS = 5, EVENTS = 3 };
    stream_t streams[STREAMS] = {NULL};
    event_t events[EVENTS];
    graph_t graph = NULL;
    stream_t captured = NULL;
    const unsigned n_streams = 1 + (unsigned)draw(STREAMS), n_calls = 5 + (unsigned)draw(40);
    CHECK(cuCtxSetCurrent(contexts[draw(2)]));
    for (unsigned i = 1; i < n_streams; i++)
        CHECK(draw(3) ? cuStreamCreate(&streams[i], 0)
                      : cuStreamCreateWithPriority(&streams[i], 0, 2 - (int)draw(9)));
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(cuEventCreate(&events[i], 0));
    for (unsigned i = 0; i < n_calls; i++) {
        stream_t stream = streams[draw(n_streams)];
        event_t event = events[draw(EVENTS)];
        const unsigned kernel = (unsigned)draw(KERNELS);
        const size_t bytes = 1 + draw(sizeof host);
        const bool may_wait = !captured;
        switch (draw(20)) {
        case 0:
            CHECK(cudaMemcpyAsync(host, host, bytes, 1 + (int)draw(3), stream));
            break;
        case 1:
            CHECK(cuMemcpyDtoHAsync_v2(host, 1, bytes, stream));
            break;
        case 2:
            CHECK(cudaMemsetAsync(host, 0, bytes, stream));
            break;
        case 3:
            CHECK(cuMemcpyPeerAsync(1, contexts[0], 2, contexts[1], bytes, stream));
            break;
        case 4:
            if (may_wait)
                CHECK(cudaMemcpy(host, host, bytes, 1 + (int)draw(2)));
            break;
        case 5:
            if (stream != captured)
                CHECK(cudaEventRecord(event, stream));
            break;
        case 6:
            if (stream != captured)
                CHECK(cuStreamWaitEvent(stream, event, 0));
            break;
        case 7:
            if (may_wait)
                CHECK(cuEventSynchronize(event));
            break;
        case 8:
            if (stream != captured)
                CHECK(cudaStreamSynchronize(stream));
            break;
        case 9:
            if (may_wait && !graph && stream) {
                captured = stream;
                CHECK(cuStreamBeginCapture_v2(captured, 0));
            } else if (captured) {
                CHECK(cuStreamEndCapture(captured, &graph));
                captured = NULL;
            }
            break;
        case 10:
        case 11:
            if (graph && !captured)
                CHECK(draw(2) ? cuGraphLaunch(graph, stream) : cudaGraphLaunch(graph, stream));
            break;
        case 12:
            launch_by_config(kernel, stream);
            break;
        case 13:
            CHECK(cuLaunchKernel_ptsz(kernels[kernel], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
            break;
        case 14:
        case 15:
        case 16:
            launch(kernel, stream);
            break;
        default:
            launch_by_runtime(kernel, stream);
        }
    }
    if (captured)
        CHECK(cuStreamEndCapture(captured, &graph));
    if (draw(2))
        CHECK(cuCtxSynchronize());
    for (unsigned i = 1; i < n_streams; i++)
        CHECK(cuStreamDestroy_v2(streams[i]));
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(cuEventDestroy_v2(events[i]));
}

enum { THREADS = 4 };
static pthread_barrier_t all_at_once;

static void *work(void *unused)
{
    stream_t stream;
    (void)unused;
    CHECK(cuCtxSetCurrent(contexts[0]));
    CHECK(cuStreamCreate(&stream, 0));
    for (unsigned i = 0; i < 200; i++) {
        launch_by_runtime(i % KERNELS, stream);
        CHECK(cuLaunchKernel_ptsz(kernels[i % KERNELS], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        if (i % 20 == 0)
            CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cuStreamDestroy_v2(stream));
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

static void start_child(const char *program)
{
    int status = -1;
    launch(0, NULL);
    CHECK(cuCtxSynchronize());
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0 && program) {
        unsetenv("MOCK_TRUTH"); /* which is the parent's */
        execl(program, program, "exit", (char *)NULL);
        _exit(9);
    }
    if (child == 0) {
        launch(1, NULL);
        exit(5);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    launch(2, NULL);
    CHECK(cuCtxSynchronize());
}

/* The mock does not know of pauses: these launches differ by their kernel. */
static void paused(void)
{
    for (int i = 0; i < 30; i++) {
        if (i % 3 == 1)
            lull_pause();
        launch(i % 3 == 1 ? 4 : 0, NULL);
        if (i % 3 == 1)
            lull_resume();
    }
    CHECK(cuCtxSynchronize());
}

/* Nobody has records made in a pause, from some time on, and again when it is over. */
static void pause_long(void)
{
    enum { TURNS = 60000 };
    const struct timespec turn = {.tv_nsec = 1000000};
    launch(0, NULL);
    lull_pause();
    launch(4, NULL);
    for (int i = 0; i < TURNS && mock_attached(); i++)
        nanosleep(&turn, NULL);
    printf("attached: %d\n", mock_attached());
    for (int i = 0; i < 10; i++)
        launch(4, NULL);
    lull_resume();
    for (int i = 0; i < 10; i++)
        launch(1, NULL);
    CHECK(cuCtxSynchronize());
}

/* A device is reset: its context, streams and events are gone, and the next ones stand in their places. */
static void reset(void)
{
    stream_t stream;
    event_t event = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
        CHECK(cuCtxSetCurrent(contexts[0]));
        CHECK(cuStreamCreate(&stream, 0));
        if (i == 0)
            CHECK(cuEventCreate(&event, 0));
        mock_renew(event);
        CHECK(cuEventSynchronize(event)); /* which is not recorded yet */
        launch(0, stream);
        launch_by_runtime(1, NULL);
        CHECK(cuEventRecord(event, stream));
        CHECK(cuEventSynchronize(event));
        launch(2, NULL);
        CHECK(cuDevicePrimaryCtxReset_v2(0));
        free(stream);
    }
    free(event);
    puts("done");
}

/* Closes all descriptors behind the standard ones, but the mock's own. */
static void closing(void)
{
    launch(0, NULL);
    CHECK(cuCtxSynchronize());
    for (int fd = 3; fd < 256; fd++)
        if (fd != mock_descriptor())
            close(fd);
    for (unsigned i = 0; i < 500; i++)
        launch_by_runtime(i % KERNELS, NULL);
    CHECK(cuCtxSynchronize());
    puts("done");
}

/* A library with a runtime of its own is loaded, used and unloaded, three times. */
static void libraries(const char *program)
{
    char path[4096];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*slibsecond.so", slash ? (int)(slash - program) + 1 : 0,
             program);
    for (int i = 0; i < 3; i++) {
        result (*use)(function_t function, stream_t stream);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
        if (!library || !(symbol = dlsym(library, "second_use"))) {
            printf("%s\n", dlerror());
            exit(1);
        }
        memcpy(&use, &symbol, sizeof use);
        launch_by_runtime(0, NULL);
        CHECK(use(kernels[3], NULL));
        launch_by_runtime(1, NULL);
        CHECK(cuCtxSynchronize());
        dlclose(library);
    }
    puts("done");
}

/* Ranges of NVTX: the recorder has these functions where the program has not. */
int nvtxRangePushA(const char *message) __attribute__((weak));
int nvtxRangePop(void) __attribute__((weak));

static void push_range(const char *name)
{
    if (nvtxRangePushA)
        nvtxRangePushA(name);
}

static void pop_range(void)
{
    if (nvtxRangePop)
        nvtxRangePop();
}

/* Kernel 4 is launched in the inner range, 0 in the outer one, 1 in none. */
static void ranges(void)
{
    for (int i = 0; i < 5; i++) {
        push_range("outer range");
        launch(0, NULL);
        push_range("inner range");
        launch(4, NULL);
        CHECK(cudaMemcpyAsync(host, host, 100, HTOD, NULL));
        launch_by_runtime(4, NULL);
        pop_range();
        launch(0, NULL);
        pop_range();
        launch(1, NULL);
    }
    CHECK(cuCtxSynchronize());
    puts("done");
}

/* The device's priorities are -5 to 0. The last stream is waited for and never given anything. */
static void priorities(void)
{
    enum { STREAMS = 8 };
    static const int wanted[STREAMS] = {0, -1, -2, -3, -4, -5, 7, -100};
    stream_t streams[STREAMS], unused;
    for (int i = 0; i < STREAMS; i++)
        CHECK(i % 2 ? cuStreamCreateWithPriority(&streams[i], 1, wanted[i])
                    : cudaStreamCreateWithPriority(&streams[i], 0, wanted[i]));
    CHECK(cuStreamCreateWithPriority(&unused, 0, -3));
    for (int turn = 0; turn < 3; turn++)
        for (unsigned i = 0; i < STREAMS; i++) {
            launch_by_runtime((i + (unsigned)turn) % KERNELS, streams[i]);
            CHECK(cudaMemcpyAsync(host, host, 10 + i, HTOD, streams[i]));
        }
    launch(0, NULL);
    CHECK(cuLaunchKernel_ptsz(kernels[3], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    for (int i = 0; i < STREAMS; i++)
        CHECK(cuStreamSynchronize(streams[i]));
    CHECK(cuStreamSynchronize(unused));
    CHECK(cuStreamDestroy_v2(streams[1])); /* the next one may have the same handle */
    CHECK(cuStreamCreateWithPriority(&streams[1], 0, -4));
    launch(1, streams[1]);
    CHECK(cuCtxSynchronize());
    CHECK(cudaDeviceSynchronize());
    puts("done");
}

static void many(void)
{
    stream_t streams[2];
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&streams[i], 0));
    for (unsigned i = 0; i < 4000; i++) {
        launch_by_runtime(i % KERNELS, streams[i % 2]);
        CHECK(cudaMemcpyAsync(host, host, 1 + i % 512, 1 + (int)(i % 3 / 2), streams[i % 2]));
        if (i % 1000 == 999)
            CHECK(cudaStreamSynchronize(streams[0]));
    }
    CHECK(cuCtxSynchronize());
    puts("done");
}

static void forever(void)
{
    stream_t streams[3];
    for (int i = 0; i < 3; i++)
        CHECK(cuStreamCreate(&streams[i], 0));
    for (unsigned i = 1;; i++) {
        launch_by_runtime(i % KERNELS, streams[i % 3]);
        CHECK(cudaMemcpyAsync(host, host, 64, HTOD, streams[i % 3]));
        if (i % 16 == 0)
            CHECK(cuCtxSynchronize());
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

static bool is_outside; /* atomic: of the call that has submitted the callback */

static void leave_by_callback(void *unused)
{
    const struct timespec turn = {.tv_nsec = 100000};
    (void)unused;
    while (!__atomic_load_n(&is_outside, __ATOMIC_ACQUIRE))
        nanosleep(&turn, NULL);
    exit(3);
}

/* The program forbids itself nothing, by a filter of system calls. */
static void filtered(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    launch(0, NULL);
    CHECK(cuCtxSynchronize());
    printf("filter: %d %d\n", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
    for (unsigned i = 0; i < 300; i++)
        launch(i % KERNELS, NULL);
    CHECK(cuCtxSynchronize());
    puts("done");
}

/* Before the parent has called anything of CUDA. */
static void fork_first(void)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        unsetenv("MOCK_TRUTH"); /* which is the parent's */
    if (child > 0)
        waitpid(child, &status, 0);
    set_up();
    launch(child == 0, NULL);
    CHECK(cuCtxSynchronize());
    if (child == 0)
        exit(5);
    printf("child %d\n", WEXITSTATUS(status));
}

static void end_by(const char *how)
{
    launch(0, NULL);
    CHECK(cuCtxSynchronize());
    launch(1, NULL);
    puts("ends");
    fflush(stdout);
    if (strcmp(how, "abort") == 0)
        abort();
    const bool goes_on = strcmp(how, "exit-submitting") == 0;
    if (goes_on || strcmp(how, "exit-callback") == 0) {
        CHECK(cuLaunchHostFunc(NULL, leave_by_callback, NULL));
        __atomic_store_n(&is_outside, true, __ATOMIC_RELEASE);
        for (;;)
            if (goes_on)
                launch(2, NULL);
            else
                pause();
    }
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
            CHECK(cuCtxSynchronize());
        }
    }
    exit(3);
}

static double own_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void bench(long count)
{
    const double begin = own_ns();
    for (long i = 0; i < count; i++)
        launch_by_runtime(0, NULL);
    printf("%.2f\n", (own_ns() - begin) / (double)count);
}

static __attribute__((noinline)) void prepare(long us)
{
    const struct timespec length = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&length, NULL);
}

static void late(long steps, long more)
{
    int rank = 0, ranks = 1;
#ifdef WITH_MPI
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
    CHECK(cuCtxSetCurrent(contexts[rank % 2]));
    for (long i = 0; i < steps; i++) {
        prepare(1000 + (rank == ranks - 1 ? 1000 * more : 0));
        CHECK(cuLaunchKernel(kernels[0], 2000, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
        CHECK(cudaDeviceSynchronize());
#ifdef WITH_MPI
        int one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } forms[] = {{"plain", plain},           {"threads", threads},       {"pause", paused},
                 {"pause-long", pause_long}, {"reset", reset},           {"seccomp", filtered},
                 {"closing", closing},       {"ranges", ranges},         {"forever", forever},
                 {"unfinished", unfinished}, {"priorities", priorities}, {"many", many}};
    const char *form = argc > 1 ? argv[1] : "plain";
    const long count = argc > 3 ? atol(argv[3]) : 100;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    if (strcmp(form, "fork-first") == 0) {
        fork_first();
        return 0;
    }
    set_up();
    bool known = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, form) == 0) {
            forms[i].run();
            known = true;
        }
    if (strcmp(form, "random") == 0) {
        for (long i = 0; i < count; i++)
            schedule();
        printf("%ld schedules\n", count);
    } else if (strcmp(form, "fork") == 0 || strcmp(form, "spawn") == 0) {
        start_child(strcmp(form, "spawn") == 0 ? argv[0] : NULL);
    } else if (strcmp(form, "libraries") == 0) {
        libraries(argv[0]);
    } else if (strcmp(form, "late") == 0) {
        late(count, (long)state);
    } else if (strcmp(form, "bench") == 0) {
        bench(count);
    } else if (!known) {
        end_by(form);
    }
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
