#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wrappers of MPI functions from functions.txt and the prototypes in mpi.h.

usage: generate.py functions.txt PREPROCESSED_MPI_H OUTPUT.c
       generate.py --check functions.txt PREPROCESSED_MPI_H     names that the table does not know
"""
import fnmatch
import re
import sys

# What each class of functions does around the real call. `{role}` is the argument with that role,
# REAL the call itself; everything called rec_mpi_* is in wrap.h.
SIMPLE = {
    "call": "rec_mpi_call(&call);",
    "send": "rec_mpi_send(&call, {count}, {type}, {dest}, {tag}, {comm});",
    "isend": "rec_mpi_isend(&call, {count}, {type}, {dest}, {tag}, {comm}, {request});",
    "irecv": "rec_mpi_irecv(&call, {count}, {type}, {source}, {tag}, {comm}, {request});",
    "isendrecv": "rec_mpi_isendrecv(&call, rec_mpi_bytes({count}, {type}), {dest}, {tag}, "
                 "rec_mpi_bytes({rcount}, {rtype}), {source}, {rtag}, {comm}, {request});",
    "send_init": "rec_mpi_persistent(&call, LULL_TAPE_CALL_ISEND, 0, "
                 "rec_mpi_bytes({count}, {type}), {dest}, {tag}, {comm}, {request});",
    "bsend_init": "rec_mpi_persistent(&call, LULL_TAPE_CALL_ISEND, LULL_TAPE_MODE_BUFFERED, "
                  "rec_mpi_bytes({count}, {type}), {dest}, {tag}, {comm}, {request});",
    "ssend_init": "rec_mpi_persistent(&call, LULL_TAPE_CALL_ISEND, LULL_TAPE_MODE_SYNCHRONOUS, "
                  "rec_mpi_bytes({count}, {type}), {dest}, {tag}, {comm}, {request});",
    "recv_init": "rec_mpi_persistent(&call, LULL_TAPE_CALL_IRECV, 0, "
                 "rec_mpi_bytes({count}, {type}), {source}, {tag}, {comm}, {request});",
    "psend_init": "rec_mpi_persistent(&call, LULL_TAPE_CALL_ISEND, 0, (uint64_t){parts} * "
                  "rec_mpi_bytes({count}, {type}), {dest}, {tag}, {comm}, {request});",
    "precv_init": "rec_mpi_persistent(&call, LULL_TAPE_CALL_IRECV, 0, (uint64_t){parts} * "
                  "rec_mpi_bytes({count}, {type}), {source}, {tag}, {comm}, {request});",
    "poll": "rec_mpi_poll(&call, *{flag});",
    "start": "rec_mpi_start(&call, 1, {request});",
    "startall": "rec_mpi_start(&call, {n}, {requests});",
    "mprobe": "rec_mpi_mprobe(&call, 1, {comm}, {message});",
    "improbe": "rec_mpi_mprobe(&call, *{flag}, {comm}, {message});",
    "new_window": "rec_mpi_new_window(&call, {comm}, {window});",
    "group_comm": "rec_mpi_group_comm(&call, {comm}, {tag}, *{newcomm});",
    "intercomm": "rec_mpi_new_intercomm(&call, {comm}, {leader}, {peer}, {far_leader}, {tag}, "
                 "*{newcomm});",
    "dup_comm": "rec_mpi_dup_comm(&call, {comm}, *{newcomm});",
    "idup_comm": "rec_mpi_idup_comm(&call, {comm}, *{newcomm}, {request});",
    "named_comm": "rec_mpi_group_comm(&call, MPI_COMM_NULL, rec_mpi_tag_of_name({name}), *{newcomm});",
    "session": "rec_mpi_begin_session(&call, *{session});",
    "rma_put": "rec_mpi_rma(&call, REC_RMA_PUT, rec_mpi_bytes({count}, {type}), {target}, "
               "{win});",
    "rma_get": "rec_mpi_rma(&call, REC_RMA_GET, rec_mpi_bytes({count}, {type}), {target}, "
               "{win});",
    "rma_atomic": "rec_mpi_rma(&call, REC_RMA_ATOMIC, rec_mpi_bytes({count}, {type}), "
                  "{target}, {win});",
    "rma_atomic_1": "rec_mpi_rma(&call, REC_RMA_ATOMIC, rec_mpi_bytes(1, {type}), "
                    "{target}, {win});",
    "io_open": "rec_mpi_io_open(&call, {name}, *{file});",
    "io_iread": "rec_mpi_io(&call, REC_IO_READ, {file}, rec_mpi_bytes({count}, {type}));",
    "io_iwrite": "rec_mpi_io(&call, REC_IO_WRITE, {file}, rec_mpi_bytes({count}, {type}));",
    "finalize": "rec_mpi_followed_call(&call);",
    "init": "rec_mpi_init(&call, MPI_THREAD_SINGLE);",
    "init_thread": "rec_mpi_init(&call, *{provided});",
}

# Classes that must look at their arguments before the call, which changes them, or bring a status
# of their own where the program ignores it: statements before, and after.
STATUS = "MPI_Status own_status, *seen = rec_mpi_seen_by({status}, &own_status);"
STATUSES = "struct rec_mpi_waited waited;\n    MPI_Status *seen = " \
           "rec_mpi_waits(&waited, call.self, {n}, {requests}, {statuses});"
WAITED = "const MPI_Request waited = {request} ? *{request} : MPI_REQUEST_NULL;"
ANY = STATUS + "\n    struct rec_mpi_waited waited;\n    " \
      "rec_mpi_waits(&waited, call.self, {n}, {requests}, MPI_STATUSES_IGNORE);"
MATCHED = "const struct rec_mpi_comm *in_comm = rec_mpi_comm_of_message({message});"
BRACKET = {
    "recv": (STATUS, "rec_mpi_recv(&call, seen, got, rec_mpi_comm_of({comm}));"),
    "sendrecv": (STATUS, "rec_mpi_sendrecv(&call, rec_mpi_bytes({count}, {type}), {dest}, {tag}, "
                         "{comm}, seen, got);"),
    "wait": (STATUS + "\n    " + WAITED, "rec_mpi_wait(&call, 1, waited, seen);"),
    "test": (STATUS + "\n    " + WAITED, "rec_mpi_wait(&call, *{flag}, waited, seen);"),
    "waitall": (STATUSES, "rec_mpi_waitall(&call, 1, &waited, seen);"),
    "testall": (STATUSES, "rec_mpi_waitall(&call, *{flag}, &waited, seen);"),
    "waitany": (ANY, "rec_mpi_waitany(&call, 1, *{index}, &waited, seen);"),
    "testany": (ANY, "rec_mpi_waitany(&call, *{flag}, *{index}, &waited, seen);"),
    "waitsome": (STATUSES, "rec_mpi_waitsome(&call, *{done}, {indices}, &waited, seen);"),
    "testsome": (STATUSES, "rec_mpi_waitsome(&call, *{done}, {indices}, &waited, seen);"),
    "request_free": (WAITED, "rec_mpi_request_free(&call, waited);"),
    "mrecv": (STATUS + "\n    " + MATCHED, "rec_mpi_recv(&call, seen, got, in_comm);"),
    "imrecv": (MATCHED, "rec_mpi_imrecv(&call, rec_mpi_bytes({count}, {type}), in_comm, "
                        "{request});"),
    "free_comm": ("const struct rec_mpi_comm *in_comm = rec_mpi_comm_to_free({comm});",
                  "rec_mpi_free_comm(&call, in_comm);"),
    "spawn": ("struct rec_mpi_spawn spawn;\n    rec_mpi_spawn_begin(&spawn, {command}, {argv}, {size}, "
              "{info}, {root}, {comm});", "rec_mpi_spawn_end(&call, &spawn, {comm}, *{newcomm});"),
    "spawn_multiple": ("struct rec_mpi_spawn spawn;\n    rec_mpi_spawn_begin_multiple(&spawn, {n}, "
                       "{command}, {argv}, {size}, {info}, {root}, {comm});",
                       "rec_mpi_spawn_end(&call, &spawn, {comm}, *{newcomm});"),
    "io_read": (STATUS, "rec_mpi_io(&call, REC_IO_READ, {file}, rec_mpi_status_bytes(seen));"),
    "io_write": (STATUS, "rec_mpi_io(&call, REC_IO_WRITE, {file}, rec_mpi_status_bytes(seen));"),
    "io_close": ("const uint32_t closed = rec_mpi_io_forget({file});", "rec_mpi_io_close(&call, closed);"),
}

# After an error output arguments mean nothing and may be NULL, and the record is that of a call without
# a message or anything else in it. But where a call completes requests, each of them has an error of its
# own.
FAILED = {kind: "rec_mpi_spawn_failed(&call, &spawn);" for kind in ("spawn", "spawn_multiple")}
WAIT_FAILED = "rec_mpi_wait_failed(&call, result, %s, {%s}, seen, %s);"
FAILED.update({kind: WAIT_FAILED % ("1, &waited", "request", "false") for kind in ("wait", "test")})
FAILED.update({kind: WAIT_FAILED % ("waited.n, waited.requests", "requests", each)
               for kind, each in (("waitall", "true"), ("testall", "true"),
                                  ("waitany", "false"), ("testany", "false"))})
FAILED.update({kind: "rec_mpi_waitsome_failed(&call, result, {done}, {indices}, &waited, seen);"
               for kind in ("waitsome", "testsome")})

# Classes that receive. A message that was too long is an error, and as much of it is received as there
# was room for; `got` is the room then, because libraries do not agree on what the status says.
RECEIVING = ("recv", "sendrecv", "mrecv")

# What is passed instead of an argument.
REPLACED = {
    "spawn": {"command": "spawn.commands[0]", "argv": "spawn.argvs[0]"},
    "spawn_multiple": {"command": "spawn.commands", "argv": "spawn.argvs"},
}

# Classes that may complete requests, or that make or free what later calls refer to.
FOLLOWED = ("init", "init_thread", "finalize", "wait", "test", "waitall", "testall", "waitany",
            "testany", "waitsome", "testsome", "request_free", "send_init", "bsend_init", "ssend_init",
            "recv_init", "psend_init", "precv_init", "collective_init", "new_comm", "group_comm",
            "intercomm", "dup_comm",
            "idup_comm", "named_comm", "session", "spawn", "spawn_multiple", "new_window", "mprobe",
            "improbe")

# Bytes that a process gives to a collective operation, and gets from it. B, B_S and B_R are a count times
# a type; V_S and V_R the sum of counts of one type over so many ranks, W_S and W_R that of counts with a
# type each; S is sent, R received. bytes_of defines `at_root`, `gets` and `gives` for `in_comm`.
B_S, B_R = "rec_mpi_bytes({scount}, {stype})", "rec_mpi_bytes({rcount}, {rtype})"
V_S = "REC_MPI_SUM({scounts}, {stype}, %s)"
V_R = "REC_MPI_SUM({rcounts}, {rtype}, %s)"
W_S = "REC_MPI_SUM_TYPES({scounts}, {stypes}, %s)"
W_R = "REC_MPI_SUM_TYPES({rcounts}, {rtypes}, %s)"
B = "rec_mpi_bytes({count}, {type})"
N = "in_comm->peers"
IN_PLACE = "({sbuf} == MPI_IN_PLACE)"
COLLECTIVES = {
    "Barrier": ("0", "0"),
    "Bcast": ("at_root ? %s : 0" % B, "gets ? %s : 0" % B),
    "Gather": ("!gives || %s ? 0 : %s" % (IN_PLACE, B_S), "at_root ? %s * %s : 0" % (N, B_R)),
    "Gatherv": ("!gives || %s ? 0 : %s" % (IN_PLACE, B_S), "at_root ? %s : 0" % V_R % N),
    "Scatter": ("at_root ? %s * %s : 0" % (N, B_S),
                "!gives || {rbuf} == MPI_IN_PLACE ? 0 : %s" % B_R),
    "Scatterv": ("at_root ? %s : 0" % V_S % N, "!gives || {rbuf} == MPI_IN_PLACE ? 0 : %s" % B_R),
    "Allgather": ("%s ? %s : %s" % (IN_PLACE, B_R, B_S), "%s * %s" % (N, B_R)),
    "Allgatherv": ("%s ? rec_mpi_bytes({rcounts}[in_comm->rank], {rtype}) : %s" % (IN_PLACE, B_S),
                   V_R % N),
    "Alltoall": ("%s * (%s ? %s : %s)" % (N, IN_PLACE, B_R, B_S), "%s * %s" % (N, B_R)),
    "Alltoallv": ("%s ? %s : %s" % (IN_PLACE, V_R % N, V_S % N), V_R % N),
    "Alltoallw": ("%s ? %s : %s" % (IN_PLACE, W_R % N, W_S % N), W_R % N),
    "Reduce": ("gives ? %s : 0" % B, "at_root ? %s : 0" % B),
    "Allreduce": (B, B),
    "Reduce_scatter": ("REC_MPI_SUM({rcounts}, {type}, in_comm->size)",
                       "rec_mpi_bytes({rcounts}[in_comm->rank], {type})"),
    "Reduce_scatter_block": ("in_comm->size * %s" % B, B),
    "Scan": (B, B),
    "Exscan": (B, B),
    "Neighbor_allgather": (B_S, "in_comm->sources * %s" % B_R),
    "Neighbor_allgatherv": (B_S, V_R % "in_comm->sources"),
    "Neighbor_alltoall": ("in_comm->targets * %s" % B_S, "in_comm->sources * %s" % B_R),
    "Neighbor_alltoallv": (V_S % "in_comm->targets", V_R % "in_comm->sources"),
    "Neighbor_alltoallw": (W_S % "in_comm->targets", W_R % "in_comm->sources"),
}


# What is done in addition where the program is disturbed on purpose (record/mpi/disturb.h): statements
# before the library's function, and after it.
RECEIVED = ("MPI_Status own_status, *seen = rec_mpi_seen_by({status}, &own_status);",
            "rec_disturb_received({comm}, seen, result);")
SENT = "const uint64_t sent_as = rec_disturb_send({comm}, {dest}, {tag});"
WAS_SENT = "rec_disturb_sent(sent_as, {comm}, {dest}, {tag}, result);"
POSTED = "    rec_disturb_%s({comm}, {%s}, {tag}, *{request});"
IF_GOOD = "if (result == MPI_SUCCESS)\n    "
DISTURBED = {
    "send": (SENT, WAS_SENT),
    "isend": (SENT, WAS_SENT),
    "recv": RECEIVED,
    "irecv": ("", IF_GOOD + POSTED % ("post_receive", "source")),
    "sendrecv": (SENT + "\n    " + RECEIVED[0], WAS_SENT + "\n    " + RECEIVED[1]),
    "isendrecv": (SENT, WAS_SENT + "\n    " + IF_GOOD +
                  "    rec_disturb_post_receive({comm}, {source}, {rtag}, *{request});"),
    "recv_init": ("", IF_GOOD + POSTED % ("init_receive", "source")),
    "mrecv": ("", ""),
    "imrecv": ("", ""),
    "neighbour": ("", ""),
}
DISTURBED.update({kind: ("", IF_GOOD + POSTED % ("init_send", "dest"))
                  for kind in ("send_init", "bsend_init", "ssend_init")})
# Functions in whose place a function of record/mpi/disturb.h is called.
IN_PLACE_OF = {"MPI_" + name.capitalize(): "rec_disturb_" + name
               for name in ("start", "startall", "wait", "waitall", "waitany", "waitsome", "test",
                            "testall", "testany", "testsome", "request_free", "probe", "iprobe",
                            "mprobe", "improbe")}
IN_PLACE_OF["MPI_Request_get_status"] = "rec_disturb_get_status"
# Classes whose calls end a computation; MPI_Probe ends one, too.
COMMUNICATING = ("send", "recv", "sendrecv", "mrecv", "wait", "waitall", "waitany", "waitsome", "mprobe",
                 "collective", "neighbour", "isend", "irecv", "isendrecv", "imrecv", "start",
                 "startall", "icollective")


# Classes that are the same as another one here; the readers of traces tell them apart.
CLASSES = {"one2all": "collective", "all2one": "collective", "all2all": "collective", "prefix": "collective",
           "p2p": "call", "free_window": "call"}


class Row:
    def __init__(self, name, kind, roles, base):
        self.name, self.kind, self.roles, self.base = name, kind, roles, base


def read_table(path):
    rows, none = {}, []
    for line in open(path):
        words = line.split("#")[0].split()
        if not words:
            continue
        name, kind, roles = words[0], CLASSES.get(words[1], words[1]), words[2:]
        if kind == "none":
            none.append(name)
            continue
        rows[name] = Row(name, kind, roles, name[4:])
        if kind in ("collective", "neighbour"):
            base = name[4:]
            rows["MPI_I" + base[0].lower() + base[1:]] = Row(
                name, "icollective", roles + ["request"], base)
            rows[name + "_init"] = Row(name, "collective_init", roles + [".", "request"], base)
    return rows, none


def argument(text, place):
    """A declared argument and its name; a prototype may leave the name out."""
    text = " ".join(text.split())
    before, bracket, after = text.partition("[")
    words = [word for word in re.findall(r"[\w.]+", before) if word != "const"]
    if len(words) > 1 or words == ["..."]:
        return text, words[-1]
    name = "argument_%d" % place
    return "%s %s%s%s" % (before.rstrip(), name, bracket, after), name


def prototypes(path):
    """name without P -> list of (declaration, name) of its arguments"""
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", open(path).read())
    found = {}
    for name, arguments in re.findall(r"\bint\s+P(MPIX?_\w+)\s*\(([^()]*)\)", text):
        parts = [] if arguments.strip() == "void" else arguments.split(",")
        found[name] = [argument(part, place) for place, part in enumerate(parts)]
    return found


def all_names(path):
    text = re.sub(r"\btypedef\b[^;{]*;", " ", open(path).read())
    return set(re.findall(r"\b(MPIX?_[A-Z]\w*)\s*\(", text))


def row_of(rows, name):
    if name in rows:
        return rows[name]
    if name.startswith("MPIX_"): # its name before it came into the standard
        return row_of(rows, "MPI_" + name[5:])
    return rows.get(name[:-2]) if name.endswith("_c") else None


def op_of(row):
    return "LULL_TAPE_OP_" + ("NEIGHBOUR" if row.base.startswith("Neighbor") else row.base.upper())


def root_of(row):
    return "{root}" if "root" in row.roles else "REC_NO_ROOT"


def bytes_of(row):
    """Statements that make `sent` and `received` of a collective operation on `in_comm`."""
    sent, received = COLLECTIVES[row.base]
    lines = []
    if "root" in row.roles:
        conditions = {"at_root": "rec_mpi_at_root(in_comm, {root})",
                      "gets": "rec_mpi_gets(in_comm, {root})",
                      "gives": "rec_mpi_gives(in_comm, {root})"}
        for word, condition in conditions.items():
            if re.search(r"\b%s\b" % word, sent + " " + received):
                lines.append("const bool %s = %s;" % (word, condition))
    return lines + ["const uint64_t sent = %s;" % sent,
                    "const uint64_t received = %s;" % ("sent" if received == sent else received)]


def body_of(row, fill):
    """Statements before the call, and after it."""
    if row.kind in SIMPLE:
        return "", fill(SIMPLE[row.kind])
    if row.kind in BRACKET:
        before, after = BRACKET[row.kind]
        return fill(before), fill(after)
    if row.kind == "new_comm":
        comm = "{comm}" if "comm" in row.roles else "MPI_COMM_NULL"
        tag = "{tag}" if "tag" in row.roles else "0"
        return "", fill("rec_mpi_new_comm(&call, %s, %s, *{newcomm});" % (comm, tag))
    if row.kind in ("collective", "icollective", "collective_init", "neighbour"):
        lines = ["const struct rec_mpi_comm *in_comm = rec_mpi_comm_of({comm});"] + bytes_of(row)
        # The time after `end` counts as the program's. So sums over all ranks are made before it.
        many = any("REC_MPI_SUM" in line for line in lines)
        lines.insert(len(lines) if many else 0, "const uint64_t end = rec_now();")
        root = root_of(row)
        if row.kind in ("collective", "neighbour"):
            lines.append("rec_mpi_collective(&call, end, in_comm, %s, sent, received);" % root)
        else:
            function, op = "rec_mpi_icollective", ""
            if row.kind == "collective_init":
                function = "rec_mpi_persistent_collective"
                op = ", " + op_of(row)
            lines.append("%s(&call, end, in_comm, %s, sent, received, {request}%s);"
                         % (function, root, op))
        return "", fill("\n    ".join(lines))
    sys.exit("%s: unknown class '%s'" % (row.name, row.kind))


def disturbed_body(row):
    """Statements before the library's function, and after it, where the program is disturbed; None:
    there are none."""
    if row.kind not in ("collective", "icollective", "collective_init"):
        return DISTURBED.get(row.kind)
    end = {"collective": "rec_disturb_joined(&operation);",
           "icollective": "rec_disturb_post_operation(&operation, false, *{request});",
           "collective_init": "rec_disturb_post_operation(&operation, true, *{request});"}[row.kind]
    lines = ["const struct rec_mpi_comm *in_comm = operation.comm;", "(void)in_comm;"]
    lines += bytes_of(row)
    lines += ["operation.op = %s;" % op_of(row), "operation.root = %s;" % root_of(row),
              "operation.bytes = sent > received ? sent : received;", end]
    return ("struct rec_disturbed_operation operation;\n    rec_disturb_%s(&operation, {comm});"
            % ("make" if row.kind == "collective_init" else "join"),
            "if (result == MPI_SUCCESS && operation.key != 0) {\n        %s\n    }"
            % "\n        ".join(lines))


def disturbed(name, row, declaration, passed, fill, status):
    """The function that is called in place of the library's, and the function that the program's call
    takes where the program is disturbed."""
    lines, body = [], disturbed_body(row)
    instead = IN_PLACE_OF.get(name)
    if not instead and not body:
        return []
    if not instead:
        before, after = (fill(part) for part in body)
        instead = "disturb_" + name
        inside = re.sub(r"\b%s\b" % status, "seen", passed) if "*seen" in before else passed
        lines += ["static int %s(%s)" % (instead, declaration), "{",
                  "    __typeof__(&P%s) real = (__typeof__(real))rec_disturb_next;" % name,
                  "    if (!rec_disturb_enter(REC_FRAME))",
                  "        return real(%s);" % passed]
        lines += ["    " + before] if before else []
        lines += ["    int result = real(%s);" % inside]
        lines += ["    " + after] if after else []
        lines += ["    rec_disturb_leave();", "    return result;", "}"]
    lines += ["REC_COLD static int disturbed_%s(__typeof__(&P%s) real, const void *from, "
              "const void *frame, %s)" % (name, name, declaration), "{"]
    communicates = row.kind in COMMUNICATING or name == "MPI_Probe"
    if communicates:
        lines.append("    const bool counts = rec_disturb_come(REC_%s);" % name)
    lines += ["    rec_disturb_next = (void (*)(void))real;",
              "    int result = record_%s(%s, from, frame, %s);" % (
                  name, instead, ", ".join("(uintptr_t)" + word.strip() for word in passed.split(",")))]
    if communicates:
        lines += ["    if (counts)", "        rec_inject_go();"]
    return lines + ["    return result;", "}"]


def words_of(count):
    return ", ".join("uintptr_t word_%d" % i for i in range(count))


def typed(place, text, name):
    """Word `place` as the argument that is declared so."""
    before, bracket, after = text.partition("[")
    kind = re.sub(r"\b%s\s*$" % name, "", before).strip()
    inner = after.partition("]")[2] # of an array of arrays
    return "(%s %s)word_%d" % (kind, "(*)" + inner if inner else "*" if bracket else "", place)


def pointer_to(text):
    """The declaration of a variable for such an argument, which may be an array."""
    before, bracket, after = text.partition("[")
    inner = after.partition("]")[2]
    kind, name = re.match(r"(.*?)(\w+)\s*$", before).groups()
    return kind + ("(*%s)%s" % (name, inner) if inner else "*" + name if bracket else name)


def entry(name, symbol, arguments, has_disturbed):
    """What the program calls. It gets and passes on whole words: in a library of another family handles
    may be longer than they are here."""
    words = ", ".join("word_%d" % i for i in range(len(arguments)))
    passed = ", ".join(typed(i, *argument) for i, argument in enumerate(arguments))
    declaration = "int entry_%s(%s)" % (symbol, words_of(len(arguments)) or "void")
    lines = ["%s __asm__(\"%s\");" % (declaration, symbol),
             "REC_EXPORT " + declaration,
             "{",
             "    static __typeof__(&P%s) found; /* atomic */" % name,
             "    __typeof__(found) real = __atomic_load_n(&found, __ATOMIC_ACQUIRE);",
             "    if (REC_UNLIKELY(!real)) {"]
    if has_disturbed: # then `found` stays NULL
        lines += ["        static __typeof__(found) next; /* atomic */",
                  "        real = __atomic_load_n(&next, __ATOMIC_ACQUIRE);",
                  "        if (!real)",
                  "            real = (__typeof__(real))rec_mpi_real(\"%s\");" % symbol,
                  "        __atomic_store_n(&next, real, __ATOMIC_RELEASE);",
                  "        if (REC_UNLIKELY(rec_process.disturbs) && rec_mpi_fits())",
                  "            return disturbed_%s(real, REC_CALLER, REC_FRAME, %s);" % (name, passed)]
    else:
        lines.append("        real = (__typeof__(real))rec_mpi_real(\"%s\");" % symbol)
    return lines + ["        __atomic_store_n(&found, real, __ATOMIC_RELEASE);",
                    "    }",
                    "    return record_%s(real, REC_CALLER, REC_FRAME%s);" % (
                        name, ", " + words if words else ""),
                    "}"]


# Fortran's functions of Open MPI return by themselves where there are no requests, without a call of the
# function of C: which functions, and what they answer then.
EMPTY = ("MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Testall", "MPI_Testany", "MPI_Testsome")
ANSWERS = {"flag": "1", "index": "MPI_UNDEFINED", "outcount": "MPI_UNDEFINED"}
SPELLINGS = ("%s", "%s_", "%s__", "p%s", "p%s_", "p%s__")


def for_fortran(name, arguments):
    """What a program in Fortran calls. Where there are no requests, a call is recorded; then the
    library's function is called in any case."""
    symbol = name.lower()
    count = len(arguments) + 1 # the last one is the status of Fortran
    words = ", ".join("word_%d" % i for i in range(count))
    answers = [argument for _, argument in arguments if argument in ANSWERS]
    lines = ["#if defined(OPEN_MPI)",
             "static int empty_%s(%s)" % (name, ", ".join(text for text, _ in arguments)), "{"]
    for _, argument in arguments:
        lines.append("    *%s = %s;" % (argument, ANSWERS[argument]) if argument in answers
                     else "    (void)%s;" % argument)
    lines += ["    return MPI_SUCCESS;", "}",
              "REC_COLD static void without_%s(const void *from, const void *frame)" % name, "{"]
    lines += ["    int %s;" % answer for answer in answers]
    lines += ["    record_%s(empty_%s, from, frame, %s);" % (
        name, name, ", ".join("(uintptr_t)&" + argument if argument in answers else "0"
                              for _, argument in arguments)), "}"]
    lines += ["void fortran_%s(%s) __asm__(\"o%s_f\");" % (name, words_of(count), symbol),
              "REC_EXPORT REC_JUMPS void fortran_%s(%s)" % (name, words_of(count)), "{",
              "    static void (*found)(%s); /* atomic */" % ", ".join(["uintptr_t"] * count),
              "    __typeof__(found) real = __atomic_load_n(&found, __ATOMIC_ACQUIRE);",
              "    if (REC_UNLIKELY(!real)) {",
              "        real = (__typeof__(real))rec_mpi_real(\"o%s_f\");" % symbol,
              "        __atomic_store_n(&found, real, __ATOMIC_RELEASE);",
              "    }",
              "    if (REC_UNLIKELY(*(const int *)word_0 == 0))",
              "        without_%s(REC_CALLER, REC_FRAME);" % name,
              "    REC_JUMP real(%s);" % words,
              "}"]
    lines += ["void fortran_%s_%d(%s) __asm__(\"%s\") __attribute__((alias(\"o%s_f\"), visibility(\"default\")));" % (
        name, i, words_of(count), spelling % symbol, symbol) for i, spelling in enumerate(SPELLINGS)]
    return lines + ["#endif"]


def wrapper(name, row, arguments):
    declared = [a for a in arguments if a[0] != "..."]
    if len(declared) != len(row.roles):
        sys.exit("%s: the table has %d arguments, mpi.h %d" % (name, len(row.roles), len(declared)))
    names = {role: argument[1] for role, argument in zip(row.roles, declared) if role != "."}

    def fill(text):
        return re.sub(r"\{(\w+)\}", lambda m: names[m.group(1)], text)

    # A function that only receives has one count; MPI_Isendrecv_replace receives as much as it sends.
    for role, same in (("rcount", "count"), ("rtype", "type")):
        if role not in names and same in names:
            names[role] = names[same]
    before, after = body_of(row, fill)
    passed = ", ".join(argument[1] for argument in declared)
    passed_inside = passed
    if "*seen" in before:
        status = names["status" if "status" in names else "statuses"]
        passed_inside = re.sub(r"\b%s\b" % status, "seen", passed)
    for role, other in REPLACED.get(row.kind, {}).items():
        passed_inside = re.sub(r"\b%s\b" % names[role], other, passed_inside)
    declaration = ", ".join(a[0] for a in declared)
    words = ", ".join("word_%d" % i for i in range(len(declared)))
    lines = ["REC_INLINE int record_%s(__typeof__(&P%s) real, const void *from, const void *frame%s)"
             % (name, name, ", " + words_of(len(declared)) if words else ""),
             "{",
             "    struct rec_mpi_call call;",
             "    if (!rec_mpi_begin%s(&call, REC_%s, from, frame)) {" % (
                 "_followed" if row.kind in FOLLOWED else "", name)]
    if row.kind == "finalize": # other nodes wait for this one's clock, recorded or not
        lines.append("        rec_mpi_end_world();")
    lines += ["        return ((int (*)(%s))(void (*)(void))real)(%s);" % (
        ", ".join(["uintptr_t"] * len(declared)) or "void", words), "    }"]
    for place, (text, argument) in enumerate(declared):
        lines.append("    %s = %s;" % (pointer_to(text), typed(place, text, argument)))
        lines.append("    (void)%s;" % argument)
    if before:
        lines.append("    " + before)
    lines.append("    call.begin = rec_open_call(call.self, call.region);")
    if row.kind == "finalize":
        lines.append("    rec_mpi_begin_finalize(&call);")
    if row.kind in ("init", "init_thread"):
        lines.append("    rec_mpi_nodes_claim();")
    truncated = []
    undisturbed = row.kind in ("init", "init_thread", "finalize")
    if undisturbed:
        lines.append("    rec_sample_hold();")
    if row.kind in RECEIVING:
        room = "rec_mpi_bytes({rcount}, {rtype})"
        truncated = ["    } else if (rec_mpi_was_truncated(result)) {",
                     "    " + re.sub(r"\bgot\b", fill(room), after)]
        after = re.sub(r"\bgot\b", "rec_mpi_status_bytes(seen)", after)
    lines += ["    int result = real(%s);" % passed_inside]
    if undisturbed:
        lines.append("    rec_sample_release();")
    lines += ["    if (REC_LIKELY(result == MPI_SUCCESS)) {",
              "    " + after.replace("\n", "\n    ")] + truncated + [
              "    } else {",
              "    " + fill(FAILED.get(row.kind, "rec_mpi_followed_call(&call);" if row.kind in FOLLOWED
                                   else "rec_mpi_call(&call);")),
              "    }",
              "    rec_mpi_end(&call);",
              "    return result;",
              "}"]
    more = disturbed(name, row, declaration, passed, fill, names.get("status"))
    lines += more
    for symbol in ("P" + name, name):
        lines += entry(name, symbol, declared, bool(more))
    if name in EMPTY:
        lines += for_fortran(name, declared)
    return "\n".join(lines) + "\n"


def generate(table, header, output):
    rows, _ = read_table(table)
    found = prototypes(header)
    names = sorted(name for name in found
                   if row_of(rows, name) and row_of(rows, name).kind != "by_hand")
    with open(output, "w") as out:
        out.write("/* Made by generate.py from functions.txt and mpi.h. */\n")
        out.write("#include \"record/mpi/disturb.h\"\n")
        out.write("#include \"record/mpi/nodes.h\"\n#include \"record/mpi/wrap.h\"\n")
        out.write("#include \"record/sample/sample.h\"\n\n")
        out.write("enum {\n%s    REC_FUNCTIONS\n};\n\n" % "".join(
            "    REC_%s,\n" % name for name in names))
        out.write("uint32_t rec_mpi_regions[REC_FUNCTIONS];\n\n")
        out.write("const unsigned rec_mpi_n_functions = REC_FUNCTIONS;\n\n")
        out.write("const char *const rec_mpi_names[REC_FUNCTIONS] = {\n%s};\n\n" % "".join(
            "    \"%s\",\n" % name for name in names))
        for name in names:
            out.write(wrapper(name, row_of(rows, name), found[name]) + "\n")


def check(table, header):
    rows, none = read_table(table)
    names = all_names(header)
    unknown = [name for name in sorted(names) if not row_of(rows, name)
               and not any(fnmatch.fnmatchcase(name, pattern) or
                           fnmatch.fnmatchcase(name, pattern + "_c") for pattern in none)]
    for name in unknown:
        print("%s: neither wrapped nor listed as not wrapped" % name)
    wrapped = [name for name in names if row_of(rows, name)]
    print("%d functions in mpi.h, %d wrapped" % (len(names), len(wrapped)))
    return 1 if unknown or not wrapped else 0


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--check":
        return check(arguments[1], arguments[2])
    if len(arguments) != 3:
        sys.exit(__doc__)
    generate(*arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
