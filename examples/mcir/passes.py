"""Passes that make documents: StreamingConversionPass, TileSchedulingPass, ResidencyAssignmentPass (MCI-23 to MCI-25)."""

import copy

from documents import BINARY, UNARY
from model import nodes
from rows import Rows, Unsupported
from validator import judge


def accepted(document):
    return not any(each["severity"] == "error" for each in judge(document)[0])


# ---- Graphs to documents --------------------------------------------------------------------------------------------


def streaming(graph, target):
    """Whole tiles, and tiles of half the size until they fit."""
    step = 64
    while step:
        document = Conversion(graph, target, step).document()
        if accepted(document):
            return document
        step //= 2
    raise Unsupported("no tile fits")


class Conversion(Rows):
    """A document with a region for each node of a graph."""

    def __init__(self, graph, target, step):
        self.graph, self.step, self.target = graph, step, target
        self.values = {key: {**value, "residency": "global"} for key, value in graph["values"].items()}
        self.kept = {}

    def document(self):
        regions = [self.region(node) for node in self.graph["nodes"]]
        residency = [{"memory": memory, "lifetime": lifetime, "values": tiles} for (memory, lifetime), tiles in self.kept.items()]
        return {
            "values": self.values,
            "inputs": self.graph["inputs"],
            "outputs": self.graph["outputs"],
            "boundaries": [{"value": node["out"]} for node in self.graph["nodes"]],
            "residency": residency,
            "target": self.target,
            "regions": regions,
        }

    def tile(self, shape, dtype="F32", memory="register", lifetime="node"):
        name = "tile %d" % len(self.values)
        while name in self.values:
            name += "'"
        self.values[name] = {"shape": list(shape), "dtype": dtype, "residency": memory}
        self.kept.setdefault((memory, lifetime), []).append(name)
        return name

    def region(self, node):
        self.node, self.blocks, self.steps, self.stream, self.state = node, {}, {}, None, []
        self.bodies = {"begin": [], "each": [], "end": []}
        op = node["op"]
        if op == "matmul":
            self.matmul()
        elif op == "attention":
            self.attention()
        elif op == "softmax":
            self.softmax()
        elif op in ("rms_norm", "layer_norm"):
            self.norm()
        elif op == "reduce":
            self.reduce()
        elif op == "rope":
            self.rope()
        elif op in UNARY + BINARY + ("scale", "mask", "transpose"):
            self.elements()
        else:
            raise Unsupported("there are no tiles for `%s`" % op)
        loaded = [each["in"][0] for body in self.bodies.values() for each in body if each["op"] == "LoadTile"]
        tile = {"tile_shape": self.steps, "blocks": self.blocks, **self.bodies}
        streaming = {"stream": self.stream, "state": self.state, "tile": tile}
        return {"id": node["id"], "inputs": list(dict.fromkeys(loaded)), "outputs": [node["out"]], "streaming": streaming}

    def shape(self, operand):
        return self.graph["values"][self.node["in"][operand]]["shape"]

    def add(self, body, op, ins, outs, **members):
        number = sum(len(nodes) for nodes in self.bodies.values())
        self.bodies[body].append({"id": "n%d" % number, "op": op, "in": ins, "out": outs, **members})
        return outs[0]

    def axis(self, name, extent, step):
        self.blocks[name], self.steps[name] = extent, min(step, extent)
        return self.steps[name]

    def load(self, body, operand, shape, at, lifetime="node"):
        tensor = self.node["in"][operand]
        tile = self.tile(shape, self.graph["values"][tensor]["dtype"], "shared", lifetime)
        return self.add(body, "LoadTile", [tensor], [tile], at=at)

    def compute(self, body, fn, ins, shape, dtype="F32", op="Compute", **members):
        return self.add(body, op, ins, [self.tile(shape, dtype)], fn=fn, **members)

    def keep(self, shape, init):
        name = self.tile(shape, lifetime="block")
        self.state.append({"value": name, "init": init})
        return name

    def result(self):
        return self.graph["values"][self.node["out"]]["dtype"]

    def store(self, body, tile, at):
        self.add(body, "StoreTile", [tile], [self.node["out"]], at=at)

    def lead(self, shape):
        """Axes of points for all but the last two."""
        axes = ["h%d" % place for place in range(len(shape) - 2)]
        for axis, extent in zip(axes, shape):
            self.axis(axis, extent, 1)
        return axes

    def groups(self):
        """Where a matrix on the left is, and the one on the right that it meets."""
        left, right = self.shape(0), self.shape(1)
        if len(left) == 2:
            return [], []
        each = left[0] // right[0]
        self.axis("g", right[0], 1)
        self.axis("h", each, 1)
        return [[[each, "g"], "h"]], ["g"]

    def elements(self):
        node, shape = self.node, self.shape(0)
        at = self.lead(shape)
        tile = []
        for axis, extent in zip("ij", shape[len(at) :]):
            tile.append(self.axis(axis, extent, self.step))
        at = at + list("ij")[: len(tile)]
        ins, made, place, members = [self.load("begin", 0, tile, at)], tile, at, {}
        if node["op"] in BINARY:
            other, along = self.second(tile, at)
            ins.append(other)
            if along:
                members["along"] = along
        elif node["op"] == "transpose":
            made, place = tile[::-1], at[:-2] + at[:-3:-1]
        elif node["op"] == "scale":
            members["by"] = node["by"]
        elif node["op"] == "mask":
            members = {"rows": ["i", node.get("offset", 0)], "columns": "j", "window": node.get("window")}
        self.store("begin", self.compute("begin", node["op"], ins, made, self.result(), **members), place)

    def matmul(self):
        (*_, m, k), (*_, n) = self.shape(0), self.shape(1)
        left, right = self.groups()
        tile = [self.axis("i", m, self.step), self.axis("j", n, self.step)]
        inner = self.steps["k"] = min(self.step, k)
        self.stream = {"axis": "k", "to": [k]}
        total = self.keep(tile, 0)
        a = self.load("each", 0, [tile[0], inner], left + ["i", "k"])
        b = self.load("each", 1, [inner, tile[1]], right + ["k", "j"])
        part = self.compute("each", "matmul_nn", [a, b], tile)
        self.add("each", "UpdateState", [total, part], [total], fn="add")
        self.store("end", self.compute("end", "copy", [total], tile, self.result()), left + ["i", "j"])

    def attention(self):
        (*_, m, d), (*_, n, _), (*_, wide) = self.shape(0), self.shape(1), self.shape(2)
        left, right = self.groups()
        rows = self.axis("i", m, self.step)
        columns = self.steps["j"] = min(self.step, n)
        self.stream = {"axis": "j", "to": [n]}
        top, total, sums = self.keep([rows], "-inf"), self.keep([rows], 0), self.keep([rows, wide], 0)
        q = self.load("begin", 0, [rows, d], left + ["i", 0], "block")
        k = self.load("each", 1, [columns, d], right + ["j", 0])
        scores = self.compute("each", "matmul_nt", [q, k], [rows, columns])
        scores = self.compute("each", "scale", [scores], [rows, columns], by=self.node.get("by", [1, 1]))
        mask = self.node.get("mask")
        if mask is not None:
            where = {"rows": ["i", mask.get("offset", 0)], "columns": "j", "window": mask.get("window")}
            scores = self.compute("each", "mask", [scores], [rows, columns], **where)
        weights, factors = self.tile([rows, columns]), self.tile([rows])
        self.add("each", "UpdateState", [scores, top, total], [top, total, weights, factors], fn="online_softmax")
        v = self.load("each", 2, [columns, wide], right + ["j", 0])
        part = self.compute("each", "matmul_nn", [weights, v], [rows, wide])
        self.add("each", "UpdateState", [sums, factors, part], [sums], fn="scale_add")
        self.store("end", self.compute("end", "div", [sums, total], [rows, wide], self.result(), along="rows"), left + ["i", 0])


# ---- Documents to documents -----------------------------------------------------------------------------------------


def residency(document):
    """MCI-25: each tile as long as its nodes need it."""
    bodies, ahead = {}, {}
    for _, body, _, node, _ in nodes(document):
        for name in node.get("in", []) + node.get("out", []):
            if node["op"] != "Prefetch":
                bodies.setdefault(name, set()).add(body)
            elif name in node["out"]:
                ahead[name] = max(ahead.get(name, 0), node["version"] if body == "each" else 0)
    states = {state["value"] for region in document["regions"] for state in region["streaming"].get("state", [])}
    made, kept = copy.deepcopy(document), {}
    for name, value in made["values"].items():
        if value["residency"] == "global":
            continue
        used = bodies.get(name, set())
        if name in states:
            lifetime = "block"
        elif len(used) <= 1 and name not in ahead:
            lifetime = "node"
        elif used <= {"each"}:
            lifetime = "iteration"
        else:
            lifetime = "block" if "end" in used else "stream"
        kept.setdefault((value["residency"], lifetime), []).append(name)
        value["buffers"] = min(value.get("buffers", 1), ahead.get(name, 0) + 1)
    made["residency"] = [{"memory": memory, "lifetime": lifetime, "values": names} for (memory, lifetime), names in kept.items()]
    return made


def schedule(document):
    """MCI-24: what a stream loads, it loads an iteration ahead, if that fits."""
    made = document
    for number, region in enumerate(document["regions"]):
        if region["streaming"].get("stream"):
            tried = copy.deepcopy(made)
            ahead(tried, tried["regions"][number]["streaming"]["tile"])
            if accepted(tried):
                made = tried
    return made


def ahead(document, tile):
    loads, each, waits = [], [], []
    for node in tile.get("each", []):
        late = node["op"] == "LoadTile" or (node["op"] == "Prefetch" and node["version"] == 0)
        if not late:
            each.append(node)
            continue
        name = node["out"][0]
        loads.append(node)
        if node["op"] == "LoadTile":
            waits.append([name, 0])
        value = document["values"][name]
        value["buffers"] = max(2, value.get("buffers", 1))
        for kept in document["residency"]:
            if name in kept["values"] and kept["lifetime"] == "node":
                kept["values"] = [other for other in kept["values"] if other != name]
                document["residency"].append({"memory": value["residency"], "lifetime": "iteration", "values": [name]})
                break
    taken = {node["id"] for body in ("begin", "each", "end") for node in tile.get(body, [])}

    def fresh(name):
        while name in taken:
            name += "'"
        taken.add(name)
        return name

    first = [{**node, "op": "Prefetch", "version": 0, "id": fresh(node["id"] + " first")} for node in loads]
    later = [{**node, "op": "Prefetch", "version": 1} for node in loads]
    barrier = [{"id": fresh("wait"), "op": "Barrier", "wait": waits}] if waits else []
    tile["begin"] = tile.get("begin", []) + first
    tile["each"] = later + barrier + each
