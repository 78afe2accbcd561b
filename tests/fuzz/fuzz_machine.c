/* Machine files of any content. What is accepted is written so that it is read back the same, and
 * goes through all that takes a machine: reports, networks, noise. */
#include "machine/noise_trace.h"
#include "sim/network/machine.h"
#include "view/machine_document.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static char *text_of(const struct lull_machine *machine, size_t *ret_size)
{
    char *text;
    FILE *out = open_memstream(&text, ret_size);
    must(out != NULL);
    lull_machine_write(machine, out);
    fclose(out);
    return text;
}

/* The machine read back. */
static struct lull_machine *write_and_read(const struct lull_machine *machine,
                                           struct lull_arena *arena)
{
    size_t size, size_again;
    char *text = text_of(machine, &size);
    struct lull_machine *again;
    struct lull_error err;
    must(lull_machine_parse(text, size, "again", arena, &again, &err) == LULL_OK);
    char *text_again = text_of(again, &size_again);
    must(size == size_again && memcmp(text, text_again, size) == 0);
    free(text);
    free(text_again);
    return again;
}

static void simulate(const struct lull_machine *machine, struct lull_arena *arena)
{
    static const char *const classes[] = {NULL, "hockney", "loggops", "loggops-compat", "ideal"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        struct lull_network network;
        const char *note;
        lull_network_from_machine(machine, classes[i], 4, arena, &network, &note, NULL);
    }
    const struct lull_noise *noise;
    struct lull_noise_trace trace;
    lull_noise_from_machine(machine, arena, &noise, NULL);
    if (lull_noise_trace_of(machine, arena, &trace, NULL) != LULL_OK)
        return;
    int64_t end = 0;
    for (size_t i = 0; i < trace.count; i++) {
        must(trace.detours[i].begin >= end && trace.detours[i].length > 0);
        end = trace.detours[i].begin + trace.detours[i].length;
    }
    must(end <= trace.duration);
}

static void report(const struct lull_document *document)
{
    for (size_t i = 0; lull_renderers[i]; i++) {
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        must(out != NULL);
        lull_renderers[i]->render(document, &(struct lull_render_options){0}, out);
        fclose(out);
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine;
    struct lull_error err;
    if (lull_machine_parse((const char *)data, size, "fuzz", arena, &machine, &err) == LULL_OK) {
        const struct lull_machine *again = write_and_read(machine, arena);
        simulate(machine, arena);
        report(lull_bench_document(machine, arena));
        report(lull_bench_comparison(machine, "a", again, "b", arena));
    }
    lull_arena_destroy(arena);
    return 0;
}
