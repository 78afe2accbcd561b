// A known call graph in C++: main -> heat::Solver<double>::solve -> step -> (inlined kernel) and a virtual call.
#include <cstdlib>
#include <ctime>

namespace heat {

static volatile double sink;

static double spent()
{
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

struct Kernel {
    virtual ~Kernel() {}
    virtual void apply(int n) = 0;
};

struct Smooth : Kernel {
    __attribute__((noinline)) void apply(int n) override
    {
        double sum = 0;
        for (int i = 0; i < 20000; i++)
            sum += 1.0 / (i + n + 1);
        sink = sum;
    }
};

template <typename T> class Solver {
public:
    explicit Solver(Kernel &kernel) : kernel_(kernel) {}
    __attribute__((noinline)) void solve(double ms)
    {
        for (const double end = spent() + ms; spent() < end;)
            step(1);
    }

private:
    __attribute__((noinline)) void step(int n)
    {
        if (n < 0)
            throw n;
        kernel_.apply(n);
        __asm__ volatile("" ::: "memory");
    }
    Kernel &kernel_;
};

} // namespace heat

int main(int argc, char **argv)
{
    heat::Smooth smooth;
    heat::Solver<double> solver(smooth);
    solver.solve(argc > 1 ? std::atof(argv[1]) : 100);
    return 0;
}
