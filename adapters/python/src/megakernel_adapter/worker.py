"""The handshake and the loop (CON-02, CON-03)."""

from __future__ import annotations

import base64
import json
import os
import sys
import traceback
from dataclasses import dataclass
from typing import Any, BinaryIO, Callable, Mapping, Optional, Sequence

from .answers import Answer, unsupported
from .tensors import read_json

PROTOCOL = "1.0"
LONGEST = 64 * 2**20  # bytes of a line, which the runner reads at most (CON-04)


class BadMessage(Exception):
    """A line that is no message of the protocol, in words; with the id if it could be read."""

    def __init__(self, why: str, id: Optional[int] = None) -> None:
        super().__init__(why)
        self.id = id


@dataclass(frozen=True)
class Launch:
    """One launch of a session (CON-11). The paths are absolute."""

    document: bytes
    tensors: list[str]
    output: str
    trace: Optional[str]


@dataclass(frozen=True)
class Request:
    """What is asked. `document` has the bytes, whichever way they came; it is empty for `execute`, which has `launches`."""

    id: int
    method: str
    profile: str
    document: bytes
    launches: list[Launch]
    arguments: Any
    members: Mapping[str, Any]  # all members, as they came


Handler = Callable[[Request], Answer]


class Worker:
    """An implementation, as the handshake describes it, and its handlers: one for each method.

    The keywords are the members of the handshake (CON-02): `rules`, `every_rule`, `opcodes`, `dtypes`, `targets`, `trace`,
    `accumulator`, `device`.
    """

    def __init__(self, name: str, version: str, *, profiles: Sequence[str], **claims: Any) -> None:
        self.hello: dict[str, Any] = {
            "type": "hello", "protocol": PROTOCOL, "name": name, "version": version, "profiles": list(profiles),
        }
        known = {"rules", "every_rule", "opcodes", "dtypes", "targets", "trace", "accumulator", "device"}
        for claim, value in claims.items():
            if claim not in known:
                raise TypeError("the handshake has no member `%s`; it has %s" % (claim, ", ".join(sorted(known))))
            if value is not None:
                self.hello[claim] = value
        self.handlers: dict[str, Handler] = {}

    def method(self, *names: str) -> Callable[[Handler], Handler]:
        """Marks the function that answers a method, or several: it takes the request, and its `members` have what is not named."""

        def mark(handler: Handler) -> Handler:
            self.handlers.update(dict.fromkeys(names, handler))
            return handler

        return mark

    def run(self) -> None:
        """Answers until the standard input is closed, and ends the process with 0 by returning.

        What handlers and the libraries below them print to standard output goes to standard error meanwhile.
        """
        sys.stdout.flush()
        with os.fdopen(os.dup(1), "wb") as output:
            os.dup2(2, 1)
            try:
                self.serve(sys.stdin.buffer, output)
            finally:
                sys.stdout.flush()
                os.dup2(output.fileno(), 1)

    def serve(self, source: BinaryIO, output: BinaryIO) -> None:
        """The same on two streams of bytes."""
        for line in source:
            output.write(self.reply(line))
            output.flush()  # the runner waits for it

    def reply(self, line: bytes) -> bytes:
        """The line that answers a line."""
        try:
            text = self.message(line)
        except BadMessage as bad:
            print("megakernel_adapter: %s" % bad, file=sys.stderr, flush=True)
            found: dict[str, Any] = {"type": "error", "message": str(bad)}
            if bad.id is not None:
                found["id"] = bad.id
            text = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        return text + b"\n"

    def message(self, line: bytes) -> bytes:
        """The message that answers a line; raises `BadMessage` where that is an error."""
        try:
            message = read_json(line)
        except (ValueError, RecursionError) as error:
            raise BadMessage("the line is no JSON: %s" % error) from None
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "hello":
            version = message.get("protocol")
            if not isinstance(version, str) or version.split(".")[0] != PROTOCOL.split(".")[0]:
                raise BadMessage("the protocol is %s here, and not %s" % (PROTOCOL, version))
            return json.dumps(self.hello).encode("ascii")
        if kind != "request":
            raise BadMessage("the line is neither a `hello` nor a `request`")
        request = read_request(message)
        try:
            answer = self.answer(request)
            broken = answer.broken(request.method) if isinstance(answer, Answer) else "the handler returned no answer"
            if broken:
                raise BadMessage(broken, request.id)
            response = {"type": "response", "id": request.id, **answer.members()}
            # A lone half of a pair, which is no character, is an error here and not a line that the runner cannot read.
            text = json.dumps(response, ensure_ascii=False, allow_nan=False).encode("utf-8")
            if len(text) >= LONGEST:
                raise BadMessage("the answer has %d bytes, and a line at most %d" % (len(text), LONGEST), request.id)
            return text
        except BadMessage:
            raise
        except Exception as error:
            # Said, and never taken for an answer: the case is failed, and the next one is answered.
            traceback.print_exc()
            raise BadMessage("%s: %s" % (type(error).__name__, error), request.id) from error

    def answer(self, request: Request) -> Answer:
        """What the handler of the method answers."""
        if request.profile not in self.hello["profiles"]:
            return unsupported("profile `%s` is not implemented" % request.profile)
        if request.method not in self.handlers:
            return unsupported("method `%s` is not implemented" % request.method)
        return self.handlers[request.method](request)


def read_request(message: Mapping[str, Any]) -> Request:
    """Reads a request; raises `BadMessage`."""
    id = message.get("id")
    if not isinstance(id, int) or isinstance(id, bool) or not 0 <= id < 2**63:
        raise BadMessage("the request has no `id` that is an integer of the protocol")
    for member in ("method", "profile"):
        if not isinstance(message.get(member), str):
            raise BadMessage("the request has no `%s`" % member, id)
    try:
        method = message["method"]
        launches = [read_launch(launch) for launch in message["launches"]] if method == "execute" else []
        if method == "execute":
            document = b""
        elif "document" in message:
            document = message["document"].encode("utf-8")
        else:
            document = base64.b64decode(message["document_base64"], validate=True)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadMessage("the request cannot be read: %s: %s" % (type(error).__name__, error), id) from None
    return Request(id, method, message["profile"], document, launches, message.get("arguments"), message)


def read_launch(launch: Mapping[str, Any]) -> Launch:
    """Reads a launch; raises the errors that `read_request` names."""
    paths = [launch["output"], *launch["tensors"], *([launch["trace"]] if "trace" in launch else [])]
    if not all(isinstance(path, str) for path in paths):
        raise TypeError("a path of a launch is no string")
    return Launch(launch["document"].encode("utf-8"), list(launch["tensors"]), launch["output"], launch.get("trace"))
