#!/usr/bin/env python3
"""Each command of lull that a page of the manual names, in a block or within a sentence, has the options that the page gives it: `lull
help` lists them.

usage: options.py LULL PAGE..."""

import functools
import pathlib
import re
import subprocess
import sys

LULL, PAGES = sys.argv[1], [pathlib.Path(page) for page in sys.argv[2:]]
# Inline code, which may go on in the next line, and lines of blocks that are in no other language.
CODE = re.compile(r"^```(?:\w+\n.*?|\n(?P<block>.*?))^```$|(?<!`)`(?P<span>[^`]+)`(?!`)", re.DOTALL | re.MULTILINE)
CALL = re.compile(r"(?:^|[\s(;'\"])(?:\S*/)?lull ((?:(?:model|history) )?[a-z]+)(?= |$)(?P<words>[^|;&>\n]*)")
OPTION = re.compile(r"(?<![\w=,:-])(--?[a-zA-Z][a-z-]*)")
# What stands behind the options of `lull record` is the program's.
PROGRAM = re.compile(r" (?:(?:--|mpirun|mpiexec|srun|flux|python3|numactl)(?= |$)|\./).*")


@functools.lru_cache(None)
def options(command):
    """Those that `lull help` lists; None: there is no such command."""
    told = subprocess.run([LULL, "help", *command.split()], capture_output=True, text=True, check=False)
    if told.returncode:
        return None
    listed = re.findall(r"^  (?:-(.), |    )--([a-z-]+)", told.stdout, re.MULTILINE)
    return {f"--{name}" for _, name in listed} | {f"-{letter}" for letter, _ in listed}


def texts(page):
    for found in CODE.finditer(page.read_text(encoding="utf-8")):
        line = page.read_text(encoding="utf-8").count("\n", 0, found.start()) + 1
        text = found["block"] or (found["span"] or "").replace("\n", " ")
        for part in text.replace("\\\n", " ").split("\n"):
            yield line, part.split("  #")[0]


def main():
    calls, given, wrong = 0, 0, []
    for page in PAGES:
        for line, text in texts(page):
            for call in CALL.finditer(text):
                command, words = call[1], call["words"]
                known = options(command)
                if known is None:
                    if " -" in words:  # else it may be a sentence: lull says
                        wrong.append(f"{page.name}:{line}: there is no 'lull {command}': {text}")
                    continue
                calls += 1
                words = PROGRAM.sub("", words) if command == "record" else words
                for option in OPTION.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "''", words)):
                    given += 1
                    if option not in known:
                        wrong.append(f"{page.name}:{line}: 'lull {command}' has no {option}: {text}")
    print("\n".join(wrong))
    print(f"{len(PAGES)} pages, {calls} commands with {given} options, {len(wrong)} wrong")
    return 1 if wrong or calls < 300 or given < 300 else 0


sys.exit(main())
