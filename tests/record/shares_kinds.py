"""Functions and lines have the shares of the useful time that the program says by its own processor clock: templates,
inlined functions and libraries that are opened in C++, modules of Fortran, of gcc and clang, in all degrees of
optimisation, with addresses that are fixed and that are not, and without symbols. This measures: it is in check-all.

    shares_kinds.py --lull LULL
"""
import argparse
import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch

SIGMAS, OFF = 4.5, 0.015  # as in shares.py
CPP = os.path.join(HERE, "shares_kinds.cc")
FORTRAN = os.path.join(HERE, "..", "diagnose", "programs", "where_threads.f90")
# What tables call functions, and who calls what is inlined.
NAMES = {CPP: {"relax": {"Grid::relax"}, "smooth": {"smooth"}, "weigh": {"weigh", "work"}, "far_away": {"far_away"}},
         FORTRAN: {"assemble": {"plate::assemble"}, "relax": {"plate::relax"}}}
KINDS = ((CPP, "g++", "-O0 -no-pie"), (CPP, "g++", "-O1"), (CPP, "g++", "-O2 -gdwarf-4 -no-pie"), (CPP, "g++", "-O3"),
         (CPP, "clang++", "-O0"), (CPP, "clang++", "-O1 -gdwarf-4"), (CPP, "clang++", "-O2 -no-pie"),
         (CPP, "clang++", "-O3"), (FORTRAN, "gfortran", "-O0"), (FORTRAN, "gfortran", "-O3 -no-pie"))


def said(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, env=launch.environment(**more), timeout=900)
    if done.returncode != 0:
        sys.exit("%s: status %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout


def marks_of(source):
    """{function: (first line, last line)}"""
    lines = collections.defaultdict(list)
    with open(source) as file:
        for number, line in enumerate(file, 1):
            for name in re.findall(r"\b(\w+): (?:first|last) line", line):
                lines[name].append(number)
    return {name: (numbers[0], numbers[-1]) for name, numbers in lines.items()}


def rows(lull, run, level):
    """[(label, seconds)]"""
    document = json.loads(said([lull, "metrics", "-f", "json", "--no-replay", "--by", level, run]))
    [table] = [table for name, table in document["tables"].items() if name.startswith(level + "s:")]
    at = [column["id"] for column in table["columns"]].index("useful")
    return [(row["label"], row["values"][at]) for row in table["rows"]]


class Check:
    def __init__(self, lull, folder):
        self.lull, self.folder, self.wrong = lull, folder, []

    def build(self, source, compiler, options):
        program = os.path.join(self.folder, "program")
        words = [compiler, "-g", *options.split(), source]
        if source == FORTRAN:
            said([*words, "-fopenmp", "-J" + self.folder, "-o", program])
            return [program, "serial", os.path.join(self.folder, "readings")]
        said([*words, "-o", program, "-ldl"])
        said([compiler, "-g", *options.replace("-no-pie", "").split(), "-fPIC", "-shared", "-DLIBRARY", source, "-o",
              program + ".so"])
        return [program, "2000", program + ".so"]

    def record(self, words):
        """{function: share} by the program's own clock, and the number of useful samples."""
        run = os.path.join(self.folder, "run")
        text = said([self.lull, "record", "--force", "--sample", "1000:1MiB", "-o", run, "--", *words],
                    OMP_WAIT_POLICY="passive")
        times = collections.Counter()
        if words[1] == "serial":
            with open(words[2]) as file:
                text = file.read().replace("plate::", "share ")
            lines = [line.split()[-2:] for line in text.splitlines() if "share" in line]
        else:
            lines = [line.split()[2:] for line in text.splitlines()]
        for name, time in lines:
            times[name] += float(time)
        facts = json.loads(said([self.lull, "info", "--format", "json", run]))["facts"]
        return run, {name: time / sum(times.values()) for name, time in times.items() if time > 0}, facts["samples"]

    def compare(self, what, told, share, number):
        tolerance = SIGMAS * math.sqrt(share * (1 - share) / number) + OFF
        good = abs(told - share) <= tolerance
        print("%-46s %.4f, expected %.4f +- %.4f" % (what, told, share, tolerance))
        if not good:
            self.wrong.append(what)

    def kind(self, source, compiler, options):
        words = self.build(source, compiler, options)
        run, shares, number = self.record(words)
        title = "%s %s: " % (compiler, options)
        functions = rows(self.lull, run, "function")
        whole = sum(time for _, time in functions)
        if set(shares) != set(NAMES[source]):
            self.wrong.append("%s%s" % (title, sorted(shares)))
        for name, share in shares.items():
            told = {label for label, _ in functions} & NAMES[source][name]
            self.compare(title + " and ".join(sorted(told)), sum(time for label, time in functions if label in told) / whole,
                         share, number)
        lines = rows(self.lull, run, "line")
        for name, (first, last) in marks_of(source).items():
            if name not in shares or name == "weigh":  # its caller has a part of it
                continue
            first -= source == FORTRAN  # where gcc unrolls a loop it gives the code the line of the loop around it
            numbers = [(int(label.rpartition(":")[2]), time) for label, time in lines
                       if label.rpartition(":")[0] == os.path.basename(source)]
            self.compare("%s%s, lines %d to %d" % (title, name, first, last),
                         sum(time for line, time in numbers if first <= line <= last) / whole, shares[name], number)
        return words, run, shares, number

    def stripped(self, words, run, shares, number):
        """Of a program without symbols the whole is known, and functions of its libraries are."""
        subprocess.run(["strip", "-s", words[0]], check=True)
        functions = dict(rows(self.lull, run, "function"))
        whole = sum(functions.values())
        self.compare("stripped: far_away", functions.get("far_away", 0) / whole, shares["far_away"], number)
        self.compare("stripped: the program", functions.get("program (no symbols)", 0) / whole, 1 - shares["far_away"], number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(parser.parse_args().lull, folder)
        for source, compiler, options in KINDS:
            if not shutil.which(compiler):
                print("left out: no " + compiler)
                continue
            kept = check.kind(source, compiler, options)
            if (compiler, options) == ("g++", "-O3"):
                check.stripped(*kept)
    for line in check.wrong:
        print("WRONG:", line)
    return 1 if check.wrong else 0


sys.exit(main())
