// particles: balls that bounce over a landscape, an MPI program in C++ to look for slow code in.
//
//     mpicxx -O2 -g particles.cpp -o particles
//     mpirun -n 2 ./particles [PARTICLES [STEPS]]
//
// Each rank has a part of the landscape and as many balls as every other rank. The landscape is a chain of
// points: few where it is flat, many in the mountains, which are the last rank's. The program is slow on
// purpose: docs/tutorial-code.md finds the line, and mends it. -DMENDED compiles the mended one.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <vector>

struct Point {
    double x, height;
};

class Landscape {
public:
    // `n` points between x = 0 and x = 1.
    explicit Landscape(int n)
    {
        for (int i = 0; i < n; i++) {
            const double x = double(i) / (n - 1);
            points.push_back({x, 0.1 * std::sin(7 * x) + 0.01 * std::sin(90 * x)});
        }
    }

    double height(double x) const
    {
        const std::size_t i = before(x);
        const Point &a = points[i], &b = points[i + 1];
        return a.height + (b.height - a.height) * (x - a.x) / (b.x - a.x);
    }

private:
    // The last point, but for the one at the end, that is not to the right of x.
    std::size_t before(double x) const
    {
        std::size_t i = 0;
#ifndef MENDED
        while (i + 2 < points.size() && points[i + 1].x <= x)
            i++;
#else
        i = std::upper_bound(points.begin() + 1, points.end() - 1, x,
                             [](double at, const Point &point) { return at < point.x; }) -
            points.begin() - 1;
#endif
        return i;
    }

    std::vector<Point> points;
};

struct Ball {
    double x, y, to_right, up;
};

// Moves a ball for a moment; walls are at x = 0 and x = 1.
static void fly(Ball &ball, double moment)
{
    const double speed = std::sqrt(ball.to_right * ball.to_right + ball.up * ball.up);
    const double drag = 1 / (1 + 0.01 * moment * speed);
    ball.to_right *= drag;
    ball.up = (ball.up - 9.81 * moment) * drag;
    ball.x += ball.to_right * moment;
    ball.y += ball.up * moment;
    if (ball.x < 0 || ball.x > 1) {
        ball.x = std::min(1.0, std::max(0.0, ball.x));
        ball.to_right = -ball.to_right;
    }
}

// A ball that is below the ground comes back up.
static void bounce(Ball &ball, const Landscape &landscape)
{
    const double ground = landscape.height(ball.x);
    if (ball.y < ground) {
        ball.y = ground;
        ball.up = std::fabs(ball.up);
    }
}

static double advance(std::vector<Ball> &balls, const Landscape &landscape)
{
    double energy = 0;
    for (Ball &ball : balls) {
        fly(ball, 1e-3);
        bounce(ball, landscape);
        energy += 9.81 * ball.y + 0.5 * (ball.to_right * ball.to_right + ball.up * ball.up);
    }
    return energy;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = argc > 1 ? std::atoi(argv[1]) : 10000, steps = argc > 2 ? std::atoi(argv[2]) : 300;
    const Landscape landscape(rank < ranks - 1 ? 20 : 1000);
    std::vector<Ball> balls;
    for (int i = 0; i < n; i++)
        balls.push_back({(i + 0.5) / n, 1, 0.2 * std::cos(i), 0});
    double energy = 0;
    for (int step = 0; step < steps; step++) {
        const double own = advance(balls, landscape);
        MPI_Allreduce(&own, &energy, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        std::printf("%d balls on each of %d ranks, energy %.6g\n", n, ranks, energy);
    MPI_Finalize();
    return 0;
}
