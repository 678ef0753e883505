"""A toy megakernel with a task graph, a scheduler, and workers that run their tasks in order; and what dumps it.

    python3 graph.py dump  [--bug NAME] [--plan] -o FILE     the schedule, from the descriptors, or, to compare, from the graph
    python3 graph.py trace [--bug NAME] [--seed N] -o FILE   the log of a run of three launches
    python3 graph.py run   [--bug NAME] [--seed N]           what it computes, and whether that is right

A step of attention with a cache that grows: two heads, each in two splits, of which the second one waits in its middle for the row that this step adds;
parts that are reduced; a projection that adds up over the heads, into memory that the queries lay in. Events are never set back: launch k waits for
its total k - 1 times more. A task leaves out a wait that an earlier task of its worker made, or whose signals are all of its worker, since there is a fence
between tasks.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from schedule_dump import Region, Schedule, box  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))

from device import Device, Hang, Step  # noqa: E402

WORKERS, HEADS, SPLITS, DIM, OLD, ROWS, WIDTH = 3, 2, 2, 2, 4, 8, 4

# ---- The graph, and descriptors ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A task of the graph: what it does, its head and split, and the nodes that it needs before each of its phases."""

    kind: str
    head: int = 0
    split: int = 0
    needs: tuple[tuple[int, ...], ...] = ((),)


@dataclass(frozen=True)
class Descriptor:
    """What a worker reads: an operation, waits for each phase, and what is raised at the end of which phase."""

    kind: str
    head: int
    split: int
    waits: tuple[tuple[tuple[int, int], ...], ...]
    raises: int
    after: int


def graph() -> list[Node]:
    nodes = [Node("append")] + [Node("query", head) for head in range(HEADS)]
    attend = {}
    for head in range(HEADS):
        for split in range(SPLITS):
            attend[head, split] = len(nodes)
            nodes.append(Node("attend", head, split, ((1 + head,), (0,) if split == SPLITS - 1 else ())))
    nodes.append(Node("clear", needs=(tuple(attend.values()),)))
    clear = len(nodes) - 1
    for head in range(HEADS):
        nodes.append(Node("reduce", head, needs=(tuple(attend[head, split] for split in range(SPLITS)),)))
    for head in range(HEADS):
        nodes.append(Node("project", head, needs=((clear, clear + 1 + head),)))
    return nodes + [Node("copy", needs=((len(nodes) - 2, len(nodes) - 1),))]


def event_of(node: Node) -> int:
    """Nodes that are waited for together raise one event: the splits of a head, the heads of the projection."""
    order = {"append": 0, "query": 1, "attend": 1 + HEADS, "clear": 1 + 2 * HEADS, "reduce": 2 + 2 * HEADS, "project": 2 + 3 * HEADS}
    return order.get(node.kind, -1) + (node.head if node.kind in ("query", "attend", "reduce") else 0)


def compiled(nodes: list[Node], bug: str | None = None) -> tuple[list[tuple[int, Descriptor]], dict[int, int]]:
    """Workers with their tasks, in turn, and the period of each event."""
    totals: dict[int, int] = {}
    for node in nodes:
        if node.kind != "copy":  # nobody waits for the last one
            totals[event_of(node)] = totals.get(event_of(node), 0) + 1
    placed, seen = [], [set() for _ in range(WORKERS)]
    for number, node in enumerate(nodes):
        worker, phases = number % WORKERS, []
        for needs in node.needs:
            events = sorted({event_of(nodes[need]) for need in needs})
            if bug == "reuse" and node.kind == "clear":
                events = []  # `sum` has no reader yet: but the queries lie there
            # A producer of the start value is no producer of the sum.
            if bug == "zero" and node.kind == "project":
                events.remove(event_of(Node("clear")))
            known = seen[0] if bug == "trim" else seen[worker]
            phases.append(tuple((event, totals[event]) for event in events if event not in known))
            known.update(events)
        if totals.get(event_of(node)) == 1:
            seen[worker].add(event_of(node))
        if bug == "reduction" and node.kind == "reduce":
            phases = [tuple((event, count - 1) for event, count in phases[0])]
        if bug == "barrier" and node.kind == "copy":
            phases = [tuple((event, count - 1) for event, count in phases[0])]
        if bug == "middle" and node.kind == "attend":
            phases = [phases[0], ()]
        after = len(phases) - 1
        if bug == "early" and node.kind == "attend":
            after = 0
        placed.append((worker, Descriptor(node.kind, node.head, node.split, tuple(phases), event_of(node), after)))
    if bug == "epoch":
        totals[event_of(Node("attend"))] -= 1
    if bug == "twice":
        placed.insert(8, (placed[8][0], replace(placed[8][1], waits=((),))))
    return placed, totals


# ---- What a worker does ------------------------------------------------------------------------------------------------

Place = tuple[str, Region, list[int]]


def part(name: str, width: int, rows: tuple[int, int], columns: tuple[int, int]) -> Place:
    return name, box(rows, columns), [row * width + column for row in range(*rows) for column in range(*columns)]


def touches(task: Descriptor) -> list[list[tuple[str, Place]]]:
    """For each phase what is read, written or added to, in this order. The workers go by it, and so does the dump."""
    columns, all_heads = (task.head * DIM, (task.head + 1) * DIM), HEADS * DIM
    if task.kind == "append":
        return [[("read", part("token", all_heads, (0, 1), (0, all_heads))), ("write", part("cache", all_heads, (OLD, OLD + 1), (0, all_heads)))]]
    if task.kind == "query":
        return [[("read", part("token", all_heads, (0, 1), columns)), ("write", part("q", all_heads, (0, 1), columns))]]
    if task.kind == "attend":
        middle = OLD // 2
        rows = [(0, middle), (0, 0)] if task.split == 0 else [(middle, OLD), (OLD, OLD + 1)]
        target = part("parts", DIM, (task.head * SPLITS + task.split, task.head * SPLITS + task.split + 1), (0, DIM))
        early = [("read", part("q", all_heads, (0, 1), columns)), ("read", part("cache", all_heads, rows[0], columns))]
        late = [("read", part("cache", all_heads, rows[1], columns))] if task.split else []
        return [early, [*late, ("write", target)]]
    if task.kind == "clear":
        return [[("write", part("sum", WIDTH, (0, 1), (0, WIDTH)))]]
    if task.kind == "reduce":
        rows = (task.head * SPLITS, (task.head + 1) * SPLITS)
        return [[("read", part("parts", DIM, rows, (0, DIM))), ("write", part("o", all_heads, (0, 1), columns))]]
    if task.kind == "project":
        return [[("read", part("o", all_heads, (0, 1), columns)), ("add", part("sum", WIDTH, (0, 1), (0, WIDTH)))]]
    return [[("read", part("sum", WIDTH, (0, 1), (0, WIDTH))), ("write", part("y", WIDTH, (0, 1), (0, WIDTH)))]]


def compute(kind: str, read: list[list[int]]) -> list[int]:
    if kind in ("append", "query", "copy"):
        return list(read[0])
    if kind == "clear":
        return [0] * WIDTH
    if kind == "reduce":
        return [sum(read[0][column::DIM]) for column in range(DIM)]
    if kind == "project":
        return [sum(read[0]) * (column + 1) for column in range(WIDTH)]
    query, rows = read[0], [row for block in read[1:] for row in zip(*[iter(block)] * DIM)]
    weights = [sum(a * b for a, b in zip(query, row)) for row in rows]
    return [sum(weight * row[column] for weight, row in zip(weights, rows)) for column in range(DIM)]


def work(device: Device, worker: int, tasks: list[tuple[int, Descriptor]], periods: dict[int, int], launch: int, bug: str | None) -> Step:
    for number, task in tasks:
        device.trace.begin(number, worker)
        read: list[list[int]] = []
        for phase, accesses in enumerate(touches(task)):
            at = (number, phase)
            for event, count in task.waits[phase]:
                yield from device.wait(at, "event %d" % event, launch * periods[event] + count)
            for does, (name, region, elements) in accesses:
                if bug == "row" and task.kind == "attend" and name == "cache" and does == "read" and phase == 0:
                    region, elements = box((0, OLD + 1), region.intervals[1]), elements  # it loads what it then masks
                if does == "read":
                    read.append((yield from device.read(at, name, region, elements)))
                elif not (bug == "skipped" and task.kind == "attend" and task.head == 1 and task.split == 0):
                    change = device.write if does == "write" else device.add
                    yield from change(at, name, region, elements, compute(task.kind, read))
            if phase == task.after and task.raises >= 0:
                yield from device.signal(at, "event %d" % task.raises, 1)


# ---- The dump --------------------------------------------------------------------------------------------------------


def tensors(schedule: Schedule) -> dict:
    scratch, heads = schedule.storage("scratch", 16), HEADS * DIM
    made = [
        schedule.tensor("token", (1, heads), kind="input"),
        schedule.tensor("cache", (ROWS, heads), kind="cache"),
        schedule.tensor("q", (1, heads), storage=scratch),
        schedule.tensor("parts", (HEADS * SPLITS, DIM)),
        schedule.tensor("o", (1, heads)),
        schedule.tensor("sum", (1, WIDTH), storage=scratch),
        schedule.tensor("y", (1, WIDTH), kind="output"),
    ]
    return {tensor.name: tensor for tensor in made}


def dump(placed: list[tuple[int, Descriptor]], periods: dict[int, int], fence: bool = True) -> Schedule:
    """The schedule that the workers execute: read from the descriptors, with the functions of the workers."""
    schedule = Schedule(queue="ordered" if fence else "unordered")
    made = tensors(schedule)
    events = {event: schedule.event("event %d" % event, period) for event, period in periods.items()}
    for worker, descriptor in placed:
        name = "%s %d.%d" % (descriptor.kind, descriptor.head, descriptor.split)
        task = schedule.task(name, queue=worker)
        for number, accesses in enumerate(touches(descriptor)):
            phase = task.phase()
            for event, count in descriptor.waits[number]:
                phase.wait(events[event], count)
            for does, (tensor, region, _) in accesses:
                {"read": phase.read, "write": phase.write, "add": phase.add}[does](made[tensor], region)
            if number == descriptor.after and descriptor.raises >= 0:
                phase.signal(events[descriptor.raises])
    return schedule


def dump_plan(nodes: list[Node]) -> Schedule:
    """The graph that the compiler had in mind: not what an author should dump."""
    schedule = Schedule()
    made = tensors(schedule)
    events = [schedule.event("%s %d.%d" % (node.kind, node.head, node.split)) for node in nodes]
    for number, node in enumerate(nodes):
        task = schedule.task("%s %d.%d" % (node.kind, node.head, node.split))
        accesses = touches(Descriptor(node.kind, node.head, node.split, (), 0, 0))
        for needs, touched in zip(node.needs, accesses):
            phase = task.phase()
            for need in needs:
                phase.wait(events[need], 1)
            for does, (tensor, region, _) in touched:
                {"read": phase.read, "write": phase.write, "add": phase.add}[does](made[tensor], region)
        if node.kind != "copy":
            phase.signal(events[number])
    return schedule


# ---- The host ----------------------------------------------------------------------------------------------------------


def expected(token: list[int], cache: list[int]) -> list[int]:
    rows = [cache[row * HEADS * DIM : (row + 1) * HEADS * DIM] for row in range(OLD)] + [token]
    total = 0
    for head in range(HEADS):
        columns = slice(head * DIM, (head + 1) * DIM)
        total += sum(compute("attend", [token[columns], [value for row in rows for value in row[columns]]]))
    return [total * (column + 1) for column in range(WIDTH)]


def run(bug: str | None, seed: int) -> tuple[Device, list[bool]]:
    """Three launches on other inputs, and whether each was right."""
    placed, periods = compiled(graph(), bug)
    heads, scratch = HEADS * DIM, [9] * WIDTH
    memory = {"cache": [(row * 3) % 5 - 1 for row in range(ROWS * heads)], "q": scratch, "sum": scratch}
    memory |= {"parts": [9] * (HEADS * SPLITS * DIM), "o": [9] * heads, "y": [9] * WIDTH}
    device, right = Device(memory, seed), []
    for launch in range(3):
        memory["token"] = [launch + 2 * element - 3 for element in range(heads)]
        queues = [[(number, task) for number, (on, task) in enumerate(placed) if on == worker] for worker in range(WORKERS)]
        device.launch(work(device, worker, tasks, periods, launch, bug) for worker, tasks in enumerate(queues))
        right.append(memory["y"] == expected(memory["token"], memory["cache"]))
    return device, right


# Bugs of the compiler, which the dump shows and the graph does not; and of the workers, which a trace shows.
COMPILER = ("reuse", "zero", "trim", "reduction", "barrier", "middle", "early", "epoch", "twice", "fence")
WORKER = ("row", "skipped")


def dumped(bug: str | None) -> Schedule:
    return dump(*compiled(graph(), bug), fence=bug != "fence")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["dump", "trace", "run"])
    parser.add_argument("--bug", choices=COMPILER + WORKER)
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", dest="file", default="/dev/stdout")
    given = parser.parse_args()
    if given.what == "dump":
        (dump_plan(graph()) if given.plan else dumped(given.bug)).save(given.file)
        return 0
    try:
        device, right = run(given.bug, given.seed)
    except Hang as hang:
        print(hang)
        return 1
    if given.what == "trace":
        device.trace.save(given.file)
        return 0
    print(", ".join("launch %d is %s" % (number + 1, "right" if one else "wrong") for number, one in enumerate(right)))
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
