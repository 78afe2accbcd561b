"""Runs with a cause that no simulated run has by itself: simulated runs as Paraver text, with what
another tracer would have written beside (its buffer's flushes, counters of instructions and cycles),
and schedules with more and less traffic."""
import os
import re
import subprocess

NETWORK = "hockney:latency=2us,bandwidth=10GB/s"
CLOCK = 2  # cycles per ns
FUNCTION, FLUSH, INSTRUCTIONS, CYCLES = 60000019, 40000003, 42000050, 42000059
FLUSHING = 103  # a state


def simulated(lull, path, *words):
    subprocess.run([lull, "simulate", *words, "--no-path", "-o", path], check=True, capture_output=True)


def as_text(lull, folder, name, *words):
    """The lines of a simulated run's .prv, and where it is."""
    run, path = os.path.join(folder, name + "-simulated"), os.path.join(folder, name + ".prv")
    simulated(lull, run, *words)
    subprocess.run([lull, "convert", run, path, "--to", "paraver"], check=True, capture_output=True)
    subprocess.run(["rm", "-r", run], check=True)
    with open(path) as file:
        return path, file.read().splitlines()


def write(path, lines):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def time_of(line):
    """When a line of a .prv counts: a state is written at its begin, an event when it happens."""
    return int(line.split(":")[5])


def flushing(lull, folder, name, rank, milliseconds):
    """A chain of ranks; the tracer of one of them writes its buffer once, and so long."""
    path, lines = as_text(lull, folder, name, "--pattern", "chain:ranks=6,iterations=20,exec=1ms",
                          "--network", NETWORK, "--delay", "%d@i10:%gms" % (rank, milliseconds))
    with open(path[:-3] + "pcf") as file:
        delay = re.search(r"^(\d+) +delay$", file.read(), re.MULTILINE).group(1)
    begin = "%d:%s" % (FUNCTION, delay)
    thread = ["2", *next(line.split(":")[1:5] for line in lines if begin in line)]
    own = [i for i, line in enumerate(lines) if line.split(":")[:5] == thread]
    first = next(i for i in own if begin in lines[i])
    last = next(i for i in own if i > first)  # the function ends there that stands for the flush
    lines[first] = lines[first].replace(begin, "%d:1" % FLUSH)
    lines[last] = lines[last].replace("%d:0" % FUNCTION, "%d:0" % FLUSH, 1)
    begin, end = (lines[i].split(":")[5] for i in (first, last))
    written = []
    for line in lines:
        parts = line.split(":")
        if parts[:5] == ["1", *thread[1:]] and parts[6] == end:  # it computes, and then it flushes
            written.append(":".join([*parts[:6], begin, parts[7]]))
            line = ":".join([*parts[:5], begin, end, str(FLUSHING)])
        written.append(line)
    write(path, written[:2] + sorted(written[2:], key=time_of))
    return path


def counted(lull, folder, name, ranks, memory, instructions=True):
    """The same work, 20 times, for so many ranks, which share a memory domain with this `memory` of
    lull simulate. Each computation has instructions for the work, and cycles for the time."""
    path, lines = as_text(lull, folder, name, "--pattern",
                          "collective:ranks=%d,op=barrier,exec=%gms,iterations=20" % (ranks, 40 / ranks),
                          "--network", NETWORK, "--memory", memory)
    events = []
    for line in lines[2:]:
        parts = line.split(":")
        if parts[0] == "1" and parts[7] == "1" and instructions:
            cycles = CLOCK * (int(parts[6]) - int(parts[5]))
            events.append(":".join(["2", *parts[1:5], parts[6], str(INSTRUCTIONS), str(4 * 10**7 // ranks),
                                    str(CYCLES), str(cycles)]))
    write(path, lines[:2] + sorted(lines[2:] + events, key=time_of))
    with open(path[:-3] + "pcf", "a") as file:
        file.write("\nEVENT_TYPE\n7 %d PAPI_TOT_INS\n7 %d PAPI_TOT_CYC\n" % (INSTRUCTIONS, CYCLES))
    return path


def machine(folder, name, bandwidths):
    """A machine file: what memory gives so many cores, in GB/s."""
    path = os.path.join(folder, name)
    numbers = ",".join('"memory.load.%d":{"value":%g,"unit":"B/s","statistic":"published","verdict":"published"}' %
                       (cores, 1e9 * value) for cores, value in bandwidths.items())
    with open(path, "w") as file:
        file.write('{"format":"lull-machine/1","name":"%s","provenance":{"kind":"published","source":"made up"},'
                   '"numbers":{%s}}' % (name, numbers))
    return path


def schedule(path, ranks, iterations, crowded, size=65536):
    """GOAL text: all compute 1 ms, then each other pair of neighbours, or all with all others, exchange
    messages of one size."""
    rows, behind, counts = [[] for _ in range(ranks)], [[] for _ in range(ranks)], [0] * ranks

    def add(rank, text, requires):
        counts[rank] += 1
        label = "l%d" % counts[rank]
        rows[rank] += [label + ": " + text] + ["%s requires %s" % (label, other) for other in requires]
        return label

    for i in range(iterations):
        pairs = ([(a, b) for a in range(ranks) for b in range(ranks) if a != b] if crowded(i) else
                 [(a, a + 1) for a in range(i % 2, ranks - 1, 2)])
        done = [add(rank, "calc 1000000", behind[rank]) for rank in range(ranks)]
        behind = [[label] for label in done]
        for a, b in pairs:
            behind[a].append(add(a, "send %db to %d" % (size, b), [done[a]]))
            behind[b].append(add(b, "recv %db from %d" % (size, a), [done[b]]))
    with open(path, "w") as file:
        file.write("num_ranks %d\n" % ranks)
        for rank in range(ranks):
            file.write("rank %d {\n%s\n}\n" % (rank, "\n".join(rows[rank])))
    return path
