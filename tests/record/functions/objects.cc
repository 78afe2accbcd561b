// Methods, templates, constructors, and functions that exceptions leave.
volatile long sum;
#define APART __attribute__((noinline))

namespace heat
{
struct Error {
};

class Grid
{
  public:
    APART explicit Grid(int n) : size(n)
    {
        sum++;
    }
    APART ~Grid()
    {
        sum++;
    }
    APART int step(int k)
    {
        if (k % 2 == 1)
            throw Error();
        return fill(k) + fill(1.0 * k);
    }

  private:
    int size;
    template <class T> APART int fill(T value)
    {
        return size + static_cast<int>(value);
    }
};

APART int solve(int k)
{
    Grid grid(k); // its destructor runs when the exception passes
    return grid.step(k);
}
} // namespace heat

APART static void caught()
{
    sum++;
}

APART static void attempt(int k)
{
    try {
        sum += heat::solve(k);
    } catch (const heat::Error &) {
        caught();
    }
}

int main()
{
    for (int k = 0; k < 5; k++)
        attempt(k);
    return 0;
}
