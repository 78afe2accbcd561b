#!/usr/bin/env python3
"""File systems on which nothing can be executed (mounted noexec, as many a /tmp is): what lull says of them, and what works there all the
same.

usage: noexec.py LULL SOURCES CC; skipped (77) without the right to mount"""

import os
import pathlib
import subprocess
import sys
import tempfile

LULL, SOURCES, CC = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]


def started(*words, **more):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    return ended.returncode, ended.stdout, ended.stderr


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"noexec: {what}: {found}, expected {wanted}")


def inside(folder):
    """In a name space of mounts of its own."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "none", folder], check=True)
    (folder / "empty.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    for place in (folder, folder.parent):
        subprocess.run([CC, folder / "empty.c", "-o", place / "empty"], check=True)
    # The run may lie there, the program may not.
    status, _, said = started(LULL, "record", "-o", folder / "run", folder.parent / "empty")
    expect("a run there", (status, said.startswith("lull record: 1 rank x 1 thread, ")), (0, True))
    expect("and read", started(LULL, "info", folder / "run")[0], 0)
    expect("a program there", started(LULL, "record", "-o", folder / "none", folder / "empty"),
           (126, "", f"lull record: {folder}/empty: cannot run: Permission denied\n"))
    expect("its run", (folder / "none").exists(), False)
    status, _, said = started(LULL, "model", "kernel", "examples/kernels/triad.c", "-D", "N=1000", "--machine",
                              "data/haswell-e5-2695v3-cod.json", "--run", cwd=SOURCES, env={**os.environ, "TMPDIR": str(folder)})
    if "libclang" in said:
        print(f"skipped: {said.strip()}")
        return
    last = said.strip().splitlines()[-1]
    expect("a loop there", (status, last.startswith(f"lull model kernel: {folder}/lull-"), last.partition(".so: ")[2]),
           (1, True, "nothing can be executed there, as its file system is mounted noexec; TMPDIR names another folder"))
    expect("left there", sorted(path.name for path in folder.iterdir()), ["empty", "empty.c", "run"])


def main():
    if "--inside" in sys.argv:
        inside(pathlib.Path(sys.argv[-1]))
        return 0
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no name spaces of mounts here")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve() / "noexec"
        folder.mkdir()
        return subprocess.run(["unshare", "--mount", sys.executable, "-B", __file__, *sys.argv[1:4], "--inside", folder]).returncode


sys.exit(main())
