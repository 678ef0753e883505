"""SCH-14: which waits of a schedule can go, each tried once."""

import copy

from structure import judge_structure
from validator import Schedule, judge


def minimise(document):
    """For a document that breaks no rule: the waits that can go together."""
    gone = []
    for wait in all_waits(document):
        if not errors(without(document, [*gone, wait])):
            gone.append(wait)
    return {"dropped": [{"wait": pointer(wait), "implied": implied(document, gone, wait)} for wait in gone]}


def all_waits(document):
    return [
        (task, phase, place)
        for task, each in enumerate(document["tasks"])
        for phase, one in enumerate(each["phases"])
        for place in range(len(one.get("waits", [])))
    ]


def pointer(wait):
    return "/tasks/%d/phases/%d/waits/%d" % wait


def errors(document):
    return [each for each in judge(document) if each["severity"] == "error"]


def without(document, gone):
    left = copy.deepcopy(document)
    for task, phase, place in sorted(gone, reverse=True):
        del left["tasks"][task]["phases"][phase]["waits"][place]
    return left


def implied(document, gone, wait):
    """Whether EW01 is broken by the wait in each of its tasks, where the others have gone."""
    others = [each for each in gone if each != wait]
    moved = sum(each[:2] == wait[:2] and each < wait for each in others)
    at = pointer((wait[0], wait[1], wait[2] - moved))
    left = without(document, others)
    schedule = Schedule(left, judge_structure(left)[1])
    schedule.deadlocks()
    schedule.order_phases()
    repeat = document["tasks"][wait[0]].get("repeat")
    return sum(each["pointer"] == at for each in schedule.redundant_waits()) == (repeat["times"] if repeat else 1)
