"""Documents of memory-centric IR: the text (S01, S02), and members and types (S03 to S05), as in MCI-01 to MCI-06.

A type is a function of a value, its pointer and the list of findings.
"""

import json

LARGEST = 1.7976931348623157e308


def finding(rule, pointer, message="", severity="error"):
    return {"rule": rule, "severity": severity, "message": message or "see the rule", "pointer": pointer}


def child(pointer, name):
    return pointer + "/" + str(name).replace("~", "~0").replace("/", "~1")


# ---- Text: S01, S02 -------------------------------------------------------------------------------------------------


class NoText(Exception):
    """What stage 1 finds; nothing else is judged."""


def number(text):
    """A number whose value would be infinite breaks S01, which FMT-04 leaves to the reader."""
    whole = text.lstrip("-").isdigit()
    if (len(text) > 400 and whole) or abs(float(text)) > LARGEST:
        raise ValueError("a number without end")
    return int(text) if whole else float(text)


def no_constant(text):
    raise ValueError("`%s` is no number of JSON" % text)


def parse(data):
    """FMT-01. Members that occur twice are looked for once the text is known to be one (S02)."""
    twice = []

    def made(pairs):
        names = [name for name, _ in pairs]
        twice.extend(name for place, name in enumerate(names) if name in names[:place])
        return dict(pairs)

    try:
        text = data.decode("utf-8")
        document = json.loads(
            text, object_pairs_hook=made, parse_int=number, parse_float=number, parse_constant=no_constant
        )
        json.dumps(document, ensure_ascii=False).encode("utf-8")  # halves of surrogate pairs are no UTF-8
        "".join(twice).encode("utf-8")
    except RecursionError:
        raise NoText([finding("S01", "", "nested too deeply")]) from None
    except ValueError as wrong:
        raise NoText([finding("S01", "", str(wrong))]) from None
    if twice:
        raise NoText([finding("S02", "", "the member `%s` occurs twice" % twice[0])])
    return document


# ---- Members: S03, S04, S05 -----------------------------------------------------------------------------------------


def basic(test, what):
    def check(value, at, found):
        if not test(value):
            found.append(finding("S04", at, "required " + what))

    return check


INTEGER = basic(lambda v: type(v) is int and -(2**63) <= v < 2**63, "an integer of 64 bits")
TEXT = basic(lambda v: type(v) is str, "a string")


def name(*names):
    def check(value, at, found):
        TEXT(value, at, found)
        if type(value) is str and value not in names:
            found.append(finding("S05", at, "`%s` is none of %s" % (value, ", ".join(names))))

    return check


def nullable(kind):
    return lambda value, at, found: None if value is None else kind(value, at, found)


def array(kind):
    def check(value, at, found):
        if type(value) is not list:
            return found.append(finding("S04", at, "required an array"))
        for index, element in enumerate(value):
            kind(element, child(at, index), found)

    return check


def row(*kinds):
    """An array of a fixed length."""

    def check(value, at, found):
        if type(value) is not list or len(value) != len(kinds):
            return found.append(finding("S04", at, "required an array of %d" % len(kinds)))
        for index, (kind, element) in enumerate(zip(kinds, value)):
            kind(element, child(at, index), found)

    return check


def mapping(kind):
    def check(value, at, found):
        if type(value) is not dict:
            return found.append(finding("S04", at, "required an object"))
        for key, element in value.items():
            kind(element, child(at, key), found)

    return check


def record(*needs, **kinds):
    def check(value, at, found):
        if type(value) is not dict:
            return found.append(finding("S04", at, "required an object"))
        for key in needs:
            if key not in value:
                found.append(finding("S03", at, "the member `%s` is missing" % key))
        for key, kind in kinds.items():
            if key in value:
                kind(value[key], child(at, key), found)

    return check


def term(value, at, found):
    """A part of an index."""
    if type(value) is not str:
        INTEGER(value, at, found)


def index(value, at, found):
    """MCI-03: an integer, an axis, or terms that are added."""
    if type(value) is not list:
        return term(value, at, found)
    for place, each in enumerate(value):
        (row(INTEGER, TEXT) if type(each) is list else term)(each, child(at, place), found)


def initial(value, at, found):
    """MCI-01: an integer, or an infinity by name."""
    if type(value) is str:
        name("-inf", "inf")(value, at, found)
    else:
        INTEGER(value, at, found)


UNARY = ("transpose", "copy", "neg", "exp", "rsqrt", "silu", "gelu")
BINARY = ("add", "sub", "mul", "div", "max")
FUNCTIONS = ("matmul_nn", "matmul_nt", "scale", "mask") + UNARY + BINARY
UPDATES = ("add", "max", "scale_add", "online_softmax")
OPS = ("LoadTile", "StoreTile", "Compute", "Reduce", "UpdateState", "Prefetch", "Barrier")
AT = array(index)
MOVE = {"at": AT}
MEMBERS = {
    "LoadTile": (["at"], MOVE),
    "StoreTile": (["at"], MOVE),
    "Prefetch": (["at", "version"], {"at": AT, "version": INTEGER}),
    "Barrier": (["wait"], {"wait": array(row(TEXT, INTEGER))}),
    "Compute": (["fn"], {"fn": name(*FUNCTIONS)}),
    "Reduce": (["fn", "axis"], {"fn": name("sum", "max"), "axis": INTEGER}),
    "UpdateState": (["fn"], {"fn": name(*UPDATES)}),
}
OF_FUNCTION = {
    "scale": (["by"], {"by": row(INTEGER, INTEGER)}),
    "mask": (["rows", "columns"], {"rows": index, "columns": index, "window": nullable(INTEGER)}),
    **{each: ([], {"along": name("rows", "columns")}) for each in BINARY},
}


def node(value, at, found):
    """MCI-05: which members there are depends on `op`, and of a `Compute` on `fn`."""
    NODE(value, at, found)
    if type(value) is not dict or value.get("op") not in OPS:
        return
    needs, kinds = MEMBERS[value["op"]]
    record(*needs, **kinds)(value, at, found)
    if value["op"] == "Compute" and type(value.get("fn")) is str:
        needs, kinds = OF_FUNCTION.get(value["fn"], ([], {}))
        record(*needs, **kinds)(value, at, found)


NAMES = array(TEXT)
NODE = record("id", "op", **{"id": TEXT, "op": name(*OPS), "in": NAMES, "out": NAMES})
TILE = record(
    "tile_shape",
    tile_shape=mapping(INTEGER),
    blocks=mapping(INTEGER),
    begin=array(node),
    each=array(node),
    end=array(node),
)
STREAM = record("axis", "to", **{"axis": TEXT, "from": array(index), "to": array(index)})
STREAMING = record(
    "tile",
    stream=nullable(STREAM),
    state=array(record("value", "init", value=TEXT, init=initial)),
    tile=TILE,
)
MEMORY = name("shared", "register")
TARGET = record(shared_bytes=nullable(INTEGER), register_bytes=nullable(INTEGER))
DOCUMENT = record(
    "values",
    "inputs",
    "outputs",
    "regions",
    values=mapping(
        record(
            "shape",
            "dtype",
            "residency",
            shape=array(INTEGER),
            dtype=name("F32", "F16", "BF16"),
            residency=name("global", "shared", "register"),
            buffers=INTEGER,
        )
    ),
    inputs=NAMES,
    outputs=NAMES,
    regions=array(
        record("id", "inputs", "outputs", "streaming", id=TEXT, inputs=NAMES, outputs=NAMES, streaming=STREAMING)
    ),
    boundaries=array(record("value", value=TEXT, location=name("global"))),
    residency=array(
        record(
            "memory",
            "values",
            "lifetime",
            memory=MEMORY,
            values=NAMES,
            lifetime=name("block", "stream", "iteration", "node"),
        )
    ),
    target=TARGET,
)


def judge_members(document):
    found = []
    DOCUMENT(document, "", found)
    return found
