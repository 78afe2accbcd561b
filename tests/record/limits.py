"""Where room ends: a full file system, the size budget, descriptors that the program closes, little
address space; and a run that is read while it is being written.

    limits.py full-disk|copy-on-write|budget|live|closed|memory|committed
              --lull LULL --check CHECK_RUN --bin FOLDER [--store node|process]

FOLDER has the programs omp_barriers.gcc, many_regions.gcc, closing.gcc and live.gcc, and ends.openmpi and
ends.mpich where these are. `full-disk` mounts a small
tmpfs in a name space of its own, `copy-on-write` a file as a file system that writes every change to another
place (btrfs). Exit status 77: that is not allowed here.
"""
import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import tape_parts
import together

CHUNK, HEADER = 65536, 4096
# UCX 1.18, below MPICH 4.2, watches munmap(). Where memory is refused to what it keeps of that, it says so
# on stdout and goes on; but formatting the line may unmap memory, and then it waits for its own lock.
LIMITED = launch.environment(UCX_MEM_EVENTS="no")


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **more)


def hints(output):
    words = ("atleast", "processes", "expect", "threads")
    return "".join(line + "\n" for line in output.splitlines() if line.split(" ")[0] in words)


def fill(path):
    """Takes all blocks that are left."""
    end, size = 0, 16 << 20
    with open(path, "wb") as file:
        while size >= 4096:
            try:
                os.posix_fallocate(file.fileno(), end, size)
                end += size
            except OSError:
                size //= 4


class Test:
    def __init__(self, settings):
        self.settings = settings
        self.failed = False
        self.store = ["--store", settings.store]

    def program(self, name):
        return os.path.join(self.settings.bin, name + ".gcc")

    def record(self, folder, program, *options):
        return run([self.settings.lull, "record", "-o", folder, *self.store, *options, "--",
                    *program])

    def demand(self, good, what):
        if not good:
            print("wrong:", what)
            self.failed = True

    def check_run(self, folder, expected, *options):
        done = run([self.settings.check, *options, folder], input=expected)
        print(done.stdout.strip().replace("\n", "; "))
        self.demand(done.returncode == 0, "%s: %s" % (folder, done.stdout))

    # ---- a full file system ----------------------------------------------------------------------

    def on_disk_of(self, kib, program, then=None, *options):
        """The program behaves as it would alone; `then` looks at its run."""
        alone = run(program)
        with tempfile.TemporaryDirectory(prefix="lull-full-") as folder:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kib, "tmpfs", folder],
                           check=True)
            where = os.path.join(folder, "run")
            recorded = self.record(where, program, *options)
            self.demand((recorded.returncode, recorded.stdout) == (alone.returncode, alone.stdout),
                        "%s on %d KiB: status %d, alone %d: %s"
                        % (program[0], kib, recorded.returncode, alone.returncode, recorded.stderr))
            self.told_of_disk(where, kib, recorded.stderr)
            if then:
                then(where, alone.stdout)
            subprocess.run(["umount", folder], check=True)

    def told_of_disk(self, where, kib, said):
        """Where nothing was recorded nothing stays; where events are missing the last line says why."""
        there = os.path.exists(where)
        told = run([self.settings.lull, "info", where]) if there else None
        self.demand(there or "No space left on device" in said, "%d KiB: no run, and it says %s" % (kib, said))
        if there:
            self.demand(told.returncode == 0, "%d KiB: a run that cannot be read: %s" % (kib, told.stderr))
            cut = "could not write any more" in told.stdout
            self.demand(cut == ("No space left on device" in said.splitlines()[-1]),
                        "%d KiB: events %s missing, and it says %s" % (kib, "are" if cut else "are not", said))

    def full_disk(self):
        # pages of 4 KiB: from no room for anything to room for some chunks
        for kib in (4, 16, 32, 68, 100, 140, 164, 200, 240, 300, 400):
            self.on_disk_of(kib, [self.program("omp_barriers")])
            self.on_disk_of(kib, [self.program("many_regions"), "40"])
        self.on_disk_of(1024, [self.program("omp_barriers")], self.what_fits_is_there)
        # of several threads one may need its first chunk when the others have filled the disk
        self.on_disk_of(2048, [self.program("many_regions"), "60"], self.newest_are_there, "--keep",
                        "last:64MiB")

    def copy_on_write(self):
        """Blocks that a file has are not blocks that it can be changed in: a program that writes into
        a mapping dies there when the file system is full."""
        with tempfile.TemporaryDirectory(prefix="lull-cow-") as folder:
            image, disk = os.path.join(folder, "image"), os.path.join(folder, "disk")
            os.mkdir(disk)
            with open(image, "wb") as file:
                file.truncate(128 << 20)
            if not shutil.which("mkfs.btrfs"):
                print("skipped: there is no mkfs.btrfs")
                return 77
            made = run(["mkfs.btrfs", "-q", image])
            mounted = run(["mount", "-o", "loop", image, disk])
            if made.returncode != 0 or mounted.returncode != 0:
                print("skipped: btrfs cannot be mounted here: %s%s" % (made.stderr, mounted.stderr))
                return 77
            try:
                self.on_full_btrfs(disk)
            finally:
                subprocess.run(["umount", disk], check=True)
        return 0

    def on_full_btrfs(self, disk):
        where = os.path.join(disk, "run")
        process = subprocess.Popen(
            [self.settings.lull, "record", "-o", where, *self.store, self.program("live")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while not said.endswith("ready\n"):
            said += process.stdout.readline()
        fill(os.path.join(disk, "fill"))
        run(["sync", "-f", disk]) # what was written must be written anew from here on
        said, told = process.communicate("\n", timeout=600)
        self.demand(process.returncode == 0, "status %d: %s" % (process.returncode, told))
        self.check_run(where, hints(said), "--cut")

    def what_fits_is_there(self, where, expected):
        # a thread that comes when all is used up has no location
        self.check_run(where, expected.splitlines()[0] + "\n", "--cut")
        kept = self.bytes_of_records(where)
        # what else is there: definitions; and of each thread a tail, a header and sums
        others = (64 + 2 * (64 + 4 + 16) + 16) << 10
        self.demand(kept >= (1 << 20) - others - 2 * CHUNK, "kept only %d bytes" % kept)
        told = run([self.settings.lull, "info", where])
        self.demand("could not write any more" in told.stdout + told.stderr, "no word of it")

    def newest_are_there(self, where, expected):
        """A ring is as large as there is room for."""
        self.check_run(where, expected, "--cut")
        (chunks,) = tape_parts.ring_chunks_of(where)
        self.demand(len(chunks) >= 8, "%d chunks are kept" % len(chunks))
        told = run([self.settings.lull, "info", where])
        self.demand("Events kept" in told.stdout and "could not write" not in told.stdout +
                    told.stderr, told.stdout + told.stderr)

    # ---- the size budget -------------------------------------------------------------------------

    def bytes_of_records(self, run):
        (files,) = tape_parts.take_all_apart(run)
        return sum(len(data) - HEADER for name, data in files.items() if name.endswith(".tape"))

    def sums(self, run):
        """region id -> visits of all threads, by the description in layout.h"""
        visits = {}
        (files,) = tape_parts.take_all_apart(run)
        for name, data in files.items():
            if not name.endswith(".sums"):
                continue
            header_size, sum_size = struct.unpack_from("<II", data, 16)
            for i in range(2 * struct.unpack_from("<Q", data, 32)[0]):
                number = struct.unpack_from("<Q", data, header_size + i * sum_size)[0]
                visits[i // 2] = visits.get(i // 2, 0) + number
        return visits

    def budget(self):
        most = 256 << 10
        with tempfile.TemporaryDirectory() as folder:
            where = os.path.join(folder, "run")
            recorded = self.record(where, [self.program("omp_barriers")], "--max-size", "256KiB")
            self.demand(recorded.returncode == 0, recorded.stderr)
            events = self.bytes_of_records(where)
            # the last chunk of each thread is begun when the budget is not used up yet
            self.demand(most <= events <= most + 2 * CHUNK, "%d bytes of events" % events)
            # three records of 16 bytes for each visit
            self.check_run(where, "atleast %d !$omp critical\nthreads 2\n" % (most // 48 - 2),
                           "--cut")
            told = run([self.settings.lull, "info", where])
            self.demand("reached its size budget" in told.stdout + told.stderr, "no word of it")
            wrong = together.differences(self.settings.lull, where, [2])
            self.demand(not wrong, wrong)
            visits = sorted(self.sums(where).values())
            self.demand(visits[-2:] == [80000, 80000], "sums have %s" % visits[-4:])

    # ---- descriptors and memory ------------------------------------------------------------------

    def closed(self):
        with tempfile.TemporaryDirectory() as folder:
            where, mine = os.path.join(folder, "run"), os.path.join(folder, "mine")
            os.mkdir(mine)
            recorded = self.record(where, [self.program("closing"), mine])
            self.demand(recorded.returncode == 0, "status %d: %s" % (recorded.returncode,
                                                                     recorded.stderr))
            contents = [open(os.path.join(mine, name), "rb").read() for name in os.listdir(mine)]
            self.demand(contents == [b"mine"] * 40, "the program's files have %s bytes"
                        % sorted({len(content) for content in contents}))
            self.check_run(where, hints(recorded.stdout))

    def least(self, resource, program, usual):
        """MiB of a resource that it needs alone, to the next half."""
        low, high = 1, 1 << 16
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.manages(resource, program, usual, middle / 2) \
                else (middle + 1, high)
        return low / 2

    @staticmethod
    def manages(resource, program, usual, mib):
        """Whether it behaves as usual."""
        done = run(["prlimit", "--%s=%d" % (resource, int(mib * (1 << 20))), *program],
                   env=LIMITED)
        return (done.returncode, done.stdout) == (usual.returncode, usual.stdout)

    def is_whimsical(self, resource, program, usual, least, more):
        """Whether the program alone fails somewhere between a limit at which it works and one with so
        many MiB more: Open MPI 5 does, so that nothing follows from its death with a recorder."""
        for step in range(1, int(16 * more)):
            if not self.manages(resource, program, usual, least + step / 16):
                print("left out: %s alone works with %g MiB, and fails with %g" %
                      (program[0], least, least + step / 16))
                return True
        return False

    def limited(self, resource, program, allowances):
        """With so many MiB more than it needs alone, it is recorded whole."""
        alone = run(program, env=LIMITED)
        least = self.least(resource, program, alone)
        for more in allowances:
            with tempfile.TemporaryDirectory() as folder:
                where = os.path.join(folder, "run")
                limit = "--%s=%d" % (resource, int((least + more) * (1 << 20)))
                recorded = run(["prlimit", limit, self.settings.lull, "record", "-o", where, "--",
                                *program], env=LIMITED)
                if recorded.returncode != 0 and \
                        self.is_whimsical(resource, program, alone, least, more):
                    continue
                self.demand((recorded.returncode, recorded.stdout) ==
                            (alone.returncode, alone.stdout), "%g MiB more than %g: status %d: %s" %
                            (more, least, recorded.returncode, recorded.stderr))
                self.check_run(where, hints(alone.stdout))

    def memory(self):  # the recorder itself and its libraries take some
        self.limited("as", [self.program("omp_barriers")], (4, 6, 8, 16, 64))

    def committed(self):
        """Where the system promises no more memory than it has (vm.overcommit_memory=2) it counts what
        a process may write to in private, wherever that is: as this limit does."""
        self.limited("data", [self.program("omp_barriers")], (1, 2, 4))
        for family in ("openmpi", "mpich"):
            program = os.path.join(self.settings.bin, "ends." + family)
            if os.path.exists(program):
                self.limited("data", [program, "return"], (1, 2))

    # ---- while it is being written ---------------------------------------------------------------

    def live(self):
        with tempfile.TemporaryDirectory() as folder:
            where = os.path.join(folder, "run")
            process = subprocess.Popen(
                [self.settings.lull, "record", "-o", where, *self.store, self.program("live")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            said = ""
            while not said.endswith("ready\n"):
                said += process.stdout.readline()
            for _ in range(3):
                self.check_run(where, hints(said), "--cut")
            info = run([self.settings.lull, "info", where])
            self.demand(info.returncode == 0, info.stderr)
            # Forced: how long the recorder took beside so short a program is not what is asked here.
            metrics = run([self.settings.lull, "metrics", "--force", where])
            self.demand(metrics.returncode == 0, metrics.stderr)
            said, _ = process.communicate("\n", timeout=600)
            self.demand(process.returncode == 0, "status %d" % process.returncode)
            self.check_run(where, hints(said))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("full-disk", "copy-on-write", "budget", "live", "closed", "memory",
                                         "committed"))
    for name in ("lull", "check", "bin"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--store", default="process", choices=("node", "process"))
    parser.add_argument("--inside", action="store_true", help="of the name space")
    settings = parser.parse_args()
    if settings.what == "full-disk" and not settings.inside:
        probe = "mount -t tmpfs -o size=16k tmpfs /mnt"
        if run(["unshare", "-rm", "sh", "-c", probe]).returncode != 0:
            print("skipped: a file system cannot be mounted here, not even in a name space")
            return 77
        os.execvp("unshare", ["unshare", "-rm", sys.executable, "-B"] + sys.argv + ["--inside"])
    test = Test(settings)
    if getattr(test, settings.what.replace("-", "_"))() == 77:
        return 77
    return 1 if test.failed else 0


sys.exit(main())
