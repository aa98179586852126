use super::*;
use splatcore_core::backend::{
    Cotangents, FrameCounts, Rendered, Scored, StripCounts, TileCounts, Visibility,
};
use splatcore_core::pipeline::Backward;
use splatcore_core::{Camera, Gaussians};
use std::time::Duration;

/// Says that its stages take 3, 4 and 5 ms, waits 2 ms for a frame that stays, and as long
/// again at the end. Lacks the backward method `warp-reduce`.
#[derive(Default)]
struct Known {
    frames: u32,
    finished: u32,
    timed: Vec<Backward>,
    /// Calls of `finish`, from 1, that say that a frame was left empty.
    incomplete: Vec<u32>,
}

impl Scored for Known {
    fn visibility(&mut self, _: &Camera, _: &RenderOptions) -> Result<Visibility, BackendError> {
        Ok(Visibility::unseen(self.count()))
    }
    fn tile_counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<TileCounts, BackendError> {
        Ok(TileCounts::default())
    }
    fn counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<FrameCounts, BackendError> {
        Ok(FrameCounts {
            visible: 10,
            pairs: 20,
            fragments_evaluated: Some(3000),
            fragments_blended: Some(1000),
            strips: Some(StripCounts {
                visited: 64,
                blended: 40,
            }),
        })
    }
}

impl Renderer for Known {
    fn count(&self) -> usize {
        1
    }
    fn render(&mut self, camera: &Camera, _: &RenderOptions) -> Result<Rendered, BackendError> {
        Ok(Rendered {
            image: Image::filled(camera.width, camera.height, [0.5; 3]),
            transmittance: Vec::new(),
            inverse_depth: None,
        })
    }
    fn render_only(&mut self, _: &Camera, _: &RenderOptions) -> Result<(), BackendError> {
        self.frames += 1;
        std::thread::sleep(Duration::from_millis(2));
        Ok(())
    }
    fn finish(&mut self) -> Result<bool, BackendError> {
        self.finished += 1;
        std::thread::sleep(Duration::from_millis(2));
        Ok(!self.incomplete.contains(&self.finished))
    }
    fn gradients(
        &mut self,
        _: &Camera,
        _: &RenderOptions,
        _: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        Ok(Gaussians::empty(0))
    }
    fn stage_times(
        &mut self,
        _: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        let method = options.pipeline.backward;
        if method == Backward::WarpReduce {
            return Err(BackendError::Unsupported {
                backend: "test",
                what: "warps".into(),
                depends_on: &[],
            });
        }
        self.timed.push(method);
        if timed == Timed::Frame {
            return Ok(vec![("frame", 0.006)]);
        }
        Ok(vec![
            ("sort", 0.003),
            ("blend", 0.004),
            ("blend_backward", 0.005),
        ])
    }
}

fn cameras() -> [NamedCamera; 2] {
    let camera = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 4, 4);
    ["a", "b"].map(|name| NamedCamera::new(name.into(), camera.clone()))
}

fn rows(
    renderer: &mut Known,
    cameras: &[NamedCamera],
    methods: &[Backward],
) -> (Vec<Measured>, u64) {
    let options = |&backward: &Backward| RenderOptions {
        pipeline: Pipeline {
            backward,
            ..Pipeline::VANILLA
        },
        ..RenderOptions::default()
    };
    let options: Vec<_> = methods.iter().map(options).collect();
    let mut ticks = 0;
    let mut timing = Timing {
        renderer,
        full: None,
        steps: None,
        cameras,
        reference: Some(RenderOptions::default()),
        passes: 5,
        ssim: &[],
        lpips: None,
        tick: &mut |_| ticks += 1,
    };
    (timing.rows(&options).unwrap(), ticks)
}

#[test]
fn times_are_milliseconds_a_frame() {
    let mut renderer = Known::default();
    let (rows, ticks) = rows(&mut renderer, &cameras(), &[Backward::Atomic]);
    let row = rows[0].as_ref().unwrap();
    assert!((row.gpu_ms - 6.0).abs() < 1e-9, "{}", row.gpu_ms);
    // Two frames and the wait for both: 3 ms a frame, or more on a busy machine.
    assert!(
        row.frame_ms >= 3.0 && row.frame_ms < 1000.0,
        "{}",
        row.frame_ms
    );
    assert_eq!((row.backward_ms, row.step_ms), (None, None));
    assert_eq!((row.pairs, row.fragments_blended), (20, Some(1000)));
    assert_eq!((row.warps_visited, row.warps_blended), (Some(64), Some(40)));
    let ns = row.ns_per_blended.unwrap();
    assert!((ns - 4000.0).abs() < 1e-6, "{ns}");
    assert!((row.stage("sort") - 3.0).abs() < 1e-9 && row.stage("nothing") == 0.0);
    assert_eq!(row.psnr_vs_reference, Some(SAME_BITS));
    assert_eq!(row.psnr_vs_reference_worst, Some(SAME_BITS));
    assert_eq!(row.psnr_vs_photos, None);
    // The reference is an image of each of two cameras.
    assert_eq!(ticks, passes(5, false) + 2);
    // A pass is a frame of each camera after one that is not timed.
    assert_eq!((renderer.frames, renderer.finished), (15, 10));
}

/// The second call of `finish` ends the first timed pass.
#[test]
fn a_pass_with_an_empty_frame_does_not_count() {
    let mut renderer = Known {
        incomplete: vec![2, 3],
        ..Known::default()
    };
    let (measured, _) = rows(&mut renderer, &cameras(), &[Backward::Atomic]);
    assert!(measured[0].is_ok());
    assert_eq!((renderer.frames, renderer.finished), (15 + 4, 10 + 2));
}

#[test]
fn frames_that_stay_empty_are_an_error() {
    let mut renderer = Known {
        incomplete: (2..100).collect(),
        ..Known::default()
    };
    let cameras = cameras();
    let mut timing = Timing {
        renderer: &mut renderer,
        full: None,
        steps: None,
        cameras: &cameras,
        reference: Some(RenderOptions::default()),
        passes: 5,
        ssim: &[],
        lpips: None,
        tick: &mut |_| (),
    };
    let error = timing.rows(&[RenderOptions::default()]).err().unwrap();
    assert!(error.to_string().contains("left empty"), "{error}");
}

#[test]
fn pipelines_take_turns_and_a_missing_one_costs_no_time() {
    let mut renderer = Known::default();
    let methods = [Backward::Atomic, Backward::WarpReduce, Backward::Splatcore];
    let (rows, ticks) = rows(&mut renderer, &cameras(), &methods);
    assert_eq!(ticks, 3 * passes(5, false) + 2);
    assert!(rows[0].is_ok() && rows[2].is_ok());
    assert!(matches!(rows[1], Err(BackendError::Unsupported { .. })));
    // After the warm-up a pass over both cameras each.
    let turn = [
        Backward::Atomic,
        Backward::Atomic,
        Backward::Splatcore,
        Backward::Splatcore,
    ];
    assert_eq!(renderer.timed[4..], turn.repeat(2 * 5));
}

/// Adding up the rows of pairs is no part of a frame either.
#[test]
fn the_backward_pass_is_all_behind_the_forward_pass() {
    assert!(is_backward("blend_backward") && is_backward("sum_pairs"));
    assert!(is_backward("gather_sums"));
    assert!(is_backward("project_backward") && !is_backward("blend"));
}

#[test]
fn ssim_is_measured_where_it_is_wanted() {
    let mut renderer = Known::default();
    let photo = Photo::opaque(4, 4, vec![128; 48]);
    let [mut a, b] = cameras();
    a.photo = Some(photo);
    let mut measure = |cameras: &[NamedCamera], ssim: &[Pipeline]| {
        let mut timing = Timing {
            renderer: &mut renderer,
            full: None,
            steps: None,
            cameras,
            reference: Some(RenderOptions::default()),
            passes: 1,
            ssim,
            lpips: None,
            tick: &mut |_| (),
        };
        let row = timing.rows(&[RenderOptions::default()]).unwrap().remove(0);
        let row = row.unwrap();
        (row.ssim_vs_reference, row.ssim_vs_photos)
    };
    assert_eq!(measure(std::slice::from_ref(&a), &[]), (None, None));
    let wanted = [RenderOptions::default().pipeline];
    // 0.5 against 128 of 255: equal but for half a byte.
    let (reference, photos) = measure(std::slice::from_ref(&a), &wanted);
    assert!((reference.unwrap() - 1.0).abs() < 1e-9);
    assert!((photos.unwrap() - 1.0).abs() < 1e-3 && photos.unwrap() < 1.0);
    // Not every camera has a photo.
    assert_eq!(measure(&[a, b], &wanted).1, None);
}

#[test]
fn photos_count_only_when_every_camera_has_one_of_its_size() {
    let photo = |width: u32| Photo::opaque(width, 4, [102, 153].repeat(6 * width as usize));
    let mut cameras = cameras();
    cameras[0].photo = Some(photo(4));
    cameras[1].photo = Some(photo(2));
    let psnr = |cameras: &[NamedCamera]| {
        let (rows, _) = rows(&mut Known::default(), cameras, &[Backward::Atomic]);
        rows[0].as_ref().unwrap().psnr_vs_photos
    };
    assert_eq!(psnr(&cameras), None);
    cameras[1].photo = Some(photo(4));
    let found = psnr(&cameras).unwrap();
    assert!((found - 20.0).abs() < 1e-3, "{found}");
}

#[test]
fn medians() {
    assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
}

#[test]
fn stages_keep_their_order_and_are_summed_over_a_pass() {
    let mut samples = Samples::default();
    for scale in [1.0, 3.0, 2.0] {
        let mut pass = StageTimes::new();
        add(&mut pass, vec![("sort", 0.001 * scale), ("blend", 0.004)]);
        add(&mut pass, vec![("sort", 0.003 * scale)]);
        samples.push(pass);
    }
    let found = samples.medians(2.0);
    assert!(
        (found[0].1 - 4.0).abs() < 1e-9 && (found[1].1 - 2.0).abs() < 1e-9,
        "{found:?}"
    );
    assert_eq!((found[0].0, found[1].0), ("sort", "blend"));
}

/// Two renderers with a camera each measure what one does with both, frame by frame.
#[test]
fn views_are_spread_over_renderers() {
    let (mut one, mut other) = (Known::default(), Known::default());
    let cameras = cameras();
    let options = [Backward::Atomic, Backward::WarpReduce].map(|backward| RenderOptions {
        pipeline: Pipeline {
            backward,
            ..Pipeline::VANILLA
        },
        ..RenderOptions::default()
    });
    let ticks = std::sync::atomic::AtomicU64::new(0);
    let tick = |_| {
        ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let [mut first, mut second] = [tick, tick];
    let mut timings: Vec<_> = [(&mut one, 0, &mut first), (&mut other, 1, &mut second)]
        .into_iter()
        .map(|(renderer, k, tick)| Timing {
            renderer,
            full: None,
            steps: None,
            cameras: &cameras[k..=k],
            reference: Some(RenderOptions::default()),
            passes: 5,
            ssim: &[],
            lpips: None,
            tick,
        })
        .collect();
    let rows = rows_over(&mut timings, &options).unwrap();
    let row = rows[0].as_ref().unwrap();
    assert!((row.gpu_ms - 6.0).abs() < 1e-9, "{}", row.gpu_ms);
    // A frame and the wait for it: two of each have passed at the same time.
    assert!(row.frame_ms >= 4.0, "{}", row.frame_ms);
    assert!((row.stage("sort") - 3.0).abs() < 1e-9);
    assert_eq!((row.visible, row.pairs), (10, 20));
    assert_eq!((row.warps_visited, row.warps_blended), (Some(64), Some(40)));
    assert_eq!(row.psnr_vs_reference, Some(SAME_BITS));
    assert!(matches!(rows[1], Err(BackendError::Unsupported { .. })));
    assert_eq!(ticks.into_inner(), 2 * 2 * passes(5, false) + 2);
    assert_eq!([one.frames, other.frames], [10, 10]);
}
