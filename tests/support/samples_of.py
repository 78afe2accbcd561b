"""The samples in the files of a run, by their description in docs/formats/tape.md."""
import struct

import tape_parts

SAMPLES, HEADER, PLACE, COUNTS, STACK = 7, 96, 24, 1, 2
NAMES = ("magic", "version", "order", "header", "size", "process", "number", "source", "refused", "interval",
         "last", "room", "state", "taken", "lost", "fields")
CLOCK, OBJECT = 2, 10


def definitions(data):
    """(kind, id, fields) of each"""
    at = struct.unpack_from("<I", data, 16)[0]
    while at + 16 <= len(data):
        size, kind, _, number = struct.unpack_from("<IHHI", data, at)
        if size == 0:
            break
        yield kind, number, data[at + 16:at + size]
        at += size


def objects(run):
    """{id: path} of the files with code, of the first process"""
    for _, data, base in tape_parts.processes(run):
        found = tape_parts.definitions_of(tape_parts.extents(data, base))
        return {number: fields[4:4 + struct.unpack_from("<I", fields)[0]].decode()
                for kind, number, fields in definitions(found) if kind == OBJECT}
    return {}


def locations(run):
    """(header, samples that count, clock) of each location that has samples. A sample is (ticks, place, weight), a
    clock [(ticks, ns)]."""
    for _, data, base in tape_parts.processes(run):
        found = tape_parts.extents(data, base)
        clock = sorted({struct.unpack_from("<Qq", fields) for kind, _, fields
                        in definitions(tape_parts.definitions_of(found)) if kind == CLOCK})
        for location in sorted({l for part, l, _ in found if part == SAMPLES}):
            part = tape_parts.joined(found, SAMPLES, location)
            header = dict(zip(NAMES, struct.unpack_from("<8s8I7Q", part)))
            header["bytes"] = len(part)
            n, kept = header["state"] & 0xffffffff, header["state"] >> 32
            yield header, [struct.unpack_from("<3Q", part, header["header"] + i * header["size"])
                           for i in range(n) if i < kept or i >= 2 * kept], clock


def details(run):
    """(header, [(place, weight, instructions, cycles, words)]) of each location that has samples. A word is (slot,
    object, offset)."""
    for _, data, base in tape_parts.processes(run):
        found = tape_parts.extents(data, base)
        for location in sorted({l for part, l, _ in found if part == SAMPLES}):
            part = tape_parts.joined(found, SAMPLES, location)
            header = dict(zip(NAMES, struct.unpack_from("<8s8I7Q", part)))
            n, kept = header["state"] & 0xffffffff, header["state"] >> 32
            samples = []
            for i in (i for i in range(n) if i < kept or i >= 2 * kept):
                numbers = list(struct.unpack_from("<%dQ" % (header["size"] // 8), part, header["header"] + i * header["size"]))
                counts = [numbers.pop(3) for _ in range(2)] if header["fields"] & COUNTS else [0, 0]
                words = numbers[3:] if header["fields"] & STACK else []
                samples.append((numbers[1], numbers[2], *counts,
                                [(word >> 52, word >> 36 & 0xffff, word & (1 << 36) - 1) for word in words if word]))
            yield header, samples
