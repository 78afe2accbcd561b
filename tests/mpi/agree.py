#!/usr/bin/env python3
"""Records one program with lull and with EZTrace, and compares the MPI calls of each rank by
function, and the messages that it sends, by number and bytes. EZTrace's archive is read by
otf2-print. Left out is what EZTrace does not record: MPI_Init and MPI_Finalize, in which it begins
and ends, functions that it does not wrap, and the messages of MPI_Sendrecv.

usage: agree.py --recorder FILE --digest FILE PROGRAM.c|.f90   exit status 77: not possible here
"""
import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

ENVIRONMENT = launch.environment(OMP_NUM_THREADS="1")
BEGIN_AND_END = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")


def run(command, folder):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                          env=ENVIRONMENT, cwd=folder, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def ranks_of(source):
    found = re.search(r"^(?: \*|!)= ranks (\d+)$", open(source).read(), re.M)
    return found.group(1) if found else "2"


def ours(options, program, folder):
    where = os.path.join(folder, "lull")
    run(["mpiexec.openmpi", "-n", ranks_of(options.program), "env", "LULL_RECORD_DIR=" + where,
         *launch.preload(options.recorder), program], folder)
    found = collections.Counter()
    for line in run([options.digest, where], folder).splitlines():
        what, _, number = line.rpartition(" x")
        call = re.match(r"(\d+) calls (\w+)$", what)
        send = re.match(r"(\d+) sends \S+ tag \S+ bytes (\d+)", what)
        if call and call.group(2) not in BEGIN_AND_END:
            found[call.group(1) + " " + call.group(2)] += int(number)
        if send:
            found[send.group(1) + " messages"] += int(number)
            found[send.group(1) + " bytes"] += int(number) * int(send.group(2))
    return found


def theirs(options, program, folder):
    where = os.path.join(folder, "eztrace")
    run(["mpiexec.openmpi", "-n", ranks_of(options.program), "eztrace", "-t", "openmpi", "-o",
         where, program], folder)
    archives = glob.glob(where + "/**/*.otf2", recursive=True)
    events, locations = [], set()
    for line in run(["otf2-print", archives[0]], folder).splitlines():
        words = line.split()
        if len(words) > 3 and words[1].isdigit():
            locations.add(int(words[1]))
            events.append((words[0], int(words[1]), line))
    rank = {location: str(r) for r, location in enumerate(sorted(locations))}
    found = collections.Counter()
    for kind, location, line in events:
        region = re.search(r'Region: "(MPI_\w+)"', line)
        if kind == "ENTER" and region and region.group(1) not in BEGIN_AND_END:
            found[rank[location] + " " + region.group(1)] += 1
        if kind in ("MPI_SEND", "MPI_ISEND"):
            found[rank[location] + " messages"] += 1
            found[rank[location] + " bytes"] += int(re.search(r"Length: (\d+)", line).group(1))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recorder", required=True)
    parser.add_argument("--digest", required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    for needed in ("eztrace", "otf2-print", "mpicc.openmpi", "mpif90.openmpi",
                   "mpiexec.openmpi"):
        if not shutil.which(needed):
            print("skipped: %s was not found" % needed)
            return 77
    with tempfile.TemporaryDirectory(prefix="lull-agree-") as folder:
        program = os.path.join(folder, "program")
        fortran = options.program.endswith(".f90")
        run(["mpif90.openmpi" if fortran else "mpicc.openmpi", "-O1", "-w",
             os.path.abspath(options.program), "-o", program, "-lm"], folder)
        lull = ours(options, program, folder)
        eztrace = theirs(options, program, folder)
    known = {what.split()[1] for what in eztrace}
    if any("MPI_Sendrecv" in what for what in lull):
        known -= {"messages", "bytes"}
    compared = sorted(what for what in set(lull) | set(eztrace) if what.split()[1] in known)
    wrong = ["%s: lull %d, EZTrace %d" % (what, lull[what], eztrace[what])
             for what in compared if lull[what] != eztrace[what]]
    for line in wrong:
        print(line)
    print("%d numbers compared" % len(compared))
    return 1 if wrong or len(compared) < 4 else 0


if __name__ == "__main__":
    sys.exit(main())
