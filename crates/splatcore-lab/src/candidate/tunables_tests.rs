use super::*;
use splatcore_core::random::Rng;

const BLEND: &str = "// A header; tunes nothing.\n\
    #define WARP 32\n\
    #define BATCH 64  // tune: 32 64 128; when BATCH % WARP == 0 && BATCH >= BLOCK\n\
    #define BLOCK 64u //tune:64 32\n\
    #define VARIANT 0 // tune VARIANT: 0 1 2\n\
    void f() {\n\
    \x20   #pragma unroll 4  // tune UNROLL_J: 1 2 4 8\n\
    \x20   for (;;) {}  // tuned by hand\n\
    }\n";

fn texts(text: &str) -> Texts {
    Texts::from([("blend.cu".into(), text.into())])
}

#[test]
fn declarations_are_read() {
    let tunables = parse(&texts(BLEND)).unwrap();
    let seen: Vec<_> = tunables
        .iter()
        .map(|t| {
            (
                t.name.as_str(),
                t.line,
                t.values.as_slice(),
                t.values[t.current],
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("BATCH", 3, [32, 64, 128].as_slice(), 64),
            ("BLOCK", 4, &[64, 32], 64),
            ("VARIANT", 5, &[0, 1, 2], 0),
            ("UNROLL_J", 7, &[1, 2, 4, 8], 4),
        ]
    );
    let condition = tunables[0].condition.as_ref().unwrap();
    assert_eq!(
        condition.to_string(),
        "(((BATCH % 32) == 0) && (BATCH >= BLOCK))"
    );
}

#[test]
fn only_the_numbers_change() {
    let values = Assignment::from([
        ("BATCH".into(), 128),
        ("BLOCK".into(), 32),
        ("UNROLL_J".into(), 8),
    ]);
    let after = set(&texts(BLEND), &values).unwrap();
    let expected = BLEND
        .replace("BATCH 64", "BATCH 128")
        .replace("64u", "32u")
        .replace("unroll 4", "unroll 8");
    assert_eq!(after["blend.cu"], expected);
}

#[test]
fn errors_say_where_and_what_to_do() {
    for (text, line, remedy) in [
        ("#define A 3  // tune: 1 2\n", 1, "add 3"),
        ("\n#define A 3  // tune 3 4\n", 2, "behind a colon"),
        ("#define A 3  // tune: 3 x\n", 1, "`x` is no integer"),
        ("#define A 3  // tune: 3 4 3\n", 1, "twice"),
        ("#define A 3  // tune B: 3 4\n", 1, "defines A"),
        ("#define A 3  // tune: 3 4; if A\n", 1, "`when`"),
        (
            "#define A 3  // tune: 3 4; when A ==\n",
            1,
            "expected a number or a name",
        ),
        (
            "#define A 3  // tune: 3 4; when A > 3\n",
            1,
            "does not hold",
        ),
        (
            "#define A 3  // tune: 3 4; when A / 0 == 1\n",
            1,
            "does not hold",
        ),
        ("#define A (3)  // tune: 3 4\n", 1, "no decimal integer"),
        ("#define A B  // tune: 3 4\n", 1, "no decimal integer"),
        ("#pragma unroll 4  // tune: 4 8\n", 1, "name it"),
        ("#pragma unroll  // tune U: 4 8\n", 1, "stands on"),
        ("int a = 3;  // tune A: 3 4\n", 1, "stands on"),
        ("// tune: this later\n", 1, "stands on"),
        (
            "#define A 3 // tune: 3\n#define A 4 // tune: 4\n",
            2,
            "in line 1 too",
        ),
        (
            "#define A 3 // tune: 3\n#undef A\n#define A 4\n",
            1,
            "without `tune`",
        ),
        (
            "#define N 1\n#define N 2\n#define A 3 // tune: 3 4; when A > N\n",
            3,
            "several values",
        ),
    ] {
        let error = parse(&texts(text)).unwrap_err();
        assert_eq!(
            (error.line, error.file.as_str()),
            (line, "blend.cu"),
            "{text}: {error}"
        );
        assert!(error.what.contains(remedy), "{text}: {error}");
    }
    let error = |name: &str, value| {
        let assignment = Assignment::from([(name.into(), value)]);
        set(&texts(BLEND), &assignment).unwrap_err().to_string()
    };
    assert_eq!(
        error("BATCH", 65),
        "blend.cu:3: BATCH: 65 is not listed; listed are 32 64 128"
    );
    assert!(error("BATHC", 64).contains("declared are: BATCH, BLOCK"));
}

#[test]
fn names_of_several_files() {
    let two =
        |a: &str, b: &str| Texts::from([("a.cuh".into(), a.into()), ("b.cu".into(), b.into())]);
    let both = two(
        "#define N 1 // tune: 1 2\n",
        "#define N 4 // tune: 4 8; when N % 4 == 0\n#define M 2 // tune: 2; when M < N\n",
    );
    let tunables = parse(&both).unwrap();
    let names: Vec<&str> = tunables.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["a.cuh:N", "b.cu:N", "M"]);
    let condition = tunables[2].condition.as_ref().unwrap();
    assert_eq!(condition.to_string(), "(M < b.cu:N)");
    let after = set(&both, &Assignment::from([("a.cuh:N".into(), 2)])).unwrap();
    assert!(after["a.cuh"].starts_with("#define N 2 "));
    assert_eq!(after["b.cu"], both["b.cu"]);

    let constant = two(
        "#define WARP 32\n",
        "#define N 64 // tune: 64 32; when N % WARP == 0\n",
    );
    assert!(parse(&constant).unwrap()[0].condition.is_some());
    let mut ambiguous = constant.clone();
    ambiguous.insert("c.cuh".into(), "#define WARP 64\n".into());
    assert!(
        parse(&ambiguous)
            .unwrap_err()
            .what
            .contains("several files")
    );
}

/// A text with `count` tunables among other lines.
fn random_text(rng: &mut Rng, count: usize) -> String {
    let mut text = String::new();
    for i in 0..count {
        for _ in 0..rng.below(3) {
            text += ["// comment\n", "\n", "#define OTHER 12\n", "int x = 64;\n"][rng.below(4)];
        }
        let values: Vec<i64> = (0..1 + rng.below(5) as i64).map(|k| k * k - 2).collect();
        let current = values[rng.below(values.len())];
        let values = values
            .iter()
            .map(i64::to_string)
            .collect::<Vec<_>>()
            .join(" ");
        let indent = " ".repeat(rng.below(4));
        text += &match rng.below(2) {
            0 => format!("{indent}#define  T{i}\t{current}  // tune: {values}\n"),
            _ => format!("{indent}#pragma unroll {current}//tune T{i}:  {values}\r\n"),
        };
    }
    text
}

#[test]
fn assignments_are_read_back_and_undone() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed, 0);
        let count = 1 + rng.below(6);
        let before = texts(&random_text(&mut rng, count));
        let tunables = parse(&before).unwrap();
        assert_eq!(tunables.len(), count, "{before:?}");
        let draw = |t: &Tunable, rng: &mut Rng| t.values[rng.below(t.values.len())];
        let assignment: Assignment = tunables
            .iter()
            .map(|t| (t.name.clone(), draw(t, &mut rng)))
            .collect();
        let after = set(&before, &assignment).unwrap();
        for tunable in parse(&after).unwrap() {
            assert_eq!(tunable.values[tunable.current], assignment[&tunable.name]);
        }
        let undo = tunables
            .iter()
            .map(|t| (t.name.clone(), t.values[t.current]))
            .collect();
        assert_eq!(set(&after, &undo).unwrap(), before);
    }
}

/// The build knows more names than the texts: such a condition is its business.
#[test]
fn a_condition_with_a_name_of_the_builds_is_left_to_it() {
    let tunables = parse(&texts("#define A 3 // tune: 3 4; when A < MAX\n")).unwrap();
    assert_eq!(tunables[0].values, [3, 4]);
    assert_eq!(tunables[0].condition, None);
}
