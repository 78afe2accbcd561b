/* All wait in operations of all for the last: allreduce, alltoall, allgather and their like.
 * Evidence: when each process came to each of them. Silent: where its members are not known. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_n_to_n(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_N_TO_N);
}

const struct lull_rule lull_rule_n_to_n = {
    "n_to_n", "late at an operation of all",
    "all wait in operations such as allreduce and alltoall for the last", find_n_to_n};
