/* SPDX-License-Identifier: BSD-3-Clause */
/* Diagnosis: what a run loses its time by, found by rules. No rule reads a file. Replays, which
 * tell what a fix would save, are made by the study of a report (study/diagnosis.h). */
#ifndef LULL_DIAGNOSE_DIAGNOSE_H
#define LULL_DIAGNOSE_DIAGNOSE_H

#include "diagnose/evidence.h"
#include "replay/what_if/what_if.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== findings ================================================================================ */

/* A finding is a sentence with its number, place, evidence, cause and, where a replay can tell, its
 * price. */

enum lull_fact_kind {
    LULL_FACT_COUNT,
    LULL_FACT_TIME, /* ns */
    LULL_FACT_SHARE,
    LULL_FACT_RATIO,
    LULL_FACT_BYTES
};

/* A number that a finding rests on. */
struct lull_finding_fact {
    const char *id, *label; /* "waits": a stable key; "waits that were charged": for people */
    uint8_t kind;           /* enum lull_fact_kind */
    double value;
};

enum { LULL_FINDING_FACTS = 10 };

/* Where the time is lost. A member that is LULL_NONE or NULL is not one place: all processes, no
 * region. */
struct lull_finding_place {
    uint32_t process;  /* index in the trace */
    uint32_t rank;     /* of that process: its number for people */
    uint32_t node;     /* index in the trace */
    uint32_t location; /* a thread, where the place is not the process as a whole */
    const char *node_name;
    const char *region; /* the innermost region of the user */
    const char *site;   /* of the region, or of the call at its end; NULL: not known */
    int64_t begin, end; /* the longest instance, ns from the begin of the run; end 0: there is
                           none */
    uint32_t instance;  /* the process that was late in the longest instance, where `process` is
                           LULL_NONE */
};

/* What the removal of a cause would save of the runtime. */
struct lull_finding_gain {
    const char *absent;      /* a sentence: why the gain is not known; NULL: it is known */
    int64_t ns;              /* saved of the runtime */
    double factor;           /* runtime / runtime without it */
    int64_t low_ns, high_ns; /* `ns`, less and more by the error of the replay */
    bool too_small;          /* the gain is less than that error */
};

struct lull_rule;

struct lull_finding {
    const struct lull_rule *rule;
    const char *sentence;
    int64_t lost_ns;  /* core time in ns: what others waited because of it, or what it took */
    int64_t bound_ns; /* ns of the runtime: no fix saves more */
    struct lull_finding_place place;
    const char *cause; /* a sentence: why, or why that is not known */
    struct lull_finding_fact facts[LULL_FINDING_FACTS];
    uint32_t n_facts;
    const struct lull_what_if_options *fix; /* what a replay is to suppose; NULL: no replay can
                                               tell */
    bool ideal_network;                     /* the replay with `fix` is one on an ideal network */
    const char *fixed; /* how `fix` is said: "Divided among its threads"; NULL: "Without it" */
    const char *next;  /* a command that goes on from here; NULL: none */
    struct lull_finding_gain gain;
};

/* ==== the diagnosis =========================================================================== */

/* Asks all rules. The findings live in `arena`, in the order of what they may be worth
 * (lull_finding_worth), the most first. Returns their number. */
uint32_t lull_diagnose(const struct lull_evidence *evidence, struct lull_arena *arena,
                       struct lull_finding **ret_findings);

/* What removing the cause of a finding saves of the runtime, in ns: its gain where that is known,
 * else what the cores lost by it, spread over `cores`, and no more than its bound. */
double lull_finding_worth(const struct lull_finding *finding, uint32_t cores);
void lull_findings_sort(struct lull_finding *findings, uint32_t count, uint32_t cores);

/* "late_sender", "late sender" */
const char *lull_finding_rule_id(const struct lull_finding *finding);
const char *lull_finding_rule_name(const struct lull_finding *finding);

#endif
