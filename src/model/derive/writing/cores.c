#include "model/derive/deriving.h"
#include "model/program/program_model.h"

#include <math.h>

bool lull_derive_has_cores(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (!runs->cores || !(runs->cores[i] > 0))
            return false;
    return true;
}

double lull_derive_share(const struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!lull_derive_has_cores(deriving))
        return 1;
    double threads = runs->links[run].processes * runs->threads[run];
    return lull_processes_of_core(threads, runs->cores[run]);
}

double lull_derive_disturbed(const struct deriving *deriving, size_t run)
{
    double processes = deriving->runs->links[run].processes;
    return lull_derive_has_cores(deriving) ? fmin(processes, deriving->runs->cores[run])
                                           : processes;
}

void lull_derive_write_sharing(const struct deriving *deriving)
{
    if (!lull_derive_has_cores(deriving))
        return;
    double threads = deriving->runs->threads[deriving->runs->n_runs - 1];
    fprintf(deriving->out, "-- Processes of the core that has most.\nlocal function of_core(p)\n"
                           "  return p.cores > 0 and math.max(1, math.ceil(p.P");
    if (threads != 1)
        fprintf(deriving->out, " * %.17g", threads);
    fprintf(deriving->out, " / p.cores)) or 1\nend\n\n");
}

void lull_derive_write_network(const struct deriving *deriving,
                               const struct lull_message_times *times)
{
    if (times->is_shared)
        fprintf(deriving->out,
                "  network = {bandwidth = \"B\", latency = function(p) -- of which a core with n "
                "processes makes n times as much\n"
                "    return of_core(p) > 1 and p.T_core + p.T_turn / of_core(p) or p.T\n  end},\n");
    else
        fprintf(deriving->out, "  network = {latency = \"T\", bandwidth = \"B\"},\n");
}

void lull_derive_write_cores(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    if (!lull_derive_has_cores(deriving))
        return;
    double threads = runs->threads[runs->n_runs - 1];
    if (threads == 1)
        fprintf(deriving->out, "  cores = \"cores\",\n");
    else
        fprintf(deriving->out,
                "  cores = function(p) return p.cores / %.17g end, -- threads of a process\n",
                threads);
    for (size_t i = 0; i < runs->n_runs; i++)
        deriving->computation[i] += (lull_derive_share(deriving, i) - 1) * runs->useful[i];
}

void lull_derive_write_cores_parameter(const struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double cores = 0;
    if (!lull_derive_has_cores(deriving))
        return;
    for (size_t i = 0; i < runs->n_runs; i++)
        if (lull_derive_share(deriving, i) > 1)
            cores = runs->cores[i];
    fprintf(deriving->out, "    -- %s\n",
            cores > 0 ? "the runs had no more; on a larger machine each process has its own: 0"
                      : "the runs had one for each thread");
    fprintf(deriving->out,
            "    {name = \"cores\", unit = \"1\", default = %.17g, run = \"cores\", about = "
            "\"cores of all processes together; 0: enough\"},\n",
            cores);
}
