"""Extents of tiles (MCI-09), and the rules IS09 to IS11 and IB01. A dimension is a number and a rest: see `Axes.extent`."""

from documents import finding
from model import SIZES, Axes, bodies

MOST_WORK = 2**31


class Wrong(Exception):
    """What is wrong with the shapes of a node."""


def same(name, *sizes):
    if any(size != sizes[0] for size in sizes):
        raise Wrong("the extents of %s differ: %s" % (name, ", ".join(map(str, sizes))))


def ranks(*pairs):
    for tile, rank in pairs:
        if len(tile) != rank:
            raise Wrong("a tile of %d axes, required %d" % (len(tile), rank))


def computed(node, ins, states):
    """MCI-06: the extents of what a node produces. A state that nothing has given extents yet is None."""
    fn = node["fn"]
    if node["op"] == "Reduce":
        if not 0 <= node["axis"] < len(ins[0]):
            raise Wrong("there is no axis %d" % node["axis"])
        return [ins[0][: node["axis"]] + ins[0][node["axis"] + 1 :]]
    if node["op"] == "UpdateState":
        if fn in ("add", "max"):
            same("the tiles", ins[0] or ins[1], ins[1])
            return [ins[1]]
        if fn == "scale_add":
            if len(ins[2]) not in (1, 2):
                raise Wrong("a tile of %d axes, required 1 or 2" % len(ins[2]))
            ranks((ins[1], 1))
            same("the tiles", ins[0] or ins[2], ins[2])
            same("the rows", ins[1][0], ins[2][0])
            return [ins[2]]
        ranks((ins[0], 2))
        rows = ins[0][:1]
        same("the rows", ins[1] or rows, ins[2] or rows, rows)
        return [rows, rows, ins[0], rows]
    a = ins[0]
    if fn in ("matmul_nn", "matmul_nt", "mask", "transpose"):
        ranks(*((tile, 2) for tile in ins))
    if fn == "matmul_nn":
        same("the products", a[1], ins[1][0])
        return [(a[0], ins[1][1])]
    if fn == "matmul_nt":
        same("the products", a[1], ins[1][1])
        return [(a[0], ins[1][0])]
    if fn == "transpose":
        return [(a[1], a[0])]
    if len(ins) == 2:
        along = node.get("along")
        if along is None:
            same("the tiles", a, ins[1])
        else:
            ranks((a, 2), (ins[1], 1))
            same(along, a[0 if along == "rows" else 1], ins[1][0])
    return [a]


class Region:
    """The extents of all tiles of a region, and what is wrong with them."""

    def __init__(self, document, number, found):
        self.values, self.region, self.found = document["values"], document["regions"][number], found
        streaming = self.region["streaming"]
        self.axes = Axes(streaming)
        self.extents = {state["value"]: None for state in streaming.get("state", [])}
        self.states = set(self.extents)
        at = "/regions/%d/streaming/tile" % number
        all_nodes = [
            (body, place, node, "%s/%s/%d" % (at, body, place))
            for body, nodes in bodies(self.region)
            for place, node in enumerate(nodes)
        ]
        self.nodes = all_nodes
        # A prefetched tile has its extents wherever its first Prefetch stands.
        for _, _, node, _ in all_nodes:
            if node["op"] == "Prefetch":
                self.extents[node["out"][0]] = self.part(node, node["in"][0], node["out"][0])
        for body, place, node, here in all_nodes:
            self.visit(node, here)

    def part(self, node, tensor, tile):
        """The extents of the part of a tensor that a tile is."""
        sizes, tensor = self.values[tile]["shape"], self.values[tensor]["shape"]
        lacking = len(tensor) - len(sizes)
        pairs = zip(sizes, tensor[lacking:], node["at"][lacking:])
        return tuple(self.axes.extent(size, extent, index) for size, extent, index in pairs)

    def visit(self, node, here):
        op, ins, outs = node["op"], node.get("in", []), node.get("out", [])
        if op == "Barrier":
            return
        try:
            if op in ("LoadTile", "Prefetch"):
                made = [self.part(node, ins[0], outs[0])]
            elif op == "StoreTile":
                same("the tile and of its place", self.extents[ins[0]], self.part(node, outs[0], ins[0]))
                made = []
            else:
                made = computed(node, [self.extents[name] for name in ins], self.states)
            for name, extents in zip(outs, made):
                declared = self.values[name]["shape"]
                if [size for size, _ in extents] != declared:
                    raise Wrong("`%s` is %s, and what is computed %s" % (name, declared, [s for s, _ in extents]))
                moving = [rest for _, rest in extents if rest and any(axis == self.axes.stream for axis, _ in rest[0])]
                if name in self.states and moving:
                    raise Wrong("the state `%s` would have other extents in each iteration" % name)
                self.extents[name] = extents
        except Wrong as wrong:
            self.found.append(finding("IS09", here, str(wrong)))
            for name in outs:
                if name in self.values and self.values[name]["residency"] != "global":
                    self.extents[name] = tuple((size, None) for size in self.values[name]["shape"])
        if op in ("LoadTile", "Prefetch", "StoreTile"):
            if self.values[ins[0]]["dtype"] != self.values[outs[0]]["dtype"]:
                self.found.append(finding("IS10", here, "a move does not convert"))


def judge_shapes(document):
    """IS11, then IS09 and IS10. The regions with their extents."""
    found, work = [], 0
    for number, region in enumerate(document["regions"]):
        axes = Axes(region["streaming"])
        times = max(1, axes.iterations)
        for axis in axes.blocks:
            times *= axes.counts[axis]
        work += times * max(1, sum(len(nodes) for _, nodes in bodies(region)))
        if work > MOST_WORK:
            return [finding("IS11", "/regions/%d" % number, "nodes run %d times" % work)], []
    return found, [Region(document, number, found) for number in range(len(document["regions"]))]


def elements(value):
    count = 1
    for extent in value["shape"]:
        count *= extent
    return count


def tile_bytes(value):
    return elements(value) * SIZES[value["dtype"]] * value.get("buffers", 1)
