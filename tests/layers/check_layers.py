#!/usr/bin/env python3
"""The rules between the rooms of src/, checked on the sources.

usage: check_layers.py [ROOT]

 1. A room includes headers only of rooms that it sees (SEES below), and the link lines in
    CMakeLists.txt say no more than that.
 2. A header whose first comment calls it internal in its first line stays in its room, and those of one trace format
    stay in the folder of that format: the scan and other formats know none by name.
 3. Libraries are those listed here, all of them usable in a BSD-licensed program.
 4. Only cli prints and ends the process.
 5. Inside a room files form no circle of includes, a file and its header being one.
 6. A header has users: a file outside of src/, or one that is not its own.
 7. An exported function is called outside of its file. One that a single file of its room calls belongs into that
    file, unless something keeps it in its own: a static name or data that it needs, a function there that calls it, a
    test, or that other exported functions of its file work on the same or begin with the same name
    ("rec_counters_").
 8. A static function of a file has no name that begins as those of exported functions do (lull_, rec_).
 9. No text of the tree has the marks of a merge in it.
10. The version of the project (CMakeLists.txt: project(), LULL_PRERELEASE) is that of the files in VERSIONS, which
    Python writes without its hyphen, and that of the commit's tag, where it has one.
11. Two structs, unions or enums have different names, where the name begins with lull_ or rec_. (Names without prefix
    belong to one room, which is compiled as one unit.)
12. Each source of what is installed begins with the licence (scripts/spdx), where the tree has one.

Prints one line per violation and exits with status 1 if there is any.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # also of scripts/spdx

EVERYTHING = None
SEES = {
    "base": [],
    "stats": ["base"],
    "tape": [],
    "record": ["tape"],
    "binary": ["base"],
    "filter": ["base", "binary"],
    "trace": ["base", "tape", "binary"],
    "activity": ["base", "trace"],
    "match": ["base", "team", "trace", "activity"],
    "columns": ["base", "trace", "activity", "match"],
    "machine": ["base", "stats"],
    "model": ["base", "stats", "machine"],
    "timeline": ["base", "team", "trace", "activity"],
    "wait": ["base", "team", "trace", "activity", "match"],
    "team": ["base"],
    "metrics": ["base", "stats", "tape", "binary", "team", "trace", "activity", "match"],
    "sim": ["base", "stats", "machine"],
    "replay": ["base", "stats", "tape", "team", "trace", "activity", "match", "sim"],
    "wave": ["base", "stats", "team", "trace", "activity", "sim"],
    "diagnose": ["base", "stats", "binary", "team", "trace", "activity", "wait", "metrics", "replay", "wave"],
    "bench": ["base", "stats", "machine"],
    "launch": ["base", "tape", "binary", "filter", "sim"],
    "report": ["base"],
    "study": ["base", "stats", "binary", "team", "trace", "activity", "columns", "timeline", "wait", "machine", "model", "metrics", "sim",
              "replay", "wave", "diagnose", "bench"],
    "view": ["base", "stats", "trace", "timeline", "wait", "machine", "model", "metrics", "sim", "replay", "wave",
             "diagnose", "bench", "study", "report"],
    "cli": EVERYTHING,
}
# Rooms that one folder sees beside those of its room.
ALSO_SEES = {"model/program/": ["sim"]}
# Single headers that a room may include although it does not see their room.
ALSO = {("record", "base/clock.h"), ("record", "base/fnv.h"), ("record", "base/mix.h"), ("record", "base/sorted.h"),
        ("record", "base/starters.h"), ("record", "base/memory_limit.h")}
GENERATED = {"lull_build.h", "lull_features.h", "mpi_functions.h"}
# Folders whose headers are included nowhere else.
CLOSED_FOLDERS = re.compile(r"trace/format/\w+/")

# As CMake names them, with their licence.
LIBRARIES = {
    "Threads": "C library",
    "PkgConfig": "finds the others",
    "ZLIB": "zlib",
    "POPT": "MIT",
    "JANSSON": "MIT",
    "LUA": "MIT",
    "OTF2": "BSD-3-Clause",
    "HWLOC": "BSD-3-Clause",
    "ISAL": "BSD-3-Clause",
    "ZSTD": "BSD-3-Clause",
    "LIBDW": "LGPL-3.0 or GPL-2.0, optional, linked as a shared library",
    "CMOCKA": "Apache-2.0, tests only",
    "OPENCL": "BSD-2-Clause (ocl-icd), tests only",
    "Python3": "makes the wrappers of MPI functions, runs tests",
    "OpenMP": "the compiler's, benchmarks only",
}

# Files that name the version, and where.
VERSIONS = {
    "CITATION.cff": r"^version: (\S+)$",
    "python/pyproject.toml": r'^version = "(\S+)"$',
    "python/lull/__init__.py": r'^__version__ = "(\S+)"$',
}

# Words that only cli may use; the second half only where they are called.
LEAVES = re.compile(
    r"\b(stdout|stderr|abort)\b"
    r"|\b(printf|vprintf|puts|putchar|perror|warnx?|errx?|exit|_exit|_Exit|quick_exit)\s*\("
)
# (file, word): why
MAY_LEAVE = {
    ("base/arena.c", "abort"): "the default of what happens when memory runs out",
    ("record/file/streams.c", "stdout"): "the stream of the program's that puts and printf write to",
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def without_comments_and_strings(text):
    """The code alone, with its line breaks kept."""

    def blank(match):
        token = match.group(0)
        return token if token.lstrip().startswith("#") else "\n" * token.count("\n")

    pattern = r"^[ \t]*#[ \t]*include[^\n]*|/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
    return re.sub(pattern, blank, text, flags=re.DOTALL | re.MULTILINE)


def is_internal(header):
    with open(header, encoding="utf-8") as lines:
        first = next((line for line in lines if "SPDX-License-Identifier" not in line), "")
        return re.search(r"\binternal\b", first, re.IGNORECASE) is not None


def check_include(src, name, included):
    """What is wrong with an #include "..." in the file src/name; None if nothing is."""
    room = name.split("/")[0]
    if included in GENERATED or (room, included) in ALSO:
        return None
    other = included.split("/")[0]
    if "/" not in included or other not in SEES:
        return f'"{included}" names no room; write "room/header.h"'
    if not (src / included).exists():
        return f'"{included}" does not exist'
    closed = CLOSED_FOLDERS.match(included)
    if closed and not name.startswith(closed.group(0)):
        return f'"{included}" is internal to {closed.group(0)}'
    if other == room:
        return None
    if SEES[room] is not EVERYTHING and other not in SEES[room]:
        if not any(name.startswith(folder) and other in rooms for folder, rooms in ALSO_SEES.items()):
            return f"{room} does not see {other}"
    if is_internal(src / included):
        return f'"{included}" is internal to {other}'
    return None


def check_file(src, path):
    name = path.relative_to(src).as_posix()
    room = name.split("/")[0]
    text = path.read_text(encoding="utf-8")
    code = without_comments_and_strings(text)
    if room not in SEES:
        yield f"src/{name}: {room} is no room"
        return
    for number, line in enumerate(code.split("\n"), 1):
        include = re.match(r'\s*#\s*include\s*"([^"]*)"', line)
        if include:
            problem = check_include(src, name, include.group(1))
            if problem:
                yield f"src/{name}:{number}: {problem}"
            continue
        if room == "cli":
            continue
        for match in LEAVES.finditer(line):
            word = match.group(1) or match.group(2)
            if (name, word) not in MAY_LEAVE:
                yield f"src/{name}:{number}: {word}: only cli prints and ends the process"


def circles_of(graph):
    """The sets of files of which each can be reached from each (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        stack.append(file)
        for other in graph[file]:
            if other not in order:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], order[other])
        if low[file] == order[file]:
            circle = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for file in graph:
        if file not in order:
            visit(file)
    return found


def check_files(src):
    """Circles of files inside rooms, and headers without users."""
    texts = {path.relative_to(src).as_posix(): path.read_text(encoding="utf-8") for path in sorted(src.rglob("*.[ch]"))}
    graphs, used = {}, set()
    for name, text in texts.items():
        room = name.split("/")[0]
        own = name.removeprefix(room + "/")[:-2]
        edges = graphs.setdefault(room, {}).setdefault(own, set())
        for included in INCLUDE.findall(text):
            if included[:-2] != name[:-2]:
                used.add(included)
            other = included.removeprefix(room + "/")[:-2]
            if included.startswith(room + "/") and included in texts and other != own:
                edges.add(other)
    for room, graph in graphs.items():
        for edges in graph.values():
            edges &= graph.keys()
        for circle in circles_of(graph):
            yield f"src/{room}: a circle of files: {' '.join(circle)}"
    outside = [src.parent / folder for folder in ("tests", "bench", "examples")]
    for folder in outside:
        for path in folder.rglob("*.[ch]"):
            used.update(INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")))
    for path in src.rglob("generate.py"):
        used.update(re.findall(r'"([\w/]+\.h)', path.read_text(encoding="utf-8")))
    for name in texts:
        if name.endswith(".h") and name not in used:
            yield f"src/{name}: nobody but its own file includes this header"


FUNCTION = re.compile(r"^(?!static\b|typedef\b|extern\b)(\w[^;{}=#]*?\b(\w+)\(([^;{}]*))\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
OWN = re.compile(r"^static\b[^;{}=(]*?\b(\w+)(?: =|;|\[|\()|^\w[^;{}=()]*?\b(\w+)(?:\[\w*\])* =", re.MULTILINE)
TYPE = re.compile(r"\b(?:struct|enum|union) (\w+)")


def check_exports(src):
    """Exported functions that nobody calls, and those that only one file of their room does, which could be there."""
    codes = {path: without_comments_and_strings(path.read_text(encoding="utf-8")) for path in sorted(src.rglob("*.[ch]"))}
    used = {path: set(re.findall(r"\w+", code)) for path, code in codes.items()}
    outside = set()
    for folder in ("tests", "bench", "examples", "include"):
        for path in (src.parent / folder).rglob("*.[ch]"):
            outside.update(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace")))
    for path in [*src.rglob("*.in"), *src.rglob("*.py"), *src.rglob("functions.txt")]: # what C is made of
        outside.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    composed = tuple(prefix for path in src.rglob("*.py")
                     for prefix in re.findall(r"\b(rec_\w+(?=%s)|rec_\w+_(?=\"))", path.read_text(encoding="utf-8")))
    users = {}
    for path, words in used.items():
        for word in words:
            users.setdefault(word, set()).add(path)
    for path, code in codes.items():
        if path.suffix != ".c" or "helper" in path.parts:
            continue
        functions = {name: (set(TYPE.findall(head)), set(re.findall(r"\w+", body)))
                     for head, name, _, body in FUNCTION.findall(code)}
        own = {name for names in OWN.findall(code) for name in names if name}
        header = path.with_suffix(".h")
        for name, (types, body) in functions.items():
            if not name.startswith(("lull_", "rec_")) or name in outside or name.startswith(composed):
                continue
            others = users[name] - {path, header}
            inline = header in users[name] and codes[header].count(name) > 1
            where = path.relative_to(src.parent).as_posix()
            if not others and not inline:
                yield f"{where}: {name} is exported for nobody"
            kept = body & own or len(re.findall(rf"\b{name}\b", code)) > 1 or \
                any(types & shared or other.split("_")[:2] == name.split("_")[:2]
                    for other, (shared, _) in functions.items() if other != name)
            callers = {other for other in others if other.suffix == ".c"}
            if not kept and not inline and len(others) == 1 and len(callers) == 1 and \
                    next(iter(callers)).relative_to(src).parts[0] == path.relative_to(src).parts[0]:
                yield f"{where}: {name} is exported for {next(iter(callers)).relative_to(src)} alone, and could be there"


STATIC_FUNCTION = re.compile(r"^static\b[^;{}=()]*?\b((?:lull|rec)_\w+)\(", re.MULTILINE)


def check_static_names(src):
    for path in sorted(src.rglob("*.c")):
        code = without_comments_and_strings(path.read_text(encoding="utf-8"))
        for name in sorted(set(STATIC_FUNCTION.findall(code))):
            yield f"{path.relative_to(src.parent).as_posix()}: {name} is static and named as exported functions are"


TAGGED = re.compile(r"\b(?:struct|union|enum)\s+((?:lull|rec)_\w+)\s*\{")


def check_tags(src):
    first = {}
    for path in sorted(src.rglob("*.[ch]")):
        for name in TAGGED.findall(without_comments_and_strings(path.read_text(encoding="utf-8"))):
            where = path.relative_to(src.parent).as_posix()
            if name in first:
                yield f"{where}: {name} is also the name of a type in {first[name]}"
            first.setdefault(name, where)


def linked(room):
    """The rooms that a room or one of its folders sees."""
    return SEES[room] + [other for folder, rooms in ALSO_SEES.items()
                         if folder.startswith(room + "/") for other in rooms]


def check_links(root):
    """The rooms in CMakeLists.txt, and the libraries everywhere."""
    for path in [root / "CMakeLists.txt", *sorted(root.glob("*/CMakeLists.txt")),
                 *sorted(root.glob("*/*.cmake")), *sorted(root.glob("*/*/*.cmake"))]:
        if path.relative_to(root).parts[0] == "build":
            continue
        name = path.relative_to(root).as_posix()
        text = re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8"))
        for room, sees in re.findall(r"\blull_room\s*\(\s*(\w+)\s+SEES\b([^)]*)\)", text):
            for other in sees.split(" USES")[0].split():
                if room not in SEES or (SEES[room] is not EVERYTHING and other not in linked(room)):
                    yield f"{name}: {room} is linked to {other}, which it does not see"
        used = re.findall(r"\b(?:find_package|pkg_check_modules|pkg_search_module)\s*\(\s*(\w+)", text)
        used += re.findall(r"\bPkgConfig::(\w+)", text)
        used += re.findall(r"\b(\w+)::\w+", text)
        for library in sorted(set(used) - set(LIBRARIES)):
            yield f"{name}: library {library} is not in the list of those that may be used"
        for library in re.findall(r"\bfind_library\s*\(\s*\w+\s+([^)\s]+)", text):
            yield f"{name}: library {library}: use pkg-config or find_package, and list it"


def own_files(root):
    """The files below root without what a build writes, which comes and goes while other tests run."""
    for folder, folders, names in os.walk(root):
        if pathlib.Path(folder) == root:
            folders[:] = [name for name in folders if name not in ("build", ".git")]
        yield from (pathlib.Path(folder) / name for name in names)


def check_merges(root):
    suffixes = (".c", ".h", ".py", ".md", ".txt", ".cmake", ".js", ".sh")
    for path in sorted(path for path in own_files(root) if path.suffix in suffixes):
        name = path.relative_to(root)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
                yield f"{name}:{number}: the mark of a merge"


def check_versions(root):
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    project = re.search(r"^project\(\w+ VERSION ([0-9.]+)", text, re.MULTILINE)
    if not project:
        return
    later = re.search(r"^set\(LULL_PRERELEASE (\S+)\)", text, re.MULTILINE)
    version = project.group(1) + (later.group(1) if later else "")
    for name, line in VERSIONS.items():
        if (root / name).is_file():
            wanted = version.replace("-", "") if name.startswith("python/") else version
            found = re.search(line, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
            if not found or found.group(1) != wanted:
                yield f"{name}: version {found.group(1) if found else '(none)'}, the project has {wanted}"
    for tag in tags_of_commit(root):
        if tag != "v" + version:
            yield f"CMakeLists.txt: version {version}, the commit has the tag {tag}"


def tags_of_commit(root):
    """Those that name a version. None where there is no git, or no repository of git."""
    if not (root / ".git").exists():
        return []
    try:
        told = subprocess.run(["git", "-C", root, "tag", "--points-at", "HEAD", "--list", "v[0-9]*"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return []
    return told.stdout.split()


def check_licences(root):
    script = pathlib.Path(__file__).resolve().parents[2] / "scripts/spdx"
    loader = importlib.machinery.SourceFileLoader("spdx", str(script))
    spdx = importlib.util.module_from_spec(importlib.util.spec_from_loader("spdx", loader))
    loader.exec_module(spdx)
    for path in spdx.lacking(root):
        yield f"{path.relative_to(root)}: the first line is not the licence (scripts/spdx --fix)"


def violations(root):
    src = root / "src"
    for path in sorted(src.rglob("*.[ch]")):
        yield from check_file(src, path)
    yield from check_files(src)
    yield from check_exports(src)
    yield from check_static_names(src)
    yield from check_tags(src)
    yield from check_merges(root)
    yield from check_links(root)
    yield from check_versions(root)
    if (root / "LICENSE").is_file():
        yield from check_licences(root)


def main():
    here = pathlib.Path(__file__).resolve()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parents[2]
    found = list(violations(root))
    for line in found:
        print(line)
    count = len(list((root / "src").rglob("*.[ch]")))
    print(f"{count} files, {len(found)} violations")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
