//! Prints the table of scene formats for README.md and docs/guide/files.md:
//! `cargo run -p splatcore-data --example format_table`

fn main() {
    print!("{}", splatcore_data::scene::format_table());
}
