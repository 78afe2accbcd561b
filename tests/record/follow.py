"""What a script has started, recorded with --follow: each program is an application of the run.

    follow.py --lull LULL --busy PROGRAM

The script runs one thread, then two, then one again; the numbers of threads must be found where they
are, by themselves and not one on top of the other. Each is analysed from its begin to its end: as they
run one after the other, these times together are not longer than the run, however long they are.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

SHAPES = ("1 x 1", "1 x 2", "1 x 1")  # processes and threads, of each application


def lull(settings, *words):
    return subprocess.run([settings.lull, *words], capture_output=True, text=True, timeout=600)


def told_wrongly(settings, script, run, *kind):
    """Of a run of the script; `kind` are options of lull record."""
    lives = []
    recorded = lull(settings, "record", "--follow", *kind, "-o", run, script)
    if recorded.returncode != 0:
        yield recorded.stderr
    for number, shape in enumerate(SHAPES, 1):
        told = lull(settings, "metrics", "--application", str(number), run)
        others = [other for other in set(SHAPES) if other != shape and other in told.stdout]
        life = re.search(r"From the begin of the application to its end: \S+ (\S+) of (\S+) s;",
                         " ".join(told.stdout.split()))
        if told.returncode != 0 or shape not in told.stdout or others or not life:
            yield "application %d: %s%s" % (number, told.stdout, told.stderr)
        lives.append(float(life.group(1)) / float(life.group(2)) if life else 1)
    if not 0 < sum(lives) <= 1.001:  # four digits are told
        yield "one after the other they take %s of the run" % lives
    beyond = lull(settings, "metrics", "--application", str(len(SHAPES) + 1), run)
    if beyond.returncode != 1 or "expected 1 to %d" % len(SHAPES) not in beyond.stderr:
        yield "one too many: %s" % beyond.stderr


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "busy"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script.sh")
        with open(script, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n")
            for shape in SHAPES:
                out.write("'%s' %s 20\n" % (settings.busy, shape.split()[-1]))
            out.write("exit 0\n")
        os.chmod(script, 0o700)
        wrong = [*told_wrongly(settings, script, os.path.join(folder, "run")),
                 *told_wrongly(settings, script, os.path.join(folder, "sums"), "--profile"),
                 *told_wrongly(settings, script, os.path.join(folder, "node"), "--store", "node")]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
