#include "support/slow_goal_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 200 };

void *slow_room_for(void *array, unsigned count, size_t size)
{
    void *larger = realloc(array, (size_t)count * size);
    if (!larger)
        abort();
    return larger;
}

static bool read_operation(const char *line, struct slow_operation *operation)
{
    char word[16];
    int at = 0;
    *operation = (struct slow_operation){.kind = SLOW_COMPUTE};
    if (sscanf(line, "l%*u: calc %ld%n", &operation->size, &at) != 1) {
        operation->kind = SLOW_SEND;
        if (sscanf(line, "l%*u: send %ldb to %d%n", &operation->size, &operation->peer, &at) != 2) {
            operation->kind = SLOW_RECEIVE;
            if (sscanf(line, "l%*u: recv %ldb from %d%n", &operation->size, &operation->peer,
                       &at) != 2)
                return false;
        }
    }
    int value, length;
    for (line += at; sscanf(line, " %15s %d%n", word, &value, &length) == 2; line += length)
        *(strcmp(word, "tag") == 0   ? &operation->tag
          : strcmp(word, "cpu") == 0 ? &operation->cpu
                                     : &operation->nic) = value;
    return true;
}

static void read_line(struct slow_program *program, struct slow_rank **rank, const char *line)
{
    unsigned number, other;
    char word[16];
    struct slow_operation operation;
    if (line[0] == '\0' || line[0] == '}')
        return;
    if (sscanf(line, "num_ranks %u", &program->n_ranks) == 1) {
        program->ranks = calloc(program->n_ranks, sizeof *program->ranks);
        return;
    }
    if (sscanf(line, "rank %u {", &number) == 1) {
        *rank = &program->ranks[number];
        return;
    }
    struct slow_rank *r = *rank;
    if (read_operation(line, &operation)) {
        r->operations = slow_room_for(r->operations, r->n_operations + 1, sizeof *r->operations);
        r->operations[r->n_operations++] = operation;
        return;
    }
    if (sscanf(line, "l%u %15s l%u", &number, word, &other) != 3)
        abort();
    r->requirements =
        slow_room_for(r->requirements, r->n_requirements + 1, sizeof *r->requirements);
    r->requirements[r->n_requirements++] =
        (struct slow_requirement){other - 1, number - 1, strcmp(word, "irequires") == 0};
}

void slow_program_read(struct slow_program *program, const char *text)
{
    struct slow_rank *rank = NULL;
    *program = (struct slow_program){0};
    char line[LONGEST];
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length >= sizeof line)
            abort();
        memcpy(line, text, length);
        line[length] = '\0';
        read_line(program, &rank, line);
        text += length + (text[length] == '\n');
    }
    for (unsigned r = 0; r < program->n_ranks; r++) {
        rank = &program->ranks[r];
        for (unsigned i = 0; i < rank->n_requirements; i++)
            rank->operations[rank->requirements[i].after].waits++;
    }
}

void slow_program_free(struct slow_program *program)
{
    for (unsigned r = 0; r < program->n_ranks; r++) {
        free(program->ranks[r].operations);
        free(program->ranks[r].requirements);
    }
    free(program->ranks);
}
