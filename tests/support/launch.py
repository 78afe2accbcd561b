"""The environment in which the tests start MPI programs: as any user, on any number of cores."""
import os
import tempfile

# Open MPI refuses to run as root and to run more processes than there are cores, unless it is told
# to; Open MPI 5 has left the launch to PRRTE, which has names of its own. All processes are on this
# host, and processes of two jobs (who spawns, and who is spawned) talk by TCP: on lo, because Open
# MPI 5 does not pair the addresses of every other interface with themselves and then waits forever.
# Who waits gives its core to others: Open MPI 5 does not see that there are too few. MPICH ignores
# all this. The rest spares what takes a third of the time that a short program needs, and is not there in
# the end: Open MPI 4 otherwise opens UCX to learn that it is of no use on one host, and waits for it;
# hwloc loads what it has for displays and accelerators, with their libraries.
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_pml": "ob1",
            "HWLOC_PLUGINS_PATH": os.devnull,
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "PRTE_MCA_hwloc_default_binding_policy": "none"}


def preload(*libraries):
    """The settings NAME=VALUE that load these. LD_PRELOAD is divided at blanks: what lies in a folder with a blank in
    its name is looked for in that folder."""
    blank = [path for path in libraries if " " in path]
    words = ["LD_PRELOAD=" + ":".join(os.path.basename(path) if " " in path else path for path in libraries)]
    folders = [os.path.dirname(path) for path in blank] + os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return words + (["LD_LIBRARY_PATH=" + ":".join(filter(None, folders))] if blank else [])


# Words for the compiler of a program that shares its cores with others.
PATIENT = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi", "patient.c"), "-ldl",
           "-Wl,--export-dynamic-symbol=sched_yield,--export-dynamic-symbol=dlclose"]


def keep_sessions():
    """Open MPI 4 has one folder for all that a user runs on a host. Who ends last removes it; who makes
    it at that moment learns that it is there, then that it is not, and gives up: 1 mpiexec of 300, two
    at a time. So it is never empty."""
    host = os.uname().nodename.partition(".")[0]
    sessions = os.path.join(tempfile.gettempdir(), "ompi.%s.%d" % (host, os.getuid()))
    os.makedirs(os.path.join(sessions, "kept"), exist_ok=True)


def environment(**more):
    """That of this process with the settings above and `more`."""
    keep_sessions()
    return dict(os.environ, **SETTINGS, **more)
