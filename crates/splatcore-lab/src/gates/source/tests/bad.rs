//! Attacks, each stopped by the gate that it names with a line for people.

mod above;
mod inside;

use super::*;
use Gate::{Assembly, Conditions, Directives, Files, Interface};
use above::ABOVE_KERNEL;
use inside::IN_KERNEL;

/// In front of the kernel of blend_scalar.cu.
const ABOVE: &str = "extern \"C\" __global__ void __launch_bounds__(BLOCK)";
/// In its body.
const INSIDE: &str = "    float px = x + 0.5f, py = y + 0.5f;\n";

/// A word of the rejection, and the gate that must say it.
type Wanted = (Gate, &'static str);

#[test]
fn attacks_above_the_kernel_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    assert!(ABOVE_KERNEL.len() > 60);
    let judged = ABOVE_KERNEL.iter().map(|(wanted, text)| {
        let said = baseline.judge_edit("blend_scalar.cu", ABOVE, &format!("{text}{ABOVE}"));
        (*wanted, *text, said)
    });
    assert_stopped(judged);
}

/// Each is stopped by its gate, with a line that has the word, the file and the line's number.
fn assert_stopped<'a>(judged: impl Iterator<Item = (Wanted, &'a str, Result<(), Rejection>)>) {
    let mut wrong = Vec::new();
    for ((gate, word), text, said) in judged {
        let Err(said) = said else {
            wrong.push(format!("not stopped: {text:?}"));
            continue;
        };
        let place = said.reason.split_once(": ").map_or("", |(place, _)| place);
        let number = place
            .rsplit_once(':')
            .map(|(_, number)| number.parse::<u32>());
        let is_placed = matches!(number, Some(Ok(_))) || gate == Files;
        let is_right = said.gate == gate && said.reason.contains(word);
        if !is_right || !is_placed || said.reason.contains('\n') {
            wrong.push(format!("{text:?}: {said}; wanted {gate}: {word}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn attacks_in_the_kernel_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let judged = IN_KERNEL.iter().map(|(wanted, text)| {
        let said = baseline.judge_edit("blend_scalar.cu", INSIDE, &format!("{INSIDE}{text}"));
        (*wanted, *text, said)
    });
    assert_stopped(judged);
}

/// File, passage, what takes its place.
const PASSAGES: &[(Wanted, &str, &str, &str)] = &[
    // Twins, and what tells them apart.
    (
        (Conditions, "emulated branch"),
        "device.cuh",
        "    return exp2f(x);\n",
        "    return 0.0f;\n",
    ),
    (
        (Conditions, "emulated branch"),
        "device.cuh",
        "#ifdef EMULATED\n    return exp2f(x);\n",
        "#ifndef EMULATED\n    return exp2f(x);\n",
    ),
    (
        (Conditions, "emulated branch"),
        "device.cuh",
        "#if !defined(EMULATED) && __CUDA_ARCH__ >= 900",
        "#if defined(EMULATED) && __CUDA_ARCH__ >= 900",
    ),
    // The wait of all kernels.
    (
        (Interface, "begin_kernel"),
        "device.cuh",
        "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n",
        "",
    ),
    (
        (Interface, "begin_kernel"),
        "device.cuh",
        "void begin_kernel() {",
        "int begin_kernel() {",
    ),
    (
        (Interface, "begin_kernel"),
        "blend_scalar.cu",
        "    begin_kernel();\n    __shared__ Batch batch;\n",
        "    __shared__ Batch batch;\n    begin_kernel();\n",
    ),
    (
        (Interface, "begin_kernel"),
        "blend_scalar.cu",
        "    begin_kernel();\n",
        "#if DEPTH\n    begin_kernel();\n#endif\n",
    ),
    (
        (Interface, "begin_kernel"),
        "blend_scalar.cu",
        "__launch_bounds__(BLOCK)\n    blend(const __grid_constant__ BlendParams args) {\n    \
         begin_kernel();\n",
        "__launch_bounds__([] {\n    begin_kernel();\n    return 256;\n}())\n    \
         blend(const __grid_constant__ BlendParams args) {\n",
    ),
    (
        (Interface, "not stand there as often"),
        "blend_scalar.cu",
        "begin_kernel();",
        "begin_kernel ();;",
    ),
    (
        (Interface, "begin_kernel"),
        "blend_scalar.cu",
        "    begin_kernel();\n",
        "",
    ),
    // Kernels and structs.
    (
        (Interface, "stands where blend was"),
        "blend_scalar.cu",
        "    blend(const",
        "    blend2(const",
    ),
    (
        (Interface, "is declared as"),
        "blend_scalar.cu",
        "blend(const __grid_constant__ BlendParams args)",
        "blend(const BlendParams args)",
    ),
    (
        (Interface, "is declared as"),
        "blend_scalar.cu",
        "BlendParams args) {",
        "BlendParams args, int frame) {",
    ),
    (
        (Interface, "BlendParams is not as"),
        "blend.cuh",
        "    u32* stops; ",
        "    float* history;\n    u32* stops; ",
    ),
    (
        (Interface, "Camera is not as"),
        "splat.cuh",
        "    u32 width, height; ",
        "    u32 height, width; ",
    ),
    (
        (Interface, "Counters"),
        "splat.cuh",
        "struct Counters {",
        "struct Counters2 {",
    ),
    (
        (Interface, "Rates"),
        "adam.cu",
        "struct Rates {",
        "struct Rates : Camera {",
    ),
    (
        (Directives, "free"),
        "antialias.cuh",
        "#pragma once\n",
        "#pragma once\n__device__ void give(float* x) {\n    free(x);\n}\n",
    ),
    // What the baseline has may stay where it is, not come again.
    (
        (Conditions, "store_same"),
        "device.cuh",
        "    return value;\n}\n\n// Inclusive sum",
        "    store_same(&value, value);\n    return value;\n}\n\n// Inclusive sum",
    ),
    (
        (Conditions, "is a constant"),
        "blend_interpolated.cu",
        "    uint4 weights = WEIGHTS.lanes[lane];",
        "    uint4 weights = ((uint4*)&WEIGHTS)[lane];",
    ),
    (
        (Conditions, "is a constant"),
        "blend_interpolated.cu",
        "    uint4 weights = WEIGHTS.lanes[lane];",
        "    float* kept = (float*)SPLINE;\n    uint4 weights = WEIGHTS.lanes[lane];",
    ),
    (
        (Conditions, "variable outside"),
        "blend_interpolated.cu",
        "__device__ constexpr Weights WEIGHTS;",
        "__device__ Weights WEIGHTS;",
    ),
    (
        (Directives, "already means"),
        "blend.cuh",
        "#pragma once\n",
        "#pragma once\n#define BLOCK 64\n",
    ),
    (
        (Directives, "holds ;"),
        "half_rows.cuh",
        "#define BATCH 16",
        "#define BATCH 16; int x",
    ),
    (
        (Directives, "takes parameters"),
        "half_rows.cuh",
        "#define BATCH 16",
        "#define BATCH(x) x",
    ),
    (
        (Directives, "an #include"),
        "blend.cuh",
        "    if (start + threadIdx.x >= end) return;\n",
        "#include \"matrix.cuh\"\n    if (start + threadIdx.x >= end) return;\n",
    ),
    ((Assembly, "%smid"), "device.cuh", "%%lanemask_lt", "%%smid"),
    (
        (Assembly, "trap"),
        "device.cuh",
        "\"ex2.approx.ftz.f32 %0, %1;\"",
        "\"trap;\"",
    ),
    (
        (Files, "no token differs"),
        "blend.cuh",
        "// The parameters of every blend",
        "// These",
    ),
];

#[test]
fn attacks_in_other_places_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let judged = PASSAGES
        .iter()
        .map(|(wanted, file, from, to)| (*wanted, *to, baseline.judge_edit(file, from, to)));
    assert_stopped(judged);
}

#[test]
fn files_are_the_tasks() {
    let texts = kernels();
    let changed = |file: &str, text: String| Texts::from([(file.to_owned(), text)]);
    let of = |file: &str| format!("{}struct A1 {{}};\n", texts[file]);
    let said = |changed: &Texts| check(&texts, &["blend_scalar.cu"], changed).unwrap_err();
    assert!(
        check(
            &texts,
            &["blend_scalar.cu"],
            &changed("blend_scalar.cu", of("blend_scalar.cu"))
        )
        .is_ok()
    );
    for (changed, word) in [
        (
            changed("blend.cuh", of("blend.cuh")),
            "change only blend_scalar.cu",
        ),
        (
            changed("blend_scaler.cu", of("blend.cuh")),
            "takes the place of no kernel file",
        ),
        (
            changed("../blend_scalar.cu", of("blend.cuh")),
            "takes the place of no kernel file",
        ),
        (Texts::new(), "no token differs"),
        (
            changed("blend_scalar.cu", of("blend_scalar.cu").repeat(40)),
            "bytes, ",
        ),
    ] {
        let said = said(&changed);
        assert!(said.gate == Files && said.reason.contains(word), "{said}");
    }
}
