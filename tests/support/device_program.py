"""Schedules of hosts and devices as traces of PyTorch's profiler: what a host thread launches, copies and waits for, and when
the streams of its devices run that, by rules of a few lines."""

import subprocess

import kineto

CALL, LATENCY, RETURN = 2_000, 3_000, 1_000  # ns


class Program:
    """A host thread that launches, copies and waits, and what the streams of its devices make of that. A device runs one
    operation at a time where it is `exclusive`; `beside` is a program of another process on the same devices."""

    def __init__(self, devices=1, latency=LATENCY, rank=0, ranks=1, beside=None):
        self.maker, self.latency, self.now = kineto.Maker(rank, ranks, devices=devices), latency, 0
        self.exclusive, self.rank, self.free = False, rank, beside.free if beside else {}

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

    def call(self, name):
        self.maker.call(name, self.now, self.now + CALL)
        self.now += CALL

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

    def runtime(self):
        return max(self.now, *self.free.values())


def write_shared(lull, folder, name, programs):
    """The profiler does not tell that two processes use the same device; lull's own runs do."""
    (folder / name).mkdir()
    for program in programs:
        kineto.write(folder / name / f"rank{program.rank}.json", program.maker.document())
    path = folder / (name + ".lull")
    subprocess.run([lull, "convert", folder / name, path, "--to", "tape"], check=True, capture_output=True)
    for file in path.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(b"rank 1 device 0", b"rank 0 device 0"))
    return path
