"""Schedules of hosts and devices as traces of PyTorch's profiler: what a host thread launches, copies and waits for, and when
the streams of its devices run that, by rules of a few lines."""

import re
import struct
import subprocess

import kineto

SLOT = "of a collective operation"
CALL, LATENCY, RETURN = 2_000, 3_000, 1_000  # ns


class Program:
    """A host thread that launches, copies and waits, and what the streams of its devices make of that. A device runs one
    operation at a time where it is `exclusive`; `beside` is a program of another process on the same devices."""

    def __init__(self, devices=1, latency=LATENCY, rank=0, ranks=1, beside=None):
        self.maker, self.latency, self.now = kineto.Maker(rank, ranks, devices=devices), latency, 0
        self.exclusive, self.is_in_mpi, self.rank, self.free = False, False, rank, beside.free if beside else {}

    def run(self, name, length, correlation, device, stream, category, **arguments):
        begin = max(self.now + self.latency, self.free.get((self.rank, device, stream), 0))
        if self.exclusive:
            begin = max(begin, *(free for (_, of, _), free in self.free.items() if of == device), 0)
        self.maker.ran(category, name, begin, begin + length, correlation, device, stream, **arguments)
        self.free[self.rank, device, stream] = begin + length

    def submit(self, name, length, call, device, stream, category, **arguments):
        correlation = self.maker.call(call, self.now, self.now + CALL)
        self.run(name, length, correlation, device, stream, category, **arguments)
        self.now += CALL

    def call(self, name, length=CALL):
        if length > 0:
            self.maker.call(name, self.now, self.now + length)
        self.now += length

    def launch(self, length, device=0, stream=7, name="smooth"):
        self.submit(name, length, "cudaLaunchKernel", device, stream, "kernel")

    def copy(self, length, device=0, stream=7, memory="Pinned"):
        self.submit(f"Memcpy HtoD ({memory} -> Device)", length, "cudaMemcpyAsync", device, stream, "gpu_memcpy", bytes=length)

    def launch_graph(self, lengths, stream=7):
        """One call for several kernels."""
        correlation = self.maker.call("cudaGraphLaunch", self.now, self.now + CALL)
        for length in lengths:
            self.run("smooth", length, correlation, 0, stream, "kernel")
        self.now += CALL

    def synchronise(self, devices=1, returns=RETURN):
        """One call for each device, which ends so long behind what it waits for."""
        for device in range(devices):
            end = max(self.now, *(free for (rank, of, _), free in self.free.items() if (rank, of) == (self.rank, device))) + returns
            self.maker.call("cudaDeviceSynchronize", self.now, end)
            self.now = end

    def compute(self, length):
        if length > 0:
            self.maker.code("train.py(7): prepare", self.now, self.now + length, category="python_function")
        self.now += length

    def allreduce(self, end):
        """MPI_Allreduce until then: see write_with_mpi."""
        self.is_in_mpi = True
        if end > self.now:
            self.maker.code("MPI_Allreduce", self.now, end - 1)
            self.maker.code(SLOT, end - 1, end)
        self.now = end

    def runtime(self):
        return max(self.now, *self.free.values(), 0)


def write_as_tape(lull, folder, name, programs):
    (folder / name).mkdir()
    for program in programs:
        kineto.write(folder / name / f"rank{program.rank}.json", program.maker.document())
    path = folder / (name + ".lull")
    subprocess.run([lull, "convert", folder / name, path, "--to", "tape"], check=True, capture_output=True)
    return path


def write_shared(lull, folder, name, programs):
    """The profiler does not tell that processes, of which there may be ten, use the same device; lull's own runs do."""
    path = write_as_tape(lull, folder, name, programs)
    for file in path.rglob("*"):
        if file.is_file():
            file.write_bytes(re.sub(rb"rank \d device 0", b"rank 0 device 0", file.read_bytes()))
    return path


def region_of(definitions, name):
    """The number of a region in the definitions of a tape (docs/formats/tape.md)."""
    at, = struct.unpack_from("<I", definitions, 16)
    while at < len(definitions):
        size, kind, number = struct.unpack_from("<3I", definitions, at)
        if kind == 5 and struct.pack("<I", len(name)) + name.encode() in definitions[at:at + size]:
            return number
        at += size
    raise ValueError(name)


def write_with_mpi(lull, folder, name, programs):
    """Nor does it tell who takes part in MPI_Allreduce; lull's own runs do: all processes in communicator 0, with 8 bytes."""
    path = write_as_tape(lull, folder, name, programs)
    definitions = (path / "definitions").read_bytes()
    calls, slots = (struct.pack("<I", 4 | region_of(definitions, called) << 10) for called in ("MPI_Allreduce", SLOT))
    collective = struct.pack("<I", 10 | 1 << 6 | region_of(definitions, "MPI_Allreduce") << 10)
    world = struct.pack("<4IQ7I5s", 64, 7, 0, 0, 1, 2, len(programs), 0, 2**32 - 1, 2**32 - 1, 0, 5, b"world")
    world += bytes(64 - len(world))
    committed, = struct.unpack_from("<Q", definitions, 24)
    (path / "definitions").write_bytes(definitions[:24] + struct.pack("<Q", committed + len(world)) + definitions[32:] + world)
    for file in path.glob("*/*.tape"):
        records = bytearray(file.read_bytes())
        for at in range(0, len(records) - 16, 16):
            if records[at + 8:at + 12] == calls and records[at + 24:at + 28] == slots:
                duration, = struct.unpack_from("<I", records, at + 12)
                struct.pack_into("<4sI", records, at + 8, collective, duration + 1)
                struct.pack_into("<QQ", records, at + 16, 8, 8 | 0xFFFFFF << 40)
        file.write_bytes(records)
    return path
