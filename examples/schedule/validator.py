"""Judges schedules: the rules ED, ER and EW of spec/companions/schedule, byte by byte and without haste."""

import itertools
import math
from collections import deque

from documents import child, finding
from structure import MEMBERS, accesses_of, count_intervals, first_of_chunk, judge_structure, named, parts, phases_of

HELD = 2**20  # what this program holds of parts, and of intervals
PLACE = {"read": 0, "write": 1, "add": 2}  # in a phase: SCH-03


class TooMuch(Exception):
    """A document that this program cannot hold."""


def judge(document):
    """SCH-01: classes one after the other."""
    found, tensors = judge_structure(document)
    if found:
        return unique(found)
    schedule = Schedule(document, tensors)
    found = schedule.deadlocks()
    if not found:
        schedule.order_phases()
        found = schedule.races()
        if not found:
            found += schedule.redundant_waits()
        found += schedule.dead_events()
    return unique(found)


def unique(found):
    """One finding for what the tasks of a repetition have in common."""
    return list({(each["rule"], each["pointer"]): each for each in reversed(found)}.values())[::-1]


# ---- Tasks, phases and accesses after repetition --------------------------------------------------------------------


class Access:
    """An access, with intervals of bytes of its storage."""

    def __init__(self, kind, tensor, group, pointer, phase, intervals):
        self.kind, self.tensor, self.group, self.pointer = kind, tensor, group, pointer
        self.phase, self.intervals = phase, intervals
        self.place = (PLACE[kind], len(phase.accesses))


class Phase:
    def __init__(self, task, pointer):
        self.task, self.pointer, self.number = task, pointer, None
        self.waits, self.signals, self.accesses = [], [], []


class Task:
    def __init__(self, queue):
        self.queue, self.phases = queue, []


def bytes_of(region, tensor, k):
    """The intervals of bytes that a region of a tensor is made of, ascending and not overlapping."""
    if region is None:
        return [(tensor.start, tensor.start + tensor.bytes)]
    box, runs, shift = parts(region)
    if any(low == high for low, high in box):
        return []
    shape = tensor.shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    chunk = first_of_chunk(box, shape)
    outer = [range(low, high) for low, high in box[:chunk]]
    base = sum(k * d * stride for d, stride in zip(shift, strides))
    length = 1
    if shape:
        base += box[chunk][0] * strides[chunk]
        length = (box[chunk][1] - box[chunk][0]) * strides[chunk]
    begins = {base + sum(at * stride for at, stride in zip(place, strides)) for place in itertools.product(*outer)}
    for axis, step, count in runs:
        if step:
            begins = {begin + copy * step * strides[axis] for begin in begins for copy in range(count)}
    merged = []
    for begin in sorted(begins):
        low, high = tensor.start + begin * tensor.element, tensor.start + (begin + length) * tensor.element
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


class Schedule:
    """All tasks that a document stands for, and what its events and queues order."""

    def __init__(self, document, tensors):
        self.tasks, self.phases = [], []
        self.events = document.get("events", {})
        self.any_order = set(document.get("any_order", []))
        memory = document.get("memory", {})
        self.by_signals = memory.get("signal", "release") == "release" and memory.get("wait", "acquire") == "acquire"
        self.by_queues = memory.get("queue", "unordered") == "ordered"
        self.totals, self.signallers, self.held, self.late = {}, {}, 0, []
        for task, _, times, phases in phases_of(document):
            if not any(phase.get(member) for _, phase in phases for member in MEMBERS):
                continue  # tasks and phases that do nothing order nothing: SCH-08 goes on behind them
            for k in range(times):
                self.add_task(task, k, phases, tensors)

    def add_task(self, task, k, phases, tensors):
        repeat, queue = task.get("repeat") or {}, task.get("queue")
        if queue is not None:
            queue += k * repeat.get("queue_step", 0)
            if repeat.get("queues") is not None:
                queue %= repeat["queues"]
        made = Task(queue)
        for index, (at, phase) in enumerate(phases):
            one = Phase(made, at)
            for place, (event, count) in enumerate(phase.get("waits", [])):
                one.waits.append((named(event, task, k), count, "%s/waits/%d" % (at, place)))
                if index > 0 and queue in self.any_order:
                    self.late.append(one.waits[-1][2])
            for place, (event, amount) in enumerate(phase.get("signals", [])):
                one.signals.append((named(event, task, k), amount, "%s/signals/%d" % (at, place)))
                self.totals[one.signals[-1][0]] = self.totals.get(one.signals[-1][0], 0) + amount
            for kind, name, region, group, place in accesses_of(phase, at):
                tensor = tensors[named(name, task, k)]
                group = group if group is None else named(group, task, k)
                if self.held + count_intervals(region, tensor.shape) > HELD:
                    raise TooMuch("more accesses than this program holds")
                one.accesses.append(Access(kind, tensor, group, place, one, bytes_of(region, tensor, k)))
                self.held += len(one.accesses[-1].intervals)
            if one.waits or one.signals or one.accesses:
                one.number = len(self.phases)
                self.phases.append(one)
                made.phases.append(one)
                self.held += 1 + len(one.waits) + len(one.signals) + len(one.accesses)
        if made.phases:
            self.tasks.append(made)
        if self.held > HELD:
            raise TooMuch("more phases than this program holds")

    # ---- ED ---------------------------------------------------------------------------------------------------------

    def deadlocks(self):
        found = []
        for phase in self.phases:
            for event, count, at in phase.waits:
                total = self.totals.get(event, 0)
                if total == 0:
                    found.append(finding("ED01", at, "nobody signals `%s`" % event))
                elif count > total:
                    found.append(finding("ED02", at, "%d of `%s`, which is raised to %d" % (count, event, total)))
                period = self.events.get(event, {}).get("period")
                if period is not None and total not in (0, period):
                    found.append(finding("ED05", child("/events", event) + "/period", "the total is %d" % total))
        found += [finding("ED06", at, "the worker is held") for at in self.late]
        stuck, self.order = self.run(False)
        if stuck:
            found.append(finding("ED03", stuck, "no order of the phases satisfies this wait"))
        elif not self.late:
            stuck, self.order = self.run(True)
            if stuck:
                found.append(finding("ED04", stuck, "the queues stop here"))
        return found

    def run(self, with_queues):
        """SCH-09: one run as far as it goes. The first wait at which a task stands, and the phases in order.

        Tasks of a queue in any order wait at their begin alone (ED06), so that each goes through in one piece, as if it
        had a worker of its own.
        """
        counts, done, order, behind, standing = {}, {}, [], {}, {}
        ready, ends = deque(), {}
        for task in self.tasks:
            done[task] = 0
            if not with_queues or task.queue is None or task.queue in self.any_order:
                ready.append(task)
            elif task.queue in ends:
                behind[ends[task.queue]] = task
                ends[task.queue] = task
            else:
                ready.append(task)
                ends[task.queue] = task
        stands = {}
        while ready:
            task = ready.popleft()
            stands.pop(task, None)
            while done[task] < len(task.phases):
                phase = task.phases[done[task]]
                short = [wait for wait in phase.waits if not self.satisfied(wait, counts)]
                if short:
                    stands[task] = short[0][2]
                    standing.setdefault(short[0][0], []).append(task)
                    break
                order.append(phase)
                done[task] += 1
                for event, amount, _ in phase.signals:
                    counts[event] = counts.get(event, 0) + amount
                    ready.extend(standing.pop(event, []))
            else:
                if task in behind:
                    ready.append(behind[task])
        first = [stands[task] for task in self.tasks if task in stands]
        return (first[0] if first else None), order

    def satisfied(self, wait, counts):
        event, count, _ = wait
        total = self.totals.get(event, 0)
        return count > total or counts.get(event, 0) >= count  # ED01 and ED02 are left out

    # ---- Happens-before: SCH-08 -------------------------------------------------------------------------------------

    def order_phases(self):
        """For each phase the set of those before it, as bits of a number; and what each wait puts before it."""
        self.before = [0] * len(self.phases)
        self.otherwise = [0] * len(self.phases)  # by tasks and queues alone
        self.waited = {}
        for phase in self.phases:
            for event, amount, _ in phase.signals:
                by = self.signallers.setdefault(event, {})
                by[phase.number] = by.get(phase.number, 0) + amount
        previous, last = {}, {}
        for task in self.tasks:
            for one, other in zip(task.phases, task.phases[1:]):
                previous[other] = one
            if self.by_queues and task.queue is not None and task.queue not in self.any_order:
                if task.queue in last:
                    previous[task.phases[0]] = last[task.queue]
                last[task.queue] = task.phases[-1]
        for phase in self.order:
            if phase in previous:
                self.otherwise[phase.number] = self.with_itself(previous[phase].number)
            self.before[phase.number] = self.otherwise[phase.number]
            for event, count, _ in phase.waits:
                self.before[phase.number] |= self.seen(event, count)

    def with_itself(self, number):
        return self.before[number] | 1 << number

    def seen(self, event, count):
        """What has happened when a wait is over: all signals without each of which it cannot be."""
        if not self.by_signals:
            return 0
        if (event, count) not in self.waited:
            self.waited[event, count] = 0
            for number, amount in self.signallers[event].items():
                if self.totals[event] - amount < count:
                    self.waited[event, count] |= self.with_itself(number)
        return self.waited[event, count]

    def earlier(self, one, other):
        """Whether an access comes before another one in every run."""
        if one.phase is other.phase:
            return one.place < other.place
        return self.before[other.phase.number] >> one.phase.number & 1 == 1

    # ---- ER ---------------------------------------------------------------------------------------------------------

    def races(self):
        """ER01 to ER04 and ER07 of all storages; ER05, ER06 and ER08 where these find nothing."""
        storages, found = {}, []
        for phase in self.phases:
            for access in phase.accesses:
                storages.setdefault(access.tensor.storage, []).append(access)
        for accesses in storages.values():
            pairs = [(one, other, self.conflict(one, other)) for one, other in overlapping(accesses)]
            broken = [finding(rule, other.pointer, "races with " + one.pointer) for one, other, rule in pairs if rule]
            found += broken or self.contents(accesses)
        return found

    def conflict(self, one, other):
        if one.phase.task is other.phase.task or self.earlier(one, other) or self.earlier(other, one):
            return None
        kinds = {one.kind, other.kind}
        if kinds == {"read"}:
            return None
        if one.tensor.value != other.tensor.value:
            return "ER07"
        if kinds == {"add"}:
            return "ER04" if one.group is not None and one.group == other.group else None
        if "add" in kinds:
            return "ER03"
        return "ER02" if kinds == {"write"} else "ER01"

    def contents(self, accesses):
        """ER05, ER06 and ER08, for each piece of a storage that all accesses take whole or not at all."""
        found = []
        for piece in pieces_of(accesses):
            changes = [access for access in piece if access.kind != "read"]
            for access in piece:
                if access.kind == "write":
                    continue
                value = access.tensor.value
                before = [change for change in changes if self.earlier(change, access)]
                written = any(change.kind == "write" and change.tensor.value == value for change in before)
                if not written and access.tensor.init is False:
                    found.append(finding("ER05", access.pointer, "nobody has written all of it"))
                    continue
                changed = any(change.tensor.value == value for change in changes)
                if not written and access.tensor.init == "once" and changed:
                    found.append(finding("ER06", access.pointer, "the second launch finds what the first one left"))
                    continue
                if before:
                    last = [one for one in before if not any(self.earlier(one, other) for other in before)]
                    lost = any(change.tensor.value != value for change in last)
                else:
                    lost = access.tensor.kept and any(change.tensor.value != value for change in changes)
                if lost:
                    found.append(finding("ER08", access.pointer, "something else lies there"))
        return found

    # ---- EW ---------------------------------------------------------------------------------------------------------

    def redundant_waits(self):
        """EW01."""
        found = []
        for phase in self.phases:
            for place, (event, count, at) in enumerate(phase.waits):
                before = self.otherwise[phase.number]
                for other, (name, number, _) in enumerate(phase.waits):
                    if other != place:
                        before |= self.seen(name, number)
                sure = sum(amount for number, amount in self.signallers[event].items() if before >> number & 1)
                if sure >= count:
                    found.append(finding("EW01", at, "over without it", "warning"))
        return found

    def dead_events(self):
        """EW02."""
        waited = {event for phase in self.phases for event, _, _ in phase.waits}
        first = {}
        for phase in self.phases:
            for event, _, at in phase.signals:
                first.setdefault(event, at)
        dead = [at for event, at in first.items() if event not in waited]
        return [finding("EW02", at, "nobody waits for it", "warning") for at in dead]


def overlapping(accesses):
    """Pairs of accesses to a common byte of which at least one changes it, each once, in the order of the document."""
    pairs, open_reads, open_changes = {}, [], []
    intervals = [(low, high, index) for index, access in enumerate(accesses) for low, high in access.intervals]
    for low, high, index in sorted(intervals):
        open_reads = [each for each in open_reads if each[0] > low]
        open_changes = [each for each in open_changes if each[0] > low]
        reads = accesses[index].kind == "read"
        for _, other in open_changes if reads else open_changes + open_reads:
            pairs[min(index, other), max(index, other)] = True
        (open_reads if reads else open_changes).append((high, index))
    return [(accesses[one], accesses[other]) for one, other in sorted(pairs)]


def pieces_of(accesses):
    """For each stretch of bytes between the ends of any intervals, the accesses that have it."""
    begins, ends = {}, {}
    for access in accesses:
        for low, high in access.intervals:
            begins.setdefault(low, []).append(access)
            ends.setdefault(high, []).append(access)
    inside = {}
    for at in sorted(begins.keys() | ends.keys()):
        for access in ends.get(at, []):
            del inside[access]
        inside.update(dict.fromkeys(begins.get(at, [])))
        if inside:
            yield list(inside)
