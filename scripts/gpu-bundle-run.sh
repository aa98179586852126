#!/usr/bin/env bash
# Checks and measures the CUDA backend. Made by scripts/gpu-bundle; needs bash, the NVIDIA driver and libnvrtc.
# Usage: run.sh [conformance|models|bench|papers|sanitize|train|table3|soak|equal|options|offload|all]...     (default: conformance bench)
#   conformance  every test
#   models       trains bonsai and chair (adc, 30,000 steps), as far as posed/ has them, to OUT/models, and compresses these and
#                fox_220k as Compact-3DGS and LightGaussian do, to OUT/compressed
#   bench        forward and backward times of every scene, those of `models` too; forward at 3840x2160 too
#   papers       the papers' tables, as text, JSON and a page: of the fox models, and of the scenes that `models` left in OUT
#   sanitize     compute-sanitizer memcheck and racecheck over the conformance tests (slow)
#   train        fox_colmap at full size: adc 30,000 steps; mcmc, 1,000,000 Gaussians, 15,000 steps
#   table3       PSNR after a fixed time on several datasets, for every method of the backward pass; papers then has its table
#   soak         a run killed at random moments against one that is not, bit for bit, and whether memory grows
#   equal        PSNR after training with two pipelines, over some seeds
#   options      every training option alone, over some seeds, a line as soon as it is there
#   offload      steps of a scene that does not fit the card's memory, made up: ms, and what lies where
#   all          all of these
# Environment: OUT       folder of the results (./out)
#              DATA      folder with models/ and posed/ (the bundle's own data)
#              DATASET   what to train on (posed/fox_colmap)
#              PASSES    passes of bench over the cameras (20)
#              PIPELINES what bench compares (vanilla, every published method where its paper has it, ours; or all)
#              LIMIT     seconds of each run of table3 (300, as in the paper)
#              DATASETS  what table3 trains on (fox_colmap, bonsai and chair of posed/, as far as they are there)
#              METHODS   pipelines of table3
#              TRAIN     more flags for every training run
#              STEPS, KILLS, EVERY      of soak, see scripts/soak; first with few STEPS (no --iterations in TRAIN then)
#              EQUAL, SEEDS, BOUND      of equal: two pipelines and what else scripts/equal-training takes
#              STRATEGIES, SEEDS, OPTIONS   of options, see scripts/options
#              SPLATCORE_OFFLOAD   of offload: Gaussians and GiB of the card (10000000,3; 100000000,24 takes 70 GB of the computer's memory)
#              BACKEND   of bench and training (cuda); cpu tries the script out
#              SPLATCORE_TEST_DEVICE   of the unit tests (card; with BACKEND=cpu the tests choose)
#              COMPUTE_SANITIZER   the program (found in PATH or CUDA_PATH)
# Every step's output goes to OUT too; a step that fails does not stop the others, but the exit code is then 1.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-./out} data=${DATA:-$here/data} passes=${PASSES:-20} limit=${LIMIT:-300}
pipelines=${PIPELINES:-aabb+scalar,exact+scalar,exact+early-cull,accutile+tc-gs,exact+tc-gs,exact+tc-gs-half,accutile+tc-gs-released,accutile+tc-gs-released-exp-f32,accutile+tc-gs-released-blend-f32,accutile+tc-gs-released-stop-each,accutile+tc-gs-released-vote,aabb+gemm-gs,exact+gemm-gs,exact+tensor-gs-2x2,exact+tensor-gs-2x2-half,exact+seele,obb+gscore,tile-cull+stop-the-pop,exact+subtile,exact+splatcore}
backend=${BACKEND:-cuda}
# Without it most unit tests take the emulator; where that finds no C++ compiler they pass without having run anything.
[[ $backend != cuda ]] || export SPLATCORE_TEST_DEVICE=${SPLATCORE_TEST_DEVICE:-card}
for what in "$@"; do
    case $what in
    conformance | models | bench | papers | sanitize | train | table3 | soak | equal | options | offload | all) ;;
    *)
        sed -n '3,33p' "${BASH_SOURCE[0]}" >&2
        exit 2
        ;;
    esac
done
[[ $# -gt 0 ]] || set -- conformance bench
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
data=$(cd "$data" && pwd) || exit 1
# Where the tests look for real data.
export SPLATCORE_DATA=$data
splatcore=$here/bin/splatcore
dataset=${DATASET:-$data/posed/fox_colmap}
read -ra more <<<"${TRAIN:-}"
datasets=()
for name in fox_colmap bonsai chair; do [[ -d $data/posed/$name ]] && datasets+=("$data/posed/$name"); done
[[ -z ${DATASETS:-} ]] || read -ra datasets <<<"$DATASETS"
boxes="aabb+scalar+atomic aabb+scalar+warp-reduce-skip"
tight="exact+scalar+atomic exact+scalar+warp-reduce exact+scalar+warp-reduce-skip exact+scalar+gaussian-parallel"
read -ra methods <<<"${METHODS:-$boxes $tight exact+splatcore+splatcore}"
failed=0 verdicts=()

wanted() { # wanted NAME: whether it was asked for
    local what
    for what in "${asked[@]}"; do [[ $what == "$1" || $what == all ]] && return 0; done
    return 1
}
asked=("$@")

step() { # step NAME COMMAND...: runs it, keeps its output and verdict
    local name=$1 start=$SECONDS verdict=ok
    shift
    echo "== $name"
    if ! "$@" > >(tee "$out/$name.txt") 2> >(tee "$out/$name.log" >&2); then
        verdict=FAILED failed=1
    fi
    # Let the two tees finish their files.
    wait
    verdicts+=("$(printf '%-44s %-7s %5d s' "$name" "$verdict" $((SECONDS - start)))")
}

missing() { # missing NAME WHY: a step that cannot run
    echo "== $1: $2" >&2
    verdicts+=("$(printf '%-44s %-7s %s' "$1" FAILED "$2")")
    failed=1
}

# The conformance suite; a test of the unit tests' binary.
suite=("$here/tests/splatcore_cuda" --exact tests::conformance::conformance_with_sums_in_fixed_order --test-threads=1 --nocapture)

conformance() {
    local binary module name tests
    for binary in "$here"/tests/*; do
        # A process for each module: after a kernel has failed, its process cannot use the card any more.
        for module in $("$binary" --list | sed -n 's/::[^:]*: test$//p' | sort -u); do
            [[ $module != tests::conformance ]] || continue
            mapfile -t tests < <("$binary" --list | sed -n "s/^\($module::[^:]*\): test$/\1/p")
            name=::$module:: name=${name//::tests::/::} name=${name#::} name=${name%::}
            # One test at a time: they share the card, and times and messages stay apart.
            step "test-${name//::/-}" "$binary" --exact "${tests[@]}" --test-threads=1 --nocapture
        done
    done
    if list_checks test-conformance; then step test-conformance each_check; fi
}

list_checks() { # list_checks STEP: writes the names of the conformance suite's checks to checks.txt; the step fails if there are none
    # The test's own name may stand in front of the first.
    SPLATCORE_LIST_CHECKS=1 "${suite[@]}" | sed -n 's/.*check: //p' >"$out/checks.txt"
    [[ -s $out/checks.txt ]] || { missing "$1" "the bundle's conformance suite has no checks"; return 1; }
}

models() {
    local name background
    for name in fox_colmap bonsai chair; do
        [[ -d $data/posed/$name ]] || continue
        background=black
        [[ $name != chair ]] || background=white
        if [[ $name == fox_colmap ]]; then
            [[ -e $data/models/fox_220k.spz ]] && compressed fox_220k "$data/models/fox_220k.spz" "$name" "$background"
            continue
        fi
        mkdir -p "$out/models"
        step "model-$name" "$splatcore" train "$data/posed/$name" -o "$out/models/$name" --overwrite --backend "$backend" \
            --strategy adc --iterations 30000 --background "$background" "${more[@]}"
        compressed "$name" "$out/models/$name/scene.ply" "$name" "$background"
    done
}

compressed() { # compressed NAME SCENE DATASET BACKGROUND: OUT/compressed/NAME/c3dgs/scene.ply, OUT/compressed/NAME/lightgaussian.ply
    local name=$1 scene=$2 dataset=$data/posed/$3 background=$4 folder=$out/compressed/$1
    mkdir -p "$folder"
    # The weight of Compact-3DGS.
    step "c3dgs-$name" "$splatcore" train "$dataset" -o "$folder/c3dgs" --overwrite --backend "$backend" \
        --strategy adc --iterations 30000 --background "$background" --learned-masks 5e-4 "${more[@]}"
    # Share, harmonics and steps of LightGaussian.
    step "lightgaussian-$name" "$splatcore" prune "$scene" --dataset "$dataset" -o "$folder/lightgaussian.ply" --overwrite \
        --backend "$backend" --background "$background" --score lightgaussian --keep 34% --sh-degree 2 --finetune 5000
}

bench() {
    local scene name found=0
    # Relative names: the JSON files hold them.
    cd "$data" || return
    for scene in models/*; do
        case $scene in
        *.ply | *.spz | *.sog | *.splat) ;;
        *) [[ -f $scene/meta.json ]] || continue ;;
        esac
        found=1
        name=$(basename "$scene")
        name=${name%.*}
        if [[ $name == fox_* && -d posed/fox_colmap ]]; then
            bench_scene "$name" "$scene" "" --dataset posed/fox_colmap
        else
            bench_scene "$name" "$scene" 1920x1080 --orbit 8
        fi
    done
    # Trained on this machine, each with the cameras of its own photos.
    for scene in "$out"/models/*/scene.ply; do
        [[ -f $scene ]] || continue
        found=1
        name=$(basename "$(dirname "$scene")")
        bench_scene "$name" "$(realpath --relative-to=. "$scene")" 1920x1080 --dataset "posed/$name"
    done
    ((found)) || missing bench "no scene in $data/models or $out/models"
}

bench_scene() { # bench_scene NAME SCENE SIZE CAMERAS...: SIZE is that of the first bench, or nothing for the cameras' own
    local name=$1 scene=$2 size=${3:+--size $3}
    shift 3
    # shellcheck disable=SC2086 # two words or none
    step "bench-$name" "$splatcore" bench "$scene" "$@" $size --backend "$backend" --pipeline "$pipelines" \
        --passes "$passes" --json "$out/bench-$name.json"
    step "bench-$name-4k" "$splatcore" bench "$scene" "$@" --size 3840x2160 --backend "$backend" --pipeline "$pipelines" \
        --interpolate --passes "$passes" --json "$out/bench-$name-4k.json"
    # shellcheck disable=SC2086
    step "bench-$name-backward" "$splatcore" bench "$scene" "$@" $size --backend "$backend" --backward \
        --passes "$passes" --json "$out/bench-$name-backward.json"
}

papers() {
    local paper model name scenes=() cameras=() compressed=() more
    cd "$data" || return
    if [[ -d posed/fox_colmap ]]; then
        for model in models/fox_*; do
            [[ -e $model ]] || continue
            scenes+=("$model") cameras+=(--dataset posed/fox_colmap)
            name=$(basename "$model")
            compressed_of "${name%.*}"
        done
    fi
    # Trained on this machine, each with the cameras of its own photos.
    for model in "$out"/models/*/scene.ply; do
        [[ -f $model ]] || continue
        name=$(basename "$(dirname "$model")")
        [[ -d posed/$name ]] || continue
        scenes+=("$(realpath --relative-to=. "$model")") cameras+=(--dataset "posed/$name")
        compressed_of "$name"
    done
    if [[ ${#scenes[@]} -eq 0 ]]; then
        missing papers "no models/fox_* with posed/fox_colmap in $data, no models/*/scene.ply in $out"
        return
    fi
    for paper in tc-gs gemm-gs tensor-gs atomic-aggregation llm; do
        more=()
        [[ $paper == atomic-aggregation ]] && have_trainings && more=(--trainings "$(realpath --relative-to=. "$out/table3")")
        [[ $paper == gemm-gs ]] && more=("${compressed[@]}")
        step "paper-$paper" "$splatcore" bench "${scenes[@]}" "${cameras[@]}" --backend "$backend" --paper "$paper" \
            "${more[@]}" --passes "$passes" --json "$out/paper-$paper.json" --html "$out/paper-$paper.html"
    done
}

compressed_of() { # compressed_of NAME: adds the scene's compressed models to those of `papers`
    local file
    for file in c3dgs/scene.ply lightgaussian.ply; do
        if [[ -f $out/compressed/$1/$file ]]; then
            compressed+=(--compressed "${file%%[./]*}=$(realpath --relative-to=. "$out/compressed/$1/$file")")
        else
            compressed+=(--compressed "${file%%[./]*}=none")
        fi
    done
}

have_trainings() { compgen -G "$out/table3/*/*/metrics.json" >/dev/null; }

table3() { # a run for each dataset and method, in OUT/table3/DATASET/METHOD
    local dataset name method
    for dataset in "${datasets[@]}"; do
        [[ -d $dataset ]] || { missing "table3-$(basename "$dataset")" "no dataset at $dataset"; continue; }
        name=$(basename "$dataset")
        for method in "${methods[@]}"; do
            mkdir -p "$out/table3/$name"
            step "table3-$name-$method" "$splatcore" train "$dataset" -o "$out/table3/$name/$method" --overwrite \
                --backend "$backend" --pipeline "$method" --time-limit "$limit" "${more[@]}"
        done
    done
}

sanitize() {
    local tool sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer)}
    [[ -n $sanitizer ]] || sanitizer=$(compgen -G "${CUDA_PATH:-/usr/local/cuda}/bin/compute-sanitizer")
    if [[ -z $sanitizer ]]; then
        missing sanitize "compute-sanitizer not found; set COMPUTE_SANITIZER to it (it comes with the CUDA toolkit)"
        return
    fi
    local -x SPLATCORE_PIPELINES=some
    list_checks sanitize || return
    # Without a sanitizer first: compiles all kernels once.
    step sanitize-conformance each_check
    for tool in memcheck racecheck; do step "$tool" each_check "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 20; done
}

each_check() { # each_check COMMAND...: every check in a process of its own, several at a time: half of the work is the CPU twin's, and a
    # sanitizer keeps one core busy
    xargs -d '\n' -P "$(nproc)" -I{} env SPLATCORE_CHECK={} "$@" "${suite[@]}" <"$out/checks.txt"
}

train() { # train NAME FLAGS...
    local name=$1
    shift
    step "$name" "$splatcore" train "$dataset" -o "$out/$name" --overwrite --backend "$backend" "$@" "${more[@]}"
}

have_photos() { # have_photos NAME
    [[ -d $dataset ]] || { missing "$1" "no dataset at $dataset"; return 1; }
}

value() { # value KEY FILE: of a JSON file with a key a line
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$2" | head -n 1
}

table() {
    local file name
    echo
    printf '%s\n' "${verdicts[@]}"
    for file in "$out"/bench-*.json; do
        [[ -f $file ]] || continue
        name=$(basename "$file" .json)
        echo
        printf '%-34s %9s %9s %9s %9s %8s\n' "${name#bench-}, ms" forward frame backward step PSNR
        # One line a row: its keys come in this order, each on a line of its own.
        awk -F'": ' '
            { key = $1; sub(/^ *"/, "", key); value = $2; gsub(/[",]/, "", value) }
            key == "pipeline" { name = value; v["backward_ms"] = v["step_ms"] = "-" }
            key == "gpu_ms" || key == "frame_ms" || key == "backward_ms" || key == "step_ms" {
                v[key] = sprintf("%.3f", value) }
            key == "psnr_vs_reference" {
                printf "%-34s %9s %9s %9s %9s %8.2f\n", name, v["gpu_ms"], v["frame_ms"], v["backward_ms"],
                    v["step_ms"], value }
            key == "reason" { printf "%-34s %s\n", name, value }
        ' "$file"
    done
    for file in "$out"/*/metrics.json "$out"/table3/*/*/metrics.json; do
        [[ -f $file ]] || continue
        name=$(dirname "${file#"$out"/}")
        printf '\n%-34s PSNR %.2f dB, SSIM %.4f, %d Gaussians, %d steps in %.1f s' "$name" "$(value psnr "$file")" \
            "$(value ssim "$file")" "$(value gaussians "$file")" "$(value steps "$file")" "$(value seconds "$file")"
    done
    echo
}

step doctor "$splatcore" doctor
"$splatcore" doctor --json >"$out/doctor.json" 2>/dev/null
if wanted conformance; then conformance; fi
if wanted models; then models; fi
if wanted bench; then bench; fi
if wanted sanitize; then sanitize; fi
if wanted train && have_photos train; then
    train train-adc
    train train-mcmc --strategy mcmc --max-gaussians 1000000 --iterations 15000
fi
if wanted table3; then table3; fi
# After what it makes tables of.
if wanted papers; then papers; fi
export SPLATCORE=$splatcore
if wanted soak && have_photos soak; then
    rm -rf "$out/soak"
    step soak "$here/scripts/soak" "$dataset" "$out/soak" --backend "$backend" "${more[@]}"
fi
if wanted equal && have_photos equal; then
    PIPELINES=${EQUAL:-exact+subtile+subtile,exact+splatcore+splatcore} \
        step equal "$here/scripts/equal-training" "$dataset" "$out/equal" --backend "$backend" "${more[@]}"
fi
if wanted options && have_photos options; then
    step options "$here/scripts/options" "$dataset" "$out/options" --backend "$backend" "${more[@]}"
fi
if wanted offload; then
    SPLATCORE_OFFLOAD=${SPLATCORE_OFFLOAD:-10000000,3} \
        step offload "$here/tests/splatcore_cuda" --ignored --nocapture beyond_a_card
fi
table | tee "$out/table.txt"
exit $failed
