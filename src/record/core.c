/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

__thread struct rec_thread *rec_self_or_null __attribute__((tls_model("initial-exec")));
__thread unsigned rec_locks_held __attribute__((tls_model("initial-exec")));
struct rec_thread rec_nobody = {.gate = REC_GATE_CLOSED, .closed = true};
struct rec_process rec_process;

void rec_process_name(char *name, size_t size)
{
    if (rec_process.application == 0)
        snprintf(name, size, "rank %u", rec_process.rank);
    else
        snprintf(name, size, "spawn %u rank %u", rec_process.application, rec_process.rank);
}

/* ---- settings -------------------------------------------------------------------------------- */

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

/* The rank before MPI_Init, from environment variables of launchers; false: there is none. */
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

/* Finds rank, application and number of the process; false as rec_read_settings. */
static bool find_rank_and_number(void)
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

bool rec_read_settings(void)
{
    uint64_t value;
    rec_process.budget =
        rec_setting_number("LULL_RECORD_BYTES", &value) ? value : UINT64_C(1) << 30;
    rec_process.profile = rec_setting_number("LULL_RECORD_PROFILE", &value) && value != 0;
    rec_process.keeps_last =
        !rec_process.profile && rec_setting_number("LULL_RECORD_LAST", &value) && value != 0;
    rec_process.callpath = rec_setting_number("LULL_RECORD_CALLPATH", &value)
                               ? (uint32_t)(value < REC_MOST_CALLPATH ? value : REC_MOST_CALLPATH)
                               : 0;
    return find_rank_and_number();
}
