"""The validator as a worker of the protocol: cargo xtask conform --impl 'python3 examples/mcir/adapter.py'."""

import base64
import json
import sys

from documents import NoText, judge_members, parse
from executor import compute
from graphs import GRAPH, REQUEST, is_graph, transform
from graphs import judge as judge_graph
from measures import measure
from validator import judge


METHODS = ("validate", "measure", "compute", "transform")


def judge_any(document, method):
    """What is wrong with a document, a graph or a request, and the regions of a document."""
    found = []
    if method == "transform":
        REQUEST(document, "", found)
        return found or judge_graph(document["graph"], "/graph"), []
    if method == "validate" and is_graph(document):
        GRAPH(document, "", found)
        return found or judge_graph(document), []
    found = judge_members(document)
    return (found, []) if found else judge(document)


def respond(request):
    answer = {"type": "response", "id": request["id"]}
    method = request.get("method")
    if request.get("profile") != "mcir" or method not in METHODS:
        return {**answer, "outcome": "unsupported", "reason": "the methods are %s, under the profile `mcir`" % ", ".join(METHODS)}
    document, regions = None, []
    try:
        if "document_base64" in request:
            data = base64.b64decode(request["document_base64"])
        else:
            data = request["document"].encode("utf-8", "surrogatepass")
        document = parse(data)
        found, regions = judge_any(document, method)
    except NoText as none:
        found = none.args[0]
    wrong = any(each["severity"] == "error" for each in found)
    answer.update(outcome="reject" if wrong else "accept", diagnostics=found)
    if method == "measure" and not wrong:
        answer["document"] = json.dumps(measure(document, regions))
    if method == "transform" and not wrong:
        answer["document"] = json.dumps(transform(document))
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
