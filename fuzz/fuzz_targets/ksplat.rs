//! Any bytes as a .ksplat file, and as what follows a sound header of one section: a scene or a
//! one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::ksplat;
use std::path::Path;

fn check(bytes: &[u8]) {
    match ksplat::parse(bytes, Path::new("fuzz.ksplat")) {
        Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // The level, the words of the section's header that are used, and the section.
    let Some((start, section)) = bytes.split_at_checked(45) else {
        return;
    };
    let mut file = vec![0; 4096 + 1024];
    file[1] = 1;
    file[4] = 1;
    file[20] = start[0] % 3;
    file[4096..4096 + 44].copy_from_slice(&start[1..]);
    // The file's count is the section's.
    file.copy_within(4096..4100, 16);
    file.extend(section);
    check(&file);
});
