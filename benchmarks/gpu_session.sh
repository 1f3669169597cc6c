#!/usr/bin/env bash
# What is measured on a GPU, part by part:
#
#     benchmarks/gpu_session.sh OUT PART...
#
# smoke    doctor, gemm_1024, peaks, the GPU tests
# configs  every bundled config, with JSON and table
# torture  200 variants of which nine misbehave
# cold     cold times beside nvbench's (needs cuda-bench)
# repeats  gemm_1024 ten times: how far the ratio tiled/naive moves
# tuner    the same GEMM space with Kernel Tuner and with gpuprof (needs kernel_tuner)
# kill     kill -9 at 30 moments, then --resume
# overlap  the noise of timing while building, and after it
#
# Each part writes its own files into OUT and goes on after failures; the exit code is the number of failed commands.
set -u
out=$1
shift
mkdir -p "$out"
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here" || exit 1
failed=0

step() {
    local name=$1
    shift
    echo "== $name: $*"
    if timeout "${STEP_TIMEOUT:-570}" "$@" >"$out/$name.txt" 2>&1; then echo "   ok"; else
        echo "   exit code $?"
        failed=$((failed + 1))
        tail -n 5 "$out/$name.txt"
    fi
}

for part in "$@"; do
    case $part in
    smoke)
        step doctor python3 -m gpuprof doctor
        step gemm_1024 python3 -m gpuprof run configs/gemm_1024.yaml --json "$out/gemm_1024.json" --history "$out/history.sqlite"
        step peaks python3 -m gpuprof peaks
        step tests python3 -m pytest -q -m gpu tests
        ;;
    configs)
        for config in configs/*.yaml; do
            name=$(basename "$config" .yaml)
            step "run_$name" python3 -m gpuprof run "$config" --check --json "$out/$name.json" --markdown "$out/$name.md" \
                --history "$out/history.sqlite"
        done
        ;;
    torture)
        config=$(python3 tests/profile/torture/make_config.py "$out/torture")
        step torture python3 -m gpuprof run "$config" --launch-timeout 5 --json "$out/torture.json" --no-history
        step torture_rows python3 benchmarks/torture_rows.py "$out/torture.json"
        ;;
    cold) step cold python3 benchmarks/nvbench_compare.py --out "$out" ;;
    repeats)
        for n in 1 2 3 4 5 6 7 8 9 10; do
            step "repeat_$n" python3 -m gpuprof run configs/gemm_1024.yaml --json "$out/repeat_$n.json" --no-history
        done
        step repeats python3 benchmarks/repeats.py "$out"/repeat_*.json
        ;;
    tuner) step tuner python3 benchmarks/kernel_tuner.py --out "$out" ;;
    kill) step kill python3 benchmarks/kill_resume.py --kills 30 --config configs/gemm_tiles.yaml ;;
    overlap)
        step overlap python3 benchmarks/overlap.py --out "$out"
        ;;
    *) echo "no part $part" && failed=$((failed + 1)) ;;
    esac
done
exit "$failed"
