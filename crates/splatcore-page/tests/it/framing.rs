//! "Frame all": the whole box, in the direction of view, in windows of a desk and of a phone.

use crate::support::{WINDOWS, Written, plain, rounded, window};
use serde_json::Value;
use splatcore_core::{Camera, Gaussians};
use splatcore_test_support::chromium::{Chromium, in_webgl};

/// A tower: much higher than wide, and away from the origin.
const TOWER: [[f64; 3]; 2] = [[2.0, -9.0, 4.0], [3.0, 1.0, 5.5]];

/// Where the page's camera is, in a picture of a window.
async fn camera(browser: &mut Chromium, [width, height]: [u32; 2]) -> Camera {
    let pose = browser.value("splatcore.pose()").await;
    let numbers =
        |value: &Value| -> [f64; 3] { std::array::from_fn(|k| value[k].as_f64().unwrap()) };
    let rotation = std::array::from_fn(|k| numbers(&pose["rotation"][k]));
    let eye = numbers(&pose["position"]);
    let fov = pose["fov"].as_f64().unwrap().to_radians();
    let focal = f64::from(height) / (2.0 * (fov / 2.0).tan());
    Camera {
        rotation,
        translation: rotation.map(|row: [f64; 3]| -(0..3).map(|k| row[k] * eye[k]).sum::<f64>()),
        ..Camera::pinhole(width, height, focal)
    }
}

/// The largest share of half of the picture that a corner of the box is away from its middle; none
/// if one is behind the camera.
fn reach(camera: &Camera) -> Option<f64> {
    let mut most = 0.0_f64;
    for corner in 0..8 {
        let point = std::array::from_fn(|k| TOWER[(corner >> k) & 1][k]);
        let [x, y, z] = camera.to_view(point);
        let [across, down] = camera.tan_half_fov();
        if z <= 0.0 {
            return None;
        }
        most = most.max((x / z / across).abs()).max((y / z / down).abs());
    }
    Some(most)
}

#[test]
fn all_is_framed_in_the_direction_of_view() {
    let mut scene = Gaussians::zeros(400, 0);
    scene.rotations.fill([1.0, 0.0, 0.0, 0.0]);
    scene.opacity_logits.fill(2.0);
    for (i, mean) in scene.means.iter_mut().enumerate() {
        let share = [i % 7, i, i % 11].map(|v| v as f64);
        let share = [share[0] / 6.0, share[1] / 399.0, share[2] / 10.0];
        *mean = [0, 1, 2].map(|k| (TOWER[0][k] + share[k] * (TOWER[1][k] - TOWER[0][k])) as f32);
    }
    let scene = rounded(&scene, false);
    let start = Camera::look_at(
        [2.5, -4.0, 1.0],
        [2.5, -5.0, 5.0],
        [0.0, -1.0, 0.0],
        0.9,
        3,
        2,
    );
    let mut page = plain(&scene);
    page.bounds = TOWER;
    page.start = Some(crate::support::pose(&start));
    let html = page.to_html().unwrap();
    in_webgl(async |mut browser| {
        for size in WINDOWS {
            window(&mut browser, size).await;
            let written = Written::new(&html);
            assert_eq!(written.open(&mut browser).await, "");
            let before = camera(&mut browser, size).await;
            // From the photo's pose, then from an orbit, by the key and by the button.
            let key = "dispatchEvent(new KeyboardEvent('keydown', { key: 'f' })); true";
            browser.value(key).await;
            let framed = camera(&mut browser, size).await;
            let same = |a: &Camera, b: &Camera| {
                (0..3)
                    .map(|k| a.rotation[2][k] * b.rotation[2][k])
                    .sum::<f64>()
            };
            assert!(same(&framed, &before) > 0.9999, "{size:?}: {framed:?}");
            let found = reach(&framed);
            assert!(
                found.is_some_and(|r| (0.85..=1.0).contains(&r)),
                "{size:?}: {found:?}"
            );

            browser.drag([200.0, 300.0], [280.0, 340.0]).await;
            browser
                .value(
                    "document.getElementById('view').dispatchEvent(new WheelEvent('wheel', \
                { deltaY: -900, bubbles: true, cancelable: true })); true",
                )
                .await;
            let turned = camera(&mut browser, size).await;
            browser
                .value("document.getElementById('frame').click(); true")
                .await;
            let framed = camera(&mut browser, size).await;
            assert!(same(&framed, &turned) > 0.9999, "{size:?}: {framed:?}");
            let found = reach(&framed);
            assert!(
                found.is_some_and(|r| (0.85..=1.0).contains(&r)),
                "{size:?}: {found:?}"
            );
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// A view that is wider than a phone begins there at a usual angle: from outside the scene from
/// farther away, so that the whole width is seen; from inside it shows less. The first touch does
/// not zoom.
#[test]
fn a_wide_view_has_a_usual_angle_on_a_phone() {
    let scene = rounded(&crate::support::ball().gaussians, false);
    let views = [[0.0, -0.2, -6.0], [0.0, -0.2, -0.2]].map(|eye: [f64; 3]| {
        let target = [eye[0], eye[1], eye[2] + 1.0];
        let camera = Camera::look_at(eye, target, [0.0, -1.0, 0.0], 0.87, 150, 100);
        let aspect = Some(1.5);
        splatcore_page::Pose {
            aspect,
            ..crate::support::pose(&camera)
        }
    });
    in_webgl(async |mut browser| {
        for (inside, view) in [false, true].into_iter().zip(&views) {
            let mut page = plain(&scene);
            page.bounds = [[-1.0; 3], [1.0; 3]];
            page.start = Some(view.clone());
            let written = Written::new(&page.to_html().unwrap());
            for size in WINDOWS {
                window(&mut browser, size).await;
                assert_eq!(written.open(&mut browser).await, "");
                let begun = camera(&mut browser, size).await;
                let tangent = (view.fov.to_radians() / 2.0).tan();
                let [across, down] = begun.tan_half_fov();
                let (eye, own) = (begun.position(), view.position);
                let back = own[2] - eye[2];
                if size[0] > size[1] {
                    assert!((down - tangent).abs() < 1e-6 && back.abs() < 1e-9);
                    continue;
                }
                assert!((down - 37.5_f64.to_radians().tan()).abs() < 1e-6, "{down}");
                if inside {
                    assert!(back.abs() < 1e-9, "{back}");
                } else {
                    // At the scene's middle, which is 6 away, as much as a wide window shows.
                    let seen = across * (6.0 + back);
                    assert!((seen - 1.5 * tangent * 6.0).abs() < 1e-6, "{seen}");
                }
                browser.drag([200.0, 300.0], [201.0, 300.0]).await;
                let touched = camera(&mut browser, size).await;
                assert!((touched.fy - begun.fy).abs() < 1e-6, "it zooms");
                let far = (0..3).map(|k| (touched.position()[k] - eye[k]).powi(2));
                assert!(far.sum::<f64>().sqrt() < 0.1 * (1.0 + back), "it jumps");
            }
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}
