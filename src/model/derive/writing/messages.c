#include "model/derive/deriving.h"
#include "model/program/primitive/primitives.h"

#include <math.h>

static bool is_square(const struct deriving *deriving, bool is_reversed)
{
    unsigned n = deriving->shape.dimensions;
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        uint32_t square[LULL_SHAPE_DIMENSIONS] = {1, 1, 1};
        lull_grid_divide(deriving->runs->links[i].processes, n, square);
        for (unsigned d = 0; d < n; d++)
            if (deriving->fitted[i].extents[d] != square[is_reversed ? n - 1 - d : d])
                return false;
    }
    return true;
}

void lull_derive_write_extents(const struct deriving *deriving)
{
    unsigned n = deriving->shape.dimensions;
    static const char *const reversed[] = {"{g[1]}", "{g[2], g[1]}", "{g[3], g[2], g[1]}"};
    fprintf(deriving->out, "-- Extents of the grid; processes along the first follow each other.\n"
                           "local function extents(p)\n");
    if (is_square(deriving, false)) {
        fprintf(deriving->out, "  return grid(p.P, %u)\nend\n\n", n);
        return;
    }
    if (is_square(deriving, true)) {
        fprintf(deriving->out, "  local g = grid(p.P, %u)\n  return %s\nend\n\n", n,
                reversed[n - 1]);
        return;
    }
    fprintf(deriving->out, "  local measured = {");
    for (size_t i = 0; i < deriving->runs->n_runs; i++) {
        const uint32_t *extents = deriving->fitted[i].extents;
        fprintf(deriving->out, "%s[%u] = {", i ? ", " : "", deriving->runs->links[i].processes);
        for (unsigned d = 0; d < n; d++)
            fprintf(deriving->out, "%s%u", d ? ", " : "", extents[d]);
        fprintf(deriving->out, "}");
    }
    fprintf(deriving->out, "}\n  return measured[p.P] or grid(p.P, %u) -- assumed beyond\nend\n\n",
            n);
}

/* Adds what one process sends on its path. */
static void add_halo_path(struct deriving *deriving, size_t run)
{
    const struct lull_fitted_graph *fitted = &deriving->fitted[run];
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        double extent = fitted->extents[d];
        double neighbours = extent == 1 ? 0 : deriving->shape.periodic ? 2 : fmin(2, extent - 1);
        deriving->latencies[run] += neighbours * fitted->messages;
        deriving->content[run] += neighbours * fitted->messages * fitted->bytes[d];
    }
}

static const double *messages_of_runs(const struct deriving *deriving)
{
    double *messages = lull_arena_zero(deriving->arena, deriving->runs->n_runs, sizeof *messages);
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        messages[i] = deriving->fitted[i].messages;
    return messages;
}

static void write_count(const struct deriving *deriving, const struct lull_derived_law *law)
{
    if (law->exponents[0] == 0 && law->exponents[1] == 0 &&
        law->coefficient == deriving->iterations)
        return;
    fprintf(deriving->out, "count = (");
    lull_derive_write_law(deriving, law);
    fprintf(deriving->out, ") / measured_iterations, ");
}

/* Where ranks are next to each other; what primitives know, for people. */
static void write_ranks(const struct deriving *deriving)
{
    const struct lull_graph_shape *shape = &deriving->shape;
    if (shape->kind == LULL_SHAPE_TREE)
        fprintf(deriving->out, "    -- rank 0 is the root; above rank r > 0 is rank %s\n",
                lull_tree_parents[shape->tree]);
    else if (shape->kind == LULL_SHAPE_SHIFT)
        fprintf(deriving->out, "    -- rank r sends to rank (r + 1) %% P\n");
    else
        fprintf(deriving->out, "    -- rank r sends to ranks r - s and r + s, s = 1%s%s%s\n",
                shape->dimensions > 1 ? ", g[1]" : "", shape->dimensions > 2 ? ", g[1] * g[2]" : "",
                shape->periodic ? ", around each line of the grid" : ", inside of the grid");
}

static void write_halo(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    struct lull_derived_law count =
        lull_derive_law_of_numbers(deriving, messages_of_runs(deriving));
    struct lull_derived_law bytes[LULL_SHAPE_DIMENSIONS];
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y), worst = 0;
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        for (size_t i = 0; i < runs->n_runs; i++)
            y[i] = deriving->fitted[i].bytes[d];
        bytes[d] = lull_derive_law_of_bytes(deriving, (int)d, y);
        worst = fmax(worst, bytes[d].residual);
    }
    fprintf(deriving->out,
            "    -- messages to the neighbours of a %s: all of them; their number %s,\n"
            "    -- their bytes %s\n",
            lull_shape_name(&deriving->shape),
            lull_derive_exactness(count.residual, deriving->arena),
            lull_derive_exactness(worst, deriving->arena));
    write_ranks(deriving);
    if (deriving->shape.is_ambiguous)
        fprintf(deriving->out,
                "    -- (the runs do not tell an open boundary from a periodic one)\n");
    fprintf(deriving->out,
            "    {name = \"neighbours\", time = function(p)\n      local g = extents(p)\n"
            "      return halo{grid = g, periodic = %s, ",
            deriving->shape.periodic ? "true" : "false");
    write_count(deriving, &count);
    fprintf(deriving->out, "bytes = {");
    for (unsigned d = 0; d < deriving->shape.dimensions; d++) {
        fprintf(deriving->out, "%s", d ? ", " : "");
        lull_derive_write_law_of_bytes(deriving, &bytes[d]);
    }
    fprintf(deriving->out, "}}\n    end},\n");
    for (size_t i = 0; i < runs->n_runs; i++)
        add_halo_path(deriving, i);
}

static void write_all_to_all(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y);
    for (size_t i = 0; i < runs->n_runs; i++) {
        double others = runs->links[i].processes - 1.0;
        y[i] = deriving->fitted[i].bytes[0];
        deriving->latencies[i] += others * deriving->fitted[i].messages;
        deriving->content[i] += others * deriving->fitted[i].messages * y[i];
    }
    struct lull_derived_law bytes = lull_derive_law_of_numbers(deriving, y);
    struct lull_derived_law count =
        lull_derive_law_of_numbers(deriving, messages_of_runs(deriving));
    fprintf(
        deriving->out,
        "    -- messages from everyone to everyone: their number %s, their bytes %s\n"
        "    {name = \"everyone\", time = function(p)\n      return message{count = (p.P - 1) * (",
        lull_derive_exactness(count.residual, deriving->arena),
        lull_derive_exactness(bytes.residual, deriving->arena));
    lull_derive_write_law(deriving, &count);
    fprintf(deriving->out, ") / measured_iterations, bytes = ");
    lull_derive_write_law(deriving, &bytes);
    fprintf(deriving->out, "}\n    end},\n");
}

/* Of one tree with messages alike in both directions, or of each direction. */
static void write_tree_call(struct deriving *deriving, const struct lull_derived_law *count,
                            enum lull_tree_direction direction, bool is_up)
{
    static const char *const directions[] = {"down", "up", "both"};
    const struct lull_measured_runs *runs = deriving->runs;
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y);
    for (size_t i = 0; i < runs->n_runs; i++)
        y[i] = deriving->fitted[i].bytes[is_up];
    struct lull_derived_law bytes = lull_derive_law_of_numbers(deriving, y);
    fprintf(deriving->out, "tree{kind = \"%s\", direction = \"%s\", ",
            lull_tree_names[deriving->shape.tree], directions[direction]);
    write_count(deriving, count);
    fprintf(deriving->out, "bytes = ");
    lull_derive_write_law(deriving, &bytes);
    fprintf(deriving->out, "} -- bytes %s\n",
            lull_derive_exactness(bytes.residual, deriving->arena));
}

static void write_tree(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    const struct lull_graph_shape *shape = &deriving->shape;
    bool is_alike = true, is_both = shape->direction == LULL_TREE_BOTH;
    for (size_t i = 0; i < runs->n_runs; i++) {
        const struct lull_fitted_graph *fitted = &deriving->fitted[i];
        double depth = lull_tree_depth(shape->tree, runs->links[i].processes) * fitted->messages;
        is_alike = is_alike && fitted->bytes[0] == fitted->bytes[1];
        deriving->latencies[i] += (is_both ? 2 : 1) * depth;
        deriving->content[i] += depth * (fitted->bytes[0] + fitted->bytes[1]);
    }
    struct lull_derived_law count =
        lull_derive_law_of_numbers(deriving, messages_of_runs(deriving));
    fprintf(deriving->out, "    -- messages of a %s: all of them; their number %s\n",
            lull_shape_name(shape), lull_derive_exactness(count.residual, deriving->arena));
    write_ranks(deriving);
    if (shape->is_ambiguous)
        fprintf(deriving->out, "    -- (the runs do not tell it from another tree)\n");
    fprintf(deriving->out, "    {name = \"tree\", time = function(p)\n      return ");
    if (is_both && !is_alike) {
        fprintf(deriving->out, "0");
        for (int up = 0; up < 2; up++) {
            fprintf(deriving->out, "\n        + ");
            write_tree_call(deriving, &count, up ? LULL_TREE_UP : LULL_TREE_DOWN, up);
        }
    } else {
        write_tree_call(deriving, &count, shape->direction, shape->direction == LULL_TREE_UP);
    }
    fprintf(deriving->out, "    end},\n");
}

static void write_shift(struct deriving *deriving)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double *y = lull_arena_zero(deriving->arena, runs->n_runs, sizeof *y);
    for (size_t i = 0; i < runs->n_runs; i++) {
        y[i] = deriving->fitted[i].bytes[0];
        deriving->latencies[i] += deriving->fitted[i].messages;
        deriving->content[i] += deriving->fitted[i].messages * y[i];
    }
    struct lull_derived_law bytes = lull_derive_law_of_numbers(deriving, y);
    struct lull_derived_law count =
        lull_derive_law_of_numbers(deriving, messages_of_runs(deriving));
    fprintf(deriving->out, "    -- messages to the next rank: their number %s, their bytes %s\n",
            lull_derive_exactness(count.residual, deriving->arena),
            lull_derive_exactness(bytes.residual, deriving->arena));
    write_ranks(deriving);
    fprintf(deriving->out, "    {name = \"next\", time = function(p)\n      return message{");
    write_count(deriving, &count);
    fprintf(deriving->out, "bytes = ");
    lull_derive_write_law(deriving, &bytes);
    fprintf(deriving->out, "}\n    end},\n");
}

/* What was measured of a process of a run, which is found again by the number of processes, and by
 * the size of the problem where runs differ in that. */
static void write_irregular_run(struct deriving *deriving, size_t run)
{
    const struct lull_measured_runs *runs = deriving->runs;
    double messages = 0, bytes = 0, processes = runs->links[run].processes;
    for (size_t l = 0; l < runs->links[run].count; l++) {
        messages += (double)runs->links[run].items[l].messages;
        bytes += (double)runs->links[run].items[l].bytes;
    }
    deriving->latencies[run] += messages / processes;
    deriving->content[run] += bytes / processes;
    if (runs->size_name)
        fprintf(deriving->out, "        {%.0f, %.17g, {%.17g, %.17g}},\n", processes,
                runs->size[run], messages / processes, messages > 0 ? bytes / messages : 0);
    else
        fprintf(deriving->out, "        [%.0f] = {%.17g, %.17g},\n", processes,
                messages / processes, messages > 0 ? bytes / messages : 0);
}

static void write_irregular(struct deriving *deriving)
{
    const char *size = deriving->runs->size_name;
    fprintf(deriving->out,
            "    -- messages: the graph is irregular, no chain, ring, grid, tree, or everyone to "
            "everyone.\n"
            "    -- For each number of processes%s that was measured: messages of a process, bytes "
            "of one.\n"
            "    {name = \"irregular messages\", time = function(p)\n"
            "      if p.P == 1 then return 0 end\n      local measured = {\n",
            size ? " and size" : "");
    for (size_t i = 0; i < deriving->runs->n_runs; i++)
        write_irregular_run(deriving, i);
    if (size)
        fprintf(deriving->out,
                "      }\n      local here\n      for i = 1, #measured do\n"
                "        local run = measured[i]\n"
                "        if run[1] == p.P and run[2] == p.%s then here = run[3] end\n      end\n"
                "      if not here then\n"
                "        error(\"the messages are irregular: known for the measured numbers of "
                "processes and sizes alone\")\n      end\n",
                size);
    else
        fprintf(deriving->out,
                "      }\n      local here = measured[p.P] or\n"
                "        error(\"the messages are irregular: known for the measured numbers of "
                "processes alone\")\n");
    fprintf(deriving->out,
            "      return message{count = here[1] / measured_iterations, bytes = here[2]}\n"
            "    end},\n");
}

void lull_derive_write_messages(struct deriving *deriving)
{
    static void (*const writers[])(struct deriving *) = {[LULL_SHAPE_NONE] = NULL,
                                                         [LULL_SHAPE_GRID] = write_halo,
                                                         [LULL_SHAPE_ALL] = write_all_to_all,
                                                         [LULL_SHAPE_SHIFT] = write_shift,
                                                         [LULL_SHAPE_TREE] = write_tree,
                                                         [LULL_SHAPE_IRREGULAR] = write_irregular};
    if (writers[deriving->shape.kind])
        writers[deriving->shape.kind](deriving);
}
