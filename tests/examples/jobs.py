#!/usr/bin/env python3
"""The job scripts of examples/jobs, with batch systems that are played: launchers of the same names start processes
with the variables that the real ones set. All processes of a job must be one run.

usage: jobs.py LULL CC FOLDER"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

PROGRAM = """#include <stdio.h>
#include <unistd.h>
int main(void)
{
    usleep(20000);
    puts("ran");
    return 0;
}
"""

# What each launcher sets for a process: {0} its rank, {1} the number, {2} its rank on the node, {3} processes there.
SETS = {
    "srun": "SLURM_STEP_ID=0 SLURM_PROCID={0} SLURM_NTASKS={1} SLURM_LOCALID={2}",
    "mpiexec": "PALS_APID=a-1 PALS_RANKID={0} PMI_RANK={0} PMI_SIZE={1} PMI_LOCAL_RANK={2} PMI_LOCAL_SIZE={3}",
    "mpirun": "OMPI_COMM_WORLD_RANK={0} OMPI_COMM_WORLD_SIZE={1} OMPI_COMM_WORLD_LOCAL_RANK={2} "
              "OMPI_COMM_WORLD_LOCAL_SIZE={3} PMIX_NAMESPACE=n-1",
    "jsrun": "JSM_NAMESPACE_RANK={0} JSM_NAMESPACE_SIZE={1} JSM_NAMESPACE_LOCAL_RANK={2} JSM_NAMESPACE_LOCAL_SIZE={3}",
    "flux": "FLUX_JOB_ID=f1 FLUX_TASK_RANK={0} FLUX_JOB_SIZE={1} FLUX_TASK_LOCAL_ID={2} PMI_RANK={0} PMI_SIZE={1}",
}
# What the batch system sets for the script, and the number of processes where the launcher takes it from there.
SLURM = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8", "SLURM_PROCID": "0"}
JOBS = {  # script: variables, processes by run
    "slurm.sh": (SLURM, {"app.7.lull": 8}),
    "slurm-array.sh": ({**SLURM, "SLURM_ARRAY_TASK_ID": "4"}, {"scaling.4.lull": 4}),
    "slurm-heterogeneous.sh": ({**SLURM, "PLAYED_GROUPS": "1 3"}, {"coupled.7.lull": 4}),
    "pbs.sh": ({"PBS_JOBID": "7.server", "PBS_O_WORKDIR": "."}, {"app.7.lull": 8}),
    "lsf.sh": ({"LSB_JOBID": "7"}, {"app.7.lull": 8}),
    "flux.sh": ({}, {"app.lull": 8}),
    "apptainer.sh": ({**SLURM, "IMAGE": "image.sif"}, {"app.7.lull": 8}),
    "kubernetes.yaml": ({}, {"app.lull": 8}),
}


def play(name, words):
    """Plays the launcher: starts all processes and waits for them."""
    if name == "apptainer":
        at = words.index("image.sif") + 1
        assert words[0] == "exec" and "--cleanenv" not in words, words
        os.execvp(words[at], words[at:])
    groups = [[]]
    for word in words:
        if word == ":":
            groups.append([])
        else:
            groups[-1].append(word)
    counts = [int(count) for count in os.environ.get("PLAYED_GROUPS", "").split()] or [None] * len(groups)
    started, rank = [], 0
    commands = []
    for group, count in zip(groups, counts):
        first = next(at for at, word in enumerate(group) if os.path.basename(word) in ("lull", "apptainer"))
        options = group[:first]
        if "-n" in options:
            count = int(options[options.index("-n") + 1])
        commands += [group[first:]] * (count or int(os.environ["SLURM_NTASKS"]))
    for command in commands:
        # They share this machine's memory, so that they are on one node; but each has a parent of its own, as on several.
        told = dict(pair.split("=") for pair in SETS[name].format(rank, len(commands), rank, len(commands)).split())
        started.append(subprocess.Popen(["/bin/sh", "-c", '"$@"; exit $?', "node", *command], env={**os.environ, **told}))
        rank += 1
    sys.exit(max(process.wait() for process in started))


def command_of(path):
    """What a job runs: the script, or the words of the launcher's container."""
    if path.suffix == ".sh":
        return ["/bin/bash", str(path)]
    text = path.read_text(encoding="utf-8")
    words = re.search(r"command: \[(\w+)\]\n +args: (\[.*\])", text)
    return [words.group(1), *json.loads(words.group(2))]


def main():
    lull, cc, folder = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    scripts = {path.name for path in folder.iterdir()}
    assert scripts == set(JOBS), scripts ^ set(JOBS)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "bin").mkdir()
        (work / "bin/lull").symlink_to(lull.resolve())
        for launcher in (*SETS, "apptainer"):
            played = work / "bin" / launcher
            played.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -B {shlex.quote(os.path.abspath(__file__))} "
                              f"--play {launcher} \"$@\"\n", encoding="utf-8")
            played.chmod(0o755)
        (work / "app.c").write_text(PROGRAM, encoding="utf-8")
        subprocess.run([cc, work / "app.c", "-o", work / "app"], check=True)
        for script, (variables, runs) in JOBS.items():
            there = work / ("of " + script)
            there.mkdir()
            environment = {"PATH": f"{work}/bin:/usr/bin:/bin", "HOME": name, "APP": str(work / "app"), **variables}
            command = [word.replace("/runs/", str(there) + "/").replace("/opt/app/app", str(work / "app"))
                       for word in command_of(folder / script)]
            ended = subprocess.run(command, cwd=there, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
            assert ended.returncode == 0, f"{script}: {ended.returncode}\n{ended.stdout}"
            assert ended.stdout.count("ran\n") == sum(runs.values()), f"{script}\n{ended.stdout}"
            if "\nlull report " in (folder / script).read_text(encoding="utf-8"):
                assert "How far to trust" in ended.stdout, f"{script}\n{ended.stdout}"
            assert {path.name for path in there.iterdir()} == set(runs), f"{script}: {list(there.iterdir())}"
            for run, processes in runs.items():
                told = json.loads(subprocess.run([lull, "info", there / run, "--format", "json"], check=True,
                                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
                assert told["facts"]["processes"] == processes, (script, told["facts"])
            print(f"{script}: {runs}")
        if shutil.which("shellcheck"):
            subprocess.run(["shellcheck", *sorted(str(path) for path in folder.glob("*.sh"))], check=True)


if sys.argv[1] == "--play":
    play(sys.argv[2], sys.argv[3:])
else:
    main()
