"""A worker that judges one rule, S01: a document is JSON."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))  # not needed where the package is installed

from megakernel_adapter import Worker, accept, reject, unsupported  # noqa: E402

worker = Worker("minimal-python", "0.1.0", profiles=["format"], rules=["S01"])


@worker.method("validate")
def validate(request):
    try:
        value = json.loads(request.document.decode("utf-8"), parse_int=float)
        # What Python reads and FMT-01 does not admit: NaN, numbers beyond binary64, and an escaped half of a character.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError as error:
        return reject("S01", str(error))
    except RecursionError:
        return unsupported("the document is nested deeper than Python's reader follows")
    return accept()


worker.run()
