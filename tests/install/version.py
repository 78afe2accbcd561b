#!/usr/bin/env python3
"""Which version, commit and time a build takes from git, from an archive of git, and where there is neither.

usage: version.py SOURCES; skipped (77) without git"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(sys.argv[1])
PROJECT = """cmake_minimum_required(VERSION 3.18...3.25)
project(lull VERSION 3.2.1 LANGUAGES NONE)
set(LULL_PRERELEASE -beta2)
include(cmake/Version.cmake)
message(STATUS "number ${LULL_VERSION_NUMBER}")
"""


def run(*words):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ended.returncode == 0, f"{words}: {ended.returncode}\n{ended.stdout}"
    return ended.stdout.strip()


def expect(what, tree, version, commit, time):
    """A build in the tree says these, and one more leaves the header as it was."""
    build = tree.parent / "build"
    shutil.rmtree(build, ignore_errors=True)
    said = run("cmake", "-S", tree, "-B", build, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", build, "--target", "lull_commit")
    header = build / "generated/lull_build.h"
    found = (re.findall(r"number (.*)", said), (build / "generated/version").read_text(), header.read_text().split("\n", 1)[1],
             (build / "generated/date").read_text())
    wanted = ([version.split("-")[0]], f"{version}\n", f'#define LULL_COMMIT "{commit}"\n#define LULL_BUILD_TYPE "Release"\n',
              f"{time}\n")
    assert found == wanted, f"{what}: {found}, expected {wanted}"
    before = header.stat().st_mtime_ns
    run("cmake", "--build", build, "--target", "lull_commit")
    assert header.stat().st_mtime_ns == before, f"{what}: written again"


def main():
    if not shutil.which("git"):
        print("skipped: git was not found")
        return 77
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name).resolve() / "tree"
        (tree / "cmake").mkdir(parents=True)
        for file in ("cmake/Version.cmake", "cmake/Commit.cmake", "cmake/commit.txt", ".gitattributes"):
            shutil.copy(SOURCES / file, tree / file)
        # In an archive of git this test's own file has been filled in.
        lines = (tree / "cmake/commit.txt").read_text().splitlines()
        formats = ("%H", "%ct", "%(describe:tags=true,match=v*)")
        (tree / "cmake/commit.txt").write_text("".join(f"{line.split()[0]} $Format:{format}$\n"
                                                       for line, format in zip(lines, formats)))
        (tree / "CMakeLists.txt").write_text(PROJECT)
        expect("no git", tree, "3.2.1-beta2", "", 0)

        git = ["git", "-C", tree, "-c", "user.name=A", "-c", "user.email=a@example.org"]

        def commit():
            run(*git, "add", ".")
            run(*git, "commit", "-q", "--allow-empty", "-m", "a")
            return run(*git, "rev-parse", "HEAD")[:12], run(*git, "show", "-s", "--format=%ct")

        run(*git, "init", "-q")
        expect("no commit", tree, "3.2.1-beta2", "", 0)
        hash, time = commit()
        expect("no tag", tree, "3.2.1-beta2", hash, time)
        run(*git, "tag", "other")
        run(*git, "tag", "v4.0.0-rc1")
        expect("a tag", tree, "4.0.0-rc1", hash, time)
        (tree / "untracked").write_text("")
        expect("a file that git does not know", tree, "4.0.0-rc1", hash, time)
        with (tree / "CMakeLists.txt").open("a") as file:
            file.write("# changed\n")
        expect("changed", tree, "4.0.0-rc1", f"{hash}, changed", time)
        commit()
        hash, time = commit()
        expect("later", tree, "4.0.0-rc1", f"{hash}, 2 after v4.0.0-rc1", time)
        run(*git, "tag", "-a", "-m", "a", "v5.6.7")
        expect("an annotated tag", tree, "5.6.7", hash, time)
        commit()
        hash, time = commit()
        archived = tree.parent / "archived/tree"
        archived.mkdir(parents=True)
        run("sh", "-c", f"git -C '{tree}' archive HEAD | tar -x -C '{archived}'")
        expect("an archive", archived, "5.6.7", f"{hash}, 2 after v5.6.7", time)
        # Within a repository of others.
        run("git", "-C", archived.parent, "init", "-q")
        expect("an archive in another repository", archived, "5.6.7", f"{hash}, 2 after v5.6.7", time)
    return 0


sys.exit(main())
