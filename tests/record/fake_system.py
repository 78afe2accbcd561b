"""What a folder that looks like a system says of memory (the process's status, its control groups of both versions, the
node) is what is recorded: the most of the process, what was swapped out, the limit, and the findings near the limit and of
swapping. Each has a twin in which nothing is found.

    fake_system.py --lull LULL --program FAKE_SYSTEM
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
UNIFIED = {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/memory.max": "%d\n" % (1024 * MIB)}
FIRST = {"proc/self/cgroup": "4:cpu,memory:/job\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "%d\n" % (1024 * MIB)}
# The files, the node's MiB, the process's most and what of it is swapped out, page faults that read a disk; the line of
# `lull info` holds the text, and these are the findings.
CASES = {
    "full group": (UNIFIED, 4096, 973, 0, 0, "973.0 MiB of 1.000 GiB that their control group may have on", ["memory_limit"]),
    "full group, version 1": (FIRST, 4096, 973, 0, 0, "1.000 GiB that their control group may have on", ["memory_limit"]),
    "half of a group": (UNIFIED, 4096, 512, 0, 0, "512.0 MiB of 1.000 GiB that their", []),
    "full node": ({"proc/self/cgroup": "0::/\n"}, 1024, 973, 0, 0, "973.0 MiB of 1.000 GiB on", ["memory_limit"]),
    "swaps": (UNIFIED, 4096, 512, 100, 50, "100.0 MiB were swapped out", ["swapping"]),
    "needs nothing of it": (UNIFIED, 4096, 512, 100, 0, "100.0 MiB were swapped out", []),
    "swaps little": (UNIFIED, 4096, 512, 4, 50, "4.000 MiB were swapped out", []),
}


def put(root, files):
    for path, text in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)


def told(lull, *words):
    return json.loads(subprocess.run([lull, *words, "--format", "json"], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    wrong = []
    for name, (files, node, most, swapped, faults, text, rules) in CASES.items():
        with tempfile.TemporaryDirectory() as root:
            run = os.path.join(root, "run")
            status = "Name:\tapp\nVmHWM:\t%8d kB\nVmRSS:\t%8d kB\nVmSwap:\t%8d kB\nvoluntary_ctxt_switches:\t1\n" % (
                1024 * most, 1024 * most // 2, 1024 * swapped)
            put(root, {**files, "proc/thread-self/status": status})
            environment = {**os.environ, "FAKE_ROOT": root, "FAKE_NODE": str(node * MIB), "FAKE_FAULTS": str(faults)}
            subprocess.run([settings.lull, "record", "-o", run, settings.program], check=True, capture_output=True,
                           env=environment)
            line = told(settings.lull, "info", run)["facts"].get("memory", "")
            found = [one for one in told(settings.lull, "report", run)["findings"]
                     if one["rule"] in ("memory_limit", "swapping")]
            if text not in line or [one["rule"] for one in found] != rules:
                wrong.append("%s: %r, findings %r" % (name, line, [one["sentence"] for one in found]))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
