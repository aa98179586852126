//! Against round trips, finite differences, and what the pinhole does.

use super::{Lens, Plane, Projection};
use crate::camera::{Camera, normalize};
use crate::shutter::{Readout, Shutter};
use std::f64::consts::{PI, TAU};

/// One of each model, with coefficients of the size that calibrations find.
fn lenses() -> Vec<Lens> {
    vec![
        Lens::Pinhole,
        Lens::OpenCv {
            k: [-0.12, 0.03, 0.01, 0.05, -0.02, 0.004],
            p: [0.002, -0.003],
            s: [0.001, -0.0005, 0.002, 0.0007],
        },
        Lens::Brown {
            k: [-0.1, 0.02, -0.003, 0.001],
            p: [0.001, -0.002, 0.1, -0.05],
            skew: 0.002,
            fisheye: false,
        },
        Lens::Fisheye {
            k: [0.02, -0.01, 0.004, -0.001],
            p: [0.002, -0.003],
            s: [0.003, -0.002],
        },
        Lens::RadTanThinPrism {
            k: [0.02, -0.01, 0.004, -0.001, 0.0005, -0.0001],
            p: [0.002, -0.003],
            s: [0.003, -0.002, 0.001, 0.0015],
        },
        Lens::Equirectangular,
        Lens::Orthographic,
        f_theta(),
    ]
}

fn f_theta() -> Lens {
    let mut k = [0.0; 12];
    k[..4].copy_from_slice(&[-0.02, 0.05, -0.08, 0.03]);
    Lens::FTheta {
        k,
        skew: [0.001, -0.002],
        max_angle: None,
    }
}

/// Those about the axis, of which a polynomial bends the plane.
fn bent() -> impl Iterator<Item = Lens> {
    let straight = [Lens::Equirectangular, Lens::Orthographic];
    lenses()
        .into_iter()
        .filter(move |lens| !straight.contains(lens))
}

fn camera(lens: Lens) -> Camera {
    Camera {
        fx: 60.0,
        fy: 63.0,
        cx: 51.0,
        cy: 38.5,
        lens,
        ..Camera::look_at([0.3, -0.5, -4.0], [0.1; 3], [0.1, -1.0, 0.0], 0.9, 100, 80)
    }
}

fn moving() -> Shutter {
    Shutter {
        readout: Readout::TopToBottom,
        turn: [0.04, -0.05, 0.06],
        shift: [-0.1, 0.12, 0.07],
    }
}

/// Directions up to an angle from the axis, not on it.
fn directions(up_to: f64) -> Vec<[f64; 3]> {
    (1..=12)
        .flat_map(|ring| {
            let angle = up_to * ring as f64 / 12.0;
            (0..7).map(move |k| {
                let turn = k as f64 * 0.9 + 0.1;
                let r = angle.sin();
                [r * turn.cos(), r * turn.sin(), angle.cos()]
            })
        })
        .collect()
}

#[test]
fn derivatives_match_finite_differences() {
    for lens in lenses() {
        let projection = Projection::new(&camera(lens)).unwrap();
        // As far beyond the image as sigma points go.
        for direction in directions(projection.sigma_cosine.max(-0.99).acos()) {
            let at = direction.map(|v| 2.5 * v);
            let angle = direction[2].acos();
            if (angle - projection.max_angle).abs() < 1e-3 {
                continue;
            }
            let (pixel, rows) = projection.jacobian(at);
            assert_eq!(pixel, projection.project(at));
            let (depth, h) = (projection.depth_gradient(at), 1e-5);
            for axis in 0..3 {
                let moved = |by: f64| {
                    let mut to = at;
                    to[axis] += by;
                    to
                };
                let (high, low) = (moved(h), moved(-h));
                let slope = |f: &dyn Fn([f64; 3]) -> f64| (f(high) - f(low)) / (2.0 * h);
                for i in 0..2 {
                    let want = slope(&|p| projection.project(p)[i]);
                    let off = (rows[i][axis] - want).abs();
                    assert!(
                        off < 1e-6 * (1.0 + want.abs()),
                        "{lens:?} {at:?} {i} {axis}"
                    );
                }
                assert!((depth[axis] - slope(&|p| projection.depth(p))).abs() < 1e-8);
            }
        }
    }
}

/// A pixel at a depth is a point of the world that the pixel shows and that has this depth.
#[test]
fn points_at_a_depth_come_back() {
    for lens in lenses() {
        for shutter in [None, Some(moving())] {
            let camera = Camera {
                shutter,
                ..camera(lens)
            };
            let mut found = 0;
            for i in 0..=100 {
                let pixel = [(i % 10) as f64 * 10.0 + 3.0, (i / 10) as f64 * 7.0 + 2.0];
                let Some(point) = camera.point_at(pixel, 2.5) else {
                    continue;
                };
                let then = camera.at_pixel(pixel);
                let depth = Projection::new(&then).unwrap().depth(then.to_view(point));
                assert!((depth - 2.5).abs() < 1e-9, "{lens:?} {pixel:?}: {depth}");
                let back = then.project(point).unwrap();
                let off = (back[0] - pixel[0]).hypot(back[1] - pixel[1]);
                assert!(off < 1e-7, "{lens:?}: {pixel:?} came back as {back:?}");
                found += 1;
            }
            assert_eq!(found, 101, "{lens:?}");
        }
    }
}

/// Inside the image the projection is the camera's own; a pixel's direction leads back to it, and
/// beyond 90 degrees for a fisheye.
#[test]
fn points_of_the_image_come_back() {
    for lens in lenses() {
        let camera = camera(lens);
        let projection = Projection::new(&camera).unwrap();
        for i in 0..=100 {
            let pixel = [(i % 10) as f64 * 10.0 + 3.0, (i / 10) as f64 * 7.0 + 2.0];
            let direction = camera.direction(pixel).unwrap();
            if lens == Lens::Orthographic {
                // The ray of each pixel begins elsewhere.
                assert_eq!(direction, [0.0, 0.0, 1.0]);
                continue;
            }
            for back in [
                projection.project(direction),
                camera.project(camera.to_world(direction)).unwrap(),
            ] {
                let off = (back[0] - pixel[0]).hypot(back[1] - pixel[1]);
                assert!(off < 1e-7, "{lens:?}: {pixel:?} came back as {back:?}");
            }
        }
    }
    let wide = Camera {
        fx: 28.0,
        fy: 28.0,
        ..camera(lenses()[3])
    };
    let [x, y, z] = wide.direction([2.0, 38.5]).unwrap();
    assert!(z < -0.05, "{z}");
    let back = Projection::new(&wide)
        .unwrap()
        .project([3.0 * x, 3.0 * y, 3.0 * z]);
    assert!((back[0] - 2.0).abs() < 1e-7 && (back[1] - 38.5).abs() < 1e-7);
}

#[test]
fn without_coefficients_it_is_the_pinhole() {
    let camera = camera(Lens::Pinhole);
    let projection = Projection::new(&camera).unwrap();
    for direction in directions(0.8 * projection.max_angle) {
        let [x, y, z] = direction.map(|v| 3.0 * v);
        let want = [camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy];
        let got = projection.project([x, y, z]);
        assert!((got[0] - want[0]).abs() < 1e-10 && (got[1] - want[1]).abs() < 1e-10);
    }
}

/// Beyond the farthest corner points move on outwards; what lies beyond a fold has no place in the
/// image, where the polynomial alone would put it.
#[test]
fn nothing_comes_back_into_the_image() {
    let folding = Lens::OpenCv {
        k: [-0.3, 0.0, 0.0, 0.0, 0.0, 0.0],
        p: [0.0; 2],
        s: [0.0; 4],
    };
    for lens in bent().chain([folding]) {
        let projection = Projection::new(&camera(lens)).unwrap();
        for turn in [0.3f64, 1.9, 4.0] {
            let mut before = 0.0;
            for step in 1..280 {
                let angle = step as f64 * 0.01;
                let r = angle.sin();
                let [u, v] = projection.project([r * turn.cos(), r * turn.sin(), angle.cos()]);
                let out = (u - projection.centre[0]).hypot(v - projection.centre[1]);
                assert!(out > before, "{lens:?} at {angle}");
                before = out;
            }
        }
    }
    // r (1 - 0.3 r²) is largest at r = 1.0541; the corners are beyond that.
    let camera = Camera {
        fx: 60.0,
        ..camera(folding)
    };
    let projection = Projection::new(&camera).unwrap();
    let fold = (1.0f64 / 0.9).sqrt();
    assert!((projection.edge - fold).abs() < 1e-6, "{}", projection.edge);
    assert!(projection.sees_centre([fold - 0.01, 0.0, 1.0]));
    assert!(!projection.sees_centre([fold + 0.01, 0.0, 1.0]));
}

#[test]
fn models_say_what_they_are() {
    let planes = lenses()
        .into_iter()
        .map(|lens| lens.polynomial().unwrap().plane);
    let fisheyes = lenses().into_iter().map(|lens| lens.is_fisheye());
    assert!(planes.map(|plane| plane == Plane::Angle).eq(fisheyes));
    // Depth is a distance if what is beside the camera may be drawn.
    let by_distance = |zoom: f64| -> Vec<bool> {
        let zoomed = |lens| Camera {
            fx: zoom * camera(lens).fx,
            fy: zoom * camera(lens).fy,
            ..camera(lens)
        };
        let all = lenses().into_iter().map(zoomed);
        all.map(|camera| camera.depth_is_distance()).collect()
    };
    assert_eq!(
        by_distance(0.5),
        [false, false, false, true, true, true, false, true]
    );
    let narrow = [false, false, false, false, false, true, false, false];
    assert_eq!(by_distance(1.5), narrow);
    assert!(Projection::new(&camera(Lens::Fov { omega: 0.9 })).is_none());
    assert_eq!(Lens::default(), Lens::Pinhole);
    let mut bad = camera(lenses()[1]);
    assert_eq!(bad.defect(), None);
    bad.lens = Lens::Division { k: f64::NAN };
    assert!(bad.defect().unwrap().contains("lens"));
    assert!(normalize(camera(Lens::Pinhole).direction([51.0, 38.5]).unwrap()).unwrap()[2] > 0.999);
}

/// East is to the right, the north pole on the first line, and what is behind on both sides.
#[test]
fn a_panorama_has_longitudes_and_latitudes() {
    let camera = Camera {
        fx: 200.0 / TAU,
        fy: 100.0 / PI,
        lens: Lens::Equirectangular,
        ..Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 200, 100)
    };
    let projection = Projection::new(&camera).unwrap();
    let near = |at: [f64; 3], want: [f64; 2]| {
        let got = projection.project(at);
        assert!(
            (got[0] - want[0]).hypot(got[1] - want[1]) < 1e-7,
            "{at:?}: {got:?}"
        );
    };
    near([0.0, 0.0, 2.0], [100.0, 50.0]);
    near([2.0, 0.0, 0.0], [150.0, 50.0]);
    near([1.0, -(2.0f64.sqrt()), 1.0], [125.0, 25.0]);
    near([0.0, -3.0, 0.0], [100.0, 0.0]);
    near([1e-9, 0.0, -2.0], [200.0, 50.0]);
    near([-1e-9, 0.0, -2.0], [0.0, 50.0]);
    // About what is behind, points lie together.
    let (behind, other) = ([-0.1, 0.0, -2.0], [0.1, 0.0, -2.0]);
    let (behind, other) = (projection.project(behind), projection.project(other));
    assert!((behind[0] - other[0]).abs() > 190.0);
    let together = projection.beside(other, behind);
    assert!((together[0] - behind[0]).abs() < 4.0 && together[0] < 0.0);
    // The derivative is finite at the pole, and beyond it there are no rays.
    let (_, rows) = projection.jacobian([0.0, -3.0, 0.0]);
    assert!(rows.as_flattened().iter().all(|v| v.is_finite()));
    assert!(camera.direction([100.0, -1.0]).is_none());
    assert!(camera.direction([201.0, 50.0]).is_none());
    let [x, y, z] = camera.direction([150.0, 25.0]).unwrap();
    let half = 0.5f64.sqrt();
    assert!((x - half).abs() < 1e-12 && (y + half).abs() < 1e-12 && z.abs() < 1e-12);
}

/// A pixel is as wide everywhere, and what is behind the camera is not seen.
#[test]
fn parallel_rays_see_one_scale() {
    let camera = camera(Lens::Orthographic);
    let projection = Projection::new(&camera).unwrap();
    for z in [1.0, 30.0] {
        assert_eq!(
            projection.project([0.5, -0.25, z]),
            [51.0 + 30.0, 38.5 - 15.75]
        );
    }
    assert!(camera.lens.image([0.5, 0.25, -1.0]).is_none());
    assert!(!camera.lens.has_pinhole_view() && Lens::Equirectangular.has_pinhole_view());
}
