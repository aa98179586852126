//! Frames that tests share.

use splatcore_video::{Job, Output, open};
use std::path::{Path, PathBuf};

/// Four flat fields of other colours in each frame, `[height][width][3]`; their places are the
/// quarters of the frame.
pub fn frame(index: u64, [width, height]: [u32; 2]) -> Vec<u8> {
    let colours = colours(index);
    (0..width * height)
        .flat_map(|i| {
            let (x, y) = (i % width, i / width);
            colours[(usize::from(y >= height / 2)) * 2 + usize::from(x >= width / 2)]
        })
        .collect()
}

/// The colours of a frame's quarters: rows from the top, left before right.
pub fn colours(index: u64) -> [[u8; 3]; 4] {
    let step = (index * 12) as u8;
    [
        [200 - step, 40, 60],
        [30, 180, 50 + step],
        [40, 60, 210],
        [220, 220 - step, 220],
    ]
}

pub fn job(path: &Path, size: [u32; 2], frames: u64, fps: f64) -> Job {
    Job {
        path: path.into(),
        place: path.into(),
        size,
        frames,
        fps,
        quality: 80,
    }
}

/// The image of a file. (`image::open` would compile the decoders of all formats again.)
pub fn read(file: &Path) -> image::DynamicImage {
    image::load_from_memory(&std::fs::read(file).unwrap()).unwrap()
}

/// Writes a file of such frames.
pub fn written(output: &Output, job: Job) {
    let (size, frames) = (job.size, job.frames);
    let mut encoder = open(output, job).unwrap();
    for index in 0..frames {
        encoder.write(&frame(index, size)).unwrap();
    }
    encoder.finish().unwrap();
}

/// A program on the PATH; without it the test prints why it is skipped.
pub fn program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&folders)
        .map(|f| f.join(name))
        .find(|p| p.is_file());
    if found.is_none() {
        println!("skipped: {name} not found");
    }
    found
}

/// Asserts that a decoded frame has a frame's colours in the middle of its quarters, within some
/// codes. `width` is that of the decoded frame, `size` that of the original.
pub fn check(decoded: &[u8], width: u32, size: [u32; 2], index: u64, codes: i32) {
    for (quarter, wanted) in colours(index).into_iter().enumerate() {
        let x = size[0] / 4 + (quarter as u32 % 2) * (size[0] / 2);
        let y = size[1] / 4 + (quarter as u32 / 2) * (size[1] / 2);
        let at = 3 * (y * width + x) as usize;
        for (found, wanted) in decoded[at..at + 3].iter().zip(wanted) {
            let off = (i32::from(*found) - i32::from(wanted)).abs();
            assert!(
                off <= codes,
                "frame {index}, quarter {quarter}: {:?} is {wanted}",
                &decoded[at..at + 3]
            );
        }
    }
}
