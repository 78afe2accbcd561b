#!/usr/bin/env python3
"""The helper programs of lull bench, run as lull runs them.

usage: helpers.py --lull PROGRAM --helper FILE --case CASE [--family openmpi|mpich]

  mpi           two ranks measure everything, what they send is checked
  alone         one rank says that it is one
  nodes         two ranks on two nodes: the level between them is measured, fitted and written
  oversubscribed   six ranks, through lull: no number is called quiet
  planted       a launcher that answers with planted times: the machine file has what was planted
  falling       planted times that fall with the size: the file has no time per byte
  hidden        planted times in which latencies cannot be told from 0: the file bounds them, and
                the simulator takes it
  refused       a launcher that fails: its own words are the reason
  openmp        every construct does what it should, on one thread and on two

Exit status 77: there is no launcher of that family, or there cannot be two nodes.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import nodes

SECONDS = 600
ENVIRONMENT = launch.environment()
MESSAGES = {"pingpong", "loggp", "overlap", "halo", "pairs", "barrier", "bcast", "allreduce",
            "alltoall"}
CONSTRUCTS = {"parallel", "for-static", "for-dynamic", "for-guided", "barrier", "single",
              "critical", "atomic", "reduction", "task"}


def last_words(command):
    """What a helper has said that does not end: MPICH 4.0 hangs in its own MPI_Finalize over UCX between
    nodes now and then, with one rank in its process manager's barrier and one in UCX."""
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=ENVIRONMENT)
    said = []
    for line in started.stdout:
        said.append(line)
        if line == '{"end":1}\n':
            break
    try:
        started.wait(20)
    except subprocess.TimeoutExpired:
        print("ended: MPICH hangs in MPI_Finalize")
        started.terminate()
        started.wait(20)
    else:
        check(started.returncode == 0, "%s: status %d" % (command, started.returncode))
    return "".join(said)


def run(command, status=0):
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=SECONDS, check=False)
    if done.returncode != status:
        sys.exit("%s: status %d\n%s%s" % (command, done.returncode, done.stdout, done.stderr))
    return done


def bench_mpi(options, command, folder):
    """The machine file of a quick bench, and its path; None where the ranks got so little of their
    cores that lull has given up: then it says so, and has written nothing."""
    path = os.path.join(folder, "machine.json")
    done = subprocess.run([options.lull, "bench", "--quick", "mpi", "--mpi", options.family,
                           "--mpi-launch", command, "-o", path], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=SECONDS, check=False)
    if done.returncode == 1 and "still running after" in done.stderr:
        check(not os.path.exists(path), "no file without numbers")
        return None, path
    check(done.returncode == 0, "status %d: %s" % (done.returncode, done.stderr))
    with open(path) as file:
        return json.load(file), path


def launcher(family):
    path = shutil.which("mpirun.%s" % family)
    if not path:
        print("skipped: mpirun.%s was not found" % family)
        sys.exit(77)
    return path


def lines_of(text):
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if not lines or lines[-1] != {"end": 1}:
        sys.exit("expected an end: %s" % text[-300:])
    return lines[0], lines[1:-1]


def check(condition, what):
    if not condition:
        sys.exit("not so: %s" % what)


def check_two_ranks(command, helper, nodes_expected):
    header, records = lines_of(last_words(command + [helper, "--seconds", "1", "--passes", "2"]))
    check(header["ranks"] == 2 and header["nodes"] == nodes_expected, "ranks, nodes: %s" % header)
    check(len(header["levels"]) == 1, "one level: %s" % header)
    check(("remote" in header["levels"]) == (nodes_expected > 1), "its name: %s" % header)
    kinds = {record["what"] for record in records}
    # Others may keep the cores so busy that no window begins in time.
    check(kinds >= {"pingpong", "loggp", "overlap"}, "all pairs are measured: %s" % kinds)
    check(kinds <= MESSAGES | {"eager"}, "nothing else is: %s" % kinds)
    check(all(0 <= t < 60 for record in records for t in record["samples"]), "times are times")
    sizes = [record["bytes"] for record in records if record["what"] == "pingpong"]
    check(sizes[:4] == [0, 1, 2, 4] and 1 << 22 in sizes, "sizes of ping-pong: %s" % sizes)


def check_mpi(options):
    check_two_ranks([launcher(options.family), "-n", "2"], options.helper, 1)


def check_alone(options):
    done = run([launcher(options.family), "-n", "1", options.helper])
    check("started with one rank" in done.stdout, "one rank says so: %s" % done.stdout)


def check_nodes(options):
    # Ranks of different nodes know nothing of each other, and would take the same core.
    ENVIRONMENT.update(nodes.ENVIRONMENT, NODE_CPUS="1")
    reason = nodes.missing(options.family)
    if reason:
        print("skipped: " + reason)
        sys.exit(77)
    command = nodes.launcher(options.family, 1)
    check_two_ranks(command, options.helper, 2)
    with tempfile.TemporaryDirectory(prefix="lull-bench-") as folder:
        machine, path = bench_mpi(options, " ".join(command), folder)
        if not machine:
            print("skipped: others keep the cores too busy")
            sys.exit(77)
        run([options.lull, "simulate", "--machine", path, "--pattern",
             "chain:ranks=4,exec=1us,iterations=10"])
    level, = machine["network"]
    check(level["name"] == "remote" and level["ranges"], "level: %s" % level)
    for part in level["ranges"]:
        latency = part["latency"]
        check(0 <= latency["low"] <= latency["value"] <= latency["high"], "interval: %s" % part)
        check(latency["value"] > 0 and part["bandwidth"]["value"] > 0, "above 0: %s" % part)
    check(any(".remote." in name for name in machine["numbers"]), "numbers of the level")


def check_oversubscribed(options):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # six ranks on more would be quiet
    with tempfile.TemporaryDirectory(prefix="lull-bench-") as folder:
        machine, _ = bench_mpi(options, launcher(options.family) + " -n 6", folder)
    if not machine:
        return  # nothing at all is not quiet either
    check(machine["network"], "there is a network")
    verdicts = {name: number["verdict"] for name, number in machine["numbers"].items()}
    check(verdicts and "quiet" not in verdicts.values(), "nothing is quiet: %s" % verdicts)


def planted(latency, per_byte, limit, rendezvous=2, overhead=0.1):
    """What a helper would say where a message takes latency + bytes * per_byte, and beyond the
    limit `rendezvous` latencies more; the overhead is that part of the latency."""
    yield {"lull_bench": 1, "kind": "mpi", "ranks": 2, "nodes": 1, "library": "Planted 1.0",
           "levels": {"socket": "here and there"}}
    overhead, gap, delay, burst = latency * overhead, latency / 5, 5e-6, 16

    def record(what, seconds, **more):
        return dict({"what": what, "ranks": 2, "repetitions": 1, "interrupted": 0,
                     "samples": [seconds] * 20}, **more)

    for _ in range(2):
        for size in [0] + [1 << i for i in range(21)]:
            extra = 0 if size <= limit else rendezvous * latency
            yield record("pingpong", latency + extra + size * per_byte, level="socket", bytes=size)
        trip = 2 * latency
        yield record("loggp", trip, detail="one", level="socket", bytes=1)
        yield record("loggp", trip + (burst - 1) * gap, detail="burst", level="socket", bytes=1,
                     repetitions=burst)
        yield record("loggp", trip + (burst - 1) * (delay + overhead), detail="delayed",
                     level="socket", bytes=1, repetitions=burst, value=delay)
        yield record("barrier", 3e-7, bytes=0)
        yield record("pairs", 1e-5, bytes=65536)
        for detail, seconds in (("exchange", 1e-4), ("compute", 1e-4), ("both", 1.5e-4)):
            yield record("overlap", seconds, detail=detail, level="socket", bytes=1 << 20)
    yield {"what": "eager", "level": "socket", "bytes": limit, "ranks": 2, "samples": []}
    yield {"end": 1}


def near(value, expected, error=1e-6):
    return abs(value - expected) <= error * abs(expected)


def machine_of(options, lines, networks):
    """The machine file that lull makes of a helper's answer; it is shown, and simulated with."""
    with tempfile.TemporaryDirectory(prefix="lull-bench-") as folder:
        answer, path = os.path.join(folder, "answer"), os.path.join(folder, "machine.json")
        with open(answer, "w") as file:
            file.write("#!/bin/sh\ncat <<'END'\nsome words before\n")
            file.writelines(json.dumps(line) + "\n" for line in lines)
            file.write("END\n")
        run([options.lull, "bench", "--quick", "mpi", "--mpi", options.family, "--mpi-launch",
             "sh '%s'" % answer, "-o", path])
        with open(path) as file:
            machine = json.load(file)
        run([options.lull, "bench", "--show", path])
        for network in networks:
            run([options.lull, "simulate", "--machine", path, "--network", network, "--pattern",
                 "chain:ranks=4,exec=1us,iterations=10"])
    return machine


def check_hidden(options):
    latency, per_byte, limit = 4e-7, 1e-10, 4096
    lines = planted(latency, per_byte, limit, rendezvous=-1, overhead=0.6)
    machine = machine_of(options, lines, ("hockney", "loggops"))
    level, = machine["network"]
    eager, rendezvous = level["ranges"]
    check(near(eager["latency"]["value"], latency), "latency: %s" % eager)
    smallest = (limit + 1) * per_byte
    for number, most in ((rendezvous["latency"], smallest), (level["latency"], latency)):
        check(number["verdict"] == "below resolution" and number["low"] == 0, "bound: %s" % number)
        check(0 < number["value"] < number["high"] <= most * (1 + 1e-9), "bound: %s" % number)
    check(near(rendezvous["bandwidth"]["value"], 1 / per_byte, 1e-3), "bandwidth: %s" % rendezvous)
    check(near(level["overhead"]["value"], 0.6 * latency), "o: %s" % level["overhead"])


def check_falling(options):
    """Times that fall with the size, as where somebody else had the cores at first: there is no time
    per byte, and the file says so instead of holding half a number."""
    lines = planted(1e-3, -1e-10, 1 << 30)
    level, = machine_of(options, lines, ())["network"]
    check("gap_per_byte" not in level, "G: %s" % level.get("gap_per_byte"))


def check_planted(options):
    latency, per_byte, limit = 4e-7, 1e-10, 4096
    machine = machine_of(options, planted(latency, per_byte, limit), ("hockney", "loggops"))
    check(machine["provenance"]["mpi"] == "Planted 1.0", "the library is named")
    level, = machine["network"]
    check(level["name"] == "socket" and level["eager_limit"] == limit, "level: %s" % level)
    eager, rendezvous = level["ranges"]
    check(eager["to"] == limit and rendezvous["from"] == limit + 1, "the ranges meet at the limit")
    check(near(eager["latency"]["value"], latency), "latency: %s" % eager)
    check(near(eager["bandwidth"]["value"], 1 / per_byte), "bandwidth: %s" % eager)
    check(near(rendezvous["latency"]["value"], 3 * latency), "latency: %s" % rendezvous)
    check(near(rendezvous["bandwidth"]["value"], 1 / per_byte), "bandwidth: %s" % rendezvous)
    check(near(level["overhead"]["value"], latency / 10), "o: %s" % level["overhead"])
    check(near(level["gap"]["value"], latency / 5), "g: %s" % level["gap"])
    check(near(level["latency"]["value"], latency - 2 * latency / 10), "L: %s" % level["latency"])
    numbers = machine["numbers"]
    check(near(numbers["mpi.barrier.2"]["value"], 3e-7), "barrier")
    check(near(numbers["mpi.pairs.65536.2"]["value"], 65536 / 1e-5), "pairs")
    check(near(numbers["mpi.overlap.socket.1048576.2"]["value"], 0.5), "overlap")
    check(near(numbers["mpi.pingpong.socket.0.2"]["value"], latency), "ping-pong")
    check(numbers["mpi.barrier.2"]["rounds"] == 8, "four launches of two passes")


def check_refused(options):
    with tempfile.TemporaryDirectory(prefix="lull-bench-") as folder:
        script = os.path.join(folder, "launcher")
        with open(script, "w") as file:
            file.write("echo -------- >&2\necho 'There are not enough slots.' >&2\nexit 1\n")
        done = run([options.lull, "bench", "--quick", "mpi", "--mpi", options.family,
                    "--mpi-launch", "sh '%s'" % script], status=1)
    check(done.stderr == "lull bench: nothing could be measured: MPI (%s): sh: There are not "
          "enough slots.\n" % options.family, done.stderr)


def check_openmp(options):
    done = run([options.helper, "--seconds", "0.5", "--passes", "1", "--threads", "1,2"])
    header, records = lines_of(done.stdout)
    check(header["kind"] == "openmp" and header["library"], "header: %s" % header)
    for threads in (1, 2):
        for detail in ("test", "reference"):
            kinds = {record["what"] for record in records
                     if record["ranks"] == threads and record["detail"] == detail}
            check(kinds == CONSTRUCTS, "every construct on %d threads: %s" % (threads, kinds))
    check(all(record["samples"] and all(0 < t < 60 for t in record["samples"])
              for record in records), "times are times")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--family")
    parser.add_argument("--case", required=True)
    options = parser.parse_args()
    globals()["check_" + options.case](options)


if __name__ == "__main__":
    main()
