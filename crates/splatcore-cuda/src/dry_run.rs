//! Which programs and launches is a frame or a step made of? Asked of the passes themselves, on a
//! device that only notes what it is asked for ([`Dry`]), so that nothing is listed twice.

use crate::backend::CudaBackend;
use crate::device::dry::{Dry, Launched};
use crate::device::{Program, Replacements};
use splatcore_core::backend::{Backend, RenderOptions, StepPlan};
use splatcore_core::{BackendError, Camera, Gaussians, Image, Photo, View};
use std::sync::Arc;

/// What is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// An image, not of a training.
    Frame(RenderOptions),
    /// The gradients of an image.
    Gradients(RenderOptions),
    /// A step of a training.
    Step(StepPlan),
}

/// What a dry run is of.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRun {
    /// What is computed; its degree of spherical harmonics is also the scene's.
    pub workload: Workload,
    /// Width and height of the image in pixels.
    pub size: [u32; 2],
    /// Gaussians of the scene. By their number sorts are chosen, and how many blocks are launched.
    pub gaussians: usize,
    /// Kernel files in the place of built-in ones.
    pub replacements: Replacements,
    /// Compute capability of the card.
    pub capability: u32,
    /// Multiprocessors of the card.
    pub multiprocessors: u32,
}

/// What was launched, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Launches {
    /// The programs of the launches, in the order of their first ones.
    pub programs: Vec<Program>,
    /// The launches; [`Launched::program`] is a place in `programs`. The counts of blocks are those
    /// of a first frame, in which nothing is known of the scene but its size.
    pub launched: Vec<Launched>,
}

impl DryRun {
    /// Of a workload for images of `width` x `height` pixels and so many Gaussians, with the
    /// built-in files, on an H200.
    pub fn new(workload: Workload, size: [u32; 2], gaussians: usize) -> Self {
        Self {
            workload,
            size,
            gaussians,
            replacements: Replacements::default(),
            capability: 90,
            multiprocessors: 132,
        }
    }

    /// The programs that the workload launches, each with the files that it is made of
    /// ([`Program::files`]).
    ///
    /// The scene has nothing in view: a frame with so many pairs that its lists are sorted in
    /// another way has other programs for that. What a real frame has loaded is told by
    /// [`CudaBackend::loaded_programs`].
    ///
    /// # Errors
    /// If the workload cannot be, or a text declares what launches need in another way.
    pub fn programs(&self) -> Result<Vec<Program>, BackendError> {
        self.launches().map(|launches| launches.programs)
    }

    /// As [`DryRun::programs`], with the launches.
    ///
    /// # Errors
    /// As there.
    pub fn launches(&self) -> Result<Launches, BackendError> {
        let device = Arc::new(Dry::new(self.capability, self.multiprocessors));
        let backend =
            CudaBackend::on(device.clone(), false).with_replacements(self.replacements.clone());
        match &self.workload {
            Workload::Frame(options) => {
                let mut renderer = backend.renderer(&self.scene(options))?;
                device.take_launched();
                renderer.render_only(&self.camera(), options)?;
                renderer.finish()?;
            }
            Workload::Gradients(options) => {
                let mut renderer = backend.renderer(&self.scene(options))?;
                device.take_launched();
                let [width, height] = self.size;
                let gradient = Image::filled(width, height, [0.0; 3]);
                renderer.gradients(&self.camera(), options, &gradient.into())?;
            }
            Workload::Step(plan) => {
                let views = Arc::new(vec![
                    self.view();
                    plan.views.iter().max().map_or(1, |view| view + 1)
                ]);
                let mut learner = backend.learner(&self.scene(&plan.render), views)?;
                device.take_launched();
                learner.step(plan)?;
            }
        }
        Ok(in_order(&device.programs(), device.take_launched()))
    }

    fn scene(&self, options: &RenderOptions) -> Gaussians {
        let mut scene = Gaussians::zeros(self.gaussians, options.sh_degree);
        scene.rotations.fill([1.0, 0.0, 0.0, 0.0]);
        scene
    }

    fn camera(&self) -> Camera {
        let [width, height] = self.size;
        Camera {
            translation: [0.0, 0.0, 5.0],
            ..Camera::pinhole(width, height, width.into())
        }
    }

    fn view(&self) -> View {
        let [width, height] = self.size;
        View {
            name: "dry run".into(),
            camera: self.camera(),
            photo: Photo::opaque(width, height, vec![0; 3 * width as usize * height as usize]),
        }
    }
}

/// Leaves out the programs that were not launched.
fn in_order(programs: &[Program], mut launched: Vec<Launched>) -> Launches {
    let mut places: Vec<usize> = Vec::new();
    for launch in &mut launched {
        let known = places.iter().position(|&place| place == launch.program);
        let place = known.unwrap_or_else(|| {
            places.push(launch.program);
            places.len() - 1
        });
        launch.program = place;
    }
    Launches {
        programs: places
            .iter()
            .map(|&place| programs[place].clone())
            .collect(),
        launched,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Pipeline;
    use splatcore_reference::conformance::step::plan;

    fn names(run: &DryRun) -> Vec<&'static str> {
        let programs = run.programs().unwrap();
        programs.iter().map(Program::name).collect()
    }

    fn frame(pipeline: &str, size: [u32; 2]) -> Vec<&'static str> {
        let options = RenderOptions {
            pipeline: pipeline.parse().unwrap(),
            interpolate: true,
            ..RenderOptions::default()
        };
        names(&DryRun::new(Workload::Frame(options), size, 1000))
    }

    #[test]
    fn frames_are_made_of_their_programs() {
        let binned = ["clear", "project", "bin_large_splats", "sort_bins"];
        let small = frame("exact+splatcore", [1920, 1080]);
        assert_eq!(small[..4], binned);
        assert_eq!(small[4..], ["blend_splatcore_inference"]);
        let large = frame("exact+splatcore", [3840, 2160]);
        assert_eq!(large[4..], ["blend_interpolated"]);
        let sorted = frame("aabb+scalar", [1920, 1080]);
        // Two sorts with different plans.
        assert_eq!(sorted[..4], ["clear", "project", "sort", "intersect"]);
        assert_eq!(sorted.last(), Some(&"blend_scalar"));
    }

    #[test]
    fn gradients_are_made_of_their_programs() {
        let options = RenderOptions {
            pipeline: "aabb+scalar+atomic".parse().unwrap(),
            ..RenderOptions::default()
        };
        let names = names(&DryRun::new(Workload::Gradients(options), [320, 240], 500));
        for name in ["blend_scalar", "blend_backward_atomic", "project_backward"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(
            !names.contains(&"adam") && !names.contains(&"loss"),
            "{names:?}"
        );
    }

    #[test]
    fn steps_are_made_of_their_programs() {
        let run = DryRun::new(
            Workload::Step(plan(Pipeline::default(), 1, 0)),
            [320, 240],
            500,
        );
        let names = names(&run);
        for name in [
            "project",
            "loss",
            "blend_backward_splatcore",
            "sum_pairs",
            "adam",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(!names.contains(&"densify"), "{names:?}");
        let launches = run.launches().unwrap();
        let adam = launches
            .launched
            .iter()
            .find(|launch| launch.kernel == "adam");
        assert_eq!(adam.unwrap().grid, 500u32.div_ceil(adam.unwrap().block));
    }

    #[test]
    fn programs_have_the_files_that_take_others_place() {
        let text = "// Another text.\n".to_owned();
        let replaced = [("splat.cuh".to_owned(), text.clone())];
        let options = RenderOptions::default();
        let mut run = DryRun::new(Workload::Frame(options), [64, 64], 10);
        run.replacements = Replacements::new(replaced, crate::ops::SOURCES).unwrap();
        let programs = run.programs().unwrap();
        let has = |program: &Program| program.files().contains(&("splat.cuh", &text));
        assert!(programs.iter().any(has));
    }
}
