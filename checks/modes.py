"""Plants faults in kernels that only one mode of the CUDA harness each finds, and asks that mode, on the CPU. Without the fault each
mode finds nothing in the same cases.

    python checks/modes.py            all of them; the two programs have to be built
    python checks/modes.py NAME ...   only these

Each line of the table is a fault of crates/cuda-harness/tests/kernels/modes/faults.cu, the options that find it, the cases, and what
the message has to say. One is found by no case but by the program of checks/large.py --product, which needs 4.3 GB, and 6.5 GB that are free.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
KERNELS = ROOT / "crates/cuda-harness/tests/kernels/modes/faults.cu"

PLAIN = "numeric/copy/*/*f32-to-f32*"
LITMUS = "execution/litmus/{relay,message}"
# In place of cases: no case of the corpus has so many elements.
LARGE = None
THREADS = "--sanitize thread --limit 60"
FAULTS = [
    ("barrier-missing", THREADS, PLAIN, "ThreadSanitizer: data race"),
    ("warp-barrier-missing", THREADS, PLAIN, "ThreadSanitizer: data race"),
    ("two-writers", THREADS, PLAIN, "ThreadSanitizer: data race"),
    ("past-shared-memory", "--sanitize address,undefined --limit 60", PLAIN, "AddressSanitizer: heap-buffer-overflow"),
    ("past-the-buffer", "--sanitize address,undefined --limit 60", PLAIN, "AddressSanitizer"),
    ("unaligned-load", "", PLAIN, "no multiple of 16"),
    ("mask-too-small", "", PLAIN, "calls __shfl_sync(0x0000ffff), whose mask does not name it"),
    ("lanes-missing", "", PLAIN, "waits in __shfl_sync(0xffffffff) for lane"),
    ("shared-memory-assumed-zero", "", PLAIN, "element"),
    ("output-assumed-zero", "", PLAIN, "element"),
    ("outside-the-footprint", "--opcode-only", LITMUS, "outside"),
    ("block-size-assumed", "--threads 32", PLAIN, "element"),
    ("block-matters", "--repeat 50", "execution/litmus/behind-nops", "differs from the first"),
    ("counted-twice", "", PLAIN, "tasks increment it"),
    ("incoherent-load", "--sanitize order", LITMUS, "element"),
    ("fence-missing", "--sanitize order", LITMUS, "element"),
    ("index-of-32-bits", "--limit 60", LARGE, "crashed"),
]


def prepare(options):
    """Has the kernels compiled, for which the limit of a handshake may be too short. Seconds."""
    start = time.monotonic()
    subprocess.run([PROGRAMS / "megakernel-cuda", "--kernels", KERNELS, "--prepare", *options.split()], check=True)
    return time.monotonic() - start


def play(fault, options, cases):
    """Whether all passed, or some failed, what was said, and seconds."""
    worker = f"'{PROGRAMS}/megakernel-cuda' --kernels '{KERNELS}' {options}"
    command = [PROGRAMS / "megakernel-conform", "run", "--corpus", ROOT / "corpus", "--profile", "execute", "--timeout", "120", "--impl",
               worker, "--filter", cases]
    # 3: all of a part of the cases passed.
    passed = 3
    if cases is LARGE:
        command = [sys.executable, ROOT / "checks/large.py", "--product", PROGRAMS / "megakernel-cuda", "--kernels", KERNELS, *options.split()]
        passed = 0
    start = time.monotonic()
    done = subprocess.run(command, env=os.environ | {"AMK_FAULT": fault}, capture_output=True, text=True)
    ended = {passed: "passed", 1: "failed"}.get(done.returncode)
    return ended, done.stdout + done.stderr, time.monotonic() - start


def main():
    chosen = [row for row in FAULTS if not sys.argv[1:] or row[0] in sys.argv[1:]]
    wrong = 0
    for options, cases in dict.fromkeys((options, cases) for _, options, cases, _ in chosen):
        compiled = prepare(options)
        ended, said, seconds = play("", options, cases)
        passes = "passes" if ended == "passed" else "FAILS"
        print(f"{'without a fault':28} {options or 'no option':42} {seconds:5.1f} s  {passes}, compiled in {compiled:.1f} s")
        if ended != "passed":
            wrong += 1
            print(said[-3000:])
    for fault, options, cases, words in chosen:
        ended, said, seconds = play(fault, options, cases)
        found = ended == "failed" and words in said and seconds < 120
        print(f"{fault:28} {options or 'no option':42} {seconds:5.1f} s  {'found' if found else 'NOT FOUND'}")
        if not found:
            wrong += 1
            print(said[-3000:])
    sys.exit(f"error: {wrong} are not as they should be" if wrong else None)


main()
