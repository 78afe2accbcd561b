"""Traces of the profilers of PyTorch and JAX: an independent reading of them, and made-up ones.

`read(path)` takes a file apart by Python's own parser, with times as decimal numbers, and gives what lull must find in it.
`draw(random, ...)` and `draw_jax` give the document of a rank of which all is known; `write(...)` writes it in one of several forms."""

import collections
import decimal
import gzip
import json

CODE, CALL, KERNEL, COPY = "code", "call", "kernel", "copy"
KINDS = {
    **dict.fromkeys(("cpu_op", "python_function", "user_annotation", "python_gc", "Operator"), CODE),
    **dict.fromkeys(("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "xpu_driver", "privateuse1_runtime",
                     "privateuse1_driver", "mtia_runtime", "Runtime"), CALL),
    **dict.fromkeys(("kernel", "Kernel"), KERNEL),
    **dict.fromkeys(("gpu_memcpy", "gpu_memset", "Memcpy", "Memset"), COPY),
}
SIZES = {"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Long": 8, "Int": 4, "Short": 2, "Byte": 1, "Char": 1, "Bool": 1}

Span = collections.namedtuple("Span", "kind pid tid name begin end bytes correlation")


def ns(microseconds):
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value(decimal.ROUND_FLOOR))


class Profile:
    """`spans` have times in ns since 1970, or since what the profiler began with; `rank` is None where it is not told."""

    def __init__(self, document):
        base = document.get("baseTimeNanoseconds", 0)
        told = document.get("distributedInfo", {})
        self.rank, self.world_size = told.get("rank"), told.get("world_size")
        self.spans, names = [], {}
        for event in document["traceEvents"]:
            if event.get("name") in ("process_name", "thread_name"):
                names[event["name"], event["pid"], event.get("tid") if event["name"] == "thread_name" else None] = \
                    event["args"]["name"]
        for event in document["traceEvents"]:
            if event.get("ph") != "X":
                continue
            kind = KINDS.get(event["cat"]) if "cat" in event else self.kind_by_names(event, names)
            if kind is None:
                continue
            arguments = event.get("args", {})
            moved = arguments.get("bytes", 0) or (arguments.get("In msg nelems", 0) * SIZES.get(arguments.get("dtype"), 0))
            begin, end = base + ns(event["ts"]), base + ns(decimal.Decimal(event["ts"]) + decimal.Decimal(event["dur"]))
            self.spans.append(Span(kind, str(event["pid"]), str(event["tid"]), event["name"], begin, end,
                                   moved if kind in (KERNEL, COPY) else 0,
                                   arguments.get("correlation", 0) if kind != CODE else 0))

    @staticmethod
    def kind_by_names(event, names):
        """Of an event of JAX, which has no category."""
        process = names.get(("process_name", event.get("pid"), None), "")
        if process.startswith("/host:"):
            return CODE
        if not process.startswith("/device:") or not names.get(("thread_name", event["pid"], event["tid"]), "").startswith("Stream"):
            return None
        return COPY if event["name"].lower().startswith(("memcpy", "memset")) else KERNEL

    def of(self, *kinds):
        return [span for span in self.spans if span.kind in kinds]


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
        return Profile(json.load(file, parse_float=decimal.Decimal))


# ---- made-up traces


def us(time):
    """A time in ns as the profiler writes it."""
    return decimal.Decimal(time).scaleb(-3)


class Maker:
    """The document of a rank. Times are ns since `base`."""

    def __init__(self, rank, ranks, base=1727743122000000000, devices=1, pid=None):
        self.pid, self.correlation, self.base = pid or 4000 + rank, 1 + 1000 * rank, base
        self.host, self.late = [], []  # events of threads, and of devices, which the profiler writes behind
        self.head = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": d, "name": "Made-up GPU", "totalGlobalMem": 1 << 36, "computeMajor": 9}
                                 for d in range(devices)],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks,
                                "pg_config": [{"pg_name": "0", "ranks": list(range(ranks))}]},
        }

    def event(self, category, name, pid, tid, begin, end, arguments):
        return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": us(begin), "dur": us(end - begin),
                "args": arguments}

    def code(self, name, begin, end, tid=None, category="cpu_op"):
        self.host.append(self.event(category, name, self.pid, tid or self.pid, begin, end,
                                    {"External id": len(self.host) + 1, "Input Dims": [[64, 3], []], "note": 'a "]}" in it'}))

    def call(self, name, begin, end, tid=None, category="cuda_runtime"):
        self.correlation += 1
        self.host.append(self.event(category, name, self.pid, tid or self.pid, begin, end,
                                    {"External id": 7, "cbid": 211, "correlation": self.correlation}))
        self.host.append({"ph": "s", "id": self.correlation, "pid": self.pid, "tid": tid or self.pid, "ts": us(begin),
                          "cat": "ac2g", "name": "ac2g"})
        return self.correlation

    def ran(self, category, name, begin, end, correlation, device=0, stream=7, **arguments):
        self.late.append(self.event(category, name, device, stream, begin, end,
                                    {"device": device, "context": 1, "stream": stream, "correlation": correlation,
                                     **arguments}))
        self.late.append({"ph": "f", "id": correlation, "pid": device, "tid": stream, "ts": us(begin), "cat": "ac2g",
                          "name": "ac2g", "bp": "e"})

    def names(self, pid, tid, name):
        self.late.append({"name": "thread_name", "ph": "M", "ts": us(0), "pid": pid, "tid": tid, "args": {"name": name}})

    def document(self):
        around = [{"ph": "X", "cat": "Trace", "ts": us(0), "dur": us(10), "pid": "Spans", "tid": "PyTorch Profiler",
                   "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
                  {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": us(20)}]
        return {**self.head, "traceEvents": self.host + self.late + around, "traceName": "made-up.json",
                "displayTimeUnit": "ms", "baseTimeNanoseconds": self.base}


def draw(random, rank=0, ranks=1):
    """A rank with threads whose calls nest, and streams of several devices whose operations follow each other."""
    devices = random.randint(1, 3)
    maker = Maker(rank, ranks, base=random.choice([0, 1727743122000000000, 1727743122000000000 + random.randrange(10**9)]),
                  devices=devices)
    free = collections.Counter()  # when each stream is free

    def submit(begin, end, tid):
        device, stream = random.randrange(devices), random.choice([7, 7, 20])
        correlation = maker.call(random.choice(["cudaLaunchKernel", "cudaMemcpyAsync", "cuLaunchKernelEx"]), begin, end, tid,
                                 random.choice(["cuda_runtime", "cuda_runtime", "cuda_driver"]))
        for _ in range(random.choice([0, 1, 1, 1, 1, 3])):  # several: a graph
            start = max(begin + random.randrange(3000), free[device, stream] + random.choice([0, 1, 500]))
            stop = free[device, stream] = start + random.choice([0, 1, 999, random.randrange(10**6)])
            kind = random.randrange(4)
            if kind == 0:
                maker.ran(random.choice(["gpu_memcpy", "gpu_memset"]), "Memcpy HtoD (Pageable -> Device)", start, stop,
                          correlation, device, stream, bytes=random.randrange(1 << 40))
            elif kind == 1:
                maker.ran("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", start, stop,
                          correlation, device, stream, **{"Collective name": "allreduce", "dtype": random.choice(list(SIZES)),
                                                          "In msg nelems": random.randrange(1 << 20)})
            else:
                maker.ran("kernel", f"void gemm<{random.randrange(9)}>(float const*, \"q\", \\\u00e9\u20ac\U0001f600)", start,
                          stop, correlation, device, stream)

    def fill(begin, end, tid, depth):
        at = begin
        while depth < 6 and at < end and random.random() < 0.8:
            start = at + random.randrange(1 + (end - at) // 3)
            stop = at = start + random.randrange(1 + (end - start))
            if random.random() < 0.4:
                submit(start, stop, tid)
            else:
                maker.code(random.choice(["aten::mm", "aten::add_", "train.py(42): step", "ProfilerStep#1"]), start, stop, tid,
                           random.choice(["cpu_op", "cpu_op", "python_function", "user_annotation"]))
                fill(start, stop, tid, depth + 1)

    for tid in (maker.pid, 99, 100000)[:random.randint(1, 3)]:
        fill(random.randrange(10**6), 10**6 + random.randrange(10**8), tid, 0)
        if random.random() < 0.5:
            maker.names(maker.pid, tid, f"thread {tid} (python3)")
    maker.code("aten::mm", 5, 10)
    random.shuffle(maker.late)
    return maker.document()


def draw_jax(random):
    """What JAX's profiler writes of a process: no categories, times finer than ns, and threads of devices of which only the streams are
    of interest."""
    events, ps = [], decimal.Decimal("0.000001")

    def name(kind, pid, tid, text):
        events.append({"ph": "M", "pid": pid, **({} if tid is None else {"tid": tid}), "name": kind, "args": {"name": text}})

    def span(pid, tid, text, begin, end):
        events.append({"ph": "X", "pid": pid, "tid": tid, "ts": begin * ps, "dur": (end - begin) * ps, "name": text,
                       "args": {"hlo_op": "fusion.1"}})

    name("process_name", 701, None, "/host:CPU")
    for tid in range(1, random.randint(2, 4)):
        name("thread_name", 701, tid, f"python/{tid}")
        at = random.randrange(10**9)
        for _ in range(random.randrange(20)):
            end = at + random.randrange(1, 10**9)
            span(701, tid, random.choice(["PjitFunction(step)", "Execute"]), at, end)
            inner = at + random.randrange(end - at)
            span(701, tid, "ThunkExecutor", inner, inner + random.randrange(end - inner + 1))
            at = end
    for device in range(1, random.randint(2, 4)):
        name("process_name", device, None, f"/device:GPU:{device - 1} Made-up GPU")
        for tid, text in ((13, "Stream #13(Compute)"), (14, "Stream #14(MemcpyD2H)"), (20, "XLA Modules"), (21, "Steps")):
            name("thread_name", device, tid, text)
            at = random.randrange(10**9)
            for _ in range(random.randrange(20)):
                end = at + random.randrange(1, 10**8)
                span(device, tid, random.choice(["fusion_12", "MemcpyD2H", "gemm"]), at, end)
                at = end + random.choice([0, 0, 1, 10**5])
    if random.random() < 0.5:
        random.shuffle(events)
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [*events, {}]}


def encode(document, random=None):
    """The text of a document. With `random` in another form that says the same: other blanks, another order of members."""

    def text(value, depth=0):
        blank = random.choice(["", " ", "\n  ", "\t\r\n"]) if random else " "
        if isinstance(value, decimal.Decimal):
            if random and value and random.random() < 0.2:
                return f"{value:e}"
            return f"{value:f}"
        if isinstance(value, dict):
            items = list(value.items())
            if random and depth > 0:
                random.shuffle(items)
            return "{" + blank + ("," + blank).join(f"{json.dumps(k)}{blank}:{blank}{text(v, depth + 1)}" for k, v in items) \
                + blank + "}"
        if isinstance(value, list):
            return "[" + ("," + (blank if depth > 1 else "\n")).join(text(v, depth + 1) for v in value) + blank + "]"
        return json.dumps(value, ensure_ascii=not random or random.random() < 0.5)

    return text(document) + "\n"


def write(path, document, random=None):
    content = encode(document, random).encode()
    if str(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    path.write_bytes(content)


# ---- a long one, written piece by piece

LONG_CALL = ('{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 4000, "tid": 4000, "ts": %d.%03d, "dur": %d.%03d, "args": '
             '{"External id": %d, "Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["float", "float", "float"], '
             '"Input Strides": [[4096, 1], [4096, 1], [1]], "Input Dims": [[256, 4096], [1024, 4096], [1024]], "Ev Idx": %d}},\n'
             '{"ph": "X", "cat": "cuda_runtime", "name": "%s", "pid": 4000, "tid": 4000, "ts": %d.%03d, "dur": %d.%03d, "args": '
             '{"External id": %d, "cbid": 211, "correlation": %d}},\n')
LONG_KERNEL = ('{"ph": "X", "cat": "kernel", "name": "void gemm_%d<float, 128, 64, 32>(float const*, float const*, float*, int)", '
               '"pid": 0, "tid": 7, "ts": %d.%03d, "dur": %d.%03d, "args": {"External id": %d, "queued": 0, "device": 0, "context": 1, '
               '"stream": 7, "correlation": %d, "registers per thread": 96, "shared memory": 49152, "blocks per SM": 7.757576, '
               '"warps per SM": 62.060604, "grid": [16, 64, 1], "block": [256, 1, 1], "est. achieved occupancy %%": 62}},\n')
LONG_COPY = ('{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 20, "ts": %d.%03d, '
             '"dur": %d.%03d, "args": {"External id": %d, "device": 0, "context": 1, "stream": 20, "correlation": %d, "bytes": %d, '
             '"memory bandwidth (GB/s)": 21.3}},\n')


def write_long(path, size):
    """Writes a file of `size` bytes or somewhat more, of a thread that launches kernels and copies by turns of seven; and
    gives what it holds: counts, and times in ns. Memory: none to speak of."""
    held = collections.Counter()
    now, free = 0, {7: 0, 20: 0}
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Made-up GPU"}], "baseTimeNanoseconds": 0, '
                   '"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": [\n')
        while held["characters"] < size:
            held["launches"] += 1
            number = held["launches"]
            copies = number % 7 == 0
            name = "cudaMemcpyAsync" if copies else "cudaLaunchKernel"
            text = LONG_CALL % (*divmod(now, 1000), *divmod(5_000, 1000), number, number, name, *divmod(now + 1_500, 1000),
                                *divmod(2_500, 1000), number, number)
            stream, length = 20 if copies else 7, 2_000 + number * 7919 % 3_001
            begin = max(now + 4_000, free[stream])
            free[stream] = begin + length
            where = (*divmod(begin, 1000), *divmod(length, 1000), number, number)
            if copies:
                text += LONG_COPY % (*where, number % 1000 * 4096)
                held["bytes"] += number % 1000 * 4096
            else:
                text += LONG_KERNEL % (number % 50, *where)
            kind = "copies" if copies else "kernels"
            held[kind] += 1
            held[kind + " ns"] += length
            held["characters"] += file.write(text)
            now += 5_000 + number % 13 * 100
        file.write('{"name": "thread_name", "ph": "M", "ts": 0, "pid": 4000, "tid": 4000, "args": {"name": "thread 4000 (python3)"}}\n'
                   '], "traceName": "long.json", "displayTimeUnit": "ms"}\n')
    held["spans"] = 3 * held["launches"]
    return held
