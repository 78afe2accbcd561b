#!/usr/bin/env python3
"""Each finding in the gallery of the manual is one that lull prints: it stands like that, line by line, in the expected output of a
golden test.

usage: gallery.py ROOT"""

import pathlib
import re
import sys

FENCE = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main():
    root = pathlib.Path(sys.argv[1])
    golden = [path.read_text(encoding="utf-8") for path in sorted((root / "tests/golden").rglob("stdout"))]
    findings = FENCE.findall((root / "docs/gallery.md").read_text(encoding="utf-8"))
    missing = [finding for finding in findings if not any(f"\n{finding}" in text for text in golden)]
    for finding in missing:
        print(f"docs/gallery.md: no golden output has\n{finding}")
    print(f"{len(findings)} findings, {len(missing)} of them in no golden output")
    return 1 if missing or len(findings) < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
