"""Plays the case of this folder to a worker, without the suite, and says whether the answer is as declared.

    python3 repro.py COMMAND OF THE WORKER

Exit code: 0 as declared, 1 not, 2 if there was no answer. The judge is the runner, megakernel-conform; this is for debugging.
"""

import json
import math
import shutil
import struct
import subprocess
import sys
import tempfile
from base64 import b64encode
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Bits of the significand with the hidden one, least and greatest exponent, and bytes of an element.
FLOATS = {"F32": (24, -126, 127, 4), "F16": (11, -14, 15, 2), "BF16": (8, -126, 127, 2),
          "F8E4M3": (4, -6, 8, 1), "F8E5M2": (3, -14, 15, 1)}
INTEGERS = {"I32": "<i", "I8": "<b", "U8": "<B", "BOOL": "<B"}
# As files of tensors call them.
NAMES = {"F8_E4M3": "F8E4M3", "F8_E5M2": "F8E5M2"}


def tensors(path):
    """The tensors of a file: dtype, shape, elements; F64 as they are."""
    data = Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            dtype = NAMES.get(entry["dtype"], entry["dtype"])
            found[name] = dtype, entry["shape"], elements(dtype, data[8 + length + begin:8 + length + end])
    return found


def elements(dtype, data):
    if dtype == "F64":
        return [value for value, in struct.iter_unpack("<d", data)]
    if dtype in INTEGERS:
        return [value for value, in struct.iter_unpack(INTEGERS[dtype], data)]
    if dtype not in FLOATS:
        return list(data)
    size = FLOATS[dtype][3]
    return [decoded(dtype, int.from_bytes(data[at:at + size], "little")) for at in range(0, len(data), size)]


def decoded(dtype, bits):
    """The value of an element."""
    precision, least, greatest, size = FLOATS[dtype]
    width = precision - 1
    sign = -1.0 if bits >> (8 * size - 1) else 1.0
    exponent, fraction = bits >> width & (1 << (8 * size - 1 - width)) - 1, bits & (1 << width) - 1
    if dtype == "F8E4M3":
        if bits & 0x7F == 0x7F:
            return math.nan
    elif exponent == (1 << (8 * size - 1 - width)) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, least - width)
    return sign * math.ldexp(fraction + (1 << width), exponent - 1 + least - width)


def rounded(dtype, value):
    """The nearest value of the dtype, ties to even, as a fraction; an infinity beyond the largest."""
    precision, least, greatest, _ = FLOATS[dtype]
    if value == 0:
        return Fraction(0)
    size = abs(value)
    exponent = max(math.frexp(float(size))[1] - 1 if size < Fraction(2) ** 1000 else 1000, least)
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    while exponent > least and Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** (exponent - precision + 1)
    near = round(size / step) * step
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** greatest
    if dtype == "F8E4M3":
        largest = Fraction(448)
    if near > largest:
        return math.copysign(math.inf, value)
    return near if value > 0 else -near


def admitted(dtype, value, reference, bound):
    """Whether an element lies between the casts of reference minus bound and reference plus bound (clause NUM-10)."""
    if math.isnan(reference) or math.isinf(reference) or math.isinf(bound):
        same = math.isnan(value) if math.isnan(reference) else value == reference
        return same or math.isinf(bound)
    if bound == 0 and value == 0 and reference == 0:
        return math.copysign(1, value) == math.copysign(1, reference)
    low, high = (rounded(dtype, Fraction(reference) + sign * Fraction(bound)) for sign in (-1, 1))
    beyond = dtype == "F8E4M3" and math.isnan(value) and (math.isinf(low) or math.isinf(high))
    return beyond or (not math.isnan(value) and low <= (value if math.isinf(value) else Fraction(value)) <= high)


def wrong_tensors(expected, output, accumulator):
    """What is wrong with the tensors of a launch, in words."""
    wanted, found = tensors(expected), tensors(output)
    for name, (_, shape, values) in wanted.items():
        if name.endswith((".bound", ".bound.truncating")) and name.split(".bound")[0] in wanted:
            continue
        if name.endswith(".at") and name[:-3] in wanted:
            continue
        if name not in found:
            yield f"`{name}` is missing"
            continue
        dtype, _, got = found[name]
        bounds = wanted.get(f"{name}.bound", (None, None, [0] * len(values)))[2]
        if accumulator == "truncating" and f"{name}.bound.truncating" in wanted:
            bounds = wanted[f"{name}.bound.truncating"][2]
        if f"{name}.at" in wanted:
            places = wanted[f"{name}.at"][2]
            if places[-1] >= len(got):
                yield f"`{name}` has {len(got)} elements, and more are expected"
                continue
            got = [got[at] for at in places]
        if len(got) != len(values):
            yield f"`{name}` has {len(got)} elements, and {len(values)} are expected"
            continue
        exact = dtype not in FLOATS
        wrong = [at for at, (value, reference, bound) in enumerate(zip(got, values, bounds))
                 if (value != reference if exact else not admitted(dtype, value, reference, bound))]
        if wrong:
            at = wrong[0]
            yield (f"`{name}`: {len(wrong)} of {len(got)} elements are wrong, the first at {at} of shape {shape}: {got[at]}, "
                   f"where {values[at]} is expected, and a bound of {bounds[at]}")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    case = json.loads((HERE / "case.json").read_text())
    worker = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(message):
        try:
            worker.stdin.write(json.dumps(message).encode() + b"\n")
            worker.stdin.flush()
        except BrokenPipeError:
            pass
        line = worker.stdout.readline()
        if not line:
            print(f"no answer: the worker ended with {worker.wait()}")
            sys.exit(2)
        return json.loads(line)

    hello = ask({"type": "hello", "protocol": "1.0"})
    print(f"{hello.get('name')} {hello.get('version')}, claims {', '.join(hello.get('profiles', []))}")
    print(f"{case['id']}: {case['summary']}; cites {', '.join(case['clauses'])}")
    document = next(HERE / name for name in ("document.json", "document.bin") if (HERE / name).exists()).read_bytes()
    good = True
    for number, profile in enumerate(case["profiles"]):
        request = {"type": "request", "id": 7 + number, "method": case["method"], "profile": profile}
        with tempfile.TemporaryDirectory() as folder:
            if "execute" in case:
                launches = case["execute"]["launches"]
                request["launches"] = [{
                    "document": (HERE / "launches" / f"{n}.json").read_text(),
                    "tensors": [copied(path, folder) for path in launch.get("tensors", [])],
                    "output": str(Path(folder) / f"output-{n}.safetensors"),
                } for n, launch in enumerate(launches)]
            elif (HERE / "document.bin").exists():
                request["document_base64"] = b64encode(document).decode()
            else:
                request["document"] = document.decode()
            if "arguments" in case:
                request["arguments"] = case["arguments"]
            answer = ask(request)
            good &= judged(case, profile, answer)
            if "execute" in case and answer.get("outcome") == "accept":
                for n, launch in enumerate(launches):
                    for wrong in wrong_tensors(HERE / launch["expected"], Path(folder) / f"output-{n}.safetensors",
                                               hello.get("accumulator")):
                        good = False
                        print(f"  launch {n}: {wrong}")
    print("as declared" if good else "not as declared")
    sys.exit(0 if good else 1)


def copied(path, folder):
    """A copy of a file of inputs, whose name tells nothing, as in a run."""
    names = {source: f"input-{n}.safetensors" for n, source in enumerate(sorted(map(str, HERE.glob("tensors/**/*"))))}
    # What a formula gave lies here as a file of tensors.
    path = str(HERE / path.replace(".formula.json", ".formula.safetensors"))
    return str(shutil.copy(path, Path(folder) / names[path]))


def judged(case, profile, answer):
    """Prints an answer; says whether it is as declared."""
    expect = case["expect"]
    found = answer.get("diagnostics") or []
    errors = {one["rule"] for one in found if one["severity"] == "error"}
    warnings = {one["rule"] for one in found if one["severity"] == "warning"}
    print(f"{profile}: {answer.get('outcome', answer)} {' '.join(sorted(errors | warnings))}".rstrip())
    for one in found:
        print(f"  {one['rule']} {one.get('pointer', '')}: {one.get('message', '')}")
    if "reason" in answer:
        print(f"  {answer['reason']}")
    rules, outcome = set(expect.get("rules", [])), answer.get("outcome")
    rejected = outcome == "reject" and bool(errors) and (errors <= rules or not rules)
    good = {"accept": outcome == "accept", "reject": rejected, "either": outcome == "accept" or rejected}[expect["verdict"]]
    if "warnings" in expect:
        good &= warnings == set(expect["warnings"])
    print(f"  declared: {expect['verdict']} {' '.join(sorted(rules))}".rstrip())
    if "document" in expect and outcome == "accept":
        same = json.loads(answer.get("document") or "null") == expect["document"]
        print("  the document is the declared one" if same else "  the document is not literally the declared one: expect.document has that")
        good &= same or case["method"] == "roundtrip"
    beyond = sorted(set(expect) - {"verdict", "rules", "every_rule", "at", "warnings", "document"})
    if beyond:
        print(f"  left out, since only the runner judges it: {', '.join(beyond)}")
    return good


if __name__ == "__main__":
    main()
