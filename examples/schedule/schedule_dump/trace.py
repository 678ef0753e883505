"""Logs of a run (clause SCH-17)."""

from __future__ import annotations

import json
from pathlib import Path

from .regions import DumpError, Region


class Trace:
    """What happened, in an order in which signals stand before the waits that have seen them (clause SCH-18)."""

    def __init__(self) -> None:
        self.launches: list[list[list]] = []

    def launch(self) -> None:
        """The next launch begins."""
        self.launches.append([])

    def begin(self, task: int, queue: int | None) -> None:
        """A worker has taken a task."""
        self._put("begin", task, queue)

    def wait(self, task: int, phase: int, event: str, count: int) -> None:
        """After a wait: the count that it has seen."""
        self._put("wait", task, phase, event, count)

    def signal(self, task: int, phase: int, event: str, amount: int) -> None:
        """Before a signal."""
        self._put("signal", task, phase, event, amount)

    def read(self, task: int, phase: int, tensor: str, region: Region | None) -> None:
        self._put("read", task, phase, tensor, None if region is None else region.json())

    def write(self, task: int, phase: int, tensor: str, region: Region | None) -> None:
        self._put("write", task, phase, tensor, None if region is None else region.json())

    def add(self, task: int, phase: int, tensor: str, region: Region | None) -> None:
        self._put("add", task, phase, tensor, None if region is None else region.json())

    def text(self) -> str:
        lines = [",\n  ".join(json.dumps(entry) for entry in launch) for launch in self.launches]
        return '{"launches": [%s]}\n' % ",".join("[\n  %s]" % launch for launch in lines)

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.text())

    def _put(self, *entry: object) -> None:
        if not self.launches:
            raise DumpError("nothing is recorded outside of a launch: call `launch` when it begins")
        self.launches[-1].append(list(entry))
