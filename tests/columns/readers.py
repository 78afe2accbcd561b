#!/usr/bin/env python3
"""Runs as Arrow tables in the programs that they are for: Arrow's own library, polars and DuckDB (in JavaScript, readers.js) and pandas
read what the tests' own reader reads, to the last value, and their sums are those of `lull metrics`.

usage: readers.py LULL TESTS; skipped (77) where none of them is there

Debian 12 and 13 have no package of them but pandas, which lacks pyarrow there. NODE_PATH names the modules of JavaScript (`npm install
apache-arrow nodejs-polars nodejs-polars-linux-x64-gnu @duckdb/duckdb-wasm` makes a folder node_modules), and LULL_TEST_PYTHON a
Python that has pandas and pyarrow."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LULL, TESTS = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(TESTS / "support"))
sys.dont_write_bytecode = True
import arrow  # noqa: E402

RUNS = ("tape/heat-faults", "tape/files-2x1", "tape/sampled-1x2", "planted/collectives.openmpi/run", "golden/threads2.prv")
# Tables of several batches.
LONG = ("simulate", "--pattern", "chain:ranks=16,exec=1ms,iterations=800", "--no-path", "-o")
PYTHON = os.environ.get("LULL_TEST_PYTHON", sys.executable)
IN_JAVASCRIPT = ("arrow", "polars", "duckdb")
# As the manual has it.
IN_PANDAS = """
import json, sys
try:
    import pandas, pyarrow
except ImportError as missing:
    print(missing)
    sys.exit(77)
folder, *names = sys.argv[1:]
for name in names:
    table = pandas.read_feather(f"{folder}/{name}.arrow")
    print(json.dumps({"table": name, "rows": len(table), "nulls": {column: int(table[column].isna().sum()) for column in table}}))
steps = pandas.read_feather(f"{folder}/steps.arrow")
steps["ns"] = steps["end"] - steps["begin"]
sums = steps.groupby("activity", observed=True)["ns"].sum()
print(json.dumps({"sums": {activity: str(ns) for activity, ns in sums.items()}}))
"""


def call(*arguments):
    done = subprocess.run([LULL, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"readers: {done.args}: {done.stderr}")
    return done.stdout


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"readers: {what}: {found}, expected {wanted}")


def told_by_metrics(run):
    """ns by activity of all threads."""
    told = collections.Counter()
    profile = json.loads(call("metrics", run, "--whole", "--force", "--no-replay", "--format", "json"))["runs"][0]["profile"]
    for thread in profile["threads"]:
        for activity, parts in thread["times"].items():
            told[activity] += sum(parts)
    return dict(+told)


def check_table(what, told, table):
    """What a program told of a table: all values, or how many there are and how many of them are null."""
    expect(f"{what}: columns", list(told.get("columns", told.get("nulls"))), list(table.columns))
    for name in table.columns:
        values = table.column(name)
        if "nulls" in told:
            expect(f"{what}: rows and nulls of {name}", (told["rows"], told["nulls"][name]), (table.rows, values.count(None)))
            continue
        found = told["columns"][name]
        wanted = [str(value) if isinstance(value, int) and not isinstance(value, bool) else value for value in values]
        at = next((i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1]), None)
        if at is not None or len(found) != len(wanted):
            sys.exit(f"readers: {what}: {name}: {len(found)} values, expected {len(wanted)}; row {at} is the first that differs")


def check(program, command, run, folder, tables, told):
    """Whether the program is there; if so, it reads all tables as they are."""
    done = subprocess.run([*command, str(folder), *tables], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    if done.returncode == 77:
        print(f"skipped: {program}: {done.stdout.strip()}")
        return False
    if done.returncode != 0:
        sys.exit(f"readers: {run}: {program}: {done.stderr[-4000:]}")
    *lines, last = map(json.loads, done.stdout.splitlines())
    expect(f"{run}: {program}: tables", [line["table"] for line in lines], list(tables))
    for line in lines:
        check_table(f"{run}: {program}: {line['table']}", line, tables[line["table"]])
    sums = {activity: int(ns) for activity, ns in last["sums"].items() if int(ns) and activity != "disabled"}
    expect(f"{run}: {program}: ns by activity", sums, told)
    return True


def main():
    node = shutil.which("node")
    programs = {name: [node, str(TESTS / "columns/readers.js"), name] for name in IN_JAVASCRIPT if node}
    programs["pandas"] = [PYTHON, "-B", "-c", IN_PANDAS]
    if not node:
        print("skipped: arrow, polars, duckdb: node was not found")
    for name in (*RUNS, "simulated"):
        with tempfile.TemporaryDirectory() as place:
            folder, run = pathlib.Path(place) / "tables", TESTS / "data" / name
            if name == "simulated":
                run = pathlib.Path(place) / name
                call(*LONG, run)
            call("convert", run, folder, "--to", "arrow")
            tables, told = arrow.tables(folder), told_by_metrics(run)
            expect(f"{name}: several batches", tables["events"].rows > 1 << 16, name == "simulated")
            programs = {program: command for program, command in programs.items()
                        if check(program, command, name, folder, tables, told)}
    print(f"{len(RUNS) + 1} runs read by: {', '.join(programs) or 'nothing'}")
    return 0 if programs else 77


sys.exit(main())
