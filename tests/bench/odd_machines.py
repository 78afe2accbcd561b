#!/usr/bin/env python3
"""lull bench on machines that lack something: what can be measured is, and the rest is said.

usage: odd_machines.py --lull PROGRAM --case CASE

  one-core        bound to one core: numbers of one thread, no messages
  no-mpi          no launcher of MPI programs: the other benchmarks run
  hidden-caches   the system tells nothing of caches: sizes from the processor itself, or a remark
  little-memory   256 MiB of address space: smaller working sets, or a remark
  cannot-write    outputs that cannot be written are refused before anything is measured
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

SECONDS = 600
QUICKLY = ["bench", "--quick", "--precision", "100"]


def check(condition, what):
    if not condition:
        sys.exit("not so: %s" % what)


def run(command, status=0, limit=None, **variables):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False,
                          preexec_fn=limit, env=dict(os.environ, **variables))
    if done.returncode != status:
        sys.exit("%s: status %d\n%s%s" % (command, done.returncode, done.stdout, done.stderr))
    return done


def measure(options, *names, **how):
    with tempfile.TemporaryDirectory(prefix="lull-bench-") as folder:
        path = os.path.join(folder, "machine.json")
        run([options.lull] + QUICKLY + list(names) + ["-o", path], **how)
        with open(path) as file:
            return json.load(file)


def remarks(machine):
    return machine["provenance"].get("remarks", [])


def check_one_core(options):
    first = min(os.sched_getaffinity(0))
    machine = measure(options, "clock", "load", "mpi",
                      limit=lambda: os.sched_setaffinity(0, {first}))
    names = set(machine["numbers"])
    check(machine["cpu"]["cores"] == 1, "one core: %s" % machine["cpu"])
    check(names >= {"clock.effective", "memory.load.1"}, "there are numbers: %s" % names)
    check(not any(name.endswith(".2") for name in names), "of one thread: %s" % names)
    check(any("on one core" in remark for remark in remarks(machine)),
          "messages are refused: %s" % remarks(machine))


def check_no_mpi(options):
    machine = measure(options, "mpi", "clock", PATH="/nowhere")
    check("clock.effective" in machine["numbers"], "the clock is measured")
    check(any(remark.startswith("MPI") for remark in remarks(machine)),
          "MPI has a remark: %s" % remarks(machine))


def check_hidden_caches(options):
    machine = measure(options, "load", HWLOC_SYNTHETIC="core:1 pu:1", HWLOC_THISSYSTEM="1")
    sources = {cache["source"] for cache in machine.get("caches", [])}
    check(sources <= {"cpuid"}, "nobody else knows sizes: %s" % sources)
    check(sources or any("hidden" in remark for remark in remarks(machine)),
          "hidden sizes have a remark: %s" % remarks(machine))
    check("memory.load.1" in machine["numbers"], "memory is measured")


def check_little_memory(options):
    def limit():
        # Less than four times the caches of a server, and lull itself has to fit.
        resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
    machine = measure(options, "load", "clock", limit=limit)
    numbers = machine["numbers"]
    check("clock.effective" in numbers, "the clock is measured")
    limited = "limited" in numbers.get("memory.load.1", {}).get("note", "")
    check(limited or any("too little" in remark for remark in remarks(machine)),
          "the limit is said: %s" % remarks(machine))


def check_cannot_write(options):
    for option in ("--output", "--noise-trace", "--charts"):
        # What is measured fails too, and would say so first.
        done = run([options.lull] + QUICKLY + ["mpi", option, "/nowhere/at/all"], status=1,
                   PATH="/nowhere")
        check(done.stdout == "" and done.stderr.count("\n") == 1, "one line: %s" % done.stderr)
        check("/nowhere/at/all" in done.stderr, "that names the place: %s" % done.stderr)


def main():
    cases = {"one-core": check_one_core, "no-mpi": check_no_mpi,
             "hidden-caches": check_hidden_caches, "little-memory": check_little_memory,
             "cannot-write": check_cannot_write}
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--case", choices=sorted(cases), required=True)
    options = parser.parse_args()
    cases[options.case](options)


if __name__ == "__main__":
    main()
