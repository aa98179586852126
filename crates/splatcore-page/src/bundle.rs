//! Modules to one script, so that the page needs neither a build step nor an import map: each
//! module becomes a function that is called once and returns what the module exports, and each
//! import takes it from there. The modules stay as readable as they are.
//!
//! Of JavaScript's grammar this knows what the modules use: imports are `import { names } from
//! './file.js';`, exports stand before `const`, `class`, `function` or `async function`.

use crate::{constants, shared};

/// The module that runs the page.
const MAIN: &str = "main.js";

/// Names and texts of all modules; `source.js` is where the scene comes from.
fn modules(streams: bool) -> Vec<(&'static str, String)> {
    let source = match streams {
        true => include_str!("page/stream.js"),
        false => include_str!("page/scene.js"),
    };
    vec![
        (MAIN, include_str!("page/main.js").into()),
        ("address.js", include_str!("page/address.js").into()),
        ("decode.js", include_str!("page/decode.js").into()),
        ("headset.js", include_str!("page/headset.js").into()),
        ("hotspots.js", include_str!("page/hotspots.js").into()),
        ("levels.js", include_str!("page/levels.js").into()),
        ("renderer.js", include_str!("page/renderer.js").into()),
        ("shaders.js", include_str!("page/shaders.js").into()),
        ("share.js", include_str!("page/share.js").into()),
        ("sorting.js", include_str!("page/sorting.js").into()),
        ("source.js", source.into()),
        ("turn.js", include_str!("page/turn.js").into()),
        ("camera.js", shared::CAMERA.into()),
        ("input.js", shared::INPUT.into()),
        ("keyframes.js", shared::KEYFRAMES.into()),
        ("theme.js", shared::THEME.into()),
        ("path_panel.js", shared::PATH_PANEL.into()),
        ("constants.js", constants::module()),
    ]
}

/// The whole script, of a page that loads its scene in chunks or of one that holds it.
pub fn script(streams: bool) -> String {
    let modules = modules(streams);
    let mut done = Vec::new();
    let mut script = String::from("\n");
    add(MAIN, &modules, &mut done, &mut script);
    script
}

/// Appends a module behind those that it imports.
fn add(name: &str, modules: &[(&str, String)], done: &mut Vec<String>, script: &mut String) {
    let Some((_, text)) = modules.iter().find(|(known, _)| *known == name) else {
        return;
    };
    // Before its imports: a cycle ends here.
    done.push(name.to_owned());
    let (mut rest, mut body) = (text.as_str(), String::new());
    while let Some((before, names, from, after)) = next_import(rest) {
        if !done.iter().any(|done| done == from) {
            add(from, modules, done, script);
        }
        body += before;
        body += &format!("const {{{names}}} = {};", variable(from));
        rest = after;
    }
    let (rest, exports) = without_exports(rest);
    body += &rest;
    let exports = exports.join(", ");
    let whole = match name {
        MAIN => format!("// {name}\n{body}"),
        _ => format!(
            "// {name}\nconst {} = (() => {{\n{body}return {{ {exports} }};\n}})();\n\n",
            variable(name)
        ),
    };
    script.push_str(&whole);
}

/// The first import: what stands before it, the names, the file, what follows.
fn next_import(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once("import {")?;
    let (names, rest) = rest.split_once("} from './")?;
    let (from, after) = rest.split_once("';")?;
    Some((before, names, from, after))
}

/// The text without the word `export`, and the names that had it.
fn without_exports(text: &str) -> (String, Vec<&str>) {
    let mut names = Vec::new();
    let lines = text.lines().map(|line| {
        let Some(declaration) = line.strip_prefix("export ") else {
            return line;
        };
        let after = ["const ", "class ", "function ", "async function "]
            .iter()
            .find_map(|word| declaration.strip_prefix(word));
        let name = after.and_then(|after| {
            let end = |c: char| !c.is_alphanumeric() && c != '_';
            after.split(end).next()
        });
        names.extend(name);
        declaration
    });
    let text: Vec<&str> = lines.collect();
    (text.join("\n") + "\n", names)
}

/// The variable that holds what a module exports.
fn variable(name: &str) -> String {
    format!("module_{}", name.trim_end_matches(".js"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_there_once_and_before_its_users() {
        for streams in [false, true] {
            let script = script(streams);
            assert!(!script.contains("import ") && !script.contains("export "));
            assert!(!script.contains("</script"));
            // Only a stream has levels.
            let here = |name: &str| name != MAIN && (streams || name != "levels.js");
            for (name, _) in modules(streams).iter().filter(|(name, _)| here(name)) {
                let declared = format!("const {} = (() => {{", variable(name));
                assert_eq!(script.matches(&declared).count(), 1, "{name}");
                let used = format!("}} = {};", variable(name));
                let (place, use_) = (script.find(&declared), script.find(&used));
                assert!(use_.is_some() && place < use_, "{name}");
            }
        }
    }

    #[test]
    fn imports_and_exports_are_rewritten() {
        let text = "// a\nimport {\n  b, c,\n} from './other.js';\n\nexport const d = b;\nexport \
                    class E {}\nexport async function f() {}\n";
        let (before, names, from, after) = next_import(text).unwrap();
        assert_eq!((before, from), ("// a\n", "other.js"));
        assert_eq!(names.trim(), "b, c,");
        let (text, exports) = without_exports(after);
        assert_eq!(exports, ["d", "E", "f"]);
        assert_eq!(
            text,
            "\n\nconst d = b;\nclass E {}\nasync function f() {}\n"
        );
    }
}
