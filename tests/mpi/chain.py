#!/usr/bin/env python3
"""Another PMPI tool beside the recorder: both count every call, and as many bytes, wherever the tool
stands. The tool is made here, from mpi.h and counter.c.

usage: chain.py --family openmpi|mpich --recorder FILE --digest FILE --functions functions.txt
                --place preloaded|linked|inside [--built FOLDER] PROGRAM.c...

The tool is preloaded, with every other program (the rest has the other family of MPI), in turn before and
behind the recorder, or linked to the program as a library, or part of it. FOLDER has the programs
without the tool, by their names. Exit status 77: not possible here.
"""
import argparse
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import run
from run import launch

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Names of arguments in mpi.h that say how much is sent: number, type.
SENDING = (("sendcount", "sendtype"), ("count", "datatype"))

MOST_WORDS = 16 # that a call of Fortran passes


def named(argument, place):
    """A declared argument and its name; a prototype may leave the name out."""
    before, bracket, after = " ".join(argument.split()).partition("[")
    words = [word for word in re.findall(r"\w+", before) if word != "const"]
    if len(words) > 1:
        return argument, words[-1]
    return "%s argument_%d%s%s" % (before, place, bracket, after), "argument_%d" % place


def bytes_sent(name, names):
    """The expression, where a function sends to a `dest` (so mpi.h calls the source of a partitioned
    receive, too)."""
    if "dest" not in names or "Precv" in name:
        return None
    for count, kind in SENDING:
        if count in names and kind in names:
            parts = " * partitions" if "partitions" in names else ""
            return "bytes_of(%s%s, %s, dest)" % (count, parts, kind)
    return None


def wrapper(number, name, arguments):
    names = [name for _, name in arguments]
    sent = bytes_sent(name, names)
    after = []
    if re.search("_init(_c)?$", name) and sent:
        after = ["keep(*request, %s);" % sent]
    elif name == "MPI_Start":
        after = ["add(&all[%d], 0, kept(*request));" % number]
    elif name == "MPI_Startall":
        after = ["for (int i = 0; i < count; i++)",
                 "    add(&all[%d], 0, kept(%s[i]));" % (number, names[1])]
    elif sent:
        after = ["add(&all[%d], 0, %s);" % (number, sent)]
    ahead = ["write_counts(all, sizeof all / sizeof *all);"] if name == "MPI_Finalize" else []
    lines = ["int %s(%s)" % (name, ", ".join(a[0] for a in arguments) or "void"), "{",
             "    if (depth == 0)", "        add(&all[%d], 1, 0);" % number]
    lines += ["    " + line for line in ahead]
    lines += ["    depth++;", "    int result = P%s(%s);" % (name, ", ".join(names)),
              "    depth--;"]
    if after:
        lines += ["    if (depth == 0 && result == MPI_SUCCESS) {"]
        lines += ["        " + line for line in after] + ["    }"]
    return "\n".join(lines + ["    return result;", "}", ""])


def fortran_wrapper(number, name, symbol):
    """What programs in Fortran call. All arguments are addresses, or lengths of texts behind these. Where
    a function has fewer, it does not look at the others."""
    words = ["a%d" % i for i in range(MOST_WORDS)]
    ahead = ["    write_counts(all, sizeof all / sizeof *all);"] if name == "MPI_Finalize" else []
    return "\n".join(["void %s(%s)" % (symbol, ", ".join("void *" + word for word in words)), "{",
                      "    void (*next)() = dlsym(RTLD_NEXT, \"%s\");" % symbol,
                      "    if (depth == 0)", "        add(&all[%d], 1, 0);" % number, *ahead,
                      "    depth++;", "    next(%s);" % ", ".join(words), "    depth--;", "}", ""])


def make_source(header, unseen):
    """Of all functions of mpi.h that return a status, but those the recorder leaves alone."""
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", header)
    found = {}
    for name, arguments in re.findall(r"\bint\s+P(MPI_[A-Z]\w+)\s*\(([^()]*)\)", text):
        parts = [" ".join(part.split()) for part in arguments.split(",")]
        if parts[-1] == "..." or any(fnmatch.fnmatchcase(name, p) for p in unseen):
            continue
        found[name] = [] if parts == ["void"] else [named(part, i) for i, part in enumerate(parts)]
    names = sorted(found)
    lines = [open(os.path.join(FOLDER, "counter.c")).read(), "static struct counted all[] = {"]
    lines += ["    {\"%s\", 0, 0}," % name for name in names] + ["};", ""]
    for number, name in enumerate(names):
        lines += [wrapper(number, name, found[name])]
        # The second is what Open MPI's mpi_waitall_ and its like stand for, and the recorder calls.
        lines += [fortran_wrapper(number, name, spelling % name.lower()) for spelling in ("%s_", "o%s_f")]
    lines.append("int MPI_Pcontrol(const int level, ...)\n{\n    va_list arguments;\n"
                 "    va_start(arguments, level);\n    listen(level, arguments);\n"
                 "    va_end(arguments);\n    return PMPI_Pcontrol(level);\n}\n")
    return "\n".join(lines)


def execute(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s%s" % (" ".join(command), done.returncode, done.stdout,
                                          done.stderr))
    return done.stdout


def make_tool(options, folder):
    unseen = [line.split()[0] for line in open(options.functions)
              if len(line.split()) > 1 and line.split()[1] == "none"]
    unseen += [pattern + "_c" for pattern in unseen]
    header = execute([options.compiler, "-E", "-P", "-x", "c", "-"], input="#include <mpi.h>\n")
    source = os.path.join(folder, "tool.c")
    with open(source, "w") as out:
        out.write(make_source(header, unseen))
    execute([options.compiler, "-O1", "-w", "-fPIC", "-c", source, "-o", folder + "/tool.o"])
    execute([options.compiler, "-shared", folder + "/tool.o", "-o", folder + "/libtool.so"])


def make_program(options, source, folder):
    name = os.path.basename(source)
    if options.built and options.place == "preloaded":
        return os.path.join(options.built, os.path.splitext(name)[0])
    program = os.path.join(folder, name + ".program")
    extra = {"linked": ["-Wl,--no-as-needed", "-L" + folder, "-ltool", "-Wl,-rpath," + folder],
             "inside": [folder + "/tool.o"]}.get(options.place, [])
    execute([options.compiler, "-O1", "-g", "-w", source, "-o", program] + extra + ["-lpthread"] +
            launch.PATIENT)
    return program


def theirs(prefix):
    """"RANK FUNCTION" -> calls, and bytes."""
    calls, sent = {}, {}
    for path in glob.glob(glob.escape(prefix) + ".[0-9]*"):
        for line in open(path):
            name, number, size = line.split()
            key = "%s %s" % (path.rpartition(".")[2], name)
            calls[key] = int(number)
            if int(size):
                sent[key] = int(size)
    return calls, sent


def ours(options, folder):
    calls, sent = {}, {}
    for what, number in run.sums_of(folder).items():
        who, _, name = what.split(" ", 2)
        if name.startswith("MPI_"):
            key = "%s %s" % (who.split(".")[0], name)
            calls[key] = calls.get(key, 0) + number
    for line in execute([options.digest, "--sent", folder]).splitlines():
        who, name, size = line.split()
        key = "%s %s" % (who.split(".")[0], name)
        sent[key] = sent.get(key, 0) + int(size)
    return calls, sent


def check_order(options, source, program, ranks, preload, folder):
    """Lines about what differs, with this order of preloaded libraries."""
    name = os.path.basename(source)
    where, prefix = os.path.join(folder, name + ".run"), os.path.join(folder, name + ".counts")
    done = run.run_program(program, options.family, ranks, ":".join(preload), where, folder,
                           ["LULL_TEST_COUNTS=" + prefix])
    if done.returncode != 0:
        return ["status %d\n%s%s" % (done.returncode, done.stdout, done.stderr)]
    wrong = []
    for what, mine, other in zip(("calls", "bytes"), ours(options, where), theirs(prefix)):
        if not other and what == "calls":
            wrong.append("the tool has not counted anything")
        wrong += ["%s: %s: %d, the tool has counted %d" % (what, key, mine.get(key, 0),
                                                           other.get(key, 0))
                  for key in sorted(set(mine) | set(other)) if mine.get(key, 0) != other.get(key, 0)]
    told = glob.glob(glob.escape(prefix) + ".phase")
    if "MPI_Pcontrol(7" in open(source).read() and (
            not told or open(told[0]).read() != "phase 1.5\n" * ranks):
        wrong.append("MPI_Pcontrol: the tool was not told")
    return wrong


def check(options, source, turn, folder):
    """Lines about what differs; None: this program cannot be run here."""
    preload = [options.recorder]
    if options.place == "preloaded":
        preload.insert(turn % 2, folder + "/libtool.so")
    try:
        ranks = run.expectations(source, options.family)[0]
        program = make_program(options, source, folder)
        return ["%s, %s first: %s" % (os.path.basename(source), os.path.basename(preload[0]), line)
                for line in check_order(options, source, program, ranks, preload, folder)]
    except run.Skip:
        return None


def main():
    parser = argparse.ArgumentParser()
    for name in ("family", "recorder", "digest", "functions", "place"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--built")
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    options.compiler = "mpicc." + options.family
    if not shutil.which(options.compiler):
        print("skipped: %s was not found" % options.compiler)
        return 77
    with tempfile.TemporaryDirectory(prefix="lull-chain-") as folder:
        make_tool(options, folder)
        programs = options.programs
        if options.place == "preloaded":
            programs = programs[options.family == "mpich"::2]
        results = [check(options, source, turn, folder) for turn, source in enumerate(programs)]
    wrong = [line for result in results if result for line in result]
    for line in wrong:
        print(line)
    ran = sum(result is not None for result in results)
    print("%d of %d programs compared" % (ran, len(results)))
    return 1 if wrong or ran * 2 < len(results) else 0


if __name__ == "__main__":
    sys.exit(main())
