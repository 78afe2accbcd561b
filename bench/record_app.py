"""What recording costs a whole program: examples/heat.c as it is, alone and under lull record, from
the start of its launcher to its end, and what an MPI call takes on disk. Two controls with a known
answer say whether such a comparison can be believed: the program against itself, and against itself
with 2 % of processor time more."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "support"))
import tape_parts
from paired import Comparison
from record_mpi import ENVIRONMENT

SOURCE = os.path.join(HERE, "..", "examples", "heat.c")
SHAPES = ((2, 1), (1, 2))
BUDGET = 90     # s for each comparison
PLANTED = 2     # percent
BIND = {"openmpi": "--bind-to", "mpich": "-bind-to"}


class Heat:
    """One shape of the program under one MPI. Each rank has a core, or each thread."""

    @staticmethod
    def name_of(family, ranks, threads):
        return "%s heat, %d rank%s x %d" % (family, ranks, "s"[:ranks - 1], threads)

    def __init__(self, bench, family, ranks, threads):
        self.name = Heat.name_of(family, ranks, threads)
        self.launch = ["mpiexec." + family, BIND[family], "core" if threads == 1 else "none", "-n",
                       str(ranks)]
        self.environment = dict(ENVIRONMENT, OMP_NUM_THREADS=str(threads),
                                OMP_PROC_BIND="true" if threads > 1 else "false")
        self.run = bench.path("heat.lull")
        self.record = [os.path.join(os.path.abspath(bench.build), "lull"), "record", "-o", self.run]
        self.program = os.path.abspath(bench.path("heat.%s.%d" % (family, threads)))
        subprocess.run(["mpicc." + family, "-O2", "-w", SOURCE, "-o", self.program, "-lm"] +
                       (["-fopenmp"] if threads > 1 else []), check=True)

    def command(self, under=()):
        return self.launch + list(under) + [self.program]

    def forget(self):
        shutil.rmtree(self.run, ignore_errors=True)

    def against(self, under):
        """Of the program against itself under another one, which was started before."""
        self.forget()
        subprocess.run(self.command(under), env=self.environment, check=True, capture_output=True)
        return Comparison(self.command(), self.command(under), self.environment, BUDGET,
                          self.forget)

    def bytes_per_call(self):
        """Of rank 0, which has one thread and records nothing but MPI calls."""
        self.forget()
        said = subprocess.run(self.command(self.record), env=self.environment, check=True,
                              capture_output=True, text=True).stderr
        events = re.search(r"(\d+) events", said)
        parts = tape_parts.take_apart(os.path.join(self.run, "0", "0.tape"))
        size = len(parts["0.0.tape"]) - tape_parts.HEAD
        return size / int(events.group(1)) if events else float("nan")


def quote(bench, heat, what, comparison, target):
    bench.add(heat.name + what, str(comparison), target,
              "95 %% interval of %d pairs, alone %.1f s" % (comparison.pairs, comparison.seconds))


def controls(bench, heat, what):
    itself = heat.against([])
    quote(bench, heat, what + ", against itself", itself, "0 %")
    delay = [os.path.join(os.path.abspath(bench.build), "bench", "bench_delay"),
             "%.2f" % (itself.seconds * 1000 * PLANTED / 100)]
    quote(bench, heat, what + ", %d %% more" % PLANTED, heat.against(delay), "%d %%" % PLANTED)


def added(bench, heat, what):
    quote(bench, heat, what, heat.against(heat.record), "< 2 %")


def on_disk(bench, heat, what):
    bench.add(heat.name + what, "%.1f bytes" % heat.bytes_per_call(), "<= 18 bytes")


PARTS = ((": control", SHAPES[:1], controls), (": added by recording", SHAPES, added),
         (": on disk per MPI call", SHAPES[:1], on_disk))


def rows(bench):
    for family in ("openmpi", "mpich"):
        recorder = os.path.join(bench.build, "liblull-record-%s.so" % family)
        if not shutil.which("mpicc." + family) or not os.path.exists(recorder):
            continue
        for shape in SHAPES:
            name = Heat.name_of(family, *shape)
            parts = [(what, part) for what, shapes, part in PARTS
                     if shape in shapes and bench.wanted(name + what)]
            heat = Heat(bench, family, *shape) if parts else None
            for what, part in parts:
                part(bench, heat, what)
