"""The smallest dump: a task that fills half of a tensor, one that fills the other half, and one that reads all of it."""

from schedule_dump import Schedule, box

schedule = Schedule()
x = schedule.tensor("x", (2, 8), element=2)
filled = schedule.event("filled")
for row in range(2):
    task = schedule.task("fill %d" % row, queue=row, source="fill.cu:12")
    task.phase().write(x, box((row, row + 1), (0, 8))).signal(filled)
schedule.task("use", queue=1, source="use.cu:40").phase().wait(filled, 1).read(x)
schedule.save("first.json")
