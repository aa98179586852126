//! Whatever the text, the gates end with a verdict.

use super::*;

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

const PIECES: [&str; 48] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "=",
    "<",
    ">",
    "template",
    "struct",
    "union",
    "asm",
    "asm(",
    "volatile",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "\\\n",
    "\n",
    "\n#if ",
    "\n#else\n",
    "\n#endif\n",
    "\n#ifdef EMULATED\n",
    "\n#define A ",
    "\n#include \"splat.cuh\"\n",
    "\n#pragma unroll\n",
    "extern \"C\" __global__",
    "__device__",
    "__shared__",
    "__launch_bounds__",
    "constexpr",
    "static_assert",
    "switch",
    "width",
    "==",
    "1920",
    "alignas",
    "using",
    "::",
    "*)",
    "\"mov.u32 %0, %%smid;\"",
    "@p ",
    ".reg",
];

/// A text with some of its places cut, doubled or filled with other pieces.
fn shuffled(text: &str, random: &mut Random) -> String {
    let mut text: String = text.to_owned();
    for _ in 0..=random.below(4) {
        let mut place = || {
            let at = random.below(text.len().max(1));
            (0..=at)
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or_default()
        };
        let (from, to) = (place(), place());
        let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 60));
        let to = (to..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(text.len());
        let pieces: String = (0..random.below(6))
            .map(|_| PIECES[random.below(48)])
            .collect();
        match random.below(3) {
            0 => text.replace_range(from..to, &pieces),
            1 => text.insert_str(from, &pieces),
            _ => text.replace_range(from..to, ""),
        }
    }
    text
}

#[test]
fn noise_gets_a_verdict() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let mut random = Random(11);
    let files = [
        "blend_scalar.cu",
        "matrix.cuh",
        "half_rows.cuh",
        "blend.cuh",
        "device.cuh",
    ];
    let mut passed = 0;
    for k in 0..1500 {
        let file = files[k % files.len()];
        let text = shuffled(&texts[file], &mut random);
        match baseline.judge_text(file, text) {
            Ok(()) => passed += 1,
            Err(said) => assert!(
                !said.reason.is_empty() && !said.reason.contains('\n'),
                "{said}"
            ),
        }
    }
    // Some noise is an honest edit.
    assert!(passed > 0, "{passed}");
}

#[test]
fn pieces_alone_get_a_verdict() {
    let texts = Texts::from([("a.cu".to_owned(), "struct A {};\n".to_owned())]);
    let baseline = Baseline::of(&texts);
    let mut random = Random(5);
    for _ in 0..20_000 {
        let text: String = (0..random.below(16))
            .flat_map(|_| [PIECES[random.below(48)], " "])
            .collect();
        let _ = baseline.judge_text("a.cu", text);
    }
}

/// Brackets and conditions as deep as a text's size allows.
#[test]
fn depth_does_not_exhaust_the_stack() {
    let texts = Texts::from([("a.cu".to_owned(), "struct A {};\n".to_owned())]);
    let baseline = Baseline::of(&texts);
    let half = ROOM / 20;
    for text in [
        "{".repeat(half),
        format!("void f() {}{}", "(".repeat(half), ")".repeat(half)),
        format!("{}{}", "#if 1\n".repeat(half), "#endif\n".repeat(half)),
        "template <".repeat(half),
        "asm(".repeat(half),
        "*".repeat(half),
        (0..half / 4)
            .map(|k| format!("#define A{k} A{}\n", k + 1))
            .collect(),
    ] {
        let started = std::time::Instant::now();
        let _ = baseline.judge_text("a.cu", text);
        assert!(started.elapsed().as_secs() < 20);
    }
}
