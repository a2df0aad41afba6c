#!/bin/sh
# Builds deepprof and the bench programs, scales a real timeline, and prints the
# tables of bench/compare. Arguments go to compare, e.g. -rounds 3.
#   DEEPPROF_NSIGHT          folder with trixie/nsys and trixie/ncu
#   DEEPPROF_BENCH_SOURCE    a real nsys SQLite export to scale, plain or .gz
#   DEEPPROF_BENCH_REPORT    an .ncu-rep for `show metrics`, plain or .gz
#   DEEPPROF_BENCH_METRICS   a timeline with samples of GPU metrics, plain or .gz
#   DEEPPROF_BENCH_DIR       where the large files are kept between runs
set -eu
cd "$(dirname "$0")/.."
dir=${DEEPPROF_BENCH_DIR:-${TMPDIR:-/tmp}/deepprof-bench}
mkdir -p "$dir/bin"

pick() {
	for f in "$@"; do
		if [ -f "$f" ]; then echo "$f"; return; fi
	done
}
source=${DEEPPROF_BENCH_SOURCE:-$(pick testdata/h200/llm.sqlite.gz)}
report=${DEEPPROF_BENCH_REPORT:-$(pick testdata/h200/llm.ncu-rep.gz)}
metrics=${DEEPPROF_BENCH_METRICS:-$(pick internal/nsys/testdata/exports/gpu_metrics.sqlite.gz)}
counters=$dir/llm.ncu-rep
gzip -dc testdata/h200/llm.ncu-rep.gz >"$counters"

export CGO_ENABLED=0
go build -trimpath -o "$dir/bin/" ./bench/scale ./bench/scan ./bench/choose ./bench/compare
deepprof=
if go build -trimpath -o "$dir/bin/deepprof" ./cmd/deepprof; then
	deepprof=$dir/bin/deepprof
else
	echo "bench: deepprof does not build, its rows will say so" >&2
fi

# A scaled file is kept as long as its source and the generator are the same.
# scaled NAME SOURCE KERNELS
scaled() {
	key=$(cat "$2" bench/scale/*.go | cksum | cut -d' ' -f1)
	file=$dir/$1-$key.sqlite
	if [ ! -f "$file" ]; then
		rm -f "$dir/$1"-*.sqlite
		"$dir/bin/scale" -source "$2" -kernels "$3" -o "$file" >&2
	fi
	echo "$file"
}
small=$(scaled small "$source" 3000000)
large=$(scaled large "$source" 10000000)

case $report in
*.gz)
	gzip -dc "$report" >"$dir/report.ncu-rep"
	report=$dir/report.ncu-rep
	;;
esac

# 255 copies of 9,416 samples: 2.4 million, as 5 s at 10 kHz have.
[ -z "$metrics" ] || metrics=$(scaled metrics "$metrics" 14280)

# 10,000 runs: the records of a played recording, again and again.
store=
if [ -n "$deepprof" ]; then
	store=$dir/store
	if [ ! -d "$store" ]; then
		rm -rf "$dir/played" "$store.tmp"
		"$deepprof" demo --output "$dir/played" >/dev/null 2>&1
		id=$(sed -n 's/^  "id": "\(.*\)",$/\1/p' "$dir/played/run.json")
		mkdir "$store.tmp"
		awk 'BEGIN { for (i = 0; i < 10000; i++) printf "2026%02d%02dT%02d%02d00Z-1-%012x\n", 1 + i / 1000, 1 + (i / 40) % 25, i % 24, i % 60, i }' | while read -r name; do
			mkdir "$store.tmp/$name"
			sed "s/$id/$name/" "$dir/played/run.json" >"$store.tmp/$name/run.json"
			cp "$dir/played/env.json" "$store.tmp/$name/"
		done
		mv "$store.tmp" "$store"
	fi
fi

status=0
"$dir/bin/compare" -deepprof "$deepprof" -scan "$dir/bin/scan" -small "$small" -large "$large" -report "$report" \
	-choose "$dir/bin/choose" -counters "$counters" -metrics "$metrics" -store "$store" "$@" || status=$?

echo
echo "Composition of 500 files with 200 overrides:"
go test ./internal/config -run '^$' -bench BenchmarkCompose -benchtime 20x | grep -E "^(cpu|Benchmark)"
exit $status
