#!/usr/bin/env python3
"""`lull report` says what other commands say of the same run: the trees and times of `lull metrics`, the
messages of `lull info`. And its pages and documents are the same for any number of workers.

usage: test_agreement.py LULL TESTS"""

import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

LULL = pathlib.Path(sys.argv[1]).resolve()
TESTS = pathlib.Path(sys.argv[2]).resolve()
CONFORMANCE = pathlib.Path(os.environ.get("LULL_CONFORMANCE_DIR") or TESTS / "../../shared/traces")
TREES = ("additive", "multiplicative", "mpi_additive", "mpi_multiplicative", "device")


def lull(*words):
    return json.loads(subprocess.run([LULL, *map(str, words), "--format", "json"], check=True,
                                     capture_output=True, text=True).stdout)


def rows_of(table):
    return {row["id"]: row["values"] for row in table["rows"]}


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(b))


def check_trees(report, metrics):
    """Both schemes, to the last digit."""
    for name in TREES:
        assert (name in report["tables"]) == (name in metrics["tables"]), name
        if name in report["tables"]:
            assert rows_of(report["tables"][name]) == rows_of(metrics["tables"][name]), name


def thread_id(row):
    """"rank 3 thread 1": "3.1"; "rank 3 stream 0": "3.d0"; a rank of one thread: "3.0"."""
    words = row["name"].split()
    if len(words) == 2:
        return words[1] + ".0"
    return words[1] + "." + ("d" if words[2] == "stream" else "") + words[3]


def check_cells(report, threads):
    """Cells of a leaf sum to the times of its thread; those of a parent are the sum of its children's."""
    timeline = report["timelines"][0]
    table = next(t for name, t in threads["tables"].items() if name.startswith("threads:"))
    columns = [column["id"] for column in table["columns"]]
    times = {row: dict(zip(columns, values)) for row, values in rows_of(table).items()}
    cells = {cell["row"]: cell for cell in timeline["cells"]}
    ids = [activity["id"] for activity in timeline["activities"]]
    for index, row in enumerate(timeline["rows"]):
        children = [i for i, child in enumerate(timeline["rows"]) if child["parent"] == index]
        for activity in ids:
            bins = cells[index].get(activity, [0] * 64)
            if row["leaf"] is not None and activity in columns:
                of_thread = times[thread_id(row)][activity]
                assert close(math.fsum(bins), of_thread or 0), (row, activity)
            for i in range(64 if children else 0):
                whole = math.fsum(cells[c].get(activity, [0] * 64)[i] for c in children)
                assert close(bins[i], whole), (row, activity, i)
    for i in range(64):
        length = (timeline["end"] - timeline["begin"]) / 64
        for index, row in enumerate(timeline["rows"]):
            total = math.fsum(cells[index].get(a, [0] * 64)[i] for a in ids)
            assert abs(total - row["leaves"] * length) <= 2e-9 * row["leaves"] + 1e-12, (row, i)


def check_messages(report, info):
    """Of runs that are analysed as a whole."""
    table = next((t for n, t in report["tables"].items() if n.startswith("messages:")), None)
    census = rows_of(info["tables"].get("communication", {"rows": []}))
    for name in ("sent", "received"):
        wanted = census.get(name, [0, 0])
        assert (rows_of(table)[name] if table else [0, 0]) == wanted, name
    sizes = next((t for n, t in report["tables"].items() if n.startswith("message_sizes:")), None)
    if sizes:
        assert sum(v[0] for v in rows_of(sizes).values()) == census["sent"][0]
    for matrix in report["matrices"]:
        if matrix["id"].startswith(("communication:", "node_communication:")) and not matrix["absent"]:
            assert sum(entry[3] or 0 for entry in matrix["entries"]) == census["sent"][0]
            assert sum(entry[2] or 0 for entry in matrix["entries"]) == census["sent"][1]


def check_nodes(report):
    """A chain of 40 ranks, 8 on each node, 20 iterations: neighbours send each other a message in each."""
    matrix = next(m for m in report["matrices"] if m["id"].startswith("node_communication:"))
    counts = {(row, column): count for row, column, _, count, _ in matrix["entries"]}
    assert counts == {(i, k): 2 * 7 * 20 if i == k else 20 for i in range(5) for k in range(5) if abs(i - k) <= 1}, counts


def check_files(report, files):
    """Runs with few files: the same table."""
    of = [{name: table["rows"] for name, table in each["tables"].items() if name.startswith("files:")}
          for each in (report, files)]
    assert of[0] == of[1], of
    return bool(of[0])


def page_of(run, workers, folder):
    """Of traces whose records of messages are incomplete, the number of times that this is told depends
    on when a replay notices: without one."""
    page = pathlib.Path(folder) / "page.html"
    options = ["--no-replay"] if "eztrace" in str(run) else []
    subprocess.run([LULL, "report", run, "--threads", str(workers), "-o", page, *options],
                   check=True, capture_output=True)
    return hashlib.sha256(page.read_bytes()).hexdigest()


def check(run, folder):
    options = ["--whole", "--force"]
    report = lull("report", run, *options)
    check_trees(report, lull("metrics", run, "--scheme", "all", *options))
    check_cells(report, lull("metrics", run, "--by", "thread", *options))
    check_files(report, lull("metrics", run, "--by", "file", *options))
    info = lull("info", run)
    if "applications" not in info["facts"]:
        check_messages(report, info)
    assert len({page_of(run, workers, folder) for workers in (1, 2, 5)}) == 1, "pages differ"


def main():
    runs = sorted((TESTS / "data/golden").glob("*.prv"))
    runs += sorted(CONFORMANCE.glob("*/*.prv.gz")) + sorted(CONFORMANCE.glob("*/*.prv"))
    features = rows_of(lull("info")["tables"]["features"])
    if features["OTF2"][0] == "yes":
        runs += sorted(CONFORMANCE.glob("*/*.otf2"))
    with tempfile.TemporaryDirectory() as folder:
        simulated = pathlib.Path(folder) / "simulated"
        subprocess.run([LULL, "simulate", "--pattern", "chain:ranks=40,iterations=20,exec=1ms",
                        "--placement", "block:cores-per-node=8", "--noise", "exponential:mean=100us", "-o", simulated], check=True,
                       capture_output=True)
        files = TESTS / "data/tape/files-2x1"
        assert check_files(lull("report", files), lull("metrics", files, "--by", "file")), "files of a recorded run"
        check_nodes(lull("report", simulated))
        for run in runs + [simulated]:
            if "flushing" in run.name and "golden" in str(run):
                continue  # is refused
            check(run, folder)
            print("agrees:", run.name, flush=True)


if __name__ == "__main__":
    main()
