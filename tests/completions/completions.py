#!/usr/bin/env python3
"""Completion in a shell, by the shell itself: every command, every option of every command as `lull help` lists them, words
of options, specs, files. bash and zsh run on a terminal of the test's own and are sent keys; fish is asked by its
`complete -C`.

usage: completions.py SHELL LULL TESTS; skipped (77) where there is no such shell."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

SHELL, LULL, TESTS = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
SCRIPTS = TESTS.parent / "data/completions"
PATIENCE = 300  # s, for what never comes


class Terminal:
    """A shell that believes somebody types. It writes what a word may become to a file when a key asks for it."""

    def __init__(self, words, start, folder, environment):
        self.said, self.folder = b"", folder
        self.process, self.end = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.send(start.replace("\n", "\r"))
        self.send("echo rea''dy\r")
        self.wait_for(lambda: b"ready" in self.said, "its start")

    def send(self, text):
        os.write(self.end, text.encode())

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                sys.exit(f"{SHELL}: never came: {what}\n{self.said.decode(errors='replace')}")
            if select.select([self.end], [], [], 0.02)[0]:
                try:
                    self.said += os.read(self.end, 1 << 16)
                except OSError:
                    sys.exit(f"{SHELL}: ended\n{self.said.decode(errors='replace')}")

    def offers(self, line):
        """Control-U empties the line, and the key, bound by the script, asks and tells."""
        answer = self.folder.parent / "answer"
        answer.unlink(missing_ok=True)
        self.send("\x15" + line + "\x18\x18")
        self.wait_for(answer.exists, f"an answer to '{line}'")
        return set(answer.read_text(encoding="utf-8").splitlines())

    def close(self):
        os.close(self.end)
        os.waitpid(self.process, 0)


# `complete` of readline calls the function; what it leaves is told, with the words put together that bash had cut.
BASH = r"""PS1=
source SCRIPTS/lull.bash
told() { COMP_LINE=$READLINE_LINE COMP_POINT=$READLINE_POINT; _lull; local i cut w=${COMP_LINE##* }; cut=${w%"${w##*[:=]}"}
for i in "${!COMPREPLY[@]}"; do printf '%s\n' "$cut${COMPREPLY[i]}"; done >../answer.new; mv ../answer.new ../answer; }
bind -x '"\C-x\C-x": told'
"""
# The completion system calls compadd; what matches is told.
ZSH = r"""PS1=
fpath=(SCRIPTS $fpath)
autoload -Uz compinit && compinit -u -D
LISTMAX=100000
compadd() { local -a told; if [[ ${@[(i)-[OAD]]} -le $# ]]; then builtin compadd "$@"; return; fi; builtin compadd -O told "$@"; print -rl -- "$IPREFIX"${^told} >>../answer.new; builtin compadd "$@"; }
ask() { : >../answer.new; zle list-choices; grep -v '^$' ../answer.new >../answer.some; mv ../answer.some ../answer; }
zle -N ask
bindkey '^X^X' ask
bindkey '^U' kill-whole-line
"""


class Fish:
    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment

    def offers(self, line):
        script = f"source {SCRIPTS}/lull.fish; complete -C $argv[1]"
        told = subprocess.run(["fish", "--no-config", "-c", script, line], cwd=self.folder, env=self.environment,
                              check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        return {one.split("\t")[0] for one in told.splitlines()}

    def close(self):
        pass


def open_shell(folder, environment):
    if SHELL == "fish":
        return Fish(folder, environment)
    words, start = (["bash", "--norc", "--noprofile", "-i"], BASH) if SHELL == "bash" else (["zsh", "-f", "-i"], ZSH)
    script = folder.parent / "start"
    script.write_text(start.replace("SCRIPTS", str(SCRIPTS)), encoding="utf-8")
    return Terminal(words, "source ../start\n", folder, environment)


def helped(*words):
    return subprocess.run([LULL, *words, "--help"], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def commands():
    """Of lull, and the parts of those that have parts: {words: text of its help}."""
    found = {}
    for name in re.findall(r"^  ([a-z]+) +\S", helped().split("\nusage: ")[1], re.MULTILINE):
        text = helped(name)
        parts = re.findall(rf"^  lull {name} ([a-z]+) ", text, re.MULTILINE)
        for part in parts:
            found[name, part] = helped(name, part)
        if not parts:
            found[name,] = text
    return found


wrong = []


def expect(shell, line, least, exactly=True):
    """exactly: nothing else is offered."""
    got = {offered.rstrip("/ ") for offered in shell.offers(line)}
    least = {offered.rstrip("/ ") for offered in least}
    if got != least if exactly else not least <= got:
        wrong.append(f"'{line}': offered {sorted(got)}, lacks {sorted(least - got)}, has beside {sorted(got - least)}")


def check(shell):
    known = commands()
    assert len(known) > 18, known
    expect(shell, "lull ", {words[0] for words in known})
    expect(shell, "lull re", {"record", "report", "replay"})
    expect(shell, "lull --", {"--help", "--version"})
    expect(shell, "lull model ", {words[1] for words in known if words[0] == "model"})
    options = 0
    for words, text in known.items():
        if words == ("help",):
            continue
        listed = re.findall(r"^  (?:-(.), |    )--([a-z-]+)", text, re.MULTILINE)
        expect(shell, f"lull {' '.join(words)} --", {"--" + name for _, name in listed})
        expect(shell, f"lull {' '.join(words)} -",
               {"--" + name for _, name in listed} | {"-" + letter for letter, _ in listed if letter})
        options += len(listed)
    assert options > 250, options
    expect(shell, "lull metrics --by ", {"region", "callsite", "process", "thread", "device", "stream", "kernel", "copy", "file", "wait", "function", "line", "loop"})
    expect(shell, "lull metrics -b call", {"callsite"})
    expect(shell, "lull metrics --format=", {"--format=" + name for name in ("text", "json", "csv", "html")})
    expect(shell, "lull convert --to p", {"paraver"})
    expect(shell, "lull help hist", {"history"})
    expect(shell, "lull help history a", {"add"})
    # Specs: names, with and without a colon, and the keys of each, as `lull simulate --list` has them.
    expect(shell, "lull simulate --network hock", {"hockney", "hockney:"})
    expect(shell, "lull simulate --network=hock", {"--network=hockney", "--network=hockney:"})
    expect(shell, "lull replay r --network hockney:latency=1us,band", {"hockney:latency=1us,bandwidth="})
    expect(shell, "lull simulate --pattern chain:ra", {"chain:ranks="})
    expect(shell, "lull wave -p collective:o", {"collective:op="})
    expect(shell, "lull simulate --noise peri", {"periodic", "periodic:"})
    expect(shell, "lull simulate --placement block:cores-per-n", {"block:cores-per-node="})
    expect(shell, "lull fit --law usl,amdahl-l", {"usl,amdahl-log", "usl,amdahl-linear"})
    # Files where files are meant, folders where folders are.
    expect(shell, "lull metrics he", {"heat.lull", "heat.prv"})
    expect(shell, "lull metrics --whole heat.p", {"heat.prv"})
    expect(shell, "lull diff a -- heat.l", {"heat.lull"})
    expect(shell, "lull report -m 1MB -o he", {"heat.lull", "heat.prv"})
    expect(shell, "lull report --output=heat.p", {"--output=heat.prv"})
    expect(shell, "lull record -o he", {"heat.lull"})
    expect(shell, "lull metrics --digits ", set())
    expect(shell, "lull nonsense ", set())
    # A program, and what its own completion knows; else files.
    expect(shell, "lull record -o x heat_progr", {"heat_program"}, exactly=False)
    expect(shell, "lull record -o x heat_program he", {"heat.lull", "heat.prv"}, exactly=False)


def main():
    if shutil.which(SHELL) is None:
        print(f"skipped: there is no {SHELL}")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "work/heat.lull").mkdir(parents=True)
        (folder / "work/heat.prv").touch()
        (folder / "bin").mkdir()
        (folder / "bin/lull").symlink_to(LULL.resolve())
        program = folder / "bin/heat_program"
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
        environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                       **{key: os.environ[key] for key in os.environ if key.endswith("SAN_OPTIONS")}}
        shell = open_shell(folder / "work", environment)
        try:
            check(shell)
        finally:
            shell.close()
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
