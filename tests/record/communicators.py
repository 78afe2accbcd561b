"""Communicators of every origin: what lull finds in the run is compared with what the program has
asked MPI for, who is in each. The same number is one communicator for all of its members, another
number is another one.

    communicators.py --lull LULL --comms COMMS_OF --family openmpi|mpich --alone|--nodes|--spawn

Each program is recorded several times: as it is; as if its world were too large for anybody to list
members; with a rank that is not recorded, which is then missing from what lull finds.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch
import nodes

RANKS = 4
MISSING = "a communicator has members that were not recorded"
# Whoever has this rank runs without the recorder.
ALONE = """rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}
alone=$1; shift
[ "$rank" = "$alone" ] && shift 4
exec "$@"
"""


def runs_alone(folder, family):
    """MPICH of Debian 12 spawns nothing."""
    done = subprocess.run(["mpirun." + family, "-n", str(RANKS), os.path.join(folder, "program"),
                           folder, "spawn"], env=launch.environment(), capture_output=True,
                          timeout=600, check=False)
    return done.returncode == 0


def record(settings, folder, run, environment, alone, *options):
    shutil.rmtree(run, ignore_errors=True)
    for path in glob.glob(os.path.join(folder, "list.*")):
        os.remove(path)
    launcher = ["mpirun." + settings.family, "-n", str(RANKS)]
    base = launch.environment(LULL_RECORD_QUIET="1")
    if settings.nodes:
        launcher = nodes.launcher(settings.family, RANKS // 2)
        base.update(nodes.ENVIRONMENT)
    words = [settings.lull, "record", "-o", run, *options, os.path.join(folder, "program"), folder]
    if settings.spawn:
        words.append("spawn")
    if alone is not None:
        words = ["sh", os.path.join(folder, "alone.sh"), str(alone)] + words
    done = subprocess.run(launcher + words, env=dict(base, **environment), capture_output=True,
                          text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(words), done.returncode, done.stderr))


def members_of(words):
    """[local members, remote ones]"""
    groups = [[]]
    for word in words:
        if word == "/":
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def truth_of(folder):
    """(process, number) -> groups"""
    found = {}
    for path in glob.glob(os.path.join(folder, "list.*")):
        who = os.path.basename(path)[len("list."):]
        for line in open(path):
            words = line.split()
            found[who, int(words[0])] = members_of(words[1:])
    return found


def found_of(settings, run):
    """(process, number) -> (communicator, the other one, groups)"""
    done = subprocess.run([settings.comms, run], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("%s: %s" % (run, done.stderr))
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        key = words[0], int(words[1])
        if key in found:
            sys.exit("%s: twice in a run" % (key,))
        found[key] = int(words[2]), int(words[3]), members_of(words[4:])
    return found


def compare(what, truth, found, alone, wrong):
    expected = {key: groups for key, groups in truth.items() if key[0] != alone}
    if set(expected) != set(found):
        wrong.append("%s: not in both: %s" % (what, sorted(set(expected) ^ set(found))[:5]))
        return
    indices, numbers = {}, {}
    for (who, number), groups in sorted(expected.items()):
        comm, other, seen = found[who, number]
        groups = [[member for member in group if member != alone] for group in groups]
        if groups != seen:
            wrong.append("%s: %s %d: members %s, expected %s" % (what, who, number, seen, groups))
        # The two sides of an intercommunicator are the two ways around of one pair.
        pair = frozenset((comm, other))
        if indices.setdefault(number, pair) != pair:
            wrong.append("%s: %s %d: communicators %s, others have %s" % (
                what, who, number, sorted(pair), sorted(indices[number])))
        if numbers.setdefault(comm, (number, groups[0])) != (number, groups[0]):
            wrong.append("%s: %s %d: communicator %d is %s, too" % (
                what, who, number, comm, numbers[comm]))


def is_told(settings, run):
    done = subprocess.run([settings.lull, "info", run], capture_output=True, text=True, check=True)
    return MISSING in done.stdout + done.stderr


def check(settings, folder):
    wrong, run = [], os.path.join(folder, "run")
    for what, environment, alone, *options in (
            ("listed", {}, None), ("not listed", {"LULL_RECORD_LOOKS": "1"}, None),
            ("without rank 2", {}, 2), ("without rank 0, not listed", {"LULL_RECORD_LOOKS": "1"}, 0),
            ("by node", {}, None, "--store", "node")):
        if alone is not None and settings.spawn:
            continue # then the children are not recorded either, or not known
        record(settings, folder, run, environment, alone, *options)
        truth, found = truth_of(folder), found_of(settings, run)
        if len(truth) < 100:
            wrong.append("%s: %d communicators, expected more" % (what, len(truth)))
        compare(what, truth, found, None if alone is None else "0.%d" % alone, wrong)
        by_node = sorted(os.path.basename(path) for path in glob.glob(run + "/*.tapes"))
        expected = ["node1.tapes", "node2.tapes"] if settings.nodes else [os.uname().nodename + ".tapes"]
        if by_node != (expected if options else []):
            wrong.append("%s: files of nodes: %s" % (what, by_node))
        if is_told(settings, run) != (alone is not None):
            wrong.append("%s: what is missing is%s told" % (what, " not" if alone else ""))
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--comms", required=True)
    parser.add_argument("--family", required=True)
    form = parser.add_mutually_exclusive_group(required=True)
    for name in ("--alone", "--nodes", "--spawn"):
        form.add_argument(name, action="store_true")
    settings = parser.parse_args()
    for tool in ("mpicc." + settings.family, "mpirun." + settings.family):
        if not shutil.which(tool):
            print("skipped: %s was not found" % tool)
            return 77
    # As in clocks.py: MPICH often hangs when four processes of two nodes have all talked to each other.
    if settings.nodes and settings.family == "mpich":
        print("skipped: this MPI library hangs on two nodes, also where nothing is recorded")
        return 77
    reason = nodes.missing(settings.family) if settings.nodes else None
    if reason:
        print("skipped: " + reason)
        return 77
    with tempfile.TemporaryDirectory(prefix="lull-communicators-") as folder:
        subprocess.run(["mpicc." + settings.family, "-O1", "-w",
                        os.path.join(HERE, "communicators.c"), "-o",
                        os.path.join(folder, "program"), *launch.PATIENT],
                       check=True)
        if settings.spawn and not runs_alone(folder, settings.family):
            print("skipped: this MPI library cannot spawn here")
            return 77
        with open(os.path.join(folder, "alone.sh"), "w") as script:
            script.write(ALONE)
        wrong = check(settings, folder)
    for line in wrong[:40]:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
