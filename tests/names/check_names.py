#!/usr/bin/env python3
"""Names, lines and loops of code addresses, in programs that are compiled here.

usage: check_names.py --places PROGRAM --case CASE

Cases: loops (against marks in the sources), lines (against llvm-symbolizer and addr2line), kinds (of debug
information, and files without any), refused (files that changed, are gone or damaged),
network (debug information is fetched from servers on wish alone), stubs (where the caller of a stub is)."""
import argparse
import http.server
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")


class Place:
    def __init__(self, line):
        fields = line.split("\t")
        self.address = int(fields[0], 16)
        self.function, self.short, self.whole, self.file = fields[1:5]
        self.line = int(fields[5])
        self.loop = None
        rest = fields[7:]
        if fields[6] != "-":
            self.loop = {"function": fields[6], "file": fields[7], "first": int(fields[8]), "last": int(fields[9]),
                         "depth": int(fields[10]), "copies": int(fields[11]), "head": int(fields[12], 16)}
            rest = fields[13:]
        self.callers = [(rest[i], rest[i + 1], int(rest[i + 2])) for i in range(0, len(rest), 3)]


def has(program):
    return shutil.which(program) is not None


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def run(command, **kinds):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **kinds)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def compiled(folder, compiler, source, *options):
    """A program made of a source in programs/."""
    program = os.path.join(folder, "program")
    extra = ["-J" + folder] if compiler == "gfortran" else []
    run([compiler, "-g", "-w", *extra, *options, os.path.join(PROGRAMS, source), "-o", program, "-lm"])
    return program


def addresses_of(program):
    """All instructions of a program."""
    return [int(address, 16)
            for address in re.findall(r"^ +([0-9a-f]+):", run(["objdump", "-d", "--no-show-raw-insn", program]), re.M)]


def places_of(arguments, program, addresses, threads=1, build_id="-"):
    out = run([arguments.places, program, build_id, str(threads)], input="\n".join("%x" % a for a in addresses))
    return [Place(line) for line in out.splitlines()]


def expect(condition, what):
    if not condition:
        sys.exit("failed: " + what)


# ---- loops --------------------------------------------------------------------------------------

class Marked:
    """A loop that a source marks."""
    def __init__(self, first, last, closed, depth):
        self.first, self.last, self.depth = first, last, depth
        self.closed = closed # the line that ends it; some compilers give its last jump that line


def marked_loops(source):
    loops, open_ones = [], []
    lines = open(os.path.join(PROGRAMS, source)).read().split("\n")
    for number, line in enumerate(lines, 1):
        marks = re.search(r"(?:/\*|//|!) ([LE](?: [LE])*)(?: \*/)?$", line.rstrip())
        for mark in marks[1].split() if marks else []:
            if mark == "L":
                open_ones.append(number)
                continue
            closed = number
            while closed < len(lines) and re.fullmatch(r"\s*(\}|end (do|if))?\s*(//.*)?|\s*\} catch.*|\s*failures\+\+;", lines[closed]):
                closed += 1
            loops.append(Marked(open_ones.pop(), number, closed, len(open_ones) + 1))
    expect(not open_ones and loops, "marks of " + source)
    return loops


def check_loops(arguments, folder, source, compiler, level):
    """Every loop that is told is one of the source, with its first line; without optimisation, each loop of the
    source is told, with its last line and depth, for each line of it."""
    title = "%s, %s %s" % (source, compiler, level)
    marked = marked_loops(source)
    program = compiled(folder, compiler, source, level)
    told, exact = set(), 0
    for place in places_of(arguments, program, addresses_of(program)):
        where = "%s: %x" % (title, place.address)
        loop = place.loop
        if loop and os.path.basename(loop["file"]) == source:
            fitting = [m for m in marked if m.first == loop["first"]]
            # An optimised loop may lack code of its first line, or have it in two parts: then it is inside of a marked
            # one, and no other one begins between.
            if not fitting and level != "-O0":
                fitting = [m for m in marked if m.first <= loop["first"] <= m.last][:1]
            else:
                exact += 1
            expect(fitting, "%s: no loop of the source begins in line %d" % (where, loop["first"]))
            is_of = fitting[0]
            what = "%s: loop %d to %d, depth %d: told are %d to %d, %d" % (
                where, is_of.first, is_of.last, is_of.depth, loop["first"], loop["last"], loop["depth"])
            expect(loop["last"] <= is_of.closed, what)
            expect(loop["depth"] >= is_of.depth or is_of.first != loop["first"], what)
            expect(level != "-O0" or (loop["last"] >= is_of.last and loop["depth"] == is_of.depth), what)
            told.add(is_of.first)
    missing = [m.first for m in marked if m.first not in told]
    if level == "-O0":
        expect(not missing, "%s: no code is in the loops %s" % (title, missing))
    print("%s: %d of %d loops, %d instructions with their first line" % (title, len(told), len(marked), exact))
    return len(told), len(marked)


def case_loops(arguments, folder):
    tried = told = 0
    for source, compilers in (("loops.c", ("gcc", "clang")), ("loops.cc", ("g++", "clang++")),
                              ("loops.f90", ("gfortran",))):
        for compiler in compilers:
            if not has(compiler):
                print("left out: no " + compiler)
                continue
            for level in ("-O0", "-O1", "-O2", "-O3"):
                found, marked = check_loops(arguments, folder, source, compiler, level)
                told += found
                tried += marked
    if tried == 0:
        skip("no compiler")
    # What is missing was unrolled wholly, or is code of a library.
    expect(told >= 0.95 * tried, "%d of %d loops were told" % (told, tried))
    check_copies(arguments, folder)
    check_a64(arguments, folder)


def check_copies(arguments, folder):
    """A vectorised loop and what it leaves to a scalar one are one loop."""
    if not has("gcc"):
        return
    program = compiled(folder, "gcc", "loops.c", "-O3", "-fno-inline")
    loops = {place.loop["head"]: place.loop for place in places_of(arguments, program, addresses_of(program))
             if place.loop and place.loop["function"] == "add"}
    expect(len(loops) >= 2, "the loop of add() was vectorised")
    for loop in loops.values():
        expect(loop["copies"] == len(loops) and loop["depth"] == 1, "%d copies of the loop of add()" % loop["copies"])
        expect(loop["first"] == next(iter(loops.values()))["first"], "the copies begin at the same line")


def check_a64(arguments, folder):
    """Code of another machine, which is only read."""
    if not has("clang") or not has("ld.lld"):
        print("left out: no clang or no ld.lld for aarch64")
        return
    library = os.path.join(folder, "a64.so")
    source = os.path.join(folder, "a64.c")
    with open(os.path.join(PROGRAMS, "loops.c")) as whole, open(source, "w") as part:
        text = whole.read()
        part.write("\n" * text[:text.index("double a[1024]")].count("\n") + "void abort(void);\n#line %d \"loops.c\"\n" %
                   (text[:text.index("double a[1024]")].count("\n") + 1) + text[text.index("double a[1024]"):])
    tried = 0
    for level in ("-O0", "-O2"):
        done = subprocess.run(["clang", "--target=aarch64-linux-gnu", "-g", "-w", level, "-fPIC", "-shared", "-nostdlib",
                               "-fuse-ld=lld", source, "-o", library, "-Wl,--unresolved-symbols=ignore-all"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print("left out: clang does not compile for aarch64: " + done.stderr.splitlines()[0])
            return
        marked = marked_loops("loops.c")
        sections = run(["readelf", "-SW", library])
        begin, size = re.search(r"\.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", sections).groups()
        told = set()
        for place in places_of(arguments, library, range(int(begin, 16), int(begin, 16) + int(size, 16), 4)):
            if place.loop:
                tried += 1
                fitting = [m for m in marked if m.first <= place.loop["first"] <= place.loop["last"] <= m.closed]
                expect(fitting, "aarch64 %s: %x: a loop of the lines %d to %d" %
                       (level, place.address, place.loop["first"], place.loop["last"]))
                told.add(place.loop["first"])
        expect(len(told & {m.first for m in marked}) >= 0.7 * len(marked), "aarch64 %s: loops %s" % (level, sorted(told)))
    expect(tried > 0, "aarch64: no loops")
    print("aarch64: %d instructions in loops" % tried)


# ---- lines --------------------------------------------------------------------------------------

def base(path):
    return os.path.basename(path)


def symbolizer_chains(program, addresses):
    """[(function, file, line)] of each address, innermost first."""
    out = run(["llvm-symbolizer", "-e", program, "--output-style=LLVM", "--functions=linkage", "--demangle",
               "--inlining", "--relative-address"], input="\n".join("0x%x" % a for a in addresses) + "\n")
    for block in out.strip().split("\n\n"):
        lines = block.split("\n")
        yield [(lines[i], *re.match(r"(.*):(\d+):\d+$", lines[i + 1]).groups()) for i in range(0, len(lines) - 1, 2)]


def addr2line_chains(program, addresses):
    out = run(["addr2line", "-a", "-i", "-f", "-e", program], input="\n".join("0x%x" % a for a in addresses) + "\n")
    chain = None
    lines = [line.split(" (discriminator")[0] for line in out.splitlines()]
    i = 0
    while i < len(lines):
        if re.match(r"0x[0-9a-f]{8}", lines[i]):
            if chain is not None:
                yield chain
            chain = []
            i += 1
            continue
        file, line = lines[i + 1].rsplit(":", 1)
        chain.append((lines[i], file, line if line != "?" else "0"))
        i += 2
    yield chain


def compare_lines(program, addresses, places, chains, tool):
    """Where the other tool knows a line, so must we, for all functions that are inlined there."""
    same = named = 0
    for place, chain in zip(places, chains):
        theirs = [(base(file), int(line)) for _, file, line in chain if not file.startswith("??") and int(line) > 0]
        ours = [(base(file), line) for _, file, line in [(place.function, place.file, place.line)] + place.callers
                if line > 0]
        if theirs:
            expect(ours == theirs, "%s: %x: %s, but %s says %s" % (program, place.address, ours, tool, theirs))
            same += 1
        if place.short and chain and "@plt" not in place.function:
            named += 1
    return same, named


def check_short_names(places):
    """The last part of a short name is the name that the compiler gives in DW_AT_name."""
    checked = 0
    for place in places:
        if place.whole == place.function or "operator" in place.function or "@plt" in place.function:
            continue
        last = place.short.split("::")[-1]
        expect(last == re.split("[<(]", place.function)[0], "short name %s of %s, %s" %
               (place.short, place.function, place.whole))
        checked += 1
    return checked


def case_lines(arguments, folder):
    if not has("llvm-symbolizer") and not has("addr2line"):
        skip("neither llvm-symbolizer nor addr2line")
    drawn = random.Random(int(os.environ.get("LULL_TEST_SEED", "1")))
    programs = [(None, arguments.places, None)]
    for compiler, source, options in (("gcc", "loops.c", ["-O2"]), ("clang", "loops.c", ["-O3"]),
                                      ("g++", "loops.cc", ["-O2"]), ("g++", "loops.cc", ["-O3", "-gdwarf-4"]),
                                      ("clang++", "loops.cc", ["-O2"]), ("clang++", "loops.cc", ["-O1", "-gdwarf-4"]),
                                      ("gfortran", "loops.f90", ["-O2"])):
        if has(compiler):
            programs.append((compiler, source, options))
    compared = short = 0
    for compiler, source, options in programs:
        program = compiled(folder, compiler, source, *options) if compiler else source
        addresses = addresses_of(program)
        addresses = sorted(drawn.sample(addresses, min(3000, len(addresses))))
        places = places_of(arguments, program, addresses)
        for threads in (0, 3):
            shuffled = addresses[:]
            drawn.shuffle(shuffled)
            again = {place.address: vars(place) for place in places_of(arguments, program, shuffled, threads)}
            for place in places:
                expect(again[place.address] == vars(place), "%x is the same in another order" % place.address)
        if has("llvm-symbolizer"):
            compared += compare_lines(program, addresses, places, symbolizer_chains(program, addresses),
                                      "llvm-symbolizer")[0]
        elif has("addr2line"):
            compared += compare_lines(program, addresses, places, addr2line_chains(program, addresses), "addr2line")[0]
        short += check_short_names(places)
    expect(compared > 3000, "%d places were compared" % compared)
    expect(short > 300 or not has("g++"), "%d short names were compared" % short)
    print("%d places and %d short names compared" % (compared, short))


# ---- kinds of debug information -----------------------------------------------------------------

def line_names(arguments, program):
    """(function, file, line) of the instructions that have a line in the program's own source."""
    return [(p.function, base(p.file), p.line, p.loop and (p.loop["first"], p.loop["last"], p.loop["depth"]))
            for p in places_of(arguments, program, addresses_of(program)) if base(p.file) == "loops.c"]


def case_kinds(arguments, folder):
    if not has("gcc") or not has("objcopy"):
        skip("no gcc or no objcopy")
    program = compiled(folder, "gcc", "loops.c", "-O1", "-gdwarf-5")
    expected = line_names(arguments, program)
    expect(len(expected) > 200, "there are lines")
    tried = []
    for title, options in (("DWARF 4", ["-gdwarf-4"]), ("zlib", ["-gz=zlib"]), ("zlib-gnu", ["-gz=zlib-gnu"]),
                           ("DWARF of 64 bits", ["-gdwarf64"])):
        other = compiled(folder, "gcc", "loops.c", "-O1", *options)
        expect(line_names(arguments, other) == expected, "names by " + title)
        tried.append(title)
    # Old versions of objcopy and libdw do not know zstd.
    other = os.path.join(folder, "zstd")
    if subprocess.run(["objcopy", "--compress-debug-sections=zstd", program, other], capture_output=True).returncode == 0:
        out = subprocess.run([arguments.places, other], input="%x\n" % addresses_of(other)[0], capture_output=True,
                             text=True)
        if out.stderr:
            expect(out.stderr.startswith(other + ": its debug information cannot be read: ") and
                   out.stderr.count("\n") == 1, out.stderr)
            print("libdw does not know zstd: " + out.stderr.rstrip())
        else:
            expect(line_names(arguments, other) == expected, "names by zstd")
            tried.append("zstd")
    # The functions in a file of their own.
    made = os.path.join(folder, "split.o")
    for version in ("-gdwarf-5", "-gdwarf-4"):
        run(["gcc", "-w", "-O1", "-g", version, "-gsplit-dwarf", "-c", os.path.join(PROGRAMS, "loops.c"), "-o", made])
        other = os.path.join(folder, "split")
        run(["gcc", made, "-o", other, "-lm"])
        expect(line_names(arguments, other) == expected, "names by a .dwo file, " + version)
        os.remove(os.path.join(folder, "split.dwo"))
        without = places_of(arguments, other, addresses_of(other))
        expect({p.line for p in without if base(p.file) == "loops.c"} == {line for _, _, line, _ in expected},
               "without its .dwo file a program keeps its lines")
        expect("multiply" in {p.function for p in without}, "and the names of the linker")
        tried.append("split, " + version)
    # Debug information beside the program, as the linker's build id or the checksum of .gnu_debuglink says.
    for build_id in ("sha1", "none"):
        check_apart(arguments, folder, expected, build_id)
        tried.append("debuglink" if build_id == "sha1" else "debuglink without build id")
    program, stripped = os.path.join(folder, "program.sha1"), os.path.join(folder, "stripped.sha1")
    check_symbols_only(arguments, folder, program, stripped)
    print("the same names by " + ", ".join(tried))


def check_apart(arguments, folder, expected, build_id):
    program = os.path.join(folder, "program." + build_id)
    shutil.copy(compiled(folder, "gcc", "loops.c", "-O1", "-gdwarf-5", "-Wl,--build-id=" + build_id), program)
    debug, stripped = program + ".debug", os.path.join(folder, "stripped." + build_id)
    run(["objcopy", "--only-keep-debug", program, debug])
    run(["objcopy", "--strip-debug", "--add-gnu-debuglink=" + debug, program, stripped])
    expect(line_names(arguments, stripped) == expected, "names by .gnu_debuglink")
    link = os.path.join(folder, "elsewhere", "link")
    os.makedirs(os.path.dirname(link), exist_ok=True)
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(stripped, link)
    expect(line_names(arguments, link) == expected, "names by .gnu_debuglink of what a link leads to")
    beside = os.path.join(folder, ".debug")
    os.mkdir(beside)
    shutil.move(debug, beside)
    expect(line_names(arguments, stripped) == expected, "names by .gnu_debuglink and .debug")
    # another file with that name
    other = compiled(folder, "gcc", "loops.c", "-O2", "-gdwarf-5", "-Wl,--build-id=" + build_id)
    run(["objcopy", "--only-keep-debug", other, os.path.join(beside, os.path.basename(debug))])
    expect(line_names(arguments, stripped) == [], "another file is not taken for it")
    shutil.rmtree(beside)
    expect(line_names(arguments, stripped) == [], "no lines without debug information")


def symbols_of(program, *options):
    for line in run(["nm", "-S", *options, program]).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tTwW":
            yield int(fields[0], 16), int(fields[1], 16), fields[3].split("@")[0]


def check_symbols_only(arguments, folder, program, stripped):
    """Functions by the symbol table, stubs by what they call, nothing in a stripped file."""
    functions = [(begin, size, name) for begin, size, name in symbols_of(stripped) if size > 0]
    inside = [begin + size - 1 for begin, size, _ in functions]
    for (_, _, name), place in zip(functions, places_of(arguments, stripped, inside)):
        expect(place.function == name.split(".")[0] or name.startswith("_"), "%s has the name %s" % (name, place.function))
        expect(place.file == "" and place.line == 0, "no line without debug information")
    loops = [p.loop for p in places_of(arguments, stripped, addresses_of(stripped)) if p.function == "multiply" and p.loop]
    expect(max(loop["depth"] for loop in loops) == 3 and {loop["first"] for loop in loops} == {0},
           "loops without lines have their depth")
    # Stubs, as objdump names them.
    text = run(["objdump", "-d", program])
    stubs = re.findall(r"^([0-9a-f]+) <(\w+)@plt>:", text, re.M)
    expect(stubs, "there are stubs")
    for address, name in stubs:
        place, later = places_of(arguments, stripped, [int(address, 16), int(address, 16) + 4])
        expect(place.function == later.function == name + "@plt", "the stub of %s is %s" % (name, place.function))
    bare = os.path.join(folder, "bare")
    run(["strip", "-o", bare, program])
    begin = next(begin for begin, _, name in symbols_of(program) if name == "multiply")
    place = places_of(arguments, bare, [begin])[0]
    expect((place.function, place.short, place.file, place.loop) == ("", "", "", None), "a stripped file has no names")
    place = places_of(arguments, bare, [0x7fffffffffff])[0]
    expect(place.function == "", "there is no code")
    check_aliases(arguments, folder)
    cpp = os.path.join(folder, "cpp")
    if has("g++"):
        run(["g++", "-w", "-O2", os.path.join(PROGRAMS, "loops.cc"), "-o", cpp])
        begin = next(begin for begin, _, name in symbols_of(cpp) if name == "_ZN4heat7guardedERKSt6vectorIiSaIiEEi")
        place = places_of(arguments, cpp, [begin])[0]
        expect(place.short == "heat::guarded", "short name %s of a name of the linker" % place.short)
        expect(place.whole.startswith("heat::guarded(std::vector<int"), "whole name " + place.whole)


def check_aliases(arguments, folder):
    """Of several names of one function the one that programs use counts."""
    source, library = os.path.join(folder, "alias.c"), os.path.join(folder, "alias.so")
    with open(source, "w") as out:
        out.write("int PMPI_Send(void) { return 1; }\n#pragma weak MPI_Send = PMPI_Send\n"
                  "int __confstr(void) { return 2; }\n#pragma weak confstr = __confstr\n"
                  "static int hidden(void) __attribute__((alias(\"visible_one\"), used));\n"
                  "int visible_one(void) { return 3; }\n")
    run(["gcc", "-w", "-shared", "-fPIC", source, "-o", library])
    for begin, _, name in symbols_of(library):
        if name in ("PMPI_Send", "__confstr", "hidden"):
            place = places_of(arguments, library, [begin])[0]
            expect(place.function == {"PMPI_Send": "MPI_Send", "__confstr": "confstr", "hidden": "visible_one"}[name],
                   "%s is called %s" % (name, place.function))


# ---- files that are not what they should be -----------------------------------------------------

def refusal(arguments, program, build_id="-", threads=1):
    """What is said of a file that cannot be used: one line."""
    done = subprocess.run([arguments.places, program, build_id, str(threads)], input="1000\n", capture_output=True,
                          text=True, timeout=60)
    expect(done.returncode == 1 and done.stdout == "", "%s is refused: %d %s" % (program, done.returncode, done.stdout))
    expect(done.stderr.count("\n") == 1, "one line: " + done.stderr)
    return done.stderr.rstrip()


def case_refused(arguments, folder):
    if not has("gcc"):
        skip("no gcc")
    program = compiled(folder, "gcc", "loops.c", "-O1", "-Wl,--build-id")
    build_id = re.search(r"Build ID: (\w+)", run(["readelf", "-n", program]))[1]
    place = places_of(arguments, program, addresses_of(program)[:1], build_id=build_id)
    expect(len(place) == 1, "the build id is that of the file")
    for threads in (0, 1, 2):
        said = refusal(arguments, program, "00ff", threads)
        expect(said == "%s: changed: expected build id 00ff, found %s" % (program, build_id), said)
    without = compiled(folder, "gcc", "loops.c", "-O1", "-Wl,--build-id=none")
    said = refusal(arguments, without, build_id)
    expect(said == "%s: changed: expected build id %s, found none" % (without, build_id), said)
    said = refusal(arguments, os.path.join(folder, "gone"))
    expect(said.endswith("gone: cannot open: No such file or directory"), said)
    said = refusal(arguments, folder)
    expect("regular file" in said or "directory" in said, said)
    text = os.path.join(folder, "text")
    with open(text, "w") as out:
        out.write("no program\n")
    expect(refusal(arguments, text).startswith(text + ": "), "a file without code")
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    expect(refusal(arguments, pipe).startswith(pipe + ": "), "nobody waits for a pipe")
    check_damage(arguments, folder)


def check_damage(arguments, folder):
    """Bytes of debug information are changed: no crash, no hang; what is told is another name at most."""
    seed = int(os.environ.get("LULL_TEST_SEED", "1"))
    drawn = random.Random(seed)
    program = compiled(folder, "gcc", "loops.c", "-O2", "-gdwarf-5")
    good = open(program, "rb").read()
    sections = [(int(offset, 16), int(size, 16)) for offset, size in
                re.findall(r"\.(?:debug_\w+|symtab|strtab|shstrtab) +\w+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)",
                           run(["readelf", "-SW", program])) if int(size, 16) > 0]
    expect(len(sections) > 5, "sections")
    addresses = addresses_of(program)
    damaged = os.path.join(folder, "damaged")
    statuses = {}
    for n in range(120):
        bad = bytearray(good)
        offset, size = drawn.choice(sections)
        for _ in range(drawn.choice((1, 1, 3, 20))):
            bad[offset + drawn.randrange(size)] = drawn.choice((0, 1, 0x7f, 0x80, 0xff, drawn.randrange(256)))
        if n % 10 == 9:
            del bad[drawn.randrange(len(bad)):]
        with open(damaged, "wb") as out:
            out.write(bad)
        done = subprocess.run([arguments.places, damaged, "-", "1"], input="\n".join("%x" % a for a in addresses),
                              capture_output=True, text=True, errors="replace", timeout=120)
        expect(done.returncode in (0, 1) and done.stderr.count("\n") <= 1,
               "LULL_TEST_SEED=%d: damage %d: status %d, %s" % (seed, n, done.returncode, done.stderr[:500]))
        statuses[done.returncode] = statuses.get(done.returncode, 0) + 1
    print("damaged files: %d were read, %d refused" % (statuses.get(0, 0), statuses.get(1, 0)))
    expect(statuses.get(0, 0) > 50, "most damage is in one place")


def case_stubs(arguments, folder):
    """In stubs that call other files the return address is behind what the stub has pushed, instruction by instruction."""
    if not has("gcc") or "x86-64" not in run(["readelf", "-h", arguments.places]).lower().replace("x86_64", "x86-64"):
        skip("no gcc, or no x86-64")
    checked = 0
    for options in (["-Wl,-z,lazy"], ["-Wl,-z,lazy", "-fcf-protection"], ["-Wl,-z,now"]):
        program = compiled(folder, "gcc", "loops.c", "-O1", *options)
        pushed, expected = 0, {}
        for line in run(["objdump", "-d", "--no-show-raw-insn", "-j", ".plt", program]).splitlines():
            if re.match(r"[0-9a-f]+ <", line):
                pushed = 8 if "@plt-" in line or "<.plt>" in line else 0  # the first entry is entered with a number pushed
            found = re.match(r" *([0-9a-f]+):\s+(\S+)", line)
            if not found or found[2].startswith("nop"):
                continue
            expected[int(found[1], 16)] = pushed
            pushed += 8 * found[2].startswith("push")
        told = dict(line.split(" ", 1) for line in run([arguments.rules, program], input="\n".join(
            "%x" % address for address in expected)).splitlines())
        for address, bytes_there in expected.items():
            expect(told["%x" % address] == "stack %d" % bytes_there, "%s: %x: %s, expected %d" % (
                options, address, told["%x" % address], bytes_there))
        checked += len(expected)
    expect(checked > 10, "%d instructions" % checked)
    print("%d instructions of stubs" % checked)


class Server(http.server.BaseHTTPRequestHandler):
    """Writes down what is asked for, and has nothing."""
    asked = []

    def do_GET(self):
        Server.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *words):
        pass


def case_network(arguments, folder):
    """A server of debug information that the environment names is asked where that is wished, and never without."""
    if not has("gcc") or not has("objcopy"):
        skip("no gcc or no objcopy")
    program = compiled(folder, "gcc", "loops.c", "-O1", "-Wl,--build-id")
    build_id = re.search(r"Build ID: (\w+)", run(["readelf", "-n", program]))[1]
    stripped = os.path.join(folder, "stripped")
    run(["objcopy", "--strip-debug", program, stripped])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["DEBUGINFOD_URLS"] = "http://127.0.0.1:%d" % server.server_address[1]
    os.environ["DEBUGINFOD_CACHE_PATH"] = os.path.join(folder, "cache")
    for wish in (None, "0", "1"):
        if wish:
            os.environ["LULL_DEBUGINFOD"] = wish
        Server.asked.clear()
        expect(line_names(arguments, stripped) == [], "no lines without debug information")
        if wish != "1":
            expect(not Server.asked, "LULL_DEBUGINFOD=%s: asked for %s" % (wish, Server.asked))
    server.shutdown()
    if not Server.asked:
        skip("libdw does not fetch debug information here")
    expect(Server.asked[0] == "/buildid/%s/debuginfo" % build_id, "asked for %s" % Server.asked)
    print("asked for " + Server.asked[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--places", required=True)
    parser.add_argument("--rules")
    parser.add_argument("--case", required=True)
    arguments = parser.parse_args()
    os.environ.pop("DEBUGINFOD_URLS", None)
    os.environ["LC_ALL"] = "C"
    if not has("objdump") or not has("readelf"):
        skip("no binutils")
    with tempfile.TemporaryDirectory() as folder:
        globals()["case_" + arguments.case](arguments, folder)


if __name__ == "__main__":
    main()
