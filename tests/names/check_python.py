#!/usr/bin/env python3
"""Lines at which sources of Python define functions and classes, against the interpreter's own parser (module ast): of
each source of its standard library, and of one with what is odd. Sources that changed later define nothing.

usage: check_python.py --lines PYTHON_LINES
"""
import argparse
import ast
import os
import subprocess
import sys
import tempfile
import warnings

ODD = '''\
"""def no(): in a text
class No: pass
""" if True else \'\'\'
def no(): pass\'\'\'
text = 'a \\
def no(): still in the text'; other = "it's"
raw = r"\\\\"; empty = ""
table = [
def_ := 1,  # def no():
]
def  spaced ( a ,
    b="""
def no(): pass
""") -> int: \\
    return a

if text:
    def twice(): pass
else:
    def twice(): pass
class Outer(object):
\tclass Inner:
\t\t@staticmethod
\t\tasync  def method(x):
\t\t\tdef inner():
\t\t\t\tclass Local:
\t\t\t\t\tdef deep(self): return lambda: 1
\t\t\treturn inner
\tdef method(self): "one line"; x = 1

\f
def ünïcode(): # '
    defined = classes = asynchronous = 1
    def_ = defined; class_ = classes
    return f"{def_}" + f\'\'\'{class_
    }\'\'\' + 'def x(): pass'
class Last: pass
def last(): return (1,
2)
'''


# Other packages, and what is large and like the rest.
LEFT_OUT = ("site-packages", "dist-packages", "__pycache__", "test", "tests", "idlelib", "lib2to3", "pydoc_data")


def expected_of(text):
    """{qualified name: line}; 0 where several have it."""
    lines = {"<module>": 1}

    def add(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = prefix + child.name
                lines[name] = 0 if name in lines else child.lineno
                add(child, name + ("." if isinstance(child, ast.ClassDef) else ".<locals>."))
            else:
                add(child, prefix)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        add(ast.parse(text), "")
    return lines


def sources():
    for folder, folders, names in os.walk(os.path.dirname(os.__file__)):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def told_of(program, paths, latest=2**62):
    done = subprocess.run([program, str(latest), *paths], check=True, capture_output=True)
    told = {path: {} for path in paths}
    for line in done.stdout.decode("utf-8", "surrogateescape").splitlines():
        path, name, number = line.split("\t")
        told[path][name] = int(number)
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", required=True)
    program = parser.parse_args().lines
    wrong, names, ambiguous = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        odd, ends = os.path.join(folder, "odd.py"), os.path.join(folder, "ends.py")
        with open(odd, "w", encoding="utf-8") as file:
            file.write(ODD)
        with open(ends, "wb") as file:
            file.write(b"\xef\xbb\xbf" + ODD.replace("\n", "\r\n").encode())
        expected = {}
        for path in [odd, ends, *sources()]:
            with open(path, "rb") as file:
                text = file.read()
            expected[path] = expected_of(text)
        told = told_of(program, list(expected))
        for path, lines in expected.items():
            names += len(lines)
            ambiguous += sum(line == 0 for line in lines.values())
            wrong += ["%s: %s: line %s, expected %s" % (path, name, told[path].get(name), lines.get(name))
                      for name in sorted(set(lines) | set(told[path])) if told[path].get(name) != lines.get(name)]
        changed = os.stat(odd).st_mtime_ns
        if told_of(program, [odd], changed)[odd] != expected[odd] or told_of(program, [odd], changed - 1)[odd]:
            wrong.append("a source that has changed")
        if told_of(program, [folder, "/dev/zero", os.path.join(folder, "none.py")]) != {folder: {}, "/dev/zero": {},
                                                                                        os.path.join(folder, "none.py"): {}}:
            wrong.append("what is no source defines something")
    print("\n".join(wrong[:20]))
    print("%d sources, %d names, of which %d are of several, %d wrong" % (len(expected), names, ambiguous, len(wrong)))
    return 1 if wrong or names < 1000 else 0


sys.exit(main())
