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
    assert_eq!(edits.len(), 22);
    for (file, from, to) in &edits {
        let verdict = baseline.judge_edit(file, from, to);
        verdict.unwrap_or_else(|said| panic!("{to:?}: {said}"));
    }
}

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
