"""Opens the page of a run in a headless Chromium and clicks through it, as somebody does who looks for the first thing to mend.

    python3 checks/page.py [--pictures FOLDER]

The run judges the example in Python with three planted bugs; the programs have to be built. Exit code: 0 if the page names the task and
clause of each bug within two clicks and the console stays silent; 1 if not; 3 if there is no Chromium.
"""

import argparse
import base64
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
FLAWS = "first-k-of-n,crash-on-cycle,lost-meta"
CASES = "{race/first-k-of-n,deadlock/dependency-cycle/chain-add-3,deadlock/dependency-cycle/chain-gelu-2,spec,round-trip/values}*"
# How the causes of bugs begin, and the clauses that the page has to name after a click on them.
CAUSES = {"accepts what breaks R01": "R01 partial-wait", "worker ended before it answered": "D04 dependency-cycle"}


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

    def open(self, url):
        target = self.ask("Target.createTarget", url="about:blank", width=1400, height=1000)["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=url)
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def run(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self, path):
        Path(path).write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pictures", type=Path)
    pictures = parser.parse_args().pictures
    program = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if program is None:
        print(f"there is no Chromium: none of {', '.join(BROWSERS)} is found")
        return 3
    # What the browser leaves behind may still be written to.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "page.html"
        worker = f"{sys.executable} {ROOT}/examples/python/adapter.py --flaw {FLAWS}"
        command = [PROGRAMS / "megakernel-conform", "run", "--corpus", ROOT / "corpus", "--impl", worker, "--filter", CASES,
                   "--html", page]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 1:
            print(done.stdout, f"the run ended with {done.returncode}, and 1 is expected of a VM with bugs", sep="\n")
            return 1
        browser = Browser(program, Path(folder) / "profile")
        try:
            return looked_at(browser, page, pictures)
        finally:
            browser.close()


def looked_at(browser, page, pictures):
    """Clicks through the page; 0 if it says what it has to."""
    wrong, found = [], set()
    browser.open(page.as_uri())
    causes = browser.run("[...document.querySelectorAll('.cause')].map(one => one.textContent)")
    print("\n".join(causes))
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
        browser.picture(pictures / "0.png")
    if len(causes) < 3:
        wrong.append(f"three bugs have {len(causes)} causes")
    for number, cause in enumerate(causes):
        browser.run(f"document.querySelectorAll('.cause')[{number}].click()")
        first = browser.run("document.getElementById('first').textContent")
        text = browser.run("document.getElementById('shown').textContent")
        print(f"{cause} -> {first}")
        case = browser.run("document.querySelector('#shown h1').textContent")
        for begin, clause in CAUSES.items():
            if begin in cause:
                task = re.match(r"/tasks/(\d+)", json.loads((ROOT / f"corpus/cases/{case}.json").read_text())["expect"]["at"])[1]
                if not re.match(rf"task {task}\b.*{clause}", first):
                    wrong.append(f"{cause}: `{first}` does not name task {task} and {clause}")
                found.add(begin)
        clause = first.split(": ")[-1].split(" ")[0]
        # Not in the line at the top alone, but with its text.
        if f"{clause} " not in text.replace(first, "", 1):
            wrong.append(f"{cause}: the text of {clause} is not shown")
        if pictures:
            browser.picture(pictures / f"{number + 1}.png")
    browser.run("document.getElementById('filter').value = 'R01'; document.getElementById('filter').dispatchEvent(new Event('input'))")
    left = browser.run("[...document.querySelectorAll('.cause')].filter(one => !one.hidden).length")
    if not 0 < left < len(causes):
        wrong.append(f"the filter leaves {left} of {len(causes)} causes")
    wrong += [f"no cause begins `{begin}`" for begin in CAUSES.keys() - found]
    wrong += [f"console: {line}" for line in browser.console]
    for line in wrong:
        print(f"wrong: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
