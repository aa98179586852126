//! How fast poses move.

use super::*;
use splatcore_core::{Camera, Photo, View};

/// The first rate of a run, in pixels of photos with a field of view of 0.8 radians.
fn first_rate(iterations: u32, photos: usize, pixels: u32, travel: Option<f64>) -> f64 {
    let camera = Camera::look_at(
        [0.0, 0.0, 3.0],
        [0.0; 3],
        [0.0, 1.0, 0.0],
        0.8,
        pixels,
        pixels,
    );
    let view = View {
        name: String::new(),
        camera: camera.clone(),
        photo: Photo::opaque(0, 0, Vec::new()),
    };
    let config = Config {
        iterations: Some(iterations),
        refine_poses: Some(true),
        pose_travel: travel,
        ..Config::UNSET
    };
    let views = vec![view; photos];
    let schedule = scheduled(&config, 1.0).with_photos(&views, photos);
    camera.fy * schedule.pose_rate((poses::FROM * f64::from(iterations)) as u32)
}

/// Where photos are seen often the travel says how far a move goes, and where they are seen rarely
/// the pixels do: half a pixel, for a travel of 4 degrees.
#[test]
fn a_move_of_a_pose_is_a_part_of_a_pixel() {
    let close = |rate: f64, pixels: f64| assert!((rate / pixels - 1.0).abs() < 1e-9, "{rate}");
    close(first_rate(3000, 84, 480, None), 0.5);
    close(first_rate(3000, 84, 1920, None), 0.5);
    close(first_rate(3000, 84, 1920, Some(8.0)), 1.0);
    // Seen 7.5 times: of 19 that Adam averages.
    close(first_rate(1000, 100, 120, None), 0.5 * 7.5 / 19.0);
    // Seen 1,786 times while poses move, by 0.215 of the first rate on average.
    let [slow, slower] = [200_000, 400_000].map(|steps| first_rate(steps, 84, 480, None));
    assert!(slow < 0.2 && slow > 0.05, "{slow}");
    close(slow, 2.0 * slower);
}
