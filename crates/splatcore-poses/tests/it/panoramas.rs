//! Photos of 360 degrees against the pretender: which are taken for that, what is compared in their
//! place, what comes out.

use crate::fake::{Ear, Fake};
use crate::model;
use splatcore_core::panorama;
use splatcore_data::dataset::{Dataset, OpenOptions};
use splatcore_data::picture;
use splatcore_poses::{Job, find_poses, forecast};
use std::path::Path;

const NAMES: [&str; 3] = ["1.jpg", "room/2.jpg", "room/3.jpg"];

fn views() -> Vec<String> {
    let of_name = |name: &&str| (0..8).map(|view| format!("{name}-{view}.jpg")).collect();
    NAMES
        .iter()
        .flat_map(|name| -> Vec<String> { of_name(name) })
        .collect()
}

fn save(path: &Path, width: u32, height: u32, xmp: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let image = image::RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([(255 * x / width) as u8, (255 * y / height) as u8, 90])
    });
    let rgb = image::ExtendedColorType::Rgb8;
    let bytes = picture::jpeg(&image, [width, height], rgb, 75).unwrap();
    // An APP1 segment after the start of the image.
    let mut file = bytes[..2].to_vec();
    if !xmp.is_empty() {
        file.extend([0xff, 0xe1]);
        file.extend((xmp.len() as u16 + 2).to_be_bytes());
        file.extend(xmp.as_bytes());
    }
    file.extend(&bytes[2..]);
    std::fs::write(path, file).unwrap();
}

/// A pretender with a model of the views of three panoramas.
fn fake() -> Fake {
    let views = views();
    let views: Vec<&str> = views.iter().map(String::as_str).collect();
    let fake = Fake::old(&[]);
    std::fs::remove_dir_all(fake.at("models_mapper/0")).unwrap();
    model::write(&fake.at("models_mapper/0"), &views, 50, 0.5);
    for name in NAMES {
        save(&fake.at("my photos").join(name), 96, 48, "");
    }
    fake
}

#[test]
fn panoramas_are_posed_by_their_views() {
    let fake = fake();
    let job = fake.job();
    assert_eq!(forecast(&job, None).unwrap().photos, 3);
    let mut ear = Ear::default();
    let outcome = find_poses(&job, &mut ear).unwrap();
    let report = &outcome.report;
    assert_eq!(
        (report.photos, report.registered, report.cameras),
        (3, 3, 1)
    );
    assert_eq!(
        (report.models.as_slice(), report.observations_per_photo),
        (&[3][..], 400.0)
    );
    let calls = fake.calls();
    let out = job.dataset.display();
    for part in [
        &format!("--image_path {out}/views/images"),
        "--ImageReader.camera_model SIMPLE_PINHOLE --ImageReader.single_camera 1",
        "--ImageReader.camera_params 15.5,15.5,15.5",
    ] {
        assert!(calls[0].contains(part), "{part}: {}", calls[0]);
    }
    let listed = std::fs::read_to_string(fake.at("list")).unwrap();
    assert_eq!(listed, views().join("\n") + "\n");
    let heard = ear.heard.into_inner();
    assert!(
        heard
            .iter()
            .any(|line| line.contains("taken for 360 degrees")),
        "{heard:?}"
    );
    assert!(
        heard.iter().any(|line| line == "1/3 views 3/3"),
        "{heard:?}"
    );
    // What training reads: one camera that sees all around for each photo.
    let dataset = Dataset::open(&job.dataset, &OpenOptions::default()).unwrap();
    assert_eq!((dataset.entries.len(), dataset.missing.len()), (3, 0));
    for entry in &dataset.entries {
        assert!(panorama::is_whole(&entry.camera), "{:?}", entry.camera);
        assert_eq!((entry.camera.width, entry.camera.height), (96, 48));
    }
    assert!(!dataset.points.random && dataset.points.positions.len() == 50);
    // A view shows what its camera sees: the first one the middle of the photo.
    let view = picture::read(job.dataset.join("views/images/1.jpg-0.jpg"))
        .unwrap()
        .to_rgb8();
    let middle = view.get_pixel(view.width() / 2, view.height() / 2).0;
    assert!(
        middle[0].abs_diff(128) < 9 && middle[1].abs_diff(128) < 9,
        "{middle:?}"
    );
    // Nothing is done twice.
    assert!(find_poses(&job, &mut Ear::default()).unwrap().already);
    assert!(fake.calls().is_empty() && forecast(&job, None).unwrap().done);
    assert_eq!(forecast(&job, None).unwrap().of, 3);
    // Begun anew, views are cut of the photos of now, and no older model stays beside the new one.
    let view = job.dataset.join("views/images/1.jpg-0.jpg");
    std::fs::write(&view, "of another photo").unwrap();
    std::fs::write(job.dataset.join("sparse/0/images.bin"), "older").unwrap();
    let overwrite = true;
    find_poses(&Job { overwrite, ..job }, &mut Ear::default()).unwrap();
    picture::read(&view).unwrap();
    assert!(!fake.job().dataset.join("sparse/0/images.bin").exists());
    assert!(fake.job().dataset.join("sparse/0/images.txt").is_file());
}

/// Views of photos of two sizes have two cameras, and the lens of each is known.
#[test]
fn lenses_of_two_sizes_are_known() {
    let fake = fake();
    save(&fake.at("my photos").join(NAMES[2]), 192, 96, "");
    let job = fake.job();
    find_poses(&job, &mut Ear::default()).unwrap();
    let calls = fake.calls();
    for name in NAMES {
        let view = format!("views/images/{name}-0.jpg");
        let (side, _) = image::image_dimensions(job.dataset.join(view)).unwrap();
        let half = 0.5 * f64::from(side);
        let known = format!("--ImageReader.camera_params {half},{half},{half}");
        let extracted = calls.iter().filter(|call| call.contains(&known));
        assert_eq!(extracted.count(), 1, "{known}: {calls:?}");
    }
}

/// A folder of photos of all shapes is what it was, and one that mixes kinds is refused.
#[test]
fn what_is_no_panorama_is_a_photo() {
    let photos = ["1.jpg", "2.jpg"];
    let sizes = |sizes: [[u32; 2]; 2], xmp: &str| {
        let fake = Fake::old(&photos);
        for (name, [width, height]) in photos.iter().zip(sizes) {
            save(&fake.at("my photos").join(name), width, height, xmp);
        }
        fake
    };
    let calls = |fake: &Fake, job: &Job| {
        let _ = find_poses(job, &mut Ear::default());
        fake.calls().first().cloned().unwrap_or_default()
    };
    for (fake, model) in [
        (sizes([[96, 48], [64, 48]], ""), None),
        (sizes([[96, 48], [96, 48]], ""), Some("OPENCV".to_owned())),
    ] {
        let job = Job {
            camera_model: model,
            ..fake.job()
        };
        let first = calls(&fake, &job);
        assert!(
            first.contains("/images") && !first.contains("views"),
            "{first}"
        );
    }
    let gpano = "GPano:ProjectionType=\"equirectangular\"";
    let fake = sizes([[96, 48], [64, 48]], gpano);
    let error = find_poses(&fake.job(), &mut Ear::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("shows all around") && !error.contains('\n'),
        "{error}"
    );
}
