"""Semantic graphs: members (S03 to S05), the rules IG01 to IG06, and the AttentionPatternPass (MCI-18 to MCI-22)."""

import math

from documents import BINARY, INTEGER, NAMES, TEXT, UNARY, array, child, finding, mapping, name, nullable, record, row

MOST, MOST_BYTES, MOST_EXTENTS = 2**31 - 1, 2**62, 64
SIZES = {"F32": 4, "F16": 2, "BF16": 2}
MASKED = {"offset": INTEGER, "window": nullable(INTEGER)}
FRACTION = row(INTEGER, INTEGER)
# The number of operands of each op, members that are required, and all members.
OPS = {
    **{op: (1, [], {}) for op in UNARY},
    **{op: (2, [], {}) for op in ("matmul",) + BINARY},
    "scale": (1, ["by"], {"by": FRACTION}),
    "reduce": (1, ["fn", "axis"], {"fn": name("sum", "max"), "axis": INTEGER}),
    "mask": (1, [], MASKED),
    "softmax": (1, ["axis"], {"axis": INTEGER}),
    "rms_norm": (2, ["eps"], {"eps": FRACTION}),
    "layer_norm": (3, ["eps"], {"eps": FRACTION}),
    "rope": (3, [], {}),
    "attention": (3, [], {"by": FRACTION, "mask": nullable(record(**MASKED))}),
}


def node(value, at, found):
    NODE(value, at, found)
    if type(value) is dict and value.get("op") in OPS:
        _, needs, kinds = OPS[value["op"]]
        record(*needs, **kinds)(value, at, found)


NODE = record("id", "op", "in", "out", **{"id": TEXT, "op": name(*OPS), "in": NAMES, "out": TEXT})
GRAPH = record(
    "values",
    "inputs",
    "outputs",
    "nodes",
    values=mapping(record("shape", "dtype", shape=array(INTEGER), dtype=name(*SIZES))),
    inputs=NAMES,
    outputs=NAMES,
    nodes=array(node),
)

def is_graph(document):
    return type(document) is dict and "nodes" in document and "regions" not in document


def judge(graph, at=""):
    """The rules in their stages: MCI-18."""
    for stage in ((numbers, names, repeated), (operands,), (order, shapes)):
        found = [finding(rule, at + where, message) for check in stage for rule, where, message in check(graph)]
        if found:
            return found
    return []


# ---- IG01 to IG03 ---------------------------------------------------------------------------------------------------


def numbers(graph):
    def within(value, least, most, where):
        if not least <= value <= most:
            yield "IG01", where, "%d is not from %d to %d" % (value, least, most)

    for key, value in graph["values"].items():
        where = child("/values", key) + "/shape"
        if len(value["shape"]) > MOST_EXTENTS:
            yield "IG01", where, "more than 64 extents"
            continue
        found = [each for axis, extent in enumerate(value["shape"]) for each in within(extent, 1, MOST, "%s/%d" % (where, axis))]
        yield from found
        if not found and math.prod(value["shape"]) * SIZES[value["dtype"]] > MOST_BYTES:
            yield "IG01", where, "more than 2^62 bytes"
    for place, each in enumerate(graph["nodes"]):
        where, op = "/nodes/%d" % place, each["op"]
        for member, least in (("by", -MOST), ("eps", 0)):
            if member in OPS[op][2] and member in each:
                yield from within(each[member][0], least, MOST, "%s/%s/0" % (where, member))
                yield from within(each[member][1], 1, MOST, "%s/%s/1" % (where, member))
        masked = each if op == "mask" else each.get("mask") if op == "attention" else None
        if masked is not None:
            where += "/mask" * (op == "attention")
            yield from within(masked.get("offset", 0), -MOST, MOST, where + "/offset")
            if masked.get("window") is not None:
                yield from within(masked["window"], 1, MOST, where + "/window")


def names(graph):
    places = [("/%s/%d" % (which, i), key) for which in ("inputs", "outputs") for i, key in enumerate(graph[which])]
    for place, each in enumerate(graph["nodes"]):
        places += [("/nodes/%d/in/%d" % (place, i), key) for i, key in enumerate(each["in"])]
        places.append(("/nodes/%d/out" % place, each["out"]))
    for where, key in places:
        if key not in graph["values"]:
            yield "IG02", where, "`%s` is no value" % key


def repeated(graph):
    ids = [each["id"] for each in graph["nodes"]]
    for where, all_of in (("/inputs/%d", graph["inputs"]), ("/outputs/%d", graph["outputs"]), ("/nodes/%d/id", ids)):
        seen = set()
        for place, key in enumerate(all_of):
            if key in seen:
                yield "IG03", where % place, "`%s` occurs twice" % key
            seen.add(key)


# ---- IG04 to IG06 ---------------------------------------------------------------------------------------------------


def operands(graph):
    for place, each in enumerate(graph["nodes"]):
        if len(each["in"]) != OPS[each["op"]][0]:
            yield "IG04", "/nodes/%d" % place, "`%s` does not read %d values" % (each["op"], len(each["in"]))


def order(graph):
    there = set(graph["inputs"])
    for place, key in enumerate(graph["outputs"]):
        if key in there:
            yield "IG05", "/outputs/%d" % place, "`%s` is an input" % key
    for place, each in enumerate(graph["nodes"]):
        for operand, key in enumerate(each["in"]):
            if key not in there:
                yield "IG05", "/nodes/%d/in/%d" % (place, operand), "`%s` is not there yet" % key
        if each["out"] in there:
            yield "IG05", "/nodes/%d/out" % place, "`%s` is there already" % each["out"]
        there.add(each["out"])
    for key in graph["values"]:
        if key not in there:
            yield "IG05", child("/values", key), "nothing produces `%s`" % key


def shapes(graph):
    for place, each in enumerate(graph["nodes"]):
        made = produced(each, [graph["values"][key]["shape"] for key in each["in"]])
        if made != graph["values"][each["out"]]["shape"]:
            yield "IG06", "/nodes/%d" % place, "`%s` does not have the shape that is produced" % each["out"]


def turned(shape):
    return shape[:-2] + [shape[-1], shape[-2]]


def product(a, b):
    if a is None or len(a) != len(b) or len(a) not in (2, 3) or a[-1] != b[-2] or (len(a) == 3 and a[0] % b[0]):
        return None
    return a[:-1] + b[-1:]


def produced(each, ins):
    """The shape of a result, or nothing."""
    op, a = each["op"], ins[0]
    if op == "matmul":
        return product(a, ins[1])
    if op == "attention":
        q, k, v = ins
        if len(k) < 2 or len(k) != len(v) or k[0] != v[0]:
            return None
        return product(product(q, turned(k)), v)
    fits = True
    if op in BINARY:
        b = ins[1]
        fits = len(b) <= len(a) and all(y in (x, 1) for x, y in zip(reversed(a), reversed(b)))
    elif op in ("reduce", "softmax"):
        fits = 0 <= each["axis"] < len(a)
        if fits and op == "reduce":
            return a[: each["axis"]] + [1] + a[each["axis"] + 1 :]
    elif op in ("transpose", "mask"):
        fits = len(a) >= 2
        if fits and op == "transpose":
            return turned(a)
    elif op in ("rms_norm", "layer_norm"):
        fits = all(w == a[-1:] and len(w) == 1 for w in ins[1:])
    elif op == "rope":
        fits = len(a) >= 2 and all(len(c) == 2 and c[0] == a[-2] and 2 * c[1] == a[-1] for c in ins[1:])
    return a if fits else None


# ---- The pass -------------------------------------------------------------------------------------------------------


def attention_pattern(graph):
    """MCI-22: each pattern becomes one node; what nobody reads any more goes."""
    nodes, values = list(graph["nodes"]), dict(graph["values"])
    makers = {each["out"]: each for each in nodes}
    lasts, made = [], []

    def before(each):
        """What makes the first operand, if it can go."""
        key = each["in"][0]
        reads = sum(other["in"].count(key) for other in graph["nodes"])
        alone = reads == 1 and key not in graph["outputs"] and values[key]["dtype"] == "F32"
        return makers.get(key, {"op": None}) if alone else {"op": None}

    def pattern(last):
        found = {"softmax": None, "mask": None, "scale": None}
        each = before(last)
        if last["op"] != "matmul" or each["op"] != "softmax" or each["axis"] != len(values[each["out"]]["shape"]) - 1:
            return None
        for op in found:
            if each["op"] == op:
                found[op], each = each, before(each)
        keys, others = (values[node["in"][1]]["shape"] for node in (each, last)) if each["op"] == "matmul" else ([], [0])
        if len(keys) != len(others) or (len(keys) == 3 and keys[0] != others[0]) or each["id"] in lasts:
            return None
        return each, found

    for last in nodes:
        found = pattern(last)
        if found is None:
            made.append(last)
            continue
        first, others = found
        gone = [first["id"]] + [node["id"] for node in others.values() if node]
        made = [node for node in made if node["id"] not in gone]
        keys = first["in"][1]
        maker = makers.get(keys, {"op": None})
        if maker["op"] == "transpose" and values[keys]["dtype"] in ("F32", values[maker["in"][0]]["dtype"]):
            rows = maker["in"][0]
        else:
            rows = keys + " by rows"
            while rows in values or any(node["id"] == rows for node in nodes):
                rows += "'"
            values[rows] = {"shape": turned(values[keys]["shape"]), "dtype": values[keys]["dtype"]}
            made.append({"id": rows, "op": "transpose", "in": [keys], "out": rows})
        fused = {"id": last["id"], "op": "attention", "in": [first["in"][0], rows, last["in"][1]], "out": last["out"]}
        if others["scale"]:
            fused["by"] = others["scale"]["by"]
        if others["mask"]:
            fused["mask"] = {key: others["mask"].get(key, default) for key, default in (("offset", 0), ("window", None))}
        made.append(fused)
        lasts.append(last["id"])
    if lasts:
        read = {key for node in made for key in node["in"]} | set(graph["outputs"])
        made = [node for node in made if node["op"] != "transpose" or node["out"] in read]
    kept = set(graph["inputs"]) | {node["out"] for node in made}
    return {**graph, "values": {key: value for key, value in values.items() if key in kept}, "nodes": made}
