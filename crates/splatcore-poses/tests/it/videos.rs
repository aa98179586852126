//! Videos to datasets, with the pretender in place of COLMAP.

use crate::fake::{Ear, Fake, photo};
use crate::model;
use image::ExtendedColorType;
use splatcore_data::picture;
use splatcore_poses::{Job, PosesError, find_poses};
use std::path::Path;
use std::process::Command;

/// Grey levels of a pattern that moves by a column for each frame; every third is sharp.
fn pixel(frame: usize, x: usize, y: usize) -> u8 {
    let value = |x: usize| {
        let x = x + 5 * frame;
        if (x / 2 + y / 3).is_multiple_of(2) {
            60 + (x * 7 % 90) as u32
        } else {
            150
        }
    };
    match frame % 3 {
        1 => value(x) as u8,
        _ => ((0..6).map(|k| value(x + k)).sum::<u32>() / 6) as u8,
    }
}

const SIZE: (usize, usize) = (96, 64);
const SHARP: [usize; 4] = [1, 4, 7, 10];

fn y4m(path: &Path, frames: usize) {
    let mut bytes = format!("YUV4MPEG2 W{} H{} F6:1 Cmono\n", SIZE.0, SIZE.1).into_bytes();
    for frame in 0..frames {
        bytes.extend(b"FRAME\n");
        for y in 0..SIZE.1 {
            bytes.extend((0..SIZE.0).map(|x| pixel(frame, x, y)));
        }
    }
    std::fs::write(path, bytes).unwrap();
}

/// JPEG pictures, one after the other.
fn jpegs(frames: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in 0..frames {
        let image = image::GrayImage::from_fn(SIZE.0 as u32, SIZE.1 as u32, |x, y| {
            image::Luma([pixel(frame, x as usize, y as usize)])
        });
        let (size, grey) = ([image.width(), image.height()], ExtendedColorType::L8);
        bytes.extend(picture::jpeg(&image, size, grey, 75).unwrap());
    }
    bytes
}

/// The job of a video; the pretender places all its frames.
fn job(fake: &Fake, video: &str, ending: &str) -> Job {
    let names: Vec<String> = SHARP
        .iter()
        .map(|i| format!("frame_{i:06}.{ending}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    model::write(&fake.at("models_mapper/0"), &names, 50, 0.5);
    Job {
        input: fake.at(video),
        frames: Some(4),
        ..fake.job()
    }
}

/// Runs; the sharp frames, and no others, are the photos.
fn takes_the_sharp_frames(job: &Job) {
    let outcome = find_poses(job, &mut Ear::default()).unwrap();
    assert_eq!(
        (outcome.report.photos, outcome.report.registered),
        (4, 4),
        "{outcome:?}"
    );
    for i in SHARP {
        let ending = if job.png { "png" } else { "jpg" };
        let path = job.dataset.join(format!("images/frame_{i:06}.{ending}"));
        let image = picture::read(path).unwrap().into_luma8();
        assert_eq!(image.dimensions(), (SIZE.0 as u32, SIZE.1 as u32));
    }
}

#[test]
fn y4m_needs_no_program() {
    let fake = Fake::old(&[]);
    y4m(&fake.at("a.y4m"), 12);
    let job = Job {
        png: true,
        ..job(&fake, "a.y4m", "png")
    };
    takes_the_sharp_frames(&job);
    let image = picture::read(job.dataset.join("images/frame_000004.png"))
        .unwrap()
        .into_luma8();
    // Luma of limited range: 16 is black and 235 white.
    let wanted = (f64::from(pixel(4, 9, 5)) - 16.0) * 255.0 / 219.0;
    assert!((f64::from(image.get_pixel(9, 5).0[0]) - wanted).abs() <= 1.0);
    let calls = fake.calls();
    assert!(calls[1].starts_with("sequential_matcher"), "{calls:?}");
    // Nothing is done again, and another choice of frames is refused.
    assert!(find_poses(&job, &mut Ear::default()).unwrap().already);
    let other = Job {
        frames: Some(3),
        ..job.clone()
    };
    let error = find_poses(&other, &mut Ear::default()).unwrap_err();
    assert!(matches!(error, PosesError::Occupied { .. }), "{error}");
    let other = Job {
        overwrite: true,
        frames: Some(6),
        ..job
    };
    assert_eq!(
        find_poses(&other, &mut Ear::default())
            .unwrap()
            .report
            .photos,
        6
    );
}

#[test]
fn motion_jpeg_needs_no_program() {
    let fake = Fake::old(&[]);
    std::fs::write(fake.at("a.mjpeg"), jpegs(12)).unwrap();
    takes_the_sharp_frames(&job(&fake, "a.mjpeg", "jpg"));
    let mut avi = b"RIFF\0\0\0\0AVI LIST\0\0\0\0hdrlavih\x38\0\0\0\x35\x82\0\0 vidsMJPG".to_vec();
    avi.extend(jpegs(12));
    std::fs::write(fake.at("b.avi"), avi).unwrap();
    let job = Job {
        dataset: fake.at("other"),
        ..job(&fake, "b.avi", "jpg")
    };
    takes_the_sharp_frames(&job);
}

#[test]
fn videos_that_cannot_be_used_say_why() {
    let fake = Fake::old(&[]);
    let fails = |job: &Job| {
        let error = find_poses(job, &mut Ear::default())
            .unwrap_err()
            .to_string();
        assert!(
            !job.dataset.join("images").exists() && !error.contains('\n'),
            "{error}"
        );
        error
    };
    y4m(&fake.at("a.y4m"), 1);
    assert!(fails(&job(&fake, "a.y4m", "jpg")).contains("holds 1 frames"));
    let frame = std::fs::read(fake.at("a.y4m")).unwrap();
    let header = frame.iter().position(|b| *b == b'\n').unwrap() + 1;
    std::fs::write(
        fake.at("a.y4m"),
        [&frame[..], &frame[header..], &frame[header..]].concat(),
    )
    .unwrap();
    assert!(fails(&job(&fake, "a.y4m", "jpg")).contains("shows the same all the time"));
    std::fs::write(fake.at("c.mp4"), b"\0\0\0\x20ftypisom").unwrap();
    let broken = Job {
        ffmpeg: Some("/nowhere/ffmpeg".into()),
        ..job(&fake, "c.mp4", "jpg")
    };
    assert!(fails(&broken).starts_with("/nowhere/ffmpeg: cannot be started"));
    let broken = Job {
        ffmpeg: Some("/bin/echo".into()),
        ..broken
    };
    assert!(fails(&broken).contains("is not ffmpeg"));
    photo(&fake.at("one.jpg"));
    assert!(fails(&job(&fake, "one.jpg", "jpg")).contains("is a single photo"));
}

/// Whether ffmpeg is there; says so if not.
fn has_ffmpeg() -> bool {
    let run = Command::new("ffmpeg").arg("-version").output();
    let found = run.is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("skipped: no ffmpeg on PATH");
    }
    found
}

fn ffmpeg(args: &[&str]) {
    let mut call = Command::new("ffmpeg");
    let run = call
        .args(["-v", "error", "-y"])
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
}

/// A hundred frames and more, as of every video of a minute.
#[test]
fn ffmpeg_takes_many_frames() {
    if !has_ffmpeg() {
        return;
    }
    let fake = Fake::old(&[]);
    y4m(&fake.at("long.y4m"), 360);
    let [long, long_mkv] = ["long.y4m", "long.mkv"].map(|name| fake.at(name).display().to_string());
    ffmpeg(&["-i", &long, "-c:v", "ffv1", &long_mkv]);
    let many = Job {
        dataset: fake.at("many"),
        frames: Some(120),
        ..job(&fake, "long.mkv", "jpg")
    };
    find_poses(&many, &mut Ear::default()).unwrap();
    assert_eq!(
        std::fs::read_dir(many.dataset.join("images"))
            .unwrap()
            .count(),
        120
    );
}

#[test]
fn ffmpeg_reads_the_rest_and_turns_frames() {
    if !has_ffmpeg() {
        return;
    }
    let fake = Fake::old(&[]);
    y4m(&fake.at("a.y4m"), 12);
    let [y4m, mkv, mov] =
        ["a.y4m", "b.mkv", "c d.mov"].map(|name| fake.at(name).display().to_string());
    ffmpeg(&["-i", &y4m, "-c:v", "ffv1", &mkv]);
    takes_the_sharp_frames(&job(&fake, "b.mkv", "jpg"));
    // A quarter turn, as telephones note it, only changes the file's header.
    ffmpeg(&[
        "-i", &y4m, "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "1", &mov,
    ]);
    let turned = fake.at("turned.mov").display().to_string();
    ffmpeg(&[
        "-i",
        &mov,
        "-c",
        "copy",
        "-metadata:s:v:0",
        "rotate=90",
        &turned,
    ]);
    let job = Job {
        dataset: fake.at("turned"),
        ..job(&fake, "turned.mov", "jpg")
    };
    find_poses(&job, &mut Ear::default()).unwrap();
    let image = picture::read(job.dataset.join("images/frame_000004.jpg")).unwrap();
    assert_eq!(
        (image.width(), image.height()),
        (SIZE.1 as u32, SIZE.0 as u32)
    );
    // Of a file that lost its second half the rest is used, and that is said.
    let whole = std::fs::read(fake.at("b.mkv")).unwrap();
    std::fs::write(fake.at("half.mkv"), &whole[..whole.len() / 2]).unwrap();
    let half = Job {
        dataset: fake.at("half"),
        input: fake.at("half.mkv"),
        ..job.clone()
    };
    let mut ear = Ear::default();
    // Not all frames of the pretender's model are there.
    let _ = find_poses(&half, &mut ear);
    let said = ear.heard.borrow().join("\n");
    assert_contains!(
        said,
        "half.mkv: only ",
        " of 2.0 s can be read: the file is cut"
    );
    std::fs::write(fake.at("no.mp4"), vec![7; 5000]).unwrap();
    let job = Job {
        dataset: fake.at("no"),
        input: fake.at("no.mp4"),
        ..job
    };
    let error = find_poses(&job, &mut Ear::default()).unwrap_err();
    assert_contains!(error, "cannot be decoded by ffmpeg");
}
