/* image: reconstructs an image from its edges, an MPI program to try models on
 * (data/models/image.lua).
 *
 *     mpicc -O2 -g -I ../include image.c -o image -ldl
 *     mpiexec -n 4 ./image [ITERATIONS [SIZE [DIMENSIONS [EVERY]]]]
 *
 * An image of SIZE x SIZE pixels on a torus is cut into strips (DIMENSIONS 1) or blocks (2). An
 * iteration swaps halos with each neighbour in turn and computes new = (left + right + up + down -
 * edge) / 4. After EVERY iterations the change is summed up over all processes. Parts are marked
 * for the recorder. */
#include <lull/lull.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct image {
    int rank, dimensions, extents[2], at[2];
    int size, rows, columns;   /* of the image; own ones, without halo */
    double *now, *next, *edge; /* (rows + 2) x (columns + 2) */
    double *packed[2];         /* a column to send, one received */
};

static size_t pixel(const struct image *image, int row, int column)
{
    return (size_t)row * (size_t)(image->columns + 2) + (size_t)column;
}

/* Processes in rows (the first extent) and columns, as square as can be. */
static void cut(struct image *image, int processes)
{
    image->extents[0] = processes;
    image->extents[1] = 1;
    if (image->dimensions == 2) {
        int columns = (int)(sqrt(processes) + 1e-9);
        while (processes % columns != 0)
            columns--;
        image->extents[0] = processes / columns;
        image->extents[1] = columns;
    }
    image->at[0] = image->rank % image->extents[0];
    image->at[1] = image->rank / image->extents[0];
}

/* How many of `size` the part `at` of `parts` has. */
static int share(int size, int parts, int at)
{
    return size * (at + 1) / parts - size * at / parts;
}

static int neighbour(const struct image *image, int dimension, int step)
{
    int at[2] = {image->at[0], image->at[1]};
    at[dimension] = (at[dimension] + step + image->extents[dimension]) % image->extents[dimension];
    return at[0] + at[1] * image->extents[0];
}

/* To the neighbour `step` further, from the other side; nobody sends to himself. */
static void exchange(const struct image *image, int dimension, int step, const double *out,
                     double *in, int count)
{
    if (image->extents[dimension] == 1) {
        for (int i = 0; i < count; i++)
            in[i] = out[i];
        return;
    }
    MPI_Sendrecv(out, count, MPI_DOUBLE, neighbour(image, dimension, step), dimension, in, count,
                 MPI_DOUBLE, neighbour(image, dimension, -step), dimension, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void swap_rows(struct image *image)
{
    double *now = image->now;
    int rows = image->rows, count = image->columns;
    exchange(image, 0, 1, now + pixel(image, rows, 1), now + pixel(image, 0, 1), count);
    exchange(image, 0, -1, now + pixel(image, 1, 1), now + pixel(image, rows + 1, 1), count);
}

static void swap_columns(struct image *image)
{
    for (int step = 1; step >= -1; step -= 2) {
        int from = step > 0 ? image->columns : 1, to = step > 0 ? 0 : image->columns + 1;
        for (int row = 1; row <= image->rows; row++)
            image->packed[0][row - 1] = image->now[pixel(image, row, from)];
        exchange(image, 1, step, image->packed[0], image->packed[1], image->rows);
        for (int row = 1; row <= image->rows; row++)
            image->now[pixel(image, row, to)] = image->packed[1][row - 1];
    }
}

static void update(struct image *image)
{
    for (int row = 1; row <= image->rows; row++) {
        const double *here = image->now + pixel(image, row, 0);
        const double *above = image->now + pixel(image, row - 1, 0);
        const double *below = image->now + pixel(image, row + 1, 0);
        const double *edge = image->edge + pixel(image, row, 0);
        double *next = image->next + pixel(image, row, 0);
        for (int column = 1; column <= image->columns; column++)
            next[column] = 0.25 * (here[column - 1] + here[column + 1] + above[column] +
                                   below[column] - edge[column]);
    }
}

static double change_of(const struct image *image)
{
    double sum = 0;
    for (int row = 1; row <= image->rows; row++)
        for (int column = 1; column <= image->columns; column++) {
            double difference =
                image->next[pixel(image, row, column)] - image->now[pixel(image, row, column)];
            sum += difference * difference;
        }
    return sum;
}

static double iterate(struct image *image, int iterations, int every)
{
    double change = 0;
    for (int iteration = 1; iteration <= iterations; iteration++) {
        lull_begin("halo");
        swap_rows(image);
        swap_columns(image);
        lull_end("halo");
        lull_begin("update");
        update(image);
        lull_end("update");
        if (iteration % every == 0) {
            lull_begin("delta");
            double mine = change_of(image);
            lull_end("delta");
            lull_begin("reduction");
            MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            lull_end("reduction");
        }
        double *swap = image->now;
        image->now = image->next;
        image->next = swap;
    }
    return change;
}

static int argument(int argc, char **argv, int number, int fallback)
{
    return argc > number ? atoi(argv[number]) : fallback;
}

int main(int argc, char **argv)
{
    int processes;
    struct image image = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &image.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    int iterations = argument(argc, argv, 1, 100), every = argument(argc, argv, 4, 100);
    image.size = argument(argc, argv, 2, 1000);
    image.dimensions = argument(argc, argv, 3, 1);
    cut(&image, processes);
    image.rows = share(image.size, image.extents[0], image.at[0]);
    image.columns = share(image.size, image.extents[1], image.at[1]);
    size_t pixels = (size_t)(image.rows + 2) * (size_t)(image.columns + 2);
    image.now = calloc(pixels, sizeof *image.now);
    image.next = calloc(pixels, sizeof *image.next);
    image.edge = calloc(pixels, sizeof *image.edge);
    image.packed[0] = calloc((size_t)image.rows + 1, sizeof(double));
    image.packed[1] = calloc((size_t)image.rows + 1, sizeof(double));
    if (iterations < 1 || every < 1 || image.rows < 1 || image.columns < 1 || !image.now ||
        !image.next || !image.edge || !image.packed[0] || !image.packed[1]) {
        fprintf(stderr, "image: need positive numbers, a pixel per process, and memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int row = 1; row <= image.rows; row++)
        for (int column = 1; column <= image.columns; column++)
            image.edge[pixel(&image, row, column)] = (row + column) % 7 - 3;
    for (size_t i = 0; i < pixels; i++) /* pages are touched before the measurement */
        image.now[i] = image.next[i] = 255;

    double change = iterate(&image, iterations, every);
    if (image.rank == 0)
        printf("%d iterations on %d x %d pixels, last change %.3e\n", iterations, image.size,
               image.size, sqrt(change));
    free(image.now);
    free(image.next);
    free(image.edge);
    free(image.packed[0]);
    free(image.packed[1]);
    MPI_Finalize();
    return 0;
}
