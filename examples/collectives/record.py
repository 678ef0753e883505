"""Runs a module with a collective algorithm, as its author wrote it, and prints what every element does as a document.

    python3 record.py modules/published.py --topology ring_1d --ranks 4 --n-elem 8 --seed 1 > algorithm.json
    python3 record.py modules/published.py --topology ring_1d --ranks 4 --describe > module.json

The module has `kernel`, `kernel_args` and perhaps `TOPO_NAME_TO_KIND` (COL-07 to COL-09). Each element is recorded twice, the
second time in a process of its own and in the other order: what differs depends on chance or on what went before (COL-10).
"""

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import random
import subprocess
import sys

BASE = 0x10000


class Refused(Exception):
    """What a module may not do, in words for its author."""


# ---- The tile language, recorded ------------------------------------------------------------------------------------


class Handle:
    """A vector that an operation made. There are no numbers in it."""

    def __init__(self, tl, name, n, dtype):
        self._tl, self._name, self.shape, self.dtype = tl, name, (n,), dtype

    def __add__(self, other):
        if not isinstance(other, Handle):
            raise Refused("a handle is added to something that is none")
        return self._tl._make({"op": "add", "a": self._name, "b": other._name}, self.shape[0], self.dtype)

    def to(self, dtype):
        return self._tl._make({"op": "cast", "of": self._name, "dtype": dtype}, self.shape[0], dtype)

    def _no(self, *_):
        raise Refused("only + and casts are known of handles: a collective sums")

    __sub__ = __mul__ = __truediv__ = __neg__ = __radd__ = __rsub__ = __rmul__ = _no

    def _closed(self, *_):
        raise Refused("a handle has no numbers to look at while a kernel is recorded")

    __bool__ = __iter__ = __len__ = __getitem__ = __float__ = __int__ = _closed

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused("a handle has no `%s`: its numbers are not there while a kernel is recorded" % name)


class Recorder:
    """What a kernel gets as `tl`."""

    def __init__(self, cube, tile):
        self._cube, self._tile, self._ops, self._made = cube, tile, [], 0

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused("`tl.%s` is none of program_id, num_programs, load, store, send and recv" % name)

    def _make(self, op, n, dtype):
        handle = Handle(self, "h%d" % self._made, n, dtype)
        self._made += 1
        self._ops.append({"op": op.pop("op"), "to": handle._name, **op})
        return handle

    def _position(self, address):
        offset = address - self._tile
        if offset % 2:
            raise Refused("address %d lies within a number" % address)
        return offset // 2

    def _length(self, shape):
        if isinstance(shape, int):
            shape = (shape,)
        if len(shape) != 1:
            raise Refused("handles are vectors, and the shape is %s" % (tuple(shape),))
        return shape[0]

    def _of(self, handle):
        if not isinstance(handle, Handle):
            raise Refused("what is sent or stored has to be a handle")
        return handle._name

    def program_id(self, axis=0):
        if axis not in (0, 1):
            raise Refused("there is no axis %r" % axis)
        return self._cube if axis == 1 else 0

    def num_programs(self, axis=0):
        if axis != 0:
            raise Refused("the number of programs of axis %r is not known" % axis)
        return 1

    def load(self, address, shape=None, dtype="f16"):
        if dtype != "f16":
            raise Refused("memory holds f16, and %s is loaded" % dtype)
        n = self._length(shape)
        return self._make({"op": "load", "at": self._position(address), "n": n}, n, dtype)

    def store(self, address, handle):
        self._ops.append({"op": "store", "of": self._of(handle), "at": self._position(address)})

    def send(self, src=None, dir=None):
        # Some give the direction first, and what is sent by name.
        if isinstance(src, str) and isinstance(dir, Handle):
            src, dir = dir, src
        self._ops.append({"op": "send", "of": self._of(src), "dir": dir})

    def recv(self, dir=None, shape=None, dtype="f16"):
        n = self._length(shape)
        op = {"op": "recv", "dir": dir, "n": n}
        if dtype != "f16":
            op["dtype"] = dtype
        return self._make(op, n, dtype)


# ---- Modules --------------------------------------------------------------------------------------------------------


def load_module(path):
    """A file, or the name by which Python imports a module, such as `company.collectives.ring`."""
    if not path.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("algorithm", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def topology_of(options):
    top = {"kind": options.topology, "ranks": options.ranks}
    if options.topology != "ring_1d":
        top.update(w=options.w, h=options.h)
    return {**top, "cube_w": options.cube_w, "cube_h": options.cube_h, "capacity": options.capacity}


def arguments_of(module, options):
    made = module.kernel_args(options.ranks, options.n_elem, cube_w=options.cube_w, cube_h=options.cube_h)
    if not isinstance(made, tuple):
        raise Refused("`kernel_args` returns %s, required a tuple" % type(made).__name__)
    return made


def describe(module, options):
    """A module description: COL-07."""
    kinds = inspect.Parameter
    parameters = list(inspect.signature(module.kernel).parameters.values()) if hasattr(module, "kernel") else []
    tl = [p for p in parameters if p.name == "tl" and p.kind in (kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    plain = [
        p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) and p.name != "tl"
    ]
    found = {
        "symbols": sorted(name for name in vars(module) if not name.startswith("_")),
        "positional": len(plain),
        "required": sum(p.default is kinds.empty for p in plain),
        "variadic": any(p.kind == kinds.VAR_POSITIONAL for p in parameters),
        "tl": bool(tl) or any(p.kind == kinds.VAR_KEYWORD for p in parameters),
        "arguments": len(arguments_of(module, options)) if hasattr(module, "kernel_args") else 0,
        "kinds": getattr(module, "TOPO_NAME_TO_KIND", None),
    }
    return {"module": found, "topology": topology_of(options)}


def positional(module, options, element):
    """What the kernel of an element gets by position after the address (COL-08, COL-09)."""
    kinds = getattr(module, "TOPO_NAME_TO_KIND", None)
    if kinds is not None and options.topology not in kinds:
        raise Refused("`TOPO_NAME_TO_KIND` has no `%s`" % options.topology)
    kind = 0 if kinds is None else kinds[options.topology]
    w, h = (0, 0) if options.topology == "ring_1d" else (options.w, options.h)
    rank = element // (options.cube_w * options.cube_h)
    return [*arguments_of(module, options), rank, kind, w, h]


def record(module, options, element):
    """The operations of an element."""
    cube = element % (options.cube_w * options.cube_h)
    tl = Recorder(cube, BASE + cube * options.n_elem * 2)
    returned = module.kernel(BASE, *positional(module, options, element), tl=tl)
    if any(hasattr(returned, name) for name in ("__next__", "__anext__", "__await__")):
        raise Refused("`kernel` yields or is asynchronous, required a plain function (COL-10)")
    return tl._ops


def record_all(options, backwards):
    module = load_module(options.module)
    elements = range(options.ranks * options.cube_w * options.cube_h)
    order = reversed(elements) if backwards else elements
    ops = {element: record(module, options, element) for element in order}
    return [ops[element] for element in elements]


def in_a_process(backwards):
    """Records in a process of its own: with another hash seed, and not longer than the limit."""
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--part", "backwards" if backwards else "forwards"]
    seed = {"PYTHONHASHSEED": "1" if backwards else "0"}
    limit = float(os.environ.get("RECORD_SECONDS", "60"))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env={**os.environ, **seed})
    except subprocess.TimeoutExpired:
        raise Refused("the module was not done after %g s" % limit)
    if done.returncode != 0:
        raise Refused(done.stderr.strip() or "the module ended with %d" % done.returncode)
    return json.loads(done.stdout)


def document(options, ops):
    """An algorithm: COL-01. Elements that do the same share a log."""
    logs = {}
    for element, each in enumerate(ops):
        logs.setdefault(json.dumps(each), []).append(element)
    collective = {"kind": options.collective, "over": options.over, "root": options.root, "bits": options.bits}
    return {
        "topology": topology_of(options),
        "n_elem": options.n_elem,
        "collective": collective,
        "logs": [
            {"elements": [[element, element, 1] for element in elements], "ops": json.loads(each)}
            for each, elements in logs.items()
        ],
    }


def tiles(options):
    """Numbers to simulate with, whose sums depend on the order: from 1 to 4094, of both signs."""
    draws = random.Random(options.seed)

    def bits():
        return draws.getrandbits(1) << 15 | 15 + draws.getrandbits(16) % 11 << 10 | draws.getrandbits(10)

    elements = options.ranks * options.cube_w * options.cube_h
    return [[bits() for _ in range(options.n_elem)] for _ in range(elements)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", help="the file with the algorithm, or the name by which Python imports it")
    parser.add_argument("--topology", default="ring_1d", choices=["ring_1d", "torus_2d", "mesh_2d_no_wrap"])
    parser.add_argument("--ranks", type=int, help="devices; for a grid, w * h")
    parser.add_argument("--w", type=int, default=1)
    parser.add_argument("--h", type=int, default=1)
    parser.add_argument("--cube-w", type=int, default=4)
    parser.add_argument("--cube-h", type=int, default=4)
    parser.add_argument("--capacity", type=int, default=4)
    parser.add_argument("--n-elem", type=int, default=8)
    parser.add_argument("--collective", default="all_reduce")
    parser.add_argument("--over", default="elements")
    parser.add_argument("--root", type=int, default=0)
    parser.add_argument("--bits", default="identical")
    parser.add_argument("--seed", type=int, help="add tiles with numbers drawn from this seed, to simulate with")
    parser.add_argument("--describe", action="store_true", help="print what the module offers, and run nothing")
    parser.add_argument("--part", choices=["forwards", "backwards"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.ranks = options.ranks or options.w * options.h
    try:
        if options.part:
            # What a module prints is not to be taken for its operations.
            out, sys.stdout = sys.stdout, sys.stderr
            ops = record_all(options, options.part == "backwards")
            return json.dump(ops, out)
        if options.describe:
            print(json.dumps(describe(load_module(options.module), options)))
            return None
        ops = in_a_process(False)
        if ops != in_a_process(True):
            raise Refused("the module does something else when it runs again, in another process and order (COL-10)")
        made = document(options, ops)
        print(json.dumps(made if options.seed is None else {**made, "tiles": tiles(options)}))
        return None
    except Refused as refused:
        said = str(refused)
    except Exception as error:  # noqa: BLE001, a module may raise anything
        said = "%s: %s" % (type(error).__name__, error)
    # What a part says, the whole says again.
    sys.exit(said if options.part else "%s: %s" % (options.module, said))


if __name__ == "__main__":
    main()
