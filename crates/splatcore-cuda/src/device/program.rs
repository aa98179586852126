//! A kernel file with the constants it is specialised by.

/// Name in `kernels/` and text.
pub type File = (&'static str, &'static str);

/// Files of `kernels/` by name.
macro_rules! files {
    ($($name:literal),+) => {
        vec![$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name)))),+]
    };
}
pub(crate) use files;

/// The wrappers that every kernel file may use.
fn prelude() -> Vec<File> {
    files!["device.cuh", "splat.cuh"]
}

/// The variable that names a folder with kernel files to use in place of the built-in ones, file by
/// file, so that a changed constant needs no new build.
pub const KERNELS_VARIABLE: &str = "SPLATCORE_KERNELS";

/// What the kernels of this crate begin with: see `kernels/device.cuh`.
const BEGINNING: &str = "begin_kernel();";

/// One compilation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// File name without its ending, as in `kernels/`.
    pub op: &'static str,
    /// The files, (name, text), in the order in which they need each other.
    pub files: Vec<File>,
    /// Constants, given as macros, in a fixed order.
    pub constants: Vec<(&'static str, String)>,
    /// Names of the `extern "C" __global__` functions that are wanted.
    pub kernels: &'static [&'static str],
}

impl Program {
    /// What the compiler gets: constants, prelude and files in one text, since kernels include no
    /// header.
    pub fn source(&self) -> String {
        let mut source = String::new();
        for (name, value) in &self.constants {
            source.push_str(&format!("#define {name} {value}\n"));
        }
        let folder = std::env::var_os(KERNELS_VARIABLE);
        for (name, text) in prelude().into_iter().chain(self.files.iter().copied()) {
            let other = folder.as_ref().and_then(|folder| {
                std::fs::read_to_string(std::path::Path::new(folder).join(name)).ok()
            });
            let text = other.as_deref().unwrap_or(text);
            source.push_str(&format!("#line 1 \"{name}\"\n{text}\n"));
        }
        source
    }

    /// Whether every kernel of this source begins with `begin_kernel`, and so may be launched
    /// before the one in front of it has ended. Those of tests and of users' experiments need not.
    pub fn awaits(source: &str) -> bool {
        source.matches("extern \"C\" __global__").count() == source.matches(BEGINNING).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that does not would read what is not there yet.
    #[test]
    fn every_kernel_begins_by_waiting() {
        let mut kernels = 0;
        for program in crate::programs::all() {
            for (name, text) in &program.files {
                for kernel in text.split("extern \"C\" __global__").skip(1) {
                    let body = kernel.split_once(" {\n").map(|(_, body)| body.trim_start());
                    assert!(
                        body.is_some_and(|body| body.starts_with(BEGINNING)),
                        "{name}: {kernel:.80}"
                    );
                    kernels += 1;
                }
            }
            assert!(Program::awaits(&program.source()), "{}", program.op);
        }
        assert!(kernels > 50, "{kernels}");
        assert!(!Program::awaits(
            "extern \"C\" __global__ void experiment() {\n    return;\n}\n"
        ));
    }
}
