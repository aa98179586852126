//! Attacks, each stopped by the gate that it names with a line for people.
//!
//! A file of `bad/` holds texts: a line `=== GATE: WORD` with a word of the rejection, and what is
//! put into the kernel. In `elsewhere.txt` the file stands in front of the gate, and lines of the
//! file are replaced. Lines `=== # ...` say what follows.

use super::*;
use Gate::Files;

/// In front of the kernel of blend_scalar.cu.
const ABOVE: &str = "extern \"C\" __global__ void __launch_bounds__(BLOCK)";
/// In its body.
const INSIDE: &str = "    float px = x + 0.5f, py = y + 0.5f;\n";

/// A word of the rejection, and the gate that must say it.
type Wanted<'a> = (Gate, &'a str);

/// Texts that a file cannot hold as they are.
const UNUSUAL: [(Wanted<'static>, &str); 4] = [
    ((Files, "none of C++'s"), "__device__ int \u{430}sm;\n"),
    ((Files, "U+202E"), "/* \u{202e} } */ \n"),
    ((Files, "U+000D"), "// a\rint counter;\n"),
    ((Files, "U+0000"), "// a\0\n"),
];

fn attacks(file: &'static str) -> impl Iterator<Item = (Wanted<'static>, &'static str)> {
    let parts = file
        .split("=== ")
        .skip(1)
        .filter(|part| !part.starts_with('#'));
    parts.map(|part| {
        let (head, text) = part.split_once('\n').unwrap();
        (wanted(head), text)
    })
}

fn wanted(text: &str) -> (Gate, &str) {
    let (gate, word) = text.split_once(": ").unwrap();
    (serde_json::from_value(gate.into()).unwrap(), word)
}

#[test]
fn attacks_above_the_kernel_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let attacks: Vec<_> = attacks(include_str!("bad/above.txt"))
        .chain(UNUSUAL)
        .collect();
    assert!(attacks.len() > 120, "{}", attacks.len());
    let judged = attacks.into_iter().map(|(wanted, text)| {
        let said = baseline.judge_edit("blend_scalar.cu", ABOVE, &format!("{text}{ABOVE}"));
        (wanted, text, said)
    });
    assert_stopped(judged);
}

/// Each is stopped by its gate, with a line that has the word, the file and the line's number.
fn assert_stopped<'a>(judged: impl Iterator<Item = (Wanted<'a>, &'a str, Result<(), Rejection>)>) {
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
    let attacks: Vec<_> = attacks(include_str!("bad/inside.txt")).collect();
    assert!(attacks.len() > 50, "{}", attacks.len());
    let judged = attacks.into_iter().map(|(wanted, text)| {
        let said = baseline.judge_edit("blend_scalar.cu", INSIDE, &format!("{INSIDE}{text}"));
        (wanted, text, said)
    });
    assert_stopped(judged);
}

#[test]
fn attacks_in_other_places_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let edits = edits(include_str!("bad/elsewhere.txt"));
    assert_eq!(edits.len(), 30);
    let judged = edits.iter().map(|(head, from, to)| {
        let (file, wanted) = head.split_once(' ').unwrap();
        (
            self::wanted(wanted),
            to.as_str(),
            baseline.judge_edit(file, from, to),
        )
    });
    assert_stopped(judged);
}

/// Another file of the candidate holds the number.
#[test]
fn numbers_of_other_changed_files_are_seen() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let singled = INSIDE.to_owned() + "    if (args.camera.tiles_x == ONE_WIDTH) return;\n";
    let kernel = texts["blend_scalar.cu"].replacen(INSIDE, &singled, 1);
    let judge = |header: &str| {
        let header = format!("{}\n{header}\n", texts["blend.cuh"]);
        baseline.judge(&Texts::from([
            ("blend.cuh".to_owned(), header),
            ("blend_scalar.cu".to_owned(), kernel.clone()),
        ]))
    };
    let said = judge("#define ONE_WIDTH 120").unwrap_err();
    let is_right = said.gate == Gate::Conditions && said.reason.contains("tiles_x == 120");
    assert!(is_right, "{said}");
    judge("#define ONE_WIDTH 12").unwrap();
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
