// Loops in templates, lambdas and with exceptions; L and E as in loops.c.
#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace heat {

template <typename T, int N> class Grid {
public:
    explicit Grid(size_t n) : cells(n), old(n) {}

    T step()
    {
        T change = 0;
        for (size_t i = 1; i + 1 < cells.size(); i++) { // L
            old[i] = (cells[i - 1] + cells[i] * N + cells[i + 1]) / (N + 2);
            change += old[i] - cells[i]; // E
        }
        cells.swap(old);
        return change;
    }

    std::vector<T> cells, old;
};

template <typename F> double each(int n, F function)
{
    double s = 0;
    for (int i = 0; i < n; i++) // L
        s += function(i); // E
    return s;
}

double total(const std::vector<double> &x)
{
    double s = 0;
    for (double value : x) // L
        s += value * value; // E
    return s;
}

int guarded(const std::vector<int> &x, int wanted)
{
    int failures = 0;
    for (int value : x) { // L
        try {
            if (value == wanted)
                throw std::runtime_error("wanted");
            failures += x.at(static_cast<size_t>(value)); // E
        } catch (const std::exception &) {
            failures++;
        }
    }
    return failures;
}

int words(const std::map<std::string, int> &counts)
{
    int longest = 0;
    for (const auto &entry : counts) { // L
        std::string twice = entry.first + entry.first;
        for (char letter : twice) // L
            longest += letter == 'x'; // E
        longest = std::max(longest, entry.second); // E
    }
    return longest;
}

} // namespace heat

double sine(int i)
{
    return i * 0.5;
}

int main(int argc, char **argv)
{
    heat::Grid<double, 2> grid(static_cast<size_t>(argc) + 3);
    heat::Grid<float, 7> other(static_cast<size_t>(argc) + 5);
    std::map<std::string, int> counts;
    std::vector<int> three(3, argc);
    double s = 0;
    counts[argv[0]] = argc;
    while (grid.step() > 1e-3) // L
        s += other.step(); // E
    s += heat::each(argc, [&](int i) { return grid.cells[static_cast<size_t>(i)] * 2; });
    s += heat::each(argc, sine);
    s += heat::total(grid.cells);
    return static_cast<int>(s) + heat::guarded(three, argc) + heat::words(counts);
}
