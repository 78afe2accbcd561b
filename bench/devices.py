"""How long lull takes to say what a device with 10,000,000 operations waited for, and how fast it reads a trace of PyTorch's
profiler. What it finds is compared with what was written."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "support"))
import kineto
from record_mpi import spread

OPERATIONS, BYTES = 10000000, 400000000


def check(found, written, what):
    if found != written:
        sys.exit("devices: %s: %s, not %s" % (what, found, written))


def gaps(bench):
    run = bench.path("devices.lull")
    said = subprocess.run([os.path.join(bench.build, "bench", "bench_devices"), run, str(OPERATIONS)], check=True,
                          capture_output=True, text=True).stdout.split()
    command = bench.lull("metrics", run, "--by", "device", "--no-replay", "--threads", "1")
    table = json.loads(subprocess.run(command + ["--format", "json"], check=True, capture_output=True).stdout)["tables"]["devices:devices"]
    values = dict(zip((column["id"] for column in table["columns"]), table["rows"][0]["values"]))
    check(round(values["kernels"] * 1e9), int(said[-2]), "ns of kernels")
    taken = [one for one, _ in bench.pairs(command, None)]
    bench.add("devices: what one with %d operations waits for" % OPERATIONS, spread([one.cpu for one in taken], "%.2f") + " s",
              "<= 3 s", "processor time, with the reading; peak %.0f MiB" % max(one.peak_mib for one in taken))


def tables_of(bench, *command):
    said = subprocess.run(bench.lull("metrics", *command, "--no-replay", "--format", "json"), check=True, capture_output=True)
    return json.loads(said.stdout)["tables"]


def waits(bench):
    """What kept the device, by ways to threads and ranks: the sums are those that --by device has."""
    run = bench.path("devices.lull")
    table = tables_of(bench, run, "--by", "wait")["device_gap_time:devices"]
    kept = dict(zip((column["id"] for column in table["columns"]), table["rows"][-1]["values"]))
    table = tables_of(bench, run, "--by", "device")["devices:devices"]
    lost = dict(zip((column["id"] for column in table["columns"]), table["rows"][0]["values"]))
    for cause in ("host", "runtime", "launch"):
        check(round(kept[cause] * 1e9), round(lost.get(cause, 0) * 1e9), "ns kept by " + cause)
    taken = [one for one, _ in bench.pairs(bench.lull("metrics", run, "--by", "wait", "--no-replay", "--threads", "1"), None)]
    bench.add("devices: what kept one with %d operations" % OPERATIONS, spread([one.cpu for one in taken], "%.2f") + " s", "-",
              "processor time, with the reading; peak %.0f MiB" % max(one.peak_mib for one in taken))


def profile(bench):
    path = bench.path("devices.json")
    held = kineto.write_long(path, BYTES)
    info = json.loads(subprocess.run(bench.lull("info", path, "--format", "json"), check=True, capture_output=True).stdout)
    table = info["tables"]["streams"]
    at = [column["id"] for column in table["columns"]].index("kernels")
    check(sum(row["values"][at] for row in table["rows"]), held["kernels"], "kernels")
    bench.rate("devices: Kineto's JSON read (info)", ["env", "LULL_THREADS=1", *bench.lull("info", path)],
               os.path.getsize(path) / 1e6, "MB/s", ">= 150")


def rows(bench):
    if not bench.wanted("devices: "):
        return
    gaps(bench)
    waits(bench)
    profile(bench)
