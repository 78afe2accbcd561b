#!/usr/bin/env python3
"""A trace of PyTorch's profiler of 1 GB: lull reads it in memory that the number of its spans bounds, not its size, and finds what
was written: each kernel, copy, call, byte and launch. In an address space of 1 GiB the file would not fit as a whole.

usage: long.py LULL [MEGABYTES]"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kineto  # noqa: E402

MIB = 1 << 20
# docs/formats/kineto.md, "How it is read": 32 bytes for each span, 8 more while they are sorted, 24 for each submission and,
# as arrays grow by half, half of that again.
BYTES_OF_SPAN, FIXED = 72, 32 * MIB


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def told(lull, *words):
    """What lull prints, and how much memory it had at most."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([lull, *words, "--format", "json"], stdout=out, preexec_fn=limit,
                                 env=dict(os.environ, LULL_THREADS="1"))
        _, status, usage = os.wait4(child.pid, 0)
        assert status == 0, (words, status)
        out.seek(0)
        return json.loads(out.read()), usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def rows_of(document, table):
    found = document["tables"][table]
    return [dict(zip((column["id"] for column in found["columns"]), row["values"]), label=row["label"]) for row in found["rows"]]


def main():
    lull, megabytes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    wrong = []
    with tempfile.TemporaryDirectory(prefix="lull-kineto-") as folder:
        path = os.path.join(folder, "long.json")
        held = kineto.write_long(path, megabytes * 1000_000)
        info, memory, seconds = told(lull, "info", path)
        size = os.path.getsize(path)
    most = FIXED + BYTES_OF_SPAN * held["spans"]
    print(f"{size / 1e6:.0f} MB, {held['spans']} spans: {memory / MIB:.0f} MiB, at most {most / MIB:.0f}; "
          f"{seconds:.2f} s of processor time")
    if memory > most:
        wrong.append("it takes more memory")
    streams, events = rows_of(info, "streams"), {row["label"]: row["count"] for row in rows_of(info, "events")}
    found = {"kernels": sum(row["kernels"] for row in streams), "copies": sum(row["moves"] for row in streams),
             "kernels ns": round(1e9 * sum(row["kernel_time"] for row in streams)),
             "copies ns": round(1e9 * sum(row["move_time"] for row in streams)), "bytes": sum(row["bytes"] for row in streams),
             "launches": events["submit"], "spans": events.get("call", 0) + events.get("enter", 0)}
    wrong += [f"{key}: {found[key]}, not {held[key]}" for key in found if found[key] != held[key]]
    print("\n".join(wrong) or "as written")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
