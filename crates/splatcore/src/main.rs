//! The splatcore command line.
fn main() {}
