/* many RUN PROCESSES OUT: the run of one process and thread, recorded into a file of its own, as if
 * so many processes had done the same: packed, in files of nodes with PER_NODE of them each. For
 * runs that are too large to be made otherwise. */
#include "base/error.h"
#include "tape/layout.h"
#include "trace/format/tape/pack/blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PER_NODE = 100000, BLOCK = 16384, MOST_PLACES = 256 };

/* Where the number of the process stands. */
struct places {
    size_t at[MOST_PLACES];
    size_t n;
};

static unsigned char *template;
static size_t size;

static void die(const char *what)
{
    fprintf(stderr, "many: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_template(const char *run)
{
    char path[4096];
    struct stat info;
    snprintf(path, sizeof path, "%s/0/0.tape", run);
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &info) != 0)
        die(path);
    size = (size_t)info.st_size;
    template = malloc(size + 1);
    if (!template || fread(template, 1, size, file) != size)
        die(path);
    fclose(file);
}

static void add_place(struct places *places, size_t at)
{
    if (places->n == MOST_PLACES || at + sizeof(uint32_t) > size)
        die("not such a file");
    places->at[places->n++] = at;
}

/* Those of the process itself: its number, and its rank in its application. */
static void find_in_definitions(struct places *places, size_t begin)
{
    struct lull_tape_definitions_header header;
    memcpy(&header, template + begin, sizeof header);
    add_place(places, begin + offsetof(struct lull_tape_definitions_header, process));
    size_t at = begin + header.header_size;
    for (const size_t end = at + header.committed; at < end;) {
        struct lull_tape_definition definition;
        memcpy(&definition, template + at, sizeof definition);
        if (definition.kind == LULL_TAPE_DEFINE_PROCESS) {
            add_place(places, at + offsetof(struct lull_tape_definition, id));
            add_place(places, at + sizeof definition + sizeof(uint32_t));
        }
        if (definition.size == 0)
            die("not such a file");
        at += definition.size;
    }
}

static void find_places(struct places *places)
{
    const struct lull_tape_process_header *header = (const void *)template;
    const struct lull_tape_extent *extents = (const void *)(header + 1);
    add_place(places, offsetof(struct lull_tape_process_header, process));
    if (size < LULL_TAPE_PAGE || header->n_extents > LULL_TAPE_FIRST_EXTENTS)
        die("not such a file");
    for (uint32_t e = 0, sums = 0; e < header->n_extents; e++) {
        if (extents[e].part != LULL_TAPE_PART_DEFINITIONS && extents[e].location > 0)
            die("more than one thread");
        const size_t begin = (size_t)extents[e].page * LULL_TAPE_PAGE;
        if (extents[e].part == LULL_TAPE_PART_DEFINITIONS)
            find_in_definitions(places, begin);
        else if (extents[e].part == LULL_TAPE_PART_HEAD)
            add_place(places, begin + offsetof(struct lull_tape_header, process));
        else if (extents[e].part == LULL_TAPE_PART_SUMS && sums++ == 0)
            add_place(places, begin + offsetof(struct lull_tape_sums_header, process));
    }
}

static void write_all(FILE *file, const void *bytes, size_t count)
{
    if (fwrite(bytes, 1, count, file) != count)
        die("cannot write");
}

/* A file of a node in the making, as `lull pack` would write it. */
struct node {
    const char *path;
    FILE *file;
    uint32_t first, n; /* processes */
    uint32_t of_each;  /* blocks */
    struct lull_tape_node_file *files;
    struct lull_tape_node_location *locations;
    struct lull_tape_node_block *blocks;
    uint64_t place; /* where the next block goes */
    struct pack_encoder *encoder;
    struct pack_decoder *decoder;
};

static void begin_node(struct node *node)
{
    node->of_each = (uint32_t)((size + BLOCK - 1) / BLOCK);
    node->files = calloc(node->n, sizeof *node->files);
    node->locations = calloc(node->n, sizeof *node->locations);
    node->blocks = calloc((size_t)node->n * node->of_each, sizeof *node->blocks);
    node->file = fopen(node->path, "wb");
    node->place = sizeof(struct lull_tape_node_header) +
                  node->n * (sizeof *node->files + sizeof *node->locations) +
                  (uint64_t)node->n * node->of_each * sizeof *node->blocks;
    if (!node->files || !node->locations || !node->blocks || !node->file ||
        fseek(node->file, (long)node->place, SEEK_SET) != 0)
        die(node->path);
}

/* The template, which has the numbers of the process. */
static void add_blocks(struct node *node, uint32_t p)
{
    static _Alignas(64) unsigned char block[PACK_MOST_LENGTH], back[PACK_MOST_LENGTH];
    static unsigned char packed[PACK_MOST_LENGTH];
    for (uint32_t b = 0; b < node->of_each; b++) {
        struct lull_tape_node_block *entry = &node->blocks[(size_t)p * node->of_each + b];
        const size_t begin = (size_t)b * BLOCK, left = size - begin;
        const size_t length = left < BLOCK ? left : BLOCK;
        memcpy(block, template + begin, length);
        *entry = (struct lull_tape_node_block){.origin = begin, .place = node->place};
        lull_pack_block(node->encoder, node->decoder, block, length, false, 0, packed, back, entry);
        write_all(node->file, packed, entry->size);
        node->place += entry->size;
    }
}

static const struct lull_tape_header *find_head(void)
{
    const struct lull_tape_process_header *header = (const void *)template;
    const struct lull_tape_extent *extents = (const void *)(header + 1);
    for (uint32_t e = 0; e < header->n_extents; e++)
        if (extents[e].part == LULL_TAPE_PART_HEAD)
            return (const void *)(template + (size_t)extents[e].page * LULL_TAPE_PAGE);
    die("not such a file");
    return NULL;
}

static void add_processes(struct node *node, const struct places *places)
{
    const struct lull_tape_header *head = find_head();
    for (uint32_t p = 0; p < node->n; p++) {
        const uint32_t number = node->first + p;
        for (size_t i = 0; i < places->n; i++)
            memcpy(template + places->at[i], &number, sizeof number);
        node->files[p] = (struct lull_tape_node_file){.process = number,
                                                      .kind = LULL_TAPE_NODE_PROCESS,
                                                      .n_plain = node->of_each,
                                                      .size = size,
                                                      .first = (uint64_t)p * node->of_each};
        node->locations[p] = (struct lull_tape_node_location){
            .process = number, .committed = head->committed, .ends = head->ends};
        add_blocks(node, p);
    }
}

static void end_node(struct node *node)
{
    struct lull_tape_node_header header = {.version = LULL_TAPE_VERSION,
                                           .byte_order = LULL_TAPE_BYTE_ORDER,
                                           .header_size = sizeof header,
                                           .flags = LULL_TAPE_NODE_PACKED,
                                           .n_files = node->n,
                                           .n_locations = node->n,
                                           .n_blocks = (uint64_t)node->n * node->of_each,
                                           .size = node->place};
    const size_t files = node->n * sizeof *node->files, of = node->n * sizeof *node->locations;
    unsigned char *tables = malloc(files + of);
    if (!tables || fseek(node->file, 0, SEEK_SET) != 0)
        die(node->path);
    memcpy(header.magic, LULL_TAPE_NODE_MAGIC, sizeof header.magic);
    memcpy(tables, node->files, files);
    memcpy(tables + files, node->locations, of);
    header.checksum = lull_tape_checksum(header.n_blocks, tables, files + of);
    write_all(node->file, &header, sizeof header);
    write_all(node->file, tables, files + of);
    write_all(node->file, node->blocks, (size_t)header.n_blocks * sizeof *node->blocks);
    if (fclose(node->file) != 0)
        die(node->path);
    free(tables);
    free(node->files);
    free(node->locations);
    free(node->blocks);
}

static void write_nodes(const char *out, uint32_t n, const struct places *places)
{
    char path[4096];
    struct node node = {
        .path = path, .encoder = lull_pack_encoder_create(), .decoder = lull_pack_decoder_create()};
    if (!node.encoder || !node.decoder)
        die("no memory, or built without libzstd");
    for (uint32_t first = 0; first < n; first += node.n) {
        node.first = first;
        node.n = n - first < PER_NODE ? n - first : PER_NODE;
        snprintf(path, sizeof path, "%s/node%u.tapes", out, first / PER_NODE);
        begin_node(&node);
        add_processes(&node, places);
        end_node(&node);
    }
    lull_pack_encoder_destroy(node.encoder);
    lull_pack_decoder_destroy(node.decoder);
}

int main(int argc, char **argv)
{
    const unsigned long n = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    struct places places = {.n = 0};
    char path[4096];
    if (n == 0 || n >= UINT32_MAX - PER_NODE) {
        fputs("usage: many RUN PROCESSES OUT\n", stderr);
        return 2;
    }
    read_template(argv[1]);
    find_places(&places);
    if (mkdir(argv[3], 0777) != 0)
        die(argv[3]);
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, argv[3]);
    FILE *anchor = fopen(path, "w");
    if (!anchor || fputs(LULL_TAPE_ANCHOR, anchor) < 0 || fclose(anchor) != 0)
        die(path);
    write_nodes(argv[3], (uint32_t)n, &places);
    free(template);
    return 0;
}
