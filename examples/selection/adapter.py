"""The selector as a worker of the protocol: cargo xtask conform --impl 'python3 examples/selection/adapter.py'."""

import base64
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

from documents import REQUEST, judge_index, judge_numbers, judge_sequence, kind_of, warn  # noqa: E402
from selector import NoPlan, Task, finding, review  # noqa: E402
from validator import Rejected, parse  # noqa: E402


def judge(method, data):
    """Diagnostics, and what else the answer holds."""
    document = parse(data)
    kind, shape = kind_of(document) if method == "validate" else ("request", REQUEST)
    found = []
    shape(document, "", found)
    if found:
        return found, {}
    if kind == "sequence":
        sequence, index, options, before = document, None, None, ("", "")
    elif kind == "index":
        sequence, index, options, before = None, document, None, ("", "")
    else:
        sequence, index, options = document["sequence"], document["index"], document.get("options")
        before = ("/sequence", "/index")
    found = judge_numbers(sequence, index, options, before)
    if not found and sequence is not None:
        found += judge_sequence(sequence, before[0])
    if not found and index is not None:
        found += judge_index(index, before[1])
    answer = {}
    if not found and kind in ("request", "review"):
        task = Task(document)
        try:
            if kind == "review":
                found = review(task, document["plan"])
            elif method != "validate":
                answer["document"] = json.dumps(task.plan() if method == "select" else task.explain())
        except NoPlan as stuck:
            found = [finding("KN01", "/sequence/ops/%d" % stuck.args[0])]
    if not found and index is not None:
        found = warn(index, before[1])
    return found, answer


def respond(request):
    answer = {"type": "response", "id": request["id"]}
    if request.get("profile") != "selection" or request.get("method") not in ("validate", "select", "explain"):
        return {**answer, "outcome": "unsupported", "reason": "only the methods of the profile `selection`"}
    try:
        if "document_base64" in request:
            data = base64.b64decode(request["document_base64"])
        else:
            data = request["document"].encode("utf-8", "surrogatepass")
        found, more = judge(request["method"], data)
    except Rejected as rejected:
        found, more = rejected.diagnostics, {}
    except RecursionError:
        found, more = [finding("S01", "", "nested too deeply")], {}
    if any(each["severity"] == "error" for each in found):
        return {**answer, "outcome": "reject", "diagnostics": found}
    return {**answer, "outcome": "accept", "diagnostics": found, **more}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("type") == "hello":
            reply = {
                "type": "hello",
                "protocol": "1.0",
                "name": "example-selector",
                "version": "0.1",
                "profiles": ["selection"],
            }
        else:
            reply = respond(message)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
