#!/bin/sh
# Judges the CUDA kernels on a GPU of this machine, within about ten minutes. It needs NVIDIA's driver and glibc @GLIBC@ or later;
# compute-sanitizer of the CUDA toolkit is used if it is on the path.
#
#     ./run.sh [FOLDER]
#
# What each step says goes to FOLDER, `results` unless another is named, and the record of evidence with it. In the environment,
# FILTER='numeric/gelu/*' plays those cases only, and writes no evidence; REPEAT says how often litmus programs run;
# SANITIZE='*' plays all cases under each tool of compute-sanitizer, for as long as that takes; GPU names another GPU than the first, by
# its number or UUID; TENSOR_CORES=1 judges the kernels that use matrix units.
# Exit status: 0 if every step passed, 1 if one failed, 2 if the kernels cannot run here.
set -u

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-results}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
filter=${FILTER:-}
repeat=${REPEAT:-1000}
device="--device cuda --cubins '$here/cubins' --cache '$out/cache' --gpu '${GPU:-0}' ${TENSOR_CORES:+--tensor-cores}"
failed=
# In exclusive mode one process at a time uses a GPU, and each job is one.
jobs=4
case $(nvidia-smi --id="${GPU:-0}" --query-gpu=compute_mode --format=csv,noheader 2>/dev/null) in
    Exclusive*) jobs=1 ;;
esac
# How much slower than an H100 with 16 cores this machine is, which the limits are for; a first short step tells.
scale=1
checks=$out/checks
rm -f "$checks"

# A step with its name and limit in seconds. Its output is kept, and the end of it shown. The runner ends with 3 where all passed of
# a part of the cases.
step() {
    name=$1 limit=$(($2 * scale))
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
    worker="$3 '$here/megakernel-cuda' $device $4"
    pattern=$5 play=$1 seconds=$2 part=0
    [ -z "$pattern" ] || part=3
    shift 5
    step "$play" "$seconds" "$here/megakernel-conform" run --corpus "$here/corpus" --profile execute --jobs $jobs --timeout $((120 * scale)) \
        --impl "$worker" ${pattern:+--filter "$pattern"} "$@"
}

# A line for the record: what ran, whether it passed, more members, and what was said, a line of text each.
note() {
    passed=true
    case " $failed " in *" $1"*) passed=false ;; esac
    said=$(printf '%s\n' "$3" | sed 's/[\\"]//g; s/^ *//; s/.*/"&"/' | paste -sd, -)
    printf '{"name": "%s", "passed": %s%s, "said": [%s]}\n' "$1" "$passed" "$2" "$said" >>"$checks"
}
counts() { tail -n 1 "$out/$1.txt"; }

if ! "$here/megakernel-cuda" --version >/dev/null 2>"$out/start.txt"; then
    found=$(ldd --version 2>/dev/null | sed -n '1s/.* //p')
    printf 'error: these programs need glibc @GLIBC@ or later on x86-64, and this machine has %s: %s\n' "${found:-another C library}" \
        "$(head -n 1 "$out/start.txt")" >&2
    exit 2
fi
if ! eval "\"$here/megakernel-cuda\" $device --prepare"; then
    exit 2
fi

begin=$(date +%s)
play short 120 '' '' 'numeric/copy/*'
took=$(($(date +%s) - begin))
scale=$((1 + took / 8))
printf 'the short step took %s s: limits are multiplied by %s\n' "$took" "$scale"
# A launch has 8 s by default: more on a slower machine, and always less than the runner gives an answer (--timeout).
launches="--limit $((8 * scale))"
# Each line of the file has the SMs on which the blocks of a launch ran.
rm -f "$out/placement"
play litmus 90 '' "--repeat $repeat --perturb $launches --placement '$out/placement'" 'execution/litmus/*'
# The runner does not compare places; a file without lines says nothing.
places=$(tr -d '[],' <"$out/placement" 2>/dev/null | awk '
    { n++; delete here; for (i = 1; i <= NF; i++) { all[$i]; here[$i] }
      for (a in here) for (b in here) if (a + 0 < b + 0) pairs[a " " b] }
    END { for (a in all) sms++; for (p in pairs) met++; printf "%d launches, on %d SMs, of which %d pairs had blocks in one launch", n, sms, met }')
note litmus ", \"repeats\": $repeat, \"seed\": 0" "$(counts litmus)
$places"
# 64 launches a run.
play decoder 60 '' "--repeat $(((repeat + 63) / 64)) --perturb $launches" 'execution/exact/decoder*'
note decoder ", \"repeats\": $(((repeat + 63) / 64)), \"seed\": 0" "$(counts decoder)"

# Tools slow a launch down, by how much depends on the kernel.
watched="--limit $((60 * scale))"
patience=60
[ -z "${SANITIZE:-}" ] || patience=7200
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck initcheck; do
        log="$out/$tool-findings"
        rm -f "$log".*
        play "$tool" "$patience" "compute-sanitizer --tool $tool --target-processes all --log-file '$log.%p'" "$watched" \
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
        note "$tool" '' "$(cat "$log".* 2>/dev/null | sed -n 's/^=* *\(.*SUMMARY.*\)/\1/p' | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1 processes: /')
$(counts "$tool")"
    done
else
    printf '\ncompute-sanitizer is not on the path: memory, races and barriers on the device are not checked\n'
fi

if [ -n "$filter" ]; then
    play conform 240 '' "--trace $launches" "$filter" --json "$out/report.json"
else
    play conform 240 '' "--trace $launches" '' --json "$out/report.json" --evidence "$out/evidence.json" --checks "$checks"
fi

part=0
eval "step bandwidth 120 \"$here/megakernel-cuda\" $device --bandwidth=${MIB:-512} --out \"$out/bandwidth.json\" --picture \"$out/bandwidth.svg\""

if [ -n "$failed" ]; then
    printf '\nfailed:%s; what was said is in %s\n' "$failed" "$out"
    exit 1
fi
printf '\nall steps passed; what was said is in %s\n' "$out"
