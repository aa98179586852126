//! What people and models do in good faith passes.

use super::*;

#[test]
fn every_kernel_file_passes_with_a_new_function() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let helper = "\n// Half of e^x.\n__device__ __forceinline__ float new_helper(float x) {\n    \
                  return __expf(x) * 0.5f;\n}\n";
    for (file, text) in &texts {
        let said = baseline
            .judge_text(file, format!("{text}// Other words.\n"))
            .unwrap_err();
        assert_eq!(said.gate, Gate::Files, "{file}: {said}");
        // At the end, and behind the includes.
        let at = text.rfind("\n#include").unwrap_or_default();
        let at = text[at + 1..].find('\n').unwrap_or_default() + at + 1;
        for longer in [
            format!("{text}{helper}"),
            format!("{}{helper}{}", &text[..at], &text[at..]),
        ] {
            let verdict = baseline.judge_text(file, longer);
            verdict.unwrap_or_else(|said| panic!("{file}: {said}"));
        }
    }
    let all = texts
        .iter()
        .map(|(file, text)| (file.clone(), format!("{text}{helper}")));
    let all: Texts = all.collect();
    baseline.judge(&all).unwrap();
    let files: Vec<&str> = texts.keys().map(String::as_str).collect();
    check(&texts, &files, &all).unwrap();
}

#[test]
fn edits_in_good_faith_pass() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    for (file, from, to) in EDITS {
        let verdict = baseline.judge_edit(file, from, to);
        verdict.unwrap_or_else(|said| panic!("{to:?}: {said}"));
    }
}

/// File, passage, what takes its place.
const EDITS: &[(&str, &str, &str)] = &[
    (
        "blend_scalar.cu",
        "++k) {\n#if CHECKPOINTS",
        "k++) {\n#if CHECKPOINTS",
    ),
    (
        "blend_scalar.cu",
        "float px = x + 0.5f, py = y + 0.5f;",
        "float py = y + 0.5f, px = x + 0.5f;",
    ),
    (
        "blend_scalar.cu",
        "#include \"blend.cuh\"",
        "#include \"blend.cuh\"\n#include \"matrix.cuh\"",
    ),
    (
        "blend_scalar.cu",
        "        for (u32 k = 0; k < count && !done; ++k) {\n",
        "#pragma unroll 4\n        for (u32 k = 0; k < count && !done; ++k) {\n",
    ),
    (
        "blend_scalar.cu",
        "float raw = exp2_approx(exponent);",
        "float raw = __expf(exponent * LN2);",
    ),
    (
        "blend_scalar.cu",
        "            float weight = alpha * transmittance;\n",
        "            const float weight = __fmul_rn(alpha, transmittance);\n",
    ),
    (
        "blend_scalar.cu",
        "void __launch_bounds__(BLOCK)",
        "void __launch_bounds__(BLOCK, 6)",
    ),
    (
        "blend_scalar.cu",
        "__shared__ Batch batch;",
        "__shared__ Batch batch;\n    __shared__ __align__(16) float4 ahead[2][BLOCK];",
    ),
    (
        "blend_scalar.cu",
        "        load_batch(batch, args, start, range.y);\n",
        "        auto fetch = [&](u32 from) { load_batch(batch, args, from, range.y); };\n        \
         fetch(start);\n",
    ),
    (
        "blend_scalar.cu",
        "extern \"C\" __global__",
        "constexpr u32 AHEAD = 128;\n#define CHUNK_SIZE (2 * BLOCK)  // tune: 64 128\n\n\
         template <int N>\n__device__ __forceinline__ float sum_of(const float (&v)[N], float \
         start = 0.0f) {\n    float sum = start;\n#pragma unroll\n    for (int k = 0; k < N; ++k) \
         sum += v[k];\n    return sum;\n}\n\nstruct Pair2 {\n    float first, second;\n    \
         __device__ __forceinline__ float sum() const { return first + second; }\n};\n\
         static_assert(CHUNK_SIZE % WARP == 0, \"whole warps\");\n\nextern \"C\" __global__",
    ),
    (
        "blend_scalar.cu",
        "#if DEPTH\n    float inverse_depth = 0.0f;\n#endif",
        "#if DEPTH\n    float inverse_depth = 0.0f;\n#else\n    (void)0;\n#endif",
    ),
    (
        "blend_scalar.cu",
        "    for (u32 start = range.x;",
        "#if HAS_SM80\n    __syncwarp();\n#endif\n    for (u32 start = range.x;",
    ),
    (
        "blend.cuh",
        "float4 colours[BLOCK];  // red, green, blue, 1/z",
        "float4 colours[BLOCK + 1];",
    ),
    (
        "blend.cuh",
        "    ReadOnly<float4> from = splat_of_pair(args, args.pairs[start + threadIdx.x]);\n",
        "    u32 pair = __ldg(args.pairs.address + start + threadIdx.x);\n    \
         ReadOnly<float4> from = splat_of_pair(args, pair);\n",
    ),
    (
        "inference.cuh",
        "#include \"half_rows.cuh\"",
        "#include \"half_rows.cuh\"\n#define STAGES_AHEAD 3",
    ),
    ("half_rows.cuh", "#define BATCH 16", "#define BATCH 32"),
    ("half_rows.cuh", "if (q * d > n) --q;", "q -= q * d > n;"),
    (
        "adam.cu",
        "#define BATCH (12 / WIDE)",
        "#define BATCH (24 / WIDE)",
    ),
    (
        "sort.cu",
        "#define OWNED (DIGITS > BLOCK ? DIGITS / BLOCK : 1)",
        "#define OWNED (DIGITS > BLOCK ? (DIGITS + BLOCK - 1) / BLOCK : 1)",
    ),
    (
        "device.cuh",
        "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));",
        "    asm(\"ex2.approx.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));",
    ),
    (
        "matrix.cuh",
        "    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" ::",
        "    asm volatile(\"{.reg .pred p;\\n\\t setp.ne.u32 p, %0, 0;\\n\\t @p \
         cp.async.cg.shared.global [%0], [%1], 16;}\" ::",
    ),
    (
        "blend_interpolated.cu",
        "    uint4 weights = WEIGHTS.lanes[lane];",
        "    uint4 weights = WEIGHTS.lanes[lane % WARP];",
    ),
];

/// The list of instructions holds all that the kernels have, but for the wait of `begin_kernel`.
#[test]
fn assembly_of_the_kernels_is_on_the_list() {
    let texts = kernels();
    let mut seen = 0;
    for (file, text) in &texts {
        let code = tokens::lex(text).unwrap().code;
        for range in assembly::statements(&code) {
            let (text, _) = assembly::template(&code[range]);
            seen += 1;
            assert_eq!(
                ptx::check(&text).is_ok(),
                !text.contains("griddepcontrol"),
                "{file}: {text}: {:?}",
                ptx::check(&text)
            );
        }
    }
    assert!(seen > 40, "{seen}");
}
