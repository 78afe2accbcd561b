"""Whether a run says the same when it is packed, and comes back to the last byte."""
import filecmp
import os
import re
import subprocess
import tempfile

COMMANDS = (["metrics", "--format", "json"], ["info", "--format", "json"],
            ["report", "--no-prices", "--format", "json"])


def files_of(run):
    return sorted(os.path.relpath(os.path.join(folder, name), run)
                  for folder, _, names in os.walk(run) for name in names)


def said(lull, words, run):
    """What a command says of a run that has the same name wherever it is, but for names of files."""
    done = subprocess.run([lull, *words, os.path.basename(run)], cwd=os.path.dirname(run),
                          capture_output=True, text=True, timeout=600)
    complaints = re.sub(r"[\w.-]+\.tapes: ", "", done.stderr).replace("run/", "")
    return done.returncode, re.sub(r"[\w.-]+\.tapes: ", "", done.stdout).replace("run/", ""), complaints


def check(lull, run, commands=COMMANDS):
    """Complaints; none in a build without libzstd."""
    with tempfile.TemporaryDirectory() as folder:
        packed = os.path.join(folder, os.path.basename(run))
        back = os.path.join(folder, "back")
        made = subprocess.run([lull, "pack", run, "-o", packed], capture_output=True, text=True,
                              timeout=600)
        if "without libzstd" in made.stderr:
            return []
        if made.returncode != 0:
            opened = subprocess.run([lull, "info", run], capture_output=True, timeout=600)
            return [made.stderr] if opened.returncode == 0 else []
        unmade = subprocess.run([lull, "unpack", packed, "-o", back], capture_output=True,
                                text=True, timeout=600)
        if unmade.returncode != 0:
            return [unmade.stderr]
        if files_of(run) != files_of(back):
            return [f"other files came back: {files_of(run)} and {files_of(back)}"]
        complaints = [f"{name} came back with other bytes" for name in files_of(run)
                      if not filecmp.cmp(os.path.join(run, name), os.path.join(back, name), False)]
        # An empty one stays: of a process that was killed when it had created it.
        complaints += [f"{name} is left in the packed run" for name in files_of(packed)
                       if re.search(r"/\d+(\.\d+)?\.(tape|sums|definitions|tail)$", name) and
                       os.path.getsize(os.path.join(packed, name)) > 0]
        for words in commands:
            if said(lull, words, run) != said(lull, words, packed):
                complaints.append(f"lull {' '.join(words)} says something else when packed")
        return complaints
