#!/usr/bin/env python3
"""What devices lose their time by, in made-up traces of PyTorch's profiler: schedules whose devices wait for the host, for
its calls of MPI or of the runtime, for launches, for copies or for each other, or whose operations run one after the other and
could side by side, by 5 % and by 20 %. The diagnosis names the cause first (of MPI: behind the rule that says why MPI takes
so long), and its price is what the same schedule without the cause is shorter by (of late launches: without any latency, also
that which was not planted; of short kernels: with graphs, which keep the latency of one launch; of copies: with the copies on a
stream of their own); where the cause is absent it keeps silent. And the runs that are kept for goldens are what kept_devices.py writes.

usage: test_devices.py --lull LULL
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kineto
import kept_devices
from device_program import CALL, LATENCY, RETURN, Program, write_shared, write_with_mpi

ITERATIONS, KERNEL = 40, 400_000  # ns


def starved(lost):
    program = Program()
    for _ in range(ITERATIONS):
        program.compute(lost)
        program.launch(KERNEL)
        program.synchronise()
    return program


def synchronised(lost, every=1):
    """The return from each wait takes most of what is lost, and the launch behind it the rest."""
    program = Program(latency=lost // 3)
    for i in range(ITERATIONS):
        program.launch(KERNEL)
        if i % every == every - 1:
            program.synchronise(returns=lost - lost // 3)
    return program


def synchronised_small(lost, every=1):
    """As often as usual waits and launches take it, of kernels that are so short that this is as large a part."""
    program = Program()
    for i in range(ITERATIONS):
        program.launch(KERNEL * (LATENCY + RETURN) // lost)
        if i % every == every - 1:
            program.synchronise()
    return program


def allocates(lost):
    program = Program()
    for _ in range(ITERATIONS):
        program.call("cudaMalloc", lost)
        program.launch(KERNEL)
        program.synchronise()
    return program


def communicates(lost):
    """All ranks are in MPI as long, and then launch."""
    programs = Program(ranks=2), Program(rank=1, ranks=2)
    for program in programs:
        for _ in range(ITERATIONS):
            program.allreduce(program.now + lost)
            program.launch(KERNEL)
            program.synchronise()
    return programs


def waits_in_mpi(lost, ahead=False):
    """Rank 1 computes longer than the kernel of rank 0 takes, which launches the next one behind MPI, or ahead of it."""
    programs = waiting, late = Program(ranks=2), Program(rank=1, ranks=2)
    waiting.launch(KERNEL)
    for i in range(ITERATIONS):
        waiting.synchronise()
        late.compute(KERNEL + lost)
        if ahead and i < ITERATIONS - 1:
            waiting.launch(KERNEL)
        end = max(waiting.now, late.now) + CALL
        for program in programs:
            program.allreduce(end)
        if not ahead and i < ITERATIONS - 1:
            waiting.launch(KERNEL)
    return programs


def late_launch(lost):
    program = Program(latency=LATENCY + lost)
    for _ in range(ITERATIONS):
        program.launch(KERNEL)
        program.synchronise()
    return program


def short_launched(lost, graph=False, again=True):
    """Kernels that are shorter than the call that launches them by what is lost; 50 for each wait, the same again or others."""
    program, length = Program(), CALL * KERNEL // (KERNEL + lost)
    for i in range(ITERATIONS):
        if graph and i > 0:
            program.launch_graph([length] * 50)
        for _ in range(0 if graph and i > 0 else 50):
            program.launch(length, name="smooth" if again else f"smooth {i}")
        program.synchronise()
    return program


def copies(lost, memory="Pinned", stream=7):
    program = Program()
    for _ in range(ITERATIONS):
        program.copy(lost, memory=memory, stream=stream)
        program.launch(KERNEL)
        program.synchronise()
    return program


def exchanges(lost):
    program = Program()
    for _ in range(ITERATIONS):
        program.launch(lost, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
        program.launch(KERNEL)
        program.synchronise()
    return program


def uneven(lost):
    """The devices lose `lost` on average: one of them has twice that more than the other."""
    program = Program(devices=2)
    for _ in range(ITERATIONS):
        program.launch(KERNEL + lost, device=0)
        program.launch(KERNEL - lost, device=1)
        program.synchronise(devices=2)
    return program


def ahead(lost):
    """The host computes as well, and is ahead of the device."""
    program = Program()
    for i in range(ITERATIONS):
        program.launch(KERNEL)
        program.compute(lost)
        if i % 8 == 7:
            program.synchronise()
    return program


def busy_meanwhile(lost, call):
    """The host calls the runtime or MPI while a kernel runs."""
    programs = (Program(),) if call != "MPI" else (Program(ranks=2), Program(rank=1, ranks=2))
    for program in programs:
        for _ in range(ITERATIONS):
            program.launch(KERNEL)
            if call == "MPI":
                program.allreduce(program.now + lost)
            else:
                program.call(call, lost)
            program.synchronise()
    return programs if call == "MPI" else programs[0]


def hidden_copies(lost):
    program = Program()
    for i in range(ITERATIONS):
        program.launch(KERNEL)
        program.copy(lost, stream=20)
        if i % 8 == 7:
            program.synchronise()
    return program


def short_kernels(graph):
    """Kernels that take less time than the call that launches them, the same ones in each iteration; the first time a graph
    is made of them."""
    program, lengths = Program(), [1_500, 500, 1_000, 500]
    for i in range(ITERATIONS):
        if graph and i > 0:
            program.launch_graph(lengths)
        else:
            for length in lengths:
                program.launch(length)
        program.synchronise()
        program.compute(3_000)
    return program


def default_stream(lost, first=7, every=1, events=False):
    """Two streams take turns in `every` iteration; events would say which operation waits for which, if the profiler told it."""
    program = Program()
    for i in range(ITERATIONS):
        program.exclusive = i % every == 0
        program.launch(lost, stream=first, name="prepare")
        if events:
            program.call("cudaStreamWaitEvent")
        program.launch(KERNEL, stream=20)
        if i % 8 == 7:
            program.synchronise()
    return program


def turns(lost, every=1):
    """Two processes on one device, likewise."""
    first = Program(ranks=2)
    second = Program(rank=1, ranks=2, beside=first)
    for i in range(ITERATIONS):
        first.exclusive = second.exclusive = i % every == 0
        first.launch(KERNEL)
        second.launch(lost, name="other")
    first.synchronise()
    second.synchronise()
    return first, second


# What is supposed: the option of lull replay, the program, and how long it takes then.
SUPPOSED = [("--overlap-copies", lambda: copies(KERNEL // 4), lambda: copies(KERNEL // 4, stream=20)),
            ("--launch-graph", lambda: short_kernels(False), lambda: short_kernels(True))]
# What is planted: the rule, the program, and what its price supposes; None: a replay cannot tell.
PLANTED = [("device_starved", starved, lambda _: starved(0)),
           ("device_sync", synchronised, lambda lost: synchronised(lost, every=ITERATIONS)),
           ("device_sync", synchronised_small, lambda lost: synchronised_small(lost, every=ITERATIONS)),
           ("device_mpi", communicates, lambda _: communicates(0)),
           ("device_mpi", waits_in_mpi, lambda lost: waits_in_mpi(lost, ahead=True)),
           ("device_runtime", allocates, lambda _: allocates(0)),
           ("device_launch", late_launch, lambda _: late_launch(-LATENCY)),
           ("device_launch", short_launched, lambda lost: short_launched(lost, graph=True)),
           ("device_copies", copies, lambda lost: copies(lost, stream=20)), ("device_exchange", exchanges, None),
           ("device_imbalance", uneven, lambda _: uneven(0)), ("device_default_stream", default_stream, None),
           ("device_shared", turns, None)]
# Why MPI takes so long comes before that devices wait for it: the schedule, the rule, and what its price supposes.
WHY_IN_MPI = {communicates: ("small_messages", lambda _: communicates(0)),
              waits_in_mpi: ("n_to_n", lambda _: waits_in_mpi(0))}
# Of these nothing is told beside them that would be the same time again.
SAME_TIME = {"device_sync": ("device_runtime", "device_launch", "device_starved")}
# Where rules have nothing to say.
TWINS = [("device_starved", ahead), ("device_launch", ahead), ("device_runtime", ahead), ("device_copies", hidden_copies),
         ("device_mpi", lambda lost: busy_meanwhile(lost, "MPI")), ("device_mpi", ahead),
         ("device_runtime", lambda lost: busy_meanwhile(lost, "cudaMalloc")), ("device_runtime", synchronised),
         ("device_sync", ahead), ("device_sync", starved), ("device_sync", late_launch), ("device_sync", allocates),
         ("device_sync", lambda lost: synchronised_small(lost, every=ITERATIONS // 2)),
         ("device_imbalance", lambda lost: uneven(0)),
         ("device_default_stream", lambda lost: default_stream(lost, every=2)),
         ("device_default_stream", lambda lost: default_stream(lost, events=True)),
         ("device_default_stream", lambda lost: default_stream(lost, first=13)), ("device_default_stream", starved),
         ("device_default_stream", hidden_copies), ("device_shared", lambda lost: turns(lost, every=2)),
         ("device_shared", default_stream)]


def findings(lull, folder, name, program):
    path = folder / (name + ".json")
    if isinstance(program, tuple):
        write = write_with_mpi if any(one.is_in_mpi for one in program) else write_shared
        path = write(lull, folder, name, program)
    else:
        kineto.write(path, program.maker.document())
    text = subprocess.run([lull, "report", path, "--threads", "1", "--format", "json"], check=True, capture_output=True,
                          text=True).stdout
    return json.loads(text)["findings"]


def runtime_of(program):
    return max(one.runtime() for one in (program if isinstance(program, tuple) else (program,)))


def tables_of(lull, *words):
    text = subprocess.run([lull, *words, "--format", "json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["tables"]


def check_price(finding, what, truth):
    """What is wrong, as a list of lines; `truth` in ns. Less than 1 % of a kernel for each of them is nothing."""
    gain = (finding["gain"] or {}).get("seconds")
    print(f"{what}: saves {1e-6 * truth:.3f} ms, told {'nothing' if gain is None else f'{1e3 * gain:.3f} ms'}")
    least = 0 if truth > 0 else ITERATIONS * KERNEL / 100
    if gain is None or abs(1e9 * gain - truth) > max(0.05 * truth, least):
        return [f"{what}: saves {1e-9 * truth} s, not {gain} s"]
    return [] if finding.get("next") else [f"{what}: no next step"]


def check_planted(lull, folder, rule, make, without, percent):
    """What is wrong, as a list of lines."""
    lost = KERNEL * percent // (100 - percent)
    with_it = make(lost)
    found = findings(lull, folder, f"{make.__name__}-{percent}", with_it)
    what, wrong = f"{rule}, {make.__name__}, {percent} %", []
    for first, supposed in [*([WHY_IN_MPI[make]] if make in WHY_IN_MPI else []), (rule, without)]:
        if not found or found[0]["rule"] != first:
            return [f"{what}: {', '.join(f['rule'] for f in found) or 'nothing'} instead of {first}"]
        again = [f["rule"] for f in found if f["rule"] in SAME_TIME.get(first, ())]
        if again:
            return [f"{what}: told again as {', '.join(again)}"]
        if supposed:
            wrong += check_price(found[0], f"{what}: {first}", runtime_of(with_it) - runtime_of(supposed(lost)))
        elif "seconds" in found[0]["gain"]:
            wrong += [f"{what}: priced"]
        found = found[1:]
    return wrong


def check_supposed(lull, folder, option, make, without):
    """What is wrong, as a list of lines: the run takes as long as the schedule without the cause, and the simulated run has
    the operations of that schedule."""
    path, simulated, other = folder / "supposed.json", folder / f"supposed{option}", folder / f"other{option}.json"
    kineto.write(path, make().maker.document())
    kineto.write(other, without().maker.document())
    tables = [tables_of(lull, *words) for words in (("replay", path, option, "-o", simulated),
                                                    ("metrics", "--by", "device", simulated),
                                                    ("metrics", "--by", "device", other))]
    (replayed,), told, truth = ([row["values"][2] for row in tables[0]["replay"]["rows"] if row["id"] == "runtime"],
                                *(next(iter(table.values()))["rows"][0]["values"] for table in tables[1:]))
    print(f"{option}: {1e3 * replayed:.6f} ms, the schedule without the cause {1e-6 * without().runtime():.6f} ms")
    wrong = [] if abs(1e9 * replayed - without().runtime()) < 1 else [f"{option}: takes {replayed} s"]
    return wrong + ([] if told[:-2] == truth[:-2] else [f"{option}: of the device {told}, not {truth}"])


def check_kept(lull, folder):
    """What is wrong, as a list of lines."""
    kept = pathlib.Path(__file__).resolve().parents[1] / "data/devices"
    kept_devices.write(lull, folder)
    wrong = [f"{path.name}: has other spans" for path in kept.glob("*.json")
             if kineto.read(path).spans != kineto.read(folder / path.name).spans]
    tables = [[tables_of(lull, "metrics", place / "device-shared", "--by", part) for part in ("stream", "kernel")]
              for place in (kept, folder)]
    return wrong + ([] if tables[0] == tables[1] else ["device-shared: has other operations"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    options = parser.parse_args()
    lull, wrong = str(pathlib.Path(options.lull).resolve()), []
    with tempfile.TemporaryDirectory(prefix="lull-devices-") as name:
        folder = pathlib.Path(name)
        (folder / "kept").mkdir()
        wrong += check_kept(lull, folder / "kept")
        for rule, make, without in PLANTED:
            for percent in (5, 20):
                wrong += check_planted(lull, folder, rule, make, without, percent)
        for option, make, without in SUPPOSED:
            wrong += check_supposed(lull, folder, option, make, without)
        for rule, make in TWINS:
            for percent in (5, 20):
                found = findings(lull, folder, f"no-{rule}-{len(list(folder.iterdir()))}",
                                 make(KERNEL * percent // (100 - percent)))
                told = [f["rule"] for f in found if f["rule"] == rule]
                wrong += [f"{rule} told of {make.__name__}, {percent} %"] if told else []
        for call in ("MPI", "cudaMalloc"):
            program = busy_meanwhile(KERNEL // 4, call)
            for finding in findings(lull, folder, f"busy-{call}", program):
                gain = finding["gain"].get("seconds", 0)
                if gain > 1e-11 * runtime_of(program):
                    wrong.append(f"{finding['rule']} would save {gain} s of {call} beside kernels")
        found = findings(lull, folder, "never-again", short_launched(KERNEL // 4, again=False))
        if "device_launch" not in [f["rule"] for f in found if f["gain"].get("seconds") == 0]:
            wrong.append(f"graphs of what is not launched again: {found}")
        for memory, told in (("Pinned", False), ("Pageable", True)):
            found = findings(lull, folder, memory, copies(KERNEL // 4, memory))
            if ("not pinned take 4.000 ms" in found[0]["cause"]) != told:
                wrong.append(f"{memory}: {found[0]['cause']}")
    print("\n".join(wrong) or "as planted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
