#!/usr/bin/env python3
"""The libraries whose calls the recorder puts down to their callers are those that the manual lists: the names in
src/record/site/site.c, and those of the table in docs/record-reference.md.

usage: check_site_names.py [ROOT]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
# Files of Python that the recorder knows by more than the beginning of their names.
BY_MORE = {"python3", "mpi4py/MPI."}


def names_of_recorder():
    code = (ROOT / "src/record/site/site.c").read_text(encoding="utf-8")
    lists = re.findall(r"\b(?:passing|python)_names\[\] = \{(.*?)NULL", code, re.DOTALL)
    return [name for found in lists for name in re.findall(r'"([^"]*)"', found)]


def names_of_manual():
    text = (ROOT / "docs/record-reference.md").read_text(encoding="utf-8")
    table = text.split("| of | file names |\n|---|---|\n", 1)[1].split("\n\n", 1)[0]
    return re.findall("`([^`]*)`", table)


recorder, manual = names_of_recorder(), names_of_manual()
wrong = sorted(set(recorder) ^ (set(manual) - BY_MORE)) or len(recorder) < 10 or not BY_MORE <= set(manual)
if wrong:
    print("in one of site.c and record-reference.md alone: %s" % wrong)
sys.exit(1 if wrong else 0)
