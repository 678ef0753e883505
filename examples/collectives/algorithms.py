"""Documents of the companion on collective algorithms: members and types (S03 to S05), numbers (CS01), topologies, the rules CC.

Written from spec/companions/collectives.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "selection"))

from documents import BOOLEAN, INTEGER, MOST, TEXT, array, basic, child, finding, mapping  # noqa: E402
from documents import name, nullable, record  # noqa: E402

GRIDS = ["torus_2d", "mesh_2d_no_wrap"]
OPPOSITE = {"E": "W", "W": "E", "S": "N", "N": "S"}
OPPOSITE.update({"global_" + one: "global_" + other for one, other in OPPOSITE.items()})

# ---- Members: S03, S04, S05 -----------------------------------------------------------------------------------------

TRIPLE = basic(lambda v: type(v) is list and len(v) == 3 and all(type(e) is int for e in v), "three integers")
DTYPE = name(["f16", "f32"])
EDGE = record(
    ["from", "out", "to", "in"], from_=INTEGER, out=TEXT, to=INTEGER, in_=TEXT, capacity=INTEGER
)


def topology(value, at, found):
    grid = type(value) is dict and value.get("kind") in GRIDS
    record(
        ["kind", "ranks"] + ["w", "h"] * grid,
        kind=name(["ring_1d", "explicit"] + GRIDS),
        slot_bytes=nullable(INTEGER),
        edges=array(EDGE),
        **{key: INTEGER for key in "ranks w h cube_w cube_h link_cube capacity".split()}
    )(value, at, found)


COLLECTIVE = record(
    ["kind"],
    kind=name(["all_reduce", "broadcast", "all_gather", "reduce_scatter"]),
    over=name(["elements", "ranks"]),
    root=INTEGER,
    bits=name(["identical", "per_element"]),
)


def number(variables):
    def check(value, at, found):
        if type(value) is not dict:
            return INTEGER(value, at, found)
        record(of=mapping(INTEGER), add=INTEGER, mod=INTEGER, times=INTEGER, plus=INTEGER)(value, at, found)
        for key in value["of"] if type(value.get("of")) is dict else ():
            if key not in variables:
                found.append(finding("S05", child(at + "/of", key), "no variable is called so"))

    return check


def operation(variables):
    num = number(variables)
    kinds = {
        "load": record(["to", "at", "n"], to=TEXT, at=num, n=num),
        "store": record(["of", "at"], of=TEXT, at=num),
        "send": record(["of", "dir"], of=TEXT, dir=TEXT),
        "recv": record(["to", "dir", "n"], to=TEXT, dir=TEXT, n=num, dtype=DTYPE),
        "add": record(["to", "a", "b"], to=TEXT, a=TEXT, b=TEXT),
        "cast": record(["to", "of", "dtype"], to=TEXT, of=TEXT, dtype=DTYPE),
    }

    def check(value, at, found):
        if type(value) is dict and "for" in value:
            inner = variables + [value["for"]] * (type(value["for"]) is str)
            loop = record(["count", "ops"], for_=TEXT, count=num, ops=array(operation(inner)))
            return loop(value, at, found)
        before = len(found)
        record(["op"], op=TEXT)(value, at, found)
        if len(found) == before and value["op"] in kinds:
            kinds[value["op"]](value, at, found)

    return check


ALGORITHM = record(
    ["topology", "n_elem", "collective", "logs"],
    topology=topology,
    n_elem=INTEGER,
    scratch=INTEGER,
    collective=COLLECTIVE,
    logs=array(record(["elements", "ops"], elements=array(TRIPLE), ops=array(operation(["rank", "cube"])))),
    tiles=array(array(INTEGER)),
)
MODULE = record(
    ["module", "topology"],
    module=record(
        ["symbols", "positional", "tl", "arguments"],
        symbols=array(TEXT),
        positional=INTEGER,
        required=INTEGER,
        variadic=BOOLEAN,
        tl=BOOLEAN,
        arguments=INTEGER,
        kinds=nullable(mapping(INTEGER)),
    ),
    topology=topology,
    world_size=nullable(INTEGER),
)

# ---- Numbers: CS01 --------------------------------------------------------------------------------------------------


def within(holder, at, key, least, most, found):
    if holder.get(key) is not None and not least <= holder[key] <= most:
        found.append(finding("CS01", child(at, key), "required %d to %d" % (least, most)))


def topology_numbers(top, found):
    at = "/topology"
    for key, most in (("ranks", 65536), ("w", 65536), ("h", 65536), ("cube_w", 256), ("cube_h", 256), ("capacity", 65536)):
        within(top, at, key, 1, most, found)
    within(top, at, "slot_bytes", 1, MOST, found)
    cubes = top.get("cube_w", 4) * top.get("cube_h", 4)
    within(top, at, "link_cube", 0, cubes - 1, found)
    for index, edge in enumerate(top.get("edges", [])):
        for key in ("from", "to"):
            within(edge, "%s/edges/%d" % (at, index), key, 0, top["ranks"] - 1, found)
        within(edge, "%s/edges/%d" % (at, index), "capacity", 1, 65536, found)
    if not found and top["ranks"] * cubes > 2**20:
        found.append(finding("CS01", at, "too many elements"))


def template_numbers(ops, at, found):
    for index, op in enumerate(ops):
        here = "%s/%d" % (at, index)
        for key in ("at", "n", "count"):
            given = op.get(key)
            if type(given) is dict:
                for part in ("add", "times", "plus"):
                    within(given, child(here, key), part, -MOST - 1, MOST, found)
                within(given, child(here, key), "mod", 1, MOST, found)
                for variable in given.get("of", {}):
                    within(given["of"], child(here, key) + "/of", variable, -MOST - 1, MOST, found)
        if "for" in op:
            template_numbers(op["ops"], here + "/ops", found)


def numbers(document):
    found = []
    topology_numbers(document["topology"], found)
    within(document, "", "n_elem", 1, MOST, found)
    within(document, "", "scratch", 0, 2**24, found)
    within(document["collective"], "/collective", "root", 0, document["topology"]["ranks"] - 1, found)
    for index, log in enumerate(document["logs"]):
        for entry, (first, last, step) in enumerate(log["elements"]):
            if first < 0 or last < 0 or step < 1:
                found.append(finding("CS01", "/logs/%d/elements/%d" % (index, entry), "ids from 0, steps from 1"))
        template_numbers(log["ops"], "/logs/%d/ops" % index, found)
    for index, tile in enumerate(document.get("tiles", [])):
        for position, bits in enumerate(tile):
            if not 0 <= bits < 65536:
                found.append(finding("CS01", "/tiles/%d/%d" % (index, position), "required 0 to 65535"))
    return found


# ---- Topologies: CS02, CS03 -----------------------------------------------------------------------------------------


def topology_rules(top):
    found = []
    if top["kind"] in GRIDS and top["w"] * top["h"] != top["ranks"]:
        found.append(finding("CS02", "/topology", "the grid has another number of places"))
    if top["kind"] == "explicit":
        outs, ins = set(), set()
        for index, edge in enumerate(top.get("edges", [])):
            out, into = (edge["from"], edge["out"]), (edge["to"], edge["in"])
            cube = {edge["out"], edge["in"]} & set("EWSN")
            if edge["from"] == edge["to"] or cube or out in outs or into in ins:
                found.append(finding("CS03", "/topology/edges/%d" % index, "an edge that cannot be"))
            outs.add(out)
            ins.add(into)
    return found


class Network:
    def __init__(self, top):
        self.top, self.kind, self.ranks = top, top["kind"], top["ranks"]
        self.w, self.h = (top["w"], top["h"]) if self.kind in GRIDS else (self.ranks, 1)
        self.cube_w, self.cube_h = top.get("cube_w", 4), top.get("cube_h", 4)
        self.cubes = self.cube_w * self.cube_h
        self.link = top.get("link_cube", self.cube_h // 2 * self.cube_w + self.cube_w // 2)
        self.elements = self.ranks * self.cubes
        self.capacity = top.get("capacity", 4)

    def knows(self, direction, sends):
        if direction in "EWSN" and len(direction) == 1:
            return True
        if self.kind == "explicit":
            return any(edge["out" if sends else "in"] == direction for edge in self.top.get("edges", []))
        return direction in OPPOSITE and not (self.kind == "ring_1d" and direction in ("global_N", "global_S"))

    def neighbour(self, element, direction):
        """The element that a direction of a grid leads to, or None."""
        rank, cube = divmod(element, self.cubes)
        step = 1 if direction[-1] in "ES" else -1
        if direction in ("E", "W"):
            column = cube % self.cube_w + step
            return element + step if 0 <= column < self.cube_w else None
        if direction in ("S", "N"):
            row = cube // self.cube_w + step
            return element + step * self.cube_w if 0 <= row < self.cube_h else None
        if cube != self.link:
            return None
        along, extent = ([rank % self.w, rank // self.w], (self.w, self.h))
        axis = 0 if direction in ("global_E", "global_W") else 1
        along[axis] += step
        if self.kind == "mesh_2d_no_wrap":
            if not 0 <= along[axis] < extent[axis]:
                return None
        elif extent[axis] == 1:
            return None
        x, y = along[0] % self.w, along[1] % self.h
        return (y * self.w + x) * self.cubes + cube

    def queue(self, element, direction, sends):
        """What names the queue, its sender, its receiver and its capacity; or None."""
        if self.kind == "explicit" and direction not in ("E", "W", "S", "N"):
            rank, cube = divmod(element, self.cubes)
            for index, edge in enumerate(self.top.get("edges", [])):
                ours = (edge["from"], edge["out"]) if sends else (edge["to"], edge["in"])
                if cube == self.link and ours == (rank, direction):
                    ends = [edge[end] * self.cubes + self.link for end in ("from", "to")]
                    return ("edge", index), ends[0], ends[1], edge.get("capacity", self.capacity)
            return None
        other = self.neighbour(element, direction)
        if other is None:
            return None
        if sends:
            return (other, OPPOSITE[direction]), element, other, self.capacity
        return (element, direction), other, element, self.capacity


# ---- Modules: CC, CW03 ----------------------------------------------------------------------------------------------


def judge_module(document):
    found = []
    topology_numbers(document["topology"], found)
    module = document["module"]
    for key in ("positional", "required", "arguments"):
        within(module, "/module", key, 0, 2**63, found)
    within(document, "", "world_size", 0, 2**63, found)
    found = found or topology_rules(document["topology"])
    if found:
        return found
    for symbol in ("kernel", "kernel_args"):
        if symbol not in module["symbols"]:
            found.append(finding("CC01", "/module/symbols", "there is no `%s`" % symbol))
    given, least = module["arguments"] + 5, module.get("required", module["positional"])
    if given < least or (given > module["positional"] and not module.get("variadic", False)):
        found.append(finding("CC02", "/module/positional", "the kernel gets %d positional arguments" % given))
    if not module["tl"]:
        found.append(finding("CC03", "/module/tl", "the kernel does not take `tl`"))
    kind, kinds = document["topology"]["kind"], module.get("kinds")
    if kinds is not None and kind not in kinds:
        found.append(finding("CC04", "/module/kinds", "the map has no `%s`" % kind))
    if document.get("world_size") not in (None, document["topology"]["ranks"]):
        found.append(finding("CC05", "/world_size", "the topology has another number of ranks"))
    if not found and kinds is None and kind != "ring_1d":
        at = "/module/kinds" if "kinds" in module else "/module"
        found.append(finding("CW03", at, "without a map, the kernel is told that this is a ring", "warning"))
    return found
