"""The rules IS01 to IS08, for documents that break none of S01 to S05."""

import math

from documents import child, finding
from model import bodies, is_tile, nodes, terms

MOST, MOST_BYTES, MOST_ELEMENTS, MOST_SLOTS, MOST_EXTENTS = 2**31 - 1, 2**62, 2**20, 64, 64
# In and out of each function, and the places of states among them: (in, out).
COMPUTE = {"matmul_nn": 2, "matmul_nt": 2, "add": 2, "sub": 2, "mul": 2, "div": 2, "max": 2}
UPDATE = {
    "add": (2, 1, [(0, 0)]),
    "max": (2, 1, [(0, 0)]),
    "scale_add": (3, 1, [(0, 0)]),
    "online_softmax": (3, 4, [(1, 0), (2, 1)]),
}
PLACES = {"Prefetch": ("begin", "each"), "Barrier": ("begin", "each"), "UpdateState": ("each",)}


def lists_of_names(document):
    yield "/inputs", document["inputs"]
    yield "/outputs", document["outputs"]
    for number, region in enumerate(document["regions"]):
        yield "/regions/%d/inputs" % number, region["inputs"]
        yield "/regions/%d/outputs" % number, region["outputs"]


def indices(node, at):
    for place, index in enumerate(node["at"] if node["op"] in ("LoadTile", "Prefetch", "StoreTile") else []):
        yield index, "%s/at/%d" % (at, place)
    if node["op"] == "Compute" and node["fn"] == "mask":
        yield node["rows"], at + "/rows"
        yield node["columns"], at + "/columns"


# ---- IS01 -----------------------------------------------------------------------------------------------------------


def number_range(document):
    found = []

    def within(value, least, most, at):
        if value is not None and not least <= value <= most:
            found.append(finding("IS01", at, "%d is not from %d to %d" % (value, least, most)))

    def inside(index, at):
        for place, term in enumerate(index) if isinstance(index, list) else [(None, index)]:
            here = at if place is None else child(at, place)
            if isinstance(term, list):
                within(term[0], -MOST, MOST, here + "/0")
            elif isinstance(term, int):
                within(term, -MOST, MOST, here)

    for name, value in document["values"].items():
        at, before = child("/values", name), len(found)
        if len(value["shape"]) > MOST_EXTENTS:
            found.append(finding("IS01", at + "/shape", "more than 64 extents"))
            continue
        for axis, extent in enumerate(value["shape"]):
            within(extent, 1, MOST, "%s/shape/%d" % (at, axis))
        if len(found) == before:
            size = math.prod(value["shape"])
            if value["residency"] != "global" and size > MOST_ELEMENTS:
                found.append(finding("IS01", at + "/shape", "a tile of more than 2^20 elements"))
            elif size * (4 if value["dtype"] == "F32" else 2) > MOST_BYTES:
                found.append(finding("IS01", at + "/shape", "more than 2^62 bytes"))
        within(value.get("buffers", 1), 1, MOST_SLOTS, at + "/buffers")
    for name in ("shared_bytes", "register_bytes"):
        within(document.get("target", {}).get(name), 0, MOST, "/target/" + name)
    for number, region in enumerate(document["regions"]):
        at, streaming = "/regions/%d/streaming" % number, region["streaming"]
        for which in ("from", "to"):
            if len((streaming.get("stream") or {}).get(which, [])) > MOST_EXTENTS:
                found.append(finding("IS01", "%s/stream/%s" % (at, which), "more than 64 indices"))
            for place, index in enumerate((streaming.get("stream") or {}).get(which, [])):
                inside(index, "%s/stream/%s/%d" % (at, which, place))
        for place, state in enumerate(streaming.get("state", [])):
            if isinstance(state["init"], int):
                within(state["init"], -MOST, MOST, "%s/state/%d/init" % (at, place))
        for which in ("tile_shape", "blocks"):
            for axis, value in streaming["tile"].get(which, {}).items():
                within(value, 1, MOST, child("%s/tile/%s" % (at, which), axis))
        if streaming.get("stream") and not streaming["stream"]["to"]:
            found.append(finding("IS01", at + "/stream/to", "a stream without an end"))
    for _, _, _, node, at in nodes(document):
        for index, here in indices(node, at):
            inside(index, here)
        op, fn = node["op"], node.get("fn")
        if op == "Prefetch":
            within(node["version"], 0, MOST_SLOTS - 1, at + "/version")
        for place, (_, version) in enumerate(node["wait"] if op == "Barrier" else []):
            within(version, 0, MOST_SLOTS - 1, "%s/wait/%d/1" % (at, place))
        if op == "Compute" and fn == "mask":
            within(node.get("window"), 1, MOST, at + "/window")
        if op == "Compute" and fn == "scale":
            within(node["by"][0], -MOST, MOST, at + "/by/0")
            within(node["by"][1], 1, MOST, at + "/by/1")
    return found


# ---- IS02, IS03 -----------------------------------------------------------------------------------------------------


def unknown_names(document):
    found = []

    def value(name, at):
        if name not in document["values"]:
            found.append(finding("IS02", at, "there is no value `%s`" % name))

    def axes_of(index, axes, at):
        for place, term in enumerate(index) if isinstance(index, list) else [(None, index)]:
            here = at if place is None else child(at, place)
            axis = term[1] if isinstance(term, list) else term
            if isinstance(axis, str) and axis not in axes:
                here += "/1" if isinstance(term, list) else ""
                found.append(finding("IS02", here, "there is no axis `%s` here" % axis))

    for at, names in lists_of_names(document):
        for place, name in enumerate(names):
            value(name, "%s/%d" % (at, place))
    for place, boundary in enumerate(document.get("boundaries", [])):
        value(boundary["value"], "/boundaries/%d/value" % place)
    for place, residency in enumerate(document.get("residency", [])):
        for number, name in enumerate(residency["values"]):
            value(name, "/residency/%d/values/%d" % (place, number))
    for number, region in enumerate(document["regions"]):
        at, streaming = "/regions/%d/streaming" % number, region["streaming"]
        tile, stream = streaming["tile"], streaming.get("stream")
        blocks = set(tile.get("blocks", {}))
        axes = blocks | ({stream["axis"]} if stream else set())
        for which in ("from", "to"):
            for place, index in enumerate((stream or {}).get(which, [])):
                axes_of(index, blocks, "%s/stream/%s/%d" % (at, which, place))
        for place, state in enumerate(streaming.get("state", [])):
            value(state["value"], "%s/state/%d/value" % (at, place))
        shape = set(tile["tile_shape"])
        for axis in sorted(shape - axes):
            found.append(finding("IS02", child(at + "/tile/tile_shape", axis), "there is no axis `%s`" % axis))
        if axes - shape:
            found.append(finding("IS02", at + "/tile/tile_shape", "no step for %s" % ", ".join(sorted(axes - shape))))
        for body, all_of_it in bodies(region):
            for place, node in enumerate(all_of_it):
                here = "%s/tile/%s/%d" % (at, body, place)
                for which in ("in", "out"):
                    for number_in, name in enumerate(node.get(which, [])):
                        value(name, "%s/%s/%d" % (here, which, number_in))
                for number_in, (name, _) in enumerate(node["wait"] if node["op"] == "Barrier" else []):
                    value(name, "%s/wait/%d/0" % (here, number_in))
                allowed = axes if body == "each" or node["op"] == "Prefetch" else blocks
                for index, where in indices(node, here):
                    axes_of(index, allowed, where)
    return found


def repeated_names(document):
    found = []

    def once(pairs):
        seen = set()
        for name, at in pairs:
            if name in seen:
                found.append(finding("IS03", at, "`%s` a second time" % name))
            seen.add(name)

    for at, names in lists_of_names(document):
        once((name, "%s/%d" % (at, place)) for place, name in enumerate(names))
    boundaries = document.get("boundaries", [])
    once((each["value"], "/boundaries/%d/value" % place) for place, each in enumerate(boundaries))
    once((region["id"], "/regions/%d/id" % number) for number, region in enumerate(document["regions"]))
    for number, region in enumerate(document["regions"]):
        at, streaming = "/regions/%d/streaming" % number, region["streaming"]
        state = streaming.get("state", [])
        once((each["value"], "%s/state/%d/value" % (at, place)) for place, each in enumerate(state))
        stream = streaming.get("stream")
        if stream and stream["axis"] in streaming["tile"].get("blocks", {}):
            found.append(finding("IS03", at + "/stream/axis", "a block axis has this name"))
        once((node["id"], here + "/id") for of, _, _, node, here in nodes(document) if of == number)
    return found


# ---- IS04 to IS08 ---------------------------------------------------------------------------------------------------


def operands(document):
    """IS04."""
    found = []
    prefetched = {}
    for number, _, _, node, _ in nodes(document):
        if node["op"] == "Prefetch":
            prefetched.setdefault(number, set()).update(node.get("out", []))
    for number, body, _, node, at in nodes(document):
        op, ins, outs = node["op"], node.get("in", []), node.get("out", [])
        if op in ("LoadTile", "Prefetch", "StoreTile"):
            needs = (1, 1)
        elif op == "Barrier":
            needs = (0, 0)
        elif op == "Compute":
            needs = (COMPUTE.get(node["fn"], 1), 1)
        else:
            needs = (1, 1) if op == "Reduce" else UPDATE[node["fn"]][:2]
        wrong = None
        if (len(ins), len(outs)) != needs:
            wrong = "%d in and %d out, required %d and %d" % (len(ins), len(outs), *needs)
        elif body not in PLACES.get(op, ("begin", "each", "end")):
            wrong = "%s does not stand in `%s`" % (op, body)
        elif op == "Prefetch" and not document["regions"][number]["streaming"].get("stream"):
            wrong = "there is no stream to prefetch for"
        else:
            tensors = [not is_tile(document, name) for name in ins + outs]
            required = {"LoadTile": [True, False], "Prefetch": [True, False], "StoreTile": [False, True]}
            if tensors != required.get(op, [False] * len(tensors)):
                wrong = "tensors and tiles in the wrong places"
            elif op in required:
                tile, tensor = (ins[0], outs[0]) if op == "StoreTile" else (outs[0], ins[0])
                rank = len(document["values"][tensor]["shape"])
                if len(node["at"]) != rank or len(document["values"][tile]["shape"]) > rank:
                    wrong = "`at` has %d indices, and the tensor %d axes" % (len(node["at"]), rank)
        if wrong:
            found.append(finding("IS04", at, wrong))
        for place, (name, _) in enumerate(node["wait"] if op == "Barrier" else []):
            if name not in prefetched.get(number, ()):
                found.append(finding("IS04", "%s/wait/%d" % (at, place), "nothing prefetches `%s` here" % name))
    return found


def interface(document):
    """IS05."""
    found = []
    for at, names in lists_of_names(document):
        for place, name in enumerate(names):
            if is_tile(document, name):
                found.append(finding("IS05", "%s/%d" % (at, place), "`%s` is no tensor" % name))
            elif at == "/outputs" and name in document["inputs"]:
                found.append(finding("IS05", "%s/%d" % (at, place), "`%s` is an input" % name))
    for place, boundary in enumerate(document.get("boundaries", [])):
        if is_tile(document, boundary["value"]):
            found.append(finding("IS05", "/boundaries/%d/value" % place, "`%s` is no tensor" % boundary["value"]))
    for number, region in enumerate(document["regions"]):
        for which, ops, side in (("inputs", ("LoadTile", "Prefetch"), "in"), ("outputs", ("StoreTile",), "out")):
            used = set()
            for of, _, _, node, at in nodes(document):
                if of == number and node["op"] in ops:
                    for place, name in enumerate(node.get(side, [])):
                        if not is_tile(document, name):
                            used.add(name)
                            if name not in region[which]:
                                message = "`%s` is not among the %s of the region" % (name, which)
                                found.append(finding("IS05", "%s/%s/%d" % (at, side, place), message))
            for place, name in enumerate(region[which]):
                if name not in used and is_tile(document, name) is False:
                    at = "/regions/%d/%s/%d" % (number, which, place)
                    found.append(finding("IS05", at, "no node of the region moves `%s`" % name))
    return found


def states_of(region):
    return {state["value"]: place for place, state in enumerate(region["streaming"].get("state", []))}


def roles(node):
    """The places of states in `in` and `out` of an UpdateState."""
    pairs = UPDATE[node["fn"]][2] if node["op"] == "UpdateState" else []
    return {old for old, _ in pairs}, {new for _, new in pairs}


def one_producer(document):
    """IS06."""
    found, known = [], {name: ("input",) for name in document["inputs"]}
    for number, _, _, node, at in nodes(document):
        _, updated = roles(node)
        for place, name in enumerate(node.get("out", [])):
            if place in updated:
                continue
            this = (at, place)
            if node["op"] == "Prefetch":
                this = ("prefetch", number, tuple(node["in"]), repr([sorted(terms(i)[0].items()) + [terms(i)[1]] for i in node["at"]]))
            if known.setdefault(name, this) != this:
                found.append(finding("IS06", "%s/out/%d" % (at, place), "`%s` has another producer" % name))
    return found


def no_producer(document):
    """IS07."""
    found, stored = [], set(document["inputs"])
    for number, region in enumerate(document["regions"]):
        prefetched = {node["out"][0] for of, _, _, node, _ in nodes(document) if of == number and node["op"] == "Prefetch"}
        there = {"begin": set(), "each": set(), "end": set()}
        mine = set()
        for of, body, _, node, at in nodes(document):
            if of != number:
                continue
            seen = there["begin"] | there[body] | set(states_of(region)) | (prefetched if body == "each" else set())
            for place, name in enumerate(node.get("in", [])):
                if is_tile(document, name):
                    if name not in seen:
                        found.append(finding("IS07", "%s/in/%d" % (at, place), "nothing produces `%s` before" % name))
                elif name not in stored and name not in region["outputs"]:
                    found.append(finding("IS07", "%s/in/%d" % (at, place), "nothing has stored `%s`" % name))
            if node["op"] == "StoreTile":
                mine.update(node["out"])
            elif node["op"] != "Prefetch":
                there[body].update(node.get("out", []))
        stored |= mine
    return found


def state_rules(document):
    """IS08."""
    found, declared = [], set()
    for number, region in enumerate(document["regions"]):
        at = "/regions/%d/streaming/state" % number
        states, updated = states_of(region), set()
        for name, place in states.items():
            if not is_tile(document, name) or name in declared:
                found.append(finding("IS08", "%s/%d/value" % (at, place), "`%s` is a tensor, or a state elsewhere" % name))
            declared.add(name)
        for of, body, _, node, here in nodes(document):
            if of != number:
                continue
            old, new = roles(node)
            pairs = UPDATE[node["fn"]][2] if node["op"] == "UpdateState" else []
            if any(node["in"][i] not in states or node["in"][i] != node["out"][o] for i, o in pairs):
                found.append(finding("IS08", here, "what it updates is no state, or another than the one it reads"))
            elif any(node["out"][o] in updated for _, o in pairs) or len({node["out"][o] for _, o in pairs}) < len(pairs):
                found.append(finding("IS08", here, "it updates a state a second time"))
            for place, name in enumerate(node.get("in", [])):
                if place not in old and name in states and name not in updated and body != "end":
                    found.append(finding("IS08", "%s/in/%d" % (here, place), "the state `%s` is not updated yet" % name))
            for place, name in enumerate(node.get("out", [])):
                if place not in new and name in states:
                    found.append(finding("IS08", "%s/out/%d" % (here, place), "`%s` is a state" % name))
            updated.update(node["out"][o] for _, o in pairs)
        for name, place in states.items():
            if name not in updated:
                found.append(finding("IS08", "%s/%d" % (at, place), "nothing updates `%s`" % name))
    return found


def judge_structure(document):
    found = number_range(document) + unknown_names(document) + repeated_names(document)
    if found:
        return found
    found = operands(document)
    if found:
        return found
    return interface(document) + one_producer(document) + no_producer(document) + state_rules(document)
