"""What `lull metrics --by function`, `line` and `loop` and `lull convert --to folded`, `speedscope` say of a recorded
program, against sums of weights from the files of the run (by their description in docs/formats/tape.md), named by nm
and addr2line. And what is said where names or samples are missing.

    code.py --lull LULL --program SHARES
"""
import argparse
import bisect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import samples_of

LEAST, OFF = 0.01, 0.005  # of the time: rows below LEAST are not looked at; samples in recorded calls are few
WORK = ("work_many", "work_some", "work_few")


def said(*words, status=0):
    done = subprocess.run(words, capture_output=True, text=True, env=launch.environment())
    if done.returncode != status:
        raise SystemExit("%s: status %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done


class Check:
    def __init__(self, settings, folder):
        self.settings, self.folder, self.wrong = settings, folder, []
        self.program = os.path.join(folder, "shares")
        shutil.copy(settings.program, self.program)
        self.run = os.path.join(folder, "run")
        said(settings.lull, "record", "--force", "--sample", "1000:1MiB", "-o", self.run, "--", self.program, "700")

    def expect(self, good, what, *values):
        if not good:
            self.wrong.append(what % values)

    def document(self, level):
        return json.loads(said(self.settings.lull, "metrics", "-f", "json", "--by", level, self.run).stdout)

    def rows(self, level, name):
        """{id: {column: value}}"""
        table = self.document(level)["tables"][name + ":run"]
        ids = [column["id"] for column in table["columns"]]
        return {row["id"]: dict(zip(ids, row["values"]), label=row["label"]) for row in table["rows"]}

    def weights(self):
        """{thread: {(file, offset): weight}}"""
        found = {}
        objects = samples_of.objects(self.run)
        for header, samples, _ in samples_of.locations(self.run):
            one = found.setdefault(header["number"], {})
            for _, place, weight in samples:
                key = (objects.get(place >> 40, "?"), place & (1 << 40) - 1)
                one[key] = one.get(key, 0) + weight
        return found

    def useful(self):
        table = self.document("thread")["tables"]["threads:run"]
        at = [column["id"] for column in table["columns"]].index("useful")
        return {int(row["id"].split(".")[1]): row["values"][at] for row in table["rows"]}

    def times(self, name_of):
        """{name: seconds} of useful time, divided by hand; and the number of samples."""
        times, useful = {}, self.useful()
        for thread, weights in self.weights().items():
            whole = sum(weights.values())
            for (path, offset), weight in weights.items():
                name = name_of(path, offset)
                times[name] = times.get(name, 0) + useful[thread] * weight / whole
        return times

    def by_symbol(self):
        lines = said("nm", "-S", "--defined-only", self.program).stdout.splitlines()
        fields = [line.split() for line in lines]
        symbols = sorted((int(f[0], 16), int(f[0], 16) + int(f[1], 16), f[3]) for f in fields
                         if len(f) == 4 and f[2] in "tT")

        def name_of(path, offset):
            at = bisect.bisect(symbols, (offset, float("inf"), "")) - 1
            inside = path == os.path.realpath(self.program) and at >= 0 and offset < symbols[at][1]
            return symbols[at][2] if inside else None
        return name_of

    def by_line(self):
        def name_of(path, offset):
            if path != os.path.realpath(self.program):
                return None
            if offset not in known:
                text = said("addr2line", "-i", "-e", self.program, hex(offset)).stdout.splitlines()[0]
                known[offset] = re.sub(r" \(discriminator.*", "", os.path.basename(text))
            return known[offset]
        known = {}
        return name_of

    def same(self, what, rows, times, id_of):
        whole = sum(times.values())
        for name, time in times.items():
            if time < LEAST * whole or not id_of(name):
                continue
            row = rows.get(id_of(name))
            self.expect(row is not None, "%s: no row of %s among %r", what, name, sorted(rows))
            if row is None:
                continue
            self.expect(abs(row["useful"] - time) <= OFF * whole, "%s: %s: %r, expected %.6f s", what, name, row, time)
            self.expect(row["low"] <= row["share"] <= row["high"] and row["high"] - row["low"] < 0.2,
                        "%s: %s: interval %r", what, name, row)
            self.expect(abs(row["share"] - row["useful"] / whole) < 2 * OFF, "%s: %s: share %r", what, name, row)
            self.expect(row["min"] == row["median"] == row["max"] == row["useful"] and row["max_rank"] == 0,
                        "%s: %s: one rank: %r", what, name, row)
        self.expect(abs(sum(row["useful"] for row in rows.values()) - whole) < 1e-6 * whole,
                    "%s: the rows are not all of the useful time", what)

    def tables(self):
        functions = self.rows("function", "functions")
        times = self.times(self.by_symbol())
        for name in WORK:
            self.expect(times.get(name, 0) > 0, "no samples in %s: %r", name, times)
        self.same("function", functions, times, lambda name: name + " (shares.c)" if name in WORK else None)
        lines = self.times(self.by_line())
        self.same("line", self.rows("line", "lines"), lines, lambda name: name)
        loops = self.rows("loop", "loops")
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shares.c")) as source:
            text = source.read().splitlines()
        for name in WORK:
            line = text.index("WORK(%s)" % name) + 1
            row = loops.get("shares.c:%d-%d" % (line, line), {"useful": 0, "function": ""})
            self.expect(row["function"] == name and row["useful"] > 0.8 * times[name], "loop of %s: %r, expected %f s",
                        name, row, times[name])

    def paths(self):
        folded, scope = self.run + ".folded", self.run + ".json"
        for form, path in (("folded", folded), ("speedscope", scope)):
            said(self.settings.lull, "convert", "--to", form, self.run, path)
        whole = {thread: sum(weights.values()) for thread, weights in self.weights().items()}
        sums, leaves = {}, {}
        with open(folded) as lines:
            for line in lines:
                path, weight = line.rstrip("\n").rsplit(" ", 1)
                frames = path.split(";")
                thread = int(frames[0].rsplit(" ", 1)[1])
                self.expect(frames[0] == "rank 0 thread %d" % thread and len(frames) > 1, "folded: %s", line)
                sums[thread] = sums.get(thread, 0) + int(weight)
                leaves[frames[-1]] = leaves.get(frames[-1], 0) + int(weight)
        self.expect(sums == whole, "folded: %r, expected %r", sums, whole)
        name_of, truth = self.by_symbol(), {}
        for weights in self.weights().values():
            for (path, offset), weight in weights.items():
                name = name_of(path, offset)
                truth[name] = truth.get(name, 0) + weight
        for name in WORK:
            self.expect(leaves.get(name) == truth[name], "folded: %s: %r, expected %d", name, leaves, truth[name])
        with open(scope) as file:
            document = json.load(file)
        self.expect(document["$schema"] == "https://www.speedscope.app/file-format-schema.json", "speedscope: no schema")
        names = [frame["name"] for frame in document["shared"]["frames"]]
        self.expect(len(document["profiles"]) == len(whole), "speedscope: %d profiles", len(document["profiles"]))
        leaves = {}
        for profile in document["profiles"]:
            thread = int(profile["name"].rsplit(" ", 1)[1])
            self.expect((profile["type"], profile["unit"], profile["startValue"], profile["endValue"]) ==
                        ("sampled", "nanoseconds", 0, whole[thread]), "speedscope: %r", profile["name"])
            self.expect(len(profile["samples"]) == len(profile["weights"]) and sum(profile["weights"]) == whole[thread],
                        "speedscope: %s: weights", profile["name"])
            for sample, weight in zip(profile["samples"], profile["weights"]):
                leaves[names[sample[-1]]] = leaves.get(names[sample[-1]], 0) + weight
        for name in WORK:
            self.expect(leaves.get(name) == truth[name], "speedscope: %s: %r", name, leaves)

    def report(self):
        """The page has the source of functions, unless it is not wanted; the JSON of the report the heat map over time."""
        page = os.path.join(self.folder, "page.html")
        for options, there in ((), True), (("--no-source",), False):
            said(self.settings.lull, "report", self.run, "--no-prices", "-o", page, *options)
            with open(page) as file:
                section = file.read().partition('<section id="code"')[2].partition("</section>")[0]
            for name in WORK:
                self.expect(name + "</th>" in section, "report: no row of %s", name)
                self.expect(("<code>WORK(%s)" % name in section) == there, "report %s: source of %s", options, name)
        document = json.loads(said(self.settings.lull, "report", self.run, "--no-prices", "-f", "json").stdout)
        [matrix] = [matrix for matrix in document["matrices"] if matrix["id"] == "code_time:run"]
        shares = {}
        for row, column, share in matrix["entries"]:
            shares[column] = shares.get(column, 0) + share
        self.expect(len(matrix["columns"]) == 64 and shares and max(shares.values()) < 1 + 1e-9,
                    "report: heat map over time: %r", shares)
        self.expect(matrix["rows"][0] == "work_many", "report: heat map over time: %r", matrix["rows"])
        functions = {row["id"]: row["values"] for row in document["tables"]["functions:run"]["rows"]}
        self.expect(functions == {row["id"]: row["values"] for row in
                                  self.document("function")["tables"]["functions:run"]["rows"]}, "report: functions")

    def notes(self):
        """A file without symbols, another file, none; no samples."""
        notes = lambda: " ".join(note["text"] for note in self.document("function")["notes"])
        self.expect("have no names" not in notes() and "has no symbols" not in notes(), "names: %s", notes())
        kept = self.program + ".kept"
        os.rename(self.program, kept)
        self.expect("cannot be read" in notes() and self.program in notes(), "absent: %s", notes())
        self.expect("shares (not found)" in self.rows("line", "lines"), "absent: %r", self.rows("line", "lines").keys())
        shutil.copy(self.settings.lull, self.program)
        self.expect("not the one that was recorded" in notes(), "changed: %s", notes())
        self.expect("shares (changed since)" in self.rows("loop", "loops"), "changed: no row")
        subprocess.run(["strip", "-s", "-o", self.program, kept], check=True)
        self.expect("no symbols" in notes() and "strip" in notes(), "stripped: %s", notes())
        subprocess.run(["strip", "-g", "-o", self.program, kept], check=True)
        self.expect("lines are not" in notes(), "without lines: %s", notes())
        self.expect(any(name.startswith("work_many") for name in self.rows("line", "lines")), "without lines: no row")
        os.replace(kept, self.program)
        bare = os.path.join(self.folder, "bare")
        said(self.settings.lull, "record", "--force", "--sample", "off", "-o", bare, "--", "true")
        text = said(self.settings.lull, "metrics", "--by", "line", bare).stdout
        self.expect(" ".join(text.split()).count("unless told --sample off") == 1, "no samples: %s", text)
        done = said(self.settings.lull, "convert", "--to", "folded", bare, bare + ".folded", status=1)
        self.expect("unless told --sample off" in done.stderr and done.stderr.count("\n") == 1 and
                    not os.path.exists(bare + ".folded"), "no samples: %s", done.stderr)


    def replaced(self):
        """Code of a library that is closed, and in whose place another one is opened, is not taken for that one's, though
        nobody has looked at samples before. Each of the two computes for half of the time."""
        if not shutil.which("gcc"):
            print("left out: no gcc")
            return
        names = {}
        for name, text in (("one", LIBRARY % "one"), ("other", LIBRARY % "other"), ("program", OPENS)):
            source, names[name] = (os.path.join(self.folder, name + end) for end in (".c", ".so"))
            with open(source, "w") as file:
                file.write(text)
            said("gcc", "-g", "-O1", *(["-ldl"] if name == "program" else ["-shared", "-fPIC"]), source, "-o", names[name])
        self.run = os.path.join(self.folder, "replaced", "run")
        os.mkdir(os.path.dirname(self.run))
        same = said(self.settings.lull, "record", "--sample", "1000:1MiB", "-o", self.run, "--", names["program"],
                    names["one"], names["other"]).stdout
        functions = self.rows("function", "functions")
        share = functions.get("other (other.c)", {"share": 0})["share"]
        self.expect(share < 0.75, "replaced (%s): of other() is %.3f: %r", same.strip(), share, functions)


LIBRARY = """#include <time.h>
static volatile unsigned sink;
void %s(double seconds)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 50000; i++)
            sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}
"""
OPENS = """#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *code[2];
    for (int i = 0; i < 2 && argc == 3; i++) {
        void *library = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
        code[i] = dlsym(library, i ? "other" : "one");
        ((void (*)(double))code[i])(0.2);
        if (i == 0)
            dlclose(library);
    }
    puts(code[0] == code[1] ? "the same place" : "another place");
    return 0;
}
"""


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(parser.parse_args(), os.path.realpath(folder))
        if not any(check.weights().values()):
            print("skipped: the system takes no samples")
            return 77
        check.tables()
        check.paths()
        check.report()
        check.notes()
        check.replaced()
    for line in check.wrong[:30]:
        print("WRONG:", line)
    return 1 if check.wrong else 0


sys.exit(main())
