//! In how many parts a scene lies changes no bit.

use super::*;
use crate::device::Limited;
use crate::tests::support::device::device;
use splatcore_core::Lens;
use splatcore_core::sky::{COEFFICIENTS, Sky};
use splatcore_reference::conformance::scenes::{odd_camera, random_scene};

fn parts(count: usize, change: impl Fn(CudaBackend) -> CudaBackend) -> Option<PartsBackend> {
    let one = |_| Some(change(CudaBackend::on(device()?, false)));
    let all: Option<Vec<_>> = (0..count).map(one).collect();
    Some(PartsBackend::on(all?))
}

/// Images of one device and of several.
fn compare(
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
    (counts, half): (&[usize], bool),
) {
    let Some(device) = device() else { return };
    let change = |backend: CudaBackend| backend.with_half_scene(half);
    let alone = change(CudaBackend::on(device, false));
    let mut alone = alone.renderer(scene).unwrap();
    let want = alone.render(camera, options).unwrap();
    let bytes = alone.render_bytes(camera, options).unwrap();
    for &count in counts {
        let backend = parts(count, change).unwrap();
        let mut renderer = backend.renderer(scene).unwrap();
        assert_eq!(renderer.count(), scene.len());
        // Twice: the second frame finds what the first has left.
        for _ in 0..2 {
            let got = renderer.render(camera, options).unwrap();
            assert!(got.image == want.image, "{count} parts");
            assert_eq!(got.transmittance, want.transmittance);
            assert_eq!(got.inverse_depth, want.inverse_depth);
        }
        assert!(renderer.render_bytes(camera, options).unwrap() == bytes);
    }
}

fn plain() -> RenderOptions {
    RenderOptions {
        background: [0.2, 0.5, 0.1],
        ..RenderOptions::default()
    }
}

#[test]
fn images_of_several_parts() {
    let scene = random_scene(53, 600, 3);
    let camera = odd_camera(50, 40, 0.4);
    compare(&scene, &camera, &plain(), (&[1, 2, 3, 8], false));
    let two = random_scene(7, 900, 2);
    compare(&two, &camera, &plain(), (&[2], false));
    // Fewer Gaussians than parts, and none in view.
    compare(&random_scene(5, 2, 0), &camera, &plain(), (&[3], false));
    let mut behind = scene.clone();
    for mean in &mut behind.means {
        mean[2] -= 1e3;
    }
    let away = odd_camera(50, 40, 0.0);
    compare(&behind, &away, &plain(), (&[2], false));
}

#[test]
fn other_images_of_several_parts() {
    let scene = random_scene(53, 600, 3);
    let camera = odd_camera(70, 50, 0.4);
    let with = |pipeline: &str| RenderOptions {
        pipeline: pipeline.parse().unwrap(),
        ..plain()
    };
    let depth = RenderOptions {
        inverse_depth: true,
        antialias: true,
        ..plain()
    };
    let interpolated = RenderOptions {
        interpolate: true,
        sky: Some(Arc::new(Sky {
            coefficients: [[0.3; 3]; COEFFICIENTS],
        })),
        sh_degree: 1,
        ..plain()
    };
    for options in [
        depth,
        interpolated,
        with("exact+tensor-gs-2x2+atomic"),
        with("vanilla"),
    ] {
        compare(&scene, &camera, &options, (&[3], false));
    }
    compare(&scene, &camera, &plain(), (&[3], true));
    let fisheye = Camera {
        lens: Lens::Fisheye {
            k: [0.02, -0.01, 0.004, -0.001],
            p: [0.0; 2],
            s: [0.0; 2],
        },
        ..camera
    };
    compare(&scene, &fisheye, &plain(), (&[2], false));
}

/// A scene that is stored in another order than it has.
#[test]
fn equal_depths_keep_the_order_of_one_device() {
    let mut scene = random_scene(11, 20_000, 0);
    for (i, mean) in scene.means.iter_mut().enumerate() {
        mean[2] = 3.0 + (i % 3) as f32;
    }
    assert!(spatial_order(&scene.means).is_some());
    let camera = odd_camera(40, 30, 0.0);
    compare(&scene, &camera, &plain(), (&[2], false));
}

/// Each device has too little for the scene, and keeps its part; with less still, harmonics of a
/// part lie in the host's memory.
#[test]
fn what_one_device_does_not_hold_several_do() {
    let Some(device) = device() else { return };
    let mut scene = random_scene(3, 6_000, 3);
    // The camera sees one in ten.
    for (i, mean) in scene.means.iter_mut().enumerate() {
        if i % 10 > 0 {
            mean[2] -= 1e3;
        }
    }
    let camera = odd_camera(50, 40, 0.0);
    let options = plain();
    let alone = CudaBackend::on(device.clone(), false);
    let want = alone
        .renderer(&scene)
        .unwrap()
        .render(&camera, &options)
        .unwrap();
    let whole = crate::renderer::whole_bytes(scene.len(), 3, false);
    for share in [0.8, 0.4] {
        let limit = (share * whole as f64) as u64;
        let limited = || {
            let device = Arc::new(Limited::new(device.clone(), limit));
            let backend = CudaBackend::on(device.clone(), false).with_offload(true);
            (backend, device)
        };
        let (backends, devices): (Vec<_>, Vec<_>) = (0..2).map(|_| limited()).unzip();
        assert!(!backends[0].holds(&scene));
        let mut renderer = PartsBackend::on(backends).renderer(&scene).unwrap();
        let got = renderer.render(&camera, &options).unwrap();
        assert!(got.image == want.image, "{limit} bytes");
        for device in devices {
            assert!(device.peak() <= limit);
        }
    }
    assert!(alone.holds(&scene));
}

#[test]
fn what_a_scene_in_parts_cannot_is_said() {
    let Some(backend) = parts(2, |backend| backend) else {
        return;
    };
    let scene = random_scene(3, 60, 0);
    let mut renderer = backend.renderer(&scene).unwrap();
    let camera = odd_camera(50, 40, 0.4);
    let error = renderer.counts(&camera, &plain()).unwrap_err().to_string();
    assert_contains!(
        error,
        "counts of a scene that is divided over several cards"
    );
    assert_contains!(backend.describe(), "2 cards with a part of the scene each");
}

/// Peers whose exchanges never end by themselves.
struct Stuck {
    given_up: std::sync::Mutex<bool>,
    changed: std::sync::Condvar,
    met: Option<&'static str>,
}

impl Peers for Stuck {
    fn ranks(&self) -> Ranks {
        Ranks::of(1, 2)
    }
    unsafe fn begin(
        &self,
        _: &dyn Device,
        _: Vec<Piece>,
        _: Vec<Piece>,
    ) -> Result<crate::peers::Begun, crate::device::DeviceError> {
        let waits = |given_up: &mut bool| !*given_up;
        let guard = self.given_up.lock().unwrap();
        drop(self.changed.wait_while(guard, waits).unwrap());
        Err(crate::device::DeviceError::Failed("aborted".into()))
    }
    fn end(
        &self,
        _: &dyn Device,
        _: crate::peers::Begun,
    ) -> Result<(), crate::device::DeviceError> {
        Ok(())
    }
    fn is_behind(&self) -> Result<bool, crate::device::DeviceError> {
        let met = self
            .met
            .map(|met| crate::device::DeviceError::Failed(met.into()));
        met.map_or(Ok(true), Err)
    }
    fn give_up(&self) {
        *self.given_up.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

/// An exchange that fails under way, or never ends, ends with an error.
#[test]
fn exchanges_that_never_end_are_given_up() {
    let Some(device) = device() else { return };
    for (met, wanted) in [
        (Some("the link is down"), "the link is down"),
        (None, "within 0.2 s"),
    ] {
        let stuck = || {
            Arc::new(Stuck {
                given_up: false.into(),
                changed: std::sync::Condvar::new(),
                met,
            })
        };
        let peers: Vec<Arc<dyn Peers>> = vec![stuck(), stuck()];
        let mut parts = peers.clone();
        let deadline = Duration::from_millis(200);
        let error = exchanged(&mut parts, &peers, deadline, |peers| {
            // SAFETY: no piece is given or taken.
            let begun = unsafe { peers.begin(&*device, Vec::new(), Vec::new()) };
            begun.map(drop).map_err(failed)
        });
        assert_contains!(error.unwrap_err().to_string(), wanted);
    }
}
