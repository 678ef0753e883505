"""A device for toy runtimes: memory, counters, and workers of which any may make the next step, as a seed decides.

A worker is a generator that yields before each step; while it waits it yields the condition. What it does to memory and counters goes through
`Device`, which computes, and keeps a log for whoever wants one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable

from schedule_dump import Region, Trace

Step = Generator["Callable[[], bool] | None", None, None]


class Hang(Exception):
    """No worker can make a step."""


class Device:
    def __init__(self, memory: dict[str, list[int]], seed: int = 0) -> None:
        self.memory, self.counters = memory, {}
        self.random, self.trace = random.Random(seed), Trace()

    def launch(self, workers: Iterable[Step]) -> None:
        """Runs all workers to their ends."""
        self.trace.launch()
        left = {number: (worker, None) for number, worker in enumerate(workers)}
        while left:
            ready = [number for number, (_, condition) in left.items() if condition is None or condition()]
            if not ready:
                raise Hang("%d workers wait for ever" % len(left))
            number = self.random.choice(ready)
            worker = left[number][0]
            try:
                left[number] = (worker, next(worker))
            except StopIteration:
                del left[number]

    # What a phase does. `at` is the task and the phase.

    def wait(self, at: tuple[int, int], counter: str, count: int) -> Step:
        yield lambda: self.counters.get(counter, 0) >= count
        self.trace.wait(*at, counter, self.counters.get(counter, 0))

    def signal(self, at: tuple[int, int], counter: str, amount: int) -> Step:
        yield None
        self.trace.signal(*at, counter, amount)
        self.counters[counter] = self.counters.get(counter, 0) + amount

    def read(self, at: tuple[int, int], tensor: str, region: Region, elements: list[int]) -> Generator:
        yield None
        self.trace.read(*at, tensor, region)
        return [self.memory[tensor][element] for element in elements]

    def write(self, at: tuple[int, int], tensor: str, region: Region, elements: list[int], values: list[int]) -> Step:
        yield None
        self.trace.write(*at, tensor, region)
        for element, value in zip(elements, values):
            self.memory[tensor][element] = value

    def add(self, at: tuple[int, int], tensor: str, region: Region, elements: list[int], values: list[int]) -> Step:
        yield None
        self.trace.add(*at, tensor, region)
        for element, value in zip(elements, values):
            self.memory[tensor][element] += value
