/* What a program asks of its own process: limits and signals. */
#ifndef LULL_BASE_PROCESS_H
#define LULL_BASE_PROCESS_H

/* As many open files as the system allows: some formats keep one open per location. For programs
 * that read traces, not for those that start the user's program, which would inherit it. */
void lull_limits_raise_files(void);

/* Ctrl-C and termination while an output is being written: its temporary files are removed, then
 * the signal ends the process as usual. To be called before threads are made, by programs that
 * write files. */
void lull_interrupt_clean_up(void);

#endif
