"""Two nodes where there is one: an MPI starts its ranks through `node_shell`, which gives each node
a host name and a clock of its own. All traffic is on the loopback interface."""
import os
import shutil
import subprocess

import launch

SHELL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_shell")
# For what is started so: above all, it keeps an MPI from looking for other interfaces.
ENVIRONMENT = dict(launch.SETTINGS, UCX_TLS="tcp,self", UCX_NET_DEVICES="lo", FI_PROVIDER="tcp",
                   FI_TCP_IFACE="lo")


def launcher(family, per_node):
    """The words in front of a program; they must be run in an environment with ENVIRONMENT."""
    hosts = ",".join("node%d:%d" % (node, per_node) for node in (1, 2))
    if family == "openmpi":
        words = ["mpirun.openmpi", "--bind-to", "none", "--host", hosts]
        for name, value in (("plm_rsh_agent", SHELL), ("oob_tcp_if_include", "lo"),
                            ("btl_tcp_if_include", "lo"), ("btl", "self,tcp,vader"),
                            ("pml", "ob1")):
            words += ["--mca", name, value]
    else:
        words = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", SHELL, "-hosts", hosts,
                 "-localhost", "127.0.0.1"]
    return words + ["-n", str(2 * per_node)]


def missing(family):
    """Why there cannot be two nodes here; None where there can."""
    words = launcher(family, 1)
    for tool in ("unshare", "hostname", words[0]):
        if not shutil.which(tool):
            return "%s was not found" % tool
    done = subprocess.run([SHELL, "node1", "hostname"], capture_output=True, text=True, check=False)
    if done.stdout != "node1\n":
        return "no name spaces: " + done.stderr.strip()
    try:
        done = subprocess.run(words + ["hostname"], env=dict(os.environ, **ENVIRONMENT), timeout=600,
                              capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return "%s does not start there" % words[0]
    if sorted(done.stdout.split()) != ["node1", "node2"]:
        complaint = next((line for line in done.stderr.splitlines() if line.strip(" -")), "no word")
        return "%s does not start there: %s" % (words[0], complaint)
    return None
