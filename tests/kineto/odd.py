#!/usr/bin/env python3
"""Runs whose devices contradict themselves, or lack something, in each format that has devices: made-up traces of PyTorch's profiler,
and what `lull convert` makes of them as tape, OTF2 and Paraver. No command fails, the time of each device adds up to the run's, and
what contradicts itself is told.

usage: odd.py LULL TESTS"""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

LULL, TESTS = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(TESTS / "support"))
sys.dont_write_bytecode = True
import kineto  # noqa: E402
from device_program import Program, region_of  # noqa: E402

SECONDS = 600  # for what hangs
FORMATS = {"tape": ".lull", "otf2": "", "paraver": ".prv"}
COMMANDS = (("info",), ("metrics",), ("metrics", "--by", "device"), ("metrics", "--by", "kernel"), ("metrics", "--by", "copy"),
            ("metrics", "--by", "stream"), ("metrics", "--by", "wait"), ("replay",))
EARLY = "begin before the calls that submit them"


def call(*arguments):
    return subprocess.run([LULL, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                          errors="backslashreplace", timeout=SECONDS, check=False)


def program(rank=0, ranks=1, streams=(7, 20)):
    """8 times: two kernels of 400 us and a copy of 100 us on each stream, and a wait for the device."""
    made = Program(rank=rank, ranks=ranks)
    for _ in range(8):
        made.compute(50_000)
        for stream in streams:
            made.launch(400_000, stream=stream)
            made.copy(100_000, stream=stream)
            made.launch(400_000, stream=stream)
        made.synchronise()
    return made


def moved(document, stream, us):
    """The clock of a stream is wrong by that."""
    for event in document["traceEvents"]:
        if event.get("tid") == stream and event.get("ph") == "X":
            event["ts"] += us
    return document


def of_device(event):
    return event.get("cat") in ("kernel", "gpu_memcpy")


class Odd(unittest.TestCase):
    def setUp(self):
        self.made = tempfile.TemporaryDirectory(prefix="lull-odd-")
        self.folder = pathlib.Path(self.made.name)
        self.run = self.folder / "run"
        self.run.mkdir()

    def tearDown(self):
        self.made.cleanup()

    def write(self, *documents):
        for rank, document in enumerate(documents):
            kineto.write(self.run / f"rank{rank}.json", document)

    def devices_of(self, run):
        """Of each device the kernels' time and all else, in s, and the run's length."""
        done = call("metrics", run, "--by", "device", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        tables = json.loads(done.stdout)["tables"]
        table = next((table for key, table in tables.items() if key.startswith("devices")), {"rows": [], "columns": []})
        columns = [(column["id"], column["unit"]) for column in table["columns"]]
        rows = [dict(zip((name for name, _ in columns), row["values"])) for row in table["rows"]]
        times = [name for name, unit in columns if unit == "s"]
        return rows, times

    def check_run(self, run, devices):
        """All commands end well; returns what they said."""
        said = ""
        for command in COMMANDS:
            done = call(command[0], run, *command[1:])
            self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
            said += done.stdout + done.stderr
        done = call("report", run, "-o", self.folder / "out.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        said += done.stdout + done.stderr
        rows, times = self.devices_of(run)
        self.assertEqual(len(rows), devices, rows)
        lengths = {round(sum(row[name] for name in times) * 1e9) for row in rows}
        self.assertLessEqual(len(lengths), 1, "the times of devices add up to different lengths")
        for row in rows:
            if row["kernels"]:
                self.assertAlmostEqual(row["kernels"] / row["share"], lengths.copy().pop() * 1e-9, places=9)
        return re.sub(r"\s+", " ", said)

    def in_all_formats(self):
        yield "kineto", self.run
        for name, suffix in FORMATS.items():
            run = self.folder / (name + suffix)
            done = call("convert", self.run, run, "--to", name)
            self.assertEqual(done.returncode, 0, done.stderr)
            yield name, run

    def check_all(self, devices, told=(), lost=()):
        """In each format, `told` is said; in those of `lost` it cannot be known."""
        for name, run in self.in_all_formats():
            with self.subTest(format=name):
                said = self.check_run(run, devices)
                for text in told:
                    self.assertEqual(text in said, name not in lost, f"{text!r} in {said}")

    def test_nothing_odd(self):
        self.write(program().maker.document())
        self.check_all(1)
        self.assertNotIn(EARLY, self.check_run(self.run, 1))

    def test_clocks_of_streams_apart(self):
        """3 ms: kernels of stream 20 begin before they are launched, or end behind the waits for them."""
        self.write(moved(program().maker.document(), 20, -3000))
        self.check_all(1, told=[EARLY])

    def test_clocks_of_streams_behind(self):
        self.write(moved(program().maker.document(), 20, 3000))
        self.check_all(1)

    def test_early_beyond_the_error(self):
        """Where the clock's error is not told, 1 us may be rounding."""
        for early, told in ((4, False), (40, True)):
            with self.subTest(early=early):
                made = Program(latency=-early * 1000 + 3000)
                for _ in range(4):
                    made.compute(500_000)
                    made.launch(300_000)
                    made.synchronise()
                self.write(made.maker.document())
                said = self.check_run(self.run, 1)
                self.assertEqual(EARLY in said, told)
                if told:
                    self.assertIn("4 operations of devices begin before", said)
                    self.assertIn("by up to 3.7e-05 s (smooth)", said)

    def test_overlap_on_a_stream(self):
        """The profiler's readers take such operations to a stream beside, which what is converted keeps."""
        document = program().maker.document()
        for event in document["traceEvents"]:
            if event.get("cat") == "gpu_memcpy":
                event["ts"] -= 50
        self.write(document)
        self.check_all(1, told=["operations of a stream overlap"], lost=list(FORMATS))

    def test_overlap_on_a_stream_of_paraver(self):
        self.run = self.folder / "overlap.prv"
        self.run.with_suffix(".row").write_text("LEVEL THREAD SIZE 2\nTHREAD 1.1.1\nCUDA-D1.S1-host\n")
        self.run.write_text("#Paraver (1/2/26 at 9:5):1000_ns:1(2):1:1(2:1)\n1:1:1:1:1:0:1000:1\n1:2:1:1:2:100:300:1\n"
                            "1:2:1:1:2:200:600:1\n")
        said = self.check_run(self.run, 1)
        self.assertIn("states of a thread overlap; the later one counts from its begin on", said)
        self.assertIn("line 4: CUDA-D1.S1-host", said)
        rows, _ = self.devices_of(self.run)
        self.assertEqual([row["kernels"] for row in rows], [5e-7])

    def test_overlap_on_a_stream_of_a_tape(self):
        """The recorder puts such operations on a stream beside. A tape on which the first kernel lasts three times as long as it did
        is damaged."""
        self.write(program().maker.document())
        tape = self.folder / "overlap.lull"
        self.assertEqual(call("convert", self.run, tape, "--to", "tape").returncode, 0)
        kernel = struct.pack("<I", 4 | region_of((tape / "definitions").read_bytes(), "smooth") << 10)
        changed = 0
        for file in tape.glob("*/*.tape"):
            records = bytearray(file.read_bytes())
            for at in range(0, len(records) - 16, 16):
                if records[at + 8:at + 12] == kernel and changed == 0:
                    duration, = struct.unpack_from("<I", records, at + 12)
                    struct.pack_into("<I", records, at + 12, 3 * duration)
                    changed += 1
            file.write_bytes(records)
        self.assertEqual(changed, 1)
        said = self.check_run(tape, 1)
        self.assertIn("damaged records are left out", said)
        self.assertIn("expected none inside of a call that lasts until", said)

    def test_devices_without_a_name(self):
        document = program().maker.document()
        del document["deviceProperties"]
        self.write(document)
        self.check_all(1)

    def test_ids_of_both_ranks_alike(self):
        """The ranks have the same process number, correlations, devices and streams; each has its own device all the same."""
        first = program(0, 2)
        second = program(1, 2, streams=(7,))
        documents = first.maker.document(), second.maker.document()
        for event in documents[1]["traceEvents"]:
            event["pid"] = first.maker.pid if event.get("pid") == second.maker.pid else event.get("pid")
            if event.get("tid") == second.maker.pid:
                event["tid"] = first.maker.pid
            if "correlation" in event.get("args", {}):
                event["args"]["correlation"] -= 1000
        self.assertEqual(documents[0]["traceEvents"][1]["args"]["correlation"], documents[1]["traceEvents"][1]["args"]["correlation"])
        self.write(*documents)
        self.check_all(2)
        rows, _ = self.devices_of(self.run)
        for row, made in zip(rows, (first, second)):
            events = [(event["ts"], event["ts"] + event["dur"]) for event in made.maker.document()["traceEvents"]
                      if event.get("cat") == "kernel"]
            union, until = 0, 0
            for begin, end in sorted(events):
                union += max(0, end - max(begin, until))
                until = max(until, end)
            self.assertAlmostEqual(row["kernels"], float(union) * 1e-6, places=9)

    def test_host_alone(self):
        document = program().maker.document()
        document["traceEvents"] = [event for event in document["traceEvents"] if not of_device(event)]
        self.write(document)
        self.check_all(0)

    def test_device_alone(self):
        """There are no efficiencies without a thread: one line says so. What ran is told all the same."""
        document = program().maker.document()
        document["traceEvents"] = [event for event in document["traceEvents"] if of_device(event)]
        self.write(document)
        for name, run in self.in_all_formats():
            with self.subTest(format=name):
                streams = json.loads(call("info", run, "--format", "json").stdout)["tables"]["streams"]
                ran = [row["values"][[column["id"] for column in streams["columns"]].index("kernels")] for row in streams["rows"]]
                self.assertEqual(ran, [16, 16])
                for command in (*COMMANDS[1:], ("report", "-o", self.folder / "out.html")):
                    done = call(command[0], run, *command[1:])
                    self.assertEqual(done.returncode, 1, command)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertIn(f"{run}: has no process with a CPU thread", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
