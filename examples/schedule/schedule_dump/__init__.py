"""Writes schedules and traces of megakernel runtimes: spec/companions/schedule. No dependencies.

    from schedule_dump import Schedule, box

    schedule = Schedule(queue="ordered")
    x = schedule.tensor("x", (4, 64), element=2)
    done = schedule.event("done")
    schedule.task("load", queue=0).phase().write(x, box((0, 2), (0, 64))).signal(done)
    schedule.task("use", queue=1).phase().wait(done, 1).read(x, box((0, 2), (0, 64)))
    schedule.save("schedule.json")

What it refuses, it refuses with a `DumpError` that says what to do. It does not judge the schedule: `megakernel-reference validate-schedule` does.
"""

from .regions import Region, box, strided
from .schedule import DumpError, Event, Phase, Schedule, Storage, Task, Tensor
from .trace import Trace

__all__ = ["DumpError", "Event", "Phase", "Region", "Schedule", "Storage", "Task", "Tensor", "Trace", "box", "strided"]
