//! The gyroscope of a video, with pretenders in place of ffmpeg and COLMAP.

use crate::fake::{Ear, Fake};
use crate::model;
use splatcore_core::Camera;
use splatcore_core::camera::{length, rotation_from_quaternion, sub};
use splatcore_core::linear::quaternion_product;
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_data::dataset::{Dataset, Frames, OpenOptions};
use splatcore_poses::{Job, find_poses};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What it says and gives, by its arguments.
const FFMPEG: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$*" in
-version) echo "ffmpeg version 7.1 Copyright";;
*"-map 0:V:0 -c copy"*) cat "$here/video.crc";;
*"-f framecrc"*) cat "$here/motion.crc";;
*"-f data"*) cat "$here/motion.bin";;
*yuv4mpegpipe*) cat "$here/small.y4m";;
*image2pipe*) cat "$here/frames.ppm";;
*) cat "$here/about" >&2; exit 1;;
esac
"#;
const ABOUT: &str = "  Duration: 00:00:08.00, start: 0.0, bitrate: 80 kb/s\n  \
    Stream #0:0[0x1]: Video: h264, yuv420p, 16x12, 6 fps, 12288 tbn\n      \
    displaymatrix: rotation of -90.00 degrees\n  \
    Stream #0:1[0x2](eng): Data: bin_data (gpmd / 0x646D7067), 29 kb/s\n";
/// Frames, of which every third is sharp.
const FRAMES: usize = 48;
/// Seconds in which one is read.
const READOUT: f64 = 0.05;
/// Seconds of a frame.
const EACH: f64 = 1.0 / 6.0;

/// Radians a second about the camera's axes.
fn truth(seconds: f64) -> [f64; 3] {
    [
        0.6 * (1.3 * seconds).sin(),
        0.5 * (0.9 * seconds + 1.0).cos(),
        0.4 * (1.9 * seconds).cos(),
    ]
}

/// The rotation from world to camera at a time.
fn rotation(seconds: f64) -> [f64; 4] {
    let steps = (1000.0 * seconds).round() as usize;
    let [w, x, y, z] = (0..steps).fold([1.0, 0.0, 0.0, 0.0], |q, i| {
        let half = truth((i as f64 + 0.5) / 1000.0).map(|v| 0.0005 * v);
        quaternion_product(q, [1.0, half[0], half[1], half[2]])
    });
    let size = (w * w + x * x + y * y + z * z).sqrt();
    [w, -x, -y, -z].map(|v| v / size)
}

/// The camera of a frame, which is read from right to left meanwhile it turns.
fn camera(seconds: f64, turning: fn(f64) -> [f64; 3]) -> Camera {
    Camera {
        rotation: rotation_from_quaternion(rotation(seconds)).unwrap(),
        translation: [0.0, 0.0, 5.0],
        shutter: Some(Shutter {
            readout: Readout::RightToLeft,
            turn: turning(seconds).map(|v| READOUT * v),
            shift: [0.0; 3],
        }),
        ..Camera::pinhole(64, 48, 60.0)
    }
}

/// A key of GPMF with its data.
fn item(key: &str, kind: u8, size: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = key.as_bytes().to_vec();
    bytes.extend([kind, size]);
    bytes.extend(((data.len() / usize::from(size)) as u16).to_be_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A second of the sensor, whose axes are the camera's z, x and y, and of a picture's orientation.
fn second(from: f64, image: [i16; 4]) -> Vec<u8> {
    let of = |values: &[i16]| -> Vec<u8> { values.iter().flat_map(|v| v.to_be_bytes()).collect() };
    let values: Vec<i16> = (0..200)
        .flat_map(|i| {
            let [x, y, z] = truth(from + f64::from(i) / 200.0);
            [z, x, y].map(|v| (1000.0 * v).round() as i16)
        })
        .collect();
    let mut gyro = item("SCAL", b's', 2, &of(&[1000]));
    gyro.extend(item("GYRO", b's', 6, &of(&values)));
    let mut picture = item("SCAL", b's', 2, &of(&[32767]));
    picture.extend(item("IORI", b's', 8, &of(&image)));
    let mut device = item("STRM", 0, 1, &gyro);
    device.extend(item("STRM", 0, 1, &picture));
    device.extend(item("SROT", b'f', 4, &(1e3 * READOUT as f32).to_be_bytes()));
    item("DEVC", 0, 1, &device)
}

/// What the pictures of a camera that does not stabilise are turned by.
const STEADY: [i16; 4] = [32767, 0, 0, 0];

/// A video of eight seconds with the sensor's track, and a model of every third frame, in which the
/// camera turned so while frames were read.
fn video(image: [i16; 4], turning: fn(f64) -> [f64; 3]) -> (Fake, Job) {
    let fake = Fake::old(&[]);
    fake.put("ffmpeg", FFMPEG);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fake.at("ffmpeg"), executable).unwrap();
    fake.put("about", ABOUT);
    fake.put("b.mp4", "\0\0\0\x20ftypisom");
    let mut y4m = b"YUV4MPEG2 W16 H12 F6:1 Cmono\n".to_vec();
    for frame in 0..FRAMES {
        y4m.extend(b"FRAME\n");
        let sharp = frame % 3 == 1;
        y4m.extend((0..16 * 12).map(|i| match sharp {
            true => (80 + 4 * (frame % 30) + 60 * ((i + i / 16) % 2)) as u8,
            false => (90 + 4 * (frame % 30)) as u8,
        }));
    }
    std::fs::write(fake.at("small.y4m"), y4m).unwrap();
    let chosen: Vec<usize> = (0..FRAMES).filter(|frame| frame % 3 == 1).collect();
    let ppm = [b"P6\n16 12\n255\n".to_vec(), vec![90; 16 * 12 * 3]].concat();
    std::fs::write(fake.at("frames.ppm"), ppm.repeat(chosen.len())).unwrap();
    // Frames are stored in another order than they are shown.
    let shown = |frame: usize| {
        if frame.is_multiple_of(2) {
            frame + 1
        } else {
            frame - 1
        }
    };
    let listed = (0..FRAMES).map(|i| format!("0, {i}, {}, 1, 99, 0x1, F=0x0\n", shown(i)));
    fake.put(
        "video.crc",
        &format!("#tb 0: 1/6\n{}", listed.collect::<String>()),
    );
    let seconds: Vec<Vec<u8>> = (0..8).map(|i| second(f64::from(i), image)).collect();
    let listed = seconds.iter().enumerate();
    let listed = listed.map(|(i, s)| format!("0, {i}, {i}, 1, {}, 0x1\n", s.len()));
    fake.put(
        "motion.crc",
        &format!("#tb 0: 1/1\n{}", listed.collect::<String>()),
    );
    std::fs::write(fake.at("motion.bin"), seconds.concat()).unwrap();
    let names: Vec<String> = chosen.iter().map(|i| format!("frame_{i:06}.jpg")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rotations: Vec<_> = chosen.iter().map(|&i| rotation(EACH * i as f64)).collect();
    let see = |i: usize, point: [f64; 3]| camera(EACH * chosen[i] as f64, turning).project(point);
    let model = fake.at("models_mapper/0");
    model::write_seen(&model, &names, &rotations, (50, 0.5), &see);
    let job = Job {
        input: fake.at("b.mp4"),
        frames: Some(chosen.len() as u32),
        ffmpeg: Some(fake.at("ffmpeg")),
        ..fake.job()
    };
    (fake, job)
}

fn has_no_turns(frames: &Frames) -> bool {
    let mut frames = frames.frames.iter();
    frames.all(|frame| frame.angular_velocity.is_none())
}

/// The file of frames that a job writes, and what it says.
fn frames(job: &Job) -> (Frames, String) {
    let mut ear = Ear::default();
    find_poses(job, &mut ear).unwrap();
    let text = std::fs::read(Frames::path(&job.dataset)).unwrap();
    let said = ear.heard.borrow().join("\n");
    (serde_json::from_slice(&text).unwrap(), said)
}

#[test]
fn the_gyroscope_tells_how_the_camera_turned() {
    let (fake, job) = video(STEADY, truth);
    let (found, said) = frames(&job);
    assert_contains!(
        said,
        "gyroscope fits the poses",
        "mean error ",
        "0.00 pixels: each line"
    );
    assert!((found.readout_seconds.unwrap() - READOUT).abs() < 1e-6);
    assert_eq!(found.readout_direction, Some(Readout::RightToLeft));
    assert_eq!(found.frames.len(), 16);
    for frame in &found.frames {
        let number: f64 = frame.name[6..12].parse().unwrap();
        assert!((frame.seconds - EACH * number).abs() < 1e-9, "{frame:?}");
        let off = length(sub(frame.angular_velocity.unwrap(), truth(frame.seconds)));
        assert!(off < 0.02, "{frame:?}: {off}");
    }
    // Whoever opens the dataset gets cameras that turn so, with no option.
    let dataset = Dataset::open(&job.dataset, &OpenOptions::default()).unwrap();
    assert!(
        dataset.tells_motion && dataset.findings.is_empty(),
        "{:?}",
        dataset.findings
    );
    for (entry, frame) in dataset.entries.iter().zip(&found.frames) {
        let shutter = entry.camera.shutter.unwrap();
        assert_eq!(
            (entry.name.as_str(), shutter.readout),
            (frame.name.as_str(), Readout::RightToLeft)
        );
        let turn = frame
            .angular_velocity
            .unwrap()
            .map(|v| found.readout_seconds.unwrap() * v);
        assert!(length(sub(shutter.turn, turn)) < 1e-9);
    }
    // Photos show points where they did.
    let model = |folder: &Path| std::fs::read(folder.join("images.bin")).unwrap();
    let [before, after] =
        [fake.at("models_mapper/0"), job.dataset.join("sparse/0")].map(|f| model(&f));
    assert_eq!(before, after);
    // A dataset of an earlier version gets the file when it is asked for again.
    std::fs::remove_file(Frames::path(&job.dataset)).unwrap();
    assert_eq!(frames(&job).0, found);
}

#[test]
fn a_stabilised_video_keeps_its_times_only() {
    let (_fake, job) = video([32000, 7000, 0, 0], truth);
    let (found, said) = frames(&job);
    assert_contains!(
        said,
        "warning: ",
        "not used: the camera stabilised the pictures"
    );
    assert_eq!((found.readout_seconds, found.frames.len()), (None, 16));
    assert!(has_no_turns(&found));
}

#[test]
fn a_gyroscope_that_does_not_fit_is_said_and_not_used() {
    let (fake, job) = video(STEADY, truth);
    // The seconds in another order.
    let mut seconds: Vec<Vec<u8>> = (0..8).map(|i| second(f64::from(i), STEADY)).collect();
    seconds.reverse();
    std::fs::write(fake.at("motion.bin"), seconds.concat()).unwrap();
    let (found, said) = frames(&job);
    assert_contains!(
        said,
        "gyroscope is not used: its turns and those of the poses differ by"
    );
    assert!(has_no_turns(&found));
    // A track that is cut short, and lists that are none, harm nothing.
    for (file, text) in [
        ("motion.bin", "DEVC"),
        ("motion.crc", "no"),
        ("video.crc", "no"),
    ] {
        fake.put(file, text);
        let _ = std::fs::remove_file(Frames::path(&job.dataset));
        find_poses(&job, &mut Ear::default()).unwrap();
    }
    assert!(!Frames::path(&job.dataset).exists());
}

#[test]
fn motion_that_does_not_explain_the_photos_is_not_used() {
    // The frames were read at once.
    let (_fake, job) = video(STEADY, |_| [0.0; 3]);
    let (found, said) = frames(&job);
    assert_contains!(said, "no better, so that frames count as read at once");
    assert_eq!(found.readout_seconds, None);
    assert!(has_no_turns(&found));
    // Nor if the user does not want it.
    let job = Job {
        no_gyro: true,
        overwrite: true,
        ..job
    };
    let (other, said) = frames(&job);
    assert!(other == found && !said.contains("gyroscope"), "{said}");
}
