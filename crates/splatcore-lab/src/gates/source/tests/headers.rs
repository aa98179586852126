//! The lists of names against the emulator's headers and the machine's.

use super::*;
use std::collections::BTreeSet;
use std::process::Command;

const EMULATOR: &str = "../splatcore-cuda/emulator";

/// Functions of numbers and bytes, which do nothing else; other words that brackets follow.
const HARMLESS: &str = "abs labs llabs div ldiv lldiv timespec push sizeof terminate";

/// The emulator's files.
fn emulator() -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(EMULATOR)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let texts = entries.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()));
    texts.collect()
}

/// A macro that the emulator gives in capitals is the build's own name.
#[test]
fn macros_of_the_emulator_are_the_builds() {
    let mut found = 0;
    for (path, text) in emulator() {
        for line in text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("#define "))
        {
            let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = &line[..end.unwrap_or(line.len())];
            found += 1;
            assert!(
                !names::is_macro_name(name) || names::is_guard(name) || name == "HAS_SM80",
                "{}: {name} is not in names.rs",
                path.display()
            );
        }
    }
    assert!(found > 30, "{found}");
}

/// Every function of the emulator with a reserved name is one that kernels may use, or is known to
/// be none.
#[test]
fn functions_of_the_emulator_are_known() {
    let text = emulator()
        .into_iter()
        .map(|(_, text)| text)
        .collect::<String>();
    let clocks = ["clock64", "__globaltimer", "__nanosleep", "__trap"];
    for name in clocks {
        assert!(
            text.contains(name) && names::CLOCKS.contains(name),
            "{name}"
        );
    }
    for name in [
        "__shfl_xor_sync",
        "__ldg",
        "__expf",
        "__fmul_rn",
        "__float2int_rn",
        "__brev",
    ] {
        assert!(names::is_cuda_name(name), "{name}");
    }
    for name in [
        "__builtin_trap",
        "__nvvm_x",
        "__va_list",
        "__v",
        "__float2",
        "_Exit",
        "__f_rn",
    ] {
        assert!(!names::is_cuda_name(name), "{name}");
    }
}

/// What the headers of this machine's C library declare is on the list or harmless. Of Linux with
/// glibc only, and where a compiler is.
#[test]
fn functions_of_the_host_are_on_the_list() {
    let texts = emulator();
    let includes: BTreeSet<&str> = texts
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter(|line| line.starts_with("#include <"))
        .filter(|line| {
            !["math.h", "string.h", "utility"]
                .iter()
                .any(|name| line.contains(name))
        })
        .collect();
    assert!(includes.len() > 4, "{includes:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers.cpp");
    std::fs::write(&path, includes.into_iter().collect::<Vec<_>>().join("\n")).unwrap();
    let output = Command::new("c++")
        .args(["-std=c++17", "-E", "-P"])
        .arg(&path)
        .output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        eprintln!("not run: no C++ compiler");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    if !text.contains("secure_getenv") {
        eprintln!("not run: not glibc");
        return;
    }
    // The word in front of a bracket that follows another word or a star.
    let mut seen = 0;
    let mut strange = BTreeSet::new();
    for (at, _) in text.match_indices('(') {
        let front = text[..at].trim_end();
        let start = front.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &front[start.map_or(0, |start| start + 1)..];
        let before = front[..front.len() - name.len()].trim_end();
        let declares = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '*');
        let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase());
        if declares && is_plain && !before.ends_with("::") {
            seen += 1;
            let is_keyword = ["int", "char", "decltype", "noexcept", "void"].contains(&name);
            let is_harmless = HARMLESS.split_whitespace().any(|harmless| harmless == name);
            let is_type = ["la_", "cookie_", "strto", "strfrom"]
                .iter()
                .any(|of| name.starts_with(of));
            if !is_keyword
                && !is_harmless
                && !is_type
                && !names::is_host_function(name)
                && !names::CLOCKS.contains(name)
            {
                strange.insert(name.to_owned());
            }
        }
    }
    assert!(seen > 200, "{seen}");
    assert!(strange.is_empty(), "{strange:?}");
}

/// Kernels have no names that the lists forbid, so that one more use of a variable is no offence.
#[test]
fn kernels_have_no_names_of_the_host() {
    for (file, text) in kernels() {
        let lexed = tokens::lex(&text).unwrap();
        for token in lexed.code.iter().filter(|token| token.is_word()) {
            let is_listed = names::is_host_function(token.text)
                || names::CLOCKS.contains(token.text)
                || names::is_reserved(token.text) && !names::is_cuda_name(token.text);
            // `free` is a variable of antialias.cuh.
            let is_kernel = ["__global__", "__CUDA_ARCH__", "free"].contains(&token.text);
            assert!(
                !is_listed || is_kernel,
                "{file}:{}: {}",
                token.line,
                token.text
            );
        }
    }
}

/// A function of CUDA that a candidate may call must compile on the emulator, which checks races.
#[test]
fn the_emulator_has_what_candidates_may_call() {
    let all: String = emulator().into_iter().map(|(_, text)| text).collect();
    let words: BTreeSet<&str> = all
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    let missing: Vec<_> = names::CUDA_NAMES
        .iter()
        .filter(|name| !words.contains(*name))
        // Of the C++ compiler.
        .filter(|name| !name.starts_with("__builtin_") && !name.starts_with("__restrict"))
        .filter(|name| **name != "__inline__")
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
