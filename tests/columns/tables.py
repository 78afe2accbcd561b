#!/usr/bin/env python3
"""Runs as Arrow tables, read by a reader that shares nothing with lull, beside what lull itself says of these runs: the counts of `lull
info`, and the nanoseconds of `lull metrics`. And what can go wrong when tables are written.

usage: tables.py LULL TESTS

Traces of others come from LULL_CONFORMANCE_DIR, as everywhere; without them only runs of lull's own are looked at."""

import collections
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

LULL, TESTS = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(TESTS / "support"))
sys.dont_write_bytecode = True
import arrow  # noqa: E402

DATA = TESTS / "data"
TRACES = pathlib.Path(os.environ.get("LULL_CONFORMANCE_DIR") or TESTS.parents[1] / "shared/traces")
OWN = [DATA / "tape/heat-2x1", DATA / "tape/heat-faults", DATA / "tape/exchange-2x1", DATA / "tape/files-2x1",
       DATA / "tape/faults-1x2", DATA / "tape/sampled-1x2", DATA / "planted/collectives.openmpi/run",
       DATA / "planted/messages.openmpi/run", DATA / "planted/threads.gcc/run", DATA / "golden/mpi2.prv",
       DATA / "golden/omp2.prv", DATA / "golden/threads2.prv", DATA / "golden/two-programs.prv"]
OTHERS = ["pipit-pingpong-otf2-papi/traces.otf2", "eztrace-mpi4-jacobi/eztrace_log.otf2",
          "eztrace-hybrid2x2-pomp-jacobi/eztrace_log.otf2", "sstmacro-scorep-mpi10-otf2/traces.otf2",
          "casita-cuda-simple/traces.otf2", "epoch-mpi/epoch_1proc.prv.gz", "epoch-mpi/epoch_4proc.prv.gz",
          "imagemagick-omp/omp4.prv.gz"]
TABLES = {"events", "steps", "messages", "collectives", "samples", "locations", "regions", "call_sites"}
SECONDS = 600  # for what hangs


def call(*arguments, **more):
    return subprocess.run([LULL, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                          errors="backslashreplace", timeout=SECONDS, check=False, **more)


def document(*arguments):
    done = call(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def counts_of(document, table, column):
    found = document["tables"].get(table)
    if not found:
        return {}
    at = [column["id"] for column in found["columns"]].index(column)
    return {row["id"]: row["values"][at] for row in found["rows"]}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lull-columns-"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def convert(self, run, *options, status=0, **more):
        done = call("convert", run, self.folder / "tables", "--to", "arrow", *options, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done


class Runs(Case):
    def runs(self):
        yield from OWN
        for name in OTHERS:
            if (TRACES / name).exists():
                yield TRACES / name

    def test_tables_say_what_lull_says(self):
        looked = 0
        for run in self.runs():
            with self.subTest(run=str(run)):
                done = call("convert", run, self.folder / "tables", "--to", "arrow")
                if done.returncode and "built without" in done.stderr:
                    print(f"skipped: {run.name}: {done.stderr.strip()}", flush=True)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                looked += 1
                try:
                    self.check_run(run, arrow.tables(self.folder / "tables"))
                finally:
                    shutil.rmtree(self.folder / "tables")
        self.assertGreaterEqual(looked, len(OWN))

    def check_run(self, run, tables):
        self.assertEqual(set(tables), TABLES)
        for name, table in tables.items():
            self.assertEqual(table.notes["lull.schema"], "lull-arrow/1", name)
            for column, (kind, _, _, _) in table.columns.items():
                self.assertIn(kind, ("int64", "uint64", "int32", "bool", "dictionary"), (name, column))
        applications = max(tables["locations"].column("application")) + 1
        info = document("info", run)
        self.check_definitions(tables)
        self.check_events(tables, info)
        self.check_operations(tables, info)
        for application in range(applications):
            found = document("metrics", run, "--whole", "--force", "--no-replay", "--by", "region",
                             *(["--application", application + 1] if applications > 1 else []))
            self.check_steps(tables, application, found["runs"][0]["profile"])

    def check_definitions(self, tables):
        locations, regions, sites = (tables[name] for name in ("locations", "regions", "call_sites"))
        self.assertEqual(locations.column("location"), list(range(locations.rows)))
        self.assertEqual(regions.column("region"), list(range(regions.rows)))
        self.assertEqual(sites.column("call_site"), list(range(sites.rows)))
        at = [(site, region) for region, site in regions.rows_of("region", "call_site") if site is not None]
        self.assertEqual(at, list(sites.rows_of("call_site", "region")))
        names = regions.column("name")
        for region, name, whole in sites.rows_of("region", "name", "whole"):
            self.assertEqual(name, names[region])
            self.assertTrue(whole is None or names[whole] == name)
        users = {name for name, user in regions.rows_of("name", "user") if user}
        for table, columns in (("steps", ("region", "name")), ("samples", ("region", "name")),
                               ("messages", ("send_region", "send_name")), ("messages", ("receive_region", "receive_name")),
                               ("collectives", ("region", "name"))):
            for region, name in tables[table].rows_of(*columns):
                self.assertEqual(name, None if region is None else names[region], table)
        for table in ("steps", "samples"):
            self.assertLessEqual(set(tables[table].column("user")), users | {None})
        weights = tables["samples"].column("weight")
        self.assertEqual(weights, [value for kind, value in tables["events"].rows_of("kind", "value") if kind == "sample"])

    def check_events(self, tables, info):
        """As many of each kind as lull counts; a reading of several counters has several rows at one time."""
        told, readings = counts_of(info, "events", "count"), collections.Counter(counts_of(info, "counters", "readings"))
        told.pop("total")
        told.pop("counters", None)
        kinds, read, last = collections.Counter(), collections.Counter(), {}
        names = tables["regions"].column("name")
        for location, time, kind, number, name, value in tables["events"].rows_of("location", "time", "kind", "id", "name",
                                                                                 "value"):
            self.assertLessEqual(last.get(location, 0), time)
            last[location] = time
            if kind == "counters":
                read[name] += 1
                self.assertIsNotNone(value)
            else:
                kinds[kind] += 1
            if kind in ("enter", "leave", "call"):
                self.assertEqual(name, names[number])
        self.assertEqual({kind.replace(" ", "_"): count for kind, count in kinds.items()},
                         {kind.replace(" ", "_"): count for kind, count in told.items() if count})
        self.assertEqual(read, +readings)

    def check_operations(self, tables, info):
        told, bytes_told = counts_of(info, "communication", "count"), counts_of(info, "communication", "bytes")
        sent = received = size = 0
        channels = collections.defaultdict(list)
        for source, target, comm, tag, count, began, begin, end in tables["messages"].rows_of(
                "source", "target", "communicator", "tag", "bytes", "sent", "receive_began", "received"):
            sent += began is not None
            received += end is not None
            size += count if began is not None else 0
            self.assertTrue(begin is None or begin <= end)
            channels[source, target, comm, tag].append((began, end))
        self.assertEqual((sent, received), (told.get("sent", 0), told.get("received", 0)))
        self.assertEqual(size, bytes_told.get("sent", 0))
        operations, groups = collections.Counter(), collections.defaultdict(set)
        for process, operation, series, instance, began, end in tables["collectives"].rows_of(
                "process", "operation", "series", "instance", "began", "ended"):
            operations[operation] += 1
            self.assertTrue(began is None or began <= end)
            if series is not None:
                self.assertNotIn(process, groups[series, instance])
                groups[series, instance].add(process)
        known = {name: count for name, count in told.items() if name not in ("sent", "received", "rma", "io")}
        self.assertEqual({name: count for name, count in operations.items() if name}, known)

    def check_steps(self, tables, application, profile):
        """Every nanosecond of every thread, and of every region, is where `lull metrics` has it."""
        places = {location: (rank, thread, kind) for location, rank, thread, kind, of in tables["locations"].rows_of(
            "location", "rank", "thread", "kind", "application") if of == application}
        times, regions, useful = collections.Counter(), collections.Counter(), collections.Counter()
        last = dict.fromkeys(places, 0)
        for location, begin, end, activity, parallel, name in tables["steps"].rows_of(
                "location", "begin", "end", "activity", "parallel", "name"):
            if location not in places:
                continue
            self.assertEqual(begin, last[location])
            last[location] = end
            rank, thread, kind = places[location]
            times[rank, thread, "device" if kind == "device stream" else kind, activity, parallel] += end - begin
            if name is not None and activity != "disabled":
                regions[name] += end - begin
                if activity == "useful":
                    useful[name] += end - begin
        self.assertEqual(set(last.values()), {int(tables["steps"].notes["lull.duration"])})
        told = collections.Counter()
        for thread in profile["threads"]:
            key = thread["rank"], thread["number"], thread["kind"]
            for activity, parts in thread["times"].items():
                for parallel, ns in enumerate(parts):
                    told[(*key, activity, bool(parallel))] += ns
        self.assertEqual({key: ns for key, ns in times.items() if ns and key[3] != "disabled"}, +told)
        exclusive, of_region, visits = collections.Counter(), collections.Counter(), collections.Counter()
        for region in profile["regions"]:
            exclusive[region["name"]] += region["exclusive_ns"]
            of_region[region["name"]] += region["useful_ns"]
            visits[region["name"]] += region["visits"]
        self.assertEqual(+regions, +exclusive)
        self.assertEqual(+useful, +of_region)
        entered = collections.Counter()
        for location, kind, name, op, value in tables["events"].rows_of("location", "kind", "name", "op", "value"):
            if location in places and kind in ("enter", "call"):
                entered[name] += value if op == "several calls" else 1
        self.assertEqual(+entered, +visits)


class Folders(Case):
    """The folder appears whole or not at all, and replaces nothing but its like."""

    RUN = DATA / "tape/heat-2x1"

    def entries(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_same_bytes_each_time(self):
        self.convert(self.RUN)
        (self.folder / "tables").rename(self.folder / "first")
        self.convert(self.RUN, env={**os.environ, "LULL_THREADS": "3"})
        for name in TABLES:
            self.assertEqual((self.folder / f"first/{name}.arrow").read_bytes(),
                             (self.folder / f"tables/{name}.arrow").read_bytes(), name)

    def test_existing_folder(self):
        self.convert(self.RUN)
        before = (self.folder / "tables/steps.arrow").stat().st_ino
        said = self.convert(self.RUN, status=1).stderr
        self.assertEqual(said, f"lull convert: {self.folder}/tables: exists already\n")
        self.assertEqual((self.folder / "tables/steps.arrow").stat().st_ino, before)
        self.convert(self.RUN, "--force")
        self.assertNotEqual((self.folder / "tables/steps.arrow").stat().st_ino, before)
        (self.folder / "tables/thesis.tex").write_text("years of work")
        said = self.convert(self.RUN, "--force", status=1).stderr
        self.assertEqual(said, f"lull convert: {self.folder}/tables: holds 'thesis.tex', which is no table, so the folder is "
                               "not replaced\n")
        self.assertEqual((self.folder / "tables/thesis.tex").read_text(), "years of work")
        self.assertEqual(self.entries(), ["tables"])

    def test_file_of_that_name(self):
        (self.folder / "tables").write_text("notes")
        self.convert(self.RUN, status=1)
        self.assertEqual((self.folder / "tables").read_text(), "notes")
        self.convert(self.RUN, "--force")
        self.assertEqual({path.stem for path in (self.folder / "tables").iterdir()}, TABLES)
        self.assertEqual(self.entries(), ["tables"])

    def test_run_itself_is_not_replaced(self):
        copy = self.folder / "tables"
        shutil.copytree(self.RUN, copy)
        said = self.convert(copy, "--force", status=1).stderr
        self.assertIn("is not replaced", said)
        self.assertEqual(sorted(path.name for path in copy.iterdir()), sorted(path.name for path in self.RUN.iterdir()))

    def test_no_room(self):
        """No file may grow beyond so many bytes: from none of the tables to most of the largest one."""
        self.convert(self.RUN)
        largest = max(path.stat().st_size for path in (self.folder / "tables").iterdir())
        shutil.rmtree(self.folder / "tables")
        for limit in (0, 100, 5000, largest // 2, largest - 1):

            def limited(limit=limit):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            said = self.convert(self.RUN, status=1, preexec_fn=limited).stderr
            self.assertRegex(said, rf"^lull convert: {self.folder}/tables/\w+\.arrow: cannot write: File too large\n$")
            self.assertEqual(self.entries(), [])
        self.convert(self.RUN, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)))

    def test_no_events(self):
        """A profile is no run."""
        profile = self.folder / "profile"
        done = call("metrics", self.RUN, "--format", "json")
        self.assertEqual(done.returncode, 0)
        profile.write_text(json.dumps(json.loads(done.stdout)["runs"][0]["profile"]))
        said = call("convert", profile, self.folder / "tables", "--to", "arrow")
        self.assertEqual(said.returncode, 1)
        self.assertEqual(said.stderr.count("\n"), 1)
        self.assertEqual(self.entries(), ["profile"])


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main(verbosity=1)
