#!/usr/bin/env python3
"""Writes the runs of tests/data/devices anew: schedules of few operations and round numbers, of which reports and tables of
devices are kept in tests/golden.

usage: kept_devices.py --lull LULL FOLDER

device-sync     8 kernels of 450 us; each begins 10 us behind the call that launches it, and the host returns from the wait for
                it 40 us behind its end. In each period of 500 us the device has nothing to do for 50 us.
default-stream  4 times: a kernel of 100 us on the default stream, stream 7, then one of 400 us on stream 20. All are launched
                at the begin, and run one after the other: side by side the shorter ones would take no time of their own.
device-shared   2 processes on one device, each 4 kernels, of 300 and of 100 us, which take turns.
"""
import argparse
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kineto
from device_program import Program, write_shared


def device_sync():
    program = Program(latency=10_000)
    for _ in range(8):
        program.launch(450_000)
        program.synchronise(returns=40_000)
    return program


def default_stream():
    program = Program()
    program.exclusive = True
    for _ in range(4):
        program.launch(100_000, name="prepare")
        program.launch(400_000, stream=20)
    program.synchronise()
    return program


def device_shared():
    first = Program(ranks=2)
    second = Program(rank=1, ranks=2, beside=first)
    first.exclusive = second.exclusive = True
    for _ in range(4):
        first.launch(300_000)
        second.launch(100_000, name="other")
    first.synchronise()
    second.synchronise()
    return first, second


def write(lull, folder):
    kineto.write(folder / "device-sync.json", device_sync().maker.document())
    kineto.write(folder / "default-stream.json", default_stream().maker.document())
    with tempfile.TemporaryDirectory(prefix="lull-devices-") as name:
        shutil.move(write_shared(lull, pathlib.Path(name), "device-shared", device_shared()), folder / "device-shared")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    write(options.lull, options.folder)
