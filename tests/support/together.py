"""What several processes of lull print of a run, joined by sockets, against what one prints."""
import os
import subprocess

COMMANDS = (("metrics", "-f", "json", "--by", "thread", "--force", "--whole"), ("info", "-f", "json"))


def differences(lull, run, sizes, commands=COMMANDS):
    """Lines about each command that differs in its output, or in whether it fails."""
    wrong = []
    for command in commands:
        alone = subprocess.run([lull, *command, run], capture_output=True, timeout=600, check=False)
        for seed, members in enumerate(sizes):
            team = subprocess.run([lull, *command, run], capture_output=True, timeout=600, check=False,
                                  env=dict(os.environ, LULL_TEAM_CHAOS="%d:%d" % (members, seed)))
            what = "%s of %d processes" % (" ".join(command), members)
            if (team.returncode == 0) != (alone.returncode == 0):
                wrong.append("%s ends with %d, not %d: %s" % (what, team.returncode, alone.returncode,
                                                              team.stderr.decode(errors="replace").strip()))
            elif team.stdout != alone.stdout:
                wrong.append(what + " prints something else than one does")
    return wrong
