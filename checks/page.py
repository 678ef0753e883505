"""Opens the pages of runs in a headless Chromium and clicks through them, as somebody does who looks for the first thing to mend, or for
what became of it.

    python3 checks/page.py [--pictures FOLDER]

The run judges the example in Python with three planted bugs; the programs have to be built. Exit code: 0 if the page names the task and
clause of each bug within two clicks, the page of two runs says where they differ, and the console stays silent; 1 if not; 3 if there is no
Chromium.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import PROGRAMS as BROWSERS, Browser

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
FLAWS = "first-k-of-n,crash-on-cycle,lost-meta"
CASES = "{race/first-k-of-n,deadlock/dependency-cycle/chain-add-3,deadlock/dependency-cycle/chain-gelu-2,spec,round-trip/values}*"
# How the causes of bugs begin, and the clauses that the page has to name after a click on them.
CAUSES = {"accepts what breaks R01": "R01 partial-wait", "worker ended before it answered": "D04 dependency-cycle"}
# A page of so many cases must not become so many elements.
ELEMENTS = 2000


class Wrong(Exception):
    """A command did not end as it has to."""


def conform(code, *arguments):
    done = subprocess.run([PROGRAMS / "megakernel-conform", *arguments, "--corpus", ROOT / "corpus"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != code:
        raise Wrong(f"{done.stdout}\n{' '.join(map(str, arguments))} ended with {done.returncode}, and {code} is expected")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pictures", type=Path)
    pictures = parser.parse_args().pictures
    program = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if program is None:
        print(f"there is no Chromium: none of {', '.join(BROWSERS)} is found")
        return 3
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    # What the browser leaves behind may still be written to.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        worker = f"{sys.executable} {ROOT}/examples/python/adapter.py --flaw {FLAWS}"
        browser = None
        try:
            conform(1, "run", "--impl", worker, "--filter", CASES, "--html", folder / "page.html", "--json", folder / "bugs.json")
            conform(3, "run", "--filter", CASES, "--json", folder / "reference.json")
            conform(1, "compare", folder / "reference.json", folder / "bugs.json", "--html", folder / "compare.html")
            of_all(folder)
            browser = Browser(program, folder / "profile")
            wrong = looked_at(browser, folder / "page.html", pictures)
            wrong += compared(browser, folder / "compare.html", pictures)
            wrong += large(browser, folder / "large.html", pictures)
            wrong += [f"console: {line}" for line in browser.console]
        except Wrong as cause:
            wrong = [cause]
        finally:
            if browser:
                browser.close()
    for line in wrong:
        print(f"wrong: {line}")
    return 1 if wrong else 0


def of_all(folder):
    """The page of two runs that seem to have played the whole corpus, of which they tell little apart."""
    listed = subprocess.run([PROGRAMS / "megakernel-conform", "list", "--corpus", ROOT / "corpus"], stdout=subprocess.PIPE, text=True, check=True)
    count = len(listed.stdout.splitlines())
    for name in ("reference", "bugs"):
        report = json.loads((folder / f"{name}.json").read_text())
        report["corpus"]["filter"] = None
        totals = report["totals"]
        totals["passed"] = count - totals["failed"] - totals["skipped"]
        (folder / f"{name}-all.json").write_text(json.dumps(report))
    conform(1, "compare", folder / "reference-all.json", folder / "bugs-all.json", "--html", folder / "large.html")


def looked_at(browser, page, pictures):
    """Clicks through the page of a run, and lists what it does not say and has to."""
    wrong, found = [], set()
    browser.open(page.as_uri())
    causes = browser.run("[...document.querySelectorAll('.cause')].map(one => one.textContent)")
    print("\n".join(causes))
    if pictures:
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
                wrong += stepped(browser, begin, pictures)
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
    return wrong + queues(browser)


# What stands in the figure of a witness.
STEP = "document.getElementById('step').textContent"
STATE = """(() => {
  const rows = [...document.querySelectorAll('#witness table')].map(one => [...one.rows].slice(1).map(row => [...row.cells].map(cell => cell.textContent)));
  const drawn = is => document.querySelectorAll(`#witness svg rect.${is}`).length;
  return { lanes: rows[0] || [], counters: rows[1] || [], running: drawn('running'), finished: drawn('finished') };
})()"""


def stepped(browser, cause, pictures):
    """Goes through the witness of a failure, forward and back."""
    wrong, clicks = [], lambda label: browser.run(f"document.querySelector('#witness button[aria-label=\"{label}\"]').click()")
    steps, states = [browser.run(STEP)], [browser.run(STATE)]
    count = int(re.search(r"of (\d+)", browser.run("document.querySelector('#witness span').textContent"))[1])
    for _ in range(count - 1):
        clicks("one step forward")
        steps.append(browser.run(STEP))
        states.append(browser.run(STATE))
    print("\n".join(f"    {step}" for step in steps))
    if pictures:
        browser.run("document.getElementById('witness').scrollIntoView()")
        browser.picture(pictures / f"witness-{cause.split()[0]}.png")
    if any("witness is wrong" in step for step in steps):
        wrong.append(f"{cause}: a step of the witness is not enabled")
    # To the beginning by keys, as it came.
    browser.run("document.getElementById('witness').focus()")
    for at in range(count - 2, -1, -1):
        browser.press("ArrowLeft")
        if (browser.run(STEP), browser.run(STATE)) != (steps[at], states[at]):
            wrong.append(f"{cause}: step {at} of the witness is another one on the way back")
    if "R01" in cause:
        wrong += run_of_two_producers(states)
    elif not re.search(r"comes before itself", steps[-1]) or count < 3:
        wrong.append(f"{cause}: the witness is no cycle: {steps}")
    return wrong


def run_of_two_producers(states):
    """What the reader of `fan-in-shared-2-1-of-2` does too early: the first producer ends, and it starts, as counter 0 is 1 by then."""
    def seen(state):
        return state["running"], state["finished"], state["counters"][0][1]
    wanted = [(0, 0, "0"), (1, 0, "0"), (0, 1, "1"), (1, 1, "1"), (1, 1, "1")]
    found = [seen(state) for state in states]
    lane = states[-1]["lanes"][0]
    if found != wanted or lane[:3] != ["any SM", "0", "2"] or "1 (may start)" not in lane[3]:
        return [f"the run of the witness is {found}, and {lane} is the lane at its end"]
    return []


# Tasks 0 and 1 stand in the queue of SM 0, 2 in that of SM 1, and 2 waits for both of the others.
QUEUES = """(() => {
  const task = (id, sm, out, waits) => ({ id, op: "NOP", label: "", sm, out, waits });
  const tasks = [task(0, 0, 7, []), task(1, 0, 7, []), task(2, 1, 8, [[7, 2]])];
  const after = events => {
    const steps = stepsOf({ kind: "schedule", events, then: "over" }, tasks), step = steps[steps.length - 2];
    const rows = table => [...table.rows].slice(1).map(row => [...row.cells].map(cell => cell.textContent).join(" | "));
    return [step.wrong ? "not enabled" : "enabled", ...rows(lanes(tasks, step)), ...rows(counters(tasks, step))];
  };
  return [after([{ start: 0 }]), after([{ start: 0 }, { finish: 0 }]), after([{ start: 0 }, { finish: 0 }, { start: 1 }, { finish: 1 }, { start: 2 }]),
    after([{ start: 1 }]), after([{ start: 0 }, { finish: 0 }, { start: 2 }]), after([{ finish: 0 }]), after([{ start: 0 }, { start: 0 }])];
})()"""
QUEUED = [
    ["enabled", "SM 0 |  | 0 | 1 (SM is busy)", "SM 1 |  |  | 2 (counter 7 0/2)", "c7 | 0 | 2 | 2 at 2", "c8 | 0 | 1 | "],
    ["enabled", "SM 0 | 0 |  | 1 (may start)", "SM 1 |  |  | 2 (counter 7 1/2)", "c7 | 1 | 2 | 2 at 2", "c8 | 0 | 1 | "],
    ["enabled", "SM 0 | 0, 1 |  | ", "SM 1 |  | 2 | ", "c7 | 2 | 2 | 2 at 2", "c8 | 0 | 1 | "],
]


def queues(browser):
    """The states of runs by hand: SMs with queues, and steps that are not enabled."""
    found = browser.run(QUEUES)
    wrong = [f"the state of SMs and counters is {one}, not {wanted}" for one, wanted in zip(found, QUEUED) if one != wanted]
    return wrong + [f"a step that is not enabled is taken: {one}" for one in found[len(QUEUED):] if one[0] != "not enabled"]


# What stands in the page of several runs.
GROUPS = "[...document.querySelectorAll('tr.group')].map(row => row.textContent)"
LISTED = "document.querySelectorAll('tr.case').length"
SHOWN = "document.getElementById('why').hidden ? '' : document.getElementById('why').textContent"
FOCUS = "document.activeElement.closest('tr') && [document.activeElement.closest('tr').rowIndex, document.activeElement.parentElement.cellIndex]"


def typed(browser, text):
    browser.run(f"document.getElementById('filter').value = {json.dumps(text)}; draw()")


def chosen(browser, name):
    browser.run(f"document.getElementById('by').value = '{name}'; document.getElementById('by').dispatchEvent(new Event('change'))")


def compared(browser, page, pictures):
    """Clicks through the page of two runs, and goes through it by keys."""
    wrong = []

    def expect(what, found, wanted):
        if not wanted(found) if callable(wanted) else found != wanted:
            wrong.append(f"the page of two runs: {what}: {found}")

    browser.open(page.as_uri())
    if pictures:
        browser.picture(pictures / "compare-0.png")
    head = browser.run("document.querySelector('thead').textContent")
    expect("the head counts", head, lambda text: re.search(r"\d+ differ.*A .*\d+ passed.*B .*\d+ passed, \d+ failed", text))
    expect("no case is listed before a click", browser.run(LISTED), 0)
    groups = browser.run(GROUPS)
    # What is not claimed differs as well: it is skipped.
    expect("profiles differ", [group.split()[1] for group in groups][:2], ["format", "validate"])
    # By rules, and then one of them.
    chosen(browser, "clause")
    group = next((at for at, text in enumerate(browser.run(GROUPS)) if "R01 partial-wait" in text), None)
    expect("R01 has a group", group, lambda at: at is not None)
    browser.run(f"document.querySelectorAll('tr.group button')[{group or 0}].click()")
    listed = browser.run(LISTED)
    expect("its cases are listed", listed, lambda count: count > 3)
    expect("in words", browser.run("[...document.querySelectorAll('tr.case')[0].cells].slice(1).map(one => one.textContent)"), ["passed", "failed"])
    browser.run("document.querySelector('tr.case td button').click()")
    expect("the cause is shown", browser.run(SHOWN), lambda text: "accepts what breaks R01" in text and "expected: reject" in text)
    if pictures:
        browser.picture(pictures / "compare-1.png")
    # By keys: the panel closes, the focus is back at the cell, and goes on from there.
    browser.press("Escape")
    expect("Escape closes", browser.run(SHOWN), "")
    at = browser.run(FOCUS)
    expect("the focus is back", at, lambda at: at is not None)
    at = at or [0, 0]
    browser.press("ArrowDown")
    expect("one row further", browser.run(FOCUS), [at[0] + 1, at[1]])
    browser.press("ArrowUp", "ArrowUp")
    expect("back, and to the head of the group", browser.run(FOCUS), [at[0] - 1, 0])
    browser.press("/")
    expect("to the filter", browser.run("document.activeElement.id"), "filter")
    # Filters by words of causes, and by what does not differ as well.
    typed(browser, "ended before")
    expect("the filter leaves", browser.run(GROUPS), lambda groups: len(groups) == 2 and "D04 dependency-cycle" in groups[0] and "EXE-06" in groups[1])
    typed(browser, "no such words")
    expect("the filter leaves nothing", browser.run("document.getElementById('nothing').textContent"), "No case fits.")
    typed(browser, "")
    before = len(browser.run(GROUPS))
    browser.run("document.getElementById('differing').click()")
    expect("what does not differ is there on demand", len(browser.run(GROUPS)), lambda count: count > before)
    chosen(browser, "opcode")
    expect("by opcode", browser.run(GROUPS), lambda groups: any("executes nothing" in text for text in groups))
    return wrong


def large(browser, page, pictures):
    """The page of two runs of the whole corpus."""
    wrong = []
    browser.open(page.as_uri(), dark=True)
    cases = browser.run("data.cases.length")
    elements = browser.run("document.querySelectorAll('*').length")
    if cases < 20000 or elements > ELEMENTS:
        wrong.append(f"{cases} cases are {elements} elements")
    browser.run("document.getElementById('differing').click()")
    took = browser.run("{ const begin = performance.now(); draw(); performance.now() - begin }")
    browser.run("for (const one of document.querySelectorAll('tr.group button')) one.click()")
    opened = browser.run("document.querySelectorAll('*').length")
    more = browser.run("[...document.querySelectorAll('tr.case button')].filter(one => one.textContent.includes('more of')).length")
    listed = browser.run(LISTED)
    browser.run("[...document.querySelectorAll('tr.case button')].find(one => one.textContent.includes('more of')).click()")
    further = browser.run(LISTED) - listed
    print(f"{cases} cases: {page.stat().st_size / 1e6:.1f} MB, {elements} elements, {opened} with all profiles open, drawn in {took:.0f} ms")
    if not 0 < more or opened > 20 * ELEMENTS or further != 200:
        wrong.append(f"{opened} elements when all profiles are open, {more} ask for more, one gives {further} more")
    if took > 1000:
        wrong.append(f"{cases} cases are drawn in {took:.0f} ms")
    browser.run("scrollTo(0, 2000)")
    if (top := browser.run("document.querySelector('thead th').getBoundingClientRect().top")) != 0:
        wrong.append(f"the head of the matrix does not stay where it is seen, but goes to {top}")
    if pictures:
        browser.picture(pictures / "compare-2.png")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
