#!/usr/bin/env python3
"""Records a small MPI program and compares the run with what its source says must be in it.

usage: run.py --family openmpi|mpich --recorder FILE --digest FILE --lull FILE [--built FILE]
              [--without=profile|team]... [--clock] [--sanitize=FLAGS] [--shmem] PROGRAM.c|.cc|.f90

The source has lines "*= ..." (or "!= ..."):
    ranks N               how many to start
    spawns A N            application A, counted from 1, are N processes that the program spawns
    only FAMILY           it is not run under others
    may crash SIGNAL: WHY where that signal ends it without the recorder, it is skipped
    alone                 it prints the same and ends the same without the recorder
    RANK what xN          an event of that rank and how often; * is every rank, unless the same
                          event of a rank has a line of its own; A/RANK and A/* those of
                          application A
    RANK what any         it occurs at least once
    bytes N + M/s         the files of the run take so many together, at most, and so many more for
                          each second that a rank computes or is in calls for messages
    replays               `lull replay` finds that all messages and collectives match, and `lull
                          metrics` the runtime on an ideal network
    prints metric         the program prints lines "metric ID VALUE ERROR": what `lull metrics`
                          must find
Everything else in the run is an error, but MPI_Init and MPI_Finalize, once per rank, unless the
program uses sessions alone. Several processes of lull must print of the run what one prints, unless
`team` is left out; and without `--without=profile`, a profile must have the same sums and no events.
With --clock, "bytes" and "prints metric" are looked at, which depend on time, and nothing else.
--built is the compiled program; an empty file where it cannot be compiled. With --sanitize, it is
compiled with these flags, separated by semicolons, and skipped where the MPI library does not survive
that alone; what the sanitizers say of the recorder is an error. With --shmem it uses OpenSHMEM, and is
skipped where that does not survive the program alone. Exit status 77: this program cannot be compiled
or run here.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import tape_parts
import together

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
COMPILERS = {".c": "mpicc.%s", ".cc": "mpicxx.%s", ".f90": "mpif90.%s"}
SECONDS = 600  # for what hangs


# What sanitizers say; of memory that is never freed, only ours.
FAULT = re.compile(r"ERROR: AddressSanitizer.*|WARNING: ThreadSanitizer.*|.*runtime error:.*")
LEAK = re.compile(r"leak of .*\n +#0 .*\n +#1 .*(?:liblull-record|/src/record/).*")


class Skip(Exception):
    pass


def expectations(source, family):
    ranks, spawned, alone, lines, any_number, crash = 2, [], False, {}, set(), None
    text = open(source).read()
    fortran = source.endswith(".f90")
    found = re.findall(r"^!= (.*)$" if fortran else r"^ \*= (.*)$", text, re.M)
    init = "MPI_Init_thread" if "MPI_Init_thread" in text else "MPI_Init"
    for line in found:
        if line.startswith("only ") and line.split()[1] != family:
            raise Skip("this is not %s" % line.split()[1])
        if line.startswith("ranks "):
            ranks = int(line.split()[1])
        if line.startswith("may crash "):
            crash = re.match(r"may crash (\w+): (.*)", line).groups()
        if line.startswith("spawns "):
            spawned.append([int(word) for word in line.split()[1:]])
    everyone = {"*": [str(rank) for rank in range(ranks)]}
    for application, size in spawned:
        everyone["%d/*" % application] = ["%d/%d" % (application, r) for r in range(size)]
    always = [who + call for who in everyone for call in (" calls %s x1" % init,
                                                          " calls MPI_Finalize x1")]
    if "MPI_Init" not in text:  # it uses sessions, or OpenSHMEM
        always = []
    for line in always + found:
        alone = alone or line == "alone"
        if line.startswith(("ranks ", "spawns ", "only ", "may ", "bytes ")):
            continue
        if line in ("alone", "replays", "prints metric"):
            continue
        match = re.match(r"(\S+) (.*) (x\d+|any)$", line)
        if not match:
            sys.exit("%s: cannot read '%s'" % (source, line))
        who, what, number = match.groups()
        for rank in everyone.get(who, [who]):
            key = "%s %s" % (rank, what)
            if number == "any":
                any_number.add(key)
            else:
                lines[key] = int(number[1:])
    return ranks, alone, lines, any_number, "prints metric" in found, crash


def compile_program(source, family, folder, flags, shmem, built=None):
    compiler = "oshcc" if shmem else COMPILERS[os.path.splitext(source)[1]] % family
    if not shutil.which(compiler):
        raise Skip("%s was not found" % compiler)
    program = os.path.join(folder, "program")
    if built:
        if os.path.getsize(built) == 0:
            raise Skip("%s cannot compile it" % compiler)
        return shutil.copy(built, program) # which some find by this name
    done = subprocess.run([compiler, "-O1", "-g", "-w", "-I" + INCLUDE, *flags, source, "-o", program,
                           "-lpthread", *launch.PATIENT], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if source.endswith(".f90"):
            raise Skip("%s cannot compile it: %s" % (compiler, done.stderr.splitlines()[0:1]))
        sys.exit(done.stderr)
    return program


def run_program(program, family, ranks, recorder, run, folder, settings):
    # Where the library has not what it is about, a program ends at once. It is not started then: an mpiexec of MPICH
    # whose ranks have gone before it has written to them ends by SIGPIPE.
    with open(program, "rb") as file:
        if not re.search(rb"MPI_|mpi_", file.read()):
            raise Skip("the MPI library cannot do this")
    launcher = "mpiexec.%s" % family
    if not shutil.which(launcher):
        raise Skip("%s was not found" % launcher)
    environment = launch.environment(LULL_TEST_FILE=os.path.join(folder, "file"))
    if not recorder: # some print what they find there
        environment = {name: value for name, value in environment.items()
                       if not name.startswith("LULL_RECORD_")}
    recording = ["env", "LULL_RECORD_DIR=" + run, *launch.preload(*recorder.split(":"))] if recorder else []
    command = [launcher, "-n", str(ranks)] + recording + settings + [program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder,
                          timeout=SECONDS, check=False)
    if done.returncode == 77:
        raise Skip("the MPI library cannot do this")
    return done


def digest_of(digest, run):
    done = subprocess.run([digest, run], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    lines = {}
    for line in done.stdout.splitlines():
        what, _, number = line.rpartition(" x")
        if " called from " in what: # where an oddity is found, is not what is tested here
            what = what.partition(" (")[0]
        lines[what] = int(number)
    return lines


def sums_of(run):
    """(location name, region) -> visits, from the sums, read by their description."""
    found = {}
    for parts in tape_parts.take_all_apart(run):
        process, regions = definitions_of(next(data for name, data in parts.items()
                                               if name.endswith(".definitions")))
        for name, data in parts.items():
            if name.endswith(".sums"):
                add_sums(found, data, process, name.split(".")[1], regions)
    return found


def add_sums(found, data, process, thread, regions):
    header_size, sum_size = struct.unpack_from("<II", data, 16)
    count = struct.unpack_from("<Q", data, 32)[0]
    for region in range(count):
        at = header_size + region * 2 * sum_size
        visits = struct.unpack_from("<Q", data, at)[0]
        if visits:
            who = process if thread == "0" else "%s.%s" % (process, thread)
            what = "%s calls %s" % (who, regions[region])
            found[what] = found.get(what, 0) + visits


def definitions_of(data):
    """How the digest calls the process, and the names of its regions."""
    header_size = struct.unpack_from("<I", data, 16)[0]
    end = header_size + struct.unpack_from("<Q", data, 24)[0]
    at, process, names = header_size, "", {}
    while at < end:
        size, kind, _, number = struct.unpack_from("<IHHI", data, at)
        if kind == 4:  # LULL_TAPE_DEFINE_PROCESS
            application, rank = struct.unpack_from("<II", data, at + 16)
            process = "%d/%d" % (application, rank) if application else str(rank)
        elif kind == 5:  # LULL_TAPE_DEFINE_REGION
            length = struct.unpack_from("<I", data, at + 32)[0]
            names[number] = data[at + 36:at + 36 + length].decode()
        elif kind == 11:  # LULL_TAPE_DEFINE_SITE: calls of a region from one place
            names[number] = names[struct.unpack_from("<I", data, at + 16)[0]]
        at += size
    return process, names


# How often a thread waits for a lock is the machine's choice.
LOCKS = re.compile(r" calls (sem|pthread_(mutex|cond|rwlock))_")


def compare(expected, any_number, got):
    wrong = []
    for what in sorted(set(expected) | set(got) | any_number):
        if LOCKS.search(what) and what not in expected:
            continue
        number = got.get(what, 0)
        if what in any_number:
            if number == 0:
                wrong.append("%s: never, expected some" % what)
        elif number != expected.get(what, 0):
            wrong.append("%s: %d, expected %d" % (what, number, expected.get(what, 0)))
    return wrong


def wrong_metrics(lull, run, metrics):
    done = subprocess.run([lull, "metrics", "--format", "json", run], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return [done.stderr]
    found = {row["id"]: row["values"][0] for table in json.loads(done.stdout)["tables"].values()
             for row in table["rows"]}
    return ["%s: %s, expected %s +- %s" % (name, found.get(name), value, error)
            for name, value, error in metrics
            if found.get(name) is None or abs(found[name] - float(value)) > float(error)]


def too_large(lull, source, run):
    """What the program says that its run takes at most."""
    most = re.search(r"^ \*= bytes (\d+) \+ (\d+)/s$", open(source).read(), re.M)
    if not most:
        return []
    done = subprocess.run([lull, "metrics", "--no-replay", "--format", "json", run],
                          capture_output=True, text=True, check=True)
    ns = sum(sum(thread["times"][what]) for what in ("useful", "mpi_p2p")
             for thread in json.loads(done.stdout)["runs"][0]["profile"]["threads"])
    bound = int(most[1]) + int(most[2]) * ns * 1e-9
    size = sum(os.path.getsize(path) for path in glob.glob(os.path.join(run, "**"), recursive=True)
               if os.path.isfile(path))
    return ["%d bytes, expected %d at most" % (size, bound)] if size > bound else []


def check(options, folder):
    ranks, alone, expected, any_number, metrics, crash = expectations(options.program,
                                                                      options.family)
    flags = options.sanitize.split(";") if options.sanitize else []
    program = compile_program(options.program, options.family, folder, flags, options.shmem,
                              options.built)
    run = os.path.join(folder, "run")
    if options.shmem:
        done = run_program(program, options.family, ranks, None, run, folder, [])
        if done.returncode != 0:
            raise Skip("OpenSHMEM does not run here: status %d" % done.returncode)
    if flags:
        done = run_program(program, options.family, ranks, None, run, folder, [])
        if FAULT.search(done.stderr) or (done.returncode != 0 and not alone):
            raise Skip("the MPI library does not survive the sanitizer: status %d, %s" %
                       (done.returncode, FAULT.findall(done.stderr)))
    if crash:
        done = run_program(program, options.family, ranks, None, run, folder, [])
        if -done.returncode == getattr(signal, crash[0]):
            raise Skip(crash[1])
    done = run_program(program, options.family, ranks, options.recorder, run, folder, [])
    expected_end = None
    if alone:
        expected_end = run_program(program, options.family, ranks, None, run, folder, [])
    if done.returncode != (expected_end.returncode if alone else 0) or not os.path.isdir(run):
        sys.exit("status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    if options.clock:
        wrong = too_large(options.lull, options.program, run)
        if metrics:
            printed = [line.split()[1:] for line in done.stdout.splitlines()
                       if line.startswith("metric ")]
            wrong += wrong_metrics(options.lull, run, printed) or ([] if printed else ["no metric"])
        return wrong
    wrong = compare(expected, any_number, digest_of(options.digest, run))
    by_node = glob.glob(os.path.join(run, "*.tapes"))
    if os.environ.get("LULL_RECORD_STORE") == "node" and \
            (len(by_node) != 1 or glob.glob(os.path.join(run, "[0-9]*", "*.tape"))):
        wrong.append("not all is in one file of the node: %s" % by_node)
    wrong += [found[0] for found in [*FAULT.finditer(done.stderr), *LEAK.finditer(done.stderr)]]
    told = re.findall(r"lull record: (\d+) ranks? x ", done.stderr)
    if told not in ([], [str(ranks)]):
        wrong.append("the recorder tells of %s ranks, not of %d" % (", ".join(told), ranks))
    if alone and done.stdout != expected_end.stdout:
        wrong.append("prints\n%swhere it prints alone\n%s" % (done.stdout, expected_end.stdout))

    # Where not all is looked at, one of two commands.
    turn = zlib.crc32((os.path.basename(options.program) + options.family).encode())
    commands = [together.COMMANDS[turn // 3 % 2]] if options.without else together.COMMANDS
    if "team" not in options.without:
        wrong += together.differences(options.lull, run, [(2, 3, 7)[turn % 3]], commands)
    if re.search(r"^ \*= replays$", open(options.program).read(), re.M):
        replay = subprocess.run([options.lull, "replay", run], capture_output=True, text=True,
                                check=False)
        if replay.returncode != 0:
            wrong.append(replay.stderr.strip())
        metrics = subprocess.run([options.lull, "metrics", run], capture_output=True, text=True,
                                 check=False)
        wrong += re.findall(r".* has no runtime on an ideal network:.*", metrics.stdout + metrics.stderr)

    # The sums count every call, also those that one record stands for.
    calls = {what: number for what, number in expected.items() if " calls " in what}
    if not any("measure" in what for what in expected):
        wrong += ["sums: " + line for line in compare(calls, any_number & set(sums_of(run)),
                                                      sums_of(run))]
    if "profile" in options.without:
        return wrong

    profile = os.path.join(folder, "profile")
    done = run_program(program, options.family, ranks, options.recorder, profile, folder,
                       ["LULL_RECORD_PROFILE=1"])
    if done.returncode != (expected_end.returncode if alone else 0) or not os.path.isdir(profile):
        sys.exit("profile: status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    if any(not what.startswith("quirk:") for what in digest_of(options.digest, profile)):
        wrong.append("profile: has events")
    if "team" not in options.without:
        wrong += ["profile: " + line for line in together.differences(options.lull, profile, [3], commands)]
    if not any("measure" in what for what in expected):
        wrong += ["profile: " + line for line in compare(
            calls, any_number & set(sums_of(profile)), sums_of(profile))]
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--family", required=True)
    parser.add_argument("--recorder", required=True)
    parser.add_argument("--digest", required=True)
    parser.add_argument("--lull", required=True)
    parser.add_argument("--built")
    parser.add_argument("--without", action="append", default=[], choices=("profile", "team"))
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--sanitize")
    parser.add_argument("--shmem", action="store_true")
    parser.add_argument("program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lull-mpi-") as folder:
        try:
            wrong = check(options, folder)
        except Skip as reason:
            print("skipped:", reason)
            return 77
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
