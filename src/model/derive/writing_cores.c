#include "model/derive/deriving.h"

#include <math.h>

/* Threads for each core, at least 1. */
static double share_of(const struct lull_measured_runs *runs, size_t run)
{
    double threads = runs->links[run].processes * runs->threads[run];
    return runs->cores[run] > 0 ? fmax(1, threads / runs->cores[run]) : 1;
}

static bool are_known(const struct lull_measured_runs *runs)
{
    for (size_t i = 0; i < runs->n_runs; i++)
        if (!runs->cores || !(runs->cores[i] > 0))
            return false;
    return true;
}

void lull_derive_write_cores(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!are_known(runs))
        return;
    double threads = runs->threads[runs->n_runs - 1];
    if (threads == 1)
        fprintf(deriving->out, "  cores = \"cores\",\n");
    else
        fprintf(deriving->out,
                "  cores = function(p) return p.cores / %.17g end, -- threads of a process\n",
                threads);
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += (share_of(runs, i) - 1) * runs->useful[i];
}

void lull_derive_write_cores_parameter(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double cores = 0;
    if (!are_known(runs))
        return;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (share_of(runs, i) > 1)
            cores = runs->cores[i];
    fprintf(deriving->out, "    -- %s\n",
            cores > 0 ? "the runs had no more; on a larger machine each process has its own: 0"
                      : "the runs had one for each thread");
    fprintf(deriving->out,
            "    {name = \"cores\", unit = \"1\", default = %.17g, run = \"cores\", about = "
            "\"cores of all processes together; 0: enough\"},\n",
            cores);
}
