"""Every function of MPI that is not recorded is named in the manual, by itself or as one of a family.

    documented.py functions.txt record-reference.md
"""
import re
import sys

FAMILIES = r"_(c2f|f2c|(create|free)_keyval|(create|call|set)_errhandler|delete_attr)$"


def main():
    functions, manual = (open(path).read() for path in sys.argv[1:3])
    named = re.findall(r"`(MPIX?_\w+\*?)`", manual)
    missing = []
    for name in re.findall(r"^(MPIX?_\w+\*?)\s+none$", functions, re.M):
        bare = name.rstrip("*")
        told = any(bare == other.rstrip("*") or other.endswith("*") and bare.startswith(other[:-1])
                   for other in named)
        if not told and not re.search(FAMILIES, bare):
            missing.append(name)
    print("not in the manual:", ", ".join(missing)) if missing else None
    return 1 if missing else 0


sys.exit(main())
