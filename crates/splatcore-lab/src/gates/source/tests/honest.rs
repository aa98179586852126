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
    let edits = edits(include_str!("honest.txt"));
    assert_eq!(edits.len(), 20);
    for (file, from, to) in &edits {
        let verdict = baseline.judge_edit(file, from, to);
        verdict.unwrap_or_else(|said| panic!("{to:?}: {said}"));
    }
}

/// The first line of a kernel, and the same with a comparison of a size behind it.
const STARTS: &str = "    begin_kernel();\n";
const COMPARED: &str =
    "    begin_kernel();\n    if (args.camera.tiles_x < COUNT_BLOCK) __syncwarp();\n";

/// A model cannot know the names of files that are not compiled together with its own.
#[test]
fn only_files_that_are_compiled_along_take_names() {
    let texts = kernels();
    let judge = |file: &str, define: &str| {
        let changed = Texts::from([(file.to_owned(), format!("{define}\n{}", texts[file]))]);
        check(&texts, &[file], &changed)
    };
    // sort.cu, loss.cu and blend_stop_the_pop.cu have the word.
    judge("blend_seele.cu", "#define WINDOW 64").unwrap();
    let taken = |file: &str, define: &str| {
        let said = judge(file, define).unwrap_err();
        assert!(said.reason.contains("already means something"), "{said}");
    };
    taken("splat.cuh", "#define WINDOW 64");
    // The word is 512 in sort.cu.
    let small = format!("#define COUNT_BLOCK 16\n{}", texts["blend_seele.cu"]);
    assert_eq!(small.matches(STARTS).count(), 1);
    let small = small.replacen(STARTS, COMPARED, 1);
    let changed = Texts::from([("blend_seele.cu".to_owned(), small)]);
    check(&texts, &["blend_seele.cu"], &changed).unwrap();
    // A header that only the candidate includes.
    taken(
        "blend_seele.cu",
        "#include \"matrix.cuh\"\n#define GROUPS 4",
    );
}
