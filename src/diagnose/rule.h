/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules: each looks in the evidence for one cause, and adds what it finds. The rules are asked in
 * the order of how much they explain: what one rule has explained, no later rule tells again.
 * Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_H
#define LULL_DIAGNOSE_RULE_H

#include "diagnose/diagnose.h"
#include "trace/resources.h"

#include <math.h>

struct lull_where;
struct lull_where_names;

/* A process and a region that made others wait: the sum of the charges of waits (wait/wait.h) to
 * them. */
struct lull_suspect {
    uint32_t process, region;
    bool inside; /* meant is the region with all that it called; else the region as the innermost */
    bool at_end; /* others waited in MPI_Finalize while the process worked on without them */
    int64_t ns;  /* that others waited for it; 0: a rule has explained them */
    int64_t kinds[LULL_WAIT_KINDS];
    int64_t passed_ns;
    uint64_t waits;
    const struct lull_wait_charge *longest; /* the charge with the longest wait */
    const struct lull_wait_charge *most;    /* the charge with most ns */
};

/* All suspects with one region, those at the end and those of all that the region called apart from
 * the others. */
struct lull_suspicion {
    uint32_t region;
    bool inside;
    bool at_end;
    int64_t ns;
    uint32_t first, count; /* in the suspects of the case, those with most ns first */
    /* `principal` is how many suspects, from the first on, have LULL_SUSPECTS_MOST of the charges.
     * `few`: that is one suspect, or no more than a quarter of the processes. */
    uint32_t principal;
    bool few;
};
#define LULL_SUSPECTS_MOST 0.8

/* The factor for a region that is to take no time in a what-if, where factors must be above 0. */
#define LULL_CASE_NOTHING 1e-6

/* A run under diagnosis, and what was found so far. */
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
    const struct lull_rule *rule;       /* the rule that is asked now */
    struct lull_core_shortage shortage; /* of the application's threads */
    int64_t without_core_ns; /* core time that they had no core; 0 where it is not known */
    /* ns of the runtime that an ideal network would save, where threads without a core may be the
     * cause of all of it; 0: there is no such loss. */
    int64_t hidden_network_ns;
    struct lull_where_names *names; /* of the program's code (diagnose/where.h); NULL: nobody has
                                       asked for them */
    bool noisy; /* a finding of noise was told: single delays are part of that */
};

struct lull_rule {
    const char *id, *name; /* "late_sender", and "late sender" for people */
    const char *summary;   /* what it looks for, for people */
    void (*find)(struct lull_case *c);
};

/* In the order in which they are asked; NULL at the end. */
extern const struct lull_rule *const lull_rules[];

/* Adds a finding of the rule that is asked; place and gain are empty. */
struct lull_finding *lull_case_add(struct lull_case *c, int64_t lost_ns);
void lull_finding_add_fact(struct lull_finding *finding, const char *id, const char *label,
                           uint8_t kind, double value);
void lull_finding_set_process(struct lull_case *c, struct lull_finding *finding, uint32_t process);
void lull_finding_set_region(struct lull_case *c, struct lull_finding *finding, uint32_t region,
                             uint32_t call);
/* Gives the finding a fix: options of a what-if in which all is as measured, for the caller to
 * change. The command that says the same becomes the finding's `next`. */
struct lull_what_if_options *lull_finding_fix(struct lull_case *c, struct lull_finding *finding);
/* A share for a fix: in [0, 1], with few digits in the command. */
double lull_fix_share(double share);

/* The useful time of the processes' first threads in a region, summed over the run, ns; without what
 * they work at the end, after their last operation, where others wait for that. */
struct lull_uneven {
    double mean, median, most;
    uint64_t bursts; /* bursts of all processes in which the region has a part */
};
/* The times of all processes but `except` (LULL_NONE: of all), where the suspicion is. */
struct lull_uneven lull_uneven_of(const struct lull_case *c, const struct lull_suspicion *suspicion,
                                  uint32_t except);
/* The same of the part of these times in which the threads had a core (lull_evidence_core_part). */
struct lull_uneven lull_uneven_with_core(const struct lull_case *c,
                                         const struct lull_suspicion *suspicion, uint32_t except);

/* The times of the suspect's peers, where the suspect is. */
struct lull_uneven lull_peers_of(const struct lull_case *c, const struct lull_suspect *suspect);
/* The useful time of the suspect there, ns. */
double lull_suspect_work(const struct lull_case *c, const struct lull_suspect *suspect);

/* How long a suspect computed where it is suspected, and the median of its peers, ns; and the same
 * without the time in which the threads had no core (lull_evidence_core_part). */
struct lull_lateness {
    double own, median;
    double own_core, median_core;
    double share;   /* (own_core - median_core) / (own - median), 0 .. 1; 1 where own <= median */
    bool corrected; /* a hundredth of `own` or more had no core, for the suspect or at the median */
};
struct lull_lateness lull_lateness_of(const struct lull_case *c,
                                      const struct lull_suspect *suspect);

/* Where less of a useful time than this part had no core, times are told as they are. */
#define LULL_CORRECTED_LEAST 0.01
/* The part of its useful time in which a location had a core; 1 also where that is not known. */
double lull_case_core_part(const struct lull_case *c, uint32_t location);

/* The charges to a suspect are explained: they are taken from it and from the suspicion. */
void lull_suspect_explain(struct lull_suspicion *suspicion, struct lull_suspect *suspect);
/* Finds the principal suspects of a suspicion again, after some were explained. */
void lull_suspicion_divide(struct lull_case *c, struct lull_suspicion *suspicion);

/* "1.23 s", in the arena. */
const char *lull_case_time(const struct lull_case *c, int64_t ns);
/* "1.23 GiB", in the arena. */
const char *lull_case_size(const struct lull_case *c, double bytes);
/* "solve (solve.c:12)", or "MPI_Wait in solve (solve.c:12)" where the function of a call is known;
 * NULL: the region is not known. */
const char *lull_case_name(const struct lull_case *c, uint32_t region);
/* "in solve (solve.c:12)", or "before MPI_Send" where the region is not known. */
const char *lull_case_where(const struct lull_case *c, uint32_t region, uint32_t call);
/* A text as a word of a shell command: in quotes where it needs them. */
const char *lull_case_word(const struct lull_case *c, const char *text);

#endif
