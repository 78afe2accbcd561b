#include "study/replay/supposition.h"

#include "sim/network/machine.h"
#include "study/replay/replayed.h"

static lull_status check_networks(const struct lull_sweep *networks, struct lull_arena *arena,
                                  struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint64_t p = 0; status == LULL_OK && p < networks->n_points; p++) {
        struct lull_network network;
        status = lull_replay_read_network(lull_sweep_spec(networks, p, 0, arena), NULL, 0, arena,
                                          &network, err);
    }
    return status;
}

lull_status lull_replay_networks_read(const char *text, struct lull_arena *arena,
                                      const struct lull_sweep **ret_networks,
                                      struct lull_error *err)
{
    const struct lull_spec **specs = lull_arena_zero(arena, 1, sizeof *specs);
    struct lull_spec *spec = NULL;
    lull_status status = lull_spec_parse(text, arena, &spec, err);
    specs[0] = spec;
    if (status == LULL_OK)
        status = lull_sweep_make(specs, 1, arena, ret_networks, err);
    return status == LULL_OK ? check_networks(*ret_networks, arena, err) : status;
}

/* That the machine has a network is known before a trace is read. */
static lull_status read_machine(const char *path, struct lull_arena *arena,
                                const struct lull_machine **ret_machine, struct lull_error *err)
{
    struct lull_machine *machine;
    struct lull_network network;
    const char *note;
    lull_status status = lull_machine_read(path, arena, &machine, err);
    if (status != LULL_OK)
        return status;
    *ret_machine = machine;
    return lull_network_from_machine(machine, NULL, 1, arena, &network, &note, err) == LULL_OK
               ? LULL_OK
               : lull_fail_prefix(err, LULL_ERR_FORMAT, "%s", path);
}

static lull_status read_network(const struct lull_supposition_texts *texts,
                                struct lull_arena *arena, struct lull_supposition *supposition,
                                struct lull_error *err)
{
    if (texts->machine && texts->network)
        return lull_fail(err, LULL_ERR_RANGE, "--network and --machine exclude each other");
    if (texts->machine)
        return read_machine(texts->machine, arena, &supposition->machine, err);
    if (texts->network &&
        lull_replay_networks_read(texts->network, arena, &supposition->networks, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--network");
    return LULL_OK;
}

/* ---- in words ------------------------------------------------------------------------------- */

static uint32_t add_words(const char **words, uint32_t n, const char *option, const char *value)
{
    if (!value)
        return n;
    words[n] = option;
    words[n + 1] = value;
    return n + 2;
}

static const char *const *spell(const struct lull_supposition_texts *texts,
                                const struct lull_what_if_options *what_if,
                                struct lull_arena *arena)
{
    enum { SINGLE = 4 }; /* options that are not repeated */
    const char **of_what_if;
    const uint32_t n_of_what_if = lull_what_if_spell(what_if, arena, &of_what_if);
    uint32_t n_injected = 0, n = 0;
    while (texts->inject && texts->inject[n_injected])
        n_injected++;
    const size_t most = n_of_what_if + 2 * ((size_t)n_injected + SINGLE);
    const char **words = lull_arena_zero(arena, most + 1, sizeof *words);
    n = add_words(words, n, "--network", texts->network);
    n = add_words(words, n, "--machine", texts->machine);
    n = add_words(words, n, "--cpu-speed", texts->cpu_speed);
    for (uint32_t i = 0; i < n_of_what_if; i++)
        words[n++] = of_what_if[i];
    for (uint32_t i = 0; i < n_injected; i++)
        n = add_words(words, n, "--inject", texts->inject[i]);
    add_words(words, n, "--seed", n_injected ? texts->seed : NULL);
    return words;
}

/* --------------------------------------------------------------------------------------------- */

lull_status lull_supposition_read(const struct lull_supposition_texts *texts,
                                  struct lull_arena *arena, struct lull_supposition *supposition,
                                  struct lull_error *err)
{
    struct lull_what_if_options *what_if = &supposition->what_if;
    if (texts->cpu_speed && !lull_factor_read(texts->cpu_speed, &supposition->cpu_speed))
        return lull_fail(err, LULL_ERR_RANGE, "--cpu-speed is '%s', expected a number above 0",
                         texts->cpu_speed);
    lull_status status = lull_what_if_regions_read(texts->regions, arena, what_if, err);
    if (status == LULL_OK)
        status = lull_what_if_cuts_read(texts->medians, arena, what_if, err);
    if (status == LULL_OK)
        status = read_network(texts, arena, supposition, err);
    if (status != LULL_OK)
        return status;
    supposition->words = spell(texts, what_if, arena);
    if (supposition->disturbance && supposition->disturbance->has_network &&
        (supposition->networks || supposition->machine))
        return lull_fail(err, LULL_ERR_RANGE,
                         "--inject with a network, and --network or --machine, exclude each other");
    if (supposition->against && supposition->networks && supposition->networks->n_points > 1)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--against compares one prediction, not those of a sweep");
    return LULL_OK;
}
