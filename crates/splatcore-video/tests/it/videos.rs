//! Videos, as ffprobe and ffmpeg see them.

use crate::support::{check, frame, job, program, written};
use splatcore_video::{Codec, Container, Output, VideoError, find_ffmpeg, open};
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZE: [u32; 2] = [64, 48];

/// What ffprobe says of the first stream, as `key=value` lines; frames are counted by decoding.
fn probe(ffprobe: &Path, file: &Path) -> String {
    let output = Command::new(ffprobe)
        .args([
            "-v",
            "error",
            "-count_frames",
            "-select_streams",
            "v:0",
            "-show_streams",
        ])
        .args(["-of", "default=noprint_wrappers=1"])
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// All frames as RGB, by the tags of the file.
fn decoded(ffmpeg: &Path, file: &Path) -> Vec<u8> {
    let output = Command::new(ffmpeg)
        .args(["-v", "error", "-i"])
        .arg(file)
        .args([
            "-vf",
            "scale=in_color_matrix=auto:flags=accurate_rnd",
            "-fps_mode",
            "passthrough",
        ])
        .args(["-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn has(text: &str, key: &str, value: &str) {
    assert!(
        text.lines().any(|line| line == format!("{key}={value}")),
        "{key}={value}: {text}"
    );
}

/// Checks a video of `frames` frames against what was written.
fn check_video(file: &Path, size: [u32; 2], frames: u64, rate: &str, codec: &str) {
    let (Some(ffprobe), Some(ffmpeg)) = (program("ffprobe"), program("ffmpeg")) else {
        return;
    };
    let said = probe(&ffprobe, file);
    let [width, height] = size.map(|side| side.next_multiple_of(2));
    has(&said, "codec_name", codec);
    has(&said, "width", &width.to_string());
    has(&said, "height", &height.to_string());
    has(&said, "nb_read_frames", &frames.to_string());
    has(&said, "avg_frame_rate", rate);
    has(&said, "pix_fmt", "yuv420p");
    has(&said, "color_range", "tv");
    has(&said, "color_space", "bt709");
    has(&said, "color_primaries", "bt709");
    has(&said, "color_transfer", "iec61966-2-1");
    let bytes = decoded(&ffmpeg, file);
    let length = 3 * (width * height) as usize;
    assert_eq!(bytes.len(), length * frames as usize);
    for (index, decoded) in bytes.chunks_exact(length).enumerate() {
        // Halved colours, 8-bit rounding and the codec's loss at this quality.
        check(decoded, width, size, index as u64, 6);
    }
}

#[test]
fn av1_without_ffmpeg() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.mp4");
    written(&Output::Av1, job(&file, SIZE, 5, 25.0));
    check_video(&file, SIZE, 5, "25/1", "av1");
}

/// An odd side gets one more column or row, and its colours stay in place.
#[test]
fn odd_sizes_become_even() {
    let folder = tempfile::tempdir().unwrap();
    let size = [65, 49];
    let file = folder.path().join("built-in.mp4");
    written(&Output::Av1, job(&file, size, 3, 30.0));
    check_video(&file, size, 3, "30/1", "av1");
    if let Some(ffmpeg) = find_ffmpeg() {
        let file = folder.path().join("h264.mp4");
        written(
            &Output::Ffmpeg(ffmpeg, Codec::H264, Container::Mp4),
            job(&file, size, 3, 29.97),
        );
        check_video(&file, size, 3, "30000/1001", "h264");
    } else {
        println!("skipped: ffmpeg not found");
    }
}

#[test]
fn codecs_and_containers_of_ffmpeg() {
    let Some(ffmpeg) = find_ffmpeg() else {
        println!("skipped: ffmpeg not found");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // SVT-AV1 takes no smaller side than 64.
    let size = [96, 64];
    let kinds = [
        (Codec::H264, Container::Mp4, "h264", "libx264"),
        (Codec::H264, Container::Mov, "h264", "libx264"),
        (Codec::H265, Container::Mkv, "hevc", "libx265"),
        (Codec::Vp9, Container::WebM, "vp9", "libvpx-vp9"),
        (Codec::Av1, Container::WebM, "av1", "libsvtav1"),
    ];
    let encoders = Command::new(&ffmpeg)
        .args(["-v", "error", "-encoders"])
        .output()
        .unwrap();
    let encoders = String::from_utf8_lossy(&encoders.stdout).into_owned();
    for (codec, container, name, encoder) in kinds {
        if !encoders.contains(encoder) {
            println!("skipped: {encoder} not found in ffmpeg");
            continue;
        }
        let file = folder
            .path()
            .join(format!("{name}.{}", container.extension()));
        written(
            &Output::Ffmpeg(ffmpeg.clone(), codec, container),
            job(&file, size, 4, 24.0),
        );
        check_video(&file, size, 4, "24/1", name);
    }
}

#[test]
fn a_frame_of_another_size_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.mp4");
    let ffmpeg = find_ffmpeg().map(|ffmpeg| Output::Ffmpeg(ffmpeg, Codec::H264, Container::Mp4));
    for output in [Some(Output::Av1), ffmpeg].into_iter().flatten() {
        let mut encoder = open(&output, job(&file, SIZE, 9, 25.0)).unwrap();
        encoder.write(&frame(0, SIZE)).unwrap();
        let line = encoder.write(&[0; 7]).unwrap_err().to_string();
        assert!(line.contains("7 bytes") && line.contains("64x48"), "{line}");
    }
}

/// What ffmpeg says is in the message.
#[test]
fn a_failing_ffmpeg_is_quoted() {
    let Some(false) = program("false").map(|p| p.as_os_str().is_empty()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.mp4");
    let output = Output::Ffmpeg(program("false").unwrap(), Codec::H264, Container::Mp4);
    let mut encoder = open(&output, job(&file, SIZE, 900, 25.0)).unwrap();
    let failed = (0..900).find_map(|i| encoder.write(&frame(i % 9, SIZE)).err());
    let line = match failed {
        Some(error) => {
            drop(encoder);
            error
        }
        None => encoder.finish().unwrap_err(),
    };
    assert!(line.to_string().contains("ffmpeg failed"), "{line}");
}

#[test]
fn which_encoder_writes_what() {
    let ffmpeg = || Some(PathBuf::from("ffmpeg"));
    let video = Output::video;
    assert_eq!(video(Container::Mp4, None, None).unwrap(), Output::Av1);
    let h264 = Output::Ffmpeg("ffmpeg".into(), Codec::H264, Container::Mp4);
    assert_eq!(video(Container::Mp4, None, ffmpeg()).unwrap(), h264);
    assert_eq!(
        video(Container::Mp4, Some(Codec::BuiltIn), ffmpeg()).unwrap(),
        Output::Av1
    );
    let error = video(Container::WebM, None, None).unwrap_err();
    assert!(matches!(error, VideoError::NoFfmpeg { .. }));
    assert!(
        error.to_string().starts_with("VP9 in .webm needs ffmpeg"),
        "{error}"
    );
    for (container, codec) in [
        (Container::WebM, Codec::H264),
        (Container::WebM, Codec::BuiltIn),
        (Container::Mov, Codec::Vp9),
    ] {
        let line = video(container, Some(codec), ffmpeg())
            .unwrap_err()
            .to_string();
        assert!(line.contains("not written"), "{line}");
    }
}
