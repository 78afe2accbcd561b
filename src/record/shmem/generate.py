#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wrappers of OpenSHMEM's functions from the prototypes in shmem.h and shmemx.h.

usage: generate.py PREPROCESSED_SHMEM_H OUTPUT.c
       generate.py --check PREPROCESSED_SHMEM_H     names that are neither wrapped nor left out

There are a thousand functions of a few forms, told apart by their names: one for each type.
"""
import re
import sys

# Forms of names, without "shmem_", "shmemx_" and "ctx_" in front; the first that fits counts.
FORMS = (
    ("(n_pes|my_pe|query_thread|info_get_.*|.*_accessible|ptr|.*cache.*|udcflush.*|pcontrol)", "none"),
    ("(team_(my_pe|n_pes|get_config|translate_pe)|get_team|signal_fetch)", "none"),
    ("init", "init"),
    ("init_thread", "init_thread"),
    ("finalize", "finalize"),
    (r"(put\d+|putmem|iput\d+|\w+_i?put)(_signal)?(_nbi)?", "put"),
    (r"(get\d+|getmem|iget\d+|\w+_i?get)(_nbi)?", "get"),
    (r"\w+_p", "put_one"),
    (r"\w+_g", "get_one"),
    (r"\w+?_(atomic_)?(compare_swap|cswap|swap|set|(fetch_)?(add|inc|and|or|xor)|fadd|finc|fetch)"
     "(_nbi)?", "atomic"),
    (r"(\w+_)?test", "poll"),
    ("test_lock", "poll_lock"),
    (r"barrier|sync(_deprecated)?|(barrier|sync)_all", "barrier"),
    (r"\w*broadcast(\d+|mem)?", "broadcast"),
    (r"\w*fcollect(\d+|mem)?", "fcollect"),
    (r"\w*collect(\d+|mem)?", "collect"),
    (r"\w*alltoalls?(\d+|mem)?", "alltoall"),
    (r"\w+_(to_all|reduce)", "reduce"),
    (r"(\w+_)?(wait|test)(_until)?(_(all|any|some)(_vector)?)?|signal_wait_until", "call"),
    (r"(set|clear)_lock|quiet|fence|global_exit|create|destroy|alltoall_global_nb", "call"),
    (r"malloc\w*|calloc|align|realloc|free|team_\w+", "call"))

TRANSFER = "rec_shmem_transfer(&call, REC_RMA_%s, %s, pe);"
# Bytes that a process of `set` gives, and gets; N: those that it gives to one.
COLLECTIVES = {
    "barrier": ("0", "0"),
    "broadcast": ("at_root ? N : 0", "at_root ? 0 : N"),
    "fcollect": ("N", "N * (uint64_t)set->size"),
    "collect": ("N", "N"), # a process does not know how much the others give
    "alltoall": ("N * (uint64_t)set->size", "N * (uint64_t)set->size"),
    "reduce": ("N", "N"),
}


class Function:
    def __init__(self, result, name, arguments):
        self.result, self.name = " ".join(result.split()), name
        self.arguments = [" ".join(argument.split()) for argument in arguments
                          if argument.strip() != "void"]
        self.names = [re.findall(r"\w+|\.+", argument)[-1] for argument in self.arguments]
        base = re.sub(r"^shmemx?_(ctx_)?", "", name)
        self.form = next((form for pattern, form in FORMS if re.fullmatch(pattern, base)),
                         None)
        if "team" in self.names and self.form in COLLECTIVES: # who its members are is not known
            self.form = "call"
        if name == "start_pes":
            self.form = "init"

    def element(self):
        """Bytes of what is transferred: of its type, or as the name says."""
        pointer = next(argument for argument in self.arguments if "*" in argument)
        if not re.search(r"\bvoid\b", pointer):
            return "sizeof *" + re.findall(r"\w+", pointer)[-1]
        bits = re.search(r"(\d+)(_signal)?(_nbi)?$", self.name)
        return str(int(bits[1]) // 8) if bits else "1"

    def count(self):
        name = next(name for name in self.names
                    if name in ("len", "nelems", "nlong", "nreduce", "size"))
        return "(uint64_t)%s * %s" % (name, self.element())


def functions(path):
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", open(path).read())
    text = re.sub(r"\btypedef\b[^;]*;", " ", text)
    found = {}
    for result, name, arguments in re.findall(
            r"(?:^|;|\})\s*(?:extern\s+)?((?:[\w]+[\s*]+)+?)(shmemx?_\w+|start_pes)\s*\(([^()]*)\)\s*(?=;)",
            text):
        found[name] = Function(result, name, arguments.split(","))
    return [found[name] for name in sorted(found)]


def collective(function):
    form = function.form
    lines = ["const uint64_t end = rec_now();"]
    whole = "PE_start" not in function.names
    lines.append("const struct rec_mpi_comm *set = %s;" % (
        "&rec_mpi_world" if whole else "rec_shmem_set(PE_start, logPE_stride, PE_size)"))
    sent, received = COLLECTIVES[form]
    if form == "broadcast":
        lines.append("const bool at_root = PE_root == set->rank;")
    if form != "barrier":
        lines.append("const uint64_t bytes = %s;" % function.count())
    root = "PE_root" if form == "broadcast" else "REC_NO_ROOT"
    lines.append("rec_mpi_collective(&call, end, set, %s, %s, %s);" % (
        root, re.sub(r"\bN\b", "bytes", sent), re.sub(r"\bN\b", "bytes", received)))
    return lines


def after(function):
    """Statements behind the call, which know its `result`."""
    form = function.form
    if form in COLLECTIVES:
        return collective(function)
    return {
        "init": lambda: ["rec_shmem_begun(&call, MPI_THREAD_SINGLE);"],
        "init_thread": lambda: ["rec_shmem_begun(&call, *%s);" % function.names[1]],
        "finalize": lambda: ["rec_mpi_followed_call(&call);"],
        "put": lambda: [TRANSFER % ("PUT", function.count())],
        "get": lambda: [TRANSFER % ("GET", function.count())],
        "put_one": lambda: [TRANSFER % ("PUT", function.element())],
        "get_one": lambda: [TRANSFER % ("GET", function.element())],
        "atomic": lambda: [TRANSFER % ("ATOMIC", function.element())],
        "poll": lambda: ["rec_mpi_poll(&call, result != 0);"],
        "poll_lock": lambda: ["rec_mpi_poll(&call, result == 0);"],
        "call": lambda: ["rec_mpi_call(&call);"],
    }[form]()


def wrapper(function):
    passed, returns = ", ".join(function.names), function.result != "void"
    followed = function.form in ("init", "init_thread", "finalize")
    real = "real(%s);" % passed
    lines = ["REC_EXPORT %s %s(%s)" % (function.result, function.name,
                                       ", ".join(function.arguments) or "void"),
             "{",
             "    REC_SHMEM_REAL(%s);" % function.name,
             "    struct rec_mpi_call call;",
             "    if (!rec_shmem_begin%s(&call, REC_%s, REC_CALLER, REC_FRAME)) {" % (
                 "_followed" if followed else "", function.name)]
    if function.form == "finalize":
        lines.append("        rec_shmem_end();")
    lines += ["        return " + real] if returns else ["        " + real, "        return;"]
    lines += ["    }"]
    if function.form == "finalize":
        lines.append("    rec_shmem_end_call(&call);")
    if function.form in ("init", "init_thread"):
        lines.append("    rec_shmem_beginning();")
    lines.append("    " + ("const __typeof__(%s) result = " % real[:-1] if returns else "") + real)
    lines += ["    " + line for line in after(function)]
    lines.append("    rec_mpi_end(&call);")
    return lines + (["    return result;"] if returns else []) + ["}", ""]


def generate(header, output):
    wrapped = [function for function in functions(header) if function.form not in (None, "none")]
    lines = ["/* Made by generate.py from shmem.h. */",
             "#include \"record/shmem/shmem.h\"", "", "#include <shmem.h>", "#include <shmemx.h>", ""]
    lines += ["#undef " + function.name for function in wrapped] + ["", "enum {"]
    lines += ["    REC_%s%s," % (function.name, "" if place else " = REC_SHMEM")
              for place, function in enumerate(wrapped)]
    lines += ["    REC_SHMEM_END", "};", "",
              "uint32_t rec_shmem_regions[REC_SHMEM_END - REC_SHMEM];", "",
              "const char *const rec_shmem_names[] = {"]
    lines += ["    \"%s\"," % function.name for function in wrapped] + ["};", ""]
    for function in wrapped:
        lines += wrapper(function)
    with open(output, "w") as out:
        out.write("\n".join(lines))


def check(header):
    known = functions(header)
    unknown = [function.name for function in known if function.form is None]
    for name in unknown:
        print("%s: neither wrapped nor left out" % name)
    print("%d functions, %d wrapped" % (len(known), sum(function.form not in (None, "none")
                                                        for function in known)))
    return 1 if unknown or len(known) < 100 else 0


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    if arguments[0] == "--check":
        return check(arguments[1])
    generate(*arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
