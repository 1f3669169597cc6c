#!/usr/bin/env bash
# What is measured on a GPU, part by part:
#
#     benchmarks/gpu_session.sh OUT PART...
#
# smoke    doctor, peaks, the GPU tests
# configs  every bundled config at its own sizes; NAME is one of them
# sizes    the configs at sizes that fill a GPU
# torture  200 variants of which nine misbehave
# cold     cold times beside nvbench's (needs cuda-bench)
# repeats  gemm_1024 ten times, as it is and with 200 samples: how far the ratio tiled/naive moves
# ncu      counters and verdicts beside Nsight Compute's: gemm_1024, then as many configs as 75 s allow
# tuner    the same GEMM space with Kernel Tuner and with gpuprof (needs kernel_tuner)
# kill     kill -9 at 30 moments, then --resume
# overlap  the noise of timing while building, and after it
#
# Each step writes its own files into OUT and a line into OUT/steps.txt (name, exit code, seconds), and the next step
# runs whatever became of it; the exit code is 1 when some step failed. STEP_TIMEOUT bounds a step, in seconds; after
# SESSION_SECONDS no step starts any more.
# python benchmarks/results_pages.py OUT makes pages of it.
set -u
out=$1
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.." || exit 1
failed=0

step() {
    local name=$1 started=$SECONDS code=0
    shift
    if [ "$SECONDS" -ge "${SESSION_SECONDS:-86400}" ]; then
        echo "$name not started" | tee -a "$out/steps.txt"
        failed=1
        return
    fi
    timeout -k 5 "${STEP_TIMEOUT:-300}" "$@" >"$out/$name.txt" 2>&1 || code=$?
    echo "$name $code $((SECONDS - started))" | tee -a "$out/steps.txt"
    [ "$code" = 0 ] && return
    failed=1
    tail -n 3 "$out/$name.txt"
}

# A config into OUT/NAME.json and .md; what the terminal shows into OUT/run_NAME.txt.
config() {
    local name=$1 config=$2
    shift 2
    step "run_$name" python3 -m gpuprof run "configs/$config.yaml" "$@" --check --no-history \
        --json "$out/$name.json" --markdown "$out/$name.md"
}

# A config at a GPU's sizes: CONFIG NAME=VALUE...
sized() {
    local config=$1 sets=()
    shift
    for size in "$@"; do sets+=(--set "$size"); done
    STEP_TIMEOUT=60 config "${config}_gpu" "$config" "${sets[@]}" --max-noise 1 --timeout 3
}

repeat() {
    local name=$1
    shift
    for n in 01 02 03 04 05 06 07 08 09 10; do
        step "${name}_$n" python3 -m gpuprof run configs/gemm_1024.yaml "$@" --json "$out/${name}_$n.json" --no-history
    done
}

for part in "$@"; do
    case $part in
    smoke)
        step doctor python3 -m gpuprof doctor
        step peaks python3 -m gpuprof peaks
        step tests python3 -m pytest -q -m gpu tests
        ;;
    configs)
        for file in configs/*.yaml; do
            name=$(basename "$file" .yaml)
            config "$name" "$name" --max-noise 1 --timeout 3
        done
        ;;
    sizes)
        square=(M=4096 N=4096 K=4096)
        sized transpose ROWS=4096 COLUMNS=4096
        sized reduction
        sized bandwidth COUNT=67108864
        sized coalescing COUNT=4194304
        sized bank_strides BLOCKS=4224 REPEATS=1024
        sized occupancy COUNT=16777216
        sized hgemm "${square[@]}"
        sized wmma "${square[@]}" ITERS=10
        sized divergence COUNT=4194304
        sized gemm_pipelined "${square[@]}"
        sized vector_loads COUNT=33554432
        sized saxpy COUNT=33554432
        sized softmax ROWS=16384
        sized layernorm ROWS=16384
        sized gemv M=8192 N=8192
        sized histogram COUNT=33554432
        sized stencil_1d COUNT=16777216
        sized stencil_2d ROWS=4096 COLUMNS=4096
        sized fp64_gemm "${square[@]}"
        sized gemm_ladder "${square[@]}"
        ;;
    torture)
        config=$(python3 tests/profile/torture/make_config.py "$out/torture")
        step torture python3 -m gpuprof run "$config" --launch-timeout 5 --json "$out/torture.json" --no-history
        step torture_rows python3 benchmarks/torture_rows.py "$out/torture.json"
        ;;
    cold) step cold python3 benchmarks/nvbench_compare.py --out "$out" gemm_1024 micro_gemm transpose bandwidth saxpy ;;
    repeats)
        repeat repeat
        step repeats python3 benchmarks/repeats.py "$out"/repeat_??.json
        repeat longer --iters 200
        step repeats_200 python3 benchmarks/repeats.py "$out"/longer_??.json
        ;;
    ncu) STEP_TIMEOUT=120 step ncu python3 benchmarks/ncu_session.py "$out/ncu" --seconds 75 ;;
    tuner) step tuner python3 benchmarks/kernel_tuner.py --out "$out" ;;
    kill) STEP_TIMEOUT=200 step kill python3 benchmarks/kill_resume.py --kills 30 --lanes 3 --config benchmarks/tuner_gemm.yaml ;;
    overlap) STEP_TIMEOUT=60 step overlap python3 benchmarks/overlap.py ;;
    *)
        if [ -f "configs/$part.yaml" ]; then config "$part" "$part" --max-noise 1 --timeout 3; else
            echo "no part $part"
            failed=1
        fi
        ;;
    esac
done
exit "$failed"
