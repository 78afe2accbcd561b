"""The hot loops of a recorded program (`lull model kernel --of`): found by samples and understood from the source. Which
loops these are, how many iterations they make, what they load and store and why others are not understood is known of
the program (hot_loops.c); how long they took decides nothing here. And what is said where something is missing.

    hot_loops.py --lull LULL --source HOT_LOOPS.c --machine MACHINE.json --cc GCC --cpp HOT_LOOPS.cpp --cxx "G++;CLANG++" --faults HOT_FAULTS.c
                 [--fortran HOT_LOOPS.f90 --fc GFORTRAN]
"""
import argparse
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

ROWS, PER_ROW, COLUMNS = 20000, 80, 100
N, TRIADS, SWEEPS, PRODUCTS, WIDTH, HEIGHT = 200000, 250, 30, 30, 1000, 500
LINE = 64
# so many that each loop has dozens of them in programs of a quarter of a second
SAMPLES = ("--sample", "4000")


class Check:
    def __init__(self, settings, folder):
        self.settings, self.folder, self.wrong = settings, folder, []
        self.source = os.path.join(folder, "hot_loops.c")
        shutil.copy(settings.source, self.source)
        with open(settings.machine) as file:
            machine = json.load(file)
        self.machine_of = machine
        machine.pop("name", None)
        machine["host"] = {"name": socket.gethostname()}
        self.here = os.path.join(folder, "here.json")
        with open(self.here, "w") as file:
            json.dump(machine, file)
        self.read_marks(self.source)

    def read_marks(self, source):
        self.lines = {}
        with open(source) as file:
            for number, text in enumerate(file, 1):
                mark = re.search(r"/\* (\w+) \*/$|! (\w+)$", text)
                if mark:
                    self.lines[mark.group(1) or mark.group(2)] = number

    def expect(self, good, what, *values):
        if not good:
            self.wrong.append(what % values)

    def near(self, what, got, expected, part=1e-6):
        self.expect(isinstance(got, (int, float)) and abs(got - expected) <= part * abs(expected), "%s: %r, expected %r",
                    what, got, expected)

    def record(self, name, options, *record, threads=1, compiler=None, source=None):
        program, run = os.path.join(self.folder, name), os.path.join(self.folder, name + ".run")
        subprocess.run([compiler or self.settings.cc, "-O2", "-g", source or self.source, *options, "-o", program],
                       check=True, cwd=self.folder)
        subprocess.run([self.settings.lull, "record", "--force", *record, "-o", run, "--", program, str(ROWS)],
                       check=True, capture_output=True, env=launch.environment(OMP_NUM_THREADS=str(threads)))
        return run

    def said(self, run, *options, status=0, machine=None):
        done = subprocess.run([self.settings.lull, "model", "kernel", "--of", run, "--machine", machine or self.here,
                               *options], capture_output=True, text=True, env=launch.environment())
        if done.returncode == 1 and "libclang" in done.stderr:
            print("skipped: " + done.stderr)
            sys.exit(77)
        self.expect(done.returncode == status, "%s: status %d: %s", " ".join(options), done.returncode, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def tables(self, run, *options, machine=None):
        """{table: {name of a loop in the program: {column: value}}}; rows of other loops are left out, also of the loop
        around it, which holds its line, too."""
        document = json.loads(self.said(run, "--format", "json", *options, machine=machine))
        found = {}
        for key, table in document["tables"].items():
            ids = [column["id"] for column in table["columns"]]
            found[key.split(":")[0]] = rows = {}
            for row in table["rows"]:
                at = re.match(r"hot_\w+\.(?:c|cpp|f90):(\d+)-(\d+)$", row["label"])
                for name, line in self.lines.items():
                    if not at or int(at.group(1)) > line + 1 or line > int(at.group(2)):
                        continue
                    length = int(at.group(2)) - int(at.group(1))
                    if name not in rows or length < rows[name]["length"]:
                        rows[name] = dict(zip(ids, row["values"]), length=length)
        return document, found

    def serial(self):
        self.size_words = ["-D", "matrix.rows=%d" % ROWS, "-D", "plate.rows=%d" % ROWS, "-D", "columns=%d" % COLUMNS, "-D",
                           "matrix.begin.length=%d" % PER_ROW]
        self.run = self.record("serial", [], *SAMPLES)
        document, found = self.tables(self.run)
        limits, made = found["hot_loops"], found["hot_predictions"]
        self.expect(set(made) == {"triad", "relax", "multiply", "smooth"}, "understood: %r", sorted(made))
        for name, executions, inner in (("triad", 1, N * TRIADS), ("relax", 2 * SWEEPS, (WIDTH - 2) * (HEIGHT - 2))):
            row = made.get(name, {})
            self.near(name + ": executions", row.get("executions"), executions)
            self.near(name + ": iterations", row.get("iterations"), executions * inner)
            self.expect(row.get("counted") == "the source", "%s: counted by %r", name, row.get("counted"))
            # what a core took is no more than the time, and what the model allows is a part of it
            took = limits[name]
            self.expect(0 < took["measured"] * row["iterations"] * 1e-9 <= took["useful"] * (1 + 1e-9), "%s: %r", name,
                        took)
            self.near(name + ": share", took["of_limit"], took["allowed"] / took["measured"])
            self.expect(took["limit"] and took["next"] and took["gain"] >= 1, "%s: %r", name, took)
        self.traffic(made)
        self.expect("N" not in str(made["triad"]["sizes"]), "triad: sizes %r", made["triad"]["sizes"])
        self.expect(made["relax"]["sizes"] == "height 500, width 1000", "relax: sizes %r", made["relax"]["sizes"])
        for name, sizes in (("multiply", {"matrix.rows", "matrix.begin.length"}),
                            ("smooth", {"plate.rows", "plate.columns"})):
            self.expect(set(str(made[name]["supposed"]).split(", ")) == sizes, "%s: not known: %r", name,
                        made[name]["supposed"])
            self.expect(made[name].get("iterations") is None and limits[name].get("of_limit") is None,
                        "%s has iterations: %r", name, made[name])
        self.reasons(found["hot_not_understood"])

    def traffic(self, made):
        """Cycles of transfers by hand: lines and what a link of the machine file moves in a cycle."""
        links = [link["bytes_per_cycle"] for link in self.machine_of["core"]["links"]]
        for name, lines in (("triad", (4, 4)), ("relax", (3, 3)), ("smooth", (3, 3))):
            parts = [float(part) for part in re.findall(r"[\d.]+", made[name]["ecm"])]
            for link in (0, 1):
                self.near("%s: link %d" % (name, link), parts[2 + link], lines[link] * LINE / links[link], 0.02)
        for name, flops in (("triad", 2), ("relax", 4), ("smooth", 2), ("multiply", 2)):
            self.near(name + ": flop", made[name]["flops"], flops)
        self.near("triad: arrays", made["triad"]["arrays"], 3 * 8 * N)

    def reasons(self, gaps):
        for name, why in (("branch", "branch"), ("macro", "macro|unknown bound"), ("jump", "affine"),
                          ("collatz", "while|around")):
            row = gaps.get(name, {})
            self.expect(re.search(why, str(row.get("why"))), "%s: %r", name, row)
            if not shutil.which("llvm-mc"):
                continue
            # each of them calculates with one number at a time; a division of doubles keeps its port for 8 cycles or more;
            # gcc 14 makes two ways through collatz, which have no more than a test and a jump in common
            apart = name == "collatz" and row.get("instructions") == 2
            self.expect((row.get("instructions", 0) >= 3 or apart) and row.get("limit") and row.get("in_core", 0) > 0 and
                        row.get("vectors") == (None if apart else "1 double") and row.get("traffic") is None, "%s: %r", name, row)
            clock = self.machine_of["numbers"]["clock.nominal"]["value"]
            self.near(name + ": cycles of a nanosecond", row["cycles"] / row["in_core"], 1e-9 * clock)
            self.expect(name != "macro" or row["cycles"] >= 8, "macro: %r", row)

    def sizes(self):
        """What the user says makes the rest known, as far as it is counted."""
        self.sized, found = self.tables(self.run, *self.size_words)
        made = found["hot_predictions"]
        self.near("multiply: iterations", made["multiply"]["iterations"], PRODUCTS * ROWS * PER_ROW)
        self.near("smooth: iterations", made["smooth"]["iterations"], PRODUCTS * ROWS * COLUMNS)
        self.near("smooth: arrays", made["smooth"]["arrays"], 8 * (2 * ROWS * (COLUMNS + 2)), 0.01)
        self.expect(made["smooth"].get("supposed") is None, "smooth: %r", made["smooth"])

    def parallel(self):
        run = self.record("parallel", ["-fopenmp"], *SAMPLES, threads=2)
        _, found = self.tables(run, "-D", "rows=%d" % ROWS, "-D", "columns=%d" % COLUMNS)
        made = found["hot_predictions"]["smooth"]
        self.expect(made["counted"] == "executions of its parallel region", "smooth: counted by %r", made["counted"])
        self.near("smooth: executions", made["executions"], PRODUCTS)
        self.near("smooth: iterations", made["iterations"], PRODUCTS * ROWS * COLUMNS)
        self.expect(found["hot_loops"]["smooth"]["cores"] == 2, "smooth: %r cores", found["hot_loops"]["smooth"])
        self.expect(found["hot_loops"]["relax"]["cores"] == 1, "relax: %r cores", found["hot_loops"]["relax"])

    def instrumented(self):
        run = self.record("instrumented", ["-finstrument-functions", "-fno-inline", "-finstrument-functions-exclude-function-list="
                                            "cell,collatz,branch,macro,jump", "-fno-tree-vectorize"], *SAMPLES)
        document, found = self.tables(run)
        made = found["hot_predictions"]["relax"]
        self.expect(made["counted"] == "visits of its function", "relax: counted by %r", made["counted"])
        self.near("relax: iterations of visits", made["iterations"], 2 * SWEEPS * (WIDTH - 2) * (HEIGHT - 2))
        # without vectors, four loads an iteration, of which the core makes two a cycle; the transfers are added to them
        clock = 1e-9 * self.machine_of["numbers"]["clock.nominal"]["value"]
        parts = [float(part) for part in re.findall(r"[\d.]+", made["ecm"])]
        if shutil.which("llvm-mc"):
            self.expect(made["vectors"] == "1 double", "relax: %r", made)
            self.near("relax: as compiled", made["compiled"], (4 / 2 * 8 + sum(parts[2:])) / 8 / clock, 0.02)
            out = " ".join(json.dumps(document).split())
            self.expect("As it was compiled an iteration takes at least 1.36 ns: its instructions of floating point "
                        "calculate with 1 double each, where a vector of the machine holds 4" in out, "relax: %s", out)

    def report(self):
        """The report has the same table, the predictions as a detail, and a Roofline."""
        words = ["report", self.run, "--machine", self.here, *self.size_words]
        page = os.path.join(self.folder, "page.html")
        for more in (["--format", "json"], ["-o", page]):
            done = subprocess.run([self.settings.lull, *words, *more], capture_output=True, text=True,
                                  env=launch.environment())
            self.expect(done.returncode == 0, "report: %s", done.stderr)
            if "json" in more:
                document = json.loads(done.stdout)
        for key, table in self.sized["tables"].items():
            self.expect(document["tables"].get(key) == table, "report: %s differs", key)
        with open(page) as file:
            text = file.read()
        for told in ("Hot loops of serial.run on ", "Predictions for hot loops", "smooth"):
            self.expect(told in text, "the page has no %r", told)
        for finding in document.get("findings", []):
            if finding["rule"] == "slow_loop":
                labels = [row["label"] for row in document["tables"]["hot_loops:serial.run"]["rows"]]
                self.expect(any(name in finding["sentence"] for name in labels), "finding: %r", finding["sentence"])
        done = subprocess.run([self.settings.lull, "report", self.run, "-D", "rows=1"], capture_output=True, text=True,
                              env=launch.environment())
        self.expect(done.returncode == 2 and "--machine" in done.stderr, "-D without a machine: %r", done.stderr)
        done = subprocess.run([self.settings.lull, "report", self.run, "--machine", self.here, "--window", "0s:0.1s",
                               "--format", "json"], capture_output=True, text=True, env=launch.environment())
        for key, table in json.loads(done.stdout)["tables"].items():
            ids = [column["id"] for column in table["columns"]]
            for row in table["rows"] if key.startswith("hot_predictions") else []:
                self.expect(row["values"][ids.index("counted")] == "not known", "in a window: %r", row)

    def cpp(self):
        """C++: what is read moves what the same loops of C move; the time in the core is that of the machine code."""
        source = os.path.join(self.folder, "hot_loops.cpp")
        shutil.copy(self.settings.cpp, source)
        self.read_marks(source)
        links = [link["bytes_per_cycle"] for link in self.machine_of["core"]["links"]]
        for compiler in self.settings.cxx.split(";"):
            if not shutil.which(compiler) or not shutil.which("llvm-mc"):
                print("no %s or no llvm-mc: its C++ is not looked at" % compiler)
                continue
            run = self.record("cpp." + os.path.basename(compiler), [], *SAMPLES, compiler=compiler, source=source)
            _, found = self.tables(run, "-D", "a.size=%d" % N, "-D", "rows=%d" % HEIGHT)
            made, gaps = found.get("hot_predictions", {}), found.get("hot_not_understood", {})
            self.expect(set(made) == {"triad", "step"}, "%s: understood: %r; not: %r", compiler, sorted(made), gaps)
            for name, lines, arrays, flops in (("triad", 4, 3 * N, 2), ("step", 3, 2 * WIDTH * HEIGHT, 4)):
                row = made.get(name)
                if not row:
                    continue
                parts = [float(part) for part in re.findall(r"[\d.]+", row["ecm"])]
                for link in (0, 1):
                    self.near("%s: %s: link %d" % (compiler, name, link), parts[2 + link], lines * LINE / links[link], 0.02)
                self.near("%s: %s: flop" % (compiler, name), row["flops"], flops)
                self.near("%s: %s: arrays" % (compiler, name), row["arrays"], 8 * arrays, 0.01)
                self.expect(row["counted"] == "not known" and row["vectors"], "%s: %s: %r", compiler, name, row)
            for name, why in (("divide", "template"), ("add", "range")):
                row = gaps.get(name, {})
                self.expect(re.search(why, str(row.get("why"))) and row.get("in_core", 0) > 0, "%s: %s: %r", compiler,
                            name, row)
        self.read_marks(self.source)

    def fortran(self):
        """Fortran: what is read moves what the same loops of C move, and is executed as often as the source says."""
        if not self.settings.fc or not shutil.which(self.settings.fc):
            print("no gfortran: its loops are not looked at")
            return
        source = os.path.join(self.folder, "hot_loops.f90")
        shutil.copy(self.settings.fortran, source)
        self.read_marks(source)
        links = [link["bytes_per_cycle"] for link in self.machine_of["core"]["links"]]
        run = self.record("fortran", [], *SAMPLES, compiler=self.settings.fc, source=source)
        _, found = self.tables(run, "-D", "A_size1=%d" % N)
        made, gaps = found.get("hot_predictions", {}), found.get("hot_not_understood", {})
        self.expect(set(made) == {"triad", "relax", "product"}, "Fortran: understood: %r; not: %r", sorted(made), gaps)
        for name, lines, arrays, flops, executions, inner in (
                ("triad", 4, 3 * N, 2, 250, N), ("relax", 3, 2 * WIDTH * HEIGHT, 4, 60, (WIDTH - 2) * (HEIGHT - 2)),
                ("product", None, WIDTH * HEIGHT + WIDTH + HEIGHT, 2, 30, WIDTH * HEIGHT)):
            row = made.get(name)
            if not row:
                continue
            parts = [float(part) for part in re.findall(r"[\d.]+", row["ecm"])]
            for link in (0, 1) if lines else ():
                self.near("Fortran: %s: link %d" % (name, link), parts[2 + link], lines * LINE / links[link], 0.02)
            self.near("Fortran: %s: flop" % name, row["flops"], flops)
            self.near("Fortran: %s: arrays" % name, row["arrays"], 8 * arrays, 0.01)
            self.near("Fortran: %s: executions" % name, row["executions"], executions)
            self.near("Fortran: %s: iterations" % name, row["iterations"], executions * inner)
        for name, why in (("decide", "a branch"), ("whole", "whole arrays")):
            self.expect(re.search(why, str(gaps.get(name, {}).get("why"))), "Fortran: %s: %r", name, gaps.get(name))
        self.read_marks(self.source)

    def faults(self):
        """What is planted is named: a chain from element to element, and a call, whose cycles the user says."""
        source = os.path.join(self.folder, "hot_faults.c")
        shutil.copy(self.settings.faults, source)
        self.read_marks(source)
        run = self.record("faults", ["-lm"], *SAMPLES, source=source)
        document, found = self.tables(run)
        self.expect(re.search(r"in blocks of \d+ that L[12] holds: [\d.]+ ns", str(found["hot_loops"].get("unblocked", {}).get("steps"))),
                    "unblocked: %r", found["hot_loops"].get("unblocked"))
        self.expect("in blocks" not in str(found["hot_loops"].get("chain", {}).get("steps")), "chain: %r",
                    found["hot_loops"].get("chain"))
        self.expect("Lines of m are 8192 bytes apart, a multiple of 4096" in json.dumps(document) and
                    "Lines of old" not in json.dumps(document), "stride: %r", document.get("notes"))
        self.expect(found["hot_loops"].get("chain", {}).get("limit") == "dependency chain", "chain: %r",
                    found["hot_loops"].get("chain"))
        self.expect("call of 'exp' has no cost" in str(found["hot_not_understood"].get("call", {}).get("why")), "call: %r",
                    found["hot_not_understood"])
        own, found = self.tables(run, "--call", "exp=20")
        made = found["hot_predictions"].get("call", {})
        parts = [float(part) for part in re.findall(r"[\d.]+", str(made.get("ecm")))] or [0]
        # eight calls of 20 cycles in a line of results, and what else the core does
        self.expect(160 <= parts[0] < 200, "call: %r", made)
        self.expect("hot_not_understood" not in found or "call" not in found["hot_not_understood"], "call: %r", found)
        words = [self.settings.lull, "report", run, "--call", "exp=20"]
        done = subprocess.run(words, capture_output=True, text=True, env=launch.environment())
        self.expect(done.returncode == 2 and "--machine" in done.stderr, "--call without a machine: %r", done.stderr)
        done = subprocess.run([*words, "--machine", self.here, "--format", "json"], capture_output=True, text=True,
                              env=launch.environment())
        shown = json.loads(done.stdout)["tables"] if done.returncode == 0 else {}
        for key in own["tables"]:
            self.expect(shown.get(key) == own["tables"][key], "report --call: %s differs: %s", key, done.stderr)
        self.read_marks(self.source)

    def refuse(self):
        err = self.said(self.run, status=1, machine=self.settings.machine)
        self.expect("--force" in err and socket.gethostname() in err, "another machine: %r", err)
        out = self.said(self.run, "--force", machine=self.settings.machine)
        self.expect(out.count("other machine") >= 5, "another machine is not said: %r", out)
        done = subprocess.run([self.settings.lull, "model", "kernel", "--of", self.run], capture_output=True, text=True,
                              env=launch.environment())
        self.expect(done.returncode in (1, 2) and "lull bench -o" in done.stderr, "no machine file: %r", done.stderr)
        bare = self.record("bare", [], "--sample", "off")
        err = self.said(bare, status=1)
        self.expect("sample" in err, "no samples: %r", err)
        err = self.said(self.run, "kernel.c", status=2)
        self.expect("--of" in err, "an operand: %r", err)
        err = self.said(self.run, "--run", status=2)
        self.expect("--run" in err, "--run: %r", err)
        later = os.stat(os.path.join(self.folder, "serial")).st_mtime + 100
        os.utime(self.source, (later, later))
        _, found = self.tables(self.run)
        why = str(found["hot_not_understood"].get("triad"))
        self.expect("source was changed" in why and "hot_predictions" not in found or
                    not found["hot_predictions"], "changed source: %r", why)
        os.rename(os.path.join(self.folder, "serial"), os.path.join(self.folder, "gone"))
        done = subprocess.run([self.settings.lull, "model", "kernel", "--of", self.run, "--machine", self.here],
                              capture_output=True, text=True, env=launch.environment())
        told = " ".join((done.stdout + done.stderr).split())
        # a sample in a library whose loops have lines leaves a table, of which the program's loops are no part
        self.expect(done.returncode in (0, 1) and "its file cannot be read (" in told and "hot_loops.c" not in told,
                    "no program: %d: %r", done.returncode, told)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "source", "machine", "cc", "cpp", "cxx", "faults"):
        parser.add_argument("--" + name, required=True)
    for name in ("fortran", "fc"):
        parser.add_argument("--" + name)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(parser.parse_args(), folder)
        check.serial()
        check.sizes()
        check.instrumented()
        check.parallel()
        check.report()
        check.cpp()
        check.fortran()
        check.faults()
        check.refuse()
    for line in check.wrong:
        print("WRONG:", line)
    return 1 if check.wrong else 0


sys.exit(main())
