#!/usr/bin/env python3
"""check_layers.py finds what it is there to find: one small wrong tree per rule."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import check_layers

GOOD = {
    "CMakeLists.txt": "lull_room(trace SEES base tape USES ZLIB::ZLIB)\n",
    "src/base/text.h": "/* Text. */\n",
    "src/base/arena.c": '#include "base/text.h"\n'
    "static void (*out_of_memory)(void) = abort;\n",
    "src/base/clock.h": "/* Time. */\n",
    "src/tape/layout.h": '#include <stdint.h>\n/* see "trace/trace.h" */\n',
    "src/record/write.c": '#include "base/clock.h"\n#include "tape/layout.h"\n',
    "src/trace/shared.h": "/* Locks. Internal to the trace room. */\n",
    "src/trace/trace.h": '/* A trace. */\nvoid f(const char *) __attribute__((format(printf, 1, 2)));\n',
    "src/trace/format/tape/tape.h": "/* Tapes. */\n",
    "src/trace/format/reader.h": "/* How formats are read. */\n",
    "src/trace/format/tape/read/stream.c": '#include "trace/format/tape/tape.h"\n'
    '#include "trace/shared.h"\n',
    "src/trace/scan.c": '#include "trace/shared.h"\n#include "trace/format/reader.h"\n'
    '#include "tape/layout.h"\nint g(void) { return snprintf(0, 0, "exit(1) stderr"); }\n',
    # Each header keeps a user, whatever is changed.
    "tests/unit/all.c": "".join('#include "%s"\n' % header for header in (
        "base/text.h", "base/clock.h", "tape/layout.h", "trace/shared.h", "trace/trace.h", "trace/format/tape/tape.h",
        "trace/format/reader.h", "base/arena.h", "sim/program.h")),
    "src/cli/main.c": '#include "trace/trace.h"\nint main(void) { printf("x"); exit(1); }\n',
}


FUNCTION = "int %s(const struct heap *heap)\n{\n    return heap->sum;\n}\n"


class Rules(unittest.TestCase):
    def check(self, changes, *expected):
        """The good tree with `changes` has exactly one violation, which says `expected`."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**GOOD, **changes}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            found = list(check_layers.violations(root))
        if not expected:
            self.assertEqual(found, [])
            return
        self.assertEqual(len(found), 1, found)
        for part in expected:
            self.assertIn(part, found[0])

    def test_good_tree(self):
        self.check({})

    def test_include_that_climbs(self):
        self.check(
            {"src/tape/layout.h": '\n#include "trace/trace.h"\n'}, "layout.h:2", "tape does not see trace"
        )

    def test_recorder_sees_the_clock_alone(self):
        self.check({"src/record/write.c": '#include "base/text.h"\n'}, "record does not see base")

    def test_one_folder_sees_more_than_its_room(self):
        sim = {"src/sim/program.h": "/* Programs. */\n"}
        self.check({**sim, "src/model/program/simulate.c": '#include "sim/program.h"\n'})
        self.check({**sim, "src/model/fit/fit.c": '#include "sim/program.h"\n'},
                   "model does not see sim")

    def test_include_within_a_comment_does_not_count(self):
        self.check({"src/tape/layout.h": '/*\n#include "trace/trace.h"\n*/\n'})

    def test_include_without_room(self):
        self.check({"src/trace/scan.c": '#include "shared.h"\n'}, "names no room")

    def test_include_of_nothing(self):
        self.check({"src/trace/scan.c": '#include "trace/none.h"\n'}, "does not exist")

    def test_internal_header(self):
        self.check({"src/cli/main.c": '#include "trace/shared.h"\n'}, "internal to trace")

    def test_header_of_a_format(self):
        wrong = '#include "trace/format/tape/tape.h"\n'
        for name in ("cli/main.c", "trace/scan.c", "trace/format/otf2/read/stream.c"):
            self.check({f"src/{name}": wrong}, "internal to trace/format/tape/")
        self.check({"src/cli/main.c": '#include "trace/format/reader.h"\n'})

    def test_unknown_room(self):
        self.check({"src/attic/old.c": "\n"}, "attic is no room")

    def test_printing(self):
        self.check({"src/base/text.c": 'void f(void)\n{\n    printf("x");\n}\n'}, "text.c:3", "printf")

    def test_standard_error(self):
        self.check({"src/base/text.c": 'void f(void) { fprintf(stderr, "x"); }\n'}, "stderr")

    def test_ending_the_process(self):
        self.check({"src/base/text.c": "void f(void) { exit (1); }\n"}, "exit")

    def test_abort_elsewhere(self):
        self.check({"src/base/text.c": "void f(void) { abort(); }\n"}, "abort")

    def test_function_that_nobody_calls(self):
        self.check({"src/base/a.c": FUNCTION % "lull_a"}, "a.c: lull_a is exported for nobody")
        self.check({"src/base/a.c": "static " + FUNCTION % "a"})
        self.check({"src/base/a.c": FUNCTION % "lull_a", "tests/unit/a.c": "lull_a();\n"})

    def test_function_that_one_file_calls(self):
        alone = {"src/base/a.c": FUNCTION % "lull_a", "src/base/b.c": "static int b = lull_a(0);\n"}
        self.check(alone, "a.c: lull_a is exported for base/b.c alone")
        self.check({**alone, "src/base/c.c": "static int c = lull_a(0);\n"})
        self.check({**alone, "src/base/a.c": "static int sum = 1;\n" + FUNCTION % "lull_a"})
        self.check({**alone, "src/base/a.c": FUNCTION % "lull_a" + FUNCTION % "lull_c", "src/cli/c.c": "lull_c(0);\n"})

    def test_static_function_with_the_name_of_an_exported_one(self):
        self.check({"src/base/a.c": "static " + FUNCTION % "lull_a"}, "a.c: lull_a is static")
        self.check({"src/base/a.c": "static const struct heap *" + FUNCTION.removeprefix("int ") % "rec_a"},
                   "a.c: rec_a is static")

    def test_two_types_with_the_same_name(self):
        one = {"src/base/a.c": "struct lull_a {\n    int sum;\n};\n"}
        self.check({**one, "src/cli/b.c": "enum lull_a {\n    SUM\n};\n"}, "src/cli/b.c: lull_a", "src/base/a.c")
        self.check({**one, "src/cli/b.c": "/* struct lull_a { */\nstruct lull_a *b;\nstruct a {\n    int sum;\n};\n",
                    "src/trace/c.c": "struct a {\n    int sum;\n};\n"})

    def test_mark_of_a_merge(self):
        self.check({"docs/a.md": "text\n" + "<" * 7 + " HEAD\n"}, "docs/a.md:2: the mark of a merge")

    def test_licences(self):
        tag = "SPDX-License-Identifier: BSD-3-Clause"
        files = {"src/base/a.c": f"/* {tag} */\n/* A. */\n", "src/base/b.h": f"/* B. */\n/* C. */\n/* {tag} */\n",
                 "scripts/run": f"#!/bin/sh\n# {tag}\n", "scripts/go": "#!/bin/sh\n# Goes.\n", "CMakeLists.txt": "\n",
                 "tests/unit/test_a.c": "/* A. */\n", "include/lull/lull.f90": f"! {tag}\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found = [line.split(":")[0] for line in check_layers.check_licences(pathlib.Path(folder))]
        self.assertEqual(sorted(found), ["CMakeLists.txt", "scripts/go", "src/base/b.h"])

    def test_versions(self):
        project = "project(lull VERSION 0.2.0 LANGUAGES C)\n"
        self.check({"CMakeLists.txt": project, "CITATION.cff": "version: 0.1.0\n"}, "CITATION.cff: version 0.1.0")
        self.check({"CMakeLists.txt": project, "python/lull/__init__.py": "x = 1\n"}, "version (none)")
        self.check({"CMakeLists.txt": project, "python/pyproject.toml": 'version = "0.2.0"\n'})
        early = project + "set(LULL_PRERELEASE -rc1)\n"
        self.check({"CMakeLists.txt": early, "CITATION.cff": "version: 0.2.0-rc1\n",
                    "python/pyproject.toml": 'version = "0.2.0rc1"\n'})
        self.check({"CMakeLists.txt": early, "CITATION.cff": "version: 0.2.0\n"}, "the project has 0.2.0-rc1")

    @unittest.skipUnless(shutil.which("git"), "git was not found")
    def test_tag(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "CMakeLists.txt").write_text("project(lull VERSION 0.2.0 LANGUAGES C)\n")
            git = ["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@example.org"]
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"], ["tag", "v0.2.0"], ["tag", "other"]):
                subprocess.run([*git, *words], check=True)
            self.assertEqual(list(check_layers.check_versions(pathlib.Path(folder))), [])
            subprocess.run([*git, "tag", "v0.3.0"], check=True)
            self.assertEqual(list(check_layers.check_versions(pathlib.Path(folder))),
                             ["CMakeLists.txt: version 0.2.0, the commit has the tag v0.3.0"])

    def test_circle_of_files(self):
        a, b = '#include "base/b.h"\n', '#include "base/a.h"\n'
        self.check({"src/base/a.h": "/* A. */\n", "src/base/a.c": a + b, "src/base/b.h": "/* B. */\n" + b,
                    "src/base/b.c": a}, "a circle of files: a b")
        self.check({"src/base/a.h": "/* A. */\n", "src/base/a.c": b, "src/base/b.h": "/* B. */\n" + b,
                    "src/base/c.c": a})

    def test_header_without_users(self):
        self.check({"src/base/a.h": "/* A. */\n", "src/base/a.c": '#include "base/a.h"\n'}, "includes this header")
        self.check({"src/base/a.h": "/* A. */\n", "tests/unit/base/test_a.c": '#include "base/a.h"\n'})

    def test_link_that_climbs(self):
        self.check(
            {"CMakeLists.txt": "lull_room(base SEES trace USES m)\n"}, "base is linked to trace"
        )

    def test_unlisted_library(self):
        self.check({"CMakeLists.txt": "pkg_check_modules(GSL REQUIRED gsl)\n"}, "library GSL")
        self.check({"cmake/Features.cmake": "find_library(X gsl)\n"}, "library gsl")


if __name__ == "__main__":
    unittest.main()
