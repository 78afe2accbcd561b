#!/usr/bin/env python3
"""Wrappers of MPI functions read the clock for the end of a call behind all that takes the longer the
more ranks there are: what follows counts as the program's own work.

usage: closing.py WRAPPERS.c"""
import re
import sys

wrong, sums, functions = [], 0, 0
for body in re.finditer(r"^REC_INLINE int record_(MPI_\w+)\(.*?^}", open(sys.argv[1]).read(), re.M | re.S):
    text = body[0]
    functions += 1
    sums += "REC_MPI_SUM" in text
    if "end = rec_now()" in text and text.rfind("REC_MPI_SUM") > text.find("end = rec_now()"):
        wrong.append(body[1])
print("%d functions, %d add up over ranks, behind the end: %s" % (functions, sums, wrong))
sys.exit(bool(wrong) or sums == 0)
