#!/usr/bin/env python3
"""Pages as an independent parser (html5lib) and Python's own digests and inflation see them.

usage: check_page.py MAKE_PAGE

Exits with 77 where html5lib is missing.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

DEBIAN = "/usr/bin/python3"
try:
    import html5lib
except ImportError:
    if sys.executable != DEBIAN and os.path.exists(DEBIAN):
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print("skipped: python3-html5lib is not here")
    sys.exit(77)

XHTML = "{http://www.w3.org/1999/xhtml}"
DATA = "application/x-lull"


def elements(tree, name):
    return list(tree.iter(XHTML + name))


def digest(element):
    text = "".join(element.itertext()).encode()
    return "'sha256-" + base64.b64encode(hashlib.sha256(text).digest()).decode() + "'"


def check_policy(tree):
    """The policy allows the one script and the two styles, and nothing else."""
    metas = [m for m in elements(tree, "meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert len(metas) == 1
    policy = dict(part.strip().split(" ", 1) for part in metas[0].get("content").split(";"))
    assert set(policy) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    for name in ("default-src", "base-uri", "form-action"):
        assert policy[name] == "'none'", name
    scripts = [s for s in elements(tree, "script") if s.get("type") != DATA]
    assert [digest(s) for s in scripts] == policy["script-src"].split(), "digest of the script"
    assert [digest(s) for s in elements(tree, "style")] == policy["style-src"].split(), "of styles"


def check_inert(tree):
    """No attribute runs or loads anything, and no name has become an element."""
    for element in tree.iter():
        assert element.tag not in {XHTML + n for n in ("img", "iframe", "object", "embed", "link")}
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on"), name
            assert name != "style", element.tag
            assert name != "src", element.tag
            if name == "href":
                assert value.startswith("#"), value


def check_ids(tree):
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids)), "an id is there twice"
    for element in tree.iter():
        for name in ("aria-labelledby", "aria-describedby"):
            for target in (element.get(name) or "").split():
                assert target in ids, target
        if element.get("href"):
            name = element.get("href")[1:]
            assert ("timelines" if name.startswith("view?") else name) in ids, name


def check_data(tree):
    blocks = [s for s in elements(tree, "script") if s.get("type") == DATA]
    assert blocks
    for block in blocks:
        zlib.decompress(base64.b64decode(block.text, validate=True))


def check_bytes(page):
    text = page.decode()  # valid UTF-8
    for code in [*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x200F, *range(0x202A, 0x202F),
                 *range(0x2066, 0x206A)]:
        assert code == 10 or chr(code) not in text, hex(code)
    for address in re.findall(r"https?://[^\s\"'<]*", text):
        assert address.startswith("http://www.w3.org/"), address


def main():
    make_page = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("one", "two", "hostile"):
            path = pathlib.Path(folder, kind + ".html")
            subprocess.run([make_page, kind, path], check=True)
            page = path.read_bytes()
            parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"))
            tree = parser.parse(page, transport_encoding="utf-8")
            assert not parser.errors, (kind, parser.errors[:5])
            check_bytes(page)
            check_policy(tree)
            check_inert(tree)
            check_ids(tree)
            check_data(tree)
            print(kind, len(page), "bytes, well-formed")


if __name__ == "__main__":
    main()
