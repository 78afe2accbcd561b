"""What a script has started, recorded with --follow: each program is an application of the run.

    follow.py --lull LULL --busy PROGRAM

The script runs one thread, then two, then one again; the numbers of threads must be found where they
are, by themselves and not one on top of the other. Each is analysed from its begin to its end: as they
run one after the other, these times together are not longer than the run.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

SHAPES = ("1 x 1", "1 x 2", "1 x 1")  # processes and threads, of each application


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "busy"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    wrong, lives = [], []
    with tempfile.TemporaryDirectory() as folder:
        run, script = os.path.join(folder, "run"), os.path.join(folder, "script.sh")
        with open(script, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n")
            for shape in SHAPES:
                out.write("'%s' %s 20\n" % (settings.busy, shape.split()[-1]))
            out.write("exit 0\n")
        os.chmod(script, 0o700)
        subprocess.run([settings.lull, "record", "--follow", "-o", run, script], check=True,
                       timeout=240, stdout=subprocess.DEVNULL)
        for number, shape in enumerate(SHAPES, 1):
            told = subprocess.run([settings.lull, "metrics", "--application", str(number), run],
                                  capture_output=True, text=True)
            others = [other for other in set(SHAPES) if other != shape and other in told.stdout]
            life = re.search(r"From the begin of the application to its end: \S+ (\S+) of (\S+) s;",
                             " ".join(told.stdout.split()))
            if told.returncode != 0 or shape not in told.stdout or others or not life:
                wrong.append("application %d: %s%s" % (number, told.stdout, told.stderr))
            lives.append(float(life.group(1)) / float(life.group(2)) if life else 1)
        beyond = subprocess.run([settings.lull, "metrics", "--application", str(len(SHAPES) + 1),
                                 run], capture_output=True, text=True)
        if not 0 < sum(lives) <= 1.001:  # four digits are told
            wrong.append("one after the other they take %s of the run" % lives)
        if beyond.returncode != 1 or "expected 1 to %d" % len(SHAPES) not in beyond.stderr:
            wrong.append("one too many: %s" % beyond.stderr)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
