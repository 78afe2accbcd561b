"""Stacks of samples: the callers that `lull convert --to folded` shows are those of programs whose call graphs are
known, compiled with and without frame pointers and tables for exceptions, in C, C++ and Fortran.

    stacks.py --lull LULL [--cc GCC] [--cxx GXX] [--fc GFORTRAN] [--clang CLANG]
"""
import argparse
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stacks")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

MS = "250" # of processor time for each path
CUT = "(callers not known)"
C_PATHS = {("main", "outer", "middle", *["recursive"] * 4, "leaf"), ("main", "other", "leaf"), ("main", "aligned", "leaf")}
CC_PATHS = {("main", "heat::Solver::solve", "heat::Solver::step", "heat::Smooth::apply")}
F_PATHS = {("main", "stack", "work::drive", "work::relax")}
# what the compiler is told: with tables alone, as is usual; frame pointers alone; both
FORMS = ([], ["-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
         ["-fno-omit-frame-pointer"])


class Check:
    def __init__(self, settings, folder):
        self.settings, self.folder, self.wrong = settings, folder, []

    def paths(self, program, rate="1000"):
        """{path: ns} of the program's only thread"""
        run, out = os.path.join(self.folder, "run"), os.path.join(self.folder, "paths")
        subprocess.run([self.settings.lull, "record", "--force", "--sample", rate, "--sample-stack", "-o", run, "--",
                        program, MS], check=True, capture_output=True, timeout=900, env=launch.environment())
        subprocess.run([self.settings.lull, "convert", "--force", "--to", "folded", run, out], check=True,
                       capture_output=True)
        paths = {}
        with open(out, encoding="utf-8") as file:
            for line in file:
                path, ns = line.rstrip("\n").rsplit(" ", 1)
                frames = tuple(path.split(";")[1:])
                paths[frames] = paths.get(frames, 0) + int(ns)
        return paths

    def one(self, what, program, leaf, expected, cut=(), begins=False):
        """Each sample in `leaf` has one of the expected paths, and each of these is there. `cut`: the functions whose
        callers are not known, because their stacks are too large. `begins`: where a function begins, its caller is
        not known, because the frame register is not its own yet."""
        found, total = set(), 0
        for path, ns in self.paths(program).items():
            if path[-1] != leaf:
                continue
            total += ns
            known = path[path.index("main"):] if "main" in path else path
            if known in expected:
                found.add(known)
            elif begins and any(known == path[:-2] + path[-1:] for path in expected):
                continue
            elif not (known[0] == CUT and known[1] in cut):
                self.wrong.append("%s: %s: %d ns" % (what, ";".join(path), ns))
        if found != expected:
            self.wrong.append("%s: not found: %r" % (what, expected - found))
        # at a hundredth of the rate that is asked for there would be samples enough
        if total < 1e6 * float(MS) / 100:
            self.wrong.append("%s: %d ns in %s" % (what, total, leaf))

    def compile(self, compiler, source, options):
        program = os.path.join(self.folder, source.replace(".", "_"))
        subprocess.run([compiler, "-O2", "-g", *options, os.path.join(FOLDER, source), "-o", program], check=True,
                       cwd=self.folder)
        return program

    def all(self):
        settings = self.settings
        for compiler in filter(None, (settings.cc, settings.clang)):
            for options in FORMS:
                what = " ".join([os.path.basename(compiler), *options])
                self.one(what, self.compile(compiler, "stack.c", options), "leaf", C_PATHS, ("large",),
                         "-fno-unwind-tables" in options)
        if settings.cxx:
            self.one("C++", self.compile(settings.cxx, "stack.cc", []), "heat::Smooth::apply", CC_PATHS)
        if settings.fc:
            self.one("Fortran", self.compile(settings.fc, "stack.f90", ["-fno-inline"]), "work::relax", F_PATHS)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "cc", "cxx", "fc", "clang"):
        parser.add_argument("--" + name)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = Check(settings, folder)
        run = os.path.join(folder, "probe")
        done = subprocess.run([settings.lull, "record", "--sample", "100", "-o", run, "--", "true"], capture_output=True,
                              text=True, env=launch.environment())
        if "no samples" in done.stderr:
            print("skipped: " + done.stderr.strip().splitlines()[0])
            return 77
        check.all()
    for line in check.wrong[:30]:
        print(line)
    return 1 if check.wrong else 0


sys.exit(main())
