#include "record/settings.h"

#include "record/core.h"

#include <errno.h>
#include <stdlib.h>

bool rec_setting_number(const char *name, uint64_t *ret_value)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || errno != 0 || *text == '-')
        return false;
    *ret_value = value;
    return true;
}

/* The rank before MPI_Init, by what launchers tell their children; false: they do not. */
static bool rank_from_launcher(uint32_t *ret_rank)
{
    static const char *const names[] = {"LULL_RECORD_PROCESS", "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",           "PMI_RANK",
                                        "MPI_LOCALRANKID",     "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t rank;
        if (!rec_setting_number(names[i], &rank) || rank >= UINT32_MAX / 2)
            continue;
        *ret_rank = (uint32_t)rank;
        return true;
    }
    return false;
}

bool rec_find_place(void)
{
    uint64_t application, first;
    bool told = rank_from_launcher(&rec_process.rank);
    rec_process.number = rec_process.rank;
    if (!rec_setting_number("LULL_RECORD_APPLICATION", &application) ||
        application >= UINT32_MAX / 2 || !rec_setting_number("LULL_RECORD_FIRST", &first) ||
        first >= UINT32_MAX / 2)
        return true;
    rec_process.application = (uint32_t)application;
    rec_process.first = (uint32_t)first;
    rec_process.number += (uint32_t)first;
    return told;
}
