"""Rows of lull model spmv and lull model solver: how fast files are read and caches simulated, and
how far predictions are from this machine. In each round a machine file is measured, and then
everything once that is predicted with it, so that both have seen the machine in the same minute; a
row is the median of the rounds' errors with the smallest and the largest of them. Every error is
printed, good or bad: (predicted - measured) / measured, of performance for products of matrices and
of time for the CG and PCG examples."""
import json
import os
import re
import shutil
import statistics
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BENCHMARKS = ("clock", "load", "store", "copy", "update", "daxpy", "triad", "dot", "beside", "crossing",
              "openmp-gcc")
MATRICES = ("stencil5:nx=2000,ny=2000", "stencil27:nx=100,ny=100,nz=100",
            "banded:n=400000,half=20", "random:n=1000000,row=8", "dense:n=3000")
GRIDS = ((2000, 20), (200, 200))   # in the last cache, and there with short rows
STARTS = 7  # of a solver, in each round
# Of processors since Skylake and Zen 3: latency, and instructions that a core has in flight at least.
FMA_CYCLES, IN_FLIGHT = 4, 224


def write_matrix(path, rows):
    """Tridiagonal, with 16 digits: what takes longest to read."""
    with open(path, "w") as out:
        out.write("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n"
                  % (rows, rows, 3 * rows - 2))
        for column in range(1, rows + 1):
            for row in range(max(1, column - 1), min(rows, column + 1) + 1):
                out.write("%d %d %.16e\n" % (row, column, 1 / (row + column)))


def read_rows(bench):
    name = "sparse: Matrix Market file"
    if not bench.wanted(name):
        return
    path = bench.path("matrix.mtx")
    write_matrix(path, 1000000)
    bench.rate(name, bench.lull("model", "spmv", path, "-j", "1"), os.path.getsize(path) / 1e6,
               "MB/s", ">= 200")


def cache_rows(bench):
    program = os.path.join(bench.build, "bench", "bench_cache")
    for what in ("stencil", "stream", "random"):
        name = "sparse: cache simulator, %s" % what
        if not bench.wanted(name):
            continue
        taken = [float(subprocess.run([program, what], check=True, capture_output=True,
                                      text=True).stdout) / 1e6 for _ in range(bench.runs)]
        bench.add(name, "%.0f (%.0f .. %.0f) M accesses/s" % (
            statistics.median(taken), min(taken), max(taken)),
            ">= 50")


class Errors:
    """(predicted - measured) / measured of several rounds, by the name of the row."""

    def __init__(self):
        self.rows = {}

    def add(self, name, target, predicted, measured, unit):
        row = self.rows.setdefault(name, (target, unit, []))
        row[2].append((predicted, measured))

    def show(self, bench):
        for name, (target, unit, pairs) in self.rows.items():
            errors = [100 * (predicted / measured - 1) for predicted, measured in pairs]
            told = tuple(statistics.median(values) for values in zip(*pairs))
            bench.add(name, "%+.1f %% (%+.1f .. %+.1f)" % (
                statistics.median(errors), min(errors), max(errors)), target,
                "%.3g against %.3g " % told + unit)


def measure_products(bench, machine, errors):
    for matrix in MATRICES:
        done = subprocess.run(bench.lull("model", "spmv", matrix, "-m", machine, "-n", "1", "--run",
                                         "-f", "json"), capture_output=True, text=True)
        if done.returncode != 0:
            print("sparse: %s: %s" % (matrix, done.stderr.strip()))
            continue
        table = json.loads(done.stdout)["tables"]["performance"]
        columns = [column["id"] for column in table["columns"]]
        values = dict(zip(columns, table["rows"][0]["values"]))
        errors.add("sparse: ECM, " + matrix, "", values["ecm"] / 1e9, values["measured"] / 1e9,
                   "Gflop/s")


def in_core(machine, nx):
    """Cycles per line of 8 points, for the widest registers, as lull model kernel has them: two loads
    per cycle, but no less than the benchmark with the nearest mix of loads and stores took in the
    first cache, and what loads take longer that cross lines. Rows begin on lines, so that the
    neighbours in a row cross. The sum of a row is a chain of a multiply-add per vector and four
    additions at its end; behind it as many vectors of the next rows are in flight as the core takes,
    with four instructions each."""
    with open("/proc/cpuinfo") as info:
        vectors = 1 if " avx512f" in info.read() else 2
    with open(machine) as file:
        numbers = json.load(file)["numbers"]
    simd = "avx512" if vectors == 1 else "avx2"
    within, crossing = (64 / numbers["%s.load.%s.1" % (way, simd)]["in_cycles"]
                        for way in ("within", "crossing"))
    first = {name: 64 / numbers["L1.%s.1" % name]["in_cycles"]
             for name in ("load", "dot", "daxpy", "triad")}
    row = vectors * nx / 8
    rows_in_flight = 1 + IN_FLIGHT / 4 / row
    return {"stencil_T_OL": 4 * vectors,
            "stencil_T_nOL": max(5 * vectors / 2, 6 * first["triad"]) + 2 * (crossing - within),
            "axpy_T_nOL": max(vectors, 3 * first["daxpy"]),
            "dot_T_nOL": max(vectors, 2 * first["dot"]),
            "norm_T_nOL": max(vectors / 2, first["load"]),
            "sum_T_OL": FMA_CYCLES * vectors * (1 + 4 / row) / rows_in_flight}


def grid_in_memory(machine):
    """Of which the four arrays of CG take twice the last cache, and at least 128 MB."""
    with open(machine) as file:
        last = max([cache["bytes"] for cache in json.load(file).get("caches", [])], default=0)
    return 4000, max(1000, 2 * last // (4 * 8 * 4000) + 1)


def predicted(bench, solver, machine, nx, ny):
    words = dict(in_core(machine, nx), Nx=nx, Ny=ny)
    if solver == "pcg":
        del words["norm_T_nOL"]
        words["fma_latency"] = FMA_CYCLES
    defines = [word for name, value in words.items() for word in ("-D", "%s=%g" % (name, value))]
    done = subprocess.run(bench.lull("model", "solver",
                                     os.path.join(ROOT, "data", "solvers", solver + ".lua"),
                                     "-m", machine, "-n", "1", *defines, "-f", "json"),
                          check=True, capture_output=True, text=True)
    table = json.loads(done.stdout)["tables"]["cores"]
    return table["rows"][0]["values"][[c["id"] for c in table["columns"]].index("time")]


def build_solvers(bench):
    """The examples as programs; none where there is no gcc."""
    if not shutil.which("gcc"):
        print("gcc was not found: the CG and PCG examples are not compared")
        return []
    for solver in ("cg", "pcg"):
        subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", "-o", bench.path(solver),
                        os.path.join(ROOT, "examples", solver + ".c"), "-lm"], check=True)
    return ["cg", "pcg"]


def run_solver(bench, solver, nx, ny):
    """ms of an iteration, the median of one start of the program."""
    iterations = max(20, 24000000 // (nx * ny))
    said = subprocess.run([bench.path(solver), str(nx), str(ny), str(iterations)], check=True,
                          capture_output=True, text=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1", OMP_PROC_BIND="close")).stdout
    return float(re.search(r"median ([0-9.]+) ms", said).group(1))


def measure_solvers(bench, machine, solvers, errors):
    """The median of several starts, by turns: a start lasts for a moment, and lies in other pages
    than the next one, where a number of the machine file is the median of visits spread over its
    run. Bound to a core, as what lull bench measures is."""
    cases = [(solver, nx, ny) for solver in solvers
             for nx, ny in (grid_in_memory(machine),) + GRIDS]
    taken = {case: [] for case in cases}
    for _ in range(STARTS):
        for case in cases:
            taken[case].append(run_solver(bench, *case))
    for solver, nx, ny in cases:
        errors.add("sparse: %s, %d x %d points" % (solver.upper(), nx, ny), "within 10 %",
                   1e3 * predicted(bench, solver, machine, nx, ny),
                   statistics.median(taken[solver, nx, ny]), "ms")


def measure_machine(bench, path):
    subprocess.run(bench.lull("bench", *BENCHMARKS, "--quick", "-o", path), check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(path) as file:
        if "openmp.gcc.barrier.1" not in json.load(file)["numbers"]:
            print("the barrier of one thread was not measured: the CG and PCG examples are predicted "
                  "without")


def rows(bench):
    read_rows(bench)
    cache_rows(bench)
    name = "sparse: prediction against measurement"
    if not bench.wanted(name):
        return
    solvers, errors = build_solvers(bench), Errors()
    for number in range(bench.runs):
        machine = bench.path("sparse-machine-%d.json" % number)
        measure_machine(bench, machine)
        measure_solvers(bench, machine, solvers, errors)
        measure_products(bench, machine, errors)
    errors.show(bench)
