//! What a parent asks of a worker, and what it answers.

use serde::{Deserialize, Serialize};
use splatcore_core::backend::RenderOptions;
use splatcore_core::semantics::Semantics;
use splatcore_core::{Camera, Lens, Pipeline};

/// A camera, and how to render from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameSpec {
    /// Pixels.
    pub size: [u32; 2],
    /// Focal lengths and principal point, pixels: fx, fy, cx, cy.
    pub intrinsics: [f64; 4],
    /// World to camera, row-major.
    pub rotation: [[f64; 3]; 3],
    /// World to camera, world units.
    pub translation: [f64; 3],
    /// The pipeline's name.
    pub pipeline: String,
    /// Colour behind the scene.
    pub background: [f32; 3],
    /// Spherical harmonics up to this degree.
    pub sh_degree: u8,
    /// Whether opacities are those of Mip-Splatting's 2D filter.
    pub antialias: bool,
    /// World units.
    pub near_plane: f32,
    /// The cap of alpha.
    pub alpha_max: f32,
    /// Whether inverse depth is wanted too.
    pub inverse_depth: bool,
}

impl FrameSpec {
    /// A camera with options: pipeline, background, degree, filter, constants and inverse
    /// depth are taken, the rest is as built in.
    pub fn new(camera: &Camera, options: &RenderOptions) -> Self {
        Self {
            size: [camera.width, camera.height],
            intrinsics: [camera.fx, camera.fy, camera.cx, camera.cy],
            rotation: camera.rotation,
            translation: camera.translation,
            pipeline: options.pipeline.to_string(),
            background: options.background,
            sh_degree: options.sh_degree,
            antialias: options.antialias,
            near_plane: options.semantics.near_plane,
            alpha_max: options.semantics.alpha_max,
            inverse_depth: options.inverse_depth,
        }
    }

    /// The camera.
    pub fn camera(&self) -> Camera {
        let [fx, fy, cx, cy] = self.intrinsics;
        Camera {
            width: self.size[0],
            height: self.size[1],
            fx,
            fy,
            cx,
            cy,
            rotation: self.rotation,
            translation: self.translation,
            lens: Lens::Pinhole,
            shutter: None,
        }
    }

    /// The options.
    ///
    /// # Errors
    /// If no pipeline is called so.
    pub fn options(&self) -> Result<RenderOptions, String> {
        Ok(RenderOptions {
            pipeline: self.pipeline.parse::<Pipeline>()?,
            background: self.background,
            sh_degree: self.sh_degree,
            antialias: self.antialias,
            semantics: Semantics {
                near_plane: self.near_plane,
                alpha_max: self.alpha_max,
            },
            inverse_depth: self.inverse_depth,
            ..RenderOptions::default()
        })
    }

    /// The same of another pipeline.
    pub fn with_pipeline(&self, pipeline: Pipeline) -> Self {
        Self {
            pipeline: pipeline.to_string(),
            ..self.clone()
        }
    }
}

/// What a worker is asked. Files lie in the worker's folder and are named without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
pub enum Ask {
    /// Upload a scene, in place of the one of this name, and use it from now on.
    Load {
        /// What to call it.
        name: String,
        /// A file of `arrays::write_scene`.
        scene: String,
    },
    /// Use a scene that was loaded earlier.
    Select {
        /// What it was called.
        name: String,
    },
    /// Render, and write image and transmittance.
    Render {
        /// From where, and how.
        frame: FrameSpec,
        /// The file to write: `[height][width]` of r, g, b, transmittance, f32; inverse depth
        /// in place of transmittance if the frame wants it.
        to: String,
    },
    /// The gradients of a scalar whose gradient with respect to the image is given.
    Gradients {
        /// From where, and how.
        frame: FrameSpec,
        /// `[height][width][3]`, f32.
        image_gradient: String,
        /// The file to write, as a scene.
        to: String,
    },
    /// From now on memory holds what was there before when it is allocated.
    Reuse,
    /// What memory holds, as one number.
    Digest,
    /// Render frames one after the other and time them; images stay on the device.
    Time {
        /// The frames, in order.
        frames: Vec<FrameSpec>,
    },
    /// Gradients, timed stage by stage: the backward pass too.
    TimeTraining {
        /// The frames, in order.
        frames: Vec<FrameSpec>,
    },
}

/// What a worker answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer {
    /// The first line: it is ready.
    Ready {
        /// The device and the kernel files that take the place of built-in ones.
        device: String,
        /// What confines the worker.
        sandbox: String,
    },
    /// The first line, and the last: nothing confines the worker, so that it renders nothing.
    Unconfined {
        /// What was tried.
        about: String,
    },
    /// It is done.
    Done,
    /// What memory holds.
    Digest {
        /// A number that follows from it.
        digest: u64,
    },
    /// Times.
    Timed {
        /// Seconds on the device, all frames together, from event to event.
        device: f64,
        /// Seconds by the worker's clock.
        clock: f64,
        /// Seconds of each stage, all frames together.
        stages: Vec<(String, f64)>,
    },
    /// It could not.
    Failed {
        /// Why, in the backend's words.
        error: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_keeps_what_it_is_made_from() {
        let camera = Camera {
            fy: 31.0,
            translation: [0.1, 0.2, 0.3],
            ..Camera::pinhole(33, 17, 30.0)
        };
        let options = RenderOptions {
            background: [0.1, 0.2, 0.3],
            ..RenderOptions::default()
        };
        let frame = FrameSpec::new(&camera, &options);
        let json = serde_json::to_string(&frame).unwrap();
        let back: FrameSpec = serde_json::from_str(&json).unwrap();
        assert_eq!(back.camera(), camera);
        assert_eq!(back.options().unwrap(), options);
    }
}
