"""The environment in which the tests start MPI programs: as any user, on any number of cores."""
import os

# Open MPI refuses to run as root and to run more processes than there are cores, unless it is told
# to; Open MPI 5 has left the launch to PRRTE, which has names of its own. MPICH ignores them.
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def environment(**more):
    """That of this process with the settings above and `more`."""
    return dict(os.environ, **SETTINGS, **more)
