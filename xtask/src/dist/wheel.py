"""Packs a folder as a wheel: python3 wheel.py FOLDER FILE. The same files give the same bytes."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

folder, to = map(Path, sys.argv[1:])
info = next(folder.glob("*.dist-info"))
names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
record = f"{info.name}/RECORD"
rows = []
with zipfile.ZipFile(to, "w") as wheel:

    def add(name, data):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.create_system = 3
        entry.external_attr = 0o100644 << 16
        wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)

    # What describes a wheel stands last in it, as its specification asks.
    for name in sorted(names, key=lambda name: (name.startswith(info.name), name)):
        data = (folder / name).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
        add(name, data)
    add(record, "".join(rows) + f"{record},,\n")
