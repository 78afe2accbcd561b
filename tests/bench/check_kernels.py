#!/usr/bin/env python3
"""What the loops of the benchmark kernels really do, counted in the disassembly of the compiled
archive, against what the kernels claim: loads, stores and floating-point operations. A loop from
which anything was removed fails.

usage: check_kernels.py --archive LIB --claims PROGRAM [--objdump OBJDUMP]
"""
import argparse
import re
import subprocess
import sys

def disassemble(objdump, archive):
    """{function: [(address, instruction, operands)]}, from objdump of GNU or LLVM."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", archive], check=True,
                          capture_output=True, text=True).stdout
    functions, lines = {}, None
    for line in text.splitlines():
        if match := re.match(r"[0-9a-f]+ <([^>]+)>:", line):
            lines = functions.setdefault(match.group(1), [])
        elif match := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            operands = re.sub(r"\s*(#|<).*", "", match.group(3))
            name = re.sub(r"^(add|mov|movnti)q$", r"\1", match.group(2))
            lines.append((int(match.group(1), 16), name, operands))
    return functions


def split_operands(text):
    """Commas within parentheses do not separate."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)] if text else []


def loops(lines):
    """Bodies of the innermost loops: from the target of a jump backwards to the jump."""
    found = []
    for at, (address, name, operands) in enumerate(lines):
        if not name.startswith("j") or not re.fullmatch(r"(0x)?[0-9a-f]+", operands):
            continue
        target = int(operands, 16)
        if target > address:
            continue
        body = [line for line in lines[:at + 1] if line[0] >= target]
        if not any(line[1].startswith("j") for line in body[:-1]):
            found.append(body)
    return found


def width_of(name, operands):
    """Bytes of one access and number of elements worked on."""
    if re.search(r"[ps]d$|[ps]s$", name):
        size = 8 if name.endswith("d") else 4
        if name[-2] == "s":
            return size, 1
    else:
        size = 8
    for register, width in (("zmm", 64), ("ymm", 32), ("xmm", 16)):
        if "%" + register in operands:
            return width, width // size
    return 8, 1


def count(body):
    """Bytes loaded and stored, flops, elements per pass, dependent moves and additions."""
    sums = dict(load=0, store=0, flops=0, elements=0, moves=0, additions=0)
    for _, name, text in body:
        operands = split_operands(text)
        width, elements = width_of(name, text)
        is_arithmetic = re.match(r"v?(add|mul|div|fn?m(add|sub)\d*)[ps][sd]$", name)
        if is_arithmetic:
            sums["flops"] += elements * (2 if "fmadd" in name else 1)
        if name == "add" and operands[0].startswith("$"):
            sums["elements"] = int(operands[0][1:], 0)
        elif name == "add":
            sums["additions"] += 1
        is_move = re.match(r"v?mov(ap|up|s|ntp)?[sd]?$|movnti", name)
        if not (is_arithmetic or is_move):
            continue
        for position, operand in enumerate(operands):
            if "(" not in operand:
                continue
            is_store = position == len(operands) - 1
            sums["store" if is_store else "load"] += width
            sums["moves"] += name == "mov" and not is_store
    return sums


def check(functions, claims):
    """Lines that say what is wrong."""
    for kernel, function, kind, loads, stores, flops in claims:
        bodies = loops(functions.get(function, []))
        counted = [count(body) for body in bodies]
        if kind == "stream":
            want = lambda c: (c["elements"] > 0 and c["load"] == 8 * loads * c["elements"]
                              and c["store"] == 8 * stores * c["elements"]
                              and c["flops"] == flops * c["elements"])
        elif kind == "compute":
            want = lambda c: c["flops"] == flops and c["load"] == 0 and c["store"] == 0
        elif kind == "chase":
            want = lambda c: c["moves"] == loads
        else:
            want = lambda c: c["additions"] == flops
        if sum(map(want, counted)) != 1:
            yield "%s: %s: claims %d loads, %d stores, %d flops; its loops: %s" % (
                kernel, function, loads, stores, flops, counted or "none")


def read_claims(program):
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        words = line.split()
        words[1] = words[1].replace("-", "_")
        yield words[:3] + [int(word) for word in words[3:]]


def check_checker(functions, claims):
    """The checker itself: each function without one of its arithmetic or memory instructions has to
    be found out."""
    for claim in claims:
        key = claim[1]
        lines = functions.get(key, [])
        in_loops = [line for body in loops(lines) for line in body[:-1]]
        victims = [line for line in in_loops if re.match(r"v?(add|mul|div|fm|mov)", line[1])
                   and "$" not in line[2] and "(%rsp" not in line[2] and "(%rbp" not in line[2]]
        kind = claim[2]
        victims = [line for line in victims if
                   (kind == "chase") == (line[1] == "mov") or kind == "chain"]
        if not victims:
            yield "%s: nothing to remove" % key
            continue
        cut = dict(functions)
        cut[key] = [line for line in lines if line is not victims[len(victims) // 2]]
        if not list(check(cut, [claim])):
            yield "%s: a removed instruction is not noticed: %s" % (key, victims[len(victims) // 2])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--archive", required=True)
    parser.add_argument("--claims", required=True)
    parser.add_argument("--objdump", default="objdump")
    arguments = parser.parse_args()
    functions = disassemble(arguments.objdump, arguments.archive)
    claims = list(read_claims(arguments.claims))
    wrong = list(check(functions, claims)) + list(check_checker(functions, claims))
    for line in wrong:
        print(line)
    print("%d loops, %d wrong" % (len(claims), len(wrong)))
    return 1 if wrong or not claims else 0


if __name__ == "__main__":
    sys.exit(main())
