"""A copy of libgomp that a plug-in has brought along under a name of its own, loaded for the plug-in
alone, as Python's wheels do.

    private_gomp.py --lull LULL --check CHECK_RUN --source omp_constructs.c

Exit status 77: there is no libgomp to copy, or no program to rename what a library needs.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME, OWN = b"libgomp.so.1\0", b"libgomp-a1.s\0"  # of the same length


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=240, **more)


def rename(path, target):
    """The name in the table of strings that says what the file needs or is called."""
    content = open(path, "rb").read()
    if content.count(NAME) != 1:
        print("skipped: %s does not have the name of libgomp once" % path)
        sys.exit(77)
    with open(target, "wb") as file:
        file.write(content.replace(NAME, OWN))


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "check", "source"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    found = run(["gcc", "-print-file-name=libgomp.so.1"]).stdout.strip()
    if not os.path.isabs(found):
        found = next((path for path in ("/lib/x86_64-linux-gnu/libgomp.so.1",
                                        "/usr/lib64/libgomp.so.1") if os.path.exists(path)), "")
    if not found or not shutil.which("gcc"):
        print("skipped: no gcc, or no libgomp")
        return 77
    with tempfile.TemporaryDirectory(prefix="lull-gomp-") as folder:
        module, loader = os.path.join(folder, "module.so"), os.path.join(folder, "loader")
        subprocess.run(["gcc", "-std=gnu17", "-O1", "-g", "-shared", "-fPIC", "-fopenmp",
                        settings.source, "-o", module + ".1", "-Wl,-rpath," + folder], check=True)
        subprocess.run(["gcc", os.path.join(HERE, "start_loader.c"), "-ldl", "-o", loader],
                       check=True)
        rename(found, os.path.join(folder, OWN[:-1].decode()))
        rename(module + ".1", module)
        alone = run([loader, module])
        if alone.returncode != 0:
            print("skipped: does not work alone: " + alone.stderr)
            return 77
        where = os.path.join(folder, "run")
        recorded = run([settings.lull, "record", "-o", where, loader, module])
        if (recorded.returncode, recorded.stdout) != (alone.returncode, alone.stdout):
            print("status %d, alone %d: %s" % (recorded.returncode, alone.returncode,
                                               recorded.stderr))
            return 1
        check = run([settings.check, where], input=recorded.stdout)
        print(check.stdout)
        return check.returncode


sys.exit(main())
