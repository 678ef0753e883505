"""Kernel IR of documents (MCI-27 to MCI-30): a loop nest for each region. Threads meet before each instruction, which is more often than they need to."""

import math

from model import SIZES, bodies, terms
from validator import residency, sites

INSTRUCTIONS = {"Compute": "compute", "Reduce": "reduce", "UpdateState": "update"}
MEMBERS = ("fn", "by", "along", "axis", "rows", "columns", "window")
MOST = 2**31 - 1
SYNC = {"op": "sync"}


class NotLowered(Exception):
    """What Kernel IR has no integer for."""


def written(factors, number):
    """An index of Kernel IR."""
    for each in (*factors.values(), number):
        if abs(each) > MOST:
            raise NotLowered("the integer %d is beyond those of Kernel IR" % each)
    return [*([factor, name] for name, factor in factors.items() if factor), number]


class Nest:
    """The kernel of a region."""

    def __init__(self, document, region, lifetimes):
        self.values, self.region, self.axes = document["values"], region, region.axes
        self.lifetimes, self.used = lifetimes, sites(region)
        for name in region.states:
            self.used.setdefault(name, [])
        self.taken = set(self.axes.blocks) | {self.axes.stream}
        self.first, self.last, self.number = self.fresh("first"), self.fresh("last"), self.fresh("number")
        self.prefetched = {n["out"][0] for _, _, n, _ in region.nodes if n["op"] == "Prefetch"}

    def fresh(self, name):
        """A name that no integer has."""
        count = 0
        while "%s %d" % (name, count) in self.taken:
            count += 1
        self.taken.add("%s %d" % (name, count))
        return "%s %d" % (name, count)

    def shifted(self, index, where):
        """An index with `where`, a name and a number, in place of the axis of the stream."""
        factors, number = terms(index)
        if where and self.axes.stream in factors:
            factor = factors.pop(self.axes.stream)
            factors[where[0]] = factors.get(where[0], 0) + factor
            number += factor * where[1]
        return written(factors, number)

    def view(self, made, tile, extents, slot=None, where=None):
        """A tile, and before it the integers that its extents are."""
        found = []
        for size, rest in extents:
            name = size
            if rest is not None:
                name = self.fresh("extent")
                left = self.shifted([*([factor, axis] for axis, factor in rest[0]), rest[1]], where)
                made.append({"op": "let", "name": name, "fn": "min", "of": [size, left]})
            found.append(name)
        return {"buffer": tile, "extent": found, **({} if slot is None else {"slot": slot})}

    def of_now(self, made, tile):
        """A tile as nodes of an iteration read it."""
        slot = self.number if tile in self.prefetched else None
        return self.view(made, tile, self.region.extents[tile], slot)

    def node(self, node, body):
        op, ins, outs = node["op"], node.get("in", []), node.get("out", [])
        if op == "Barrier":
            base = [self.number] if body == "each" else []
            return [SYNC, {"op": "wait", "for": [{"buffer": tile, "slot": [*base, w]} for tile, w in node["wait"]]}]
        made = [SYNC]
        if op == "Prefetch":
            return [SYNC, self.prefetch(node, body)]
        if op in ("LoadTile", "StoreTile"):
            at = [self.shifted(index, None) for index in node["at"]]
            if op == "StoreTile":
                view = self.of_now(made, ins[0])
                return [*made, {"op": "store", "tensor": outs[0], "at": at, "in": view}]
            view = self.view(made, outs[0], self.region.extents[outs[0]])
            return [*made, {"op": "load", "tensor": ins[0], "at": at, "out": view}]
        work = {"op": INSTRUCTIONS[op], **{member: node[member] for member in MEMBERS if member in node}}
        work["in"] = [self.of_now(made, tile) for tile in ins]
        work["out"] = [self.view(made, tile, self.region.extents[tile]) for tile in outs]
        return [*made, work]

    def prefetch(self, node, body):
        """A load of the iteration that is so many ahead, if there is one."""
        tensor, tile, version = node["in"][0], node["out"][0], node["version"]
        base = self.axes.stream if body == "each" else self.first
        where = base, version * self.axes.steps[self.axes.stream]
        made = []
        slot = [self.number, version] if body == "each" else version
        view = self.view(made, tile, self.region.part(node, tensor, tile), slot, where)
        at = [self.shifted(index, where) for index in node["at"]]
        made.append({"op": "prefetch", "tensor": tensor, "at": at, "out": view})
        return {"op": "if", "all": [written({self.last: 1, base: -1}, -1 - where[1])], "body": made}

    def spans(self):
        """By tile: body and place before which its memory is taken, and behind which it is given back."""
        found = {}
        for name, where in self.used.items():
            lifetime = self.lifetimes[name][0]
            order = [(("begin", "each", "end").index(body), place) for _, body, place, _ in where]
            in_begin = [place for side, body, place, _ in where if side == "out" and body == "begin"]
            if lifetime == "block":
                found[name] = None, None
            elif lifetime == "node":
                found[name] = min(order), max(order)
            else:
                found[name] = ((0, min(in_begin)) if in_begin else "stream"), "stream"
        return found

    def lowered(self):
        spans, streaming = self.spans(), self.region.region["streaming"]
        taken, given = {}, {}
        for name, (first, last) in spans.items():
            taken.setdefault(first, []).append({"op": "alloc", "allocation": name})
            given.setdefault(last, []).append({"op": "free", "allocation": name})
        take = lambda place: list(taken.get(place, []))
        give = lambda place: list(given.get(place, []))
        made = take(None)
        for state in streaming.get("state", []):
            extents = self.region.extents[state["value"]]
            made += [SYNC, {"op": "fill", "value": state["init"], "out": self.view(made, state["value"], extents)}]
        if self.axes.stream:
            bounds = (self.first, "max", self.axes.first), (self.last, "min", self.axes.last)
            made += [{"op": "let", "name": name, "fn": fn, "of": all_of_them} for name, fn, all_of_them in bounds]
        for number, (body, nodes) in enumerate(bodies(self.region.region)):
            inside = []
            for place, node in enumerate(nodes):
                inside += [SYNC, *take((number, place)), *self.node(node, body), *give((number, place))]
            if body == "each":
                if self.axes.stream:
                    loop = {"axis": self.axes.stream, "number": self.number, "from": self.first, "to": self.last}
                    step = self.axes.steps[self.axes.stream]
                    inside = [{"op": "loop", **loop, "step": step, "body": inside + [SYNC]}]
                inside = [SYNC, *take("stream"), *inside, *give("stream")]
            made += inside
        return made


def kernel(document, region, lifetimes):
    nest = Nest(document, region, lifetimes)
    allocations, buffers = {}, {}
    for name in nest.used:
        value = document["values"][name]
        slots = value.get("buffers", 1)
        size = math.prod(value["shape"]) * SIZES[value["dtype"]] * slots
        if size > MOST:
            raise NotLowered("the bytes of `%s` are beyond the integers of Kernel IR" % name)
        allocations[name] = {"memory": value["residency"], "bytes": size}
        buffers[name] = {"allocation": name, "shape": value["shape"], "dtype": value["dtype"], "slots": slots}
    blocks = [{"axis": axis, "to": to, "step": nest.axes.steps[axis]} for axis, to in nest.axes.blocks.items()]
    parts = {"allocations": allocations, "buffers": buffers, "body": nest.lowered()}
    return {"id": region.region["id"], "blocks": blocks, **parts}


def lower(document, regions):
    """MCI-27."""
    lifetimes = residency(document, [])
    tensors = {name: value for name, value in document["values"].items() if value["residency"] == "global"}
    return {
        "tensors": {name: {"shape": value["shape"], "dtype": value["dtype"]} for name, value in tensors.items()},
        "inputs": document["inputs"],
        "outputs": document["outputs"],
        "kernels": [kernel(document, region, lifetimes) for region in regions],
    }
