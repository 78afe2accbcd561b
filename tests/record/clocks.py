"""Clocks of several nodes: how often they are compared, and by whom. With --clock: once corrected, all
events must lie between the moments at which the program has read the true clock, within the bound that
the run gives for the error of its clocks.

    clocks.py --lull LULL --family openmpi|mpich [--nodes] [--clock]

Each process pretends to be a node: its clock is shifted and runs at another rate. With --nodes
there are two nodes with one or two processes each, in name spaces with host names and clocks of
their own, and then the clocks of the processes are shifted as well. Once the processes of one node, or
without nodes every other process, read the processor's counter, and the others the system's clock.
"""
import argparse
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch
import nodes
import tape_parts

ENVIRONMENT = launch.environment(LULL_RECORD_QUIET="1")
RANKS = 4
SHIFT, PPM = 1000000000, 40  # by rank: ns, parts in a million
CLOCK, OFFSET = 2, 12  # kinds of definitions


def run(command, environment=None, check=True):
    done = subprocess.run(command, env=environment or ENVIRONMENT, capture_output=True, text=True,
                          timeout=600)
    if check and done.returncode != 0:
        raise RuntimeError("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done


def definitions(data):
    """[(kind, bytes)] of what begins with a header of definitions"""
    begin = struct.unpack_from("<I", data, 16)[0]
    end, at, found = begin + struct.unpack_from("<Q", data, 24)[0], begin, []
    while at < end:
        size, kind = struct.unpack_from("<IH", data, at)
        found.append((kind, data[at:at + size]))
        at += size
    return found


def path_of(target, rank):
    return os.path.join(target, "0", "%d.tape" % rank)


def check_offsets(what, target, expected, n_nodes, wrong):
    """How often each node's clock was compared: by one of its ranks."""
    parts = [tape_parts.take_apart(path_of(target, rank)) for rank in range(RANKS)]
    found = [sum(kind == OFFSET for kind, _ in definitions(parts[rank]["%d.definitions" % rank]))
             for rank in range(RANKS)]
    if sorted(found) != [0] * (RANKS - n_nodes) + [expected] * n_nodes:
        wrong.append("%s: compared %s times, expected %d by %d ranks" % (
            what, found, expected, n_nodes))


def facts(lull, target):
    return json.loads(run([lull, "info", "--format", "json", target]).stdout)["facts"]


def number_of(fact):
    return fact["value"] if isinstance(fact, dict) else fact


def clock_error(lull, target):
    """ns"""
    words = str(number_of(facts(lull, target)["clock_error"])).split()
    return float(words[2])


def events_of(lull, target, folder):
    """(rank, name) -> [begin in ns], in order"""
    chrome = os.path.join(folder, "trace.json")
    run([lull, "convert", "--to", "chrome", "--force", target, chrome])
    events = json.load(open(chrome))
    events = events["traceEvents"] if isinstance(events, dict) else events
    found = {}
    for event in events:
        if event["ph"] == "X" and event["name"] in ("MPI_Send", "MPI_Recv"):
            found.setdefault((event["pid"], event["name"]), []).append(
                (event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000))
    return {key: sorted(times) for key, times in found.items()}


def truth_of(folder):
    """(rank, name) -> [before and after in ns], since the first: a float has no room for more"""
    found = {}
    for rank in range(RANKS):
        for line in open(os.path.join(folder, "times.%d" % rank)):
            name, before, after = line.split()
            found.setdefault((rank, name), []).append((int(before), int(after)))
    first = min(before for times in found.values() for before, _ in times)
    return {key: [(before - first, after - first) for before, after in times]
            for key, times in found.items()}


def check_numbers(what, events, truth, wrong):
    """Whether each rank has the calls that it made."""
    for rank, pid in enumerate(sorted({pid for pid, _ in events})):
        for name in ("MPI_Send", "MPI_Recv"):
            if len(events[pid, name]) != len(truth[rank, name]):
                wrong.append("%s: rank %d: %d %s, expected %d" % (
                    what, rank, len(events[pid, name]), name, len(truth[rank, name])))
                return False
    return True


def check_times(settings, what, events, truth, error, wrong):
    """What is to be added to the run's times to have true ones lies, by every event of a rank,
    between two bounds; the ranks must agree about it within the error. Of rank 0, whose clock is that
    of the run, it is always the same; of others it may be too much by the error at one moment and too
    little by as much at another one."""
    if not check_numbers(what, events, truth, wrong) or not settings.clock:
        return
    pids = sorted({pid for pid, _ in events})
    bounds = []
    for rank, pid in enumerate(pids):
        low, high = -float("inf"), float("inf")
        for name in ("MPI_Send", "MPI_Recv"):
            for (begin, end), (before, after) in zip(events[pid, name], truth[rank, name]):
                low, high = max(low, before - begin), min(high, after - end)
        bounds.append((low, high))
    for a in range(len(bounds)):
        for b in range(len(bounds)):
            most = (error if 0 in (a, b) else 2 * error) + 100  # 100: rounding of the format
            if bounds[a][0] - bounds[b][1] > most:
                wrong.append("%s: ranks %d and %d are apart by %.0f ns, bound %.0f" % (
                    what, a, b, bounds[a][0] - bounds[b][1], most))
    for rank, pid in enumerate(pids):
        previous = pids[rank - 1]
        early = [send - receive for (send, _), (_, receive) in
                 zip(events[previous, "MPI_Send"], events[pid, "MPI_Recv"])]
        if max(early) > error:
            wrong.append("%s: rank %d receives a message %.0f ns before it is sent, bound %.0f" % (
                what, rank, max(early), error))


# Ranks from the first half on, or odd ones, read the system's clock, the others the counter; "$0" is "nodes"
# or not.
MIXED = """rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
if [ $0 = nodes ]; then other=$((rank >= $1 / 2)); else other=$((rank % 2)); fi
if [ $other = 1 ]; then LULL_CLOCK=system; else LULL_CLOCK=tsc; fi
shift; export LULL_CLOCK; exec "$@"
"""


def record(settings, target, skewed, *arguments, mixed=False):
    """Leaves a run; returns the true times."""
    folder = os.path.dirname(target)
    shutil.rmtree(target, ignore_errors=True)
    environment = dict(ENVIRONMENT, **nodes.ENVIRONMENT) if settings.nodes else dict(ENVIRONMENT)
    if skewed:
        environment["LULL_RECORD_SKEW"] = "%d:%d" % (SHIFT, PPM)
    launcher = ["mpirun." + settings.family, "-n", str(RANKS)]
    if settings.nodes:
        launcher = nodes.launcher(settings.family, RANKS // 2)
    if mixed:
        launcher += ["sh", "-c", MIXED, "nodes" if settings.nodes else "one", str(RANKS)]
    run(launcher + [settings.lull, "record", "-o", target, os.path.join(folder, "clocks"), folder] +
        list(arguments), environment, check=not arguments)
    return truth_of(folder)


def keep_one_point(file):
    data, points = file.read(), 0
    for page, pages, _, part in tape_parts.entries(data):
        if part != tape_parts.DEFINITIONS:
            continue
        place, kept = page * tape_parts.PAGE, b""
        extent = data[place:place + pages * tape_parts.PAGE]
        for kind, definition in definitions(extent):
            points += kind == CLOCK
            kept += definition if kind != CLOCK or points == 1 else b""
        begin = struct.unpack_from("<I", extent, 16)[0]
        file.seek(place)
        file.write(extent[:24] + struct.pack("<Q", len(kept)) + extent[32:begin] + kept)


def check_one_point(settings, target, wrong):
    """A process that died between the first two readings of its clock."""
    whole = number_of(facts(settings.lull, target)["duration"])
    apart = target + ".one"
    shutil.rmtree(apart, ignore_errors=True)
    shutil.copytree(target, apart)
    for rank in range(RANKS):
        with open(path_of(apart, rank), "r+b") as file:
            keep_one_point(file)
    cut = number_of(facts(settings.lull, apart)["duration"])
    if abs(cut - whole) > 1e-3 * whole:
        wrong.append("one point: the run lasts %s, expected %s" % (cut, whole))


def ticks_are_ns(target, rank):
    """Whether the points of a process's clock have as many ticks as ns: a process that reads the
    system's clock has no other ticks. Its clock may be shifted."""
    parts = tape_parts.take_apart(path_of(target, rank))
    points = [struct.unpack_from("<QqdQ", data[16:].ljust(32, b"\0"))[:2]
              for kind, data in definitions(parts["%d.definitions" % rank]) if kind == CLOCK]
    ticks, ns = (points[-1][i] - points[0][i] for i in (0, 1))
    return abs(ticks - ns) < 1e-3 * ns


def check_mixed(settings, what, target, wrong):
    """Who reads which clock, and whether the run says so."""
    if platform.machine() not in ("x86_64", "aarch64"):
        return
    expected = [rank >= RANKS // 2 if settings.nodes else rank % 2 == 1 for rank in range(RANKS)]
    found = [ticks_are_ns(target, rank) for rank in range(RANKS)]
    if found != expected and platform.machine() == "x86_64":  # a counter of 1 GHz counts ns as well
        wrong.append("%s: ranks that read the system's clock: %s, expected %s" % (what, found, expected))
    told = run([settings.lull, "info", target]).stdout
    lines = [line for line in told.splitlines() if "LULL_CLOCK asks for it" in line]
    if len(lines) != 2 or "CLOCK_MONOTONIC" in lines[0] or "CLOCK_MONOTONIC" not in lines[1]:
        wrong.append("%s: lull info says %s" % (what, lines))


def check_nodes(settings, target):
    wrong, folder = [], os.path.dirname(target)
    for what, skewed, mixed in (("two nodes", False, False), ("two nodes, skewed", True, False),
                                ("two nodes, one by the system's clock", False, True)):
        truth = record(settings, target, skewed, mixed=mixed)
        if mixed:
            check_mixed(settings, what, target, wrong)
        if number_of(facts(settings.lull, target)["nodes"]) != 2:
            wrong.append("%s: %s nodes" % (what, facts(settings.lull, target)["nodes"]))
        check_offsets(what, target, 2, RANKS if skewed else 2, wrong)
        error = clock_error(settings.lull, target)
        check_times(settings, what, events_of(settings.lull, target, folder), truth, error, wrong)
    return wrong


def check_one_node(settings, target):
    wrong, folder = [], os.path.dirname(target)
    truth = record(settings, target, True)
    check_offsets("skewed", target, 2, RANKS, wrong)
    error = clock_error(settings.lull, target)
    check_times(settings, "skewed", events_of(settings.lull, target, folder), truth, error, wrong)

    truth = record(settings, target, True, "dies")
    check_offsets("dies", target, 1, RANKS, wrong)
    if clock_error(settings.lull, target) <= 1e-3 * 2e8:
        # The bound grows with the time, of which the program has slept longer than this stands for.
        wrong.append("dies: the bound does not tell that the end is not known")
    error = clock_error(settings.lull, target)
    check_times(settings, "dies", events_of(settings.lull, target, folder), truth, error, wrong)

    truth = record(settings, target, False)
    check_offsets("one node", target, 0, 1, wrong)
    error = clock_error(settings.lull, target)
    check_times(settings, "one node", events_of(settings.lull, target, folder), truth, 2 * error, wrong)
    if settings.clock:
        check_one_point(settings, target, wrong)

    truth = record(settings, target, False, mixed=True)
    check_mixed(settings, "mixed", target, wrong)
    check_offsets("mixed", target, 0, 1, wrong)
    error = clock_error(settings.lull, target)
    check_times(settings, "mixed", events_of(settings.lull, target, folder), truth, 2 * error, wrong)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("--clock", action="store_true")
    settings = parser.parse_args()
    # MPICH 4.0 over UCX and TCP often hangs in MPI_Finalize, also where nothing is recorded, when
    # four processes of two nodes have all talked to each other.
    global RANKS
    if settings.nodes and settings.family == "mpich":
        RANKS = 2
    for tool in ("mpicc." + settings.family, "mpirun." + settings.family):
        if not shutil.which(tool):
            print("skipped: %s was not found" % tool)
            return 77
    reason = nodes.missing(settings.family) if settings.nodes else None
    if reason:
        print("skipped: " + reason)
        return 77
    with tempfile.TemporaryDirectory(prefix="lull-clocks-") as folder:
        run(["mpicc." + settings.family, "-O2", os.path.join(HERE, "clocks.c"), "-o",
             os.path.join(folder, "clocks"), *launch.PATIENT])
        check = check_nodes if settings.nodes else check_one_node
        wrong = check(settings, os.path.join(folder, "run"))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
