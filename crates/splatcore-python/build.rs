//! Lets plain cargo link the module on macOS, where the linker must be told that the interpreter
//! has Python's functions. maturin says so by itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    pyo3_build_config::add_extension_module_link_args();
}
