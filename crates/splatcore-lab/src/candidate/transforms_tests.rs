use super::*;
use crate::candidate::splice::splice;

fn texts(text: &str) -> Texts {
    Texts::from([("a.cu".into(), text.into())])
}

/// The text after a choice at a site.
fn after(text: &str, name: &str, choice: &str) -> Option<String> {
    let sites = find(&texts(text)).unwrap();
    let site = sites.into_iter().find(|site| site.name == name)?;
    let (_, splices) = site
        .choices
        .into_iter()
        .find(|(known, _)| *known == choice)?;
    Some(splice(&texts(text), splices).unwrap()["a.cu"].clone())
}

const LOOP: &str =
    "  // mark: loop K\n  for (u32 k = 0; k < count && !done; ++k) {\n    f(k);\n  }\n";

#[test]
fn the_catalogue_names_each_kind_once() {
    for (at, entry) in CATALOGUE.iter().enumerate() {
        assert!(CATALOGUE[..at].iter().all(|other| other.kind != entry.kind));
        assert!(!entry.choices.is_empty() && !entry.effect.is_empty());
    }
}

#[test]
fn loops_are_unrolled_and_left_otherwise() {
    let unrolled = after(LOOP, "K.unroll", "4").unwrap();
    assert_eq!(unrolled, LOOP.replace("  for", "  #pragma unroll 4\n  for"));
    let left = after(LOOP, "K.exit", "continue").unwrap();
    let expected = "  // mark: loop K\n  for (u32 k = 0; k < count; ++k) {\n      if (done) \
                    continue;\n    f(k);\n  }\n";
    assert_eq!(left, expected);
    let first = LOOP.replace("k < count && !done", "!done && k < count");
    assert_eq!(after(&first, "K.exit", "continue").unwrap(), expected);
    // A tunable's pragma stays the only one.
    let tuned = LOOP.replace("  for", "  #pragma unroll 2  // tune U: 1 2\n  for");
    assert_eq!(after(&tuned, "K.unroll", "4"), None);
    assert!(
        after(&tuned, "K.exit", "break")
            .unwrap()
            .contains("if (done) break;")
    );
}

#[test]
fn loops_whose_exit_means_more_keep_it() {
    for (from, to) in [
        ("u32 k = 0", "k = 0"),
        ("u32 k = 0", "u32 k = 0, j = 0"),
        ("k < count && !done", "k < count"),
        ("k < count && !done", "!done"),
        ("k < count && !done", "k < count || !done"),
        ("k < count && !done", "k < count && !done && !late"),
        ("k < count && !done", "f(k) && !done"),
        ("k < count && !done", "k++ < count && !done"),
        ("k < count && !done", "(k < count && !done)"),
        ("k < count && !done", "k < count && !done[k]"),
        ("++k", "++k, ++j"),
        ("++k", "j += 1"),
        ("++k", "k = next(k)"),
        (" {\n    f(k);\n  }", "\n    f(k);"),
    ] {
        let text = LOOP.replace(from, to);
        assert_eq!(after(&text, "K.exit", "break"), None, "{text}");
        assert!(after(&text, "K.unroll", "2").is_some(), "{text}");
    }
}

#[test]
fn loads_take_another_instruction() {
    let text = "// mark: load M\nfloat4 mean = args.means[start + (u32)k[1]]; // a[i]\n";
    let expected = text.replace(
        "args.means[start + (u32)k[1]]",
        "__ldg(&args.means[start + (u32)k[1]])",
    );
    assert_eq!(after(text, "M.load", "__ldg").unwrap(), expected);
    let shared = format!("__shared__ Batch args;\n{text}");
    assert!(find(&texts(&shared)).is_err());
    for line in [
        "float4 a = -b[i];",
        "float4 a = b[i] + c[i];",
        "float4 a = b[i], c = d[i];",
        "float4 a = b[i++];",
        "float4 a = f(b[i]);",
        "float4 a = b[f(i)];",
        "if (a == b[i]) c = d[i];}",
        "b[i] += 1;",
    ] {
        let error = find(&texts(&format!("// mark: load M\n{line}\n"))).unwrap_err();
        assert!(error.what.contains("nothing applies"), "{line}: {error}");
    }
}

#[test]
fn exponentials_change_in_a_whole_file() {
    let text = "// expf(a)\nfloat x = expf(a) * __expf(b);\nfloat y = expf(x);\n";
    let expected = "// expf(a)\nfloat x = __expf(a) * __expf(b);\nfloat y = __expf(x);\n";
    assert_eq!(after(text, "expf", "__expf").unwrap(), expected);
    assert_eq!(
        find(&texts("// expf(a)\nfloat x = __expf(b);\n")).unwrap(),
        []
    );
    let two = Texts::from([("a.cu".into(), text.into()), ("b.cu".into(), text.into())]);
    let names: Vec<String> = find(&two)
        .unwrap()
        .into_iter()
        .map(|site| site.name)
        .collect();
    assert_eq!(names, ["a.cu:expf", "b.cu:expf"]);
}

#[test]
fn marks_that_mark_nothing_are_errors() {
    for (text, line, what) in [
        ("\n// mark: loop\nfor (;;) {}\n", 2, "mark: loop NAME"),
        ("// mark: branch B\nif (a) b();\n", 1, "mark: loop NAME"),
        ("// mark: loop 3\nfor (;;) {}\n", 1, "mark: loop NAME"),
        ("// mark: loop K\nwhile (a) {}\n", 1, "nothing applies"),
        ("// mark: loop K\n", 1, "nothing applies"),
        ("// mark: load K", 1, "nothing applies"),
    ] {
        let error = find(&texts(text)).unwrap_err();
        assert!(
            error.line == line && error.what.contains(what),
            "{text}: {error}"
        );
    }
    let twice = find(&texts(&format!("{LOOP}{LOOP}"))).unwrap_err();
    assert_eq!(
        twice.to_string(),
        "a.cu:5: another mark is called K: rename one"
    );
}
