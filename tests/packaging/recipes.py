#!/usr/bin/env python3
"""Recipes for Spack, RPM, Debian, Apptainer and environment modules, as far as they can be read without these programs: their syntax,
the version, the options of CMake that they set, and the files that they name.

usage: recipes.py spack|rpm|debian|apptainer|module SOURCES VERSION BUILD"""

import ast
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

SOURCES, VERSION, BUILD = pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
PACKAGING = SOURCES / "packaging"


def expect(what, holds, told=""):
    if not holds:
        sys.exit(f"recipes: {what} {told}".rstrip())


def cmake_options():
    """Names of what users can set: options, cached variables and programs that are looked for."""
    text = "".join(path.read_text() for path in [SOURCES / "CMakeLists.txt", *(SOURCES / "cmake").glob("*.cmake")])
    return set(re.findall(r"option\((\w+)", text)) | set(re.findall(r"set\((\w+) [^)]*CACHE", text)) | \
        set(re.findall(r"find_(?:program|path)\((\w+)", text))


class Prefix(str):
    """prefix.bin.mpicc as Spack has it."""

    def __getattr__(self, name):
        return Prefix(f"{self}/{name}")


class Spec:
    """A spec with these variants and dependencies."""

    def __init__(self, variants):
        self.variants = variants

    def satisfies(self, text):
        return text[1:] in self.variants if text[0] == "+" else text[1:] not in self.variants

    def __getitem__(self, name):
        expect(f"spack: looks for {name}", name in self.variants)
        return types.SimpleNamespace(prefix=Prefix("/" + name))


def spack():
    """The recipe is executed with directives that note what they are told."""
    path = PACKAGING / "spack/packages/lull/package.py"
    tree = ast.parse(path.read_text(), str(path))
    told = {name: [] for name in ("version", "variant", "depends_on", "license", "generator")}
    names = {"CMakePackage": types.SimpleNamespace}
    for name, calls in told.items():
        names[name] = lambda *words, _calls=calls, **more: _calls.append((words, more))
    # What the directives stand for is imported from Spack.
    imports = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    expect("spack: imports", imports == ["spack_repo.builtin.build_systems.cmake", "spack.package"], imports)
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom)]
    exec(compile(tree, str(path), "exec"), names)
    recipe = names["Lull"]()
    versions = {words[0]: more for words, more in told["version"]}
    expect("spack: versions", versions.get(VERSION) == {"tag": "v" + VERSION} and "main" in versions, versions)
    needed = [re.split("[@+~]", words[0])[0] for words, _ in told["depends_on"]]
    expect("spack: depends on mpi", "mpi" not in needed)
    expect("spack: MPI libraries stay out of the programs", all(
        more["type"] == "build" for words, more in told["depends_on"] if words[0] in ("openmpi", "mpich")))
    variants = {words[0] for words, _ in told["variant"]}
    conditions = {more["when"][1:] for _, more in told["depends_on"] if more.get("when", "").startswith("+")}
    expect("spack: variants", conditions == variants, conditions ^ variants)
    recipe.define = lambda name, value: f"{name}={value}"
    options = {}
    for chosen in (variants, variants - {"mpich"}):
        recipe.spec = Spec(chosen)
        options = dict(word.split("=", 1) for word in recipe.cmake_args())
        expect("spack: unknown options of CMake", set(options) <= cmake_options(), set(options) - cmake_options())
        expect("spack: compiler of Open MPI", options["LULL_MPICC_openmpi"] == "/openmpi/bin/mpicc", options)
        expect("spack: compiler of MPICH", options["LULL_MPICC_mpich"] == ("/mpich/bin/mpicc" if "mpich" in chosen else ""), options)
    paths = []
    recipe.prefix = Prefix("/lull")
    recipe.setup_run_environment(types.SimpleNamespace(prepend_path=lambda *words: paths.append(words)))
    expect("spack: environment", paths == [("PYTHONPATH", "/lull/share/lull/python")], paths)


MACROS = {"%{_docdir}": "share/doc", "%{_datadir}": "share", "%{_mandir}": "share/man", "%{_bindir}": "bin", "%{_includedir}": "include",
          "%{_libdir}": "lib*"}


def check_files_of_rpm(text):
    """rpmbuild fails where something is installed that no package names."""
    named = []
    for line in text[text.index("\n%files"):text.index("\n%changelog")].splitlines():
        words = line.split()
        if not words or words[0] in ("%files", "%license", "%dir"):
            continue
        for macro, folder in MACROS.items():
            words[-1] = words[-1].replace(macro, folder)
        named += [words[-1], words[-1].rstrip("/") + "/*"]
    with tempfile.TemporaryDirectory() as stage:
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], text=True, env={**os.environ, "DESTDIR": stage},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        expect("rpm: installation:", done.returncode == 0, done.stdout)
        files = [str(path.relative_to(f"{stage}/usr")) for path in pathlib.Path(stage).rglob("*") if not path.is_dir()]
    expect("rpm: nothing was installed", len(files) > 50, len(files))
    lost = [file for file in files if not any(fnmatch.fnmatch(file, pattern) for pattern in named)]
    expect("rpm: in no package:", not lost, lost)


def rpm():
    path = PACKAGING / "rpm/lull.spec"
    text = path.read_text()
    number, _, early = VERSION.partition("-")
    expect("rpm: version", re.search(rf"^Version: +{re.escape(number)}%", text, re.MULTILINE) and
           (f"%global prerelease {early}\n" in text if early else "%global prerelease" not in text))
    options = set(re.findall(r"-D(\w+)=", text))
    expect("rpm: unknown options of CMake", options and options <= cmake_options(), options - cmake_options())
    check_files_of_rpm(text)
    if shutil.which("rpmspec"):
        told = subprocess.run(["rpmspec", "--query", "--queryformat", "%{name} %{version}\n", path], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        expect("rpm: rpmspec", told.returncode == 0 and f"lull {VERSION.replace('-', '~')}\n" in told.stdout, told.stdout)
        return 0
    print("skipped: rpmspec was not found, so that the syntax was not checked")
    return 77


def debian():
    """The newest entry of the changelog is of this version; what the recipe installs are names that the build installs."""
    folder = PACKAGING / "debian"
    entry = re.match(r"lull \((.*)-0lull\d+\) ", (folder / "changelog").read_text())
    expect("debian: version", entry and entry[1] == VERSION.replace("-", "~"), entry and entry[1])
    options = set(re.findall(r"-D(\w+)=", (folder / "rules").read_text())) - {"CMAKE_BUILD_TYPE", "CMAKE_C_FLAGS_RELEASE"}
    expect("debian: unknown options of CMake", options and options <= cmake_options(), options - cmake_options())
    packages = re.findall(r"^Package: (.*)$", (folder / "control").read_text(), re.MULTILINE)
    lists = sorted(path.stem for path in folder.glob("*.install"))
    expect("debian: lists of files", lists == sorted(packages), lists)
    needed = set(re.findall(r"^ ([\w.-]+-dev),$", (folder / "control").read_text(), re.MULTILINE))
    known = (SOURCES / "scripts/install-deps").read_text()
    expect("debian: libraries that install-deps does not know", all(name in known for name in needed), needed)


def apptainer():
    text = (PACKAGING / "apptainer/lull.def").read_text()
    sections = re.findall(r"^%(\w+)", text, re.MULTILINE)
    expect("apptainer: sections", set(sections) <= {"arguments", "files", "post", "environment", "runscript", "test", "help"} and
           len(sections) == len(set(sections)), sections)
    body = dict(zip(sections, re.split(r"^%\w+\n", text, flags=re.MULTILINE)[1:]))
    for name in ("post", "environment", "runscript", "test"):
        read = subprocess.run(["sh", "-n"], input=body[name], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        expect(f"apptainer: %{name}", read.returncode == 0, read.stdout)
    header = re.findall(r"^(\w+): ", text.split("%", 1)[0].replace("#     ", ""), re.MULTILINE)
    expect("apptainer: header", header == ["Bootstrap", "From"], header)
    used = set(re.findall(r"{{ *(\w+) *}}", text))
    given = set(re.findall(r"^ +(\w+)=", body["arguments"], re.MULTILINE))
    expect("apptainer: arguments", used == given, used ^ given)


STUBS = """
set ModulesCurrentModulefile {%s}
foreach name {module-whatis conflict prepend-path} {
    proc $name {args} "puts \\[join \\[concat $name \\$args\\] |\\]"
}
"""


def module():
    if not shutil.which("tclsh"):
        print("skipped: tclsh was not found")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder).resolve() / "a prefix/share/modulefiles/lull"
        place.parent.mkdir(parents=True)
        shutil.copy(PACKAGING / "modules/lull", place)
        expect("module: its first line", place.read_text().startswith("#%Module"))
        script = pathlib.Path(folder) / "script.tcl"
        script.write_text(STUBS % place + "source $ModulesCurrentModulefile\nModulesHelp\n")
        told = subprocess.run(["tclsh", script], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect("module:", told.returncode == 0 and "lull help" in told.stderr, told.stderr)
        prefix = str(place.parents[2])
        lines = [line.split("|") for line in told.stdout.splitlines()]
        found = {words[1]: words[2] for words in lines if words[0] == "prepend-path"}
        expect("module: paths", found == {
            "PATH": f"{prefix}/bin", "MANPATH": f"{prefix}/share/man", "PKG_CONFIG_PATH": f"{prefix}/share/pkgconfig",
            "CMAKE_PREFIX_PATH": prefix, "PYTHONPATH": f"{prefix}/share/lull/python"}, found)
        expect("module: another version", ["conflict", "lull"] in lines)
    return 0


sys.exit({"spack": spack, "rpm": rpm, "debian": debian, "apptainer": apptainer, "module": module}[sys.argv[1]]() or 0)
