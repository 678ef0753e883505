"""Schedules as documents: the text (S01, S02), and members and types (S03 to S05), as in SCH-01.

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


def boolean_or(other):
    return lambda value, at, found: None if type(value) is bool else other(value, at, found)


def nullable(kind):
    return lambda value, at, found: None if value is None else kind(value, at, found)


def array(kind):
    def check(value, at, found):
        if type(value) is not list:
            return found.append(finding("S04", at, "required an array"))
        for index, element in enumerate(value):
            kind(element, child(at, index), found)

    return check


def row(*kinds, least=None):
    """An array of a fixed length; the last ones may be left out down to `least`."""

    def check(value, at, found):
        if type(value) is not list or not (len(kinds) if least is None else least) <= len(value) <= len(kinds):
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


BOX = array(row(INTEGER, INTEGER))
OBJECT_REGION = record("box", box=BOX, runs=array(row(INTEGER, INTEGER, INTEGER)), shift=array(INTEGER))


def region(value, at, found):
    """SCH-04: null, a box, or an object around one."""
    if value is not None:
        (BOX if type(value) is list else OBJECT_REGION)(value, at, found)


ACCESS = row(TEXT, region)
COUNTED = row(TEXT, INTEGER)
PHASE = record(
    waits=array(COUNTED),
    reads=array(ACCESS),
    writes=array(ACCESS),
    adds=array(row(TEXT, region, nullable(TEXT), least=2)),
    signals=array(COUNTED),
)
TASK = record(
    "phases",
    phases=array(PHASE),
    queue=nullable(INTEGER),
    name=TEXT,
    repeat=nullable(record("times", times=INTEGER, queue_step=INTEGER, queues=nullable(INTEGER))),
    source=TEXT,
)
TENSOR = record(
    "shape",
    shape=array(INTEGER),
    kind=name("activation", "output", "input", "weight", "cache"),
    init=boolean_or(name("once")),
    element=INTEGER,
    storage=nullable(TEXT),
    offset=INTEGER,
    view=nullable(TEXT),
)
SCHEDULE = record(
    "tensors",
    "tasks",
    tensors=mapping(TENSOR),
    tasks=array(TASK),
    storages=mapping(record("bytes", bytes=INTEGER)),
    events=mapping(record(period=nullable(INTEGER))),
    any_order=array(INTEGER),
    memory=record(
        signal=name("release", "relaxed"), wait=name("acquire", "relaxed"), queue=name("unordered", "ordered")
    ),
)


def judge_members(document):
    found = []
    SCHEDULE(document, "", found)
    return found
