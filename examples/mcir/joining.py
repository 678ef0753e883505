"""MaterializationEliminationPass (MCI-26): regions that become one, so that what is between them is on chip alone."""

import copy

from model import SIZES, Axes, terms
from passes import residency

BODIES = ("begin", "each", "end")


def bodies(region):
    tile = region["streaming"]["tile"]
    return [(body, node) for body in BODIES for node in tile.get(body, [])]


def stores(region):
    return {node["out"][0]: (body, node) for body, node in bodies(region) if node["op"] == "StoreTile"}


def loads(region, tensor=None):
    found = [node for _, node in bodies(region) if node["op"] in ("LoadTile", "Prefetch")]
    return [node for node in found if tensor is None or node["in"][0] == tensor]


def loaded(region):
    return {node["in"][0] for node in loads(region)}


def goes_on(region):
    return bool(region["streaming"].get("stream") or region["streaming"].get("state"))


def several(axes):
    """Block axes of more than one value: step and number of values."""
    return {axis: (axes.steps[axis], axes.counts[axis]) for axis in axes.blocks if axes.counts[axis] > 1}


def correspondence(document, first, second):
    """Axes of the second region by those of the first, if each tile between them is loaded as it is stored; else None."""
    values, known = document["values"], {}
    of_first, of_second = Axes(first["streaming"]), Axes(second["streaming"])
    one, two = several(of_first), several(of_second)
    for tensor, (body, store) in stores(first).items():
        for load in loads(second, tensor):
            if load["op"] != "LoadTile" or (body == "each" and goes_on(first)):
                return None
            if values[load["out"][0]]["shape"] != values[store["in"][0]]["shape"]:
                return None
            for to, at in zip(store["at"], load["at"]):
                (there, number), (here, other) = plain(of_first, to), plain(of_second, at)
                if number != other or len(there) != len(here):
                    return None
                for axis, factor in here.items():
                    fits = [name for name, again in there.items() if again == factor and one.get(name) == two.get(axis, 0)]
                    if not fits or known.setdefault(axis, fits[0]) != fits[0]:
                        return None
    return known if len(known) == len(two) and set(known.values()) == set(one) and len(one) == len(two) else None


def plain(axes, index):
    """An index without block axes of one value."""
    coefficients, number = terms(index)
    return {axis: factor for axis, factor in coefficients.items() if axes.counts.get(axis, 2) > 1}, number


def fits(document, first, second):
    tiles = {state["value"] for region in (first, second) for state in region["streaming"].get("state", [])}
    for _, node in bodies(first) + bodies(second):
        tiles |= {name for name in node.get("in", []) + node.get("out", []) if document["values"][name]["residency"] != "global"}
    held = {"shared": 0, "register": 0}
    for name in tiles:
        value = document["values"][name]
        size = SIZES[value["dtype"]] * value.get("buffers", 1)
        for extent in value["shape"]:
            size *= extent
        held[value["residency"]] += size
    target = document.get("target", {})
    return all(target.get(memory + "_bytes") is None or size <= target[memory + "_bytes"] for memory, size in held.items())


def joint(document, tensor):
    """Where the two regions of a tensor that vanishes are, the place of the new one, and their axes; else None."""
    regions = document["regions"]
    (place,) = [number for number, region in enumerate(regions) if tensor in stores(region)]
    readers = [number for number, region in enumerate(regions) if tensor in loaded(region)]
    if len(readers) != 1:
        return None
    first, second = regions[place], regions[readers[0]]
    if goes_on(first) and goes_on(second):
        return None
    axes = correspondence(document, first, second)
    between = regions[place + 1 : readers[0]]
    needs = any(loaded(region) & set(stores(first)) for region in between)
    gives = any(set(stores(region)) & loaded(second) for region in between)
    if axes is None or (needs and gives) or not fits(document, first, second):
        return None
    return place, readers[0], place if needs else readers[0], axes


def eliminate(document):
    made, changed = copy.deepcopy(document), False
    listed = set(document["inputs"]) | set(document["outputs"])
    while True:
        between = [name for region in made["regions"] for name in stores(region) if name not in listed]
        found = next((each for each in (joint(made, name) for name in between) if each), None)
        if not found:
            return residency(made) if changed else made
        changed = True
        join(made, *found)


def join(document, one, two, place, axes):
    first, second = document["regions"][one], document["regions"][two]
    passed = {tensor: node["in"][0] for tensor, (_, node) in stores(first).items() if loads(second, tensor)}
    others = [region for region in document["regions"] if region is not first and region is not second]
    gone = {name for name in passed if name not in document["outputs"] and not any(name in loaded(region) for region in others)}
    unused = {node["out"][0]: passed[tensor] for tensor in passed for node in loads(second, tensor)}
    own, other = Axes(first["streaming"]), Axes(second["streaming"])
    names = {axis: axis if own.counts[axis] > 1 else None for axis in own.blocks}
    renamed = {axis: axes.get(axis) for axis in other.blocks}
    stream = second["streaming"].get("stream")
    if stream:
        name = stream["axis"]
        while name in own.blocks:
            name += "'"
        renamed[stream["axis"]] = name

    def index(value, mapping):
        factors, number = terms(value)
        return [[factor, mapping.get(axis, axis)] for axis, factor in factors.items() if mapping.get(axis, axis)] + [number]

    def moved(region, mapping, prefix):
        """The bodies with other axes and ids."""
        found = {body: [] for body in BODIES}
        for body, node in copy.deepcopy(bodies(region)):
            node["id"] = prefix + node["id"]
            if node["op"] in ("LoadTile", "Prefetch", "StoreTile"):
                node["at"] = [index(each, mapping) for each in node["at"]]
            if node.get("fn") == "mask":
                node.update(rows=index(node["rows"], mapping), columns=index(node["columns"], mapping))
            found[body].append(node)
        return found

    before, after = moved(first, names, "1 "), moved(second, renamed, "2 ")
    for body in BODIES:
        after[body] = [node for node in after[body] if node["op"] != "LoadTile" or node["in"][0] not in passed]
        for node in after[body]:
            node["in"] = [unused.get(name, name) for name in node.get("in", [])]
        before[body] = [node for node in before[body] if node["op"] != "StoreTile" or node["out"][0] not in gone]
    main, mapping = (first, names) if goes_on(first) else (second, renamed)
    moved_once = [node for body in BODIES for node in (after if main is first else before)[body] if node["op"] != "Barrier"]
    made = before if main is first else after
    made["end" if main is first else "begin"] = before["end"] + moved_once if main is first else moved_once + after["begin"]
    steps = {axis: own.steps[axis] for axis, name in names.items() if name}
    blocks = {axis: own.blocks[axis] for axis in steps}
    streaming = copy.deepcopy(main["streaming"])
    stream = streaming.get("stream")
    if stream:
        axis = mapping.get(stream["axis"], stream["axis"])
        steps[axis] = main["streaming"]["tile"]["tile_shape"][stream["axis"]]
        stream["axis"] = axis
        for side in ("from", "to"):
            if side in stream:
                stream[side] = [index(each, mapping) for each in stream[side]]
    streaming["tile"] = {"tile_shape": steps, "blocks": blocks, **made}
    region = {**second, "streaming": streaming}
    region.update(inputs=sorted(loaded(region)), outputs=sorted(stores(region)))
    document["regions"][place] = region
    del document["regions"][one if place == two else two]
    for name in gone | set(unused):
        del document["values"][name]
    document["boundaries"] = [each for each in document.get("boundaries", []) if each["value"] not in gone]
    for kept in document.get("residency", []):
        kept["values"] = [name for name in kept["values"] if name not in unused]
