"""Copies of libgomp that plug-ins have brought along under names of their own, loaded for the plug-in
alone, as Python's wheels do: one, and two in one process. Then LLVM's libomp, loaded for one alone.

    private_gomp.py --lull LULL --check CHECK_RUN --constructs omp_constructs.c --two private_gomps.c

Exit status 77: there is no libgomp to copy, or no program to rename what a library needs.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = b"libgomp.so.1\0"


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **more)


def rename(path, target, own):
    """The name in the table of strings that says what the file needs or is called; `own` is as long."""
    content = open(path, "rb").read()
    if content.count(NAME) != 1:
        print("skipped: %s does not have the name of libgomp once" % path)
        sys.exit(77)
    with open(target, "wb") as file:
        file.write(content.replace(NAME, own + b"\0"))


def find_libgomp():
    found = run(["gcc", "-print-file-name=libgomp.so.1"]).stdout.strip()
    paths = [found, "/lib/x86_64-linux-gnu/libgomp.so.1", "/usr/lib64/libgomp.so.1"]
    return next((path for path in paths if os.path.isabs(path) and os.path.exists(path)), "")


def make_module(folder, source, number, options):
    """A module and its copy of libgomp; the module's path."""
    own = b"libgomp-a%d.s" % number
    module = os.path.join(folder, "module%d.so" % number)
    subprocess.run(["gcc", "-std=gnu17", "-g", "-shared", "-fPIC", "-fopenmp", source, "-o",
                    module + ".1", "-Wl,-rpath," + folder] + options, check=True)
    rename(find_libgomp(), os.path.join(folder, own.decode()), own)
    rename(module + ".1", module, own)
    return module


def differs(settings, folder, command):
    alone = run(command)
    if alone.returncode != 0:
        print("skipped: does not work alone: " + alone.stderr)
        sys.exit(77)
    where = os.path.join(folder, "run")
    recorded = run([settings.lull, "record", "-o", where] + command)
    if (recorded.returncode, recorded.stdout) != (alone.returncode, alone.stdout):
        print("status %d, alone %d: %s" % (recorded.returncode, alone.returncode, recorded.stderr))
        return True
    check = run([settings.check, where], input=recorded.stdout)
    print(check.stdout)
    return check.returncode != 0


def make_loader(folder):
    loader = os.path.join(folder, "loader")
    subprocess.run(["gcc", os.path.join(HERE, "start_loader.c"), "-ldl", "-o", loader], check=True)
    return loader


def one(settings, folder):
    return differs(settings, folder, [make_loader(folder),
                                      make_module(folder, settings.constructs, 1, ["-O1"])])


def llvm(settings, folder):
    module = os.path.join(folder, "module.so")
    made = run(["clang", "-g", "-shared", "-fPIC", "-fopenmp", settings.constructs, "-o", module])
    return made.returncode == 0 and differs(settings, folder, [make_loader(folder), module])


def two(settings, folder):
    program = os.path.join(folder, "program")
    subprocess.run(["gcc", settings.two, "-ldl", "-o", program], check=True)
    return differs(settings, folder, [program] + [
        make_module(folder, settings.two, threads, ["-O2", "-DTHREADS=%d" % threads])
        for threads in (2, 3)])


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "check", "constructs", "two"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    if not shutil.which("gcc") or not find_libgomp():
        print("skipped: no gcc, or no libgomp")
        return 77
    wrong = 0
    for case in (one, two) + ((llvm,) if shutil.which("clang") else ()):
        with tempfile.TemporaryDirectory(prefix="lull-gomp-") as folder:
            wrong += case(settings, folder)
    return 1 if wrong else 0


sys.exit(main())
