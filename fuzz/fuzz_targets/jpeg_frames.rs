//! Any bytes as Motion JPEG: pictures from their start marker to their end marker.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_poses::video::jpeg_frames::JpegFrames;

fuzz_target!(|bytes: &[u8]| {
    let mut frames = JpegFrames::new(bytes);
    while let Ok(Some(picture)) = frames.next_frame() {
        assert!(picture.starts_with(b"\xff\xd8\xff") && picture.ends_with(b"\xff\xd9"));
        assert!(picture.len() <= bytes.len());
    }
});
