"""Records two ranks of a program that uses a library which stands for NCCL (nccl_fake.c), by each version of the interface
of profiler plug-ins, and compares the run with what the library does.

    nccl.py --lull LULL --listing LISTING --program NCCL --fake LIBRARY --mock FOLDER FORM...

FORM is a version, 3 to 6, or `other`: another plug-in is named; or `uneven`: one rank does less than the other; or `kernels`: the
library launches kernels of CUDA on the mock in FOLDER (cuda.py).
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
from devices import Run, call, check_converted, compare, read

RANKS = 2
REDUCE, CAST = "ncclAllReduce RING LL", "ncclBroadcast RING LL"


def environment_of(rank, job):
    """What a launcher tells a rank."""
    return launch.environment(OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(RANKS),
                              OMPI_COMM_WORLD_LOCAL_RANK=str(rank), OMPI_COMM_WORLD_LOCAL_SIZE=str(RANKS),
                              PMIX_NAMESPACE=job)


def operations(run):
    """location -> [(region, bytes, sequence, peer)] of what ran, in order"""
    found, region = collections.defaultdict(list), None
    for line in run.lines:
        called = re.match(r".*: call 0 (.*?) +x1$", line)
        if called:
            region = called[1]
        ran = re.match(r"(.*?): (?:.*)operation 0 \d+ bytes (\d+) location \d+(?: sequence (\d+))?(?: peer (\d+))?", line)
        if ran:
            found[ran[1]].append(
                (region, int(ran[2]), ran[3] and int(ran[3]), ran[4] and int(ran[4])))
    return found


def expected(rank):
    reduced = [(REDUCE, 4 * (1000 + i), i, 0) for i in range(5)]
    return reduced + [(CAST, 2 * 64, 0, 1), ("ncclRecv" if rank else "ncclSend", 256, None, 1 - rank)]


def check_lengths(run, complaints):
    """By the device's clock, which only these versions tell."""
    spans = collections.defaultdict(list)
    for event in run.chrome:
        if event["ph"] == "X" and event["name"] == REDUCE:
            spans[event["pid"]].append((event["ts"], event["dur"] * 1000))
    for told in spans.values():
        for i, (_, ns) in enumerate(sorted(told)):
            wanted = 100000 * (i + 1)
            if abs(ns - wanted) > 10 + wanted * 1e-3:
                complaints.append(f"AllReduce {i}: {ns} ns, expected {wanted}")


def record_ranks(settings, version, folder, complaints, *more):
    run = os.path.join(folder, "run")
    commands = [[settings.program, settings.fake, version, str(rank), *more] for rank in range(RANKS)]
    started = [subprocess.Popen([settings.lull, "record", "-o", run, "--", *command],
                                env=environment_of(rank, folder), stdout=subprocess.PIPE, text=True)
               for rank, command in enumerate(commands)]
    outputs = [process.communicate()[0] for process in started]
    compare("status", [process.returncode for process in started], [0] * RANKS, complaints)
    compare("output", outputs, [call(command).stdout for command in commands], complaints)
    return run


def test_uneven(settings, _, folder):
    complaints = []
    seen = Run(settings, record_ranks(settings, "4", folder, complaints, "uneven"))
    compare("exchanges", [(row["ranks"], row["operations"], row["same"]) for row in seen.rows("exchanges")],
            [(RANKS, 6, "no, 5 at least")], complaints)
    return complaints


def test_version(settings, version, folder):
    complaints = []
    run = record_ranks(settings, version, folder, complaints)
    seen = Run(settings, run)
    found = operations(seen)
    compare("operations", sorted(found.values()), sorted(expected(rank) for rank in range(RANKS)), complaints)
    rows = seen.rows("streams")
    compare("streams", len(rows), RANKS, complaints)
    compare("copies", [row["moves"] for row in rows], [7] * RANKS, complaints)
    compare("not known", [row["lost"] for row in rows], [1] * RANKS, complaints)
    devices = seen.rows("devices")
    compare("devices", [(row["key"], row["runtime"], row["streams"]) for row in devices],
            [("nccl:0000000000abcdef", "NCCL", RANKS)], complaints)
    compare("exchanges", [(row["ranks"], row["operations"], row["same"]) for row in seen.rows("exchanges")],
            [(RANKS, 6, "yes")], complaints)
    compare("calls", len(seen.matches(r"^rank \d+: call 0 ncclAllReduce ")), 6 * RANKS, complaints)
    if int(version) > 3:
        check_lengths(seen, complaints)
    read([settings.lull, "metrics", run])
    copy = os.path.join(folder, "copy")
    read([settings.lull, "convert", "--to", "tape", run, copy])
    compare("copy", read([settings.listing, copy]).splitlines(), seen.lines, complaints)
    check_converted(settings, run, folder, complaints)
    return complaints


def test_other(settings, _, folder):
    """What the user has set stays."""
    complaints = []
    run = os.path.join(folder, "run")
    command = [settings.program, settings.fake, "4", "0"]
    environment = launch.environment(NCCL_PROFILER_PLUGIN="other-plugin")
    recorded = call([settings.lull, "record", "-o", run, "--", *command], env=environment)
    compare("output", recorded.stdout, call(command, env=environment).stdout, complaints)
    compare("said", len(re.findall("^lull record: NCCL: .*'other-plugin'", recorded.stderr, re.M)), 1, complaints)
    compare("streams", Run(settings, run).rows("streams"), [], complaints)
    return complaints


def test_kernels(settings, _, folder):
    """A replay knows the kernels of the five AllReduce that have ended, and that of the Send, which waits for nobody. The root of the Broadcast
    is not there, and of the last AllReduce it is not known when it ran."""
    complaints = []
    run = os.path.join(folder, "run")
    environment = launch.environment(LD_LIBRARY_PATH=f"{settings.mock}:{settings.mock}/13", LULL_CLOCK="system")
    for name in ("CUDA_HOME", "CUDA_INJECTION64_PATH"):
        environment.pop(name, None)
    call([settings.lull, "record", "-o", run, "--", settings.program, settings.fake, "4", "0", "kernels"], env=environment)
    notes = json.loads(read([settings.lull, "replay", run, "--network", "ideal", "--format", "json"]))["notes"]
    compare("kernels", [note["text"].split(":")[0] for note in notes if "NCCL" in note["text"]],
            ["2 of 8 kernels of NCCL take as long as measured"], complaints)
    return complaints


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "listing", "program", "fake", "mock"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("forms", nargs="+")
    settings = parser.parse_args()
    wrong = 0
    for form in settings.forms:
        with tempfile.TemporaryDirectory() as folder:
            test = {"other": test_other, "uneven": test_uneven, "kernels": test_kernels}.get(form, test_version)
            complaints = test(settings, form, folder)
        print(f"{form}: {len(complaints)} complaints", *complaints, sep="\n    ")
        wrong += len(complaints)
    return 1 if wrong else 0


sys.exit(main())
