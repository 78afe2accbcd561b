/* What a document carries beside tables: findings, sentences on what a run lost its time by. Text
 * shows the first ones, the page all with a link to the place, JSON all with every digit. They are
 * borrowed, as pictures are; times are ns from the begin of the run. */
#ifndef LULL_REPORT_FINDINGS_H
#define LULL_REPORT_FINDINGS_H

#include "report/document.h"

enum { LULL_FINDINGS_IN_TEXT = 5 };

struct lull_shown_fact {
    const char *id, *label;
    struct lull_cell value;
};

/* What its removal would save of the runtime. */
struct lull_shown_gain {
    const char *fixed;  /* "Divided among its threads"; NULL: "Without it" */
    const char *absent; /* why that is not known; NULL: it is */
    int64_t ns, low_ns, high_ns;
    double factor;
    bool too_small; /* to be told from the error of the replay */
};

struct lull_shown_finding {
    const char *run;  /* its name */
    const char *rule; /* "late_sender" */
    const char *sentence;
    const char *cause, *next; /* NULL: none */
    int64_t lost_ns;          /* core time */
    struct lull_shown_gain gain;
    /* The place; negative or NULL: not one. */
    int64_t rank, thread;
    const char *node, *region, *site;
    int64_t begin, end; /* end 0: none */
    const struct lull_shown_fact *facts;
    uint32_t n_facts;
    /* Where the page shows it: a timeline of the document and a row of it. */
    size_t timeline; /* SIZE_MAX: nowhere */
    uint32_t row;
};

/* Findings of all runs, most important first. `about` is a sentence or two on what holds for all
 * of them, or NULL; `none`: what to say where there are none. */
void lull_document_findings(struct lull_document *document,
                            const struct lull_shown_finding *findings, uint32_t count,
                            const char *about, const char *none);

/* "1.22x faster (1.10x to 1.35x)", or why that is not known. In `arena`. */
const char *lull_gain_text(const struct lull_shown_gain *gain, struct lull_arena *arena);

#endif
