//! Animated PNG and GIF, decoded by the crate `image`.

use crate::support::{check, frame, job, read, written};
use image::codecs::png::PngDecoder;
use image::{AnimationDecoder, Frame};
use splatcore_video::{Output, open};
use std::fs::File;
use std::io::BufReader;
use std::time::Duration;

const SIZE: [u32; 2] = [33, 21];

fn rgb(frame: &Frame) -> Vec<u8> {
    frame
        .buffer()
        .pixels()
        .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
        .collect()
}

#[test]
fn an_animated_png_is_lossless() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.png");
    written(&Output::Apng, job(&file, SIZE, 4, 25.0));
    let decoder = PngDecoder::new(BufReader::new(File::open(&file).unwrap())).unwrap();
    assert!(decoder.is_apng().unwrap());
    let frames = decoder
        .apng()
        .unwrap()
        .into_frames()
        .collect_frames()
        .unwrap();
    assert_eq!(frames.len(), 4);
    for (index, found) in frames.iter().enumerate() {
        assert_eq!(rgb(found), frame(index as u64, SIZE));
        assert_eq!(Duration::from(found.delay()), Duration::from_millis(40));
    }
    // A viewer without animation shows the first frame.
    assert_eq!(read(&file).into_rgb8().into_raw(), frame(0, SIZE));
}

/// 30 frames a second are 3, 4, 3, 3, 4 ... hundredths: their sum is right.
#[test]
fn a_gif_has_the_frames_and_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.gif");
    written(&Output::Gif, job(&file, SIZE, 12, 30.0));
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(File::open(&file).unwrap()).unwrap();
    assert_eq!(
        [u32::from(decoder.width()), u32::from(decoder.height())],
        SIZE
    );
    let (mut delays, mut count) = (0, 0);
    while let Some(found) = decoder.read_next_frame().unwrap() {
        let rgb: Vec<u8> = found
            .buffer
            .chunks_exact(4)
            .flat_map(|p| [p[0], p[1], p[2]])
            .collect();
        // Four colours are few for a palette of 256; NeuQuant is off by some codes.
        check(&rgb, SIZE[0], SIZE, count, 6);
        delays += found.delay;
        count += 1;
    }
    assert_eq!((count, delays), (12, 40));
}

#[test]
fn limits_of_a_gif_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.gif");
    for (size, fps, wanted) in [([70_000, 2], 10.0, "65535"), ([8, 8], 60.0, "at most 50")] {
        let line = open(&Output::Gif, job(&file, size, 1, fps))
            .err()
            .unwrap()
            .to_string();
        assert!(line.contains(wanted), "{line}");
    }
    assert!(open(&Output::Apng, job(&file, [0, 5], 1, 10.0)).is_err());
    assert!(open(&Output::Apng, job(&file, [5, 5], 1, f64::NAN)).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
