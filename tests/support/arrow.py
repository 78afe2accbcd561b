"""A reader of Arrow files (IPC file format, as lull writes it: integers, booleans, texts by dictionary, no compression).

It reads flatbuffers byte by byte, by Arrow's schema (Schema.fbs, Message.fbs, File.fbs), starts from the footer, and shares
nothing with what writes the files. `Table(path)` has `rows`, `columns` (their types), `notes`, and `batches(*names)`, which
gives a list of values for each column of each batch in turn; None stands for null."""

import mmap
import pathlib
import struct

FORMATS = {(8, True): "b", (16, True): "h", (32, True): "i", (64, True): "q", (8, False): "B", (16, False): "H",
           (32, False): "I", (64, False): "Q"}
INT, UTF8, BOOL = 2, 5, 6
VERSION_5 = 4


class Flat:
    """A table of a flatbuffer."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]
        self.size = struct.unpack_from("<H", data, self.vtable)[0]

    def field(self, number):
        entry = 4 + 2 * number
        offset = struct.unpack_from("<H", self.data, self.vtable + entry)[0] if entry < self.size else 0
        return self.at + offset if offset else None

    def number(self, number, form, default=0):
        at = self.field(number)
        return default if at is None else struct.unpack_from("<" + form, self.data, at)[0]

    def follow(self, number):
        at = self.field(number)
        if at is None:
            raise ValueError(f"field {number} is missing")
        return at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, number):
        return Flat(self.data, self.follow(number))

    def text(self, number):
        at = self.follow(number)
        length = struct.unpack_from("<I", self.data, at)[0]
        return bytes(self.data[at + 4:at + 4 + length]).decode("utf-8")

    def vector(self, number):
        """Where its elements begin, and how many there are."""
        at = self.follow(number)
        return at + 4, struct.unpack_from("<I", self.data, at)[0]

    def tables(self, number):
        begin, count = self.vector(number)
        return [Flat(self.data, at + struct.unpack_from("<I", self.data, at)[0])
                for at in range(begin, begin + 4 * count, 4)]

    def structs(self, number, form):
        begin, count = self.vector(number)
        return [struct.unpack_from("<" + form, self.data, begin + i * struct.calcsize("<" + form)) for i in range(count)]


def root(data):
    return Flat(data, struct.unpack_from("<I", data, 0)[0])


def check(holds, path, what):
    if not holds:
        raise ValueError(f"{path}: {what}")


class Table:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        data = self.data
        check(bytes(data[:8]) == b"ARROW1\0\0" and bytes(data[-6:]) == b"ARROW1", path, "no magic word")
        length = struct.unpack_from("<i", data, len(data) - 10)[0]
        footer = root(data[len(data) - 10 - length:len(data) - 10])
        check(footer.number(0, "h") == VERSION_5, path, "another version")
        schema = footer.table(1)
        check(schema.number(0, "h") == 0, path, "not little-endian")
        self.notes = {note.text(0): note.text(1) for note in schema.tables(2)}
        self.columns, self.texts = {}, {}
        for field in schema.tables(1):
            self.columns[field.text(0)] = self.column_of(field)
        for block in footer.structs(2, "qixxxxq"):
            self.read_dictionary(block)
        self.blocks = footer.structs(3, "qixxxxq")
        self.rows = sum(self.message(block, 3)[0].number(0, "q") for block in self.blocks)

    def column_of(self, field):
        """(type, format of struct or None, number of its dictionary or None, whether it may lack values)"""
        kind, lacks = field.number(2, "B"), bool(field.number(1, "B"))
        if kind == BOOL:
            return "bool", None, None, lacks
        if kind == INT:
            number = field.table(3)
            bits = number.number(0, "i"), bool(number.number(1, "B"))
            return f"{'' if bits[1] else 'u'}int{bits[0]}", FORMATS[bits], None, lacks
        check(kind == UTF8, self.path, f"column {field.text(0)} has type {kind}")
        dictionary = field.table(4)
        number = dictionary.table(1)
        return ("dictionary", FORMATS[number.number(0, "i"), bool(number.number(1, "B"))], dictionary.number(0, "q"),
                lacks)

    def message(self, block, kind):
        """The header of a message and its body."""
        offset, metadata, length = block
        mark, size = struct.unpack_from("<Ii", self.data, offset)
        check(mark == 0xffffffff and size + 8 == metadata and offset % 8 == 0, self.path, f"no message at {offset}")
        message = root(self.data[offset + 8:offset + metadata])
        check(message.number(1, "B") == kind and message.number(3, "q") == length, self.path, f"another message at {offset}")
        return message.table(2), self.data[offset + metadata:offset + metadata + length]

    def read_dictionary(self, block):
        header, body = self.message(block, 2)
        number, batch = header.number(0, "q"), header.table(1)
        check(number not in self.texts, self.path, f"dictionary {number} twice")
        _, at, texts = batch.structs(2, "qq")
        count = batch.number(0, "q")
        offsets = struct.unpack_from(f"<{count + 1}i", body, at[0])
        texts = bytes(body[texts[0]:texts[0] + texts[1]])
        found = [texts[begin:end].decode("utf-8") for begin, end in zip(offsets, offsets[1:])]
        check(len(set(found)) == count, self.path, f"dictionary {number} has a text twice")
        self.texts[number] = found

    def values(self, name, rows, lacking, valid, buffer):
        kind, form, number, _ = self.columns[name]
        if kind == "bool":
            values = [bool(buffer[i // 8] >> i % 8 & 1) for i in range(rows)]
        else:
            values = buffer.cast(form).tolist() if len(buffer) else []
        check(len(values) == rows, self.path, f"{name} has {len(values)} values for {rows} rows")
        if kind == "dictionary":
            texts = self.texts[number]
            values = [texts[value] if texts else None for value in values]
        if lacking:
            values = [value if valid[i // 8] >> i % 8 & 1 else None for i, value in enumerate(values)]
            check(values.count(None) == lacking, self.path, f"{name}: {lacking} nulls are told")
        return values

    def batches(self, *names):
        for block in self.blocks:
            header, body = self.message(block, 3)
            rows, nodes, buffers = header.number(0, "q"), header.structs(1, "qq"), header.structs(2, "qq")
            check(len(nodes) == len(self.columns) and len(buffers) == 2 * len(nodes), self.path, "too few columns")
            found = {}
            for i, name in enumerate(self.columns):
                check(nodes[i][0] == rows, self.path, f"{name} has other rows")
                if name in names:
                    (at, size), (begin, length) = buffers[2 * i:2 * i + 2]
                    found[name] = self.values(name, rows, nodes[i][1], body[at:at + size], body[begin:begin + length])
            yield [found[name] for name in names]

    def column(self, name):
        return [value for (values,) in self.batches(name) for value in values]

    def rows_of(self, *names):
        for batch in self.batches(*names):
            yield from zip(*batch)


def tables(folder):
    """All tables of a run by name."""
    return {path.stem: Table(path) for path in sorted(pathlib.Path(folder).iterdir())}
