/* Idle waves in a real program: iterations of work and exchange, in which one rank is late once.
 *
 *     mpicc -O2 examples/wave.c -lm -o wave
 *     mpirun -n 8 lull record -o run.lull ./wave --pattern chain:distances=1+2,exec=10ms \
 *         --work sleep --delay 3@i10:100ms
 *     lull wave run.lull
 *
 * --pattern and --delay are written as for `lull wave`:
 *   chain:distances=1+2,direction=both|up|down,wait=all|direction|distance|each,
 *         boundary=open|periodic,bytes=1KiB,exec=10ms,iterations=60
 *   jacobi:size=48,iterations=60        a 3-D Jacobi on size^3 points per rank; six neighbours
 *   spmv:size=16,iterations=60          a sparse matrix times a vector; the matrix couples the 27
 *                                       neighbours of each point of a grid, size^3 points per rank
 *   spmv:file=M.mtx,iterations=60       the same with a matrix in the Matrix Market's format
 *                                       (with exec=10ms both do other work as well)
 * --work says what a chain computes:
 *   divide   divisions that wait for each other, as many as take `exec` on one core alone
 *   triad    a[i] = b[i] + s c[i] on vectors that fit no cache; ranks share the memory's bandwidth
 *   sleep    nothing: for more ranks than cores, which would take each other's time
 * --stall 3@i10:100ms is a delay within MPI: the rank's MPI_Waitall takes that much longer.
 * --noise exponential:mean=100us lengthens each computation by a random amount, by --seed N. */
#include <mpi.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_DISTANCES = 32, MOST_MESSAGES = 4 * MOST_DISTANCES, TRIAD_LENGTH = 1 << 21 };
enum { WAIT_ALL, WAIT_DIRECTION, WAIT_DISTANCE, WAIT_EACH };

static struct {
    const char *kind, *file;
    int distances[MOST_DISTANCES], n_distances;
    int up, down, wait, periodic, iterations, size, exec_said;
    size_t bytes;
    double exec; /* s */
    const char *work;
    int delay_rank, delay_iteration, stall_rank, stall_iteration;
    double delay, stall, noise_mean; /* s */
    uint64_t seed;
} wish = {.kind = "chain",
          .distances = {1},
          .n_distances = 1,
          .up = 1,
          .down = 1,
          .iterations = 60,
          .size = 0,
          .bytes = 1024,
          .exec = 10e-3,
          .work = "divide",
          .delay_rank = -1,
          .stall_rank = -1,
          .seed = 1};
static int rank, n_ranks;

static void fail(const char *what, const char *value)
{
    if (rank == 0)
        fprintf(stderr, "wave: %s '%s'\n", what, value);
    MPI_Finalize();
    exit(2);
}

/* ---- what was typed ---------------------------------------------------------------------------
 */

static double read_time(const char *text)
{
    char *unit;
    double value = strtod(text, &unit);
    return value * (strcmp(unit, "s") == 0    ? 1
                    : strcmp(unit, "ms") == 0 ? 1e-3
                    : strcmp(unit, "us") == 0 ? 1e-6
                                              : 1e-9);
}

static size_t read_size(const char *text)
{
    char *unit;
    double value = strtod(text, &unit);
    return (size_t)(value * (strcmp(unit, "KiB") == 0   ? 1024
                             : strcmp(unit, "MiB") == 0 ? 1048576
                             : strcmp(unit, "kB") == 0  ? 1e3
                             : strcmp(unit, "MB") == 0  ? 1e6
                                                        : 1));
}

static void read_key(const char *key, char *value)
{
    if (strcmp(key, "distances") == 0) {
        wish.n_distances = 0;
        for (char *next = value; wish.n_distances < MOST_DISTANCES; next++) {
            wish.distances[wish.n_distances++] = (int)strtol(next, &next, 10);
            if (*next != '+')
                break;
        }
    } else if (strcmp(key, "direction") == 0) {
        wish.up = strcmp(value, "down") != 0;
        wish.down = strcmp(value, "up") != 0;
    } else if (strcmp(key, "wait") == 0) {
        wish.wait = strcmp(value, "direction") == 0  ? WAIT_DIRECTION
                    : strcmp(value, "distance") == 0 ? WAIT_DISTANCE
                    : strcmp(value, "each") == 0     ? WAIT_EACH
                                                     : WAIT_ALL;
    } else if (strcmp(key, "boundary") == 0) {
        wish.periodic = strcmp(value, "periodic") == 0;
    } else if (strcmp(key, "bytes") == 0) {
        wish.bytes = read_size(value);
    } else if (strcmp(key, "exec") == 0) {
        wish.exec = read_time(value);
        wish.exec_said = 1;
    } else if (strcmp(key, "iterations") == 0) {
        wish.iterations = atoi(value);
    } else if (strcmp(key, "size") == 0) {
        wish.size = atoi(value);
    } else if (strcmp(key, "file") == 0) {
        wish.file = value;
    } else {
        fail("unknown key", key);
    }
}

static void read_pattern(char *text)
{
    char *keys = strchr(text, ':');
    wish.kind = text;
    if (keys)
        *keys++ = '\0';
    for (char *key = keys ? strtok(keys, ",") : NULL; key; key = strtok(NULL, ",")) {
        char *value = strchr(key, '=');
        if (!value)
            fail("expected KEY=VALUE, got", key);
        *value++ = '\0';
        read_key(key, value);
    }
}

static double read_delay(const char *text, int *late_rank, int *iteration)
{
    char length[32];
    if (sscanf(text, "%d@i%d:%31s", late_rank, iteration, length) != 3)
        fail("expected RANK@iITERATION:LENGTH, got", text);
    return read_time(length);
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--pattern") == 0)
            read_pattern(argv[i + 1]);
        else if (strcmp(argv[i], "--delay") == 0)
            wish.delay = read_delay(argv[i + 1], &wish.delay_rank, &wish.delay_iteration);
        else if (strcmp(argv[i], "--stall") == 0)
            wish.stall = read_delay(argv[i + 1], &wish.stall_rank, &wish.stall_iteration);
        else if (strcmp(argv[i], "--work") == 0)
            wish.work = argv[i + 1];
        else if (strcmp(argv[i], "--seed") == 0)
            wish.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--noise") == 0 &&
                 strncmp(argv[i + 1], "exponential:mean=", 17) == 0)
            wish.noise_mean = read_time(argv[i + 1] + 17);
        else
            fail("unknown option", argv[i]);
    }
    if (argc % 2 == 0)
        fail("without a value:", argv[argc - 1]);
}

/* ---- work -------------------------------------------------------------------------------------
 */

static volatile double sink;
static double divisions_per_second;
static double *vectors[3]; /* of the triad */

static void divide(double seconds)
{
    double value = 1.0 + rank;
    for (int64_t n = (int64_t)(seconds * divisions_per_second); n > 0; n--)
        value = 1.7 / value; /* each waits for the one before */
    sink = value;
}

static void triad(double seconds)
{
    double begin = MPI_Wtime();
    static size_t at;
    while (MPI_Wtime() - begin < seconds)
        for (int i = 0; i < 4096; i++, at = (at + 1) % TRIAD_LENGTH)
            vectors[0][at] = vectors[1][at] + 0.5 * vectors[2][at];
}

static void doze(double seconds)
{
    struct timespec wake;
    clock_gettime(CLOCK_MONOTONIC, &wake);
    int64_t ns = wake.tv_nsec + (int64_t)(seconds * 1e9);
    wake.tv_sec += ns / 1000000000;
    wake.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) != 0)
        ;
}

static void work_for(double seconds)
{
    if (seconds <= 0)
        return;
    if (strcmp(wish.work, "sleep") == 0)
        doze(seconds);
    else if (strcmp(wish.work, "triad") == 0)
        triad(seconds);
    else
        divide(seconds);
}

/* The fastest of a few measurements on the CPU's own clock, which other ranks do not disturb. */
static void calibrate(void)
{
    divisions_per_second = 1e6;
    for (int i = 0; i < 5; i++) {
        clock_t begin = clock();
        double before = divisions_per_second;
        divisions_per_second = 4e6;
        divide(1);
        double found = 4e6 / ((double)(clock() - begin + 1) / CLOCKS_PER_SEC);
        divisions_per_second = found > before ? found : before;
    }
    for (int v = 0; v < 3 && strcmp(wish.work, "triad") == 0; v++) {
        vectors[v] = malloc(TRIAD_LENGTH * sizeof(double));
        for (size_t i = 0; i < TRIAD_LENGTH; i++)
            vectors[v][i] = (double)i;
    }
}

/* splitmix64 (Vigna, public domain) of seed, rank and iteration. */
static double noise_of(int iteration)
{
    uint64_t z = (wish.seed * 1000003 + (uint64_t)rank) * 1000003 + (uint64_t)iteration;
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    double uniform = (double)((z ^ z >> 31) >> 11) * 0x1p-53;
    return -wish.noise_mean * log1p(-uniform);
}

/* What an iteration has beside its regular work. */
static void disturb(int iteration)
{
    if (wish.noise_mean > 0)
        work_for(noise_of(iteration));
    if (rank == wish.delay_rank && iteration == wish.delay_iteration)
        work_for(wish.delay);
}

/* ---- chain ------------------------------------------------------------------------------------
 */

static int neighbour(int distance)
{
    int peer = rank + distance;
    if (wish.periodic)
        return ((peer % n_ranks) + n_ranks) % n_ranks;
    return peer >= 0 && peer < n_ranks ? peer : MPI_PROC_NULL;
}

static int stall_for(void *length, MPI_Status *status)
{
    doze(*(double *)length);
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release_nothing(void *length)
{
    (void)length;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *length, int complete)
{
    (void)length;
    (void)complete;
    return MPI_SUCCESS;
}

/* A request that is complete, but keeps the library busy for a while when it is waited for. */
static MPI_Request start_stall(void)
{
    MPI_Request request;
    MPI_Grequest_start(stall_for, release_nothing, cancel_nothing, &wish.stall, &request);
    MPI_Grequest_complete(request);
    return request;
}

/* Receives, then sends of all links that one MPI_Waitall waits for, with a stall behind them. */
static void exchange_phase(int first, int last, int up, int down, int stalls, char *buffers)
{
    MPI_Request requests[MOST_MESSAGES + 1];
    int n = 0;
    for (int half = 0; half < 2; half++)
        for (int d = first; d < last; d++)
            for (int way = 0; way < 2; way++) {
                int direction = way == 0 ? 1 : -1, distance = wish.distances[d];
                if (way == 0 ? !up : !down)
                    continue;
                int peer = neighbour(half ? direction * distance : -direction * distance);
                char *buffer = buffers + (size_t)((d * 2 + way) * 2 + half) * wish.bytes;
                if (peer == MPI_PROC_NULL)
                    continue;
                if (half)
                    MPI_Isend(buffer, (int)wish.bytes, MPI_BYTE, peer, d * 2 + way, MPI_COMM_WORLD,
                              &requests[n++]);
                else
                    MPI_Irecv(buffer, (int)wish.bytes, MPI_BYTE, peer, d * 2 + way, MPI_COMM_WORLD,
                              &requests[n++]);
            }
    if (stalls)
        requests[n++] = start_stall();
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static void exchange(int stalls, char *buffers)
{
    int n = wish.n_distances;
    int by_distance = wish.wait == WAIT_DISTANCE || wish.wait == WAIT_EACH;
    int by_direction = wish.wait == WAIT_DIRECTION || wish.wait == WAIT_EACH;
    for (int d = 0; d < (by_distance ? n : 1); d++) {
        int first = by_distance ? d : 0, last = by_distance ? d + 1 : n;
        if (!by_direction) {
            exchange_phase(first, last, wish.up, wish.down, stalls && last == n, buffers);
            continue;
        }
        if (wish.up)
            exchange_phase(first, last, 1, 0, stalls && last == n && !wish.down, buffers);
        if (wish.down)
            exchange_phase(first, last, 0, 1, stalls && last == n, buffers);
    }
}

static void run_chain(void)
{
    char *buffers = calloc((size_t)wish.n_distances * 4 + 1, wish.bytes + 1);
    for (int i = 0; i < wish.iterations; i++) {
        work_for(wish.exec);
        disturb(i);
        exchange(rank == wish.stall_rank && i == wish.stall_iteration, buffers);
    }
    free(buffers);
}

/* ---- 3-D Jacobi -------------------------------------------------------------------------------
 */

/* Copies a face of the block to or from a buffer. `at`: the layer in dimension `d`. */
static void copy_face(double *block, int n, int d, int at, double *face, int out)
{
    int stride[3] = {1, n + 2, (n + 2) * (n + 2)};
    int a = stride[(d + 1) % 3], b = stride[(d + 2) % 3];
    for (int j = 1; j <= n; j++)
        for (int i = 1; i <= n; i++) {
            double *cell = &block[at * stride[d] + i * a + j * b];
            if (out)
                face[(j - 1) * n + i - 1] = *cell;
            else
                *cell = face[(j - 1) * n + i - 1];
        }
}

static void sweep(const double *from, double *to, int n)
{
    int y = n + 2, z = y * y;
    for (int k = 1; k <= n; k++)
        for (int j = 1; j <= n; j++)
            for (int i = 1, c = k * z + j * y + 1; i <= n; i++, c++)
                to[c] = (from[c - 1] + from[c + 1] + from[c - y] + from[c + y] + from[c - z] +
                         from[c + z]) /
                        6;
}

static void run_jacobi(void)
{
    int n = wish.size ? wish.size : 48, dims[3] = {0}, periods[3] = {0}, at[3];
    size_t cells = (size_t)(n + 2) * (n + 2) * (n + 2), face = (size_t)n * n;
    MPI_Comm grid;
    MPI_Dims_create(n_ranks, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 3, at);
    double *from = calloc(cells, sizeof *from), *to = calloc(cells, sizeof *to);
    double *faces = calloc(12 * face, sizeof *faces);
    for (int i = 0; i < wish.iterations; i++) {
        MPI_Request requests[12];
        int r = 0;
        sweep(from, to, n);
        work_for(wish.exec_said ? wish.exec : 0);
        disturb(i);
        for (int d = 0; d < 3; d++) {
            int peers[2];
            MPI_Cart_shift(grid, d, 1, &peers[0], &peers[1]);
            for (int side = 0; side < 2; side++) {
                double *in = faces + (size_t)(d * 4 + side) * face, *out = in + 2 * face;
                copy_face(to, n, d, side ? n : 1, out, 1);
                if (peers[side] == MPI_PROC_NULL)
                    continue;
                MPI_Irecv(in, (int)face, MPI_DOUBLE, peers[side], d, grid, &requests[r++]);
                MPI_Isend(out, (int)face, MPI_DOUBLE, peers[side], d, grid, &requests[r++]);
            }
        }
        MPI_Waitall(r, requests, MPI_STATUSES_IGNORE);
        for (int d = 0; d < 3; d++)
            for (int side = 0; side < 2; side++)
                copy_face(to, n, d, side ? n + 1 : 0, faces + (size_t)(d * 4 + side) * face, 0);
        double *kept = from;
        from = to;
        to = kept;
    }
    sink = from[cells / 2];
    free(from);
    free(to);
    free(faces);
    MPI_Comm_free(&grid);
}

/* ---- sparse matrix times vector ---------------------------------------------------------------
 */

/* Rows of this rank, with the columns of all. */
static struct {
    int64_t n, first, rows; /* rows and columns of the matrix; of this rank */
    int64_t *starts, *columns;
    double *values;
} matrix;

static int owner_of(int64_t row)
{
    int64_t each = (matrix.n + n_ranks - 1) / n_ranks;
    return (int)(row / each);
}

static void take_rows(void)
{
    int64_t each = (matrix.n + n_ranks - 1) / n_ranks;
    matrix.first = each * rank < matrix.n ? each * rank : matrix.n;
    matrix.rows = matrix.first + each < matrix.n ? each : matrix.n - matrix.first;
    matrix.starts = calloc((size_t)matrix.rows + 2, sizeof *matrix.starts);
}

/* A grid of size x size x (size n_ranks) points, each coupled with those around it. */
static void make_matrix(int size)
{
    matrix.n = (int64_t)size * size * size * n_ranks;
    take_rows();
    matrix.columns = malloc((size_t)matrix.rows * 27 * sizeof *matrix.columns);
    matrix.values = malloc((size_t)matrix.rows * 27 * sizeof *matrix.values);
    int64_t entries = 0, height = (int64_t)size * n_ranks;
    for (int64_t r = 0; r < matrix.rows; r++) {
        int64_t row = matrix.first + r, x = row % size, y = row / size % size,
                z = row / size / size;
        matrix.starts[r] = entries;
        for (int64_t k = z - 1; k <= z + 1; k++)
            for (int64_t j = y - 1; j <= y + 1; j++)
                for (int64_t i = x - 1; i <= x + 1; i++) {
                    if (i < 0 || j < 0 || k < 0 || i >= size || j >= size || k >= height)
                        continue;
                    matrix.columns[entries] = (k * size + j) * size + i;
                    matrix.values[entries++] = i == x && j == y && k == z ? 26 : -1;
                }
    }
    matrix.starts[matrix.rows] = entries;
}

/* Coordinates of a Matrix Market file; each rank reads all and keeps its rows. */
static void read_matrix(const char *path)
{
    char line[1024];
    long long rows, columns, entries, r, c;
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file) ||
        strncmp(line, "%%MatrixMarket matrix coordinate", 32))
        fail("is no matrix in coordinates:", path);
    int symmetric = strstr(line, "symmetric") != NULL;
    while (fgets(line, sizeof line, file) && line[0] == '%')
        ;
    if (sscanf(line, "%lld %lld %lld", &rows, &columns, &entries) != 3)
        fail("has no sizes:", path);
    matrix.n = rows;
    take_rows();
    int64_t(*kept)[2] = malloc((size_t)entries * 2 * sizeof *kept), n = 0;
    for (long long e = 0; e < entries && fgets(line, sizeof line, file); e++) {
        if (sscanf(line, "%lld %lld", &r, &c) != 2)
            fail("has a bad entry:", line);
        for (int turn = 0; turn < 1 + (symmetric && r != c); turn++) {
            int64_t row = turn ? c - 1 : r - 1, column = turn ? r - 1 : c - 1;
            if (row < matrix.first || row >= matrix.first + matrix.rows)
                continue;
            kept[n][0] = row - matrix.first;
            kept[n++][1] = column;
            matrix.starts[row - matrix.first + 1]++;
        }
    }
    fclose(file);
    for (int64_t i = 0; i < matrix.rows; i++)
        matrix.starts[i + 1] += matrix.starts[i];
    matrix.columns = malloc((size_t)(n + 1) * sizeof *matrix.columns);
    matrix.values = malloc((size_t)(n + 1) * sizeof *matrix.values);
    int64_t *next = calloc((size_t)matrix.rows + 1, sizeof *next);
    for (int64_t e = 0; e < n; e++) {
        int64_t at = matrix.starts[kept[e][0]] + next[kept[e][0]]++;
        matrix.columns[at] = kept[e][1];
        matrix.values[at] = 1;
    }
    free(next);
    free(kept);
}

/* How many rows of each rank this one needs: all of those between the first and the last. */
static void find_halo(int64_t *low, int64_t *high)
{
    for (int p = 0; p < n_ranks; p++) {
        low[p] = INT64_MAX;
        high[p] = -1;
    }
    for (int64_t e = 0; e < matrix.starts[matrix.rows]; e++) {
        int p = owner_of(matrix.columns[e]);
        low[p] = matrix.columns[e] < low[p] ? matrix.columns[e] : low[p];
        high[p] = matrix.columns[e] > high[p] ? matrix.columns[e] : high[p];
    }
}

static void run_spmv(void)
{
    if (wish.file)
        read_matrix(wish.file);
    else
        make_matrix(wish.size ? wish.size : 16);
    size_t n = (size_t)n_ranks;
    int64_t *wanted = calloc(4 * n, sizeof *wanted), *asked = wanted + 2 * n;
    double *x = malloc((size_t)matrix.n * sizeof *x),
           *y = calloc((size_t)matrix.rows + 1, sizeof *y);
    MPI_Request *requests = malloc(2 * n * sizeof(MPI_Request));
    int64_t *both = malloc(2 * n * sizeof *both);
    for (int64_t i = 0; i < matrix.n; i++)
        x[i] = 1;
    find_halo(wanted, wanted + n);
    for (size_t p = 0; p < n; p++) {
        both[2 * p] = wanted[p];
        both[2 * p + 1] = wanted[n + p];
    }
    MPI_Alltoall(both, 2, MPI_INT64_T, asked, 2, MPI_INT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < wish.iterations; i++) {
        int r = 0;
        for (int64_t row = 0; row < matrix.rows; row++) {
            double sum = 0;
            for (int64_t e = matrix.starts[row]; e < matrix.starts[row + 1]; e++)
                sum += matrix.values[e] * x[matrix.columns[e]];
            y[row] = sum / 64;
        }
        memcpy(x + matrix.first, y, (size_t)matrix.rows * sizeof *x);
        work_for(wish.exec_said ? wish.exec : 0);
        disturb(i);
        for (int p = 0; p < n_ranks; p++)
            if (p != rank && both[2 * p + 1] >= 0)
                MPI_Irecv(x + both[2 * p], (int)(both[2 * p + 1] - both[2 * p] + 1), MPI_DOUBLE, p,
                          0, MPI_COMM_WORLD, &requests[r++]);
        for (int p = 0; p < n_ranks; p++)
            if (p != rank && asked[2 * p + 1] >= 0)
                MPI_Isend(x + asked[2 * p], (int)(asked[2 * p + 1] - asked[2 * p] + 1), MPI_DOUBLE,
                          p, 0, MPI_COMM_WORLD, &requests[r++]);
        MPI_Waitall(r, requests, MPI_STATUSES_IGNORE);
    }
    sink = y[0];
    free(wanted);
    free(both);
    free(requests);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    read_options(argc, argv);
    calibrate();
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(wish.kind, "chain") == 0)
        run_chain();
    else if (strcmp(wish.kind, "jacobi") == 0)
        run_jacobi();
    else if (strcmp(wish.kind, "spmv") == 0)
        run_spmv();
    else
        fail("unknown pattern", wish.kind);
    MPI_Finalize();
    return 0;
}
