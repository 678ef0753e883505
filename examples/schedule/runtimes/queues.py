"""A toy megakernel with a queue of instruction words for each SM, and what dumps it.

    python3 queues.py dump  [--bug NAME] [--plan] -o FILE     the schedule, from the instruction words, or, to compare, from the plan
    python3 queues.py trace [--bug NAME] [--seed N] -o FILE   the log of a run of two launches
    python3 queues.py run   [--bug NAME] [--seed N]           what it computes, and whether that is right

Two layers of a network: `r += down(relu(up(r)))`, with `r` embedded first and copied out at the end. The hidden vector of a layer is made in 8 blocks,
which count in 4 quarters; the down projection is split along it, and adds its parts to `r`. Both hidden vectors lie in the same memory.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from schedule_dump import Phase, Region, Schedule, box  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))

from device import Device, Hang, Step  # noqa: E402

SMS, LAYERS, WIDTH, HIDDEN, BLOCKS, QUARTERS = 3, 2, 8, 16, 8, 4
EMBED, UP, DOWN, OUT = 1, 2, 3, 4
NAMES = {EMBED: "embed", UP: "up", DOWN: "down", OUT: "out"}

# ---- What the compiler makes: operations and what they need, then words ------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """What is to be done, and whose results it needs: kind and layer."""

    kind: int
    layer: int
    index: int
    part: int
    needs: tuple[int, int] | None


def plan() -> list[Operation]:
    operations = [Operation(EMBED, 0, index, 0, None) for index in range(4)]
    for layer in range(LAYERS):
        before = (DOWN, layer - 1) if layer else (EMBED, 0)
        operations += [Operation(UP, layer, block, 0, before) for block in range(BLOCKS)]
        operations += [Operation(DOWN, layer, half, part, (UP, layer)) for part in range(QUARTERS) for half in range(2)]
    return operations + [Operation(OUT, LAYERS - 1, 0, 0, (DOWN, LAYERS - 1))]


def counter_of(kind: int, layer: int, quarter: int = 0) -> int:
    """The counter that an operation raises."""
    if kind in (EMBED, OUT):
        return 0 if kind == EMBED else -1  # nobody waits for the last one
    return 1 + layer * (QUARTERS + 1) + (quarter if kind == UP else QUARTERS)


def encode(operations: list[Operation], bug: str | None = None) -> list[list[list[int]]]:
    """Queues of words: kind, layer, index, part, first counter to wait for, how many counters, count of each, counter to raise
    or -1."""
    queues: list[list[list[int]]] = [[] for _ in range(SMS)]
    for number, each in enumerate(operations):
        first, counters, count = 0, 0, 0
        if each.needs == (EMBED, 0):
            first, counters, count = counter_of(EMBED, 0), 1, 4
        elif each.needs and each.needs[0] == DOWN:
            first, counters, count = counter_of(DOWN, each.needs[1]), 1, 2 * QUARTERS
        elif each.needs:
            first, counters, count = counter_of(UP, each.layer), QUARTERS, BLOCKS // QUARTERS
        raised = counter_of(each.kind, each.layer, each.index * QUARTERS // BLOCKS)
        if bug == "quarter" and each.kind == DOWN:
            first, counters = first + each.part, 1  # it reads this quarter of the hidden vector alone
        if bug == "count" and each.kind == UP and each.layer:
            count -= 1
        if bug == "layer" and each.kind == UP:
            first, counters, count = counter_of(EMBED, 0), 1, 4  # as in the first layer
        if bug == "raised" and each.kind == UP and each.index == 3:
            raised += 1
        if bug == "blocks" and each.kind == DOWN:
            count *= 2  # of 8 blocks in 2 halves
        word = [each.kind, each.layer, each.index, each.part, first, counters, count, raised]
        if bug == "lost" and each.kind == EMBED and each.index == 3:
            continue
        queues[number % SMS].append(word)
    if bug == "backwards":
        queues[1].reverse()
    if bug == "twice":
        queues[2].insert(1, queues[2][0])
    return queues


# ---- What the kernel does with a word ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """What an instruction touches: tensor, region, and the elements of it. The kernel goes by this, and so does the dump."""

    reads: tuple[tuple[str, Region, list[int]], ...]
    change: str  # `write` or `add`
    target: tuple[str, Region, list[int]]


def vector(name: str, low: int, high: int) -> tuple[str, Region, list[int]]:
    return name, box((low, high)), list(range(low, high))


def matrix(name: str, rows: tuple[int, int], columns: tuple[int, int], width: int) -> tuple[str, Region, list[int]]:
    return name, box(rows, columns), [row * width + column for row in range(*rows) for column in range(*columns)]


def places(word: list[int]) -> Places:
    kind, layer, index, part = word[:4]
    if kind == EMBED:
        low, high = index * 2, index * 2 + 2
        return Places((vector("ids", low, high),), "write", vector("r", low, high))
    if kind == UP:
        low, high = index * HIDDEN // BLOCKS, (index + 1) * HIDDEN // BLOCKS
        weights = matrix("up%d" % layer, (low, high), (0, WIDTH), WIDTH)
        return Places((vector("r", 0, WIDTH), weights), "write", vector("h%d" % layer, low, high))
    if kind == DOWN:
        rows, columns = (index * WIDTH // 2, (index + 1) * WIDTH // 2), (part * 4, part * 4 + 4)
        weights = matrix("down%d" % layer, rows, columns, HIDDEN)
        return Places((vector("h%d" % layer, *columns), weights), "add", vector("r", *rows))
    return Places((vector("r", 0, WIDTH),), "write", vector("y", 0, WIDTH))


def waits(word: list[int]) -> list[tuple[str, int]]:
    """The counters that the kernel polls, each with the count at which it goes on."""
    return [("bar[%d]" % counter, word[6]) for counter in range(word[4], word[4] + word[5])]


def compute(kind: int, read: list[list[int]]) -> list[int]:
    if kind in (EMBED, OUT):
        return read[0]
    vector, weights = read
    width = len(vector)
    rows = [weights[start : start + width] for start in range(0, len(weights), width)]
    sums = [sum(a * b for a, b in zip(row, vector)) for row in rows]
    return [max(value, 0) for value in sums] if kind == UP else sums


def worker(device: Device, sm: int, queue: list[list[int]], numbers: list[int], bug: str | None) -> Step:
    for word, number in zip(queue, numbers):
        at = (number, 0)
        device.trace.begin(number, sm)
        for counter, count in waits(word):
            yield from device.wait(at, counter, count)
        touched = places(word)
        read = []
        for place in touched.reads:
            read.append((yield from device.read(at, *place)))
        if bug == "early" and word[0] == UP:
            yield from device.signal(at, "bar[%d]" % word[7], 1)
        target = touched.target
        if bug == "wide" and word[0] == EMBED and word[2] < 3:  # a vector of three elements where there are two
            target, read[0] = vector("r", word[2] * 2, word[2] * 2 + 3), read[0] + [0]
        change = device.write if touched.change == "write" else device.add
        yield from change(at, *target, compute(word[0], read))
        if word[7] >= 0 and not (bug == "early" and word[0] == UP):
            yield from device.signal(at, "bar[%d]" % word[7], 1)


# ---- The dump --------------------------------------------------------------------------------------------------------


def tensors(schedule: Schedule) -> dict:
    arena = schedule.storage("arena", HIDDEN * 4)
    made = [
        schedule.tensor("ids", (WIDTH,), kind="input"),
        schedule.tensor("r", (WIDTH,)),
        schedule.tensor("y", (WIDTH,), kind="output"),
    ]
    for layer in range(LAYERS):
        made.append(schedule.tensor("h%d" % layer, (HIDDEN,), storage=arena))
        made.append(schedule.tensor("up%d" % layer, (HIDDEN, WIDTH), kind="weight"))
        made.append(schedule.tensor("down%d" % layer, (WIDTH, HIDDEN), kind="weight"))
    return {tensor.name: tensor for tensor in made}


def touch(phase: Phase, made: dict, word: list[int]) -> Phase:
    touched = places(word)
    for name, region, _ in touched.reads:
        phase.read(made[name], region)
    name, region, _ = touched.target
    return phase.write(made[name], region) if touched.change == "write" else phase.add(made[name], region)


def title(word: list[int]) -> str:
    return "%s %s" % (NAMES[word[0]], "/".join(str(field) for field in word[1:4]))


def dump(queues: list[list[list[int]]]) -> Schedule:
    """The schedule that the kernel executes: it is read from the words, with the functions of the kernel."""
    schedule = Schedule()
    made, events = tensors(schedule), {}
    for sm, queue in enumerate(queues):
        for index, word in enumerate(queue):
            phase = schedule.task(title(word), queue=sm, source="queue %d, word %d" % (sm, index)).phase()
            for counter, count in waits(word):
                events[counter] = events.get(counter) or schedule.event(counter)
                phase.wait(events[counter], count)
            touch(phase, made, word)
            if word[7] >= 0:
                counter = "bar[%d]" % word[7]
                events[counter] = events.get(counter) or schedule.event(counter)
                phase.signal(events[counter])
    return schedule


def dump_plan(operations: list[Operation]) -> Schedule:
    """The schedule that the compiler had in mind: not what an author should dump."""
    schedule = Schedule()
    made, events, many = tensors(schedule), {}, {}
    for each in operations:
        key = (each.kind, each.layer)
        events[key] = events.get(key) or schedule.event("%s %d" % (NAMES[each.kind], each.layer))
        many[key] = many.get(key, 0) + 1
    for number, each in enumerate(operations):
        word = [each.kind, each.layer, each.index, each.part]
        phase = schedule.task(title(word), queue=number % SMS).phase()
        if each.needs:
            phase.wait(events[each.needs], many[each.needs])
        touch(phase, made, word)
        if each.kind != OUT:
            phase.signal(events[each.kind, each.layer])
    return schedule


# ---- The host ----------------------------------------------------------------------------------------------------------


def weights(rows: int, columns: int, salt: int) -> list[int]:
    return [(row * 5 + column * 3 + salt) % 7 - 3 for row in range(rows) for column in range(columns)]


def expected(memory: dict[str, list[int]]) -> list[int]:
    r = memory["ids"]
    for layer in range(LAYERS):
        h = compute(UP, [r, memory["up%d" % layer]])
        r = [a + b for a, b in zip(r, compute(DOWN, [h, memory["down%d" % layer]]))]
    return r


def run(bug: str | None, seed: int) -> tuple[Device, list[bool]]:
    """Two launches on other inputs, and whether each was right."""
    queues = encode(plan(), bug)
    starts = [sum(len(queue) for queue in queues[:sm]) for sm in range(SMS)]
    arena = [9] * HIDDEN  # what somebody left there
    memory = {"r": [9] * WIDTH, "y": [9] * WIDTH} | {"h%d" % layer: arena for layer in range(LAYERS)}
    for layer in range(LAYERS):
        memory["up%d" % layer] = weights(HIDDEN, WIDTH, layer)
        memory["down%d" % layer] = weights(WIDTH, HIDDEN, layer + 3)
    device, right = Device(memory, seed), []
    for launch in range(2):
        memory["ids"] = [launch + element for element in range(WIDTH)]
        if bug != "no-reset":
            device.counters.clear()
        device.launch(
            worker(device, sm, queue, list(range(start, start + len(queue))), bug)
            for sm, (queue, start) in enumerate(zip(queues, starts))
        )
        right.append(memory["y"] == expected(memory))
    return device, right


# Bugs of the encoder, which the dump shows and the plan does not; and of the kernel and the host, which a trace shows.
ENCODER = ("quarter", "count", "layer", "raised", "blocks", "lost", "backwards", "twice")
KERNEL = ("early", "wide", "no-reset")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["dump", "trace", "run"])
    parser.add_argument("--bug", choices=ENCODER + KERNEL)
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", dest="file", default="/dev/stdout")
    given = parser.parse_args()
    if given.what == "dump":
        (dump_plan(plan()) if given.plan else dump(encode(plan(), given.bug))).save(given.file)
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
