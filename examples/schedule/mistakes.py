"""Mistakes that authors of runtimes make, each in a schedule that is safe without it, and the rule that has to reject it.

    python3 mistakes.py              each mistake, and what this validator says
    python3 mistakes.py --documents  a JSON object for each: name, expected and found rules, and the document, for another validator

The schedules are those of the two toy runtimes, and one of a public system. Exit code 1: something is judged otherwise than the table says.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "runtimes")]

import graph  # noqa: E402
import queues  # noqa: E402
import traces  # noqa: E402
from validator import judge  # noqa: E402

Edit = Callable[[dict], None]


# ---- Edits of a document -----------------------------------------------------------------------------------------------


def task(document: dict, name: str) -> dict:
    return next(each for each in document["tasks"] if each["name"] == name)


def phase(document: dict, name: str, number: int = 0) -> dict:
    return task(document, name)["phases"][number]


def put(document: dict, *way: object) -> None:
    """The last element is the value; those before it lead there."""
    *path, last, value = way
    for step in path:
        document = document[step]
    document[last] = value


def exchange(document: dict, one: str, other: str) -> None:
    tasks = document["tasks"]
    one, other = tasks.index(task(document, one)), tasks.index(task(document, other))
    tasks[one], tasks[other] = tasks[other], tasks[one]


def split(document: dict, name: str, member: str) -> None:
    """What a phase has of this member comes in a phase of its own behind it."""
    phases = task(document, name)["phases"]
    phases.append({member: phases[-1].pop(member)})


def without_clear(document: dict) -> None:
    document["tasks"].remove(task(document, "clear 0.0"))
    for head in range(graph.HEADS):
        at = phase(document, "project %d.0" % head)
        at["waits"] = [wait for wait in at.get("waits", []) if wait[0] != "event 5"]


def barrier(document: dict, workers: int, rounds: int) -> None:
    """All workers meet at the end, so often, and one of them then reads what another one wrote."""
    document["tensors"]["met"] = {"shape": [rounds]}
    for sm in range(queues.SMS):
        for number in range(rounds):
            signals = [["met", 1]] if sm < workers else []
            writes = [["met", [[number, number + 1]]]] if sm == 0 else []
            document["tasks"].append({"name": "arrive", "queue": sm, "phases": [{"writes": writes, "signals": signals}]})
            reads = [["met", [[number, number + 1]]]] if sm == 1 else []
            document["tasks"].append({"name": "leave", "queue": sm, "phases": [{"waits": [["met", 3]], "reads": reads}]})


def shared(document: dict, storage: str, names: list[str], size: int) -> None:
    """These tensors lie in one storage, at its begin."""
    document["storages"][storage] = {"bytes": size}
    for name in names:
        document["tensors"][name]["storage"] = storage


def a_quarter_of_the_waits(document: dict) -> None:
    for each in document["tasks"]:
        if " op6 " in each["name"]:
            waits = each["phases"][0]["waits"]
            waits[:] = [wait for wait in waits if wait[0].endswith("[0]")]


# ---- The table -----------------------------------------------------------------------------------------------------------

# What is wrong; the schedule without it; the edit; the rules that reject it.
QUEUES: list[tuple[str, Edit, str]] = [
    ("a counter that nobody sets back is dumped with a period of 0", lambda d: put(d, "events", {"bar[0]": {"period": 0}}), "ES01"),
    ("a counter that nobody sets back, with the period of another one", lambda d: put(d, "events", {"bar[5]": {"period": 4}}), "ED05"),
    ("a region in bytes, where elements are asked for", lambda d: put(phase(d, "up 0/7/0"), "writes", 0, 1, [[56, 64]]), "ES02"),
    ("a tensor of the next layer that does not exist", lambda d: put(phase(d, "up 1/0/0"), "reads", 1, 0, "up2"), "ES03"),
    ("the arena is counted in elements", lambda d: put(d, "storages", "arena", "bytes", queues.HIDDEN), "ES04"),
    ("weights are changed in place", lambda d: put(phase(d, "up 0/0/0"), "writes", 0, ["up0", None]), "ES05"),
    ("a counter was renamed where it is waited for", lambda d: put(phase(d, "out 1/0/0"), "waits", 0, 0, "bar[11]"), "ED01"),
    ("tasks are waited for as if they were blocks", lambda d: put(phase(d, "up 0/0/0"), "waits", 0, 1, 8), "ED02"),
    ("a barrier that one worker never reaches", lambda d: barrier(d, 2, 1), "ED02"),
    ("the up projection waits for its own layer's sum", lambda d: put(phase(d, "up 0/0/0"), "waits", 0, 0, "bar[5]"), "ED03"),
    ("two tasks of a queue are exchanged", lambda d: exchange(d, "embed 0/1/0", "down 0/1/0"), "ED04"),
    ("a queue is put together from its end", lambda d: d["tasks"].reverse(), "ED04"),
    ("a barrier that is used twice and counts once", lambda d: barrier(d, 3, 2), "ER01"),
    ("the last wait is for one less", lambda d: put(phase(d, "out 1/0/0"), "waits", 0, 1, 7), "ER01 ER03"),
    ("a wait is dropped", lambda d: phase(d, "up 0/5/0").pop("waits"), "ER01"),
    ("the wait comes after the load", lambda d: split(d, "out 1/0/0", "waits"), "ER01 ER03"),
    ("the signal comes before the last store", lambda d: task(d, "up 0/2/0")["phases"].insert(0, {"signals": phase(d, "up 0/2/0").pop("signals")}), "ER01 ER03 ER07"),
    ("signals without a fence", lambda d: put(d, "memory", "signal", "relaxed"), "ER01 ER03 ER07"),
    ("polls that are volatile and acquire nothing", lambda d: put(d, "memory", "wait", "relaxed"), "ER01 ER03 ER07"),
    ("a block is written one element too far", lambda d: put(phase(d, "up 0/2/0"), "writes", 0, 1, [[4, 7]]), "ER02"),
    ("a block is written one element too short", lambda d: put(phase(d, "up 0/2/0"), "writes", 0, 1, [[4, 5]]), "ER05"),
    ("a view that begins one element too late", lambda d: (put(d, "tensors", "late", {"shape": [2], "element": 4, "view": "h0", "offset": 12}), put(phase(d, "up 0/2/0"), "writes", 0, ["late", None])), "ER02"),
    ("the parts of a sum are stored", lambda d: put(phase(d, "down 0/0/1"), "writes", [phase(d, "down 0/0/1").pop("adds")[0]]), "ER03"),
    ("the embedding is added to what lies there", lambda d: put(phase(d, "embed 0/0/0"), "adds", phase(d, "embed 0/0/0").pop("writes")), "ER05"),
    ("the residual stream is set up once, and added to in each launch", lambda d: (put(d, "tensors", "r", "init", "once"), put(phase(d, "embed 0/0/0"), "adds", phase(d, "embed 0/0/0").pop("writes"))), "ER06"),
    ("the residual stream lies in the arena as well", lambda d: put(d, "tensors", "r", "storage", "arena"), "ER07"),
]  # fmt: skip
GRAPH: list[tuple[str, Edit, str]] = [
    ("a worker with waits in the middle takes its tasks in any order", lambda d: put(d, "any_order", [1]), "ED06"),
    ("the sum is never cleared", lambda d: (without_clear(d), d["tensors"]["sum"].pop("storage")), "ER05"),
    ("the sum is cleared by the host, once", lambda d: (without_clear(d), d["tensors"]["sum"].pop("storage"), put(d, "tensors", "sum", "init", "once")), "ER06"),
    ("the task that clears the sum also held back those who add", lambda d: (without_clear(d), put(d, "tensors", "sum", "init", True)), "ER07"),
    ("the parts of the sum are added without an atomic", lambda d: [phase(d, "project %d.0" % head)["adds"][0].append("sum") for head in range(2)], "ER04"),
    ("a period is what one head raises", lambda d: put(d, "events", "event 6", "period", 2), "ED05"),
    ("the result lies where the cache is", lambda d: shared(d, "kv", ["cache", "y"], 128), "ER08"),
    ("a part of the reduction lies where the queries are", lambda d: (put(d, "storages", "scratch", "bytes", 32), put(d, "tensors", "parts", "storage", "scratch")), "ER07"),
    ("the new row is read before it is there", lambda d: put(phase(d, "attend 0.1"), "reads", 1, 1, 0, [2, 5]), "ER01"),
    ("the row is appended where the old ones are", lambda d: put(phase(d, "append 0.0"), "writes", 0, 1, 0, [3, 4]), "ER01"),
    ("a wait is taken out of a worker that does not see the other's", lambda d: phase(d, "reduce 1.0").pop("waits"), "ER01"),
]  # fmt: skip
PUBLIC: list[tuple[str, Edit, str]] = [
    ("each down projection waits for the first quarter of four", a_quarter_of_the_waits, "ER01 ER03"),
]  # fmt: skip

# What is right as well: the schedule, and the edit.
RIGHT_QUEUES: list[tuple[str, Edit]] = [
    ("as it is", lambda d: None),
    ("the plan", lambda d: (d.clear(), d.update(queues.dump_plan(queues.plan()).document()))),
    ("each task on a worker of its own", lambda d: [each.pop("queue") for each in d["tasks"]]),
    ("parts of a sum in another order", lambda d: exchange(d, "down 0/0/0", "down 0/1/1")),
    ("a wait that waits for more than it needs", lambda d: phase(d, "out 1/0/0")["waits"].append(["bar[0]", 4])),
    ("the store and the signal in phases of their own", lambda d: task(d, "up 0/2/0")["phases"].extend([{"writes": phase(d, "up 0/2/0").pop("writes")}, {"signals": phase(d, "up 0/2/0").pop("signals")}])),
    ("a worker without late waits in any order", lambda d: put(d, "any_order", [0, 1, 2])),
    ("counters that are never set back", lambda d: put(d, "events", {"bar[5]": {"period": 8}, "bar[0]": {"period": 4}})),
    ("a barrier of all workers", lambda d: barrier(d, 3, 1)),
    ("a view of a block", lambda d: (put(d, "tensors", "block", {"shape": [2], "element": 4, "view": "h0", "offset": 16}), put(phase(d, "up 0/2/0"), "writes", 0, ["block", None]))),
    ("a larger arena", lambda d: put(d, "storages", "arena", "bytes", 4096)),
    ("queues that order as well", lambda d: put(d, "memory", "queue", "ordered")),
]  # fmt: skip
RIGHT_GRAPH: list[tuple[str, Edit]] = [
    ("as it is", lambda d: None),
    ("the graph", lambda d: (d.clear(), d.update(graph.dump_plan(graph.graph()).document()))),
    ("the sum is cleared by the host in each launch, in memory of its own", lambda d: (without_clear(d), d["tensors"]["sum"].pop("storage"), put(d, "tensors", "sum", "init", True))),
    ("a group for each part of the sum", lambda d: [phase(d, "project %d.0" % head)["adds"][0].append("head %d" % head) for head in range(2)]),
    ("the queries in memory of their own", lambda d: d["tensors"]["q"].pop("storage")),
]  # fmt: skip

# Bugs of the runtimes, and the rules that reject what they dump, or what happened in a run of them.
DUMPED = {
    "queues": {"quarter": "ER03", "count": "ER01 ER03 ER07", "layer": "ER03 ER07", "raised": "ED02", "blocks": "ED02", "lost": "ED02",
               "backwards": "ED04", "twice": "ER01 ER02 ER03"},
    "graph": {"reuse": "ER07", "zero": "ER03", "trim": "ER01 ER03 ER07", "reduction": "ER01", "barrier": "ER01 ER03", "middle": "ER01",
              "early": "ER01", "epoch": "ED05", "twice": "ED05", "fence": "ER01 ER03 ER07"},
}  # fmt: skip
TRACED = {
    "queues": {None: "", "quarter": "ET06", "early": "ET05", "wide": "ET08", "no-reset": "ET12"},
    "graph": {None: "", "reuse": "ET06", "early": "ET10 ET11", "row": "ET08", "skipped": "ET09"},
}


def rows():
    """Name, method, document and rules."""
    safe = {"queues": queues.dump(queues.encode(queues.plan())).document(), "graph": graph.dumped(None).document()}
    public = HERE.parent.parent / "fixtures" / "schedules" / "hazy_llama1b_1l_full_wait.json"
    safe["public"] = json.loads(public.read_text())

    def edited(of, edit):
        document = copy.deepcopy(safe[of])
        edit(document)
        return document

    for of, bugs in DUMPED.items():
        for bug, rules in bugs.items():
            made = queues.dump(queues.encode(queues.plan(), bug)) if of == "queues" else graph.dumped(bug)
            yield "%s, bug `%s`" % (of, bug), "validate", made.document(), rules
    for of, table in [("queues", QUEUES), ("graph", GRAPH), ("public", PUBLIC)]:
        for name, edit, rules in table:
            yield "%s: %s" % (of, name), "validate", edited(of, edit), rules
    for of, table in [("queues", RIGHT_QUEUES), ("graph", RIGHT_GRAPH)]:
        for name, edit in table:
            yield "%s, right: %s" % (of, name), "validate", edited(of, edit), ""
    for of, bugs in TRACED.items():
        for bug, rules in bugs.items():
            for seed in range(1 if bug else 3):
                device, _ = (queues if of == "queues" else graph).run(bug, seed)
                document = {**safe[of], "launches": device.trace.launches}
                yield "%s, run %d, bug `%s`" % (of, seed, bug), "trace", document, rules


def main() -> int:
    wrong = mistakes = 0
    for name, method, document, rules in rows():
        found = judge(document) if method == "validate" else traces.judge_members(document) or traces.judge_trace(document)
        found = sorted({each["rule"] for each in found if each["severity"] == "error"})
        wrong += found != rules.split()
        mistakes += bool(rules) and method == "validate"
        if sys.argv[1:] == ["--documents"]:
            print(json.dumps({"name": name, "method": method, "expected": rules.split(), "found": found, "document": document}))
        else:
            told = "" if found == rules.split() else ", and not " + (rules or "accepted")
            print("%s: %s%s" % (name, " ".join(found) or "accepted", told))
    if sys.argv[1:] != ["--documents"]:
        print("%d mistakes in schedules; %d rows judged otherwise than the table says" % (mistakes, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
