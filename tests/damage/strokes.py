"""Damage: each stroke takes bytes and a random generator and returns other bytes."""

import gzip
import re
import struct
import zlib

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
EXTREMES = [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF,
            1 << 40, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1]
TEXT_EXTREMES = [b"0", b"-1", b"1e308", b"1e-320", b"-0", b"nan", b"inf", b"", b"0x10", b"1e9",
                 b"99999999999999999999999", b"0.0000001", *(str(n).encode() for n in EXTREMES)]
TOKENS = [b"\0", b"\n", b"\n\n", b"\r", b":", b",", b"{", b"}", b"[", b"]", b'"', b"\\u0000", b"-",
          b"\x1b[31m", b"\xff\xfe", b"\xc0\xaf", b"%n%s", b"/../..", b"=cmd()", b" " * 300,
          b"A" * 5000, b"null", b"true", b"e", b"+", b"(", b")", b"=", b";", b"@"]


def place(random, data):
    return random.randrange(len(data) + 1)


def piece(random, data, most=4096):
    begin = place(random, data)
    length = random.choice([1, 2, 4, 8, 16, 64, 512, random.randrange(most)])
    return begin, min(len(data), begin + length)


def flip_bit(random, data):
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1:]


def set_byte(random, data):
    if not data:
        return data
    at = random.randrange(len(data))
    byte = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    return data[:at] + bytes([byte]) + data[at + 1:]


def set_number(random, data):
    """A number of the width and the alignment that binary formats use."""
    width = random.choice([2, 4, 8])
    at = place(random, data)
    at -= at % random.choice([1, width])
    value = random.choice(EXTREMES) + random.choice([0, 0, 0, -1, 1, random.randrange(1000)])
    packed = struct.pack(random.choice("<<<>") + "Q", value % (1 << 64))
    packed = packed[:width] if packed[0] else packed[-width:]
    return data[:at] + packed + data[at + width:]


def cut(random, data):
    return data[:place(random, data)]


def extend(random, data):
    length = random.choice([1, 7, 16, 100, 5000])
    return data + (bytes(length) if random.random() < 0.5 else random.randbytes(length))


def drop(random, data):
    begin, end = piece(random, data)
    return data[:begin] + data[end:]


def double(random, data):
    begin, end = piece(random, data)
    return data[:end] + data[begin:end] + data[end:]


def move(random, data):
    begin, end = piece(random, data)
    rest = data[:begin] + data[end:]
    at = place(random, rest)
    return rest[:at] + data[begin:end] + rest[at:]


def clear(random, data):
    begin, end = piece(random, data)
    return data[:begin] + bytes([random.choice([0, 0, 0xFF])]) * (end - begin) + data[end:]


def other_number(random, data):
    found = list(NUMBER.finditer(data))
    if not found:
        return set_number(random, data)
    which = random.choice(found)
    return data[:which.start()] + random.choice(TEXT_EXTREMES) + data[which.end():]


def put_token(random, data):
    at = place(random, data)
    return data[:at] + random.choice(TOKENS) + data[at:]


def other_line(random, data):
    lines = data.split(b"\n")
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    what = random.randrange(4)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(to, lines[at])
    elif what == 2:
        lines[at], lines[to] = lines[to], lines[at]
    else:
        lines.insert(at, b"")
    return b"\n".join(lines)


BINARY = [flip_bit, set_byte, set_number, set_number, cut, extend, drop, double, move, clear]
TEXT = [flip_bit, set_byte, other_number, other_number, other_number, put_token, other_line,
        other_line, cut, drop, double, move]


def is_text(data):
    return b"\0" not in data[:512]


def damage_bytes(random, data):
    """One to four strokes; inside of gzip data as often as on it."""
    if data[:2] == b"\x1f\x8b" and random.random() < 0.5:
        try:
            return gzip.compress(damage_bytes(random, gzip.decompress(data)), 1, mtime=0)
        except (OSError, EOFError, zlib.error):
            pass
    strokes = TEXT if is_text(data) else BINARY
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        data = random.choice(strokes)(random, data)
    return data


# What can be in the place of a file.
MISSING, FOLDER, PIPE, LOST_LINK = ODD_FILES = ("missing", "folder", "pipe", "lost link")


def damage(random, files):
    """Damages one file of the input, now and then two; now and then something else is in the place
    of one, or the content of another."""
    files = dict(files)
    for _ in range(random.choice([1, 1, 1, 2])):
        name = random.choice(sorted(files))
        chance = random.random()
        if files[name] in ODD_FILES:
            continue
        if chance < 0.03:
            files[name] = random.choice(ODD_FILES)
        elif chance < 0.05:
            files[name] = files[random.choice(sorted(files))]
        else:
            files[name] = damage_bytes(random, files[name])
    return files
