/* An MPI library that says of itself what LIBRARY_SAYS has; all else is the one it is linked to. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Get_library_version(char *version, int *length)
{
    const char *text = getenv("LIBRARY_SAYS");
    snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", text ? text : "");
    *length = (int)strlen(version);
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *length)
{
    return PMPI_Get_library_version(version, length);
}
