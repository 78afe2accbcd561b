// Loops of C++ for hot_loops.py, which knows what they load and store: a triad of vectors, a stencil of a class, and a
// template and a loop over a range, which are not understood.
#include <cstdio>
#include <vector>

enum { N = 200000, TRIADS = 250, COLUMNS = 1000, ROWS = 500, STEPS = 75 };

static void triad(std::vector<double> &a, const std::vector<double> &b, const std::vector<double> &c, double factor)
{
    for (std::size_t i = 0; i < a.size(); ++i) /* triad */
        a[i] = b[i] + factor * c[i];
}

class Grid {
public:
    Grid(int rows) : rows(rows), now(rows * COLUMNS, 1.5), next(rows * COLUMNS, 0.5) {}
    void step()
    {
        for (int row = 1; row < rows - 1; ++row)
            for (int i = 1; i < COLUMNS - 1; ++i) /* step */
                next[row * COLUMNS + i] = 0.25 * (now[row * COLUMNS + i - 1] + now[row * COLUMNS + i + 1] +
                                                  now[(row - 1) * COLUMNS + i] + now[(row + 1) * COLUMNS + i]);
    }
    double middle() const { return next[rows / 2 * COLUMNS + 7]; }

private:
    int rows;
    std::vector<double> now, next;
};

template <class T> __attribute__((noinline)) static void divide(T *a, const T *b, int n)
{
    for (int i = 0; i < n; i++) /* divide */
        a[i] = a[i] / b[i];
}

__attribute__((noinline)) static double add(const std::vector<double> &all)
{
    double sum = 0;
    for (double x : all) /* add */
        sum += x;
    return sum;
}

int main()
{
    std::vector<double> a(N), b(N, 2.0), c(N, 0.5);
    Grid grid(ROWS);
    double sum = 0;
    for (int t = 0; t < TRIADS; t++)
        triad(a, b, c, 1.5);
    for (int t = 0; t < STEPS; t++)
        grid.step();
    for (int t = 0; t < TRIADS; t++) {
        divide(a.data(), b.data(), N);
        sum += add(c);
    }
    std::printf("%g\n", sum + a[N / 2] + grid.middle());
    return 0;
}
