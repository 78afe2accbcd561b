/* Ctrl-C and termination while an output is being written: its temporary files are removed, then
 * the signal ends the process as usual. */
#ifndef LULL_CLI_INTERRUPT_H
#define LULL_CLI_INTERRUPT_H

/* To be called before threads are made, by commands that write files. */
void lull_interrupt_clean_up(void);

#endif
