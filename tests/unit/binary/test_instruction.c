/* Instructions: encodings from the manuals, and each instruction of some libraries as objdump reads it. */
#include "base/file.h"
#include "binary/instruction.h"
#include "support/test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct encoding {
    const char *bytes; /* hexadecimal */
    enum lull_instruction_kind kind;
    uint64_t target;
};

static size_t bytes_of(const char *hex, uint8_t *bytes)
{
    size_t n = 0;
    for (; *hex; hex += hex[2] == ' ' ? 3 : 2)
        bytes[n++] = (uint8_t)strtoul((char[]){hex[0], hex[1], 0}, NULL, 16);
    return n;
}

/* All instructions are at address 0x1000. */
static void check_encodings(unsigned machine, const struct encoding *encodings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[32];
        const size_t length = bytes_of(encodings[i].bytes, bytes);
        struct lull_instruction is;
        memset(bytes + length, 0x90, sizeof bytes - length);
        assert_true(lull_instruction_read(machine, bytes, sizeof bytes, 0x1000, &is));
        assert_int_equal(is.length, length);
        assert_int_equal(is.kind, encodings[i].kind);
        assert_int_equal(is.target, encodings[i].target);
        for (size_t size = 0; size < length; size++) /* cut off */
            assert_false(lull_instruction_read(machine, bytes, size, 0x1000, &is));
    }
}

#define PLAIN    LULL_INSTRUCTION_PLAIN
#define CALL     LULL_INSTRUCTION_CALL
#define BRANCH   LULL_INSTRUCTION_BRANCH
#define JUMP     LULL_INSTRUCTION_JUMP
#define INDIRECT LULL_INSTRUCTION_INDIRECT
#define END      LULL_INSTRUCTION_END

static void test_x86(void **state)
{
    (void)state;
    static const struct encoding encodings[] = {
        {"c3", END, 0},          /* ret */
        {"f3 c3", END, 0},       /* repz ret */
        {"c2 08 00", END, 0},    /* ret 8 */
        {"0f 0b", END, 0},       /* ud2 */
        {"eb fe", JUMP, 0x1000}, /* jmp to itself */
        {"e9 00 01 00 00", JUMP, 0x1105},
        {"75 f0", BRANCH, 0xff2}, /* jne */
        {"0f 85 fa ff ff ff", BRANCH, 0x1000},
        {"e2 02", BRANCH, 0x1004}, /* loop */
        {"e8 00 00 00 00", CALL, 0x1005},
        {"66 66 48 e8 00 00 00 00", CALL, 0x1008},   /* of __tls_get_addr */
        {"ff d0", CALL, 0},                          /* call *%rax */
        {"ff e0", INDIRECT, 0},                      /* jmp *%rax */
        {"3e ff e0", INDIRECT, 0},                   /* notrack jmp *%rax */
        {"f2 ff 25 10 00 00 00", INDIRECT, 0},       /* bnd jmp *0x10(%rip) */
        {"f3 0f 1e fa", PLAIN, 0},                   /* endbr64 */
        {"48 b8 01 02 03 04 05 06 07 08", PLAIN, 0}, /* movabs $8 bytes, %rax */
        {"48 a1 01 02 03 04 05 06 07 08", PLAIN, 0}, /* movabs address, %rax */
        {"66 0f 1f 84 00 00 00 00 00", PLAIN, 0},    /* nopw */
        {"f7 c1 01 00 00 00", PLAIN, 0},             /* test $1, %ecx */
        {"66 f7 c1 01 00", PLAIN, 0},                /* test $1, %cx */
        {"f7 d1", PLAIN, 0},                         /* not %ecx */
        {"c8 10 00 00", PLAIN, 0},                   /* enter */
        {"c5 f8 77", PLAIN, 0},                      /* vzeroupper */
        {"c4 e3 7d 39 c1 01", PLAIN, 0},             /* vextracti128 $1 */
        {"62 f1 7c 48 28 45 01", PLAIN, 0},          /* vmovaps 64(%rbp), %zmm0 */
        {"62 f3 75 48 25 c2 ff", PLAIN, 0},          /* vpternlogd $255 */
        {"8f e9 78 01 c8", PLAIN, 0},                /* blcfill of XOP */
    };
    check_encodings(EM_X86_64, encodings, sizeof encodings / sizeof *encodings);
    static const uint8_t none[] = {0x06, 0x06};
    struct lull_instruction is;
    assert_false(lull_instruction_read(EM_X86_64, none, sizeof none, 0, &is));
}

static void test_a64(void **state)
{
    (void)state;
    static const struct encoding encodings[] = {
        {"c0 03 5f d6", END, 0},         /* ret */
        {"ff ff ff 17", JUMP, 0xffc},    /* b */
        {"02 00 00 94", CALL, 0x1008},   /* bl */
        {"41 00 00 54", BRANCH, 0x1008}, /* b.ne */
        {"e0 ff ff b5", BRANCH, 0xffc},  /* cbnz x0 */
        {"e0 ff 07 36", BRANCH, 0xffc},  /* tbz w0, #0 */
        {"00 02 1f d6", INDIRECT, 0},    /* br x16 */
        {"00 00 3f d6", CALL, 0},        /* blr x0 */
        {"1f 20 03 d5", PLAIN, 0},       /* nop */
        {"20 00 20 d4", END, 0},         /* brk #1 */
    };
    check_encodings(EM_AARCH64, encodings, sizeof encodings / sizeof *encodings);
}

/* What must be known of jumps through tables, and of stubs. */
static void test_addresses(void **state)
{
    (void)state;
    uint8_t bytes[32];
    struct lull_instruction is;
    bytes_of("4c 8d 3d 10 00 00 00", bytes); /* lea 0x10(%rip), %r15 */
    assert_true(lull_instruction_read(EM_X86_64, bytes, sizeof bytes, 0x1000, &is));
    assert_int_equal(is.address, 0x1017);
    assert_int_equal(is.reg, 15);
    bytes_of("49 63 04 87", bytes); /* movslq (%r15,%rax,4), %rax */
    assert_true(lull_instruction_read(EM_X86_64, bytes, sizeof bytes, 0x1000, &is));
    assert_int_equal(is.table_reg, 15);
    bytes_of("ff 24 c5 00 20 40 00", bytes); /* jmp *0x402000(,%rax,8) */
    assert_true(lull_instruction_read(EM_X86_64, bytes, sizeof bytes, 0x1000, &is));
    assert_int_equal(is.address, 0x402000);
    bytes_of("ff 60 10", bytes); /* jmp *0x10(%rax) */
    assert_true(lull_instruction_read(EM_X86_64, bytes, sizeof bytes, 0x1000, &is));
    assert_true(is.by_field);
    bytes_of("f3 0f 1e fa f2 ff 25 75 2f 00 00", bytes);
    assert_int_equal(lull_instruction_stub(EM_X86_64, bytes, 16, 0x1050), 0x3fd0);
    /* adrp x16, 0x1f000; ldr x17, [x16, #4088]; add; br x17: of a library of Debian's arm64 */
    bytes_of("f0 00 00 90 11 fe 47 f9", bytes);
    assert_int_equal(lull_instruction_stub(EM_AARCH64, bytes, 16, 0x3010), 0x1fff8);
    assert_false(lull_instruction_known(EM_PPC64));
}

/* ---- objdump --------------------------------------------------------------------------------- */

static const Elf64_Phdr *segment_with(const struct lull_mapping *file, uint64_t address)
{
    const Elf64_Ehdr *header = (const void *)file->data;
    const Elf64_Phdr *segment = (const void *)(file->data + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && address >= segment[i].p_vaddr &&
            address - segment[i].p_vaddr < segment[i].p_filesz)
            return &segment[i];
    return NULL;
}

static enum lull_instruction_kind kind_of(const char *name, const char *operand)
{
    if (strncmp(name, "jmp", 3) == 0)
        return *operand == '*' ? INDIRECT : JUMP;
    if (*name == 'j' || strncmp(name, "loop", 4) == 0 || strcmp(name, "xbegin") == 0)
        return BRANCH;
    if (strncmp(name, "call", 4) == 0)
        return CALL;
    if (strncmp(name, "ret", 3) == 0 || strncmp(name, "ud", 2) == 0 || strcmp(name, "hlt") == 0)
        return END;
    return PLAIN;
}

/* Compares one line of objdump: "  401000:\tbytes\tname operands". False: it has no instruction, or
 * one that objdump cannot read, or of whose bytes it makes one of two. */
static bool compare_line(const struct lull_mapping *file, char *line)
{
    char *at = strchr(line, '\t'), *name = at ? strchr(at + 1, '\t') : NULL;
    if (!name || strstr(line, "(bad)") || strstr(line, "rex"))
        return false;
    uint8_t bytes[64];
    *name++ = '\0';
    for (char *end = name - 2; *end == ' '; end--)
        *end = '\0';
    const unsigned length = (unsigned)bytes_of(at + 1, bytes);
    if (bytes[0] ==
        0x9b) /* fwait is an instruction of its own, which objdump joins with the next */
        return false;
    static const char *const prefixes[] = {"bnd ",  "notrack ", "data16 ", "cs ", "ds ",
                                           "repz ", "addr32 ",  "lock ",   "es ", "ss "};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            name += strlen(prefixes[i]);
            i = (size_t)-1;
        }
    char *operand = name + strcspn(name, " \n");
    const char *rest = operand + strspn(operand, " ");
    const uint64_t address = strtoull(line, NULL, 16), target = strtoull(rest, NULL, 16);
    const Elf64_Phdr *segment = segment_with(file, address);
    assert_non_null(segment);
    *operand = '\0';
    const enum lull_instruction_kind kind = kind_of(name, rest);
    struct lull_instruction is = {0};
    const bool direct = (kind == CALL && *rest != '*') || kind == JUMP || kind == BRANCH;
    const bool good = lull_instruction_read(
        EM_X86_64, file->data + segment->p_offset + address - segment->p_vaddr,
        segment->p_filesz - (address - segment->p_vaddr), address, &is);
    if (!good || is.length != length || is.kind != kind || (direct && is.target != target))
        print_error("%llx: %s: length %u, kind %d, target %llx\n", (unsigned long long)address,
                    name, is.length, (int)is.kind, (unsigned long long)is.target);
    assert_true(good);
    assert_int_equal(is.length, length);
    assert_int_equal(is.kind, kind);
    if (direct)
        assert_int_equal(is.target, target);
    return true;
}

static void test_objdump(void **state)
{
    (void)state;
    static const char *const libraries[] = {"libm.so.6", "libstdc++.so.6", "libgfortran.so.5"};
    size_t compared = 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        char path[256], command[512], line[512];
        struct lull_mapping file;
        snprintf(path, sizeof path, "/lib/x86_64-linux-gnu/%s", libraries[i]);
        if (lull_map_file(path, &file, NULL) != LULL_OK)
            continue;
        snprintf(command, sizeof command, "LC_ALL=C objdump -d -w -j .text %s 2>/dev/null", path);
        FILE *objdump = popen(command, "r");
        assert_non_null(objdump);
        while (fgets(line, sizeof line, objdump))
            compared += compare_line(&file, line);
        (void)pclose(objdump);
        lull_unmap(&file);
    }
    if (compared == 0) {
        print_message("skipped: no objdump, or no libraries of x86-64\n");
        skip();
    }
    print_message("%zu instructions compared\n", compared);
    assert_true(compared > 10000);
}

TEST_GROUP(test_instruction)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86),
        cmocka_unit_test(test_a64),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_objdump),
    };
    return run_cases(tests, NULL, NULL);
}
