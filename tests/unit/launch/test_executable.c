/* What is seen in programs before they are started: in ELF files made here byte by byte, whole and
 * damaged; in scripts; and in the program of this test, of which the linker tells the truth. */
#include "binary/elf.h"
#include "launch/executable.h"
#include "support/folder.h"
#include "support/test.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- an ELF file ------------------------------------------------------------------------------
 */

enum { BASE = 0x400000, MOST_NEEDED = 4 };

/* A program or library in its smallest form: segments, a dynamic section, its strings, symbols. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    Elf64_Dyn dynamic[MOST_NEEDED + 4];
    Elf64_Sym symbols[2];
    Elf64_Shdr sections[3];
    char strings[256];
};

struct wish {
    const char *needed[MOST_NEEDED];
    const char *runpath, *rpath;
    const char *symbol; /* a function that it defines */
    bool is_static;
};

static uint32_t add_string(struct image *image, size_t *used, const char *text)
{
    size_t at = *used;
    memcpy(image->strings + at, text, strlen(text) + 1);
    *used += strlen(text) + 1;
    return (uint32_t)at;
}

static struct image make_image(const struct wish *wish)
{
    struct image image = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                               __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
                                                                         : ELFDATA2MSB,
                               EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_phoff = offsetof(struct image, segments),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = wish->is_static ? 1 : 3,
                   .e_shoff = offsetof(struct image, sections),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3},
        .segments = {{.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof image},
                     {.p_type = PT_INTERP},
                     {.p_type = PT_DYNAMIC,
                      .p_offset = offsetof(struct image, dynamic),
                      .p_filesz = sizeof image.dynamic}},
        .sections = {{.sh_type = SHT_NULL},
                     {.sh_type = SHT_SYMTAB,
                      .sh_offset = offsetof(struct image, symbols),
                      .sh_size = sizeof image.symbols,
                      .sh_link = 2},
                     {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct image, strings),
                      .sh_size = sizeof image.strings}},
    };
    size_t strings = 1, n = 0;
    for (size_t i = 0; i < MOST_NEEDED && wish->needed[i]; i++)
        image.dynamic[n++] =
            (Elf64_Dyn){DT_NEEDED, {add_string(&image, &strings, wish->needed[i])}};
    if (wish->rpath)
        image.dynamic[n++] = (Elf64_Dyn){DT_RPATH, {add_string(&image, &strings, wish->rpath)}};
    if (wish->runpath)
        image.dynamic[n++] = (Elf64_Dyn){DT_RUNPATH, {add_string(&image, &strings, wish->runpath)}};
    image.dynamic[n] = (Elf64_Dyn){DT_STRTAB, {BASE + offsetof(struct image, strings)}};
    if (wish->symbol)
        image.symbols[1] = (Elf64_Sym){.st_name = add_string(&image, &strings, wish->symbol),
                                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                       .st_shndx = 1};
    return image;
}

static const char *write_image(const char *name, const struct wish *wish)
{
    struct image image = make_image(wish);
    const char *path = folder_path(name);
    folder_write(path, &image, sizeof image);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static struct lull_arena *arena;

static void test_whole(void **state)
{
    (void)state;
    const struct wish wish = {
        .needed = {"libone.so.1", "libtwo.so"}, .rpath = "/old", .runpath = "$ORIGIN/lib:/new"};
    struct lull_elf elf;
    assert_int_equal(lull_elf_read(write_image("whole", &wish), arena, &elf, NULL), LULL_OK);
    assert_true(elf.executable && elf.dynamic && !elf.has_mpi);
    assert_int_equal(elf.n_needed, 2);
    assert_string_equal(elf.needed[0], "libone.so.1");
    assert_string_equal(elf.needed[1], "libtwo.so");
    assert_string_equal(elf.rpath, "$ORIGIN/lib:/new");
    const struct wish old = {.rpath = "/old"};
    assert_int_equal(lull_elf_read(write_image("old", &old), arena, &elf, NULL), LULL_OK);
    assert_int_equal(elf.n_needed, 0);
    assert_string_equal(elf.rpath, "/old");
}

/* Every beginning of a file, and every byte of it turned: an answer or an error, within bounds
 * (the sanitizers watch). Names that are returned are in the file. Whether it is read. */
static bool read_damaged(const unsigned char *bytes, size_t size)
{
    const char *path = folder_path("damaged");
    struct lull_elf elf;
    struct lull_error err = {.text = ""};
    folder_write(path, bytes, size);
    lull_status status = lull_elf_read(path, arena, &elf, &err);
    if (status != LULL_OK) {
        assert_int_equal(status, LULL_ERR_FORMAT);
        assert_non_null(strstr(err.text, "damaged"));
        return false;
    }
    for (size_t i = 0; i < elf.n_needed; i++)
        assert_true(strlen(elf.needed[i]) < size);
    return true;
}

static void test_damaged(void **state)
{
    (void)state;
    const struct wish wish = {.needed = {"libone.so.1"}, .runpath = "/new", .symbol = "MPI_Init"};
    const struct image image = make_image(&wish);
    unsigned char bytes[sizeof image];
    unsigned long tried = 0, read = 0;
    memcpy(bytes, &image, sizeof image);
    for (size_t size = 1; size < sizeof image; size++, tried++)
        read += read_damaged(bytes, size);
    for (size_t at = 0; at < sizeof image; at++) {
        static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
        unsigned char before = bytes[at];
        for (size_t v = 0; v < sizeof values; v++) {
            bytes[at] = values[v];
            read += read_damaged(bytes, sizeof image);
            tried++;
        }
        bytes[at] = before;
    }
    assert_reached("the damage is seen", tried - read, tried / 20, tried);
    assert_reached("the file is read nevertheless", read, tried / 20, tried);
}

static void test_what_is_no_elf(void **state)
{
    (void)state;
    struct lull_elf elf;
    struct lull_error err;
    struct image image = make_image(&(struct wish){.needed = {"libone.so"}});
    folder_write(folder_path("text"), "hello\n", 6);
    assert_int_equal(lull_elf_read(folder_path("text"), arena, &elf, &err), LULL_ERR_FORMAT);
    image.header.e_ident[EI_CLASS] = ELFCLASS32;
    folder_write(folder_path("other"), &image, sizeof image);
    assert_int_equal(lull_elf_read(folder_path("other"), arena, &elf, &err), LULL_ERR_FORMAT);
    assert_int_not_equal(lull_elf_read(folder_path("none"), arena, &elf, &err), LULL_OK);
}

/* ---- libraries of libraries ------------------------------------------------------------------ */

static char visited[1024];

static void visit(void *context, const char *name)
{
    (void)context;
    strcat(strcat(visited, name), " ");
}

/* Each is visited once, those that two need, that need each other, and that are not there, too. */
static void test_libraries(void **state)
{
    (void)state;
    const struct wish program = {.needed = {"libxa.so", "libxb.so"}, .runpath = "$ORIGIN"};
    const struct wish a = {.needed = {"libxc.so", "libxb.so"}, .runpath = "${ORIGIN}"};
    const struct wish b = {.needed = {"libxa.so", "libxnowhere.so"}};
    const struct wish c = {.needed = {NULL}};
    struct lull_elf elf;
    write_image("libxa.so", &a);
    write_image("libxb.so", &b);
    write_image("libxc.so", &c);
    const char *path = write_image("program", &program);
    assert_int_equal(lull_elf_read(path, arena, &elf, NULL), LULL_OK);
    visited[0] = '\0';
    lull_elf_libraries(path, &elf, arena, visit, NULL);
    assert_string_equal(visited, "libxa.so libxb.so libxc.so libxnowhere.so ");
}

static int add_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    /* neither the program, nor what the kernel and LD_PRELOAD bring */
    if (strstr(name, ".so") && strncmp(name, "linux-", 6) != 0 && !getenv("LD_PRELOAD"))
        strcat(strcat(visited, name), " ");
    return 0;
}

static bool has_word(const char *list, const char *word)
{
    char inner[300];
    snprintf(inner, sizeof inner, " %s ", word);
    return strstr(list, inner) != NULL;
}

static void test_this_program(void **state)
{
    (void)state;
    struct lull_elf elf;
    char path[4096] = "", expected[1024], *rest;
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    assert_int_equal(lull_elf_read(path, arena, &elf, NULL), LULL_OK);
    assert_true(elf.executable && elf.dynamic && !elf.has_mpi);
    visited[0] = '\0';
    dl_iterate_phdr(add_loaded, NULL);
    snprintf(expected, sizeof expected, "%s", visited);
    strcpy(visited, " ");
    lull_elf_libraries(path, &elf, arena, visit, NULL);
    for (char *word = strtok_r(expected, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        fail_if(!has_word(visited, word), "%s is loaded and was not found among:%s", word, visited);
}

/* ---- programs -------------------------------------------------------------------------------- */

static struct lull_executable inspect(const char *path)
{
    struct lull_executable executable;
    lull_executable_inspect(path, arena, &executable);
    return executable;
}

static void test_families(void **state)
{
    (void)state;
    static const struct {
        const char *library;
        enum lull_mpi_family mpi;
        bool openmp, openshmem;
    } cases[] = {
        {"libmpi.so.40", LULL_MPI_OPENMPI, false, false},
        {"libmpi.so.12", LULL_MPI_MPICH, false, false},
        {"libmpich.so.12", LULL_MPI_MPICH, false, false},
        {"libgomp.so.1", LULL_MPI_NONE, true, false},
        {"libomp.so.5", LULL_MPI_NONE, true, false},
        {"libiomp5.so", LULL_MPI_NONE, true, false},
        {"libmpi_gnu_123.so.12", LULL_MPI_MPICH, false, false},
        {"libmpi_cray.so.12", LULL_MPI_MPICH, false, false},
        {"libmpi_ibm.so.3", LULL_MPI_OPENMPI, false, false},
        {"libmpi_gtl_cuda.so.0", LULL_MPI_NONE, false, false},
        {"libmpifort.so.12", LULL_MPI_NONE, false, false},
        {"liboshmem.so.40", LULL_MPI_OPENMPI, false, true},
        {"libc.so.6", LULL_MPI_NONE, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct wish wish = {.needed = {cases[i].library}};
        struct lull_executable executable = inspect(write_image("program", &wish));
        assert_true(executable.elf && executable.dynamic && !executable.static_mpi);
        assert_int_equal(executable.mpi, cases[i].mpi);
        assert_int_equal(executable.openmp, cases[i].openmp);
        assert_int_equal(executable.openshmem, cases[i].openshmem);
    }
}

static void test_static(void **state)
{
    (void)state;
    const struct wish wish = {.is_static = true};
    struct lull_executable executable = inspect(write_image("static", &wish));
    assert_true(executable.elf && !executable.dynamic && !executable.static_mpi);
    const struct wish with_mpi = {.symbol = "PMPI_Init"};
    executable = inspect(write_image("with-mpi", &with_mpi));
    assert_true(executable.elf && executable.dynamic && executable.static_mpi);
    /* the same in a program that has the library, too: a wrapper of its own */
    const struct wish both = {.needed = {"libmpi.so.40"}, .symbol = "MPI_Init"};
    executable = inspect(write_image("both", &both));
    assert_true(!executable.static_mpi && executable.mpi == LULL_MPI_OPENMPI);
}

static const char *write_script(const char *name, const char *text)
{
    const char *path = folder_path(name);
    folder_write(path, text, strlen(text));
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static void test_scripts(void **state)
{
    (void)state;
    char text[4200];
    const struct wish wish = {.needed = {"libmpi.so.40"}};
    char *interpreter = strdup(write_image("python3.11", &wish));
    struct lull_executable executable = inspect(write_script("sh", "#!/bin/sh\nexit 0\n"));
    assert_true(executable.shell && executable.interprets && executable.elf);
    assert_string_equal(executable.interpreter, "/bin/sh");
    assert_string_equal(executable.name, "sh");

    snprintf(text, sizeof text, "#! %s -u\nprint()\n", interpreter);
    executable = inspect(write_script("py", text));
    if (strchr(interpreter, ' ')) { /* which the system cannot start either */
        printf("not looked at: an interpreter in a folder with a blank in its name\n");
    } else {
        assert_true(!executable.shell && executable.interprets &&
                    executable.mpi == LULL_MPI_OPENMPI);
        assert_string_equal(executable.interpreter, interpreter);
    }

    executable = inspect(write_script("env", "#!/usr/bin/env -S A=b sh -e\n"));
    assert_true(executable.shell && executable.interpreter);

    /* a script whose interpreter is a script; one that is its own, which must come to an end */
    snprintf(text, sizeof text, "#!%s\n", folder_path("sh"));
    executable = inspect(write_script("second", text));
    assert_true(executable.shell || strchr(interpreter, ' '));
    snprintf(text, sizeof text, "#!%s\n", folder_path("itself"));
    assert_false(inspect(write_script("itself", text)).elf);

    assert_false(inspect(write_script("nothing", "#!\n")).elf);
    assert_false(inspect(write_script("nowhere", "#!/no/such/interpreter\n")).elf);
    assert_false(inspect(write_script("empty", "")).elf);
    assert_null(inspect(folder_path("missing")).path);
    free(interpreter);
}

/* Only another owner's rights keep the recorder out. */
static void test_setuid(void **state)
{
    (void)state;
    const struct wish wish = {.needed = {NULL}};
    const char *path = write_image("setuid", &wish);
    assert_int_equal(chmod(path, 04755), 0);
    assert_false(inspect(path).privileged);
    if (geteuid() != 0)
        return; /* cannot give files away */
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
    assert_int_equal(chmod(path, 04755), 0);
    assert_true(inspect(path).privileged);
    assert_int_equal(chown(path, 0, 12345), 0);
    assert_int_equal(chmod(path, 02755), 0);
    assert_true(inspect(path).privileged);
    assert_int_equal(chmod(path, 0755), 0);
    assert_false(inspect(path).privileged);
}

static void test_find(void **state)
{
    (void)state;
    char list[4200];
    const struct wish wish = {.needed = {NULL}};
    char *path = strdup(write_image("only-here", &wish)), *before = strdup(getenv("PATH"));
    write_script("no-program", "text");
    assert_int_equal(chmod(folder_path("no-program"), 0644), 0);
    snprintf(list, sizeof list, "/no/such/folder:%.*s", (int)(strrchr(path, '/') - path), path);
    setenv("PATH", list, 1);
    assert_string_equal(lull_executable_find("only-here", arena), path);
    assert_null(lull_executable_find("no-program", arena));
    assert_null(lull_executable_find("", arena));
    assert_null(lull_executable_find("/", arena)); /* a folder */
    setenv("PATH", before, 1);
    assert_null(lull_executable_find("only-here", arena));
    free(before);
    free(path);
}

static int set_up(void **state)
{
    (void)state;
    folder_make();
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    lull_arena_destroy(arena);
    return 0;
}

/* What people type behind interpreters, by their manuals. */
static void test_titles(void **state)
{
    (void)state;
    static const struct {
        const char *line, *title;
    } cases[] = {
        {"python3 app.py", "app"},
        {"python3.11 -u -W ignore -Xdev src/app.py 5", "app"},
        {"python3 -uB app", "app"},
        {"python3 -m mpi4py app.py in.txt", "app"},
        {"python3 -m mpi4py.run -- app.py", "app"},
        {"python3 -m pkg.solver in.py", "pkg.solver"},
        {"python3 -c code app.py", "python3"},
        {"python3 -", "python3"},
        {"python3", "python3"},
        {"python3 -W", "python3"},
        {"python3 --version", "python3"},
        {"python3 -- -odd.py", "-odd"},
        {"python3 .hidden", ".hidden"},
        {"python3 v1.2.release", "v1.2.release"},
        {"python3 folder/", "python3"},
        {"bash -e run.sh", "run"},
        {"sh -c ./a.out", "sh"},
        {"bash -o pipefail +x job.sh", "job"},
        {"perl -w -I lib sim.pl", "sim"},
        {"perl -ne code", "perl"},
        {"julia -t 4 --project=. heat.jl", "heat"},
        {"java -cp lib Main", "Main"},
        {"java -Xmx1g -jar sim.jar", "sim"},
        {"Rscript --vanilla fit.R", "fit"},
        {"heat app.py", "heat"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *words[16], *rest, *line = lull_arena_strdup(arena, cases[i].line);
        size_t n = 0;
        for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            words[n++] = word;
        words[n] = NULL;
        const struct lull_executable executable = {
            .path = lull_arena_printf(arena, "/usr/bin/%s", words[0]),
            .name = words[0],
            .shell = strstr(words[0], "sh") != NULL && *words[0] != 'R'};
        assert_string_equal(lull_executable_title(&executable, words, arena), cases[i].title);
    }
    /* "./app.py" with "#!/usr/bin/python3" is called what the user calls it. */
    char name[] = "./app.py", input[] = "in.py", *script[] = {name, input, NULL};
    const struct lull_executable executable = {
        .path = "/usr/bin/python3", .interpreter = "/usr/bin/python3", .name = "app.py"};
    assert_string_equal(lull_executable_title(&executable, script, arena), "app.py");
}

TEST_GROUP(test_executable)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),          cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_what_is_no_elf), cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_this_program),   cmocka_unit_test(test_families),
        cmocka_unit_test(test_static),         cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_setuid),         cmocka_unit_test(test_find),
        cmocka_unit_test(test_titles),
    };
    return run_cases(tests, set_up, tear_down);
}
