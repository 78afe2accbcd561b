#!/usr/bin/env python3
"""Traces of the profilers of PyTorch and JAX, as lull reads them, beside an independent reading (tests/support/kineto.py): made-up runs of several
ranks in several forms, of which every call, operation, launch and byte is compared to the nanosecond; and damaged ones.

usage: runs.py LULL TESTS          the tests
       runs.py LULL TESTS FILE...  compares counts and times of these traces, and prints them (traces of others, by hand)"""

import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

LULL, TESTS = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(TESTS / "support"))
sys.dont_write_bytecode = True
import arrow  # noqa: E402
import kineto  # noqa: E402

SEED = os.environ.get("LULL_TEST_SEED", "1")
ROUNDS = int(os.environ.get("LULL_TEST_ROUNDS", "12"))
SECONDS = 600  # for what hangs


def call(*arguments):
    return subprocess.run([LULL, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                          errors="backslashreplace", timeout=SECONDS, check=False)


def told(run, command, *options):
    done = call(command, run, *options, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(document, table):
    found = document["tables"].get(table, {"rows": [], "columns": []})
    columns = [column["id"] for column in found["columns"]]
    return [{"label": row["label"], "id": row["id"], **dict(zip(columns, row["values"]))} for row in found["rows"]]


def spans_of(tables):
    """For each location its calls as (begin, end, name), from enter, leave and call; and what was submitted and run."""
    calls, submitted, ran = collections.defaultdict(list), [], []
    open_calls = collections.defaultdict(list)
    rows = tables["events"].rows_of("location", "time", "kind", "name", "duration", "value")
    for location, time, kind, name, duration, value in rows:
        if kind == "enter":
            open_calls[location].append((time, name))
        elif kind == "leave":
            begin, entered = open_calls[location].pop()
            assert entered == name
            calls[location].append((begin, time, name))
        elif kind == "call":
            calls[location].append((time, time + duration, name))
        elif kind == "submit":
            submitted.append((location, time, value))
        elif kind == "operation":
            ran.append((location, time, name, value))
    return calls, submitted, ran


def bare(name):
    """A function of Python without its place: "train.py(42): step"."""
    return name.split("): ", 1)[1] if name.split("(")[0].endswith(".py") else name


class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lull-kineto-"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def compare(self, run, profiles):
        """Everything that the profiles hold is in the run, and nothing else."""
        profiles = sorted(profiles, key=lambda profile: profile.rank)
        origin = min(span.begin for profile in profiles for span in profile.spans)
        tables_folder = self.folder / "tables"
        done = call("convert", run, tables_folder, "--to", "arrow")
        self.assertEqual(done.returncode, 0, done.stderr)
        tables = arrow.tables(tables_folder)
        calls, submitted, ran = spans_of(tables)
        kinds = {location: (rank, kind == "device stream") for location, rank, kind in
                 tables["locations"].rows_of("location", "rank", "kind")}
        found, expected = collections.Counter(), collections.Counter()
        for location, spans in calls.items():
            found.update((kinds[location], *span) for span in spans)
        for profile in profiles:
            for span in profile.spans:
                stream = span.kind in (kineto.KERNEL, kineto.COPY)
                name = bare(span.name) if span.kind == kineto.CODE else span.name
                expected[(profile.rank, stream), span.begin - origin, span.end - origin, name] += 1
        self.assertEqual(found - expected, expected - found)
        # which call has submitted what
        calls_of, operations = collections.Counter(), collections.Counter()
        for profile in profiles:
            starts = {span.correlation: span for span in profile.of(kineto.CALL) if span.correlation}
            used = {span.correlation for span in profile.of(kineto.KERNEL, kineto.COPY)}
            for number in used & set(starts):
                calls_of[profile.rank, starts[number].begin - origin, number] += 1
            for span in profile.of(kineto.KERNEL, kineto.COPY):
                by = starts[span.correlation].name if span.correlation in starts else None
                operations[profile.rank, span.begin - origin, by, span.correlation] += 1
        self.assertEqual(collections.Counter((kinds[at][0], time, number) for at, time, number in submitted), calls_of)
        self.assertEqual(collections.Counter((kinds[at][0], time, by, number) for at, time, by, number in ran), operations)
        self.compare_streams(run, profiles, tables)
        shutil.rmtree(tables_folder)
        return sum(operations.values()), sum(calls_of.values())

    def compare_streams(self, run, profiles, tables):
        """Counts, bytes and locations of `lull info`."""
        info = told(run, "info")
        self.assertEqual(info["facts"]["processes"], len(profiles))
        ranks = dict(tables["locations"].rows_of("location", "rank"))
        found = collections.Counter()
        for row in rows_of(info, "streams"):
            rank = ranks[int(row["id"])]
            found[rank, "kernels"] += row["kernels"]
            found[rank, "moves"] += row["moves"]
            found[rank, "bytes"] += row["bytes"]
        expected = collections.Counter()
        for profile in profiles:
            for span in profile.of(kineto.KERNEL, kineto.COPY):
                exchange = span.kind == kineto.KERNEL and span.name.startswith("nccl")
                expected[profile.rank, "moves" if exchange or span.kind == kineto.COPY else "kernels"] += 1
                expected[profile.rank, "bytes"] += span.bytes
        self.assertEqual(found, expected)


class Runs(Case):
    def test_drawn_runs(self):
        drawing = random.Random(SEED)
        print(f"LULL_TEST_SEED={SEED}", file=sys.stderr)
        operations = launches = 0
        for turn in range(ROUNDS):
            run = self.folder / f"run{turn}"
            run.mkdir()
            ranks = drawing.choice([1, 1, 2, 5])
            for rank in range(ranks):
                name = run / f"worker{rank}.pt.trace.json{drawing.choice(['', '.gz'])}"
                kineto.write(name, kineto.draw(drawing, rank, ranks), drawing if drawing.random() < 0.7 else None)
            profiles = [kineto.read(path) for path in run.iterdir()]
            path = next(run.iterdir()) if ranks == 1 and drawing.random() < 0.5 else run
            found = self.compare(path, profiles)
            operations, launches = operations + found[0], launches + found[1]
        self.assertGreater(min(operations, launches), 20 * ROUNDS)

    def test_drawn_runs_of_jax(self):
        drawing = random.Random(SEED)
        operations = 0
        for turn in range(ROUNDS):
            path = self.folder / f"{turn}.trace.json{drawing.choice(['', '.gz'])}"
            kineto.write(path, kineto.draw_jax(drawing), drawing if drawing.random() < 0.5 else None)
            profile = kineto.read(path)
            profile.rank = 0
            if profile.spans:
                operations += self.compare(path, [profile])[0]
        self.assertGreater(operations, 10 * ROUNDS)

    def test_kept_run(self):
        run = TESTS / "data/kineto/two-ranks"
        self.compare(run, [kineto.read(path) for path in run.iterdir()])

    def test_kept_run_is_what_its_script_writes(self):
        subprocess.run([sys.executable, TESTS / "kineto/make.py", self.folder], check=True, timeout=SECONDS)
        kept = TESTS / "data/kineto/two-ranks"
        self.assertEqual({path.name: kineto.read(path).spans for path in kept.iterdir()},
                         {path.name: kineto.read(path).spans for path in (self.folder / "two-ranks").iterdir()})

    def test_other_tools_formats_hold_the_same(self):
        """What `lull convert` makes of a run has the same devices, busy for as long."""
        run = TESTS / "data/kineto/two-ranks"
        call("convert", run, self.folder / "tape", "--to", "tape")
        one, two = (rows_of(told(path, "metrics", "--by", "device"), f"devices:{path.name}") for path in
                    (run, self.folder / "tape"))
        self.assertTrue(one)
        self.assertEqual(one, two)


def document(events="", head='"schemaVersion": 1, '):
    return '{%s"traceEvents": [%s]}' % (head, events)


SPAN = '{"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 10, "dur": 5}'


class Refused(Case):
    def refuse(self, content, *texts, name="a.json"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        done = call("info", path)
        self.assertEqual(done.returncode, 1, content)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in (str(path), *texts):
            self.assertIn(text, done.stderr)

    def test_what_is_wrong_is_told_with_its_place(self):
        good = document(SPAN)
        begin = good.index("{", 1)
        for wrong, *texts in [
            (good[:-1], f"byte {len(good) - 1}", "ends within"),
            (good[:begin + 20], f"byte {begin}", "ends within"),
            (good + "x", f"byte {len(good)}", "something follows"),
            (good.replace("10", "ten"), f"byte {begin}", '"ts"'),
            (good.replace("10", "1e30"), f"byte {begin}", '"ts"'),
            (good.replace(', "ts": 10', ""), f"byte {begin}", 'no "ts"'),
            (good.replace(', "dur": 5', ""), f"byte {begin}", 'no "dur"'),
            (good.replace('"dur": 5', '"dur": -5'), f"byte {begin}", "ends before it begins"),
            (good.replace('"ts": 10', '"ts": 9223372036854775'), f"byte {begin}", "beyond 64 bits"),
            (good.replace('"pid": 1, ', ""), f"byte {begin}", '"pid"'),
            (good.replace('"dur": 5', '"dur": 5, "args": {"a": [1}}'), "bracket"),
            (good.replace('"dur": 5', '"dur" 5'), "expected a colon"),
            (good.replace('"dur": 5', '"dur": '), "expected a value"),
            (good.replace("5}", "5} 7"), "expected a comma"),
            (good.replace('"dur": 5', '"dur": 5, "args": ' + 100 * "["), "nested more than 64 deep"),
            (document(""), "holds nothing"),
            (document(SPAN.replace("cpu_op", "blink")), "holds nothing"),
            ('{"schemaVersion": 1}', "no list of events"),
            ('{"schemaVersion": 1, "traceEvents": 5}', "expected the list of events"),
            (document(SPAN, '"baseTimeNanoseconds": "x", '), "baseTimeNanoseconds"),
        ]:
            self.refuse(wrong, *texts)

    def test_damaged_gzip(self):
        whole = self.folder / "whole.json.gz"
        kineto.write(whole, kineto.draw(random.Random(3)))
        content = whole.read_bytes()
        self.refuse(content[:len(content) // 2], "gzip data ends early", name="b.json.gz")
        self.refuse(content[:1000] + b"\xff\xff\xff\xff" + content[1004:], "gzip data is corrupt", name="c.json.gz")

    def test_ranks(self):
        """Two files of a rank; files of which some do not tell theirs; none tells it; some are missing."""
        def write(name, rank, world=3):
            text = document(SPAN, "" if rank is None else '"distributedInfo": {"rank": %d, "world_size": %d}, ' % (rank, world))
            (self.folder / name).write_text(text, encoding="utf-8")
        write("a.json", 1)
        write("b.json", 1)
        done = call("info", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("b.json: is of rank 1, and so is", done.stderr)
        write("b.json", None)
        done = call("info", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("b.json: does not tell its rank", done.stderr)
        write("a.json", None)
        done = call("info", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("numbered by their names", done.stdout)
        write("a.json", 0)
        write("b.json", 2)
        done = call("info", self.folder)
        self.assertIn("files of some ranks are missing", done.stdout)
        self.assertIn("2 of 3 ranks", done.stdout)

    def test_a_folder_of_other_files_is_none(self):
        (self.folder / "a.json").write_text('{"schema": "lull-machine/1"}', encoding="utf-8")
        done = call("info", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not recognised", done.stderr)


class Odd(Case):
    """What is survived, with a warning that counts it."""

    def look(self, events):
        path = self.folder / "a.json"
        path.write_text(document(",".join(events)), encoding="utf-8")
        info = told(path, "info")
        return {row["label"]: row["count"] for row in rows_of(info, "events")}, json.dumps(info), path

    def event(self, category, name, begin, end, pid=1, tid=1, **arguments):
        return json.dumps({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": end - begin,
                           "args": arguments})

    def test_calls_that_end_late_are_cut(self):
        counts, text, path = self.look([self.event("cpu_op", "f", 0, 10), self.event("cpu_op", "g", 5, 12),
                                        self.event("cpu_op", "h", 6, 11)])
        self.assertEqual((counts["enter"], counts["leave"], counts["call"]), (2, 2, 1))
        self.assertIn("calls end behind those around them", text)
        call("convert", path, self.folder / "tables", "--to", "arrow")
        calls, _, _ = spans_of(arrow.tables(self.folder / "tables"))
        self.assertEqual(sorted(calls[0]), [(0, 10000, "f"), (5000, 10000, "g"), (6000, 10000, "h")])

    def test_operations_at_one_time(self):
        counts, text, path = self.look([self.event("cpu_op", "f", 0, 10)] +
                                       [self.event("kernel", "k", 1 + i, 20, 0, 7, correlation=9) for i in range(3)])
        self.assertEqual((counts["call"], counts["operation"]), (4, 3))
        self.assertIn("stream 7 (3)", text)
        self.assertIn("have submitted operations of devices are missing", text)
        device, = rows_of(told(path, "metrics", "--by", "device"), "devices:a")
        self.assertEqual((device["kernels"], device["streams"]), (19e-6, 3))  # their union

    def test_two_calls_of_a_correlation(self):
        counts, text, _ = self.look([self.event("cuda_runtime", "cudaLaunchKernel", 0, 10, correlation=9),
                                     self.event("cuda_driver", "cuLaunchKernel", 2, 8, correlation=9),
                                     self.event("kernel", "k", 11, 20, 0, 7, correlation=9)])
        self.assertEqual(counts["submit"], 1)
        self.assertIn("the first one counts", text)

    def test_what_is_not_read(self):
        _, text, _ = self.look([self.event("cpu_op", "f", 0, 10), self.event("blink", "f", 0, 10),
                                self.event("blink", "f", 0, 10), '{"ph": "B", "pid": 1, "tid": 1, "ts": 1, "name": "x"}', "{}"])
        self.assertIn("of a category that is not known", text)
        self.assertIn("'blink'", text)
        self.assertIn("begin and end stand apart", text)

    def test_many_operations_at_one_time_are_refused(self):
        path = self.folder / "a.json"
        path.write_text(document(",".join(self.event("kernel", "k", i, 1000, 0, 7) for i in range(257))), encoding="utf-8")
        done = call("info", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stream 7 of device 0: more than 256 operations", done.stderr)


def compare_by_hand(path):
    """Counts and times by stream, and the number of calls by name, of a trace of others."""
    profile = kineto.read(path)
    info, found, expected = told(path, "info"), collections.Counter(), collections.Counter()
    for row in rows_of(info, "streams"):
        for key in ("kernels", "moves", "bytes"):
            found[key] += row[key]
        found["kernel ns"] += round(row["kernel_time"] * 1e9)
        found["move ns"] += round(row["move_time"] * 1e9)
    for span in profile.of(kineto.KERNEL, kineto.COPY):
        moves = span.kind == kineto.COPY or span.name.startswith("nccl")
        expected["moves" if moves else "kernels"] += 1
        expected["bytes"] += span.bytes
        expected["move ns" if moves else "kernel ns"] += span.end - span.begin
    events = {row["label"]: row["count"] for row in rows_of(info, "events")}
    found["calls"] = events.get("enter", 0) + events.get("call", 0)
    expected["calls"] = len(profile.spans)
    found["launches"] = events.get("submit", 0)
    calls = {span.correlation for span in profile.of(kineto.CALL)}
    expected["launches"] = len({span.correlation for span in profile.of(kineto.KERNEL, kineto.COPY)} & calls - {0})
    print(f"{'same' if +found == +expected else 'DIFFERENT'}: {path}: lull {dict(found)} | independent {dict(expected)}")
    return +found == +expected


if __name__ == "__main__":
    if len(sys.argv) > 3:
        sys.exit(not all([compare_by_hand(path) for path in sys.argv[3:]]))
    unittest.main(argv=sys.argv[:1])
