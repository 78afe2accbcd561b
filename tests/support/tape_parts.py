"""The files of processes by their description in docs/formats/tape.md, taken apart: "0.definitions",
"0.1.tape" (header and records of location 1) and "0.1.sums". For tests that look at bytes."""
import glob
import os
import struct

PAGE, HEAD = 4096, 4096
DEFINITIONS, HEADER, RECORDS, TAIL, SUMS, RING = range(1, 7)
TAILED = 8


def entries(data, base=0):
    """(page, pages, location, part) in the order of their numbers; of the process whose header stands
    at `base`"""
    header_size, = struct.unpack_from("<I", data, base + 16)
    count, = struct.unpack_from("<I", data, base + 32)
    tables = struct.unpack_from("<20Q", data, base + 40)
    places = list(range(base + header_size, base + PAGE - 15, 16))
    for k, table in enumerate(tables):
        places += range(table, table + (256 << k) * 16, 16) if table else []
    return [struct.unpack_from("<4I", data, place) for place in places[:count]]


def extents(data, base=0):
    """[(part, location, bytes)] in the order of their numbers"""
    return [(part, location, data[page * PAGE:(page + pages) * PAGE])
            for page, pages, location, part in entries(data, base) if part != RING]


def processes_of_node(data):
    """[(number, where its header stands)] of the file of a node"""
    header_size, = struct.unpack_from("<I", data, 16)
    places = list(range(header_size + 160, PAGE - 15, 16))
    for k, table in enumerate(struct.unpack_from("<20Q", data, header_size)):
        places += range(table, table + (256 << k) * 16, 16) if table else []
    found = [struct.unpack_from("<IIQ", data, place) for place in places]
    return [(taken - 1, place) for taken, _, place in found if taken and place]


def ring_chunks(data, base=0):
    """[(location, number of the chunk)] of those that a ring has"""
    return sorted((location, number) for _, number, location, part in entries(data, base)
                  if part == RING)


def definitions_of(found):
    """One file of all that there are."""
    pieces = [piece for part, _, piece in found if part == DEFINITIONS]
    bodies = b""
    for piece in pieces:
        size, = struct.unpack_from("<I", piece, 16)
        committed, = struct.unpack_from("<Q", piece, 24)
        bodies += piece[size:size + committed]
    return pieces[0][:24] + struct.pack("<Q", len(bodies)) + bodies


def joined(found, part, location):
    return b"".join(piece for p, l, piece in found if (p, l) == (part, location))


def records_of(found, location):
    head = bytearray(joined(found, HEADER, location))
    flags, = struct.unpack_from("<H", head, 34)
    committed, = struct.unpack_from("<Q", head, 48)
    flushed, = struct.unpack_from("<Q", head, 184)
    if not flags & TAILED:
        return bytes(head[:HEAD])
    struct.pack_into("<H", head, 34, flags & ~TAILED)
    tail = joined(found, TAIL, location)[:committed - flushed]
    return bytes(head[:HEAD]) + joined(found, RECORDS, location)[:flushed] + tail


def sums_of(found, location):
    sums = joined(found, SUMS, location)
    size, of_each = struct.unpack_from("<II", sums, 16)
    regions, = struct.unpack_from("<Q", sums, 32)
    return sums[:size + 2 * regions * of_each]


def take_apart(path):
    """{name of a file: bytes} of one process"""
    with open(path, "rb") as file:
        return parts_of(extents(file.read()), os.path.basename(path)[:-len(".tape")])


def processes(run):
    """(number, file, where its header stands) of each process, be it in a file of its own or in that of
    its node"""
    for path in sorted(glob.glob(os.path.join(run, "[0-9]*", "*.tape"))):
        with open(path, "rb") as file:
            yield os.path.basename(path)[:-len(".tape")], file.read(), 0
    for path in sorted(glob.glob(os.path.join(run, "*.tapes"))):
        with open(path, "rb") as file:
            data = file.read()
        for number, place in processes_of_node(data):
            yield str(number), data, place


def take_all_apart(run):
    """As take_apart, of each process of a run."""
    for number, data, place in processes(run):
        yield parts_of(extents(data, place), number)


def ring_chunks_of(run):
    """The chunks that the ring of each process has."""
    for _, data, place in processes(run):
        yield ring_chunks(data, place)


def parts_of(found, process):
    files = {process + ".definitions": definitions_of(found)}
    for location in sorted(l for part, l, _ in found if part == HEADER):
        files["%s.%d.tape" % (process, location)] = records_of(found, location)
        files["%s.%d.sums" % (process, location)] = sums_of(found, location)
    return files
