"""Compares every value that the corpus expects of an implementation with model.py, and checks that bounds are plausible.

    python checks/opcodes.py [part of a case id] ...
    python checks/opcodes.py --short     one in seven of the cases

Values. Expected values are binary64 evaluations of the clauses, and so may differ from the model's, which has at least
that precision, by the rounding errors of binary64. TOLERANCE covers them: it is relative to the magnitude of the terms
from which a value is made (Result.scale), not to the value, since a sum may cancel; 1e-12 is 2^-53 times 9,000. A sum that is longer
(Result.terms) may be off by 2^-53 for each of its terms. Where no arithmetic is done, values have to be equal. Integers have
to be equal, and so do NaN and infinities.

Bounds. A bound is not negative, and is no larger than SLACK times what a textbook analysis yields (Result.steps *
scale * 2^-24, and a floor where numbers are too small for binary32). It is 0 for movement and where NUM-09 calls a sum exact; and only where it can be: for a value that
binary32 holds, or that a single operation yields. An infinite bound ("not specified") needs a reason: an operand that is not finite, a value that the
clause leaves open, or magnitudes beyond binary32. These checks are for programs of one opcode; in whole programs errors
travel from task to task, and bounds have to be numbers that are not negative.

In whole programs, what a task stores is rounded. If the two evaluations of a value lie on two sides of a tie, they store
different numbers, and all that follows differs. The model counts the values that are so close to a tie that this may
have happened; only in a case that has one, values are compared within the bounds.
"""

import collections
import sys

import numpy as np

import corpus
import formats
import model
from formats import FORMATS, REAL, near_tie, rounded

TOLERANCE = 1e-12
SLACK = 8
MOVEMENT = ("COPY", "EMBED", "KV_APPEND", "SAMPLE_ARGMAX")
WHOLE = "whole programs"
TINIEST = 2.0**-1074  # the bound of a zero whose sign is free
LARGEST = 2.0**127


class Wrong(Exception):
    """A value or a bound that is not as it should be."""


def same_class(a, b):
    return (np.isnan(a) & np.isnan(b)) | ((a == b) & np.isinf(a)) | (np.isfinite(a) & np.isfinite(b))


def need(holds, case, launch, name, what, expected, found):
    """Raises Wrong with the first element where `holds` is false."""
    holds = np.asarray(holds)
    if holds.all():
        return
    at = tuple(int(i) for i in np.argwhere(~holds)[0])
    pick = lambda a: np.broadcast_to(a, holds.shape)[at]
    raise Wrong("%s, launch %d, %s%s: %s: the corpus has %r, the model %r (%d of %d elements)" % (
        case.id, launch, name, list(at), what, pick(expected), pick(found), (~holds).sum(), holds.size))


def kind(tasks):
    """The opcode of all tasks, if there is one and none reads what another one wrote."""
    opcodes, written = {task["op"] for task in tasks}, {n for task in tasks for n in task["outputs"]}
    chained = len(tasks) > 1 and any(n in written for task in tasks for n in task["inputs"])
    return opcodes.pop() if len(opcodes) == 1 and not chained else WHOLE if tasks else "NOP"


def possible_ties(dtype, result):
    """How many values may round to another number in an evaluation in binary64."""
    with np.errstate(all="ignore"):
        slack = np.where(np.isfinite(result.scale), np.maximum(TOLERANCE, result.terms * 2.0**-53) * result.scale, 0)
        return int((near_tie(dtype, result.values, slack) & ~result.exact & (slack > 0)).sum())


class Checker:
    def __init__(self):
        self.cases, self.elements, self.open = collections.Counter(), collections.Counter(), collections.Counter()
        self.worst = collections.defaultdict(float)
        self.dtypes = collections.defaultdict(set)
        self.ties = 0

    def case(self, case):
        session, ties, label = model.Session(), 0, None
        for number, (program, bound, expected) in enumerate(case):
            tasks = [task for task in program["tasks"] if task["op"] != "NOP"]
            label = kind(tasks) if len(case.launches) == 1 else WHOLE
            whole = label == WHOLE
            for _, target, result in session.launch(program, bound):
                if whole and target.dtype in FORMATS:
                    ties += possible_ties(target.dtype, result)
            names = [name for name in expected if not name.endswith((".bound", ".bound.truncating", ".at"))]
            if not names:
                raise Wrong("%s, launch %d: nothing is expected" % (case.id, number))
            for name in names:
                buffers = [(b, content) for b, content in zip(program["buffers"], session.memory)
                           if content and b["name"] == name and b["kind"] in ("IO_OUTPUT", "KV_CACHE")]
                if len(buffers) != 1:
                    raise Wrong("%s, launch %d: %d outputs have the name `%s`" % (case.id, number, len(buffers), name))
                self.buffer(case, number, label, *buffers[0], expected, ties)
            self.dtypes[label].update(buffer["dtype"] for buffer in program["buffers"])
        self.cases[label] += 1
        self.ties += bool(ties)

    def buffer(self, case, number, label, buffer, final, expected, ties):
        name, dtype = buffer["name"], buffer["dtype"]
        reference = expected[name]
        if name + ".at" in expected:
            places = expected[name + ".at"]
            need(np.diff(places) > 0, case, number, name, "order of the sample", places[1:], places[:-1])
            final = final.at(places)
        at = (case, number, name)
        self.elements[label] += reference.size
        if dtype not in FORMATS:
            if dtype == "I4":
                need(reference == model.packed(final.values), *at, "bytes", reference, model.packed(final.values))
            else:
                need((reference == final.values) | final.free, *at, "value", reference, final.values)
            return
        need(reference.dtype == np.float64, *at, "dtype of the expected values", reference.dtype, "F64")
        bounds = expected[name + ".bound"]
        for suffix in (".bound", ".bound.truncating"):
            if name + suffix in expected:
                given = expected[name + suffix]
                need(given >= bounds, *at, suffix, given, bounds)
                need(given >= 0, *at, suffix, given, 0)
        with np.errstate(all="ignore"):
            self.values(at, label, dtype, reference, bounds, final, ties)
            if label != WHOLE:
                self.bounds(at, label, reference, bounds, final)
                if name + ".bound.truncating" in expected:
                    # u_acc = 4 u
                    self.bounds(at, label, reference, expected[name + ".bound.truncating"] / 4, final)

    def values(self, at, label, dtype, reference, bounds, final, ties):
        if dtype == "F32":
            # The result of a single operation may be given rounded or not: what it is cast to is the same.
            reference = np.where(final.scale == 0, rounded(dtype, reference), reference)
        judged = ~np.isinf(bounds)
        self.open[label] += int((~judged).sum())
        need(same_class(reference, final.values) | ~judged | final.free, *at, "kind of number", reference, final.values)
        judged &= np.isfinite(reference) & ~final.free
        allowed = np.maximum(TOLERANCE, final.terms * 2.0**-53) * final.scale + np.where(final.scale > 0, 1e-290, 0)
        difference = np.abs(reference - final.values)
        share = np.where(judged & (difference > 0), difference / allowed, 0)
        if ties:
            allowed = np.maximum(allowed, bounds)
        else:
            self.worst[label] = max(self.worst[label], float(share.max(initial=0)))
        need(~judged | (difference <= allowed), *at, "value", reference, final.values)

    def bounds(self, at, label, reference, bounds, final):
        if label in MOVEMENT:
            need((bounds == 0) | final.free, *at, "bound of what is only moved", bounds, 0)
            return
        small = np.where(reference == 0, TINIEST, 0)
        need((bounds <= small) | ~final.exact, *at, "bound of a sum that NUM-09 calls exact", bounds, small)
        held = (rounded("F32", reference) == reference) | ~np.isfinite(reference) | (final.scale == 0)
        need((bounds > 0) | held, *at, "bound 0 of a value beyond binary32", bounds, reference)
        finite = np.isfinite(bounds)
        largest = np.maximum(final.peak, final.scale * (1 + final.steps * model.U))
        reason = final.free | ~np.isfinite(final.scale) | ~np.isfinite(reference) | ~(largest < LARGEST)
        need(finite | reason, *at, "infinite bound without a reason", bounds, final.scale)
        textbook = SLACK * (final.steps * (model.U * final.scale + model.FLUSHED) + final.floor)
        tight = ~finite | ~np.isfinite(textbook) | (bounds <= textbook + small)
        need(tight, *at, "bound, and %d times the textbook's" % SLACK, bounds, textbook)

    def table(self):
        print("%-18s %6s %10s %9s  %s" % ("opcode", "cases", "elements", "open", "largest difference / tolerance; dtypes"))
        for label in sorted(self.cases):
            dtypes = " ".join(sorted(self.dtypes[label]))
            print("%-18s %6d %10d %9d  %.2g; %s" % (label, self.cases[label], self.elements[label], self.open[label],
                                                   self.worst[label], dtypes))
        print("%d cases have a value close to a tie, and are compared within their bounds" % self.ties)


def main():
    formats.check()
    checker, failed = Checker(), []
    parts = [argument for argument in sys.argv[1:] if argument != "--short"]
    for number, case in enumerate(corpus.cases()):
        if parts and not any(part in case.id for part in parts):
            continue
        if "--short" in sys.argv and number % 7:
            continue
        try:
            checker.case(case)
        except Wrong as wrong:
            failed.append(str(wrong))
            print("WRONG", wrong)
    checker.table()
    if not checker.elements.total():
        sys.exit("nothing was compared: there is no `execute` case to read")
    missing = sorted(set(model.OPCODES) - set(checker.cases))
    if missing and not parts:
        sys.exit("no case of %s was compared" % ", ".join(missing))
    if failed:
        sys.exit("%d cases differ" % len(failed))
    print("%d cases, %d elements agree" % (checker.cases.total(), checker.elements.total()))


if __name__ == "__main__":
    main()
