"""Whether a run tells that its threads did not have their cores to themselves, and who had them.

    alone.py --lull LULL --busy PROGRAM

All is bound to one core, which the test knows to be shared or to be used by one thread of the run alone
as far as the run goes; what the scheduler counted is compared with what the thread itself says.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

OTHERS, OWN = "other programs had the cores", "the run has more threads than cores"


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "busy"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    if not os.path.exists("/proc/self/schedstat"):
        print("skipped: the system does not tell of its scheduler")
        return 77
    core, wrong = min(os.sched_getaffinity(0)), []
    with tempfile.TemporaryDirectory() as folder:
        # who has the core beside the run, threads of the run, and whom the run must name
        for name, beside, threads, expected in (("beside", 2, "1", OTHERS), ("own", 0, "4", OWN)):
            run = os.path.join(folder, name)
            others = [subprocess.Popen(["taskset", "-c", str(core), settings.busy, "1", "60000"])
                      for _ in range(beside)]
            try:
                subprocess.run(["taskset", "-c", str(core), settings.lull, "record", "-o", run,
                                settings.busy, threads, "400"], check=True, timeout=600,
                               stderr=subprocess.DEVNULL)
            finally:
                for other in others:
                    other.kill()
                    other.wait()
            info = subprocess.run([settings.lull, "info", "--format", "json", run], check=True,
                                  capture_output=True, text=True)
            told = json.loads(info.stdout)["facts"].get("cores", "")
            metrics = subprocess.run([settings.lull, "metrics", run], capture_output=True,
                                     text=True)
            for command, text in (("info", told), ("metrics", metrics.stderr)):
                if expected not in text:
                    wrong.append("%s of '%s': %r" % (command, name, text))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
