/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/usage.h"

struct lull_usage_sum lull_usage_of(const struct lull_trace *trace, uint32_t application)
{
    struct lull_usage_sum sum = {0};
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        const struct lull_usage *usage = &location->usage;
        if (location->kind != LULL_LOCATION_THREAD || (usage->user == 0 && usage->system == 0) ||
            (application != LULL_NONE &&
             trace->processes[location->process].application != application))
            continue;
        sum.known++;
        sum.user += (double)usage->user;
        sum.system += (double)usage->system;
        sum.outside += (double)usage->outside;
        sum.minor += (double)usage->minor;
        sum.major += (double)usage->major;
        sum.voluntary += (double)usage->voluntary;
        if (usage->outside > 0 && (!sum.most || usage->outside > sum.most->usage.outside))
            sum.most = location;
    }
    return sum;
}
