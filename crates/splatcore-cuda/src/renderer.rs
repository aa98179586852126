//! A scene on the device.

use crate::device::Buffer;
use crate::device::Kernels;
use crate::device::buffer::failed;
use crate::frame::{Frame, Purpose};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::project::half;
use crate::ops::project_backward;
use crate::ops::project_backward::WriteGradientsParams;
use crate::ops::scene::SceneAddresses;
use crate::ops::state;
use crate::spatial_order::spatial_order;
use splatcore_core::backend::{FrameCounts, RenderOptions, Rendered, Renderer, StageTimes};
use splatcore_core::{BackendError, Camera, Choice, Gaussians, Image, checks, sh};
use std::sync::Arc;

/// Renders a scene that stays as it is.
pub struct CudaRenderer {
    arrays: [Buffer; 5],
    /// The Gaussian of each place in them, if they lie in another order than the scene's.
    order: Option<Vec<u32>>,
    count: usize,
    sh_degree: u8,
    /// Degree whose rows are stored: 3 for 2, whose rows of 27 floats can only be copied one by one
    /// (halves are filled up).
    stored_degree: u8,
    /// Harmonics are stored as halves.
    half: bool,
    frame: Frame,
    kernels: Arc<Kernels>,
    /// The last frame was rendered without polling whether there was room for its pairs.
    unchecked: Option<(Camera, RenderOptions)>,
}

impl CudaRenderer {
    pub(crate) fn new(
        scene: &Gaussians,
        frame: Frame,
        kernels: Arc<Kernels>,
        half: bool,
    ) -> Result<Self, BackendError> {
        let device = &frame.queue.device;
        let order = spatial_order(&scene.means);
        let ordered = order.as_ref().map(|order| scene.in_order(order));
        let scene = ordered.as_ref().unwrap_or(scene);
        let [a, b, c, d, e] = state::flat(scene);
        let half = half && scene.sh_degree > 0;
        let stored_degree = match scene.sh_degree {
            2 if !half => 3,
            degree => degree,
        };
        let wide = (stored_degree != scene.sh_degree).then(|| {
            let mut rows = vec![[0.0f32; 3]; scene.len() * sh::coefficients(stored_degree)];
            let own = scene.coefficients();
            for (row, from) in rows
                .chunks_exact_mut(sh::coefficients(stored_degree))
                .zip(scene.sh.chunks_exact(own))
            {
                row[..own].copy_from_slice(from);
            }
            rows
        });
        let e = wide.as_ref().map_or(e, |rows| rows.as_flattened());
        let upload = |k: usize, data: &[f32]| Buffer::from_slice(device, state::GROUPS[k], data);
        let harmonics = match half {
            true => Buffer::from_slice(device, state::GROUPS[4], &half::harmonics(scene))?,
            false => upload(4, e)?,
        };
        Ok(Self {
            arrays: [
                upload(0, a)?,
                upload(1, b)?,
                upload(2, c)?,
                upload(3, d)?,
                harmonics,
            ],
            order,
            count: scene.len(),
            sh_degree: scene.sh_degree,
            stored_degree,
            half,
            frame,
            kernels,
            unchecked: None,
        })
    }

    /// No more degrees than the scene has, whatever its rows are stored as.
    fn limited(&self, options: &RenderOptions) -> RenderOptions {
        RenderOptions {
            sh_degree: options.sh_degree.min(self.sh_degree),
            ..options.clone()
        }
    }

    /// For what needs the harmonics in f32.
    fn refuse_halves(&self) -> Result<(), BackendError> {
        match self.half {
            true => Err(BackendError::Unsupported {
                backend: "cuda",
                what: "gradients of a scene in half precision".into(),
                depends_on: &[Choice::HalfScene],
            }),
            false => Ok(()),
        }
    }

    fn scene(&self) -> SceneAddresses {
        SceneAddresses {
            count: self.count,
            count_at: 0,
            sh_degree: self.stored_degree,
            half: self.half,
            is_spatial: true,
            arrays: self.arrays.each_ref().map(Buffer::address),
            smoothing: 0,
        }
    }
}

impl Renderer for CudaRenderer {
    fn count(&self) -> usize {
        self.count
    }

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.unchecked = None;
        let scene = self.scene();
        let options = self.limited(options);
        render(&mut self.frame, scene, camera, &options)
    }

    fn render_only(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let scene = self.scene();
        let options = self.limited(options);
        self.frame
            .forward(scene, camera, &options, Purpose::Image)?;
        self.unchecked = Some((camera.clone(), options));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        if let Some((camera, options)) = self.unchecked.take() {
            let counters = self.frame.counters()?;
            if counters.overflowed != 0 {
                // Room for every frame since the last look, though only the last one is rendered
                // again.
                self.frame.make_room(&counters)?;
                let scene = self.scene();
                forward(&mut self.frame, scene, &camera, &options, Purpose::Image)?;
            }
        }
        self.frame.queue.device.synchronize().map_err(failed)
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        image_gradient: &Image,
    ) -> Result<Gaussians, BackendError> {
        self.refuse_halves()?;
        let scene = self.scene();
        let options = self.limited(options);
        let mut gradients = gradients(
            &mut self.frame,
            &self.kernels,
            scene,
            camera,
            &options,
            image_gradient,
        )?;
        if self.stored_degree != self.sh_degree {
            let (own, stored) = (
                sh::coefficients(self.sh_degree),
                sh::coefficients(self.stored_degree),
            );
            let rows = gradients.sh.chunks_exact(stored);
            gradients.sh = rows.flat_map(|row| row[..own].iter().copied()).collect();
            gradients.sh_degree = self.sh_degree;
        }
        if let Some(order) = &self.order {
            let mut places = vec![0u32; order.len()];
            for (place, &i) in (0..).zip(order) {
                places[i as usize] = place;
            }
            gradients = gradients.in_order(&places);
        }
        Ok(gradients)
    }

    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        let scene = self.scene();
        let options = self.limited(options);
        counts(&mut self.frame, scene, camera, &options)
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        backward: bool,
    ) -> Result<StageTimes, BackendError> {
        if backward {
            self.refuse_halves()?;
        }
        let scene = self.scene();
        let options = self.limited(options);
        stage_times(&mut self.frame, scene, camera, &options, backward)
    }
}

/// Runs a frame, with more room for its pairs if there was too little.
pub(crate) fn forward(
    frame: &mut Frame,
    scene: SceneAddresses,
    camera: &Camera,
    options: &RenderOptions,
    purpose: Purpose,
) -> Result<(KernelCamera, Counters), BackendError> {
    loop {
        frame.forget()?;
        let view = frame.forward(scene, camera, options, purpose)?;
        let counters = frame.counters()?;
        if counters.overflowed == 0 {
            return Ok((view, counters));
        }
        // Also if there is no room: the next frame may need less.
        frame.make_room(&counters)?;
    }
}

pub(crate) fn render(
    frame: &mut Frame,
    scene: SceneAddresses,
    camera: &Camera,
    options: &RenderOptions,
) -> Result<Rendered, BackendError> {
    let (view, _) = forward(frame, scene, camera, options, Purpose::Image)?;
    let pixels = view.pixels();
    let planes: Vec<f32> = frame.image.to_vec(3 * pixels)?;
    let data = (0..pixels)
        .map(|i| [planes[i], planes[pixels + i], planes[2 * pixels + i]])
        .collect();
    Ok(Rendered {
        image: Image {
            width: camera.width,
            height: camera.height,
            data,
        },
        transmittance: frame.transmittance.to_vec(pixels)?,
        inverse_depth: match options.inverse_depth {
            true => Some(frame.inverse_depth.to_vec(pixels)?),
            false => None,
        },
    })
}

pub(crate) fn counts(
    frame: &mut Frame,
    scene: SceneAddresses,
    camera: &Camera,
    options: &RenderOptions,
) -> Result<FrameCounts, BackendError> {
    let (_, counters) = forward(frame, scene, camera, options, Purpose::Counting)?;
    Ok(FrameCounts {
        visible: counters.visible.into(),
        pairs: counters.pairs,
        fragments_evaluated: counters.evaluated,
        fragments_blended: counters.blended,
    })
}

fn upload_gradient(frame: &mut Frame, image: &Image) -> Result<(), BackendError> {
    let pixels = image.data.len();
    let mut planes = vec![0.0f32; 3 * pixels];
    for (i, pixel) in image.data.iter().enumerate() {
        for c in 0..3 {
            planes[c * pixels + i] = pixel[c];
        }
    }
    frame.image_gradient.reserve(12 * pixels)?;
    frame.image_gradient.write(0, &planes)
}

pub(crate) fn gradients(
    frame: &mut Frame,
    kernels: &Kernels,
    scene: SceneAddresses,
    camera: &Camera,
    options: &RenderOptions,
    image_gradient: &Image,
) -> Result<Gaussians, BackendError> {
    checks::image_gradient(image_gradient, camera)?;
    let (view, _) = forward(frame, scene, camera, options, Purpose::Training)?;
    upload_gradient(frame, image_gradient)?;
    frame.backward(scene, &view, options)?;
    let device = frame.queue.device.clone();
    let widths = state::widths(scene.sh_degree);
    let mut out = Vec::with_capacity(5);
    for k in 0..5 {
        out.push(Buffer::new(
            &device,
            state::GROUPS[k],
            4 * widths[k] * scene.count,
        )?);
    }
    let in_use = options.sh_degree.min(scene.sh_degree);
    let loaded = kernels
        .get(&project_backward::write_gradients(in_use, scene.sh_degree))
        .map_err(failed)?;
    let (splat_of, splat_gradients) = frame.gradient_addresses();
    let count = scene.count as u32;
    frame.queue.launch(
        loaded[0],
        count.div_ceil(256),
        256,
        &WriteGradientsParams {
            scene_means: scene.arrays[0],
            splat_of,
            gradients: splat_gradients,
            count,
            camera: view,
            means: out[0].address(),
            log_scales: out[1].address(),
            rotations: out[2].address(),
            opacity_logits: out[3].address(),
            sh: out[4].address(),
        },
    )?;
    state::gather(scene.count, scene.sh_degree, |k| &out[k])
}

pub(crate) fn stage_times(
    frame: &mut Frame,
    scene: SceneAddresses,
    camera: &Camera,
    options: &RenderOptions,
    backward: bool,
) -> Result<StageTimes, BackendError> {
    let purpose = match backward {
        true => Purpose::Training,
        false => Purpose::Image,
    };
    // Room for the pairs first, so that nothing is measured that stopped halfway.
    if !frame.has_room() || frame.counters()?.overflowed != 0 {
        forward(frame, scene, camera, options, purpose)?;
    }
    if backward {
        upload_gradient(frame, &Image::filled(camera.width, camera.height, [1.0; 3]))?;
    }
    loop {
        frame.forget()?;
        frame.queue.device.synchronize().map_err(failed)?;
        frame.queue.start_marks()?;
        let done = frame
            .forward(scene, camera, options, purpose)
            .and_then(|view| match backward {
                true => frame.backward(scene, &view, options),
                false => Ok(()),
            });
        // Whatever happened: later frames leave no marks.
        let times = frame.queue.take_times();
        done?;
        let (times, counters) = (times?, frame.counters()?);
        if counters.overflowed == 0 {
            return Ok(times);
        }
        frame.make_room(&counters)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::device::emulated::{Emulated, device_of_tests};
    use crate::device::queue::Queue;
    use splatcore_core::metrics::psnr_between;
    use splatcore_core::{Backend, Pipeline};
    use splatcore_cpu::CpuBackend;
    use splatcore_reference::conformance::scenes::{plain_camera, random_scene};

    /// Vanilla has a pair for every tile of a square; what a image's sorts are launched for grew
    /// with them.
    #[test]
    fn pictures_make_no_room_for_the_pairs_of_another_pipeline() {
        let Some(device) = device_of_tests() else {
            return;
        };
        let kernels = Arc::new(Kernels::new(device.clone()));
        let frame = Frame::new(Queue::new(device), kernels.clone(), false).unwrap();
        let mut renderer =
            CudaRenderer::new(&random_scene(17, 200, 0), frame, kernels, false).unwrap();
        let (camera, image) = (plain_camera(90, 70), RenderOptions::default());
        let vanilla = RenderOptions {
            pipeline: Pipeline::VANILLA,
            ..image.clone()
        };
        let mut wanted = 0;
        for options in [&image, &vanilla, &image] {
            renderer.render_only(&camera, options).unwrap();
            renderer.finish().unwrap();
            if options.pipeline == vanilla.pipeline {
                let counters = renderer.frame.counters().unwrap();
                assert!(
                    counters.needed as usize > 2 * wanted,
                    "{} pairs",
                    counters.needed
                );
            } else {
                wanted = wanted.max(renderer.frame.image_pairs);
                assert_eq!(renderer.frame.counters().unwrap().pairs as usize, wanted);
            }
        }
        assert!(wanted > 200);
    }

    /// Random Gaussians, one in ten of which is large.
    fn some_large(count: usize) -> Gaussians {
        let mut scene = random_scene(23, count, 1);
        for scales in scene.log_scales.iter_mut().step_by(10) {
            *scales = scales.map(|scale| scale + 1.5);
        }
        scene
    }

    /// A renderer of random Gaussians on an emulator of its own, and that emulator.
    fn random_renderer(count: usize) -> Option<(CudaRenderer, Arc<Emulated>)> {
        let device = match Emulated::new() {
            Ok(device) => Arc::new(device),
            Err(error) => {
                eprintln!("skipped: {error}");
                return None;
            }
        };
        let kernels = Arc::new(Kernels::new(device.clone()));
        let frame = Frame::new(Queue::new(device.clone()), kernels.clone(), false).unwrap();
        let scene = some_large(count);
        Some((
            CudaRenderer::new(&scene, frame, kernels, false).unwrap(),
            device,
        ))
    }

    /// The sizes of a image with small macro-tiles of tiles and of one with large ones, and from
    /// how many pixels on those are used.
    const IMAGES: [([u32; 2], usize); 2] = [([200, 150], usize::MAX), ([400, 300], 0)];

    #[test]
    fn pairs_that_are_dealt_give_the_picture_of_those_that_are_sorted() {
        // The last one has so many macro-tiles that fewer blocks fit a multiprocessor.
        for ([width, height], large) in IMAGES.into_iter().chain([([77_000, 20], usize::MAX)]) {
            let Some((mut renderer, _)) = random_renderer(3000) else {
                return;
            };
            let camera = plain_camera(width, height);
            // Only lists that were binned are interpolated.
            let options = RenderOptions {
                pipeline: "exact+splatcore".parse().unwrap(),
                ..RenderOptions::default()
            };
            renderer.frame.large_image = large;
            let binned = renderer.render(&camera, &options).unwrap();
            assert!(renderer.frame.binned_to.is_some());
            renderer.frame.cannot_bin = true;
            let sorted = renderer.render(&camera, &options).unwrap();
            assert!(renderer.frame.binned_to.is_none());
            assert_eq!(binned, sorted);
        }
    }

    #[test]
    fn lists_and_the_queue_grow() {
        for ([width, height], large) in IMAGES {
            let Some((mut renderer, _)) = random_renderer(3000) else {
                return;
            };
            let (camera, options) = (plain_camera(width, height), RenderOptions::default());
            renderer.frame.large_image = large;
            let wanted = renderer.render(&camera, &options).unwrap();
            let counters = renderer.frame.counters().unwrap();
            assert!(counters.longest > 40 && counters.far > 40, "{counters:?}");
            for [list_room, large_room] in [[1, 3000], [4096, 1], [17, 40]] {
                (renderer.frame.list_room, renderer.frame.large_room) = (list_room, large_room);
                // What is not waited for is polled at in the end.
                for _ in 0..3 {
                    renderer.render_only(&camera, &options).unwrap();
                }
                renderer.finish().unwrap();
                let room = [renderer.frame.list_room, renderer.frame.large_room];
                assert!(room[0] >= counters.longest as usize && room[1] >= counters.far as usize);
                assert_eq!(
                    renderer.render(&camera, &options).unwrap().image,
                    wanted.image
                );
            }
        }
    }

    #[test]
    fn without_memory_for_it_nothing_is_dealt() {
        let Some((mut renderer, device)) = random_renderer(3000) else {
            return;
        };
        let (camera, options) = (plain_camera(200, 150), RenderOptions::default());
        renderer.frame.cannot_bin = true;
        let wanted = renderer.render(&camera, &options).unwrap();
        renderer.frame.cannot_bin = false;
        let (free, total) = device.memory();
        device.set_memory_limit(total - free + 1000);
        assert_eq!(
            renderer.render(&camera, &options).unwrap().image,
            wanted.image
        );
        assert!(renderer.frame.cannot_bin && renderer.frame.binned_to.is_none());
    }

    /// Lists that are too long to be binned are sorted.
    #[test]
    fn lists_may_be_too_long_to_be_dealt() {
        let Some((mut renderer, _)) = random_renderer(300) else {
            return;
        };
        let (camera, options) = (plain_camera(90, 70), RenderOptions::default());
        let wanted = renderer.render(&camera, &options).unwrap();
        let overflowed_by = |longest| Counters {
            overflowed: 1,
            longest,
            ..Counters::default()
        };
        renderer.frame.make_room(&overflowed_by(60_000)).unwrap();
        assert_eq!(
            renderer.render(&camera, &options).unwrap().image,
            wanted.image
        );
        assert!(renderer.frame.binned_to.is_some());
        renderer.frame.make_room(&overflowed_by(70_000)).unwrap();
        let sorted = renderer.render(&camera, &options).unwrap();
        assert!(renderer.frame.binned_to.is_none());
        assert!(psnr_between(&wanted.image, &sorted.image) > 70.0);
    }

    /// Gaussians in no order are rendered in another; gradients are those of the scene all the
    /// same.
    #[test]
    fn a_scene_in_no_order_is_rendered_and_learned_from_as_any_other() {
        let Some((mut renderer, _)) = random_renderer(20_000) else {
            return;
        };
        assert!(renderer.order.is_some());
        let scene = some_large(20_000);
        let (camera, options) = (plain_camera(60, 40), RenderOptions::default());
        let mut on_cpu = CpuBackend::new(None).renderer(&scene).unwrap();
        let [here, there] = [
            renderer.render(&camera, &options).unwrap(),
            on_cpu.render(&camera, &options).unwrap(),
        ];
        let psnr = psnr_between(&here.image, &there.image);
        assert!(psnr > 60.0, "{psnr} dB");
        let gradient = Image::filled(60, 40, [1.0, 0.5, 0.25]);
        let [here, there] = [
            renderer.gradients(&camera, &options, &gradient).unwrap(),
            on_cpu.gradients(&camera, &options, &gradient).unwrap(),
        ];
        let norm = |values: &[f32]| {
            values
                .iter()
                .map(|v| f64::from(*v).powi(2))
                .sum::<f64>()
                .sqrt()
        };
        for (here, there) in state::flat(&here).into_iter().zip(state::flat(&there)) {
            let difference: Vec<f32> = here.iter().zip(there).map(|(a, b)| a - b).collect();
            let (off, all) = (norm(&difference), norm(there));
            assert!(all > 0.0 && off < 1e-2 * all, "off by {off} of {all}");
        }
    }
}
