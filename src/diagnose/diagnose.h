/* Diagnosis: what a run loses its time by, by rules. No rule reads a file; replays, which tell what
 * a fix would save, are made by the study of a report (study/diagnosis.h). */
#ifndef LULL_DIAGNOSE_DIAGNOSE_H
#define LULL_DIAGNOSE_DIAGNOSE_H

#include "diagnose/evidence.h"
#include "replay/what_if/what_if.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== finding ================================================================================= */

/* Findings: what a run lost its time by, each as a sentence with its number, place, evidence, cause
 * and, where a replay can tell, its price. */

enum lull_fact_kind {
    LULL_FACT_COUNT,
    LULL_FACT_TIME, /* ns */
    LULL_FACT_SHARE,
    LULL_FACT_RATIO,
    LULL_FACT_BYTES
};

/* A number that a finding rests on. */
struct lull_finding_fact {
    const char *id, *label; /* "waits", "waits that were charged": stable key, and for people */
    uint8_t kind;           /* enum lull_fact_kind */
    double value;
};

enum { LULL_FINDING_FACTS = 8 };

/* Where. What is LULL_NONE or NULL is not one place: all processes, no region. */
struct lull_finding_place {
    uint32_t process;  /* index in the trace */
    uint32_t rank;     /* of that process, as people call it */
    uint32_t node;     /* index in the trace */
    uint32_t location; /* of a thread, where it is not the process as a whole */
    const char *node_name;
    const char *region; /* innermost of the user */
    const char *site;   /* of the region, or of the call at its end; NULL: not known */
    int64_t begin, end; /* ns: the longest instance; end 0: there is none */
    uint32_t instance;  /* the process that was late in it, where `process` is none */
};

/* What its removal would save of the runtime. */
struct lull_finding_gain {
    const char *absent;      /* why it is not known, a sentence; NULL: it is */
    int64_t ns;              /* of the runtime */
    double factor;           /* runtime / runtime without it */
    int64_t low_ns, high_ns; /* what the error of the replay leaves open */
    bool too_small;          /* less than that error */
};

struct lull_rule;

struct lull_finding {
    const struct lull_rule *rule;
    const char *sentence;
    int64_t lost_ns;  /* core time: what others waited because of it, or what it took */
    int64_t bound_ns; /* of the runtime: no fix saves more */
    struct lull_finding_place place;
    const char *cause; /* a sentence: why, or why that is not known */
    struct lull_finding_fact facts[LULL_FINDING_FACTS];
    uint32_t n_facts;
    const struct lull_what_if_options *fix; /* what a replay is to suppose; NULL: it cannot */
    const char *fixed; /* how that is said: "Divided among its threads"; NULL: "Without it" */
    const char *next;  /* a command that goes on from here; NULL: none */
    struct lull_finding_gain gain;
};

/* ==== diagnose ================================================================================ */

/* Findings in `arena`, in the order of what they may be worth (lull_finding_worth), the most first.
 * Returns their number. */
uint32_t lull_diagnose(const struct lull_evidence *evidence, struct lull_arena *arena,
                       struct lull_finding **ret_findings);

/* ns of the runtime that removing it saves: its gain where that is known, else what the cores lost
 * by it, spread over `cores`, and no more than its bound. */
double lull_finding_worth(const struct lull_finding *finding, uint32_t cores);
void lull_findings_sort(struct lull_finding *findings, uint32_t count, uint32_t cores);

/* "late_sender", "late sender" */
const char *lull_finding_rule_id(const struct lull_finding *finding);
const char *lull_finding_rule_name(const struct lull_finding *finding);

#endif
