/* Rules: each looks at the evidence for one cause, and adds what it finds. They are asked from the
 * strongest explanation on: what one has explained, none tells again. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_H
#define LULL_DIAGNOSE_RULE_H

#include "diagnose/diagnose.h"

#include <math.h>

/* Charges of waits (wait/wait.h) to one process and region. */
struct lull_suspect {
    uint32_t process, region;
    int64_t ns; /* that others waited for it; 0: explained */
    int64_t kinds[LULL_WAIT_KINDS];
    int64_t passed_ns;
    uint64_t waits;
    const struct lull_wait_charge *longest; /* with the longest wait */
    const struct lull_wait_charge *most;    /* with most ns */
};

/* All suspects of one region. */
struct lull_suspicion {
    uint32_t region;
    int64_t ns;
    uint32_t first, count; /* suspects, those with most first */
    /* So many first ones have LULL_SUSPECTS_MOST of the charges; `few`: they are one, or no more
     * than a quarter of the processes. */
    uint32_t principal;
    bool few;
};
#define LULL_SUSPECTS_MOST 0.8

/* A factor for a region that is to take no time: factors are above 0. */
#define LULL_CASE_NOTHING 1e-6

/* A run, and what is found of it so far. */
struct lull_case {
    const struct lull_evidence *evidence;
    struct lull_arena *arena;
    int64_t core_ns, least_ns;
    uint32_t processes; /* of the application */
    struct lull_suspect *suspects;
    struct lull_suspicion *suspicions; /* most ns first */
    uint32_t n_suspicions;
    struct lull_finding *findings;
    uint32_t n_findings;
    size_t capacity;
    const struct lull_rule *rule; /* that is asked now */
    bool noisy;                   /* noise was told: single delays are part of it */
};

struct lull_rule {
    const char *id, *name; /* "late_sender", "late sender" */
    const char *summary;   /* what it looks for, for people */
    void (*find)(struct lull_case *c);
};

/* In the order in which they are asked; NULL at the end. */
extern const struct lull_rule *const lull_rules[];

/* A new finding of the rule that is asked, with place and gain empty. */
struct lull_finding *lull_case_add(struct lull_case *c, int64_t lost_ns);
void lull_finding_add_fact(struct lull_finding *finding, const char *id, const char *label,
                           uint8_t kind, double value);
void lull_finding_set_process(struct lull_case *c, struct lull_finding *finding, uint32_t process);
void lull_finding_set_region(struct lull_case *c, struct lull_finding *finding, uint32_t region,
                             uint32_t call);
/* Gets options that are as measured, to be filled in. The command that says the same becomes
 * `next`. */
struct lull_what_if_options *lull_finding_fix(struct lull_case *c, struct lull_finding *finding);

/* What it was charged with is explained. */
void lull_suspect_explain(struct lull_suspicion *suspicion, struct lull_suspect *suspect);
/* The principal suspects again, after some were explained. */
void lull_suspicion_divide(struct lull_case *c, struct lull_suspicion *suspicion);

/* "1.23 s", in the arena. */
const char *lull_case_time(const struct lull_case *c, int64_t ns);
/* "in solve (solve.c:12)", or "before MPI_Send" where the region is not known. */
const char *lull_case_where(const struct lull_case *c, uint32_t region, uint32_t call);
/* A name for a shell: in quotes where it needs them. */
const char *lull_case_word(const struct lull_case *c, const char *text);

#endif
