#!/usr/bin/env bash
# First look at annotation on a GPU: each program plain and annotated under nsys, several at a time. first.sh OUT
set -uo pipefail
out=$1; here=$(cd "$(dirname "$0")" && pwd); root=$here/../../..
mkdir -p "$out"
export PYTHONDONTWRITEBYTECODE=1 TORCHINDUCTOR_CACHE_DIR=$out/inductor
one() {
  local name=$1 launch=(python3)
  [ "$name" != rank ] || launch=(torchrun --nproc-per-node 2 --master-port 29511)
  "${launch[@]}" "$here/program.py" "$name" --passes 2 > "$out/$name.plain" 2> "$out/$name.plain.err"
  mkdir -p "$out/$name.side"
  PYTHONPATH=$root/workloads/annotate DEEPPROF_ANNOTATE=auto DEEPPROF_ANNOTATE_OUT=$out/$name.side \
    "$NSYS" profile -t cuda,nvtx --cuda-graph-trace=node --sample=none --cpuctxsw=none -f true -o "$out/$name" \
    "${launch[@]}" "$here/program.py" "$name" --passes 2 > "$out/$name.annotated" 2> "$out/$name.annotated.err"
  "$NSYS" export --type sqlite -f true -o "$out/$name.sqlite" "$out/$name.nsys-rep" > "$out/$name.export" 2>&1
  echo "== $name"; grep -h '^{' "$out/$name.plain"; grep -h '^{' "$out/$name.annotated"; ls -l "$out/$name.sqlite" | awk '{print $5}'; tail -n 2 "$out/$name.plain.err" "$out/$name.annotated.err" | cut -c1-300
}
export -f one; export out here root NSYS
printf '%s\n' "${@:2}" | xargs -P 5 -I{} timeout 200 bash -c 'one {}'
