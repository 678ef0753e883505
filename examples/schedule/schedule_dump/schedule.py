"""Builds the document (clauses SCH-01 to SCH-06)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from .regions import DumpError, Region

MOST = 2**31 - 1
KINDS = ("activation", "output", "input", "weight", "cache")


@dataclass(frozen=True)
class Storage:
    """Memory in which several tensors lie."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Tensor:
    """Elements that tasks touch. `init`: True, the host fills it for each launch; "once", for the first; False, nobody."""

    name: str
    shape: tuple[int, ...]
    element: int
    kind: str
    init: bool | str
    storage: str | None
    offset: int
    view: str | None

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.element


@dataclass(frozen=True)
class Event:
    """A counter. With a period it is never set back, and launch k waits for (k - 1) * period more."""

    name: str
    period: int | None


def positive(number: int, what: str, hint: str) -> int:
    if not 1 <= number <= MOST:
        raise DumpError("%s is %d, and has to be from 1 to %d: %s" % (what, number, MOST, hint))
    return number


@dataclass
class Phase:
    """Waits, then reads, writes, adds, then signals. All methods give the phase, so that they can be strung together."""

    schedule: Schedule
    where: str
    parts: dict[str, list] = field(default_factory=dict)

    def wait(self, event: Event, count: int) -> Phase:
        hint = "a wait for nothing is no wait; is the field of the instruction filled in?"
        return self._put("waits", self.schedule._known(event), positive(count, self._of("a wait", event), hint))

    def signal(self, event: Event, amount: int = 1) -> Phase:
        hint = "a signal of nothing is no signal; leave it out if the kernel makes none"
        return self._put("signals", self.schedule._known(event), positive(amount, self._of("a signal", event), hint))

    def read(self, tensor: Tensor, region: Region | None = None) -> Phase:
        return self._access("reads", tensor, region)

    def write(self, tensor: Tensor, region: Region | None = None) -> Phase:
        return self._access("writes", tensor, region)

    def add(self, tensor: Tensor, region: Region | None = None, group: str | None = None) -> Phase:
        """An addition that commutes with others (an atomic, a bulk reduction), but not with those of its group."""
        return self._access("adds", tensor, region, *([] if group is None else [group]))

    def _of(self, what: str, event: Event) -> str:
        return "%s of `%s` in %s" % (what, event.name, self.where)

    def _access(self, member: str, tensor: Tensor, region: Region | None, *more: str) -> Phase:
        name, value = self.schedule._known(tensor), self.schedule.tensors[tensor.view or tensor.name]
        if member != "reads" and value.kind in ("input", "weight"):
            raise DumpError(
                "%s changes `%s`, which is of kind `%s`: the host fills those, and takes them for unchanged. What a kernel changes is an "
                "`activation`, an `output`, or a `cache` that the next launch goes on with" % (self.where, name, value.kind)
            )
        if region is not None:
            region.check(name, tensor.shape)
        return self._put(member, name, None if region is None else region.json(), *more)

    def _put(self, member: str, *entry: object) -> Phase:
        self.parts.setdefault(member, []).append(list(entry))
        return self


@dataclass
class Task:
    """What a worker does in one piece: phases, one after the other."""

    schedule: Schedule
    name: str
    queue: int | None
    source: str
    phases: list[Phase] = field(default_factory=list)

    def phase(self) -> Phase:
        """The next phase. What a kernel waits for or signals in the middle of a task begins a new one."""
        self.phases.append(Phase(self.schedule, "phase %d of task `%s`" % (len(self.phases), self.name)))
        return self.phases[-1]


class Schedule:
    """A schedule. `signal`, `wait` and `queue` say which fences the runtime has (clause SCH-06)."""

    def __init__(self, signal: str = "release", wait: str = "acquire", queue: str = "unordered") -> None:
        for given, known in [(signal, "release relaxed"), (wait, "acquire relaxed"), (queue, "ordered unordered")]:
            if given not in known.split():
                raise DumpError("`%s` is none of %s: who does not know leaves it out, which is sound" % (given, known))
        self.memory = {"signal": signal, "wait": wait, "queue": queue}
        self.storages: dict[str, Storage] = {}
        self.tensors: dict[str, Tensor] = {}
        self.events: dict[str, Event] = {}
        self.tasks: list[Task] = []
        self.any_order: list[int] = []

    def storage(self, name: str, size: int) -> Storage:
        return self._new(self.storages, Storage(name, size))

    def tensor(
        self,
        name: str,
        shape: tuple[int, ...],
        element: int = 4,
        kind: str = "activation",
        init: bool | str = False,
        storage: Storage | None = None,
        offset: int = 0,
        view: Tensor | None = None,
    ) -> Tensor:
        """A tensor. With a `storage`, `offset` is where it begins there; with a `view`, where it begins in that tensor; in bytes."""
        if kind not in KINDS or init not in (True, False, "once"):
            raise DumpError("kind %r and init %r of `%s`: kinds are %s; init is True, False or 'once'" % (kind, init, name, KINDS))
        for extent in shape:
            positive(extent, "an extent of `%s`" % name, "shapes are extents, not strides")
        if view is not None and view.view is not None:
            raise DumpError("`%s` is a view of `%s`, which is one itself: make it a view of `%s`" % (name, view.name, view.view))
        own = (storage and storage.name, offset, view and view.name)
        made = Tensor(name, tuple(shape), element, kind, init, *own)
        room = view.bytes if view else storage.bytes if storage else None
        if room is not None and not 0 <= offset <= room - made.bytes:
            whole = "`%s`" % (view or storage).name
            raise DumpError("`%s` ends at byte %d of %s, which has %d: offsets are bytes" % (name, offset + made.bytes, whole, room))
        return self._new(self.tensors, made)

    def event(self, name: str, period: int | None = None) -> Event:
        """An event: set back before each launch, or, with a period, never."""
        if period is not None:
            positive(period, "the period of `%s`" % name, "who never sets a counter back waits for more in each launch, by its total")
        return self._new(self.events, Event(name, period))

    def task(self, name: str, queue: int | None = None, source: str = "") -> Task:
        """The next task of its queue; tasks of a queue stand in the order in which they are made."""
        self.tasks.append(Task(self, name, queue, source))
        return self.tasks[-1]

    def document(self) -> dict:
        """The document, as what `json` writes."""
        defaults = {"kind": "activation", "init": False, "storage": None, "offset": 0, "view": None}
        tensors = {}
        for tensor in self.tensors.values():
            members = {"shape": list(tensor.shape), "element": tensor.element}
            members |= {name: getattr(tensor, name) for name, usual in defaults.items() if getattr(tensor, name) != usual}
            tensors[tensor.name] = members
        tasks = []
        for task in self.tasks:
            members = {"name": task.name, "queue": task.queue, "source": task.source or None}
            kept = {name: value for name, value in members.items() if value is not None}
            tasks.append({**kept, "phases": [phase.parts for phase in task.phases]})
        return {
            "memory": self.memory,
            "storages": {storage.name: {"bytes": storage.bytes} for storage in self.storages.values()},
            "tensors": tensors,
            "events": {event.name: {"period": event.period} for event in self.events.values() if event.period is not None},
            "any_order": self.any_order,
            "tasks": tasks,
        }

    def text(self) -> str:
        """The document, a task a line: so that a finding leads to one."""
        members = self.document()
        lines = ",\n  ".join(json.dumps(task) for task in members.pop("tasks"))
        kept = {name: value for name, value in members.items() if value or name == "tensors"}
        parts = ["%s: %s" % (json.dumps(name), json.dumps(value)) for name, value in kept.items()]
        return '{%s,\n "tasks": [\n  %s]}\n' % (",\n ".join(parts), lines)

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.text())

    def _new(self, all_of_them: dict, made: Storage | Tensor | Event):
        if made.name in all_of_them:
            raise DumpError(
                "`%s` is there already: a name is one counter or one piece of memory; put layer and index into it" % made.name
            )
        all_of_them[made.name] = made
        return made

    def _known(self, thing: Tensor | Event) -> str:
        known = self.tensors if isinstance(thing, Tensor) else self.events if isinstance(thing, Event) else {}
        if known.get(getattr(thing, "name", None)) is not thing:
            raise DumpError("%r is not of this schedule: make it with its `tensor` or `event`" % (thing,))
        return thing.name
