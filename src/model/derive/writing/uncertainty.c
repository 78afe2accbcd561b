/* How far runs lie from the sum of the terms. */
#include "model/derive/deriving.h"
#include "stats/special.h"

#include <math.h>

/* Of runs whose processes share cores, which scatter by which of them do, or of the others. */
struct scatter {
    size_t n_runs, n_found; /* n_found: numbers of the model that were found from them */
    double squares;         /* of the logarithms of measured over predicted time */
    double unsure;          /* largest part of a predicted time of which the law is not known */
};

/* The law of the useful time and the time of a message are found from the runs without shared
 * cores, the time of a turn and how much longer computations take from the others. */
static struct scatter scatter_of(const struct deriving *deriving, const double *predicted,
                                 const double *unsure, bool shares)
{
    struct scatter scatter = {.n_found = 1};
    bool has_messages = false;
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        if ((lull_derive_share(deriving, i) > 1) != shares || !(predicted[i] > 0))
            continue;
        scatter.n_runs++;
        scatter.squares += pow(log(deriving->runs->seconds[i] / predicted[i]), 2);
        scatter.unsure = fmax(scatter.unsure, unsure[i] / predicted[i]);
        has_messages = has_messages || deriving->latencies[i] > 0;
    }
    scatter.n_found += shares ? deriving->crowding.is_known : has_messages;
    return scatter;
}

/* By which factor, less 1, a further run is longer or shorter in 95 of 100 cases (Student). What
 * has an unknown law adds to it as an independent error would. INFINITY: too few runs, or so
 * different ones that it is more than a factor of ten; or runs that the terms meet to rounding, as
 * simulated ones may, which do not tell how far others lie. */
static double uncertainty_of(const struct scatter *scatter)
{
    if (scatter->n_runs <= scatter->n_found)
        return INFINITY;
    double freedom = (double)(scatter->n_runs - scatter->n_found);
    double deviation = sqrt(scatter->squares / freedom * (1 + 1 / (double)scatter->n_runs));
    double uncertainty =
        expm1(hypot(lull_student_quantile(0.975, freedom) * deviation, log1p(scatter->unsure)));
    return uncertainty > 9 || uncertainty < 1e-9 ? INFINITY : uncertainty;
}

static void write_value(const struct deriving *deriving, const struct scatter *scatter, bool shares)
{
    double uncertainty = uncertainty_of(scatter);
    if (isfinite(uncertainty) && shares && deriving->crowding.is_known)
        fprintf(deriving->out,
                "return %.4g + math.max(0, crowding(p) / %.6g - 1) -- of %zu runs, and what more "
                "others\n      -- of a core than these had are presumed to make longer\n",
                uncertainty, deriving->crowding.most, scatter->n_runs);
    else if (isfinite(uncertainty))
        fprintf(deriving->out, "return %.4g -- of %zu runs\n", uncertainty, scatter->n_runs);
    else
        fprintf(deriving->out, "return math.huge -- %zu run%s: not known\n", scatter->n_runs,
                scatter->n_runs == 1 ? "" : "s");
}

void lull_derive_write_uncertainty(const struct deriving *deriving, const double *predicted,
                                   const double *unsure)
{
    const struct scatter alone = scatter_of(deriving, predicted, unsure, false);
    fprintf(deriving->out,
            "  -- By which factor, less 1, 95 of 100 runs are longer or shorter at most, if they\n"
            "  -- scatter about the terms as the measured ones do. Whether the laws of the terms\n"
            "  -- hold at other numbers of processes it does not say.\n"
            "  uncertainty = function(p)\n");
    if (lull_derive_has_cores(deriving)) {
        const struct scatter shared = scatter_of(deriving, predicted, unsure, true);
        fprintf(deriving->out, "    if of_core(p) > 1 then\n      ");
        write_value(deriving, &shared, true);
        fprintf(deriving->out, "    end\n");
    }
    fprintf(deriving->out, "    ");
    write_value(deriving, &alone, false);
    fprintf(deriving->out, "  end,\n");
}
