"""What a recorder adds to an MPI call: record_mpi.c alone, under lull and under EZTrace, in turn."""
import os
import shutil
import statistics
import subprocess

# Open MPI would bind a single rank to one core, with all of its threads.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   PRTE_MCA_hwloc_default_binding_policy="none",
                   PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "record_mpi.c")


def measure(launch, program, threads=0):
    """pattern -> (calls, median ns per iteration)"""
    out = subprocess.run(launch + [program, "300", "500", str(threads)], env=ENVIRONMENT, check=True,
                         capture_output=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        words = line.split()
        if len(words) == 4 and words[1].isdigit():
            found[words[0]] = (int(words[1]), float(words[2]))
    return found


def under_lull(bench, family, ranks, program, threads=0, settings=()):
    run = bench.path("recorded")
    shutil.rmtree(run, ignore_errors=True)
    recorder = os.path.join(os.path.abspath(bench.build), "liblull-record-%s.so" % family)
    return measure(["mpiexec.%s" % family, "-n", str(ranks), "env", "LULL_RECORD_DIR=" + run,
                    "LD_PRELOAD=" + recorder, *settings], program, threads)


def under_eztrace(bench, ranks, program):
    run = bench.path("eztrace")
    shutil.rmtree(run, ignore_errors=True)
    return measure(["mpiexec.openmpi", "-n", str(ranks), "eztrace", "-t", "openmpi", "-o", run],
                   program)


def spread(values, form):
    return (form + " (" + form + " .. " + form + ")") % (
        statistics.median(values), min(values), max(values))


def one_rank(bench, family, program, has_eztrace):
    alone, lull, eztrace = [], [], []
    for _ in range(bench.runs):
        alone.append(measure(["mpiexec.%s" % family, "-n", "1"], program))
        lull.append(under_lull(bench, family, 1, program))
        if has_eztrace:
            eztrace.append(under_eztrace(bench, 1, program))
    clock = statistics.median(run["clock"][1] for run in alone + lull)
    for pattern in alone[0]:
        if pattern == "clock":
            continue
        calls = alone[0][pattern][0]
        ours = [(b[pattern][1] - a[pattern][1]) / calls for a, b in zip(alone, lull)]
        bench.add("%s %s: added per MPI call" % (family, pattern), spread(ours, "%.0f") + " ns",
                  "<= %.0f ns" % (clock + (8 if "barrier" in pattern else 15)), "two readings of the clock: %.0f ns" % clock)
        if has_eztrace:
            theirs = [(c[pattern][1] - a[pattern][1]) / calls for a, c in zip(alone, eztrace)]
            bench.add("%s %s: EZTrace adds" % (family, pattern),
                      spread([t / o for t, o in zip(theirs, ours)], "%.1f") + " x", ">= 6 x",
                      "%.0f ns" % statistics.median(theirs))


def two_threads(bench, family, program):
    """MPI_THREAD_MULTIPLE: what a call costs on one thread, and on two at the same time, beyond what it costs
    there where nothing is recorded; with all events and with sums alone. On two threads both numbers hold
    waits for the library's lock, which depend on when the threads come to it: so a library that reads the
    clock as often and does little else takes the recorder's place in the same turns."""
    pattern = "message-to-itself"
    control = os.path.abspath(bench.path("record_control." + family))
    subprocess.run(["mpicc.%s" % family, "-O2", "-w", "-shared", "-fPIC",
                    os.path.join(os.path.dirname(SOURCE), "record_control.c"), "-o", control], check=True)
    launch = ["mpiexec.%s" % family, "-n", "1"]
    forms = {
        "": lambda threads: under_lull(bench, family, 1, program, threads),
        " in a profile": lambda threads: under_lull(bench, family, 1, program, threads,
                                                    ("LULL_RECORD_PROFILE=1",)),
        " by two readings of the clock": lambda threads: measure(
            launch + ["env", "LD_PRELOAD=" + control], program, threads),
    }
    added = {(how, threads): [] for how in forms for threads in (1, 2)}
    alone, clocks = {1: [], 2: []}, []
    for turn in range(bench.runs):
        for threads in (1, 2):
            run = measure(launch, program, threads)
            calls, bare = run[pattern]
            alone[threads].append(bare / calls)
            clocks.append(run["clock"][1])
            for how in list(forms)[::1 if turn % 2 else -1]:
                added[how, threads].append((forms[how](threads)[pattern][1] - bare) / calls)
    for (how, threads), ours in added.items():
        bench.add("%s THREAD_MULTIPLE, %d thread%s: added%s"
                  % (family, threads, "s"[:threads - 1], how), spread(ours, "%.0f") + " ns",
                  "<= that of 1" if threads > 1 and "readings" not in how else "",
                  "not recorded %s ns, two readings of the clock: %.0f ns"
                  % (spread(alone[threads], "%.0f"), statistics.median(clocks)))


def two_ranks(bench, family, program):
    ratios = []
    for _ in range(bench.runs):
        alone = measure(["mpiexec.%s" % family, "-n", "2"], program)["barrier"][1]
        ratios.append(under_lull(bench, family, 2, program)["barrier"][1] / alone)
    bench.add("%s barrier of two ranks: against none" % family, spread(ratios, "%.2f") + " x",
              "<= 1.35 x")


def by_node(bench, family, program):
    """The file of the node against one of each process: what a call costs, on one rank and on two."""
    forms = ((), ("LULL_RECORD_STORE=node",))
    for ranks in (1, 2):
        ratios = {}
        for turn in range(bench.runs):
            took = {}
            for settings in forms[::1 if turn % 2 else -1]:
                took[settings] = under_lull(bench, family, ranks, program, settings=settings)
            for pattern in took[()]:
                if pattern != "clock":
                    ratios.setdefault(pattern, []).append(took[forms[1]][pattern][1] /
                                                          took[()][pattern][1])
        for pattern, values in ratios.items():
            bench.add("%s %s, ranks: %d: in the file of the node" % (family, pattern, ranks),
                      spread(values, "%.3f") + " x", "<= 1.02 x", "of what it takes with a file of each process")


def rows(bench):
    for family in ("openmpi", "mpich"):
        compiler = "mpicc.%s" % family
        recorder = os.path.join(bench.build, "liblull-record-%s.so" % family)
        if not bench.wanted("MPI") or not shutil.which(compiler) or not os.path.exists(recorder):
            continue
        program = os.path.abspath(bench.path("record_mpi." + family))
        subprocess.run([compiler, "-O2", "-w", "-pthread", SOURCE, "-o", program], check=True)
        one_rank(bench, family, program, family == "openmpi" and bool(shutil.which("eztrace")))
        two_ranks(bench, family, program)
        two_threads(bench, family, program)
        by_node(bench, family, program)
