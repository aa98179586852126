//! Any bytes as a Y4M video: frames of the size that the header says, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_poses::video::y4m::Frames;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut frames) = Frames::new(bytes) else {
        return;
    };
    let size = (frames.header().width, frames.header().height);
    while frames.advance().unwrap_or(false) {
        assert_eq!(
            frames.luma().len() as u64,
            u64::from(size.0) * u64::from(size.1)
        );
        assert_eq!(frames.rgb().map(|image| image.dimensions()), Some(size));
    }
});
