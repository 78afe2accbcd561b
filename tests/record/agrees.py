"""Samples of lull and of `perf record -e cpu-clock` of the same run say the same of real applications: the share of each
function of one lies within the interval of the other, and the hottest are the same. Functions are those that have code of
their own, as the linker knows them: perf does not tell what was inlined. This measures: it runs alone, in
check-all. Applications and perf are those of the system; what is missing is skipped by name.

    agrees.py --lull LULL [--only APPLICATION] [--markdown]      (--markdown: also as the table of docs/code.md)
"""
import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

RATE = 997 # of both
# SIGMAS: of the difference of two shares, with many functions looked at. OFF: what one of them sees and the other not,
# as the beginning of the program.
SIGMAS, OFF, HOTTEST = 4.5, 0.01, 5

SQL = "create table t(a integer, b text); with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000) " \
      "insert into t select x * 7919 % 10007, hex(x) from c; create index i on t(a); " \
      "select count(*), sum(length(u.b)) from t as u join t as v on u.a = v.a and u.b < v.b where u.a < 4000;"
PERL = "my %h; for my $i (1..2000000) { my $k = ($i * 7919) % 10007; $h{$k} .= chr(65 + $i % 26); } " \
       "my $n = 0; for my $k (sort keys %h) { $n += () = $h{$k} =~ /A[B-Z]/g; } print \"$n\\n\";"
PYTHON = "import json\nd = {str(i): [i * j % 97 for j in range(20)] for i in range(20000)}\n" \
         "for _ in range(3): t = json.loads(json.dumps(d, indent=1))\nprint(sum(map(sum, t.values())))"
BC = "scale=1200; a(1)*4; e(1)"
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 60
"""


def applications(folder, lull):
    """(name, command, input) of each"""
    text, c = os.path.join(folder, "text"), os.path.join(folder, "large.c")
    sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")
    parts = []
    for path, folders, names in os.walk(sources):
        folders.sort()
        for name in sorted(names):
            with open(os.path.join(path, name), "rb") as file:
                parts.append(file.read())
    with open(text, "wb") as file:
        file.write(b"".join(parts))
    with open(c, "w", encoding="ascii") as file:
        for i in range(1500):
            file.write("int f%d(int a, int *b) { int s = %d; for (int i = 0; i < a; i++) s += b[i] * (i %% %d ? a : s); "
                       "return s; }\n" % (i, i, i + 2))
    packed = os.path.join(folder, "text.xz")
    if shutil.which("xz"):
        with open(packed, "wb") as file:
            subprocess.run(["xz", "-1", "-c", text], stdout=file, check=True)
    # of these all functions have names; without -g lull, too, knows no more of them than the linker
    compiled = []
    for name, compiler, source, arguments in (
            ("cg", ["gcc", "-O1", "-fno-inline", "-fopenmp"], "cg.c", ["300", "300", "400"]),
            ("heat", ["mpicc.openmpi", "-O1", "-fno-inline", "-fopenmp"], "heat.c", ["60", "400", "slow", "serial", "uneven"]),
            ("particles", ["mpicxx.openmpi", "-O1", "-fno-inline"], "particles.cpp", [])):
        program = os.path.join(folder, name)
        if shutil.which(compiler[0]):
            subprocess.run([*compiler, os.path.join(sources, "..", "examples", source), "-o", program, "-lm"], check=True)
        compiled.append((name, [program, *arguments], ""))
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip() \
        if shutil.which("gcc") else "cc1"
    return (("bzip2", ["bzip2", "-c", text], ""), ("xz", ["xz", "-T1", "-3", "-c", text], ""),
            ("gzip", ["gzip", "-c", text], ""), ("zstd", ["zstd", "-q", "-12", "-c", "--single-thread", text], ""),
            ("lz4", ["lz4", "-q", "-9", "-c", text], ""), ("openssl", ["openssl", "speed", "-seconds", "1", "sha256"], ""),
            ("sqlite3", ["sqlite3", ":memory:", SQL], ""), ("perl", ["perl", "-e", PERL], ""),
            ("python3", ["/usr/bin/python3", "-c", PYTHON], ""), ("bc", ["bc", "-l"], BC + "\n"),
            ("cc1", [cc1, "-quiet", "-O1", c, "-o", os.path.join(folder, "large.s")], ""),
            ("lammps", ["lmp", "-log", "none"], LAMMPS), ("octave", ["octave-cli", "--norc", "--eval",
             "a = rand(400); for i = 1:30, b = a * a; c = inv(a); s = svd(a(1:150, 1:150)); end"], ""),
            ("lull", [lull, "simulate", "--pattern", "chain:ranks=512,exec=1ms,iterations=1600"], ""), *compiled)


def plain(name):
    """A function by the name that perf and lull have in common: "free" of "cfree@GLIBC_2.2.5", of "__libc_free" and of
    "free.part.0"."""
    if name.endswith(")") or name.startswith("("):
        return name  # "libz.so.1 (no symbols)"
    while re.search("<[^<>]*>", name):
        name = re.sub("<[^<>]*>", "", name)
    name = re.sub("^_*(GI_+)?(libc_)?", "", re.split("[.@(]", name)[0] or name) or name
    return "free" if name == "cfree" else name.replace("memcpy_", "memmove_")  # which are one function


def own(frames):
    """Of a path behind its thread the function with code of its own: behind regions and calls, before what was inlined."""
    at = max([i for i, frame in enumerate(frames) if frame.startswith(("!$omp", "MPI_", "omp_", "pthread_mutex"))], default=-1)
    rest = frames[at + 1:]
    return (rest or frames)[0]


def is_there(command):
    return shutil.which(command[0]) is not None


class Check:
    def __init__(self, lull, folder):
        self.lull, self.folder, self.wrong, self.rows = lull, folder, [], []

    def both(self, command, text):
        """{function: samples} of perf, {function: ns} of lull, number of samples of lull; of one run"""
        data, run, out = (os.path.join(self.folder, name) for name in ("perf.data", "run", "paths"))
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", str(RATE), "-o", data, "--", self.lull, "record",
                        "--force", "--sample", "%d:1MiB" % RATE, "-o", run, "--", *command], input=text, text=True,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=launch.environment(),
                       timeout=900)
        perf, ours = {}, {}
        program = os.path.basename(command[0])[:15]
        lines = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym,dso"], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        for line in lines:
            words = line.split()
            # perf follows the program through `lull record`, which has a name of its own
            if len(words) < 4 or (not words[0].startswith(program[:7]) and words[0] == "lull"):
                continue
            dso = os.path.basename(words[-1].strip("()"))
            name = "%s (no symbols)" % dso if words[2] == "[unknown]" else plain(" ".join(words[2:-1]))
            perf[name] = perf.get(name, 0) + 1
        subprocess.run([self.lull, "convert", "--force", "--to", "folded", run, out], check=True, capture_output=True)
        with open(out, encoding="utf-8") as file:
            for line in file:
                path, ns = line.rstrip("\n").rsplit(" ", 1)
                name = plain(own(path.split(";")[1:]))
                ours[name] = ours.get(name, 0) + int(ns)
        return perf, ours

    def application(self, name, command, text):
        perf, ours = self.both(command, text)
        n_perf, ns = sum(perf.values()), sum(ours.values())
        n_ours = ns * RATE / 1e9
        if n_perf < 100 or n_ours < 100:
            self.wrong.append("%s: %d samples of perf, %.0f of lull" % (name, n_perf, n_ours))
            return
        print("%-8s %d samples of perf, %.0f of lull" % (name, n_perf, n_ours))
        told = []
        for function in sorted(perf, key=perf.get, reverse=True)[:HOTTEST]:
            theirs, our = perf[function] / n_perf, ours.get(function, 0) / ns
            p = (theirs + our) / 2
            tolerance = SIGMAS * math.sqrt(p * (1 - p) * (1 / n_perf + 1 / n_ours)) + OFF
            print("    %-44s perf %.4f, lull %.4f +- %.4f" % (function[:44], theirs, our, tolerance))
            told.append("`%s` %.1f / %.1f" % (function.replace("|", "\\|"), 100 * theirs, 100 * our))
            if abs(theirs - our) > tolerance:
                self.wrong.append("%s: %s: %.4f, perf %.4f" % (name, function, our, theirs))
        self.rows.append("| %s | %d, %.0f | %s |" % (name, n_perf, n_ours, "; ".join(told)))
        # and what is hottest for lull is so for perf
        for function in sorted(ours, key=ours.get, reverse=True)[:HOTTEST]:
            our, theirs = ours[function] / ns, perf.get(function, 0) / n_perf
            p = (theirs + our) / 2
            if abs(theirs - our) > SIGMAS * math.sqrt(p * (1 - p) * (1 / n_perf + 1 / n_ours)) + OFF:
                self.wrong.append("%s: %s: %.4f, perf %.4f" % (name, function, our, theirs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--only")
    parser.add_argument("--markdown", action="store_true")
    settings = parser.parse_args()
    if not shutil.which("perf"):
        print("skipped: perf was not found")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        probe = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-o", os.path.join(folder, "probe"), "true"],
                               capture_output=True, text=True)
        if probe.returncode != 0:
            print("skipped: perf: " + probe.stderr.strip().splitlines()[-1])
            return 77
        check = Check(settings.lull, folder)
        for name, command, text in applications(folder, settings.lull):
            if settings.only not in (None, name):
                continue
            if is_there(command):
                check.application(name, command, text)
            else:
                print("skipped: %s was not found" % name)
    if settings.markdown:
        print("\n".join(check.rows))
    for line in check.wrong:
        print("WRONG:", line)
    return 1 if check.wrong else 0


sys.exit(main())
