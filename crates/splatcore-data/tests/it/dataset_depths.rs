//! Depth maps: where they are found, what their formats mean, what is refused, and the points on
//! what they show.

use crate::dataset_support::{self, colmap_text, npy_file, open, pattern, photos, save, shared};
use exr::prelude::{
    AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, LayerAttributes, WritableImage,
};
use image::{GrayImage, ImageBuffer, Luma};
use splatcore_core::View;
use splatcore_core::depth::DepthMap;
use splatcore_data::dataset::{
    Dataset, DepthOptions, DepthValues, LoadOptions, depth_factor, points_of,
};
use std::io::{Cursor, Write};

const WIDTH: u32 = 8;
const HEIGHT: u32 = 6;

/// What all maps of these tests say, millimetres: no steps, one unknown.
fn millimetres(i: u32) -> u16 {
    if i == 11 { 0 } else { 2000 + 10 * i as u16 }
}

fn metres() -> Vec<f32> {
    (0..WIDTH * HEIGHT)
        .map(|i| f32::from(millimetres(i)) / 1000.0)
        .collect()
}

fn png16() -> ImageBuffer<Luma<u16>, Vec<u16>> {
    ImageBuffer::from_fn(WIDTH, HEIGHT, |x, y| Luma([millimetres(x + WIDTH * y)]))
}

fn npy(kind: &str, body: &[u8]) -> Vec<u8> {
    npy_file(1, kind, false, &format!("({HEIGHT}, {WIDTH}, 1)"), body)
}

fn floats() -> Vec<u8> {
    metres().into_iter().flat_map(f32::to_le_bytes).collect()
}

fn exr(names: &[&str]) -> Vec<u8> {
    let channel = |name: &&str| {
        let other = vec![7.0; metres().len()];
        let values = if *name == "Z" { metres() } else { other };
        AnyChannel::new(*name, FlatSamples::F32(values))
    };
    let channels = AnyChannels::sort(names.iter().map(channel).collect());
    let size = (WIDTH as usize, HEIGHT as usize);
    let layer = Layer::new(
        size,
        LayerAttributes::default(),
        Encoding::UNCOMPRESSED,
        channels,
    );
    let mut bytes = Cursor::new(Vec::new());
    Image::from_layer(layer)
        .write()
        .to_buffered(&mut bytes)
        .unwrap();
    bytes.into_inner()
}

fn load(dataset: &Dataset, options: DepthOptions) -> Result<Vec<View>, String> {
    let options = LoadOptions {
        depths: Some(options),
        ..LoadOptions::default()
    };
    dataset_support::load(dataset, &options)
}

fn map_of(view: &View) -> &DepthMap {
    view.photo.depth.as_ref().expect("a depth map")
}

fn is_what_was_written(map: &DepthMap) {
    assert_eq!([map.width, map.height], [WIDTH, HEIGHT]);
    for (inverse, metres) in map.inverse.iter().zip(metres()) {
        let want = if metres > 0.0 { 1.0 / metres } else { 0.0 };
        assert!(
            (inverse - want).abs() <= 1e-3 * want,
            "{inverse} for {want}"
        );
    }
}

#[test]
fn all_formats_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names = [
        "a.png", "b.png", "c.png", "d.png", "e.png", "f/f.png", "g.png", "h.png",
    ];
    photos(root, &names, "");
    let write = |name: &str, bytes: &[u8]| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    save(png16(), &root.join("depths/a.png"));
    write("depths/b.npy", &npy("<f4", &floats()));
    let integers: Vec<u8> = (0..WIDTH * HEIGHT)
        .flat_map(|i| millimetres(i).to_be_bytes())
        .collect();
    write("depths/c.npy", &npy(">u2", &integers));
    let halves: Vec<u8> = metres()
        .iter()
        .flat_map(|&z| half::f16::from_f32(z).to_le_bytes())
        .collect();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("depth.npy", options).unwrap();
    zip.write_all(&npy("<f2", &halves)).unwrap();
    write("depths/d.png.npz", &zip.finish().unwrap().into_inner());
    write("depths/e.exr", &exr(&["Z"]));
    write("depth/f/f.exr", &exr(&["A", "Z"]));
    let colmap = [format!("{WIDTH}&{HEIGHT}&1&").as_bytes(), &floats()].concat();
    write("stereo/depth_maps/g.png.geometric.bin", &colmap);
    let dataset = open(root);
    let views = load(&dataset, DepthOptions::default()).unwrap();
    for view in &views[..7] {
        is_what_was_written(map_of(view));
    }
    assert!(views[7].photo.depth.is_none());
    // Without being asked for they are not read.
    let plain = dataset.load_views(&[0], &LoadOptions::default(), &|_, _| {});
    assert!(plain.unwrap()[0].photo.depth.is_none());

    // Another unit holds for all.
    let unit = Some(0.5);
    let folder = Some("depths".into());
    let options = DepthOptions {
        unit,
        folder,
        ..DepthOptions::default()
    };
    let views = load(&dataset, options).unwrap();
    assert!((map_of(&views[0]).inverse[0] - 1.0 / 1000.0).abs() < 1e-6);
    assert!((map_of(&views[1]).inverse[0] - 1.0).abs() < 1e-6);
    assert!(views[5].photo.depth.is_none(), "in another folder");
}

/// By transforms.json: its paths, its unit; confidences beside; a mask of the photo; a step.
#[test]
fn what_is_not_to_be_trusted_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let frame = |name: &str| {
        format!(
            "{{\"file_path\": \"images/{name}.png\", \"depth_file_path\": \"sensor/{name}.png\", \
             \"transform_matrix\": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}}"
        )
    };
    let text = format!(
        "{{\"fl_x\": 20, \"fl_y\": 20, \"cx\": 8, \"cy\": 6, \"w\": 16, \"h\": 12, \
         \"depth_unit_scale_factor\": 0.01, \"frames\": [{}, {}]}}",
        frame("a"),
        frame("b")
    );
    std::fs::write(root.join("transforms.json"), text).unwrap();
    for name in ["a", "b"] {
        save(pattern(16, 12), &root.join(format!("images/{name}.png")));
    }
    save(png16(), &root.join("sensor/a.png"));
    let confident = GrayImage::from_fn(WIDTH, HEIGHT, |x, _| Luma([u8::from(x > 1)]));
    save(confident, &root.join("confidence/a.png"));
    // Of twice the map's size, as the photo.
    let counts = GrayImage::from_fn(16, 12, |x, _| Luma([if x < 14 { 255 } else { 0 }]));
    save(counts, &root.join("masks/images/a.png"));
    // Nearer by half from the fourth column on.
    let step = ImageBuffer::from_fn(WIDTH, HEIGHT, |x, _| {
        Luma([if x < 3 { 200u16 } else { 100 }])
    });
    save(step, &root.join("sensor/b.png"));
    let dataset = open(root);
    let views = load(&dataset, DepthOptions::default()).unwrap();
    let known = |view: &View| {
        let row = &map_of(view).inverse[..WIDTH as usize];
        row.iter().map(|&q| q > 0.0).collect::<Vec<_>>()
    };
    assert_eq!(
        known(&views[0]),
        [false, false, true, true, true, true, true, false]
    );
    assert!((map_of(&views[0]).inverse[2] - 1.0 / 20.2).abs() < 1e-6);
    assert_eq!(
        known(&views[1]),
        [true, true, false, false, true, true, true, true]
    );

    // A file that is named and is not there costs a warning.
    std::fs::remove_file(root.join("sensor/b.png")).unwrap();
    let dataset = open(root);
    assert!(
        dataset
            .warnings
            .iter()
            .any(|w| w.contains("'sensor/b.png'"))
    );
    let views = load(&dataset, DepthOptions::default()).unwrap();
    assert!(views[1].photo.depth.is_none());
}

#[test]
fn what_is_wrong_is_said_with_the_photo() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png", "b.png"], "");
    let refused = |values| {
        let options = DepthOptions {
            values,
            ..DepthOptions::default()
        };
        let error = load(&open(root), options).unwrap_err();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    let error = refused(DepthValues::Metric);
    assert_contains!(error, "no photo has depths");
    // The points of the dataset are made up.
    let error = refused(DepthValues::Disparity);
    assert_contains!(error, "have no scale");
    // There is one, and nothing of it is known.
    let path = root.join("depths/a.png");
    save(ImageBuffer::<Luma<u16>, _>::new(WIDTH, HEIGHT), &path);
    let error = refused(DepthValues::Metric);
    assert!(
        error.contains("no value of its 1 depth maps is known"),
        "{error}"
    );
    // All are known, and none is trusted.
    save(png16(), &path);
    let distrusted = root.join("confidence/a.png");
    save(GrayImage::new(WIDTH, HEIGHT), &distrusted);
    let error = refused(DepthValues::Metric);
    assert!(
        error.contains("known, trusted and unmasked") && error.contains("confidences and masks"),
        "{error}"
    );
    std::fs::remove_file(&distrusted).unwrap();
    std::fs::remove_file(&path).unwrap();

    let path = root.join("depths/b.png");
    save(ImageBuffer::<Luma<u16>, _>::new(8, 8), &path);
    let error = refused(DepthValues::Metric);
    assert_contains!(error, "8x8 values", "16x12", "'b.png'");
    save(pattern(16, 12), &path);
    let error = refused(DepthValues::Metric);
    assert_contains!(error, "holds colours");
    std::fs::remove_file(&path).unwrap();
    for (name, bytes, wanted) in [
        ("b.npz", &b"no zip"[..], "no npz"),
        ("b.exr", b"v/1\x01", "no EXR"),
        (
            "b.png.geometric.bin",
            b"8&6&1&short",
            "8x6x1 values declared",
        ),
        ("b.png.photometric.bin", b"99999999999999&", "no depth map"),
    ] {
        let path = root.join("depths").join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = refused(DepthValues::Metric);
        assert_contains!(error, wanted, name);
        std::fs::remove_file(&path).unwrap();
    }
    let none = exr(&["A", "B"]);
    std::fs::write(root.join("depths/b.exr"), none).unwrap();
    let error = refused(DepthValues::Metric);
    assert_contains!(error, "none of its channels");
}

/// Of a photo through a lens, which is undistorted: the map is resampled as the photo is.
#[test]
fn maps_are_undistorted_with_their_photo() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(
        root,
        "1 SIMPLE_RADIAL 64 48 60 32 24 -0.2\n",
        &[(1, "a.png")],
        "",
    );
    save(pattern(64, 48), &root.join("images/a.png"));
    // What is known grows with the column.
    let map = ImageBuffer::from_fn(64, 48, |x, _| Luma([1000 + 8 * x as u16]));
    save(map, &root.join("depths/a.png"));
    let dataset = open(root);
    let view = &load(&dataset, DepthOptions::default()).unwrap()[0];
    let (map, source) = (map_of(view), &dataset.entries[0].camera);
    assert_eq!([map.width, map.height], [64, 48]);
    for [x, y] in [[3u32, 5u32], [40, 20], [60, 44]] {
        let ray = view.camera.ray([x, y].map(|v| f64::from(v) + 0.5)).unwrap();
        let column = source.pixel(ray).unwrap()[0] as u32;
        let want = 1.0 + 0.008 * column as f32;
        let got = 1.0 / map.inverse[(64 * y + x) as usize];
        assert!((got - want).abs() < 1e-4, "{got} for {want}");
        assert!(column != x || x == 40, "no distortion at {x}");
    }
}

/// Photos of a room whose walls, floor and ceiling are 2 m away from the camera, through a lens
/// that sees beside and behind it: maps of z, or of 360 degrees of distances, give the same depths
/// whether the lens is kept or not.
#[test]
fn maps_are_of_the_photos_own_projection() {
    let room = |towards: [f64; 3]| {
        let largest = towards.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        2.0 / largest
    };
    let fisheye = "\"camera_model\": \"OPENCV_FISHEYE\", \"fl_x\": 60, \"fl_y\": 60, \"k1\": 0.01";
    let around = "\"camera_model\": \"EQUIRECTANGULAR\"";
    for (lens, size, views) in [(fisheye, [192, 192], [1, 1]), (around, [128, 64], [6, 4])] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let [width, height] = size;
        let text = format!(
            "{{{lens}, \"w\": {width}, \"h\": {height}, \"frames\": [{{\
             \"file_path\": \"images/a.png\", \
             \"transform_matrix\": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}}]}}"
        );
        std::fs::write(root.join("transforms.json"), text).unwrap();
        save(pattern(width, height), &root.join("images/a.png"));
        let dataset = open(root);
        let camera = &dataset.entries[0].camera;
        let measured = ImageBuffer::from_fn(width, height, |x, y| {
            let towards = camera.direction([x, y].map(|v| f64::from(v) + 0.5));
            let depth = towards.map_or(0.0, |towards| match camera.lens.is_fisheye() {
                true => room(towards) * towards[2],
                false => room(towards),
            });
            Luma([(1000.0 * depth.max(0.0)) as u16])
        });
        save(measured, &root.join("depths/a.png"));
        for (keep_lens, count) in [(false, views[0]), (true, views[1])] {
            let options = LoadOptions {
                depths: Some(DepthOptions::default()),
                keep_lens,
                ..LoadOptions::default()
            };
            let views = dataset.load_views(&[0], &options, &|_, _| {}).unwrap();
            assert_eq!(views.len(), count);
            for view in &views {
                let (map, camera) = (map_of(view), &view.camera);
                let (mut known, mut all) = (0, 0);
                for (i, inverse) in (0u32..).zip(&map.inverse) {
                    let at = [i % map.width, i / map.width].map(|v| f64::from(v) + 0.5);
                    let Some(towards) = camera.direction(at) else {
                        continue;
                    };
                    all += 1;
                    if *inverse == 0.0 {
                        continue;
                    }
                    known += 1;
                    let want = match camera.depth_is_distance() {
                        true => room(towards),
                        false => room(towards) * towards[2],
                    };
                    let off = want * f64::from(*inverse) - 1.0;
                    assert!(
                        off.abs() < 0.1,
                        "{} {keep_lens}: {at:?} is off by {off}",
                        view.name
                    );
                }
                assert!(2 * known > all, "{} of {}", known, all);
            }
        }
    }
}

/// Points on the surfaces of the maps are as far away as these say; in another unit they are not.
#[test]
fn another_unit_shows() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png", "b.png"], "");
    for name in ["a", "b"] {
        save(png16(), &root.join(format!("depths/{name}.png")));
    }
    let of_unit = |unit| DepthOptions {
        unit,
        ..DepthOptions::default()
    };
    let views = load(&open(root), of_unit(None)).unwrap();
    let points = points_of(&views, 80, 3).unwrap().positions;
    for (unit, wanted) in [(None, 1.0), (Some(0.01), 0.1)] {
        let views = load(&open(root), of_unit(unit)).unwrap();
        let factor = depth_factor(&views, &points).unwrap().unwrap();
        assert!(
            (factor / wanted - 1.0).abs() < 0.02,
            "{factor} for {wanted}"
        );
    }
    assert_eq!(depth_factor(&views, &points[..5]).unwrap(), None);
}

#[test]
fn points_lie_where_the_depths_say() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png", "b.png", "c.png"], "");
    for name in ["a", "b"] {
        save(png16(), &root.join(format!("depths/{name}.png")));
    }
    let views = load(&open(root), DepthOptions::default()).unwrap();
    let points = points_of(&views, 40, 3).unwrap();
    assert_eq!((points.positions.len(), points.colours.len()), (40, 40));
    assert!(!points.random && points == points_of(&views, 40, 3).unwrap());
    assert!(points != points_of(&views, 40, 4).unwrap());
    for (i, position) in points.positions.iter().enumerate() {
        let view = &views[i / 20];
        let position = position.map(f64::from);
        let pixel = view.camera.project(position).unwrap();
        // Centres of the map are corners of the photo.
        let pixel = pixel.map(|v| (v + 1e-3) as u32);
        let known = map_of(view).inverse[map_of(view).index(pixel, [16, 12])];
        let depth = view.camera.to_view(position)[2];
        assert!((depth * f64::from(known) - 1.0).abs() < 1e-5, "{depth}");
        let at = 3 * (16 * pixel[1] + pixel[0]) as usize;
        assert_eq!(points.colours[i], view.photo.rgb[at..at + 3]);
    }
    // No more than there are.
    assert_eq!(points_of(&views, 1000, 3).unwrap().positions.len(), 2 * 47);
}

/// A phone's capture with LiDAR.
#[test]
fn a_real_capture_has_depths() {
    let Some(root) = shared("data/captures/arkit_corridor") else {
        return;
    };
    let dataset = open(&root);
    let options = LoadOptions {
        max_size: Some(200),
        depths: Some(DepthOptions::default()),
        ..LoadOptions::default()
    };
    let views = dataset
        .load_views(&[0, 9, 40], &options, &|_, _| {})
        .unwrap();
    for view in &views {
        let map = map_of(view);
        assert!(
            map.known() > 10_000 && map.known() < 150 * 200,
            "{}",
            map.known()
        );
        let median = map.median().unwrap();
        assert!((0.5..5.0).contains(&median), "{}: {median} m", view.name);
    }
}

/// One map made of a cropped photo, say: the others are of use, and so is its photo.
#[test]
fn photos_are_used_without_maps_of_another_shape() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names = ["a.png", "b.png", "c.png", "d.png", "e.png"];
    photos(root, &names, "");
    let good = npy("<f4", &floats());
    let other = npy_file(1, "<f4", false, &format!("({WIDTH}, {HEIGHT})"), &floats());
    let put = |name: &str, bytes: &[u8]| {
        dataset_support::write(root, &format!("depth/{}.npy", &name[..1]), bytes);
    };
    names.iter().for_each(|name| put(name, &good));
    put("d.png", &other);
    let options = LoadOptions {
        depths: Some(DepthOptions::default()),
        ..LoadOptions::default()
    };
    let load = || {
        let loaded = open(root).load_fitting(&[0, 1, 2, 3, 4], &options, &|_, _| {});
        loaded.map_err(|error| error.to_string())
    };
    let (views, warnings) = load().unwrap();
    let known = |view: &View| view.photo.depth.is_some();
    assert_eq!(views.iter().filter(|view| known(view)).count(), 4);
    assert!(!known(&views[3]));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let wanted =
        "d.png: its map of depths is 6x8 values, expected one of the whole photo, 16x12 or";
    assert_contains!(warnings[0], wanted, "used without its depths");
    // Who asks for all gets all or an error; so does everybody if half of them do not fit.
    let error = dataset_support::load(&open(root), &options).unwrap_err();
    assert_contains!(error, "d.npy", "another shape");
    put("a.png", &other);
    put("b.png", &other);
    let error = load().unwrap_err();
    assert_contains!(
        error,
        "a.npy",
        "another shape",
        "the same goes for 2 others: b.png, d.png"
    );
}
