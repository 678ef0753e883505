"""JSON Patch (RFC 6902), as far as cases and mutations use it."""

import json


def patched(document, operations):
    """The document after these operations. It is edited in place, unless all of it is replaced."""
    for operation in operations:

        def parent(pointer):
            *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
            at = document
            for part in path:
                at = at[int(part)] if isinstance(at, list) else at[part]
            return at, last if isinstance(at, dict) else len(at) if last == "-" else int(last)

        value = json.loads(json.dumps(operation.get("value")))
        if operation["op"] in ("move", "copy"):
            at, key = parent(operation["from"])
            value = at.pop(key) if operation["op"] == "move" else json.loads(json.dumps(at[key]))
        if not operation["path"]:
            document = value
            continue
        at, key = parent(operation["path"])
        if operation["op"] == "remove":
            at.pop(key)
        elif operation["op"] != "replace" and isinstance(at, list):
            at.insert(key, value)
        else:
            at[key] = value
    return document
