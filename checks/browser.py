"""A headless Chromium that is spoken to over pipes, for the checks of pages."""

import base64
import json
import os
import select
import subprocess
from pathlib import Path

PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


class Browser:
    """A Chromium that is spoken to over two pipes."""

    def __init__(self, program, profile):
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        # Where Chromium looks for them.
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(["bash", "-c", command, program, *options], pass_fds=(to_browser, from_browser),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.session, self.console = 0, b"", None, []

    def message(self):
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], 60)[0]:
                raise SystemExit("the browser says nothing for 60 s")
            found = os.read(self.read, 1 << 16)
            if not found:
                raise SystemExit("the browser ended")
            self.buffer += found
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.console.append(json.dumps(message["params"])[:400])
        return message

    def ask(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]

    def open(self, url, dark=False):
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank", width=1400, height=1000)["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Page.navigate", url=url)
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def run(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, *keys):
        """Presses keys, one after the other, where the focus is."""
        for key in keys:
            for kind in ("rawKeyDown", "keyUp"):
                self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, path):
        Path(path).write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
