/* What lull model kernel was asked for. */
#ifndef LULL_CLI_MODEL_KERNEL_OPTIONS_H
#define LULL_CLI_MODEL_KERNEL_OPTIONS_H

#include "model/kernel/predict.h"

/* As typed; NULL or 0 where nothing was said. */
struct lull_kernel_settings {
    char **sizes, **indices, **calls; /* NULL at the end */
    char *machine, *cores, *sweep, *traffic, *policy, *seed, *in_core, *compiler, *flags, *mca;
    int run, no_simulation, estimate;
};

struct lull_kernel_wish {
    struct lull_kernel_source source;
    struct lull_kernel_options options;
    const char *machine_path;
    const char *sweep; /* the size; NULL: none */
    double *values;    /* ascending */
    size_t n_values;
    /* Loaded: */
    struct lull_kernel *kernel;
    struct lull_machine *machine;
};

/* LULL_EXIT_OK, or another exit status after a message. */
int lull_kernel_settings_read(const struct lull_kernel_settings *settings, const char *operand,
                              struct lull_arena *arena, struct lull_kernel_wish *ret_wish);
/* Reads machine file and kernel. */
int lull_kernel_wish_load(struct lull_kernel_wish *wish, struct lull_arena *arena);

#endif
