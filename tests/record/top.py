"""Looks at programs that hang, until `lull top` says of each rank what it must be in.

    top.py --lull LULL --program PROGRAM --mpirun MPIRUN

No length of time decides: the ranks come to where they hang, and stay there, so what is said must become
right. LIMIT is for what never does.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

LIMIT = 600

# By rank the call that it is in; and which rank is stopped.
HANGS = {
    "receives": ({0: "MPI_Recv", 1: "MPI_Recv"}, None),
    "sends": ({0: "MPI_Ssend", 1: "MPI_Ssend"}, None),
    "tag": ({0: "MPI_Ssend", 1: "MPI_Recv"}, None),
    "order": ({0: "MPI_Barrier", 1: "MPI_Recv"}, None),
    "stopped": ({0: "MPI_Barrier"}, 1),
    "computes": ({0: "MPI_Barrier"}, None),
}


def top(lull, run, *words):
    return subprocess.run([lull, "top", run, *words], capture_output=True, text=True, timeout=LIMIT, check=False)


def look(lull, run):
    """One look; None: there is nothing to be seen yet."""
    done = top(lull, run, "--count", "1", "--format", "json")
    if done.returncode != 0:
        return None
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout
    return json.loads(lines[0])


def calls_of(told):
    """By rank the call that it is in, and from where."""
    rows = told["tables"].get("calls", {}).get("rows", [])
    return {int(row["label"].split()[1]): tuple(row["values"][:2]) for row in rows}


def gathered(expected):
    """By call the ranks that are in it, as text; ranks that are in none are in the program."""
    ranks = {}
    for rank in range(2):
        ranks.setdefault(expected.get(rank, "code of the program"), []).append(str(rank))
    return {call: "-".join(of) for call, of in ranks.items()}


def fits(told, expected, stopped):
    calls = calls_of(told)
    where = {row["label"]: row["values"][2] for row in told["tables"].get("waiting", {}).get("rows", [])}
    return ({rank: call for rank, (call, _) in calls.items()} == expected and
            gathered(expected) == where and
            all(site and "hangs.c:" in site for _, site in calls.values()) and
            told["facts"].get("processes_stopped", 0) == (0 if stopped is None else 1))


def end_session(leader):
    """Kills all processes of a session. Open MPI's mpirun does not always end where one of its ranks is stopped."""
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % entry) as stat:
                if int(stat.read().rpartition(")")[2].split()[3]) == leader:
                    os.kill(int(entry), signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            pass  # no process, or it has just ended


def check_metrics(path, told):
    """What stands in the file is the last look. Its grammar is another test's (report/check_openmetrics.py)."""
    with open(path) as file:
        lines = [line for line in file.read().splitlines() if not line.startswith("#")]
    threads, ages = ({(re.search('call="(.*?)"', line)[1], re.search('site="(.*?)"', line)[1] or None): float(line.split()[-1])
                      for line in lines if line.startswith(name + "{")} for name in ("lull_threads", "lull_call_age_seconds"))
    rows = told["tables"]["waiting"]["rows"]
    assert threads == {(row["label"], row["values"][0]): row["values"][1] for row in rows}, (threads, rows)
    in_calls = {key: row["values"][4] for row in rows for key in [(row["label"], row["values"][0])] if row["values"][4] is not None}
    assert set(ages) == set(in_calls) and all(abs(ages[key] - in_calls[key]) < 1e-6 for key in ages), (ages, in_calls)
    states = {re.search('state="(.*?)"', line)[1]: float(line.split()[-1]) for line in lines if line.startswith("lull_processes{")}
    assert states["stopped"] == told["facts"].get("processes_stopped", 0) and sum(states.values()) == 2, states


def check_hang(options, what, folder):
    run = os.path.join(folder, what)
    expected, stopped = HANGS[what]
    program = subprocess.Popen([options.mpirun, "-n", "2", options.lull, "record", "-o", run, "--", options.program, what],
                               env=launch.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    until = time.monotonic() + LIMIT
    told = None
    try:
        while not told or not fits(told, expected, stopped):
            assert time.monotonic() < until, "%s: at last %s" % (what, json.dumps(told and calls_of(told)))
            assert program.poll() is None, "%s: the program has ended" % what
            told = look(options.lull, run)
        # Two looks, of which the second says what was since the first: nothing.
        metrics = os.path.join(folder, "lull.prom")
        twice = top(options.lull, run, "--count", "2", "--every", "0.01", "--format", "json", "--openmetrics", metrics)
        assert twice.returncode == 0 and len(twice.stdout.splitlines()) == 2, twice
        check_metrics(metrics, json.loads(twice.stdout.splitlines()[1]))
        text = top(options.lull, run, "--count", "1").stdout
        for call in expected.values():
            assert any(line.startswith(call) and "hangs.c:" in line for line in text.splitlines()), text
    finally:
        end_session(program.pid)
        program.wait(LIMIT)
    # All is over: it ends by itself, once the ranks are gone.
    done = top(options.lull, run, "--every", "0.1", "--format", "json")
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["facts"]["processes_ended"] == 2 and "calls" not in last["tables"], done.stdout


def check_none(options, folder):
    """What is no run is told in one line."""
    for path in (folder, os.path.join(folder, "nothing")):
        done = top(options.lull, path)
        assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program", "mpirun"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lull-top-") as folder:
        check_none(options, folder)
        for what in HANGS:
            check_hang(options, what, folder)
    print("%d programs that hang" % len(HANGS))


main()
