# SPDX-License-Identifier: BSD-3-Clause
"""Reads a JSON document member by member, so that a large one need not be in memory as a whole.

`read` is told by paths which containers are large. Their items are decoded one after the other and handed to a function;
everything else is kept. At any time the text in memory is that of one item, and of the block that was read last."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, TextIO, Tuple, Union

Key = Union[str, int]
Path = Tuple[Key, ...]
Each = Optional[Callable[[Path, Any], None]]

_BLOCK = 1 << 16  # characters
_BLANKS = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


class _Node:
    """What is to be done with the value at a path: `each` gets the items of a container if `hands_out`."""

    def __init__(self) -> None:
        self.children: Dict[Key, _Node] = {}
        self.hands_out = False
        self.each: Each = None

    def child(self, key: Key) -> Optional[_Node]:
        return self.children.get(key) or self.children.get("*")


class _Reader:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0  # all before it has been read
        self._ended = False

    def _fetch(self, least: int) -> bool:
        """Gets at least so many characters more, if there are any."""
        if self._ended:
            return False
        more = self._stream.read(max(least, _BLOCK))
        self._ended = not more
        self._text = self._text[self._at :] + more
        self._at = 0
        return not self._ended

    def _fail(self, what: str) -> ValueError:
        rest = self._text[self._at : self._at + 20]
        return ValueError(f"{what} before '{rest}'" if rest else f"{what}, but it ends there")

    def peek(self) -> str:
        """The next character that is no blank, without reading it; "" at the end."""
        while True:
            found = _BLANKS.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fetch(0):
                return ""

    def _take(self, wanted: str) -> str:
        got = self.peek()
        if not got or got not in wanted:
            raise self._fail(f"expected one of '{wanted}'")
        self._at += 1
        return got

    def whole(self) -> Any:
        """A value of any kind."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as wrong:
                if not self._fetch(len(self._text) - self._at):  # twice as much, so that each character is seen rarely
                    raise self._fail("expected a value") from wrong
                continue
            # A number may go on behind what is there, as 1.5e9 behind "1" or "1.".
            if (end == len(self._text) or self._text[end] not in " \t\r\n,:]}") and self._fetch(0):
                continue
            self._at = end
            return value

    def _keys(self) -> Iterator[Key]:
        """The keys or indices of a container. The caller reads the value of each."""
        is_object = self._take("[{") == "{"
        close = "}" if is_object else "]"
        if self.peek() == close:
            self._at += 1
            return
        index = 0
        while True:
            if is_object:
                key = self.whole()
                if not isinstance(key, str):
                    raise self._fail("expected a key")
                self._take(":")
                yield key
            else:
                yield index
            index += 1
            if self._take("," + close) == close:
                return

    def value(self, node: Optional[_Node], path: Path) -> Any:
        opening = self.peek()
        if node is None or opening not in ("[", "{"):
            return self.whole()
        kept: Dict[Key, Any] = {}
        for key in self._keys():
            value = self.value(node.child(key), path + (key,))
            if not node.hands_out:
                kept[key] = value
            elif node.each is not None:
                node.each(path + (key,), value)
        return kept if opening == "{" else list(kept.values())


def read(stream: TextIO, large: Mapping[Path, Each]) -> Any:
    """The document in `stream` without the items of the containers at the paths `large`, where "*" stands for any key or
    index. Items go to the function of their path, with their own path; None: nobody wants them. Raises ValueError where
    the text is no JSON, or goes on behind the document."""
    root = _Node()
    for path, each in large.items():
        node = root
        for key in path:
            node = node.children.setdefault(key, _Node())
        node.hands_out = True
        node.each = each
    reader = _Reader(stream)
    document = reader.value(root, ())
    if reader.peek():
        raise ValueError("expected nothing behind the document")
    return document
