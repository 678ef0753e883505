"""JSON Schemas of the megakernel conformance suite, as files of this package: NAME.schema.json."""

import importlib.resources
import json

_END = ".schema.json"


def names():
    """The names of all schemas, such as "program", sorted."""
    files = importlib.resources.files(__name__).iterdir()
    return sorted(file.name[: -len(_END)] for file in files if file.name.endswith(_END))


def load(name):
    """The schema with this name, as an object."""
    return json.loads(importlib.resources.files(__name__).joinpath(name + _END).read_text(encoding="utf-8"))
