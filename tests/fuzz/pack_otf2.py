#!/usr/bin/env python3
"""Makes an input of fuzz_otf2 of an archive whose locations are 0 and 1; others are left out.

usage: pack_otf2.py FOLDER OUTPUT      FOLDER has traces.otf2
"""
import os
import struct
import sys

FILES = ("traces.otf2", "traces.def", "traces/0.evt", "traces/1.evt", "traces/0.def",
         "traces/1.def")


def main(folder, output):
    parts = []
    for name in FILES:
        path = os.path.join(folder, name)
        parts.append(open(path, "rb").read() if os.path.exists(path) else b"")
    if any(len(part) > 0xffff for part in parts):
        sys.exit("%s: a file is longer than 65535 bytes" % folder)
    with open(output, "wb") as out:
        out.write(struct.pack("<%dH" % len(parts), *(len(part) for part in parts)))
        out.writelines(parts)


main(*sys.argv[1:])
