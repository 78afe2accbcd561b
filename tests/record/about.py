"""What a run says of itself: expected values are what was typed, and what git says.

    about.py --lull LULL --program ABOUT [--mpirun MPIRUN]
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

SECRET = "hunter2-that-nobody-may-see"


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=600, **more)


class Study:
    def __init__(self, settings, folder):
        self.lull, self.folder, self.wrong = settings.lull, folder, []

    def expect(self, what, found, expected):
        if found != expected:
            self.wrong.append("%s: %r, expected %r" % (what, found, expected))

    def record(self, name, words, options=(), where=None, **variables):
        path = os.path.join(self.folder, name)
        environment = {**os.environ, "SECRET_TOKEN": SECRET, **variables}
        done = run([self.lull, "record", "--force", *options, "-o", path, *words], env=environment,
                   cwd=where or self.folder)
        return path, done

    def about(self, path):
        """The values by key; what others say as "KEY:others"."""
        told = json.loads(run([self.lull, "info", path, "--format", "json"]).stdout)
        return {row["id"]: row["values"][0] for row in told["tables"].get("about", {"rows": []})["rows"]}


def plain(study, program):
    words = [program, "it's", "a\nb", "x" * 5000]
    path, done = study.record("plain", words, ["--label", "input=n=512", "--label", "who=me\x1b[31m"],
                              OMP_PLACES="cores")
    told = study.about(path)
    begin = "%s 'it'\\''s' 'a\nb' xxxxx" % shlex.quote(program)
    study.expect("command", told["command"][:len(begin)], begin)
    study.expect("length of the command", len(told["command"]), 1024)
    study.expect("program", told["program"], os.path.basename(program))
    study.expect("executable", told["executable"], os.path.realpath(program))
    study.expect("folder", told["folder"], os.path.realpath(study.folder))
    study.expect("OMP_PLACES", told["OMP_PLACES"], "cores")
    study.expect("label", told["label:input"], "n=512")
    study.expect("hostile label", told["label:who"], "me\x1b[31m")
    study.expect("exit status", told["exit"], str(done.returncode))
    study.expect("compilers", "GCC" in told["compilers"], True)
    study.expect("escape in what people see", "\x1b" in run([study.lull, "info", path]).stdout, False)
    for place, _, files in os.walk(path):
        for name in files:
            with open(os.path.join(place, name), "rb") as file:
                study.expect("secret in " + name, SECRET.encode() in file.read(), False)
    again = os.path.join(study.folder, "again")
    run([study.lull, "convert", path, again, "--to", "tape"])
    for key, value in told.items():
        study.expect("converted " + key, study.about(again).get(key), value)
    bad = run([study.lull, "record", "--label", "two words=1", program])
    study.expect("status of a bad label", bad.returncode, 2)


def ends(study):
    """Exit statuses as the parent sees them; none where there is none."""
    for name, code, expected in (("three", "sys.exit(3)", "3"), ("big", "sys.exit(258)", "2"),
                                 ("killed", "os.kill(os.getpid(), 9)", None)):
        path, _ = study.record(name, [sys.executable, "-c", "import os, sys\n" + code])
        study.expect(name, study.about(path).get("exit"), expected)
    path, _ = study.record("child", [sys.executable, "-c",
                                     "import os, sys\nif os.fork() == 0: sys.exit(5)\nos.wait()"])
    study.expect("a child's status", study.about(path).get("exit"), "0")


def names(study, program):
    """A run is named after the script; and who says that there is no MPI is not warned of that."""
    where = os.path.join(study.folder, "names")
    os.mkdir(where)
    with open(os.path.join(where, "app.py"), "w") as file:
        file.write("pass\n")
    run([study.lull, "record", "--", sys.executable, "-B", "app.py", "x"], cwd=where)
    study.expect("names", sorted(os.listdir(where)), ["app.1x1.lull", "app.py"])
    study.expect("program", study.about(os.path.join(where, "app.1x1.lull"))["program"], "app")
    warning = "needs no MPI library"
    rank = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "PMIX_NAMESPACE": "x"}
    said = study.record("mpi", [program], **rank)[1].stderr
    study.expect("the warning: " + said, warning in said, True)
    said = study.record("mpi", [program], ["--mpi", "none"], **rank)[1].stderr
    study.expect("no warning: " + said, warning in said, False)


def git(where, *words):
    names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = run(["git", *names, "-C", where, *words])
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def commits(study, program):
    if not shutil.which("git"):
        print("part skipped: git is not there")
        return
    home = os.path.join(study.folder, "home")
    os.makedirs(os.path.join(home, "below"))
    git(study.folder, "init", "-q", home)
    study.expect("no commit yet", study.about(study.record("c0", [program], where=home)[0]).get("commit"),
                 None)
    for number in range(2):
        git(home, "commit", "-q", "--allow-empty", "-m", str(number))

    def check(what, where):
        path, _ = study.record("c", [program], where=where)
        study.expect(what, study.about(path).get("commit"), git(where, "rev-parse", "HEAD"))

    check("a branch", home)
    check("a folder below", os.path.join(home, "below"))
    git(home, "branch", "other/name", "HEAD~1")
    git(home, "pack-refs", "--all")
    check("packed", home)
    git(home, "commit", "-q", "--allow-empty", "-m", "3")
    check("packed, and newer", home)
    git(home, "worktree", "add", "-q", os.path.join(study.folder, "tree"), "other/name")
    check("a worktree", os.path.join(study.folder, "tree"))
    git(home, "checkout", "-q", "--detach", "HEAD~1")
    check("detached", home)
    for text in ("ref: ../../secret", "ref: refs/../../secret", "\0" * 100, "ref: HEAD", "x" * 40, ""):
        with open(os.path.join(home, ".git", "HEAD"), "w") as file:
            file.write(text)
        path, done = study.record("hostile", [program], where=home)
        study.expect("status with HEAD %r" % text[:20], done.returncode, 0)
        study.expect("HEAD %r" % text[:20], study.about(path).get("commit"), None)
    os.remove(os.path.join(home, ".git", "HEAD"))
    os.mkfifo(os.path.join(home, ".git", "HEAD"))
    study.expect("HEAD is a pipe", study.record("hostile", [program], where=home)[1].returncode, 0)


def compared(study, program):
    """Runs of different programs are not judged together in silence."""
    other = os.path.join(study.folder, "other-program")
    shutil.copy(program, other)
    one, _ = study.record("one", [program], ["--label", "input=a"])
    two, _ = study.record("two", [other], ["--label", "input=a"])
    told = " ".join(run([study.lull, "metrics", one, two]).stderr.split())
    study.expect("a warning", "is a run of '%s'" % os.path.basename(program) in told or
                 "one of '%s'" % os.path.basename(program) in told, True)
    history = os.path.join(study.folder, "history.jsonl")
    done = run([study.lull, "history", "add", history, one])
    study.expect("history add: " + done.stderr, done.returncode, 0)
    with open(history) as file:
        line = json.loads(file.read())
    study.expect("program of a line", line["program"], os.path.basename(program))
    study.expect("input of a line", line["input"], "a")
    judged = run([study.lull, "check", two, "--against", history, "--fail-if", "runtime > 900 * baseline"])
    study.expect("another program's history: " + judged.stderr, judged.returncode, 1)
    study.expect("told: " + judged.stderr, "has no run of program 'other-program'" in judged.stderr, True)
    # As an older lull has left it.
    line["program"] = ""
    with open(history, "w") as file:
        file.write(json.dumps(line) + "\n")
    judged = run([study.lull, "history", "add", history, one])
    shown = run([study.lull, "history", "show", history])
    study.expect("old and new lines: " + shown.stderr, shown.returncode, 0)


def first_without(study, mpirun, program):
    """The process that comes first speaks for all; here it has no value that another one has."""
    path = os.path.join(study.folder, "first")
    inner = [study.lull, "record", "-o", path, program]
    words = mpirun + ["-n", "1", "env", "-u", "OMP_NUM_THREADS", *inner, ":", "-n", "1", "sh", "-c",
                      "sleep 0.5; exec env OMP_NUM_THREADS=8 \"$@\"", "sh", *inner]
    run(words, env=launch.environment())
    told = study.about(path)
    study.expect("of the others: %r" % told, "8" in told.get("OMP_NUM_THREADS:others", ""), True)
    study.expect("of the first: %r" % told, told.get("OMP_NUM_THREADS"), "none")


def ranks(study, mpirun, program):
    path = os.path.join(study.folder, "ranks")
    inner = [study.lull, "record", "-o", path]
    environment = launch.environment(OMP_NUM_THREADS="4")
    words = mpirun + ["-n", "1", *inner, program, ":", "-n", "2", "env", "OMP_NUM_THREADS=8", *inner, program,
                      "other", ":", "-n", "1", "env", "-u", "OMP_NUM_THREADS", *inner, program]
    done = run(words, env=environment)
    told = study.about(path)
    # Whoever comes first speaks for all: each value is told, once, with those who have it.
    for key, values in (("OMP_NUM_THREADS", ("4", "8", "none")),
                        ("command", (program, program + " other"))):
        whole = "%s; %s" % (told.get(key), told.get(key + ":others"))
        for value in values:
            study.expect("%s in %s" % (value, whole),
                         any(part.split(" (")[0] == value for part in whole.split("; ")), True)
    study.expect("MPI: " + done.stderr, bool(told.get("mpi")), True)
    study.expect("exit", told.get("exit"), "0")


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--mpirun")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Study(settings, folder)
        if settings.mpirun:
            alone = run([settings.mpirun, "-n", "1", "true", ":", "-n", "1", "true"], env=launch.environment())
            if alone.returncode != 0: # as that of Open MPI 5.0.7
                print("skipped: %s does not survive several programs" % os.path.basename(settings.mpirun))
                return 77
            ranks(study, [settings.mpirun], settings.program)
            first_without(study, [settings.mpirun], settings.program)
        else:
            plain(study, settings.program)
            ends(study)
            names(study, settings.program)
            commits(study, settings.program)
            compared(study, settings.program)
        for line in study.wrong:
            print(line)
        return 1 if study.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
