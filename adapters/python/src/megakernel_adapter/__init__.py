"""The worker's side of the protocol of the megakernel conformance suite (CON-02, CON-03): handshake, loop, tensors.

    worker = Worker("my-validator", "0.3", profiles=["format"], rules=["S01"])

    @worker.method("validate")
    def validate(request):
        return accept() if mine.accepts(request.document) else reject("S01", "it is no JSON")

    worker.run()

It needs the standard library only.
"""

from .answers import Answer, Diagnostic, accept, reject, unsupported
from .tensors import Tensor, read_tensors, write_tensors
from .worker import Launch, Request, Worker

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Diagnostic",
    "Launch",
    "Request",
    "Tensor",
    "Worker",
    "accept",
    "read_tensors",
    "reject",
    "unsupported",
    "write_tensors",
]
