#!/usr/bin/env python3
"""bin/lull of a bundle (packaging/bundle/start.c): becomes the lull of its own folder, with the arguments and the environment
that it was given, and says which C library is too old.

usage: start.py SOURCES CC"""

import os
import pathlib
import platform
import subprocess
import sys
import tempfile

SOURCE, CC = pathlib.Path(sys.argv[1]) / "packaging/bundle/start.c", sys.argv[2]
PROGRAM = '#!/bin/sh\nprintf "%s\\n" "$#" "$@" "$0" "$KEPT"\nexit 7\n'


def compiled(path, *flags):
    subprocess.run([CC, "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *flags, SOURCE, "-o", path], check=True)


def started(path, *words):
    ended = subprocess.run([path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "KEPT": "as it was"})
    return ended.returncode, ended.stdout, ended.stderr


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"start: {what}: {found}, expected {wanted}")


def main():
    libc, version = platform.libc_ver()
    if libc != "glibc":
        print(f"skipped: the C library is {libc or 'not known'}")
        return 77
    major, minor = (int(part) for part in version.split(".")[:2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        prefix = folder / "a folder"
        program = prefix / "lib/lull/lull"
        for part in (prefix / "bin", program.parent):
            part.mkdir(parents=True)
        start = prefix / "bin/lull"
        compiled(start)
        expect("without a program", started(start),
               (1, "", f"lull: {program}: cannot run: No such file or directory\n"))
        program.write_text(PROGRAM, encoding="utf-8")
        expect("not executable", started(start), (1, "", f"lull: {program}: cannot run: Permission denied\n"))
        program.chmod(0o755)
        words = ["record", "", "two words", "--", "-n", "ä"]
        told = "\n".join([str(len(words)), *words, str(program), "as it was", ""])
        expect("started", started(start, *words), (7, told, ""))
        (folder / "link").symlink_to(start)
        expect("by a link", started(folder / "link", *words), (7, told, ""))
        prefix.rename(folder / "moved")
        told = told.replace(str(prefix), str(folder / "moved"))
        expect("moved", started(folder / "moved/bin/lull", *words), (7, told, ""))
        # The C library of this system, one that is newer by a little, and by much.
        for needed, good in (((major, minor), True), ((major, minor - 1), True), ((major, minor + 1), False),
                             ((major + 1, 0), False)):
            compiled(folder / "moved/bin/lull", f"-DNEEDED_MAJOR={needed[0]}", f"-DNEEDED_MINOR={needed[1]}")
            refused = (1, "", f"lull: the C library (glibc) of this system is {version}, and this lull needs "
                              f"{needed[0]}.{needed[1]} or newer\n")
            expect(f"needs {needed}", started(folder / "moved/bin/lull", *words), (7, told, "") if good else refused)
    return 0


sys.exit(main())
