/* Collective operations as messages: a script per rank says step by step what it sends and receives
 * (sim/collective/). */
#include "sim/engine/run.h"

#include <stdlib.h>

uint32_t lull_script_new(struct lull_engine *engine, const struct lull_script *script)
{
    struct lull_scripts *all = &engine->scripts;
    uint32_t id = all->n_free > 0 ? all->first_free : all->count;
    if (all->n_free > 0) {
        all->first_free = all->items[id].step;
        all->n_free--;
    } else if (lull_run_grow((void **)&all->items, &all->room, all->count + (size_t)1,
                             sizeof *all->items)) {
        all->count++;
    } else {
        lull_run_out_of_memory(engine);
        return UINT32_MAX;
    }
    all->items[id] = *script;
    return id;
}

static void end_script(struct lull_engine *engine, uint32_t id)
{
    struct lull_script *script = &engine->scripts.items[id];
    struct lull_moment moment = {engine->now, script->path};
    uint32_t record = script->record;
    script->path = script->later_path = 0;
    script->step = engine->scripts.first_free;
    engine->scripts.first_free = id;
    engine->scripts.n_free++;
    lull_collect_over(engine, record, moment);
}

static void begin_transfer(struct lull_engine *engine, uint32_t script_id,
                           const struct lull_collective_transfer *part, uint32_t number)
{
    const struct lull_script *script = &engine->scripts.items[script_id];
    const struct lull_group *group = &engine->program->groups[script->group];
    uint32_t me = lull_group_rank(group, script->call.me),
             peer = lull_group_rank(group, part->peer);
    uint32_t id = lull_transfer_new(engine);
    if (id == LULL_NO_TRANSFER)
        return;
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->flags = LULL_TRANSFER_OF_SCRIPT | (part->send ? 0 : LULL_TRANSFER_RECEIVE);
    transfer->source = part->send ? me : peer;
    transfer->target = part->send ? peer : me;
    transfer->tag = part->tag;
    transfer->comm = script->comm;
    transfer->bytes = part->bytes;
    transfer->owner = script_id;
    transfer->open_next = number;
    transfer->cpu = lull_transfer_at(engine, script->record)->cpu;
    transfer->buffered = engine->class->waits_as_needed;
    lull_run_release(engine, id, (struct lull_moment){engine->now, script->path});
}

/* Starts the transfers of one step; with compat sends come first. */
static void begin_step(struct lull_engine *engine, uint32_t id, uint32_t step, uint32_t n)
{
    for (unsigned pass = 0; pass < (engine->compat ? 2 : 1); pass++)
        for (uint32_t i = 0; i < n; i++) {
            struct lull_collective_transfer part;
            lull_collective_transfer(&engine->scripts.items[id].call, step, i, &part);
            if (!engine->compat || part.send == (pass == 0))
                begin_transfer(engine, id, &part, i + 1);
        }
}

void lull_script_progress(struct lull_engine *engine, uint32_t id, uint32_t part,
                          struct lull_moment moment)
{
    struct lull_script *script = &engine->scripts.items[id];
    if (moment.time == script->resume ? part >= script->latest : moment.time > script->resume) {
        script->resume = moment.time;
        script->latest = part;
        script->later_path = moment.path;
    }
    if (--script->pending == 0) {
        script->path = script->later_path;
        lull_push(engine, LULL_RUN_SCRIPT,
                  script->resume > engine->now ? script->resume : engine->now,
                  lull_group_rank(&engine->program->groups[script->group], script->call.me), id);
    }
}

void lull_script_step(struct lull_engine *engine, uint32_t id)
{
    struct lull_script *script = &engine->scripts.items[id];
    uint32_t n;
    do {
        n = lull_collective_step(&script->call, script->step++);
    } while (n == 0);
    if (n == LULL_COLLECTIVE_OVER) {
        end_script(engine, id);
        return;
    }
    script->pending = n + 1; /* one for this function */
    script->latest = 0;
    script->resume = engine->now;
    script->later_path = script->path;
    begin_step(engine, id, script->step - 1, n);
    lull_script_progress(engine, id, 0, (struct lull_moment){INT64_MIN, 0});
}

void lull_script_roots(struct lull_engine *engine)
{
    struct lull_scripts *all = &engine->scripts;
    for (uint32_t i = 0; i < all->count; i++) {
        lull_path_root(engine->fabric.path, &all->items[i].path);
        lull_path_root(engine->fabric.path, &all->items[i].later_path);
    }
}

uint32_t lull_script_record(const struct lull_engine *engine, uint32_t script)
{
    return engine->scripts.items[script].record;
}

void lull_script_close(struct lull_engine *engine)
{
    free(engine->scripts.items);
    engine->scripts = (struct lull_scripts){0};
}
