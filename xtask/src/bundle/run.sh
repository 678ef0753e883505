#!/bin/sh
# Judges the CUDA kernels on the first GPU of this machine, within ten minutes. It needs NVIDIA's driver and nothing else;
# compute-sanitizer of the CUDA toolkit is used if it is on the path.
#
#     ./run.sh [FOLDER]
#
# What each step says goes to FOLDER, `results` unless another is named, and the record of evidence with it. In the environment,
# FILTER='numeric/gelu/*' plays those cases only, and writes no evidence; REPEAT says how often litmus programs run;
# SANITIZE='*' plays all cases under each tool of compute-sanitizer, for as long as that takes.
# Exit status: 0 if every step passed, 1 if one failed, 2 if the kernels cannot run here.
set -u

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-results}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
filter=${FILTER:-}
repeat=${REPEAT:-1000}
failed=

# A step with its name and limit in seconds. Its output is kept, and the end of it shown. The runner ends with 3 where all passed of
# a part of the cases.
step() {
    name=$1 limit=$2
    shift 2
    printf '\n== %s\n' "$name"
    timeout "$limit" "$@" >"$out/$name.txt" 2>&1
    status=$?
    [ "$status" -ne 124 ] || printf 'stopped after %s seconds\n' "$limit" >>"$out/$name.txt"
    tail -n 5 "$out/$name.txt"
    [ "$status" -eq 0 ] || [ "$status" -eq "$part" ] || failed="$failed $name"
}

# Cases that match a pattern, or all. Arguments: step, limit, command before the worker, options of the worker, pattern, more.
play() {
    worker="$3 '$here/megakernel-cuda' --device cuda --cubins '$here/cubins' --cache '$out/cache' $4"
    pattern=$5 play=$1 seconds=$2 part=0
    [ -z "$pattern" ] || part=3
    shift 5
    step "$play" "$seconds" "$here/megakernel-conform" run --corpus "$here/corpus" --profile execute --jobs 4 --timeout 120 \
        --impl "$worker" ${pattern:+--filter "$pattern"} "$@"
}

if ! "$here/megakernel-cuda" --device cuda --cubins "$here/cubins" --cache "$out/cache" --prepare; then
    exit 2
fi

if [ -n "$filter" ]; then
    play conform 240 '' --trace "$filter" --json "$out/report.json"
else
    play conform 240 '' --trace '' --json "$out/report.json" --evidence "$out/evidence.json"
fi
# Each line of the file has the SMs on which the blocks of a launch ran.
rm -f "$out/placement"
play litmus 90 '' "--repeat $repeat --perturb --poison --placement '$out/placement'" 'execution/litmus/*'
# 64 launches a run.
play decoder 60 '' "--repeat $(((repeat + 63) / 64)) --perturb" 'execution/exact/decoder*'

patience=60
[ -z "${SANITIZE:-}" ] || patience=7200
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck initcheck; do
        log="$out/$tool-findings"
        rm -f "$log".*
        play "$tool" "$patience" "compute-sanitizer --tool $tool --target-processes all --log-file '$log.%p'" '--limit 60' \
            "${SANITIZE:-${filter:-execution/blocks/*}}"
        # The worker does not see what the tool finds. Each process that used the GPU has a file; one that was killed before it
        # came to its summary has said nothing.
        found=
        for file in "$log".*; do
            grep -q 'SUMMARY: 0 ' "$file" 2>/dev/null && ! grep -q 'SUMMARY: [1-9]' "$file" || found="$found $file"
        done
        if [ -n "$found" ]; then
            printf 'findings, or no summary:%s\n' "$found"
            failed="$failed $tool-findings"
        fi
    done
else
    printf '\ncompute-sanitizer is not on the path: memory, races and barriers on the device are not checked\n'
fi

part=0
step bandwidth 30 "$here/megakernel-cuda" --device cuda --cubins "$here/cubins" --cache "$out/cache" "--bandwidth=${MIB:-512}"

if [ -n "$failed" ]; then
    printf '\nfailed:%s; what was said is in %s\n' "$failed" "$out"
    exit 1
fi
printf '\nall steps passed; what was said is in %s\n' "$out"
