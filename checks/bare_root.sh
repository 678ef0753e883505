#!/bin/sh
# A worker in nothing but the shell and sed: of the profile `format` it knows two rules, S06 and S07, and says so. `accept-all` in place
# of them accepts everything.
printf '%s\n' '{"type":"hello","protocol":"1.0","name":"bare-root","version":"1","profiles":["format"],"rules":["S06","S07"]}'
read -r _
number='(0|[1-9][0-9]*)'
while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed -E 's/.*"id":([0-9]+).*/\1/')
  # Whether a member of the document, which is a string within the line, has this form.
  has() { printf '%s\n' "$line" | grep -Eq '\\"'"$1"'\\": *\\"'"$2"'\\"'; }
  rule=
  case $line in
    *'"method":"validate"'*) ;;
    *) printf '{"type":"response","id":%s,"outcome":"unsupported","reason":"only validate is known"}\n' "$id"; continue ;;
  esac
  has ir_version "0\\.$number\\.$number" || rule=S06
  has abi_version "0\\.$number" || rule=S07
  [ "${1:-}" != accept-all ] || rule=
  if [ -z "$rule" ]; then
    printf '{"type":"response","id":%s,"outcome":"accept"}\n' "$id"
  else
    printf '{"type":"response","id":%s,"outcome":"reject","diagnostics":[{"rule":"%s","severity":"error","message":"a version","pointer":""}]}\n' "$id" "$rule"
  fi
done
