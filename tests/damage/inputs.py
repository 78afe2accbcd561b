"""What the harness damages: good inputs of every kind, and the commands that read them.

An input is a dictionary from names to bytes, the files of one folder; a name with text before a
colon is an argument instead of a file. Inputs come from the repository, or are made of them by lull
itself: a run converted to another format, a profile of it.
"""

import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "support"))
import features  # noqa: E402

DATA = TESTS / "data"
ARGUMENT = "argument:"

METRICS = ["metrics", "--by", "region", "--format", "csv"]
CHAIN = ["simulate", "--pattern", "chain:ranks=4,exec=1ms,iterations=20,bytes=1000"]

# What is done with a run. RUN is the damaged input, OUT a name that does not exist yet.
RUN_COMMANDS = [
    ["info", "RUN"],
    ["top", "RUN", "--count", "1"],
    METRICS + ["RUN"],
    ["metrics", "--scheme", "all", "--by", "thread", "--raw", "--counters", "-j", "2", "RUN"],
    ["metrics", "--no-replay", "--format", "json", "RUN"],
    ["metrics", "--by", "wait", "-j", "2", "RUN"],
    ["report", "--format", "json", "RUN"],
    ["report", "--no-replay", "-j", "2", "RUN", "-o", "OUT.html"],
    ["replay", "--network", "hockney:latency=1us,bandwidth=1e9", "RUN", "-o", "OUT"],
    ["replay", "--balance", "--network", "ideal", "RUN"],
    ["convert", "--to", "tape", "RUN", "OUT"],
    ["convert", "--to", "paraver", "RUN", "OUT.prv"],
    ["convert", "--to", "chrome", "RUN", "OUT.json"],
    ["convert", "--to", "arrow", "RUN", "OUT"],
]
OTF2_COMMAND = ["convert", "--to", "otf2", "RUN", "OUT"]


def files_of(folder, only=None):
    folder = pathlib.Path(folder)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (only is None or path.stem in only)
    }


class Kind:
    """Inputs of one kind, each with the name that commands get, the commands, and how often the
    kind is drawn. The numbers of `modest` ones are kept small: who asks for much gets much."""

    def __init__(self, name, inputs, commands, weight=3, modest=False):
        self.name, self.inputs, self.commands = name, inputs, commands
        self.weight, self.modest = weight, modest


class Maker:
    """Asks lull for what the repository does not hold."""

    def __init__(self, lull, scratch):
        self.lull, self.scratch = lull, pathlib.Path(scratch)
        built_with = features.of(lull)
        self.otf2, self.loops = "OTF2" in built_with, "LIBCLANG" in built_with

    def ask(self, *arguments):
        done = subprocess.run([self.lull, *map(str, arguments)], capture_output=True, text=True)
        return done.stdout + done.stderr

    def convert(self, source, name, form):
        out = self.scratch / name
        out.parent.mkdir()
        said = self.ask("convert", "--to", form, source, out)
        if not out.exists():
            sys.exit(f"cannot make {name}: {said}")
        return files_of(out.parent)

    def profile(self, name, *runs):
        out = self.scratch / name
        self.ask("metrics", "--format", "json", "--by", "region", *runs, "-o", out)
        return {name: out.read_bytes()}


def runs(maker):
    """The same few runs in every format that lull reads."""
    tape = DATA / "tape" / "heat-2x1"
    paraver = {name: DATA / "golden" / f"{name}.prv" for name in ("replay2", "omp2", "functions-a")}
    paraver["hybrid"] = DATA / "paraver" / "hybrid.prv"
    commands = RUN_COMMANDS + ([OTF2_COMMAND] if maker.otf2 else [])
    prefixed = {f"run/{name}": content for name, content in files_of(tape).items()}
    one_each = files_of(DATA / "tape" / "exchange-2x1")
    packed = {f"run/{name}": content for name, content in one_each.items()}
    sampled = {f"run/{name}": content for name, content in files_of(DATA / "tape" / "sampled-1x2").items()}
    devices = {f"run/{name}": content for name, content in files_of(DATA / "tape" / "devices-2x1").items()}
    yield Kind(
        "tape",
        [(prefixed, "run"), (packed, "run"), (sampled, "run"), (devices, "run")]
        + [(maker.convert(paraver[name], f"tape-{name}/run", "tape"), "run") for name in paraver],
        commands,
    )
    yield Kind(
        "paraver",
        [(files_of(path.parent, [name]), f"{name}.prv") for name, path in paraver.items()]
        + [(maker.convert(tape, "prv/heat.prv", "paraver"), "heat.prv")],
        commands,
    )
    yield Kind(
        "paraver.gz",
        [(maker.convert(path, f"gz-{name}/run.prv.gz", "paraver"), "run.prv.gz")
         for name, path in paraver.items()],
        commands,
    )
    ranks = files_of(DATA / "kineto" / "two-ranks")
    yield Kind(
        "kineto",
        [({name: content}, name) for name, content in ranks.items()]
        + [({f"run/{name}": content for name, content in ranks.items()}, "run")],
        commands,
    )
    if maker.otf2:
        sources = {"heat": tape, **paraver}
        yield Kind(
            "otf2",
            [(maker.convert(path, f"otf2-{name}/run", "otf2"), "run/traces.otf2")
             for name, path in sources.items()],
            commands,
        )


def schedules():
    corpus = TESTS / "fuzz" / "corpus" / "fuzz_goal"
    named = [
        TESTS / "golden" / "simulate" / "goal" / "pingpong.goal",
        corpus / "stencil.goal",
        corpus / "reduce.goal.gz",
    ]
    yield Kind(
        "goal",
        [({path.name: path.read_bytes()}, path.name) for path in named],
        [
            ["simulate", "RUN"],
            ["simulate", "RUN", "--network", "loggops", "--no-path", "-o", "OUT"],
            ["simulate", "RUN", "--network", "dimemas:buses=2,bandwidth=1e9", "-f", "csv"],
            ["simulate", "RUN", "--noise", "exponential:mean=1us", "--per-rank"],
        ],
    )


def machines():
    folders = [TESTS.parent / "data", DATA / "machine"]
    named = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    good = str(DATA / "machine" / "later.json")
    yield Kind(
        "machine",
        [({path.name: path.read_bytes()}, path.name) for path in named],
        [
            ["bench", "--show", "RUN"],
            ["bench", "--show", "RUN", "--format", "json", "--charts", "OUT"],
            ["bench", "--show", "RUN", "--noise-trace", "OUT"],
            ["bench", "--compare", "RUN", good],
            ["bench", "--compare", good, "RUN"],
            CHAIN + ["--machine", "RUN"],
            ["model", "spmv", "stencil5:nx=20,ny=20", "-m", "RUN", "-n", "1"],
            ["model", "solver", str(TESTS.parent / "data" / "solvers" / "cg.lua"), "-m", "RUN"],
            ["replay", str(DATA / "golden" / "replay2.prv"), "--machine", "RUN"],
        ],
    )


def models():
    named = sorted((TESTS.parent / "data" / "models").glob("*.lua"))
    yield Kind(
        "model",
        [({path.name: path.read_bytes()}, path.name) for path in named],
        [
            ["model", "program", "RUN", "--set", "P=4"],
            ["model", "program", "RUN", "--sweep", "P=1:16:x2", "--chart", "OUT", "-f", "json"],
            ["model", "program", "RUN", "--set", "P=4", "--machine",
             str(DATA / "machine" / "measured.json"), "-f", "csv"],
            ["model", "program", "RUN", "--against", str(DATA / "golden" / "replay2.prv")],
        ],
        modest=True,
    )


def matrices():
    """Numbers are kept small: a grid of a billion points is a matrix like others."""
    corpus = TESTS / "fuzz" / "corpus" / "fuzz_market"
    named = [corpus / "hermitian", corpus / "symmetric", corpus / "array",
             TESTS / "golden" / "spmv" / "reorder" / "scattered.mtx.gz"]
    machine = str(TESTS.parent / "data" / "haswell-e5-2695v3-cod.json")
    yield Kind(
        "matrix",
        [({path.name: path.read_bytes()}, path.name) for path in named],
        [
            ["model", "spmv", "RUN"],
            ["model", "spmv", "RUN", "-m", machine, "-n", "2", "-f", "csv"],
            ["model", "spmv", "RUN", "-m", machine, "-n", "1", "--reorder", "--storage", "sell"],
            ["model", "spmv", "RUN", "-m", machine, "-n", "1", "--transposed", "--chart", "OUT"],
        ],
    )
    made = ["stencil5:nx=20,ny=10", "banded:n=100,half=3", "random:n=50,row=4,seed=2",
            "powerlaw:n=60,row=3,exponent=2.5"]
    yield Kind(
        "spec of a matrix",
        [({ARGUMENT: text.encode()}, ARGUMENT) for text in made],
        [["model", "spmv", "RUN"]],
        weight=1,
        modest=True,
    )


def solvers():
    folder = TESTS.parent / "data"
    machine = str(folder / "haswell-e5-2695v3-cod-cg.json")
    yield Kind(
        "solver",
        [({path.name: path.read_bytes()}, path.name)
         for path in sorted((folder / "solvers").glob("*.lua"))],
        [
            ["model", "solver", "RUN", "-m", machine],
            ["model", "solver", "RUN", "-m", machine, "--barrier", "1us", "--sweep", "Ny=1,100",
             "-f", "csv", "--chart", "OUT"],
        ],
        weight=1,
    )


def kernels():
    folder = TESTS.parent / "examples" / "kernels"
    named = sorted(folder.glob("*.c"))
    machine = str(TESTS.parent / "data" / "haswell-e5-2695v3-cod.json")
    command = ["model", "kernel", "RUN", "--machine", machine, "--in-core", "2,3"]
    sizes = ["-D", "N=100", "-D", "M=20"]
    yield Kind(
        "kernel",
        [({path.name: path.read_bytes()}, path.name) for path in named],
        [
            command + ["-D", "N=1000"],
            command + sizes + ["--index", "order=uniform", "-f", "json"],
            command + sizes + ["-D", "L=10", "--traffic", "simulation", "--policy", "plru"],
            command + ["-D", "M=20", "-D", "L=10", "--sweep", "N=10:1000:5"],
        ],
        modest=True,
    )
    fortran = folder / "jacobi2d.f90"
    yield Kind(
        "kernel in Fortran",
        [({fortran.name: fortran.read_bytes()}, fortran.name)],
        [command + sizes + ["--no-simulation"]],
        modest=True,
    )
    yield Kind(
        "machine for a kernel",
        [({"machine.json": pathlib.Path(machine).read_bytes()}, "machine.json")],
        [["model", "kernel", str(folder / "triad.c"), "-D", "N=1000000", "--machine", "RUN",
          "--in-core", "2,3", "--no-simulation"]],
    )


def histories():
    name = "heat.jsonl"
    yield Kind(
        "history",
        [({name: (DATA / "history" / name).read_bytes()}, name)],
        [
            ["history", "show", "RUN", "--chart", "OUT"],
            ["history", "show", "RUN", "--metric", "region:MPI_Waitall", "-f", "json"],
            ["diff", str(DATA / "history" / "same.json"), "--", str(DATA / "history" / "slow.json"),
             "--against", "RUN", "--program", "heat", "--input", "60x400", "--machine", "ci",
             "--chart", "OUT", "-f", "csv"],
        ],
    )


def profiles(maker):
    golden = DATA / "golden"
    inputs = [
        (maker.profile("mpi.json", golden / "mpi1.prv", golden / "mpi2.prv"), "mpi.json"),
        (maker.profile("omp.json", golden / "omp2.prv"), "omp.json"),
    ]
    other = str(golden / "mpi2.prv")
    yield Kind(
        "profile",
        inputs,
        [
            METRICS + ["RUN"],
            METRICS + ["RUN", other],
            ["metrics", "--scheme", "all", "--raw", "RUN"],
        ],
    )


def noises(maker):
    name = "noise.json"
    maker.ask("bench", "--show", DATA / "machine" / "measured.json",
              "--noise-trace", maker.scratch / name)
    table = b"# duration=1000000000\nbegin,length\n1203411,4200\n5203502,3900\n70000000,100\n"
    yield Kind(
        "noise",
        [({name: (maker.scratch / name).read_bytes()}, name), ({"noise.csv": table}, "noise.csv")],
        [CHAIN + ["--noise", "recorded:file=RUN"]],
        weight=1,
    )


def spec_files():
    folder = TESTS / "golden" / "simulate" / "file"
    for option, name in (("--network", "network.json"), ("--pattern", "pattern.json")):
        command = CHAIN if option == "--network" else ["simulate"]
        yield Kind(
            f"spec {option} in a file",
            [({name: (folder / name).read_bytes()}, name)],
            [command + [option, "RUN"]],
            weight=1,
            modest=True,
        )


def specs():
    """One option of lull simulate each."""
    texts = {
        "--network": [
            "hockney:latency=1us,bandwidth=1GB/s,eager=4096",
            "hockney:latency=5us,bandwidth=400MB/s:1600MB/s:4",
            "loggops:L=100,G=1,g=0,o=0,S=1000000",
            "loggops-compat:L=2500,o=1500,g=1000,G=6,O=0,S=65535",
            "dimemas:startup=1us,bandwidth=1e9,buses=2",
            "ideal",
        ],
        "--noise": [
            "exponential:mean=2.4us",
            "uniform:min=1us,max=2us",
            "gamma:shape=2,mean=1us",
            "periodic:period=1ms,duration=10us",
            "bernoulli:p=0.5,mean=1us",
            "normal:mean=1us,sd=1us,ranks=0-1",
        ],
        "--pattern": [
            "chain:ranks=4,exec=100us,iterations=2,bytes=1000",
            "grid:ranks=4x4,boundary=periodic,exec=1us+2us,iterations=2,collective=allreduce",
            "collective:op=allreduce,ranks=4,exec=10us,iterations=1",
        ],
        "--delay": ["1@i1:5us", "2@25us:2us"],
        "--placement": ["block:cores-per-socket=2", "cyclic:nodes=2", "map:cores=3+2+1+0"],
        "--seed": ["12"],
    }
    for option, list_of_texts in texts.items():
        command = CHAIN if option != "--pattern" else ["simulate"]
        yield Kind(
            f"spec {option}",
            [({ARGUMENT: text.encode()}, ARGUMENT) for text in list_of_texts],
            [command + [option, "RUN"]],
            weight=1,
            modest=option == "--pattern",
        )


def all_kinds(lull):
    with tempfile.TemporaryDirectory() as scratch:
        maker = Maker(lull, scratch)
        return [
            *runs(maker), *schedules(), *machines(), *profiles(maker), *histories(), *noises(maker),
            *(kernels() if maker.loops else []), *models(), *spec_files(), *specs(), *matrices(), *solvers(),
        ]
