#!/usr/bin/env python3
"""The reader of JSON streams (python/lull/_stream.py) against json.loads on documents that are drawn, and what it keeps in
memory. LULL_TEST_SEED repeats a draw.

usage: stream.py TESTS"""

import io
import json
import os
import pathlib
import random
import string
import sys
import time
import tracemalloc
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parent / "python"))
from lull import _stream  # noqa: E402

SEED = os.environ.get("LULL_TEST_SEED", "1")
SEED = time.time_ns() % 10**9 if SEED == "random" else int(SEED)
KEYS = ("a", "b", "rows", "é\"\\\n")


class Pieces(io.StringIO):
    """Gives out a few characters at a time, whatever is asked for."""

    def __init__(self, text, most):
        super().__init__(text)
        self.most = most

    def read(self, size=-1):
        return super().read(min(size, self.most) if size >= 0 else self.most)


def draw(random, depth):
    kind = random.randrange(9 if depth else 6)
    if kind == 0:
        return random.choice((None, True, False))
    if kind == 1:
        return random.choice((0, -1, 12, 2**70, random.randrange(10**6)))
    if kind == 2:
        return random.choice((0.5, -1e-9, 1.5e300, random.random()))
    if kind <= 5:
        return "".join(random.choices(string.printable + "\"\\{}[],:é€😀\x7f", k=random.randrange(12)))
    if kind == 6:
        return [draw(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(KEYS): draw(random, depth - 1) for _ in range(random.randrange(4))}


def expect(value, large, path, handed):
    """What is kept of a value and what is handed out, by recursion over the whole document."""
    if not isinstance(value, (list, dict)):
        return value
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    out = [each for at, each in large.items() if len(at) == len(path) and
           all(want in ("*", have) for want, have in zip(at, path))]
    kept = []
    for key, item in pairs:
        item = expect(item, large, path + (key,), handed)
        if not out:
            kept.append((key, item))
        elif out[0]:
            handed.append((path + (key,), item))
    return dict(kept) if isinstance(value, dict) else [item for _, item in kept]


class Stream(unittest.TestCase):
    def test_drawn_documents(self):
        print(f"LULL_TEST_SEED={SEED}")
        drawn = random.Random(SEED)
        some_handed, some_skipped = 0, 0
        for _ in range(1000):
            document = {key: draw(drawn, 4) for key in KEYS}
            text = json.dumps(document, ensure_ascii=drawn.random() < 0.5, indent=drawn.choice((None, 0, 2)))
            handed, wanted = [], []
            path = tuple(drawn.choice(("rows", 0, "*", "*")) for _ in range(drawn.randrange(3)))
            large = {path: (lambda at, item: handed.append((at, item))) if drawn.random() < 0.7 else None}
            block = _stream._BLOCK
            _stream._BLOCK = drawn.choice((1, 2, 7, 100))
            try:
                got = _stream.read(Pieces(text, drawn.choice((1, 3, 1000))), large)
            finally:
                _stream._BLOCK = block
            kept = expect(json.loads(text), large, (), wanted)
            self.assertEqual(got, kept, text)
            self.assertEqual(handed, wanted, text)
            some_handed += bool(handed)
            some_skipped += not handed and got != document
        self.assertGreater(some_handed, 200)
        self.assertGreater(some_skipped, 100)

    def test_numbers_that_go_on(self):
        """A number that the end of a block cuts: what is there is a number, too."""
        for number in ("12", "-1.5", "1e9", "1.25E-7", "0", "100"):
            for text in (number, f"[{number}]", f'{{"a":{number}}}', f"[{number},{number} ]"):
                for most in (1, 2, 3, 4):
                    block, _stream._BLOCK = _stream._BLOCK, 1
                    try:
                        self.assertEqual(_stream.read(Pieces(text, most), {("a",): None, (): None}),
                                         json.loads(text) if text[0] not in "[{" else type(json.loads(text))())
                    finally:
                        _stream._BLOCK = block

    def test_what_is_no_json(self):
        whole = json.dumps({"a": [1, {"b": "x\\"}], "c": None})
        for end in range(len(whole)):
            with self.assertRaises(ValueError):
                _stream.read(io.StringIO(whole[:end]), {("a",): None})
        for text in ("", "{} {}", "[1,]", "{1: 2}", '{"a" 1}', "[1 2]", "nul", "[", "{,}", whole + "x", "01"):
            with self.assertRaises(ValueError, msg=text):
                _stream.read(io.StringIO(text), {("a",): None, (): None})

    def test_memory_is_that_of_an_item(self):
        """4 MB of rows that nobody wants or that are counted, of at most 100 bytes each."""

        class Rows:
            def __init__(self):
                self.parts = self.made()

            def made(self):
                yield '{"tables": {"big": {"rows": ['
                for number in range(40):
                    yield ",".join('{"id": "%090d"}' % number for _ in range(500)) + ","
                    yield ",".join('{"id": "%090d"}' % number for _ in range(500)) + ("," if number < 39 else "")
                yield ']}}}'

            def read(self, _):
                return next(self.parts, "")

        count = 0

        def take(_, row):
            nonlocal count
            count += len(row["id"]) == 90

        for each in (take, None):
            tracemalloc.start()
            kept = _stream.read(Rows(), {("tables", "*", "rows"): each})
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.assertEqual(kept, {"tables": {"big": {"rows": []}}})
            self.assertLess(most, 1 << 19)
        self.assertEqual(count, 40000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
