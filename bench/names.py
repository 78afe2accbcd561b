"""Rows of names of code: how long it takes to name 100,000 addresses of a program of 500 MB, most of which
is debug information, against llvm-symbolizer, eu-addr2line and addr2line on the same list."""
import bisect
import itertools
import os
import random
import re
import shutil
import statistics
import subprocess

SIZE, ADDRESSES, THREADS = 500e6, 100000, 2
FEW = 2000 # addresses for peers that take milliseconds for each


def make_program(bench):
    """A program of SIZE bytes: one source, compiled once and assembled under many names."""
    folder = bench.path("names")
    os.makedirs(folder)
    here = os.path.dirname(os.path.abspath(__file__))

    def path(name):
        return os.path.join(folder, name)

    subprocess.run(["g++", "-std=c++17", "-O2", "-g3", "-fPIC", "-S", os.path.join(here, "names_big.cc"), "-o",
                    path("unit.s")], check=True)
    text = open(path("unit.s")).read()
    linker = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
    count = 8 # first that many, to learn how large each makes the program
    program = path("program")
    made = 0
    while True:
        for i in range(made, count):
            # The new name is as long as the old one, which is a part of names that begin with their length.
            with open(path("copy.s"), "w") as out:
                out.write(text.replace("unit_UNIT", "unit_%04d" % i).replace("run_UNIT", "run_%04d" % i))
            subprocess.run(["as", path("copy.s"), "-o", path("%04d.o" % i)], check=True)
        made = count
        with open(path("main.cc"), "w") as out:
            out.write("".join("extern \"C\" double run_%04d(int);\n" % i for i in range(made)))
            out.write("int main(int n, char **)\n{\n    double s = 0;\n")
            out.write("".join("    s += run_%04d(n);\n" % i for i in range(made)))
            out.write("    return s > 0;\n}\n")
        subprocess.run(["g++", "-g", "-pie", *linker, path("main.cc"), *[path("%04d.o" % i) for i in range(made)], "-o",
                        program], check=True)
        size = os.path.getsize(program)
        if size >= SIZE:
            break
        count = int(made * SIZE / size * 1.02) + 1
    for i in range(made):
        os.remove(path("%04d.o" % i))
    return program, size


def draw_addresses(program, path):
    """Addresses of functions, each byte of code as likely as another."""
    symbols = []
    for line in subprocess.run(["nm", "-S", program], check=True, capture_output=True, text=True).stdout.splitlines():
        match = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] ", line)
        if match and int(match[2], 16) > 0:
            symbols.append((int(match[1], 16), int(match[2], 16)))
    ends = list(itertools.accumulate(size for _, size in symbols))
    drawn = random.Random(1)
    addresses = set()
    while len(addresses) < ADDRESSES:
        at = drawn.randrange(ends[-1])
        i = bisect.bisect_right(ends, at)
        addresses.add(symbols[i][0] + at - (ends[i] - symbols[i][1]))
    with open(path, "w") as out:
        out.writelines("0x%x\n" % address for address in sorted(addresses))


def rows(bench):
    name = "names: 100,000 addresses of %.0f MB"
    if not bench.wanted("names"):
        return
    if not shutil.which("g++") or not shutil.which("nm"):
        bench.add("names", "left out", "", "no g++ or no nm")
        return
    program, size = make_program(bench)
    name = name % (size / 1e6)
    addresses = bench.path("names/addresses")
    draw_addresses(program, addresses)
    tool = os.path.join(bench.build, "bench", "bench_names")
    few = bench.path("names/few")
    with open(addresses) as all_addresses, open(few, "w") as out:
        out.writelines(random.Random(2).sample(all_addresses.readlines(), FEW))
    peers = (("llvm-symbolizer", "--inlining --demangle --relative-address", addresses),
             ("addr2line", "-i -f -C", addresses), ("eu-addr2line", "-i -f -C", few))
    for loops in ([], ["loops"]):
        command = [tool, program, addresses, str(THREADS), *loops]
        taken = [a for a, _ in bench.pairs(command, None)]
        what = name + (" with their loops" if loops else "")
        walls = [a.wall for a in taken]
        bench.add(what, "%.2f s (%.2f .. %.2f)" % (statistics.median(walls), min(walls), max(walls)), "<= 3 s",
                  "%d threads, %.2f s of processors, peak %.0f MiB with what is mapped of the file" %
                  (THREADS, statistics.median(a.cpu for a in taken), max(a.peak_mib for a in taken)))
    for peer, options, of in peers:
        if shutil.which(peer):
            bench.ratio("names: one thread against %s%s" % (peer, ", %d addresses" % FEW if of == few else ""),
                        [tool, program, of, "1"],
                        ["sh", "-c", "exec %s %s -e '%s' < '%s'" % (peer, options, program, of)], ">= 1 x")
