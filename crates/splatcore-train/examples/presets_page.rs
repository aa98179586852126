//! Prints docs/guide/presets.md:
//! `cargo run -p splatcore-train --example presets_page > docs/guide/presets.md`

fn main() {
    print!("{}", splatcore_train::config::presets_page());
}
