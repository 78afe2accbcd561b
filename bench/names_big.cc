// What a large program is made of for bench/names.py: templates of the standard library and some of its
// own, with loops. It is compiled once, and its code is copied under other names: UNIT.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace unit_UNIT {

template <int N, typename T> struct Grid {
    std::vector<T> cells, old;
    std::map<std::string, T> names;

    T step(int rounds)
    {
        T sum = 0;
        for (int i = 0; i < rounds; i++) {
            for (size_t j = 1; j + 1 < cells.size(); j++)
                old[j] = cells[j - 1] + cells[j] * N + cells[j + 1];
            std::sort(old.begin(), old.end(), [](T x, T y) { return x * N < y; });
            sum += std::accumulate(old.begin(), old.end(), T(0));
            cells.swap(old);
        }
        return sum;
    }

    std::string tell() const
    {
        std::ostringstream out;
        for (auto &entry : names)
            out << entry.first << entry.second << N;
        return out.str();
    }

    bool match(const std::string &name)
    {
        std::unordered_map<std::string, std::set<T>> found;
        found[name].insert(cells[0]);
        for (auto &entry : found)
            for (auto &value : entry.second)
                names[entry.first] += value;
        return found.size() > N;
    }
};

#define ALL(n)                      \
    template struct Grid<n, double>; \
    template struct Grid<n, float>;  \
    template struct Grid<n, long>;   \
    template struct Grid<n, int>;    \
    template struct Grid<n, short>;
ALL(0) ALL(1) ALL(2) ALL(3) ALL(4) ALL(5) ALL(6) ALL(7) ALL(8) ALL(9) ALL(10) ALL(11)

bool known(const std::string &name)
{
    return std::regex_match(name, std::regex("(a|b)*c"));
}

} // namespace unit_UNIT

extern "C" double run_UNIT(int rounds)
{
    unit_UNIT::Grid<1, double> grid;
    grid.cells.resize(100);
    grid.old.resize(100);
    return grid.step(rounds) + unit_UNIT::known("abc");
}
