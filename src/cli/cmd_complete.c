/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull complete`: what a word of a command line of lull may become, for the completion of shells
 * (data/completions). It looks at the tables of commands, options and specs, so that these are the
 * only place where an option has to be added. */
#include "cli/command.h"
#include "model/fit/fit.h"
#include "sim/memory.h"
#include "sim/network/network.h"
#include "sim/noise/noise.h"
#include "sim/pattern/pattern.h"
#include "sim/setup.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

extern const struct lull_command lull_cmd_help;

/* ==== what is offered ========================================================================= */

/* A line of output is a word, and behind a tab what it means; a word that ends in one of "=:," goes
 * on. Lines that begin with ':' tell the shell to offer something of its own. */
#define OFFER_FILES   ":files"
#define OFFER_FOLDERS ":folders"
#define OFFER_COMMAND ":command" /* a command line that begins behind so many words */

/* The word at the cursor: offers begin with all of it. `given` is what they do not choose about,
 * such as "--network=". */
struct typed_word {
    const char *text;
    size_t given;
};

/* Offers a word, of which `name` and `end` follow what is given. */
static void offer(const struct typed_word *typed, const char *name, const char *end,
                  const char *about)
{
    const char *part = typed->text + typed->given;
    const size_t length = strlen(part), most = strlen(name);
    if (length <= most ? strncmp(name, part, length) != 0
                       : strncmp(name, part, most) != 0 || strcmp(part + most, end) != 0)
        return;
    printf("%.*s%s%s\t%s\n", (int)typed->given, typed->text, name, end, about);
}

/* What is typed, with all up to the last of these characters as given. */
static struct typed_word behind_last(const struct typed_word *typed, const char *characters)
{
    struct typed_word rest = *typed;
    for (size_t i = typed->given; typed->text[i]; i++)
        if (strchr(characters, typed->text[i]))
            rest.given = i + 1;
    return rest;
}

/* ==== specs =================================================================================== */

/* "NAME:KEY=VALUE,KEY=VALUE". One kind of them, named by the option that takes it. */
struct spec_kind {
    const char *option;
    /* Offers the names, each with and without a colon, or the keys of one. */
    void (*complete)(const struct typed_word *typed);
};

/* Whether the word has the name already, so that a key comes next. */
static bool is_spec_of(const struct typed_word *typed, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(typed->text + typed->given, name, length) == 0 &&
           typed->text[typed->given + length] == ':';
}

static bool has_spec_name(const struct typed_word *typed)
{
    return strchr(typed->text + typed->given, ':') != NULL;
}

static void offer_spec_name(const struct typed_word *typed, const char *name, const char *about)
{
    if (has_spec_name(typed))
        return;
    offer(typed, name, "", about);
    offer(typed, name, ":", about);
}

static void offer_spec_key(const struct typed_word *typed, const char *key, const char *about)
{
    const struct typed_word rest = behind_last(typed, ":,");
    if (!strchr(rest.text + rest.given, '='))
        offer(&rest, key, "=", about);
}

static void offer_parameters(const struct typed_word *typed,
                             const struct lull_parameter *parameters, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++)
        offer_spec_key(typed, parameters[p].name, parameters[p].summary);
}

static void complete_network(const struct typed_word *typed)
{
    for (unsigned n = 0; lull_networks[n]; n++) {
        const struct lull_network_class *class = lull_networks[n];
        offer_spec_name(typed, class->name, class->summary);
        if (is_spec_of(typed, class->name))
            offer_parameters(typed, class->parameters, class->n_parameters);
    }
}

static void complete_noise(const struct typed_word *typed)
{
    for (unsigned n = 0; n < lull_n_noise_classes; n++) {
        const struct lull_noise_class *class = lull_noise_classes[n];
        offer_spec_name(typed, class->name, class->summary);
        if (is_spec_of(typed, class->name))
            offer_parameters(typed, class->parameters, class->n_parameters);
    }
}

static void complete_pattern(const struct typed_word *typed)
{
    for (const struct lull_pattern_class *class = lull_patterns; class->name; class ++) {
        offer_spec_name(typed, class->name, class->summary);
        if (is_spec_of(typed, class->name))
            for (const struct lull_pattern_key *key = class->keys; key->key; key++)
                offer_spec_key(typed, key->key, key->about);
    }
}

/* `keys` is a list of names, joined by ", ". */
static void complete_listed(const struct typed_word *typed, const char *name, const char *keys)
{
    offer_spec_name(typed, name, keys);
    if (!is_spec_of(typed, name))
        return;
    char key[64];
    for (const char *at = keys; *at; at += strspn(at, ", ")) {
        const size_t length = strcspn(at, ", ");
        if (length > 0 && length < sizeof key) {
            memcpy(key, at, length);
            key[length] = '\0';
            offer_spec_key(typed, key, "");
        }
        at += length;
    }
}

static void complete_placement(const struct typed_word *typed)
{
    for (const struct lull_placement_kind *kind = lull_placement_kinds; kind->name; kind++)
        complete_listed(typed, kind->name, kind->keys);
}

static void complete_memory(const struct typed_word *typed)
{
    for (const struct lull_memory_kind *kind = lull_memory_kinds; kind->name; kind++)
        complete_listed(typed, kind->name, kind->keys);
}

static const struct spec_kind spec_kinds[] = {
    {"network", complete_network},     {"noise", complete_noise},   {"pattern", complete_pattern},
    {"placement", complete_placement}, {"memory", complete_memory}, {"inject", complete_noise},
};

/* ==== options and operands ==================================================================== */

static void complete_law(const struct typed_word *typed)
{
    for (size_t i = 0; lull_fit_laws[i]; i++)
        offer(typed, lull_fit_laws[i]->name, "", lull_fit_laws[i]->summary);
}

/* What a word in capitals stands for, in descriptions of options and operands. */
static const struct {
    const char *word, *line;
} meanings[] = {
    {"FILE", OFFER_FILES},        {"FILE.c", OFFER_FILES}, {"FILE.goal", OFFER_FILES},
    {"RUN", OFFER_FILES},         {"RUN...", OFFER_FILES}, {"TABLE", OFFER_FILES},
    {"KERNEL.c", OFFER_FILES},    {"MATRIX", OFFER_FILES}, {"MODEL.lua", OFFER_FILES},
    {"DESCRIPTION", OFFER_FILES}, {"IN", OFFER_FILES},     {"OUT", OFFER_FILES},
    {"A...", OFFER_FILES},        {"B...", OFFER_FILES},   {"DIR", OFFER_FOLDERS},
};

static void offer_meanings(const char *description)
{
    for (const char *at = description; *at;) {
        const size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.");
        for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
            if (strlen(meanings[i].word) == length && strncmp(meanings[i].word, at, length) == 0) {
                puts(meanings[i].line);
                return;
            }
        at += length ? length : 1;
    }
}

/* Alternatives in a description as "text|json" or "runtime|region:NAME": their begin up to what is
 * in capitals. */
static void offer_alternatives(const struct typed_word *typed, const char *description)
{
    char word[64];
    for (const char *at = description; *at; at += *at == '|') {
        size_t length = 0;
        while (length < sizeof word - 1 && (islower((unsigned char)at[length]) ||
                                            (at[length] && strchr("0123456789-_:", at[length])))) {
            word[length] = at[length];
            length++;
        }
        word[length] = '\0';
        if (length > 0)
            offer(typed, word, "", "");
        at += strcspn(at, "|");
    }
}

static bool takes_value(const struct poptOption *option)
{
    const unsigned kind = option->argInfo & POPT_ARG_MASK;
    return kind != POPT_ARG_NONE && kind != POPT_ARG_VAL;
}

static bool needs_value(const struct poptOption *option)
{
    return takes_value(option) && !(option->argInfo & POPT_ARGFLAG_OPTIONAL);
}

static void complete_value(const struct poptOption *option, const struct typed_word *typed)
{
    const char *description = option->argDescrip ? option->argDescrip : "";
    if (strcmp(description, "SPEC") == 0) {
        for (size_t i = 0; i < sizeof spec_kinds / sizeof *spec_kinds; i++)
            if (strcmp(spec_kinds[i].option, option->longName) == 0)
                spec_kinds[i].complete(typed);
        puts(OFFER_FILES); /* a spec may be a file */
        return;
    }
    const struct typed_word part = strstr(description, ",...") ? behind_last(typed, ",") : *typed;
    if (strncmp(description, "LAW", 3) == 0)
        complete_law(&part);
    offer_alternatives(&part, description);
    offer_meanings(description);
}

static const struct poptOption *option_by_name(const struct lull_command *command, const char *name,
                                               size_t length)
{
    for (const struct poptOption *option = command->options; option && option->longName; option++)
        if (strlen(option->longName) == length && strncmp(option->longName, name, length) == 0)
            return option;
    return NULL;
}

static const struct poptOption *option_by_letter(const struct lull_command *command, char letter)
{
    for (const struct poptOption *option = command->options; option && option->longName; option++)
        if (option->shortName == letter)
            return option;
    return NULL;
}

static void offer_option(const struct typed_word *typed, char letter, const char *name,
                         const char *about)
{
    const char short_name[] = {'-', letter, '\0'};
    char long_name[64];
    snprintf(long_name, sizeof long_name, "--%s", name);
    if (letter)
        offer(typed, short_name, "", about);
    offer(typed, long_name, "", about);
}

static void complete_option(const struct lull_command *command, const struct typed_word *typed)
{
    const char *value = strchr(typed->text, '=');
    if (value) {
        const struct poptOption *option =
            option_by_name(command, typed->text + 2, (size_t)(value - typed->text - 2));
        const struct typed_word rest = {typed->text, (size_t)(value + 1 - typed->text)};
        if (option && takes_value(option))
            complete_value(option, &rest);
        return;
    }
    for (const struct poptOption *option = command->options; option && option->longName; option++)
        offer_option(typed, option->shortName, option->longName, option->descrip);
    offer_option(typed, 'h', "help", "options and examples");
}

/* ==== the command line ======================================================================== */

static void offer_commands(const struct typed_word *typed,
                           const struct lull_command *const *commands)
{
    for (size_t i = 0; commands[i]; i++) {
        const char *space = strrchr(commands[i]->name, ' ');
        if (!commands[i]->hidden)
            offer(typed, space ? space + 1 : commands[i]->name, "", commands[i]->summary);
    }
}

/* The option whose value follows the word; NULL: none. */
static const struct poptOption *waits_for_value(const struct lull_command *command,
                                                const char *word)
{
    const struct poptOption *option = NULL;
    if (word[0] == '-' && word[1] == '-' && !strchr(word, '='))
        option = option_by_name(command, word + 2, strlen(word + 2));
    else if (word[0] == '-' && word[1] && word[1] != '-')
        option = option_by_letter(command, word[strlen(word) - 1]);
    return option && needs_value(option) ? option : NULL;
}

/* words[from..count) follow the command; the last one is being typed. */
static void complete_words(const struct lull_command *command, const char *const *words,
                           uint32_t from, uint32_t count)
{
    const struct poptOption *waiting = NULL;
    bool options_ended = false;
    for (uint32_t i = from; i + 1 < count; i++) {
        if (waiting)
            waiting = NULL;
        else if (!options_ended && strcmp(words[i], "--") == 0)
            options_ended = !command->divides;
        else if (!options_ended && words[i][0] == '-' && words[i][1])
            waiting = waits_for_value(command, words[i]);
        else if (command->launches) {
            printf(OFFER_COMMAND " %u\n", i);
            return;
        }
    }
    const struct typed_word typed = {words[count - 1], 0};
    if (waiting)
        complete_value(waiting, &typed);
    else if (!options_ended && typed.text[0] == '-')
        complete_option(command, &typed);
    else if (command->launches)
        printf(OFFER_COMMAND " %u\n", count - 1);
    else if (command != &lull_cmd_help)
        offer_meanings(command->operands);
}

static int run_complete(struct lull_cli_call *call)
{
    static const char *const nothing[] = {""};
    const char *const *words = call->n_operands ? call->operands : nothing;
    const uint32_t count = call->n_operands ? call->n_operands : 1;
    const struct lull_command *const *commands = lull_commands;
    const struct lull_command *command = NULL;
    uint32_t at = 0;
    for (; commands && at + 1 < count; at++) {
        const struct lull_command *found = lull_command_find(commands, words[at]);
        if (found == &lull_cmd_help && !command) {
            command = found;
            continue;
        }
        if (!found)
            break;
        commands = found->parts;
        command = command == &lull_cmd_help ? command : found;
    }
    const struct typed_word typed = {words[count - 1], 0};
    if (commands && at + 1 == count) { /* the word is a command, or a part of one */
        offer_commands(&typed, commands);
        if (typed.text[0] == '-')
            offer_option(&typed, 'h', "help", "options and examples");
        if (typed.text[0] == '-' && !command)
            offer_option(&typed, 'V', "version", "version of lull");
    } else if (command && !commands) {
        complete_words(command, words, at, count);
    }
    return LULL_EXIT_OK;
}

const struct lull_command lull_cmd_complete = {
    .name = "complete",
    .summary = "what a word of a command line of lull may become, for the completion of shells",
    .operands = "[--] [WORD...]",
    .details =
        "The words follow 'lull'; the last one, which may be empty, is at the cursor. A line is\n"
        "a word, and behind a tab what it means. ':files', ':folders' and ':command N' ask the\n"
        "shell for files, folders, or what may follow the first N words.\n",
    .under_mpirun = LULL_EACH_BY_ITSELF,
    .launches = true,
    .hidden = true,
    .run = run_complete,
};
