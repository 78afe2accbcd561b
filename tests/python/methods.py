#!/usr/bin/env python3
"""The Python package against lull's own output, which is read here in other ways: CSV and text instead of JSON, messages
from a Paraver file, sums that must agree.

usage: methods.py LULL TESTS [--without-pandas]

--without-pandas hides pandas, so that methods return dictionaries of columns. Without the option pandas must be there, or
the test is skipped (77)."""

import collections
import csv
import io
import json
import math
import os
import numbers
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings

LULL, TESTS = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
WITHOUT = "--without-pandas" in sys.argv
if WITHOUT:
    sys.modules["pandas"] = None
else:
    try:
        import pandas
    except ImportError:
        print(f"skipped: {sys.executable} has no pandas")
        sys.exit(77)
sys.path.insert(0, str(TESTS.parent / "python"))
os.environ["LULL_PROGRAM"] = LULL
import lull  # noqa: E402

TAPES = TESTS / "data/tape"
PLANTED = TESTS / "data/planted"
RUNS = [TAPES / "heat-2x1", TAPES / "heat-faults", TAPES / "exchange-2x1", TAPES / "files-2x1", TAPES / "faults-1x2",
        PLANTED / "collectives.openmpi/run", PLANTED / "messages.openmpi/run", PLANTED / "threads.gcc/run"]
TRACES = pathlib.Path(os.environ.get("LULL_CONFORMANCE_DIR") or TESTS.parents[1] / "shared/traces")


def printed(*arguments):
    return subprocess.run([LULL, *map(str, arguments)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          encoding="utf-8").stdout


def tables_of(*arguments):
    """The tables that lull prints as CSV: by name, {column: texts}. A line of names stands above tables with the same
    columns, and a blank line below them."""
    tables, head = {}, None
    for row in csv.reader(io.StringIO(printed(*arguments, "--format", "csv"))):
        if not row or head is None:
            head = row or None
            continue
        table = tables.setdefault(row[0], {name: [] for name in head})
        for name, text in zip(head, row):
            table[name].append(text)
    return tables


def columns(frame):
    """A result as {column: list}, None where a value is absent: the same with and without pandas."""
    if WITHOUT:
        assert isinstance(frame, dict) and not hasattr(frame, "dtypes")
        return {name: list(values) for name, values in frame.items()}
    assert isinstance(frame, pandas.DataFrame)
    if frame.index.name is not None:
        frame = frame.reset_index()
    return {name: [None if not isinstance(value, (list, dict)) and pandas.isna(value) else value
                   for value in frame[name].tolist()] for name in frame.columns}


class Case(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", lull.LullWarning)

    def assert_cells(self, texts, values, where):
        """Texts of a CSV against values: the same numbers to the last digit."""
        self.assertEqual(len(texts), len(values), where)
        for text, value in zip(texts, values):
            if text == "":
                self.assertIn(value, (None, ""), where)
            elif isinstance(value, numbers.Real) and not isinstance(value, bool):
                self.assertEqual(float(text), float(value), where)
                self.assertFalse(isinstance(value, numbers.Integral) and int(text) != value, where)
            else:
                self.assertEqual(text, value, where)

    def assert_table(self, texts, frame, where):
        got = columns(frame)
        names = [name for name in texts if name != "table"]
        self.assertEqual([name for name in got if name not in ("parent", "unit")], names, where)
        for name in names:
            self.assert_cells(texts[name], got[name], f"{where}, {name}")


class Metrics(Case):
    def test_each_run(self):
        with_value = 0
        for run in RUNS:
            got = columns(lull.open(run).metrics())
            (name, texts), = tables_of("metrics", run).items()
            self.assertEqual(got["id"], texts["id"])
            self.assertEqual(set(got["table"]), {name})
            self.assertEqual(got["label"], texts["label"])
            self.assert_cells([column for key, column in texts.items() if key not in ("table", "id", "label")][0],
                              got["value"], run)
            for value, why in zip(got["value"], got["absent"]):
                self.assertTrue((value is None) == bool(why), (value, why))
                with_value += value is not None
        self.assertGreater(with_value, 50)

    def test_tree_is_that_of_the_text(self):
        """The depth of a label in lull's text is the number of parents."""
        run = TAPES / "heat-faults"
        got = columns(lull.open(run).metrics(scheme="multiplicative"))
        parent = dict(zip(got["id"], got["parent"]))
        seen = 0
        for line in printed("metrics", run, "--scheme", "multiplicative", "--color", "never").splitlines():
            found = re.match(r"([│├└─|+\\` -]*)(\S.*?)  +\S+$", line)
            label = found and found.group(2).split(" (GHz)")[0]
            if label in got["label"]:
                name, depth = got["id"][got["label"].index(label)], 0
                while parent[name] is not None:
                    name, depth = parent[name], depth + 1
                self.assertEqual(len(found.group(1)), 3 * depth, line)
                seen += 1
        self.assertEqual(seen, len(got["id"]))

    def test_raw_and_counters(self):
        run = TAPES / "exchange-2x1"
        got = columns(lull.open(run).metrics(raw=True, counters=True))
        tables = tables_of("metrics", run, "--raw", "--counters")
        self.assertEqual(list(dict.fromkeys(got["table"])), list(tables))
        for name, texts in tables.items():
            values = [value for value, table in zip(got["value"], got["table"]) if table == name]
            self.assert_cells(texts["exchange-2x1"], values, name)

    def test_several_runs(self):
        runs = [TAPES / "heat-2x1", TAPES / "heat-faults"]
        got = columns(lull.metrics(*runs, scaling="weak"))
        (_, texts), = tables_of("metrics", *runs, "--scaling", "weak").items()
        for name in texts:
            if name != "table":
                self.assert_cells(texts[name], got[name], name)
        self.assertNotIn("value", got)

    def test_why_values_of_several_runs_are_absent(self):
        """Only one of the two has counters."""
        runs = [TAPES / "heat-faults", TESTS / "data/paraver/hybrid.prv"]
        told = json.loads(printed("metrics", *runs, "--format", "json"))["tables"]["additive"]
        names = [column["id"] for column in told["columns"]]
        expected = {name: {row["id"]: row["absent"][at] for row in told["rows"] if row.get("absent", [None] * 2)[at]}
                    for at, name in enumerate(names)}
        self.assertEqual(lull.metrics(*runs).attrs["absent"], expected)
        self.assertNotEqual(expected[names[0]], expected[names[1]])

    def test_options_reach_lull(self):
        run = TAPES / "heat-faults"
        for options, words in (({"whole": True}, ["--whole"]), ({"window": (0.5, 1.0)}, ["--window", "0.5:1.0"]),
                               ({"window": "500ms:"}, ["--window", "500ms:"]), ({"region": "MPI_Waitall"},
                               ["--region", "MPI_Waitall"])):
            got = columns(lull.open(run, **options).metrics(raw=True))
            texts = tables_of("metrics", run, "--raw", *words)["raw"]["heat-faults"]
            values = [value for value, table in zip(got["value"], got["table"]) if table == "raw"]
            self.assert_cells(texts, values, options)


class By(Case):
    def test_each_part_of_each_run(self):
        compared = collections.Counter()
        for run in RUNS:
            for part in ("region", "callsite", "process", "thread", "file", "wait"):
                tables = {name.split(":")[0]: texts for name, texts in
                          tables_of("metrics", run, "--by", part).items() if ":" in name}
                opened = lull.open(run)
                if not tables:
                    with self.assertRaisesRegex(lull.LullError, f"no table by {part}\n(.|\n)*(file|call site)"):
                        opened.by(part)
                for name, texts in tables.items():
                    self.assert_table(texts, opened.by(part, name), (run, name))
                    compared[part] += len(texts["id"])
                if "all_waits" in tables:
                    self.assertEqual(columns(opened.by("wait"))["id"], tables["all_waits"]["id"])
                elif tables:
                    self.assertEqual(columns(opened.by(part))["id"], next(iter(tables.values()))["id"])
        for part, least in (("region", 50), ("callsite", 30), ("process", 10), ("thread", 20), ("file", 4),
                            ("wait", 300)):
            self.assertGreaterEqual(compared[part], least, part)

    def test_an_unknown_part_is_told_by_lull(self):
        asked = subprocess.run([LULL, "metrics", TAPES / "heat-2x1", "--by", "colour"], stderr=subprocess.PIPE,
                               encoding="utf-8")
        with self.assertRaises(lull.LullUsageError) as raised:
            lull.open(TAPES / "heat-2x1").by("colour")
        self.assertEqual(str(raised.exception), asked.stderr.strip())
        self.assertIn("expected region, callsite", str(raised.exception))
        self.assertIsInstance(raised.exception, ValueError)

    def test_an_unknown_table_lists_those_there_are(self):
        with self.assertRaisesRegex(lull.LullError, "no table colours by region, only regions, parallel_regions"):
            lull.open(TAPES / "heat-faults").by("region", "colours")


class Report(Case):
    def test_findings_are_those_of_the_text(self):
        run = TAPES / "heat-faults"
        got = columns(lull.open(run).findings())
        text = re.sub(r"\s+", " ", printed("report", run, "--color", "never"))
        at = 0
        for number, sentence in enumerate(got["sentence"], 1):
            at = text.index(f"{number}. {sentence}", at)
            at = text.index(got["cause"][number - 1], at)
            if got["gain_factor"][number - 1]:
                found = re.search(r"([0-9.]+)x as fast", text[at:])
                self.assertAlmostEqual(float(found.group(1)), got["gain_factor"][number - 1], delta=0.006)
            else:
                self.assertIn(got["gain_absent"][number - 1], text[at:])
            self.assertIn(got["next"][number - 1], text[at:])
        self.assertEqual(len(got["sentence"]), len(re.findall(r" \d+\. [A-Z0-9]", text.split(" Timeline of ")[0])))
        self.assertEqual(got["process"][0], 1)  # the planted one

    def test_columns_of_findings(self):
        seen = set()
        for run in (TAPES / "heat-faults", PLANTED / "collectives.openmpi/run", PLANTED / "threads.gcc/run"):
            got = columns(lull.open(run).findings())
            for number, told in enumerate(json.loads(printed("report", run, "--format", "json"))["findings"]):
                for name, values in got.items():
                    at = told["place"] if name in told["place"] else told
                    key = name[5:] if name.startswith("gain_") else name
                    expected = (told["gain"] if key != name else at).get(key)
                    self.assertEqual(values[number], expected, (run, number, name))
                    if expected is not None:
                        seen.add(name)
        self.assertLessEqual({"rule", "process", "site", "begin", "evidence", "gain_low", "gain_absent", "next"}, seen)

    def test_findings_without_prices(self):
        got = columns(lull.open(TAPES / "heat-faults").findings(prices=False))
        self.assertEqual(set(got["gain_seconds"]), {None})
        self.assertTrue(all(got["gain_absent"]))

    def test_bins_of_threads_add_up_to_their_breakdown(self):
        checked = 0
        for run in RUNS:
            opened = lull.open(run)
            texts = next(iter({name: texts for name, texts in tables_of("metrics", run, "--by", "thread").items()
                               if name.startswith("threads:")}.values()))
            for bins in (1, 8, 64):
                got = columns(opened.timeline(bins))
                one = [row for row in range(len(got["row"])) if got["row"][row] not in got["parent"]]
                got = {name: [values[row] for row in one] for name, values in got.items()}
                self.assertEqual(len(one), bins * len(texts["id"]), run)
                for activity in set(texts) - {"table", "id", "label", "share", "faults"}:
                    sums = collections.defaultdict(int)
                    for row, spent in zip(got["row"], got[activity]):
                        sums[row] += round(spent * 1e9)
                    self.assertEqual(list(sums.values()), [round(float(text or 0) * 1e9) for text in texts[activity]],
                                     (run, bins, activity))
                    checked += 1
        self.assertGreater(checked, 60)

    def test_rows_are_sums_of_their_children_and_bins_of_finer_bins(self):
        run = lull.open(TAPES / "heat-faults")
        fine, coarse = columns(run.timeline(64)), columns(run.timeline(16))
        activities = [name for name in fine if name not in ("row", "name", "kind", "parent", "leaves", "bin", "begin",
                                                            "end")]
        ns = {(row, at, name): round(value * 1e9) for name in activities
              for row, at, value in zip(fine["row"], fine["bin"], fine[name])}
        parents = {row: parent for row, parent in zip(fine["row"], fine["parent"])}
        for row in set(parents.values()) - {None}:
            for at in range(64):
                for name in activities:
                    self.assertEqual(ns[row, at, name],
                                     sum(ns[child, at, name] for child in parents if parents[child] == row))
        for name in activities:
            for row, at, value in zip(coarse["row"], coarse["bin"], coarse[name]):
                self.assertEqual(round(value * 1e9), sum(ns[row, 4 * at + part, name] for part in range(4)))
        self.assertEqual(coarse["begin"][:16], [fine["begin"][4 * at] for at in range(16)])
        self.assertEqual(coarse["end"][:15], coarse["begin"][1:16])
        for row, at, leaves, begin, end in zip(fine["row"], fine["bin"], fine["leaves"], fine["begin"], fine["end"]):
            self.assertEqual(sum(ns[row, at, name] for name in activities), leaves * round((end - begin) * 1e9))

    def test_bins_that_are_not_there(self):
        for bins in (0, 3, 100, 128):
            with self.assertRaisesRegex(ValueError, f"bins is {bins}, expected 1, 2, 4"):
                lull.open(TAPES / "heat-faults").timeline(bins)

    def test_messages_and_matrix_are_those_of_a_paraver_file(self):
        """Communications in Paraver's text are "3:", sender, its times, receiver, its times, size, tag."""
        for run in (TAPES / "heat-faults", TAPES / "exchange-2x1", PLANTED / "messages.openmpi/run"):
            with tempfile.TemporaryDirectory() as folder:
                printed("convert", run, f"{folder}/run.prv", "--to", "paraver")
                with open(f"{folder}/run.prv", encoding="utf-8") as lines:
                    sent = [list(map(int, line.split(":"))) for line in lines if line.startswith("3:")]
            opened = lull.open(run, whole=True)
            total = columns(opened.messages(total=True))
            self.assertEqual(total["id"], ["sent", "received"])
            self.assertEqual(total["count"], [len(sent)] * 2)
            self.assertEqual(total["bytes"], [sum(line[13] for line in sent)] * 2)
            classes = collections.Counter(1 << (line[13].bit_length() - 1) if line[13] else 0 for line in sent)
            sizes = columns(opened.messages())
            self.assertEqual(dict(zip(map(int, sizes["id"]), sizes["count"])), dict(classes))
            for layer, value in (("bytes", lambda line: line[13]), ("messages", lambda line: 1)):
                expected = collections.Counter()
                for line in sent:
                    expected[line[3] - 1, line[9] - 1] += value(line)
                got = columns(opened.matrix(layer))
                ranks = got.pop("sender")
                self.assertEqual(list(got), ranks)
                self.assertEqual({(rank, to): cell for to in got for rank, cell in zip(ranks, got[to]) if cell},
                                 dict(expected))
            self.assertGreater(len(sent), 3)

    def test_unknown_layer(self):
        with self.assertRaisesRegex(ValueError, "layer is 'colour', expected bytes, messages, wait"):
            lull.open(TAPES / "heat-faults").matrix("colour")

    def test_iterations(self):
        """heat-faults is a run of 20 iterations; rank 1 works longer in each, and rank 0 waits."""
        run = TAPES / "heat-faults"
        got = columns(lull.open(run).iterations())
        self.assertEqual(list(zip(got["rank"], got["iteration"])), [(rank, at) for rank in (0, 1) for at in range(20)])
        document = json.loads(printed("report", run, "--format", "json"))
        entries = [matrix for matrix in document["matrices"] if matrix["id"] == "iterations:heat-faults"][0]["entries"]
        for number, name in enumerate(("time", "work", "wait")):
            self.assertEqual(got[name], [entry[2 + number] for entry in entries])
        self.assertGreater(sum(got["work"][20:]), sum(got["work"][:20]))

    def test_a_run_without_messages(self):
        run = lull.open(TAPES / "faults-1x2")
        for ask in (run.messages, run.matrix, run.iterations):
            with self.assertRaisesRegex(lull.LullError, "faults-1x2"):
                ask()

    def test_page(self):
        run = lull.open(TAPES / "heat-faults")
        page = run.report()
        self.assertTrue(page.lower().startswith("<!doctype html>"))
        shown = run._repr_html_()
        self.assertIn("<iframe", shown)
        self.assertIn('sandbox="allow-scripts"', shown)
        self.assertNotIn("<script", shown)  # of the page, escaped
        with tempfile.TemporaryDirectory() as folder:
            run.report(f"{folder}/page.html")
            self.assertEqual(pathlib.Path(f"{folder}/page.html").read_text(encoding="utf-8"), page)

    def test_page_of_what_is_no_run(self):
        with tempfile.TemporaryDirectory() as folder:
            shown = lull.open(folder)._repr_html_()
        self.assertRegex(shown, "^<pre>lull report: /.*</pre>$")


class Others(Case):
    def test_waves(self):
        """One wave is planted: rank 5 is late by 20 ms in iteration 10, and 16 ranks pass it on one by one."""
        with tempfile.TemporaryDirectory() as folder:
            lull.simulate(pattern="chain:ranks=16,exec=1ms", network="hockney", delay="5@i10:20ms",
                          output=f"{folder}/wave")
            got = columns(lull.open(f"{folder}/wave").waves())
            document = json.loads(printed("wave", f"{folder}/wave", "--format", "json"))
        self.assertEqual([got["origin_rank"], got["origin_iteration"]], [[5], [10]])
        self.assertAlmostEqual(got["length_s"][0], 0.02, delta=1e-6)
        self.assertAlmostEqual(got["up_ranks_per_iteration"][0], 1, delta=0.11)
        self.assertEqual([got["up_ranks_reached"], got["down_ranks_reached"]], [[10], [5]])
        self.assertEqual(got["end_down_why"], ["boundary"])
        wave = document["waves"][0]
        self.assertEqual(got["down_ranks_per_second_high"], [wave["down"]["ranks_per_second"]["high"]])
        self.assertEqual(got["cost_s"], [wave["cost_s"]])

    def test_delays_of_two_ranks(self):
        run = PLANTED / "messages.openmpi/run"
        tables = tables_of("wave", run)
        if "delays" in tables:
            self.assert_table(tables["delays"], lull.open(run).waves(), run)
        else:
            self.assertEqual(columns(lull.open(run).waves()), {})

    def test_compare(self):
        a, b = TAPES / "heat-2x1", TAPES / "heat-faults"
        result = lull.compare(lull.open(a, force=True), lull.open(b, force=True))
        tables = tables_of("diff", "--force", a, "--", b)
        self.assertEqual(set(result), set(tables) - {"facts"})
        self.assert_table(tables["parts"], result["parts"], "parts")
        parts = columns(result["parts"])
        self.assertAlmostEqual(sum(parts["change"][:-1]), parts["change"][-1], delta=1e-9)
        self.assertAlmostEqual(result.facts["runtime_after"] / result.facts["runtime_before"] - 1,
                               result.facts["runtime_change"], delta=1e-9)
        runtime = columns(lull.open(b).metrics(raw=True))
        self.assertEqual(result.facts["runtime_after"], runtime["value"][runtime["id"].index("runtime")])

    def test_compare_lists(self):
        a, b = TAPES / "heat-2x1", TAPES / "heat-faults"
        result = lull.compare([lull.open(a, force=True)] * 2, [lull.open(b, force=True)] * 3)
        self.assert_table(tables_of("diff", "--force", a, a, "--", b, b, b)["parts"], result["parts"], "parts")

    def test_compare_refuses_what_was_opened_otherwise(self):
        with self.assertRaisesRegex(ValueError, "opened with different options.*whole=True"):
            lull.compare(lull.open(TAPES / "heat-2x1"), lull.open(TAPES / "heat-2x1", whole=True))

    def test_fit(self):
        source = TESTS / "data/fit/usl.csv"
        result = lull.fit(source, law=["usl", "amdahl"], at=[300, 500], confidence=90, extrapolate=True)
        tables = tables_of("fit", source, "--law", "usl,amdahl", "--at", "300,500", "--confidence", 90, "--extrapolate")
        self.assertIn("predictions", result)
        for name, frame in result.items():
            self.assert_table(tables[name], frame, name)
        self.assertIn("law", result.facts)
        with open(source, encoding="utf-8") as lines:
            measured = [float(line.split(",")[-1]) for line in lines if line[0].isdigit()]
        self.assertEqual(columns(result["points"])["measured"], measured)

    def test_simulate(self):
        result = lull.simulate(pattern="chain:ranks=8", seed=7, per_rank=True)
        tables = tables_of("simulate", "--pattern", "chain:ranks=8", "--seed", 7, "--per-rank")
        for name in ("ranks", "path"):
            self.assert_table(tables[name], result[name], name)
        ends = columns(result["rank_ends"])
        self.assertEqual(ends["rank"], list(range(8)))
        self.assertEqual(max(ends["end_ns"]), round(result.facts["runtime"] * 1e9))

    def test_sweep(self):
        result = lull.simulate(pattern="chain:ranks=4/8", network="hockney:latency=1us")
        self.assert_table(tables_of("simulate", "--pattern", "chain:ranks=4/8", "--network",
                                    "hockney:latency=1us")["sweep"], result["sweep"], "sweep")
        self.assertEqual(columns(result["rank_ends"])["point"], [0] * 4 + [1] * 8)

    def test_command(self):
        result = lull.command("replay", TAPES / "heat-faults", "--network", "ideal")
        tables = tables_of("replay", TAPES / "heat-faults", "--network", "ideal")
        self.assert_table(tables["replay"], result["replay"], "replay")
        self.assertEqual(result.document["schema"], "lull-replay/1")

    def test_info(self):
        result = lull.open(TAPES / "exchange-2x1").info()
        self.assert_table(tables_of("info", TAPES / "exchange-2x1")["events"], result["events"], "events")
        self.assertEqual(result.facts["processes"], 2)

    def test_arrow(self):
        sys.path.insert(0, str(TESTS / "support"))
        import arrow
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "-tables"
            paths = lull.open(TAPES / "heat-2x1").arrow(out)
            self.assertEqual(set(paths), {"events", "steps", "messages", "collectives", "samples", "locations", "regions",
                                          "call_sites"})
            sent = sum(moment is not None for moment in arrow.Table(paths["messages"]).column("sent"))
            self.assertEqual(sent, columns(lull.open(TAPES / "heat-2x1").info()["communication"])["count"][0])
            with self.assertRaisesRegex(lull.LullError, "exists already"):
                lull.open(TAPES / "heat-2x1").arrow(out)
            self.assertEqual(lull.open(TAPES / "heat-2x1").arrow(out, force=True), paths)

    @unittest.skipIf(WITHOUT, "types are those of pandas")
    def test_types(self):
        frame = lull.open(TAPES / "heat-faults").by("region")
        self.assertEqual([str(kind) for kind in frame.dtypes],
                         ["object", "object", "Int64", *["float64"] * 5])
        self.assertEqual(frame.attrs["units"]["exclusive"], "s")
        self.assertEqual(lull.open(TAPES / "heat-faults").metrics()["value"].dtype, "float64")
        findings = lull.open(TAPES / "heat-faults").findings()
        self.assertEqual([str(findings[name].dtype) for name in ("process", "gain_seconds", "gain_too_small")],
                         ["Int64", "float64", "boolean"])


class OthersTraces(Case):
    """Traces of others, where there are some."""

    def need(self, name):
        if not (TRACES / name).exists():
            print(f"skipped: {TRACES / name} is not here", flush=True)
            self.skipTest("it is not here")
        return TRACES / name

    def test_ping_pong_of_pipit(self):
        """What Pipit's own tests of comm_matrix and load (pipit/tests/trace.py) expect of this trace: 8 sends from each
        process, 4,177,920 bytes in all."""
        run = lull.open(self.need("pipit-pingpong-otf2-papi/traces.otf2"))
        self.assertEqual(columns(run.matrix("bytes")), {"sender": [0, 1], 0: [0, 4177920], 1: [4177920, 0]})
        self.assertEqual(columns(run.matrix("messages")), {"sender": [0, 1], 0: [0, 8], 1: [8, 0]})
        visits = columns(run.by("region"))
        self.assertEqual(visits["visits"][visits["label"].index("MPI_Send")], 16)

    def test_epoch(self):
        """As published (BSC basicanalysis): parallel efficiency = useful average / runtime, by 8 processes."""
        run = self.need("epoch-mpi/epoch_8proc.prv.gz")
        got = columns(lull.open(run).metrics(raw=True))
        (_, texts), *_ = tables_of("metrics", run).items()
        values = dict(zip(got["id"], got["value"]))
        self.assert_cells(texts["epoch_8proc"], got["value"][:len(texts["id"])], run)
        readme = (TRACES / "README.md").read_text(encoding="utf-8")
        published = [float(cell) for cell in re.search(r"^\| 8 \|(.*)\|$", readme, re.MULTILINE).group(1).split("|")]
        runtime, _, average, most = published[:4]
        for name, micros in (("runtime", runtime), ("useful_average", average), ("useful_maximum", most)):
            self.assertTrue(math.isclose(values[name], micros / 1e6, rel_tol=1e-6), (name, values[name], micros))
        self.assertTrue(math.isclose(values["parallel_efficiency"], average / runtime, rel_tol=1e-6))
        lines = columns(lull.open(run).by("process"))
        self.assertAlmostEqual(sum(lines["useful"]) / 8, average / 1e6, delta=1e-6)


class Calls(Case):
    """What happens between Python and the program."""

    def program(self, folder, text):
        path = pathlib.Path(folder) / "lull"
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def test_errors_are_the_line_of_lull(self):
        with tempfile.TemporaryDirectory() as folder:
            for ask, words in ((lambda run: run.metrics(), ["metrics"]), (lambda run: run.findings(), ["report"]),
                               (lambda run: run.waves(), ["wave"]), (lambda run: run.info(), ["info"])):
                told = subprocess.run([LULL, *words, folder], stderr=subprocess.PIPE, encoding="utf-8")
                with self.assertRaises(lull.LullError) as raised:
                    ask(lull.open(folder))
                self.assertEqual(str(raised.exception), told.stderr.strip())
                self.assertEqual(raised.exception.status, 1)
                self.assertIn(folder, raised.exception.command)

    def test_no_such_run(self):
        with self.assertRaisesRegex(lull.LullError, "^lull info: /no/run: cannot open: No such file or directory$"):
            lull.open("/no/run")

    def test_no_such_program(self):
        for ask in (lambda: lull.open(TAPES / "heat-2x1", lull="/no/lull"),
                    lambda: lull.simulate(pattern="chain", lull="/no/lull")):
            with self.assertRaisesRegex(lull.LullMissing, "^/no/lull: there is no such program"):
                ask()

    def test_warnings_point_to_the_caller(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lull.open(TAPES / "heat-faults").by("region")
        told = subprocess.run([LULL, "metrics", TAPES / "heat-faults", "--by", "region"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, encoding="utf-8").stderr.strip().splitlines()
        self.assertEqual([str(warning.message) for warning in caught], told)
        self.assertTrue(told)
        self.assertEqual({(warning.category, warning.filename) for warning in caught}, {(lull.LullWarning, __file__)})

    def test_names_of_any_bytes_and_beginning_with_a_dash(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.fsencode(folder) + b"/-\xff'$(false) \n"
            os.symlink(TAPES / "heat-2x1", name)
            there = os.getcwd()
            try:
                os.chdir(folder)
                for path in (name, os.path.basename(name)):
                    got = columns(lull.open(os.fsdecode(path)).metrics())
                    self.assertEqual(got["value"], columns(lull.open(TAPES / "heat-2x1").metrics())["value"])
            finally:
                os.chdir(there)

    def test_under_a_launcher_of_mpi(self):
        """Python is the third of four processes there, and its lull is nobody's member."""
        variables = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "job",
                     "PMI_RANK": "2", "PMI_SIZE": "4", "PMI_JOBID": "job"}
        alone = columns(lull.open(TAPES / "heat-2x1").metrics())
        os.environ.update(variables)
        try:
            self.assertEqual(columns(lull.open(TAPES / "heat-2x1").metrics()), alone)
        finally:
            for name in variables:
                del os.environ[name]

    def test_answers_that_are_none(self):
        for text, expected in (("exit 0", "its output is no JSON: expected"),
                               ("echo '{\"schema\": \"lull-metrics/2\"}'", "is lull-metrics/2, this package expects"),
                               ("echo '{\"schema\": \"lull-metrics/1\", '", "its output is no JSON: .*it ends there"),
                               ("echo '[1]'", "its output is no object"),
                               ("kill -KILL $$", "ended by signal 9"),
                               ("echo '{\"a\"'; echo 'lull metrics: the disk is full' >&2; exit 1",
                                "^lull metrics: the disk is full$")):
            with tempfile.TemporaryDirectory() as folder:
                run = lull.open(TAPES / "heat-2x1", lull=self.program(folder, text))
                with self.assertRaisesRegex(lull.LullError, expected):
                    run.metrics()

    def test_counts_that_no_double_holds(self):
        """Above 2^53 they are texts in lull's JSON."""
        values = [9007199254740993, 2**63 - 1, 2**64 - 1, 7, None]
        rows = [{"id": str(at), "label": "", "parent": None,
                 "values": [str(value) if value and value > 2**53 else value, value if value == 7 else None]}
                for at, value in enumerate(values)]
        document = {"schema": "lull-info/1", "facts": {}, "notes": [], "title": "", "tables": {"counters": {
            "title": "", "columns": [{"id": "count", "heading": "", "unit": "count"},
                                     {"id": "time", "heading": "", "unit": "s"}], "rows": rows}}}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "answer"
            for some in (rows, rows[:2], rows[3:]):
                document["tables"]["counters"]["rows"] = some
                path.write_text(json.dumps(document), encoding="utf-8")
                result = lull.open(TAPES / "heat-2x1", lull=self.program(folder, f"cat {path}\n")).info()
                got = columns(result["counters"])
                self.assertEqual(got["count"], [values[int(row["id"])] for row in some])
                self.assertTrue(not any(isinstance(value, float) for value in got["count"]))
                self.assertEqual(got["time"], [row["values"][1] for row in some])

    def test_much_chatter_blocks_nobody(self):
        """More than a pipe holds on stderr, before the answer."""
        with tempfile.TemporaryDirectory() as folder:
            script = f"head -c 300000 /dev/zero | tr '\\0' 'x' >&2\necho >&2\nexec {LULL} \"$@\"\n"
            run = lull.open(TAPES / "heat-2x1", lull=self.program(folder, script))
            self.assertEqual(columns(run.metrics())["value"], columns(lull.open(TAPES / "heat-2x1").metrics())["value"])

    def test_tables_that_would_be_too_large(self):
        """As lull never stops printing rows, Python stops reading them."""
        answer = '{"schema": "lull-metrics/1", "facts": {}, "notes": [], "tables": {"regions:a": {"rows": ['
        row = '{"id": "a", "label": "a", "values": [1]},'
        most = lull._program.MOST_ROWS
        self.assertEqual(most, 4000000)
        with tempfile.TemporaryDirectory() as folder:
            script = f"echo $$ > {folder}/pid\necho '{answer}'\nwhile :; do echo '{row}'; done\n"
            lull._program.MOST_ROWS = 1000
            try:
                with self.assertRaisesRegex(lull.LullError, r"^lull metrics: more than 1,000 rows: open a part of the run, .*window"):
                    lull.open(TAPES / "heat-2x1", lull=self.program(folder, script)).by("region")
            finally:
                lull._program.MOST_ROWS = most
            with self.assertRaises(ProcessLookupError):
                os.kill(int(pathlib.Path(f"{folder}/pid").read_text(encoding="utf-8")), 0)

    def test_a_matrix_that_would_be_too_large(self):
        names = [f"rank {rank}" for rank in range(10000)]
        matrix = {"id": "communication:a", "title": "", "rows": names, "columns": names, "entries": [[0, 1, 8]],
                  "layers": [{"id": "bytes", "unit": "B"}]}
        document = {"schema": "lull-report/1", "facts": {}, "notes": [], "title": "", "tables": {}, "matrices": [matrix]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "answer"
            path.write_text(json.dumps(document), encoding="utf-8")
            with self.assertRaisesRegex(lull.LullError, "10,000 x 10,000 cells are too many for a matrix: ask for nodes=True"):
                lull.open(TAPES / "heat-2x1", lull=self.program(folder, f"cat {path}\n")).matrix()

    def test_who_is_interrupted_leaves_no_lull_behind(self):
        """The answer never comes; Ctrl-C does."""
        with tempfile.TemporaryDirectory() as folder:
            script = f'echo $$ > {folder}/pid\nexec sleep 1000\n'
            run = lull.open(TAPES / "heat-2x1", lull=self.program(folder, script))

            def interrupt(*_):
                raise KeyboardInterrupt

            before = signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            try:
                with self.assertRaises(KeyboardInterrupt):
                    run.metrics()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            pid = int(pathlib.Path(f"{folder}/pid").read_text(encoding="utf-8"))
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
