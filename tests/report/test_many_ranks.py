#!/usr/bin/env python3
"""A run with more ranks than Linux lets a program map files: its waits are followed, its ideal runtime is
replayed, and all add up to what is known beforehand. A report leaves both out and says so, unless they are
asked for.

usage: test_many_ranks.py LULL

The run is simulated from a schedule that is written here. Ranks are pairs: the even one computes, and then sends
a message that takes no time, for which the odd one has been waiting all that time. The last pair exchanges
thousands of messages, so that its tapes are many times longer than what is read of them at a time."""

import json
import pathlib
import subprocess
import sys
import tempfile

LULL = pathlib.Path(sys.argv[1]).resolve()
PAIRS, MESSAGES, STEP = 33000, 6000, 250  # Linux allows 65,530 maps; STEP in ns
NETWORK = "loggops:L=0,o=0,g=0,G=0,O=0"


def delay(pair):
    """What the ranks of all pairs but the last compute, in ns."""
    return 1000 + pair


def write_schedule(path):
    with open(path, "w", encoding="ascii") as out:
        out.write(f"num_ranks {2 * PAIRS}\n")
        for pair in range(PAIRS - 1):
            out.write(f"rank {2 * pair} {{\nc: calc {delay(pair)}\ns: send 8b to {2 * pair + 1} tag 1\n"
                      f"s requires c\n}}\nrank {2 * pair + 1} {{\nr: recv 8b from {2 * pair} tag 1\n}}\n")
        sender, receiver = 2 * PAIRS - 2, 2 * PAIRS - 1
        out.write(f"rank {sender} {{\n")
        for i in range(MESSAGES):
            out.write(f"c{i}: calc {STEP}\ns{i}: send {8 + i}b to {receiver} tag {i % 7}\ns{i} requires c{i}\n")
            if i:
                out.write(f"c{i} requires s{i - 1}\n")
        out.write(f"}}\nrank {receiver} {{\n")
        for i in range(MESSAGES):
            out.write(f"r{i}: recv {8 + i}b from {sender} tag {i % 7}\n")
            if i:
                out.write(f"r{i} requires r{i - 1}\n")
        out.write("}\n")


def run(*arguments):
    return subprocess.run([LULL, *arguments], check=True, capture_output=True, text=True).stdout


def tables(command, *arguments):
    return json.loads(run(command, *arguments, "--format", "json"))["tables"]


def row(table, name):
    """The values of a row by the names of columns."""
    found = next(entry for entry in table["rows"] if entry["id"] == name)
    return dict(zip((column["id"] for column in table["columns"]), found["values"]))


def check_waits(metrics):
    """Each odd rank waits for as long as the even one computes."""
    delays = [delay(pair) for pair in range(PAIRS - 1)] + [MESSAGES * STEP]
    assert round(1e9 * row(metrics["mpi_time:pairs"], "all")["late sender"]) == sum(delays)
    waits = metrics["all_waits:pairs"]
    assert len(waits["rows"]) == PAIRS, len(waits["rows"])
    for pair in (0, 1, PAIRS // 2, PAIRS - 2, PAIRS - 1):
        wait = row(waits, f"{2 * pair}/compute/communication/late sender")
        assert round(1e9 * wait["time"]) == delays[pair], (pair, wait)
        assert wait["longest_rank"] == str(2 * pair + 1), (pair, wait)
    efficiencies = metrics["mpi_multiplicative"]
    for name in ("mpi_only_transfer", "mpi_only_serialisation"):  # on an ideal network all is as it was
        assert row(efficiencies, name)["pairs"] == 1, name


def check_bounded(document):
    """What needs memory for all ranks at once is left out, which is told with the option that asks for it."""
    notes = " ".join(note["text"] for note in document["notes"])
    assert f"pairs has {2 * PAIRS} threads: who made others wait and the runtime on an ideal network" in notes, notes
    assert "--waits --replay asks for that" in notes, notes
    efficiencies = document["tables"]["mpi_multiplicative"]
    assert isinstance(row(efficiencies, "mpi_only_load_balance")["pairs"], float), efficiencies
    assert not isinstance(row(efficiencies, "mpi_only_transfer")["pairs"], (int, float)), efficiencies
    assert not any(name.startswith("waits:") for name in document["tables"]), document["tables"].keys()


def check_report(report):
    """All messages have been read, of the longest tapes too."""
    received = row(report["messages:pairs"], "received")
    size = 8 * (PAIRS - 1) + sum(8 + i for i in range(MESSAGES))
    assert received == {"count": PAIRS - 1 + MESSAGES, "bytes": size}, received


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pairs = folder / "pairs"
        write_schedule(folder / "pairs.goal")
        run("simulate", folder / "pairs.goal", "--network", NETWORK, "--no-path", "-o", pairs)
        check_waits(tables("metrics", pairs, "--by", "wait"))
        bounded = json.loads(run("report", pairs, "--format", "json"))
        check_bounded(bounded)
        check_report(bounded["tables"])
        followed = tables("report", pairs, "--waits", "--replay")
        check_report(followed)
        assert len(followed["waits:pairs"]["rows"]) > 1
    print(f"{2 * PAIRS} ranks: waits, ideal runtime and messages as they must be")


if __name__ == "__main__":
    main()
