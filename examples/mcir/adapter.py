"""The validator as a worker of the protocol: cargo xtask conform --impl 'python3 examples/mcir/adapter.py'."""

import base64
import json
import sys

from documents import NoText, judge_members, parse
from executor import compute
from measures import measure
from validator import judge


def respond(request):
    answer = {"type": "response", "id": request["id"]}
    method = request.get("method")
    if request.get("profile") != "mcir" or method not in ("validate", "measure", "compute"):
        return {**answer, "outcome": "unsupported", "reason": "only `validate`, `measure` and `compute` under the profile `mcir`"}
    document, regions = None, []
    try:
        if "document_base64" in request:
            data = base64.b64decode(request["document_base64"])
        else:
            data = request["document"].encode("utf-8", "surrogatepass")
        document = parse(data)
        found = judge_members(document)
        if not found:
            found, regions = judge(document)
    except NoText as none:
        found = none.args[0]
    wrong = any(each["severity"] == "error" for each in found)
    answer.update(outcome="reject" if wrong else "accept", diagnostics=found)
    if method == "measure" and not wrong:
        answer["document"] = json.dumps(measure(document, regions))
    if method == "compute" and not wrong:
        answer["document"] = json.dumps(compute(document, regions))
    return answer


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("type") == "hello":
            reply = {
                "type": "hello",
                "protocol": "1.0",
                "name": "example-mcir",
                "version": "0.1",
                "profiles": ["mcir"],
                "every_rule": True,
            }
        else:
            reply = respond(message)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
