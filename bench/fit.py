"""How long lull fit takes to search the normal form."""
import math

POINTS = (8, 5, 5)


def rows(bench):
    name = "fit: 3 parameters, 200 points, all laws"
    if not bench.wanted(name):
        return
    path = bench.path("fit.csv")
    with open(path, "w") as table:
        table.write("p,n,m,time\n")
        for i in range(POINTS[0]):
            for j in range(POINTS[1]):
                for k in range(POINTS[2]):
                    p, n, m = 2 ** (i + 1), 10 * (j + 1), 3 ** (k + 1)
                    off = 1 + 0.05 * math.sin(100 * i + 10 * j + k)
                    table.write("%d,%d,%d,%.9g\n" % (p, n, m, off *
                                                     (5 + 4 * p + 0.01 * n * n * math.log2(m))))
    # One thread: processor time is what a machine without other work would take.
    taken = [a.cpu for a, _ in bench.pairs(bench.lull("fit", path), None)]
    bench.add(name, "%.2f s (%.2f .. %.2f)" % (sorted(taken)[len(taken) // 2], min(taken),
                                               max(taken)), "<= 2 s")
