"""Call sites: records programs built in several ways and compares the places that
`lull metrics --by callsite` shows with the lines of their sources that have a mark.

    sites.py --lull LULL --family openmpi|mpich [--names] [--turn N]

--names: lull was built with libdw. With --turn, each binding of Fortran is compiled with one of two levels
of optimisation; N is another number for each MPI.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = launch.environment(LULL_RECORD_QUIET="1")
PLACE = re.compile(r"^(?:(.+) \()?(\S+?)(?::(\d+)|\+0x([0-9a-f]+))\)?$")


def run(command, check=True, more={}, folder=None):
    done = subprocess.run(command, env={**ENVIRONMENT, **more}, capture_output=True, text=True,
                          timeout=600, cwd=folder)
    if check and done.returncode != 0:
        raise RuntimeError("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done


def marks(*sources):
    """(function, file, line) -> calls"""
    found = {}
    for source in sources:
        for number, line in enumerate(open(os.path.join(HERE, source)), 1):
            mark = re.search(r"@ (\w+) x(\d+)", line)
            if mark:
                found[mark.group(1), source, number] = int(mark.group(2))
    return found


class Bench:
    def __init__(self, settings, folder):
        self.lull, self.family, self.names = settings.lull, settings.family, settings.names
        self.folder, self.wrong, self.compiled = folder, [], {}
        self.turn = settings.turn

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, program, options=(), arguments=()):
        target = self.path("run")
        shutil.rmtree(target, ignore_errors=True)
        run(["mpirun." + self.family, "-n", "1", self.lull, "record", "-o", target] +
            list(options) + [program] + list(arguments), folder=self.folder)
        return target

    def sites(self, target):
        """[(call, [(function, file, line or None, offset or None)...], visits)], warnings"""
        done = run([self.lull, "metrics", "--whole", "--by", "callsite", "--format", "json", target])
        tables = json.loads(done.stdout)["tables"]
        found = []
        for name, table in tables.items():
            if not name.startswith("call_sites"):
                continue
            for row in table["rows"]:
                path = []
                for text in row["values"][0].split(" < "):
                    match = PLACE.match(text)
                    if not match:
                        raise RuntimeError("cannot read the place '%s'" % text)
                    function, file, line, offset = match.groups()
                    path.append((function or "", file, line and int(line),
                                 offset and int(offset, 16)))
                call = row["label"] if "label" in row else row["id"].split(" @ ")[0]
                found.append((call, path, row["values"][2]))
        return found, done.stderr

    def expect(self, what, got, expected):
        for key in sorted(set(got) | set(expected), key=str):
            if got.get(key, 0) != expected.get(key, 0):
                self.wrong.append("%s: %s: %s calls, expected %s" % (
                    what, key, got.get(key, 0), expected.get(key, 0)))


def innermost(sites):
    """(function, file, line) -> calls"""
    got = {}
    for _, path, visits in sites:
        function, file, line, _ = path[0]
        got[function, file, line] = got.get((function, file, line), 0) + visits
    return got


def by_other_tool(sites, program):
    """The same by what addr2line says of the offsets that lull shows."""
    offsets = sorted({path[0][3] for _, path, _ in sites})
    out = run(["addr2line", "-a", "-f", "-i", "-e", program, *["0x%x" % offset for offset in offsets]]).stdout
    places = {} # (function, file, line) of the innermost one at an offset
    for text in re.split(r"^0x", out, flags=re.M)[1:]:
        offset, function, place = text.splitlines()[:3]
        file, line = os.path.basename(place.split(" ")[0]).rsplit(":", 1)
        places[int(offset, 16)] = function.split(".")[0], file, int(line)
    got = {}
    for _, path, visits in sites:
        key = places[path[0][3]]
        got[key] = got.get(key, 0) + visits
    return got


def compile_c(bench, name, *flags):
    """The same with the same flags is compiled once."""
    program = bench.path(name)
    if flags not in bench.compiled:
        bench.compiled[flags] = bench.path("sites%d" % len(bench.compiled))
        run(["mpicc." + bench.family] + list(flags) + [os.path.join(HERE, "sites.c"), "-o",
                                                       bench.compiled[flags], "-ldl"])
    shutil.copy(bench.compiled[flags], program)
    return program


def test_c(bench, expected):
    for flags in (["-O0", "-g"], ["-O2", "-g"], ["-O2", "-g", "-no-pie", "-fno-pie"],
                  ["-O2", "-g", "-fomit-frame-pointer"]):
        sites, _ = bench.sites(bench.record(compile_c(bench, "c", *flags)))
        if bench.names:
            bench.expect(" ".join(flags), innermost(sites), expected)
        else:
            bench.expect(" ".join(flags), by_other_tool(sites, bench.path("c")), expected)


def visits_by_region(bench, target):
    done = run([bench.lull, "metrics", "--whole", "--by", "region", "--format", "json", target])
    tables = json.loads(done.stdout)["tables"]
    return {row["id"]: row["values"][1] for name, table in tables.items()
            if name.startswith("regions") for row in table["rows"]}


def test_formats(bench, expected):
    """Written in other formats, calls of one function belong together, and Chrome has the places."""
    target = bench.record(compile_c(bench, "formats", "-O2", "-g"))
    visits = visits_by_region(bench, target)
    for form, name in (("tape", "copy"), ("otf2", "archive"), ("paraver", "copy.prv")):
        if run([bench.lull, "convert", "--to", form, target, bench.path(name)], False).returncode:
            print("left out: lull cannot write", form)
            continue
        bench.expect(form, visits_by_region(bench, bench.path(name)), visits)
    if not bench.names:
        return
    again, _ = bench.sites(bench.path("copy"))
    bench.expect("tape of a tape", innermost(again), expected)
    chrome = bench.path("chrome.json")
    run([bench.lull, "convert", "--to", "chrome", target, chrome])
    got = {}
    for text in re.findall(r'"site": ?"([^"]*)"', open(chrome).read()):
        function, file, line, _ = PLACE.match(text.split(" < ")[0]).groups()
        key = function, file, int(line)
        got[key] = got.get(key, 0) + 1
    bench.expect("chrome", got, expected)


def test_stripped(bench, expected):
    """What lull shows is a place in the file, which another tool finds in the file before it was
    stripped."""
    for flags in (["-O2", "-g"], ["-O2", "-g", "-no-pie", "-fno-pie"]):
        whole = compile_c(bench, "whole", *flags)
        stripped = bench.path("stripped")
        run(["strip", "-o", stripped, whole])
        sites, _ = bench.sites(bench.record(stripped))
        bench.expect("stripped " + " ".join(flags), by_other_tool(sites, whole), expected)
        if any(path[0][1] != "stripped" for _, path, _ in sites):
            bench.wrong.append("stripped: a place in another file")


def test_symbols_only(bench, expected):
    """Without debug information functions have names and no lines."""
    if not bench.names:
        return
    whole = compile_c(bench, "whole", "-O0", "-g")
    bare = bench.path("bare")
    run(["strip", "-g", "-o", bare, whole])
    sites, _ = bench.sites(bench.record(bare))
    got = {}
    for _, path, visits in sites:
        got[path[0][0]] = got.get(path[0][0], 0) + visits
    functions = {}
    for (function, _, _), visits in expected.items():
        functions[function] = functions.get(function, 0) + visits
    functions["main"] += functions.pop("inlined")
    bench.expect("symbols", got, functions)


def test_changed(bench, expected):
    """A file that is not the one that was recorded has nothing to say."""
    if not bench.names:
        return
    program = compile_c(bench, "changed", "-O2", "-g")
    shutil.copy(program, bench.path("kept"))
    target = bench.record(program)
    compile_c(bench, "changed", "-O0", "-g", "-DCHANGED")
    for state, words in (("changed", "has changed"), ("absent", "cannot be read")):
        sites, said = bench.sites(target)
        bench.expect(state, by_other_tool(sites, bench.path("kept")), expected)
        if " ".join(said.split()).count(words) != 1:
            bench.wrong.append("%s: expected one warning, got: %s" % (state, said))
        if state == "changed":
            os.unlink(program)


def test_library(bench, expected):
    if not bench.names:
        return
    library = bench.path("library.so")
    run(["mpicc." + bench.family, "-O2", "-g", "-shared", "-fPIC",
         os.path.join(HERE, "sites_library.c"), "-o", library])
    program = compile_c(bench, "loads", "-O2", "-g")
    sites, _ = bench.sites(bench.record(program, arguments=[library]))
    bench.expect("library", innermost(sites), expected | marks("sites_library.c"))


def test_fortran(bench):
    compiler = "mpif90." + bench.family
    if not shutil.which(compiler):
        return
    for number, binding in enumerate(("mpif", "usempi", "mpif08")):
        source = "sites_%s.f90" % binding
        both = ["-O0", "-g"], ["-O2", "-g"]
        for flags in both if bench.turn is None else both[(bench.turn + number) % 2:][:1]:
            program = bench.path(binding)
            built = run([compiler] + flags + [os.path.join(HERE, source), "-o", program], False)
            if built.returncode != 0:
                print("left out: %s cannot compile %s" % (compiler, source))
                break
            sites, _ = bench.sites(bench.record(program))
            # gfortran gives the calls of some generic subroutines the line of the program.
            sites = [site for site in sites if site[0] not in ("MPI_Init", "MPI_Finalize")]
            found = innermost(sites) if bench.names else by_other_tool(sites, program)
            bench.expect("%s %s" % (binding, " ".join(flags)), found, marks(source))


def test_passed(bench):
    """What a library of the language writes, the program has written where it called that library."""
    if not bench.names:
        return
    for language, source, variable, compilers in (
            ("cxx", "sites_passed.cc", "CXX", ("g++", "clang++")),
            ("f90", "sites_passed.f90", "FC", ("gfortran",))):
        wrapper = "mpi%s.%s" % (language, bench.family)
        for compiler in compilers:
            if not shutil.which(compiler) or not shutil.which(wrapper):
                continue
            for flags in (["-O0", "-g"], ["-O2", "-g", "-fomit-frame-pointer"]):
                program = bench.path("passed")
                chosen = {"OMPI_" + variable: compiler, "MPICH_" + variable: compiler}
                run([wrapper, *flags, os.path.join(HERE, source), "-o", program], more=chosen)
                sites, _ = bench.sites(bench.record(program, ["--files"]))
                writes = [site for site in sites if site[0] in ("write", "writev")]
                bench.expect("%s %s" % (compiler, " ".join(flags)), innermost(writes), marks(source))


def called_by(function):
    """The callers that the source has for a function, outwards."""
    return {"main": [], "inlined": ["main"], "exchange": ["main", "varies"],
            "meet": ["deceives"], "varies": ["main"], "deceives": ["first_caller", "second_caller"],
            "first_caller": ["main"], "second_caller": ["main"],
            "by_pointer": ["main"], "recursive": ["main", "recursive"]}[function]


def test_callpath(bench, expected):
    """A path may end early, but what it shows is true; the calls of each place are all there."""
    if not bench.names:
        return
    for flags in (["-O0", "-g"], ["-O2", "-g"], ["-O2", "-g", "-fomit-frame-pointer"]):
        program = compile_c(bench, "path", *flags, "-fno-optimize-sibling-calls")
        sites, _ = bench.sites(bench.record(program, ["--callpath", "5"]))
        bench.expect("callpath " + " ".join(flags), innermost(sites), expected)
        lengths = {}
        for _, path, visits in sites:
            names = [place[0] for place in path]
            for inner, outer in zip(names, names[1:]):
                if inner == "main":
                    break
                if outer not in called_by(inner):
                    bench.wrong.append("%s: %s is not called by %s" % (flags, inner, outer))
            key = names[0], len(names)
            lengths[key] = lengths.get(key, 0) + visits
        # Since the second call of `deceives` it is known that its frame varies. A path of three places is
        # told by words that the third call imitates.
        sites, _ = bench.sites(bench.record(program, ["--callpath", "3"]))
        for _, path, visits in sites:
            names = [place[0] for place in path]
            if "first_caller" in names and visits > 1:
                bench.wrong.append("%s: %s has made %d calls, expected 1" % (flags, names, visits))
        for key, visits in (("recursive", 3), 1), (("recursive", 4), 1), (("recursive", 5), 1), \
                           (("by_pointer", 2), 5), (("main", 1), 2):
            if lengths.get(key, 0) != visits:
                bench.wrong.append("%s: paths of %s: %s calls, expected %s" % (
                    flags, key, lengths.get(key, 0), visits))


def test_wrappers(bench):
    """Where a program calls MPI through wrappers of its own, calls are told apart by the callers of these,
    by as many as that takes; what is asked for is shown as it is. The program counts its own calls."""
    if not bench.names:
        return
    for flags in (["-O0", "-g"], ["-O2", "-g", "-fomit-frame-pointer"]):
        program = bench.path("wrappers")
        run(["mpicc." + bench.family, *flags, os.path.join(HERE, "sites_wrappers.c"), "-o", program])
        for options in ([], ["--callpath", "1"], ["--callpath", "2"]):
            target = bench.path("run")
            shutil.rmtree(target, ignore_errors=True)
            done = run(["mpirun." + bench.family, "-n", "1", bench.lull, "record", "-o", target,
                        *options, program])
            expected = {}
            for line in done.stdout.splitlines():
                count, tells, call, path = line.split(" ", 3)
                kept = int(options[1] if options else tells)
                key = call, " < ".join(path.split(" < ")[:kept])
                expected[key] = expected.get(key, 0) + int(count)
            got = {}
            for call, path, visits in bench.sites(target)[0]:
                if call not in ("MPI_Init", "MPI_Finalize"):
                    key = call, " < ".join("%s (%s:%s)" % place[:3] for place in path)
                    got[key] = got.get(key, 0) + visits
            bench.expect("wrappers %s %s" % (" ".join(flags), " ".join(options)), got, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--turn", type=int)
    settings = parser.parse_args()
    for tool in ("mpicc." + settings.family, "mpirun." + settings.family, "addr2line", "strip"):
        if not shutil.which(tool):
            print("skipped: %s was not found" % tool)
            return 77
    with tempfile.TemporaryDirectory(prefix="lull-sites-") as folder:
        bench = Bench(settings, folder)
        expected = marks("sites.c")
        test_c(bench, expected)
        test_formats(bench, expected)
        test_stripped(bench, expected)
        test_symbols_only(bench, expected)
        test_changed(bench, expected)
        test_library(bench, expected)
        test_fortran(bench)
        test_passed(bench)
        test_wrappers(bench)
        test_callpath(bench, expected)
    for line in bench.wrong:
        print(line)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
