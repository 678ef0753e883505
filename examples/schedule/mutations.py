"""Single mistakes in schedules that are safe: which of them this validator rejects.

    python3 mutations.py              the schedules under fixtures/ that are safe
    python3 mutations.py FILE ..      schedules of yours
    python3 mutations.py --patches    those of the first line as JSON Patches, not judged: one line each

A mutation drops, lowers or raises a wait, exchanges two tasks of a queue, leaves out or repeats a task, or takes a write or an addition for one of all
its tensor: 24 to a schedule, spread over it. One that is accepted is listed: nothing that conflicts needs what it changed. A test of the
reference shows that of each. Exit code 1: a schedule is not safe to begin with.
"""

import copy
import json
import sys
from pathlib import Path

from patches import patched
from validator import judge

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures" / "schedules"
SAFE = [
    ("hazy_llama1b_1l_full_wait", {}),
    ("triton_distributed_2l_all_waits", {}),
    ("triton_distributed_2l_trimmed_waits", {"memory": {"queue": "ordered"}}),
]


def spread(places, count):
    """So many of them, at equal distances."""
    return [places[(2 * k + 1) * len(places) // (2 * count)] for k in range(count)] if places else []


def mutations(document):
    """Each kind of mistake, its place, and the JSON Patch that makes it."""
    tasks = document["tasks"]
    phases = [(task, phase) for task, each in enumerate(tasks) for phase in range(len(each["phases"]))]

    def of(place):
        return tasks[place[0]]["phases"][place[1]]

    def count(at):
        return "/tasks/%d/phases/%d/waits/%d/1" % at, of(at)["waits"][at[2]][1]

    waits = [(*at, wait) for at in phases for wait in range(len(of(at).get("waits", [])))]
    for at in spread(waits, 8):
        yield "drop a wait", at, [{"op": "remove", "path": "/tasks/%d/phases/%d/waits/%d" % at}]
    for kind, by in [("lower a count", -1), ("raise a count", 1)]:
        for at in spread(waits, 3):
            path, number = count(at)
            yield kind, at, [{"op": "replace", "path": path, "value": number + by}]
    last, pairs = {}, []
    for number, task in enumerate(tasks):
        queue = task.get("queue")
        if queue is not None and queue in last:
            pairs.append((last[queue], number))
        last[queue] = number
    for one, other in spread(sorted(pairs), 3):
        moves = [(other, one), (one + 1, other)]
        yield "exchange two tasks of a queue", (one, other), [
            {"op": "move", "from": "/tasks/%d" % a, "path": "/tasks/%d" % b} for a, b in moves
        ]
    for at in spread(range(len(tasks)), 2):
        yield "leave out a task", (at,), [{"op": "remove", "path": "/tasks/%d" % at}]
    for at in spread(range(len(tasks)), 2):
        yield "repeat a task", (at,), [{"op": "copy", "from": "/tasks/%d" % at, "path": "/tasks/%d" % at}]
    changes = [
        (*at, member, index)
        for at in phases
        for member in ("writes", "adds")
        for index, access in enumerate(of(at).get(member, []))
        if access[1] is not None
    ]
    for at in spread(changes, 3):
        path = "/tasks/%d/phases/%d/%s/%d/1" % at
        yield "widen an access", at, [{"op": "replace", "path": path, "value": None}]


def errors(document):
    return sorted({each["rule"] for each in judge(document) if each["severity"] == "error"})


def print_patches():
    for name, more in SAFE:
        document = {**json.loads((FIXTURES / (name + ".json")).read_text()), **more}
        for kind, at, patch in mutations(document):
            print(json.dumps({"schedule": name, "members": more, "kind": kind, "at": at, "patch": patch}))


def main():
    if sys.argv[1:] == ["--patches"]:
        print_patches()
        return 0
    given = [(Path(name), {}) for name in sys.argv[1:]] or [(FIXTURES / (name + ".json"), more) for name, more in SAFE]
    bad = 0
    for path, more in given:
        document = {**json.loads(path.read_text()), **more}
        if errors(document):
            print("%s is rejected as it is: %s" % (path.name, errors(document)))
            bad += 1
            continue
        total = rejected = 0
        for kind, at, patch in mutations(document):
            found = errors(patched(copy.deepcopy(document), patch))
            total += 1
            rejected += bool(found)
            if not found:
                print("%s: %s at %s is accepted" % (path.name, kind, list(at)), flush=True)
        print("%s: %d of %d mutations rejected" % (path.name, rejected, total), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
