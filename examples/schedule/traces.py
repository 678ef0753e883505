"""Judges traces: the rules ET of spec/companions/schedule, byte by byte and without haste.

    python3 traces.py SCHEDULE TRACE     does the schedule cover the run? Exit code 1: no
"""

import json
import sys

from documents import INTEGER, SCHEDULE, TEXT, array, finding, nullable, row
from documents import region as region_type
from structure import MOST, MOST_INTERVALS, accesses_of, count_intervals, judge_region, judge_structure, named, phases_of
from validator import TooMuch, bytes_of, unique

MOST_COUNT = 2**62
KINDS = {"read": "reads", "write": "writes", "add": "adds"}
HELD = 2**20  # tasks, intervals: what this program holds


# ---- Members: S03, S04, S05 -----------------------------------------------------------------------------------------

COUNTED = row(TEXT, INTEGER, INTEGER, TEXT, INTEGER)
ACCESSED = row(TEXT, INTEGER, INTEGER, TEXT, region_type)
ENTRIES = {
    "begin": row(TEXT, INTEGER, nullable(INTEGER)),
    "wait": COUNTED,
    "signal": COUNTED,
    **{name: ACCESSED for name in KINDS},
}


def entry(value, at, found):
    """SCH-17."""
    if type(value) is not list or not value:
        return found.append(finding("S04", at, "required an array that begins with what happened"))
    if type(value[0]) is not str:
        return found.append(finding("S04", at + "/0", "required a string"))
    if value[0] not in ENTRIES:
        return found.append(finding("S05", at + "/0", "`%s` is none of %s" % (value[0], ", ".join(ENTRIES))))
    ENTRIES[value[0]](value, at, found)


def judge_members(document):
    found = []
    SCHEDULE(document, "", found)
    if type(document) is dict and "launches" not in document:
        found.append(finding("S03", "", "the member `launches` is missing"))
    elif type(document) is dict:
        array(array(entry))(document["launches"], "/launches", found)
    return found


# ---- The schedule, task by task -------------------------------------------------------------------------------------


class Task:
    """A task after repetition: its queue, its pointer, and its phases as they are written, with their pointers."""

    def __init__(self, task, at, k, phases):
        self.task, self.at, self.k, self.phases = task, at, k, phases
        repeat, self.queue = task.get("repeat") or {}, task.get("queue")
        if self.queue is not None:
            self.queue += k * repeat.get("queue_step", 0)
            if repeat.get("queues") is not None:
                self.queue %= repeat["queues"]

    def counts(self, phase, member):
        """Event, number and pointer of each wait or signal of a phase."""
        at, phase = self.phases[phase]
        for index, (event, number) in enumerate(phase.get(member, [])):
            yield named(event, self.task, self.k), number, "%s/%s/%d" % (at, member, index)

    def accesses(self, phase, kind, tensors):
        """Tensor, bytes and pointer of each access of one kind."""
        at, phase = self.phases[phase]
        for does, name, region, _, place in accesses_of(phase, at):
            if does == kind:
                tensor = tensors[named(name, self.task, self.k)]
                yield tensor, bytes_of(region, tensor, self.k), place


def all_tasks(document):
    tasks = []
    for task, at, times, phases in phases_of(document):
        if len(tasks) + times > HELD:
            raise TooMuch("more tasks than this program holds")
        tasks += [Task(task, at, k, phases) for k in range(times)]
    return tasks


# ---- Sets of bytes, as ascending intervals ---------------------------------------------------------------------------


def union(one, other):
    merged = []
    for low, high in sorted(one + other):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def within(some, others):
    """Whether all bytes of some intervals are in others, which do not touch each other."""
    return all(any(low <= begin and end <= high for low, high in others) for begin, end in some)


def overlap(some, others):
    return any(low < end and begin < high for begin, end in some for low, high in others)


# ---- ET -------------------------------------------------------------------------------------------------------------


def judge_trace(document):
    """SCH-17: classes one after the other, ET01 before all other rules of its class."""
    found, tensors = judge_structure(document)
    if found:
        return unique(found)
    tasks = all_tasks(document)
    found = unknown_parts(document["launches"], tasks, tensors)
    if not found:
        run = Run(document, tasks, tensors)
        for number, entries in enumerate(document["launches"]):
            run.launch(number, entries, found)
    return unique(found)


def unknown_parts(launches, tasks, tensors):
    """ET01."""
    found, intervals = [], 0

    def wrong(at, message):
        found.append(finding("ET01", at, message))

    for number, entries in enumerate(launches):
        for index, (what, task, phase, *more) in enumerate(entries):
            at = "/launches/%d/%d" % (number, index)
            if not 0 <= task < len(tasks):
                wrong(at + "/1", "there is no task %d" % task)
                continue
            if what == "begin":
                continue
            if not 0 <= phase < len(tasks[task].phases):
                wrong(at + "/2", "task %d has no phase %d" % (task, phase))
            elif what in ("wait", "signal"):
                least, most = (0, MOST_COUNT) if what == "wait" else (1, MOST)
                if not least <= more[1] <= most:
                    wrong(at + "/4", "%d is not from %d to %d" % (more[1], least, most))
            elif more[0] not in tensors:
                wrong(at + "/3", "there is no tensor `%s`" % more[0])
            else:
                bad = []
                if more[1] is not None:
                    judge_region(more[1], tensors[more[0]], 0, "", bad)
                if bad:
                    wrong(at + "/4", bad[0]["message"])
                    continue
                intervals += count_intervals(more[1], tensors[more[0]].shape)
                if intervals > MOST_INTERVALS:
                    wrong(at + "/4", "more than 2^26 intervals")
                    return found
                if intervals > HELD:
                    raise TooMuch("more accesses than this program holds")
    return found


class Run:
    def __init__(self, document, tasks, tensors):
        self.tasks, self.tensors = tasks, tensors
        self.any_order = set(document.get("any_order", []))
        self.periods = {name: event.get("period") for name, event in document.get("events", {}).items()}
        self.alone = {name for name, tensor in document["tensors"].items() if tensor.get("storage") is None}
        self.raised = {}

    def launch(self, number, entries, found):
        self.raised = {name: raised for name, raised in self.raised.items() if self.periods.get(name) is not None}
        self.began, self.reached, self.queues, self.left = set(), {}, {}, set()
        self.made = {}  # by task, phase, what was done and the event or value: the largest count, the sum, the bytes
        self.changed = {}  # by phase, kind and storage
        for index, (what, task, phase, *more) in enumerate(entries):
            at = "/launches/%d/%d" % (number, index)
            if (task in self.began) == (what == "begin"):
                found.append(finding("ET02", at, "task %d begins once, and first" % task))
            self.began.add(task)
            self.in_turn(task, at, found)
            if what == "begin":
                if phase != self.tasks[task].queue:
                    found.append(finding("ET03", at + "/2", "it stands in queue %s" % self.tasks[task].queue))
                continue
            stage = (phase, 0 if what == "wait" else 2 if what == "signal" else 1)
            if stage < self.reached.get(task, stage):
                found.append(finding("ET05", at, "task %d has been further" % task))
            self.reached[task] = max(stage, self.reached.get(task, stage))
            if what == "wait":
                self.waited(task, phase, *more, at, found)
            elif what == "signal":
                self.signalled(task, phase, *more, at, found)
            else:
                self.accessed(what, task, phase, *more, at, found)
        self.missing(number, found)

    def in_turn(self, task, at, found):
        """ET04."""
        queue = self.tasks[task].queue
        if queue is None:
            return
        last = self.queues.setdefault(queue, task)
        if queue not in self.any_order:
            if task < last:
                found.append(finding("ET04", at, "task %d of the queue has begun" % last))
            self.queues[queue] = max(task, last)
        elif last != task:
            self.left.add(last)
            if task in self.left:
                found.append(finding("ET04", at, "task %d came between" % last))
            self.queues[queue] = task

    def waited(self, task, phase, event, count, at, found):
        """ET07 and ET12."""
        if event not in {name for name, _, _ in self.tasks[task].counts(phase, "waits")}:
            found.append(finding("ET07", at, "the phase does not wait for `%s`" % event))
        if count > self.raised.get(event, 0):
            found.append(finding("ET12", at + "/4", "it was raised to %d" % self.raised.get(event, 0)))
        key = (task, phase, "wait", event)
        self.made[key] = max(count, self.made.get(key, 0))

    def signalled(self, task, phase, event, amount, at, found):
        """ET11."""
        self.raised[event] = self.raised.get(event, 0) + amount
        key = (task, phase, "signal", event)
        self.made[key] = self.made.get(key, 0) + amount
        if self.made[key] > self.declared(task, phase, event):
            found.append(finding("ET11", at, "the phase does not signal so much of `%s`" % event))

    def declared(self, task, phase, event):
        return sum(amount for name, amount, _ in self.tasks[task].counts(phase, "signals") if name == event)

    def accessed(self, what, task, phase, name, region, at, found):
        """ET05 and ET08."""
        tensor = self.tensors[name]
        touched = bytes_of(region, tensor, 0)
        later = {"read": ("write", "add"), "write": ("add",), "add": ()}[what]
        if any(overlap(touched, self.changed.get((task, phase, kind, tensor.storage), [])) for kind in later):
            found.append(finding("ET05", at, "the phase has changed it already"))
        declared = []
        for other, part, _ in self.tasks[task].accesses(phase, what, self.tensors):
            if other.value == tensor.value:
                declared = union(declared, part)
        if not within(touched, declared):
            found.append(finding("ET08", at, "no %s of the phase says so" % KINDS[what]))
        for known, key in [
            (self.changed, (task, phase, what, tensor.storage)),
            (self.made, (task, phase, what, tensor.value)),
        ]:
            known[key] = union(known.get(key, []), touched)

    def missing(self, number, found):
        """ET02, ET06, ET09 and ET10, at the end of a launch."""
        for index, task in enumerate(self.tasks):
            if index not in self.began:
                found.append(finding("ET02", task.at, "task %d does not run in launch %d" % (index, number + 1)))
                continue
            for phase in range(len(task.phases)):
                for event, count, at in task.counts(phase, "waits"):
                    count += number * (self.periods.get(event) or 0)
                    if self.made.get((index, phase, "wait", event), 0) < count:
                        found.append(finding("ET06", at, "`%s` was not seen at %d" % (event, count)))
                first = set()
                for event, _, at in task.counts(phase, "signals"):
                    raised = self.made.get((index, phase, "signal", event), 0)
                    if event not in first and raised < self.declared(index, phase, event):
                        found.append(finding("ET10", at, "`%s` was raised by %d" % (event, raised)))
                    first.add(event)
                for tensor, part, at in task.accesses(phase, "write", self.tensors):
                    if tensor.init is True and tensor.value in self.alone:  # a cache counts as filled: SCH-10
                        continue
                    if not within(part, self.made.get((index, phase, "write", tensor.value), [])):
                        found.append(finding("ET09", at, "not all of it was written"))


def main():
    schedule, log = (json.load(open(name)) for name in sys.argv[1:3])
    document = {**schedule, "launches": log.get("launches")}
    found = judge_members(document) or judge_trace(document)
    for each in found:
        print("%(rule)s at %(pointer)s: %(message)s" % each)
    print("%s: %s" % (sys.argv[2], "not covered" if found else "covered"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
