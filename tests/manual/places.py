#!/usr/bin/env python3
"""Places in the examples that pages of the manual name, as `step (heat.c:151)` and `!$omp parallel @heat.c:151`, are where the sources
have that function and a parallel region.

usage: places.py EXAMPLES PAGE..."""

import pathlib
import re
import sys

EXAMPLES, PAGES = pathlib.Path(sys.argv[1]), [pathlib.Path(page) for page in sys.argv[2:]]
PLACE = re.compile(r"(?:(\w+)\s+\(|(parallel\s+@))(\w+\.c):(\d+)(?:-(\d+))?")
FUNCTION = re.compile(r"^\w[\w ]*[ *](\w+)\([^;]*$")


def functions(lines):
    """The function of each line, from its head to the brace that ends it."""
    inside, found = None, {}
    for number, line in enumerate(lines, 1):
        head = FUNCTION.match(line)
        inside = head[1] if head else inside
        found[number] = inside
        inside = None if line == "}" else inside
    return found


def main():
    sources = {path.name: path.read_text(encoding="utf-8").splitlines() for path in EXAMPLES.glob("*.c")}
    seen, wrong = 0, []
    for page in PAGES:
        for function, parallel, name, *lines in PLACE.findall(page.read_text(encoding="utf-8")):
            if name not in sources:
                continue  # of a program that is not among the examples
            seen += 1
            known = functions(sources[name])
            for line in (int(line) for line in lines if line):
                if parallel and "#pragma omp parallel" not in sources[name][line - 1]:
                    wrong.append(f"{page.name}: {name}:{line} is no parallel region")
                if not parallel and known.get(line) != function:
                    wrong.append(f"{page.name}: {name}:{line} is in {known.get(line)} and not in {function}")
    print("\n".join(wrong))
    print(f"{seen} places, {len(wrong)} wrong")
    return 1 if wrong or seen < 15 else 0


sys.exit(main())
