"""Whether what a recorder says of the ends of locations that have closed is what a reader finds in their
records (docs/formats/tape.md)."""
import glob
import os
import shutil
import struct
import tempfile

import packed
import tape_parts

FLAGS, ENDS, ENDS_SIZE, ENDS_KNOWN = 34, 384, 40, 32
CLOSED, RING, KNOWN_SPAN = 2, 64, 1


def heads(data, base):
    """Where the headers of the locations stand, of the process whose header stands at `base`"""
    return [page * tape_parts.PAGE for page, _, _, part in tape_parts.entries(data, base)
            if part == tape_parts.HEADER]


def files(run):
    """(path, where the headers of processes stand) of each file that a recorder has written"""
    for path in glob.glob(os.path.join(run, "[0-9]*", "*.tape")):
        if os.path.basename(path).count(".") == 1:
            yield path, lambda data: [0]
    for path in glob.glob(os.path.join(run, "*.tapes")):
        yield path, lambda data: [place for _, place in tape_parts.processes_of_node(data)]


def forget(run):
    """Takes what headers say away. Returns how many locations have closed, and of how many of these
    nothing was said."""
    closed = silent = 0
    for path, places in files(run):
        with open(path, "rb") as file:
            data = bytearray(file.read())
        for head in [head for base in places(data) for head in heads(data, base)]:
            flags, = struct.unpack_from("<H", data, head + FLAGS)
            known, = struct.unpack_from("<I", data, head + ENDS + ENDS_KNOWN)
            if flags & CLOSED and not flags & RING:
                closed += 1
                silent += not known & KNOWN_SPAN
            data[head + ENDS:head + ENDS + ENDS_SIZE] = bytes(ENDS_SIZE)
        with open(path, "wb") as file:
            file.write(data)
    return closed, silent


def check(lull, run):
    """Complaints"""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(run))
        shutil.copytree(run, copy, symlinks=True)
        closed, silent = forget(copy)
        complaints = []
        if silent:
            complaints.append("%d of %d closed locations do not say where they end" % (silent, closed))
        words = ["info", "--format", "json"]
        if packed.said(lull, words, run) != packed.said(lull, words, copy):
            complaints.append("lull info says something else where it looks for the ends itself")
        return complaints
