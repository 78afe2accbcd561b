/* Diagnosis: what a run loses its time by, by rules. No rule reads a file; replays, which tell what
 * a fix would save, are made by the study of a report (study/diagnosis/diagnosis.h). */
#ifndef LULL_DIAGNOSE_DIAGNOSE_H
#define LULL_DIAGNOSE_DIAGNOSE_H

#include "diagnose/evidence.h"
#include "diagnose/finding.h"

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
