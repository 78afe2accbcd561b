"""Records random schedules and compares each run with what its program expects.

    schedules.py --lull LULL --check CHECK_RUN --program PROGRAM --mpirun MPIRUN

LULL_TEST_PROGRAMS is how many there are (4), LULL_TEST_SEED the first one (1).
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

RANKS = "2"
SECONDS = 600  # for what hangs


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False,
                          **more)


def wrong_with(options, seed, folder):
    """What is wrong with the schedule of that seed, or None."""
    target = os.path.join(folder, str(seed))
    environment = launch.environment(OMP_NUM_THREADS="3")
    done = run([options.mpirun, "-n", RANKS, options.lull, "record", "-o", target, "--",
                options.program, str(seed)], env=environment)
    if done.returncode != 0:
        return "status %d\n%s%s" % (done.returncode, done.stdout, done.stderr)
    checked = run([options.check, target], input=done.stdout)
    if checked.returncode != 0:
        return checked.stdout
    replayed = run([options.lull, "replay", target])
    return None if replayed.returncode == 0 else replayed.stderr


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "check", "program", "mpirun"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    first = int(os.environ.get("LULL_TEST_SEED", "1"))
    number = int(os.environ.get("LULL_TEST_PROGRAMS", "4"))
    failed = 0
    for seed in range(first, first + number):
        with tempfile.TemporaryDirectory(prefix="lull-schedules-") as folder:
            wrong = wrong_with(options, seed, folder)
        if wrong:
            print("seed %d: %s" % (seed, wrong))
            failed += 1
    print("%d schedules from seed %d on, %d failed" % (number, first, failed))
    return 1 if failed else 0


sys.exit(main())
