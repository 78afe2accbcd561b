"""Call sites of programs in Python: what `lull metrics --by callsite` shows is compared with what the
interpreter says of the same calls (sites_python_calls.py), for each version of Python that is found.

    sites_python.py --lull LULL
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch

ENVIRONMENT = launch.environment(LULL_RECORD_QUIET="1")
PROGRAM = os.path.join(HERE, "sites_python_calls.py")
MODULE = "def messen(here, call):\n    here(); call()\n"
KNOWN = range(8, 14) # versions 3.x of which the recorder knows the structures


def pythons():
    """{path of an interpreter: x of its version 3.x}"""
    names = ["/usr/bin/python3", sys.executable] + ["python3.%d" % minor for minor in range(6, 20)]
    paths = [shutil.which(name) for name in names]
    paths += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    found, known = {}, set()
    for path in filter(None, paths):
        about = subprocess.run([path, "-c", "import sys; print(sys.version_info[1], sys.version, sys.executable)"],
                               capture_output=True, text=True)
        if about.returncode == 0 and about.stdout not in known:
            known.add(about.stdout)
            found[path] = int(about.stdout.split()[0])
    return found


def visits_by_path(lull, run, call):
    done = subprocess.run([lull, "metrics", "--whole", "--by", "callsite", "--format", "json", run],
                          env=ENVIRONMENT, check=True, capture_output=True, text=True)
    got = {}
    for name, table in json.loads(done.stdout)["tables"].items():
        for row in table["rows"] if name.startswith("call_sites") else []:
            if re.match(call, row["id"]):
                got[row["values"][0]] = got.get(row["values"][0], 0) + row["values"][2]
    return got


def check(lull, folder, python, minor, frames, binding, wrong):
    run, result = os.path.join(folder, "run"), os.path.join(folder, "result")
    shutil.rmtree(run, ignore_errors=True)
    launcher = ["mpirun.openmpi", "-n", "1"] if binding != "system" else []
    subprocess.run(launcher + [lull, "record", "--mpi", "openmpi", "--files", "--callpath", str(frames),
                               "-o", run, "--", python, PROGRAM, result, str(frames), binding],
                   env=ENVIRONMENT, check=True, capture_output=True, text=True)
    got = visits_by_path(lull, run, "pwrite" if binding == "system" else "MPI_Barrier")
    if minor not in KNOWN:
        if any(".py:" in path for path in got):
            wrong.append("%s: a place in Python, from structures that are not known" % python)
        return
    with open(result) as file:
        expected = json.load(file)
    for path in sorted(set(got) | set(expected)):
        if got.get(path) != expected.get(path):
            wrong.append("%s, %s, %d frames: %s: %s calls, expected %s" % (
                python, binding, frames, path, got.get(path), expected.get(path)))


def bindings(python):
    """What of MPI the interpreter can call."""
    found = ["system"]
    for name, module in (("mpi4py", "import mpi4py.MPI"),
                         ("ctypes", "import ctypes; ctypes.CDLL('libmpi.so.40', ctypes.RTLD_GLOBAL)")):
        if shutil.which("mpirun.openmpi") and subprocess.run(
                [python, "-c", module], env=ENVIRONMENT, capture_output=True).returncode == 0:
            found.append(name)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    settings = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="lull-sites-python-") as folder:
        with open(os.path.join(folder, "größe.py"), "w", encoding="utf-8") as file:
            file.write(MODULE)
        for python, minor in pythons().items():
            for binding in bindings(python):
                for frames in 1, 3:
                    check(settings.lull, folder, python, minor, frames, binding, wrong)
                print("%s: %s, %s" % ("compared" if minor in KNOWN else "not known to the recorder",
                                      python, binding))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
