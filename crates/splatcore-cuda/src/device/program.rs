//! A kernel file with the constants it is specialised by.

/// The wrappers that every kernel file may use.
const PRELUDE: [(&str, &str); 2] = [
    ("device.cuh", include_str!("../../kernels/device.cuh")),
    ("splat.cuh", include_str!("../../kernels/splat.cuh")),
];

/// One compilation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// File name without its ending, as in `kernels/`.
    pub op: &'static str,
    /// The file's text.
    pub text: &'static str,
    /// Constants, given as macros, in a fixed order.
    pub constants: Vec<(&'static str, String)>,
    /// Names of the `extern "C" __global__` functions that are wanted.
    pub kernels: &'static [&'static str],
}

impl Program {
    /// What the compiler gets: constants, prelude and file in one text, since kernels include no header.
    pub fn source(&self) -> String {
        let mut source = String::new();
        for (name, value) in &self.constants {
            source.push_str(&format!("#define {name} {value}\n"));
        }
        for (name, text) in PRELUDE {
            source.push_str(&format!("#line 1 \"{name}\"\n{text}\n"));
        }
        source.push_str(&format!("\n#line 1 \"{}.cu\"\n", self.op));
        source.push_str(self.text);
        source
    }
}
