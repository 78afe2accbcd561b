#!/usr/bin/env python3
"""Real programs, alone and recorded: nothing of them may change, and every number has to agree.

    run.py --lull LULL [--sources FOLDER] [--only WORD] [--repeat N] [--write FILE]

Each program runs by turns alone and recorded, and once more recorded with an independent counter of
MPI calls (tests/mpi/counter.c) behind the recorder. One line per program and MPI library says what came of it; a line
that is not right ends with "wrong:" and what is wrong, and the exit status is 1. --sources names a
folder with source trees, each in a folder that is called as its public repository (programs.py has
the names); copies of them are built. --write makes the table as a page of the manual.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("support", "mpi"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import chain
import launch
import programs

HEADINGS = ["program", "MPI", "ranks x threads", "status alone / recorded", "results", "MPI calls",
            "calls agree", "times add up", "replay", "overhead", "bytes per call"]


class Started:
    """One run of a program: its status, what it printed, and how long it took."""

    def __init__(self, words, folder, environment):
        begin = time.monotonic()
        try:
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True,
                                  text=True, errors="replace", timeout=600)
            self.status, self.out = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            self.status, self.out = "hangs", ""
        self.seconds = time.monotonic() - begin


class Line:
    """One line of the table; `wrong` collects what is not as it should be."""

    def __init__(self, program, mpi):
        self.cells = dict.fromkeys(HEADINGS, "")
        self.cells.update({"program": program.name, "MPI": mpi,
                           "ranks x threads": "%d x %d" % (program.ranks, program.threads)})
        self.wrong = []

    def put(self, heading, text, right=True):
        self.cells[heading] = text
        if not right:
            self.wrong.append("%s: %s" % (heading, text))

    def text(self):
        return " | ".join(self.cells[heading] for heading in HEADINGS)


class Campaign:
    def __init__(self, settings, scratch, tools):
        self.settings, self.scratch, self.tools = settings, scratch, tools
        self.trees = {} # name and MPI library -> folder, and why it was not built or None

    def tree(self, program, mpi):
        """The folder where the program's tree was built for this MPI library when it was first asked
        for, and why it was not built or None."""
        key = program.tree.name + "." + mpi
        if key not in self.trees:
            folder = os.path.join(self.tools, key)
            self.trees[key] = folder, program.tree.make(self.settings.sources, mpi, folder)
        return self.trees[key]

    def counter(self, mpi):
        """The counting tool, made for this MPI library when it is first asked for."""
        folder = os.path.join(self.tools, mpi)
        if not os.path.isdir(folder):
            os.mkdir(folder)
            options = argparse.Namespace(compiler="mpicc." + mpi, functions=os.path.join(
                HERE, "..", "..", "src", "record", "mpi", "functions.txt"))
            chain.make_tool(options, folder)
        return os.path.join(folder, "libtool.so")

    def start(self, program, mpi, recorder=(), **more):
        """Runs it in a fresh folder, under mpirun, behind the words of the recorder."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        if program.prepare:
            program.prepare(folder, mpi)
        environment = launch.environment(OMP_NUM_THREADS=str(program.threads), **more)
        tree = self.tree(program, mpi)[0] if program.tree else ""
        started = Started(["mpirun." + mpi, "-n", str(program.ranks)] + list(recorder)
                          + program.words(mpi, tree), folder, environment)
        if program.output:
            started.out = ""
            for name in glob.glob(os.path.join(folder, program.output)):
                with open(name, errors="replace") as file:
                    started.out += file.read()
        shutil.rmtree(folder)
        return started

    def record(self, program, mpi, run, **more):
        return self.start(program, mpi, [self.settings.lull, "record", "-o", run, "--"], **more)

    def lull(self, *words):
        """The document that a command of lull prints, or the line with which it fails."""
        done = subprocess.run([self.settings.lull, *words, "--format", "json"],
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            return None, done.stderr.strip().split("\n")[-1]
        return json.loads(done.stdout), None

    def measure(self, program, mpi):
        line = Line(program, mpi)
        alone, recorded = [], []
        for i in range(self.settings.repeat):
            alone.append(self.start(program, mpi))
            recorded.append(self.record(program, mpi, os.path.join(self.scratch, "run%d" % i)))
        self.compare(line, program, alone, recorded)
        self.count(line, program, mpi)
        self.analyse(line, os.path.join(self.scratch, "run0"))
        for name in os.listdir(self.scratch):
            shutil.rmtree(os.path.join(self.scratch, name))
        return line

    def compare(self, line, program, alone, recorded):
        statuses = [{run.status for run in runs} for runs in (alone, recorded)]
        line.put("status alone / recorded",
                 " / ".join(",".join(map(str, sorted(each, key=str))) for each in statuses),
                 statuses[0] == statuses[1])
        expected = program.results_of(alone[0].out)
        same = all(program.results_of(run.out) == expected for run in alone + recorded)
        line.put("results", "%d, %s" % (len(expected), "the same" if same else "different"),
                 same and len(expected) > 0)
        ratios = [b.seconds / a.seconds - 1 for a, b in zip(alone, recorded)]
        line.put("overhead", "%+.1f %% (%+.1f .. %+.1f)" % tuple(
            100 * x for x in (statistics.median(ratios), min(ratios), max(ratios))))

    def count(self, line, program, mpi):
        """Calls by function: what the counter saw against what the run says."""
        run, counts = (os.path.join(self.scratch, name) for name in ("counted", "counts"))
        os.mkdir(counts)
        self.record(program, mpi, run, LD_PRELOAD=self.counter(mpi),
                    LULL_TEST_COUNTS=os.path.join(counts, "rank"))
        seen = {}
        for key, calls in chain.theirs(os.path.join(counts, "rank"))[0].items():
            function = key.split()[1]
            seen[function] = seen.get(function, 0) + calls
        document, failure = self.lull("metrics", run, "--by", "region", "--no-replay", "--whole",
                                      "--force")
        if failure:
            line.put("calls agree", failure, False)
            return
        rows = next(table["rows"] for name, table in document["tables"].items()
                    if name.startswith("regions"))
        recorded = {row["id"]: row["values"][1] for row in rows if row["id"].startswith("MPI_")}
        differ = sorted(name for name in seen.keys() | recorded.keys()
                        if seen.get(name, 0) != recorded.get(name, 0))
        line.put("MPI calls", "{:,}".format(sum(seen.values())), bool(seen))
        line.put("calls agree", "yes" if not differ else ", ".join(
            "%s %d for %d" % (name, recorded.get(name, 0), seen.get(name, 0))
            for name in differ[:4]), not differ)
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(run) for name in names)
        if recorded:
            line.put("bytes per call", "%.1f" % (size / sum(recorded.values())))

    def analyse(self, line, run):
        document, failure = self.lull("metrics", run, "--by", "thread", "--no-replay", "--force")
        if failure:
            line.put("times add up", failure, False)
        else:
            line.put("times add up", *self.sums_of(document))
        document, failure = self.lull("replay", run, "--force")
        if failure:
            line.put("replay", failure, False)
        else:
            rows = {row["id"]: row["values"] for row in document["tables"]["replay"]["rows"]}
            line.put("replay", "%+.1f %%" % (100 * rows["difference"][1]))

    @staticmethod
    def sums_of(document):
        """Every thread's times add up to the same length."""
        table = next(table for name, table in document["tables"].items()
                     if name.startswith("threads"))
        times = [i for i, column in enumerate(table["columns"]) if column.get("unit") == "s"]
        sums = [sum(row["values"][i] or 0 for i in times) for row in table["rows"]]
        apart = max(sums) - min(sums)
        return ("yes" if apart <= 1e-9 * len(times) else "%g s apart" % apart,
                apart <= 1e-9 * len(times))


def page(lines, skipped, settings):
    """docs/campaign.md"""
    intro, end = (open(os.path.join(HERE, name), encoding="utf-8").read()
                  for name in ("intro.md", "end.md"))
    table = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    table += ["| " + line.text() + " |" for line in lines]
    rest = ["", "Not measured: " + "; ".join(skipped) + "."] if skipped else []
    repeat = "%d pairs of runs of each program" % settings.repeat
    return intro + "\n".join(table + rest) + "\n\n" + end.replace("REPEAT", repeat)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lull", required=True)
    parser.add_argument("--sources")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--write")
    settings = parser.parse_args()
    settings.lull = os.path.abspath(settings.lull)
    lines, skipped = [], []
    print(" | ".join(HEADINGS), flush=True)
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as tools:
        campaign = Campaign(settings, scratch, tools)
        for program in programs.PROGRAMS:
            for mpi in program.mpis:
                name = "%s (%s)" % (program.name, mpi)
                if settings.only not in name:
                    continue
                missing = programs.missing(program, mpi, settings.sources)
                if not missing and program.tree:
                    missing = campaign.tree(program, mpi)[1]
                if missing:
                    skipped.append("%s, needs %s" % (name, missing))
                    continue
                lines.append(campaign.measure(program, mpi))
                print(lines[-1].text() + "".join("\n    wrong: " + w for w in lines[-1].wrong),
                      flush=True)
    if skipped:
        print("not measured: " + "; ".join(skipped))
    if settings.write:
        with open(settings.write, "w", encoding="utf-8") as file:
            file.write(page(lines, skipped, settings))
    return 1 if any(line.wrong for line in lines) else 0


sys.exit(main())
