"""Programs with a defect in one of their functions (programs/where.c and its like in other languages), recorded with
samples, without and with functions that the compiler instruments: how they are built, recorded and kept, and what a report
has to say of them.

What is true say the sources, whose loops are marked ("smooth: first line"), and the program's own processor
clock, which decides how long each function computes and is written down by function.
"""
import collections
import glob
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import perf_maps
import planted

SOURCES = planted.SOURCES
KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "where")

# `rule`: of the finding that tells it; None: nothing is planted. `instrumented`: the compiler has instrumented functions, or
# Python tells of its own.
Case = collections.namedtuple("Case", "source mode rule function instrumented", defaults=(False,))
CASES = {
    "c-late": Case("where.c", "late", "n_to_n", "smooth"),
    "c-even": Case("where.c", "even", None, None),
    "c-grown": Case("where.c", "grown", "computation_scaling", "smooth"),
    "fortran-late": Case("where.f90", "late", "n_to_n", "heat::smooth"),
    "cpp-serial": Case("where.cpp", "serial", "serial", "heat::Grid::assemble"),
    "cpp-uneven": Case("where.cpp", "uneven", "imbalance", "heat::Grid::relax"),
    "cpp-lock": Case("where.cpp", "lock", "lock", "heat::Grid::update"),
    "cpp-even": Case("where.cpp", "even", None, None),
}
# Those that are not kept, and recorded where they are tested.
RECORDED = {
    "fortran-grown": Case("where.f90", "grown", "computation_scaling", "heat::smooth"),
    "fortran-late-instrumented": Case("where.f90", "late", "n_to_n", "heat::smooth", True),
    "cpp-late": Case("where_ranks.cpp", "late", "n_to_n", "heat::Grid::smooth"),
    "cpp-late-instrumented": Case("where_ranks.cpp", "late", "n_to_n", "heat::Grid::smooth", True),
    "cpp-grown": Case("where_ranks.cpp", "grown", "computation_scaling", "heat::Grid::smooth"),
    "cpp-grown-instrumented": Case("where_ranks.cpp", "grown", "computation_scaling", "heat::Grid::smooth", True),
    "fortran-serial": Case("where_threads.f90", "serial", "serial", "plate::assemble"),
    "fortran-uneven": Case("where_threads.f90", "uneven", "imbalance", "plate::relax"),
    "fortran-lock": Case("where_threads.f90", "lock", "lock", "plate::update"),
    "c-late-instrumented": Case("where.c", "late", "n_to_n", "smooth", True),
    "cpp-serial-instrumented": Case("where.cpp", "serial", "serial", "heat::Grid::assemble", True),
    "cpp-uneven-instrumented": Case("where.cpp", "uneven", "imbalance", "heat::Grid::relax", True),
    "cpp-lock-instrumented": Case("where.cpp", "lock", "lock", "heat::Grid::update", True),
    "python-late": Case("where_python.py", "late", "n_to_n", "Grid.smooth", True),
    "python-grown": Case("where_python.py", "grown", "computation_scaling", "Grid.smooth", True),
}
# Not what is called for each element, or for each look at the clock.
INSTRUMENT = ["-finstrument-functions", "-finstrument-functions-exclude-file-list=/usr/",
              "-finstrument-functions-exclude-function-list=_now"]
COMPILERS = {"where.c": "mpicc.openmpi", "where.f90": "mpif90.openmpi", "where.cpp": "g++", "where_ranks.cpp": "mpicxx.openmpi",
             "where_threads.f90": "gfortran"}


# What a program calls the time that passed in all of its functions; it is disturbed if that is so much longer than
# the processor time that they took.
ALL, DISTURBED = "both", 0.02


def has_ranks(case):
    return case.source not in ("where.cpp", "where_threads.f90")


def is_python(case):
    return case.source.endswith(".py")


def missing(case):
    """What a case lacks here; None: nothing."""
    programs = ([] if is_python(case) else [COMPILERS[case.source]]) + ["mpiexec.openmpi"] * has_ranks(case)
    absent = [name for name in programs if not shutil.which(name)]
    if is_python(case) and not absent:
        return None if perf_maps.find() else perf_maps.ABSENT
    return "no " + absent[0] if absent else None


def build(case, folder):
    """The words that start the program; an executable is "where-c" or the like."""
    source = shutil.copy(os.path.join(SOURCES, case.source), folder)
    if is_python(case):
        return [perf_maps.find(), *["-X", "perf"] * case.instrumented, source]
    executable = os.path.join(folder, case.source.replace(".", "-"))
    more = INSTRUMENT if case.instrumented else []
    more = more + ["-fopenmp"] if not has_ranks(case) else more
    planted.execute([COMPILERS[case.source], "-O2", "-g", "-ffile-prefix-map=%s=." % folder, *more, case.source, "-o",
                     executable], folder)
    return [executable]


def record(lull, case, program, folder, before=()):
    """Where the run is, and what the program says of itself: {(rank or thread, function): seconds}."""
    run, readings = os.path.join(folder, "run"), os.path.join(folder, "readings")
    start = ["mpiexec.openmpi", "-n", "2"] if has_ranks(case) else []
    options = ["--mpi", "openmpi", *["--sample-stack"] * case.instrumented] if is_python(case) else []
    planted.execute([*before, *start, lull, "record", "--sample", "1000", *options, "-o", run, "--", *program, case.mode,
                     readings], folder, OMP_WAIT_POLICY="passive")
    return run, read(folder)


def read(folder):
    spent = {}
    for path in sorted(glob.glob(os.path.join(folder, "readings*"))):
        with open(path) as file:
            for line in file:
                words = line.split()
                who = int(words[0]) if len(words) == 3 else int(path.rpartition(".")[2])
                spent[who, words[-2]] = float(words[-1])
    return spent


def keep(lull, executable, run, kept):
    """Packs a run, with its readings. Where the run names the program it then says ".///...///where-c", so that
    lull finds that in the folder where it is started."""
    path, name = executable.encode(), os.path.basename(executable).encode()
    beside = b"." + b"/" * (len(path) - len(name) - 1) + name
    for file in glob.glob(os.path.join(run, "**"), recursive=True):
        if os.path.isfile(file):
            with open(file, "r+b") as stream:
                data = stream.read()
                stream.seek(0)
                stream.write(data.replace(path, beside))
    for about in glob.glob(os.path.join(run, "about*")):
        os.remove(about)  # it tells of the machine
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(kept)
    planted.execute([lull, "pack", run, "-o", os.path.join(kept, "run")], kept)
    for readings in glob.glob(os.path.join(os.path.dirname(run), "readings*")):
        shutil.copy(readings, kept)


def lines_of(case):
    """The first and the last line of the function's loop, which is marked in the source."""
    name = re.split("[:.]", case.function)[-1]
    with open(os.path.join(SOURCES, case.source)) as file:
        lines = [number for number, line in enumerate(file, 1) if re.search(r"\b%s: (first|last) line" % name, line)]
    return lines[0], lines[-1]


def totals(spent):
    """ {rank or thread: seconds of all functions} """
    sums = collections.Counter()
    for (who, function), seconds in spent.items():
        sums[who] += seconds if function != ALL else 0
    return sums


def is_undisturbed(spent):
    """Whether each rank or thread had a core for nearly all of the time in which its functions ran."""
    return all(spent[who, ALL] <= (1 + DISTURBED) * seconds for who, seconds in totals(spent).items())
