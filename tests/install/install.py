#!/usr/bin/env python3
"""Installing, upgrading, moving and removing lull: what is there works, and what goes leaves nothing.

usage: install.py BUILD SOURCES VERSION CC"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCES, VERSION, CC = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
NUMBER = VERSION.split("-")[0]  # for those who compare numbers
PROGRAM = """#include <lull/lull.h>
#include <stdio.h>
int main(void)
{
    lull_begin("marked");
    lull_end("marked");
    puts("ran");
    return 0;
}
"""
# Says that it runs, waits until a file is there, and starts another program.
WAITS = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *nothing(void *none)
{
    return none;
}
int main(void)
{
    puts("begun");
    fflush(stdout);
    while (access("moved", F_OK) != 0)
        usleep(1000);
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    return system("echo another program");
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C)
find_package(lull {version} REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE lull::lull)
"""


def run(*words, fails=False, **more):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert (ended.returncode != 0) == fails, f"{words}: {ended.returncode}\n{ended.stdout}"
    return ended.stdout


def tree(folder):
    """All in it, with the contents of files."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def install(prefix, **more):
    run(SOURCES / "scripts/install", BUILD, prefix, **more)


def remove(prefix, **more):
    return run(SOURCES / "scripts/install", "--remove", prefix, **more)


def environment_without_lull():
    return {name: value for name, value in os.environ.items() if name not in ("LULL_PROGRAM", "PYTHONDONTWRITEBYTECODE")}


def check_use(prefix, folder):
    """Programs that mark their regions, by pkg-config and by CMake, and lull itself."""
    assert run(prefix / "bin/lull", "--version").startswith(f"lull {VERSION}\n")
    assert "Speedup" in run(prefix / "bin/lull", "metrics", SOURCES / "tests/data/tape/exchange-2x1")
    # The package of Python starts the lull that it lies beside, and leaves files of its own when it is imported.
    python = {**environment_without_lull(), "PYTHONPATH": str(prefix / "share/lull/python")}
    found = run(sys.executable, "-c", "import lull; print(lull._program.find(None))", env=python)
    assert found == f"{prefix}/bin/lull\n", found
    named = run(sys.executable, "-c", "import lull; print(lull._program.find(None))", env={**python, "LULL_PROGRAM": "/bin/true"})
    assert named == "/bin/true\n", named
    folder.mkdir()
    (folder / "user.c").write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}
    if shutil.which("pkg-config"):
        assert run("pkg-config", "--modversion", "lull", env=environment).strip() == NUMBER
        source = run("pkg-config", "--variable=fortran_source", "lull", env=environment).strip()
        assert pathlib.Path(source.replace("\\ ", " ")).is_file(), source
        flags = run("pkg-config", "--cflags", "--libs", "lull", env=environment)
        if " " not in str(prefix):  # blanks are escaped for a shell
            run(CC, "-Wall", "-Werror", "user.c", "-o", "by_pkg_config", *flags.split(), cwd=folder)
            assert run(folder / "by_pkg_config") == "ran\n"
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version=NUMBER), encoding="utf-8")
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}")
    run("cmake", "--build", folder / "build")
    assert run(folder / "build/user") == "ran\n"
    assert f"lull_DIR:PATH={prefix}" in (folder / "build/CMakeCache.txt").read_text(encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version="99"), encoding="utf-8")
    assert "version" in run("cmake", "-S", folder, "-B", folder / "other", f"-DCMAKE_PREFIX_PATH={prefix}", fails=True)


def check_moved_while_a_program_runs(prefix, folder):
    """What is loaded stays: the program goes on and is recorded to its end. What it starts later finds no recorder."""
    folder.mkdir()
    (folder / "waits.c").write_text(WAITS, encoding="utf-8")
    run(CC, "-O1", "waits.c", "-o", "waits", "-pthread", cwd=folder)
    for options in ([], ["--follow"]):
        name = "run" + "".join(options)
        with subprocess.Popen([prefix / "bin/lull", "record", *options, "-o", name, "./waits"], cwd=folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
            assert started.stdout.readline() == "begun\n"
            prefix.rename(folder / "elsewhere")
            (folder / "moved").touch()
            said, errors = started.communicate()
        assert (started.returncode, said) == (0, "another program\n"), (started.returncode, said, errors)
        assert "lull record: " in errors, errors
        told = run(folder / "elsewhere/bin/lull", "info", folder / name)
        assert "No oddities were found" in told and "exit status" in told.lower(), told
        (folder / "elsewhere").rename(prefix)
        (folder / "moved").unlink()


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name).resolve()
        # Into a folder that is not there: all of it goes again.
        prefix = work / "new"
        install(prefix)
        installed = tree(prefix)
        for wanted in ("bin/lull", "include/lull/lull.h", "include/lull/lull.f90", "share/man/man1/lull-metrics.1",
                       "share/pkgconfig/lull.pc", "share/cmake/lull/lull-config.cmake", "share/zsh/site-functions/_lull",
                       "share/bash-completion/completions/lull", "share/fish/vendor_completions.d/lull.fish",
                       "share/lull/python/lull/__init__.py", "share/modulefiles/lull", "share/doc/lull/docs/install.md",
                       "share/doc/lull/examples/heat.c"):
            assert wanted in installed, wanted
        check_use(prefix, work / "used")
        prefix.rename(work / "moved")
        check_use(work / "moved", work / "used_moved")
        check_moved_while_a_program_runs(work / "moved", work / "running")
        (work / "moved").rename(prefix)
        remove(prefix)
        assert not prefix.exists(), tree(prefix)

        # Into a folder of others, whose files stay, also beside lull's own.
        prefix = work / "a shared folder"
        for other in ("bin/other", "share/lull.txt", "share/man/man1/other.1"):
            (prefix / other).parent.mkdir(parents=True, exist_ok=True)
            (prefix / other).write_text(other, encoding="utf-8")
        before = tree(prefix)
        install(prefix)
        check_use(prefix, work / "used_shared")
        # An upgrade of a version that had a file and a folder more.
        (prefix / "share/lull/old").mkdir()
        (prefix / "share/lull/old/model.lua").write_text("of an older version", encoding="utf-8")
        listed = prefix / "share/lull/installed"
        listed.write_text(listed.read_text(encoding="utf-8") + "folder ./share/lull/old\nfile share/lull/old/model.lua\n",
                          encoding="utf-8")
        (prefix / "bin/lull").write_text("an older program", encoding="utf-8")
        install(prefix)
        assert not (prefix / "share/lull/old/model.lua").exists()
        assert run(prefix / "bin/lull", "--version").startswith(f"lull {VERSION}\n")
        (prefix / "share/lull/mine").write_text("of the user", encoding="utf-8")
        remove(prefix)
        assert (prefix / "share/lull/mine").read_text(encoding="utf-8") == "of the user"
        shutil.rmtree(prefix / "share/lull")
        assert tree(prefix) == before, set(tree(prefix)) ^ set(before)

        # A second time, or where there was none.
        said = remove(prefix, fails=True)
        assert said == f"install: {prefix}: there is no lull that was installed by make install (no share/lull/installed)\n", said
        assert tree(prefix) == before

        # For a package.
        install("/opt/lull", env={**os.environ, "DESTDIR": str(work / "package")})
        assert set(tree(work / "package/opt/lull")) == set(installed)
        remove("/opt/lull", env={**os.environ, "DESTDIR": str(work / "package")})
        assert not (work / "package/opt/lull").exists()
    return 0


sys.exit(main())
