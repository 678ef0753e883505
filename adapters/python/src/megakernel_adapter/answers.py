"""What a worker may answer (CON-03)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Optional, Union

# Members of a diagnostic (CON-10): `rule`, `severity`, `message`, and where they are known `pointer`, `line`, `column`, `tasks`, ...
Diagnostic = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """An answer, without the id. Made by `accept`, `reject` and `unsupported`."""

    outcome: str
    diagnostics: list[Diagnostic] = field(default_factory=list)
    document: Optional[str] = None
    reason: Optional[str] = None

    def broken(self, method: str) -> Optional[str]:
        """What the protocol does not admit about it, in words, so that a mistake is reported where it is made."""
        severities = [found.get("severity") for found in self.diagnostics]
        texts = [found.get(member) for found in self.diagnostics for member in ("rule", "message")]
        if not all(isinstance(text, str) and text for text in texts):
            return "a diagnostic has no `rule` or no `message`"
        if not all(severity in ("error", "warning") for severity in severities):
            return "the severity of a diagnostic is neither `error` nor `warning`"
        if not isinstance(self.document, (str, type(None))) or not isinstance(self.reason, (str, type(None))):
            return "the `document` or the `reason` is no string"
        if self.outcome == "accept":
            if "error" in severities:
                return "an acceptance has a diagnostic of severity `error`"
            if self.document is None and method not in ("validate", "execute", "trace"):
                return "an accepted `%s` answers with a document" % method
        elif self.outcome == "reject":
            if "error" not in severities:
                return "a rejection has no diagnostic of severity `error`"
        elif self.outcome != "unsupported":
            return "the outcome `%s` is none of accept, reject, unsupported" % self.outcome
        elif not self.reason:
            return "`unsupported` has no reason"
        return None

    def members(self) -> dict[str, Any]:
        """Members of the response."""
        found: dict[str, Any] = {"outcome": self.outcome}
        if self.outcome != "unsupported":
            found["diagnostics"] = [dict(diagnostic) for diagnostic in self.diagnostics]
        if self.document is not None:
            found["document"] = self.document
        if self.reason is not None:
            found["reason"] = self.reason
        return found


def accept(document: Optional[str] = None, warnings: Iterable[Diagnostic] = ()) -> Answer:
    """Nothing is wrong. `document` is the text that a round trip, or another method that writes one, came to."""
    return Answer("accept", list(warnings), document)


def reject(found: Union[str, Iterable[Diagnostic]], message: str = "", **more: Any) -> Answer:
    """A rule is broken: `reject("R01", "why", pointer="/tasks/1")`. Or several: `reject([{"rule": ..., "message": ...}, ...])`.

    A diagnostic without `severity` is an error.
    """
    if isinstance(found, str):
        found = [{"rule": found, "message": message, **more}]
    return Answer("reject", [{"severity": "error", **diagnostic} for diagnostic in found])


def unsupported(reason: str) -> Answer:
    """The implementation does not deal with this: the case is skipped, and the report shows the reason."""
    return Answer("unsupported", reason=reason)
