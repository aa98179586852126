use splatcore_data::procedural::*;
#[test]
fn small() {
    write_dataset(std::path::Path::new("/tmp/proc"), &ProceduralOptions::default(), &|_, _| {}).unwrap();
}
#[test]
fn big() {
    let big = ProceduralOptions { width: 960, height: 720, views: 3, samples: 16, ..Default::default() };
    write_dataset(std::path::Path::new("/tmp/procbig"), &big, &|_, _| {}).unwrap();
}
