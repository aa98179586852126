//! What is to be measured.

use splatcore_core::pipeline::Pipeline;

/// One pipeline at one resolution.
#[derive(Clone, Debug)]
pub struct Run {
    /// Name of the pipeline, `intersect+blend[+backward]`.
    pub pipeline: String,
    /// Width and height are so many times the camera's.
    pub scale: u32,
    /// What is measured beside frames.
    pub also: Also,
}

/// What is measured of a pipeline beside its frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Also {
    /// The backward pass, and whole training steps.
    pub backward: bool,
    /// SSIM of the images.
    pub ssim: bool,
    /// LPIPS of the images, if there are weights for it.
    pub lpips: bool,
}

impl Also {
    /// What either asks for.
    pub fn and(self, other: Also) -> Also {
        Also {
            backward: self.backward || other.backward,
            ssim: self.ssim || other.ssim,
            lpips: self.lpips || other.lpips,
        }
    }
}

impl Run {
    /// By the pipeline's name, at the camera's own size.
    pub fn of(pipeline: impl Into<String>) -> Self {
        Self {
            pipeline: pipeline.into(),
            scale: 1,
            also: Also::default(),
        }
    }

    /// At the camera's own size, with the backward method that belongs to the blend.
    pub fn new(intersect: &str, blend: &str) -> Self {
        Self::of(format!("{intersect}+{blend}"))
    }

    /// The same, larger.
    pub fn at(mut self, scale: u32) -> Self {
        self.scale = scale;
        self
    }

    /// INRIA's 3DGS.
    pub fn vanilla(scale: u32) -> Self {
        Self::new("aabb", "scalar").at(scale)
    }

    /// What splatcore renders with if nothing else is asked for.
    pub fn splatcore(scale: u32) -> Self {
        let Pipeline {
            intersect, blend, ..
        } = Pipeline::AUTO;
        Self::new(intersect.name(), blend.name()).at(scale)
    }

    /// The pipeline, if this build knows the names.
    pub fn parse(&self) -> Result<Pipeline, String> {
        self.pipeline.parse()
    }

    /// Whether both are the same pipeline at the same resolution, whatever is measured of it.
    pub fn same(&self, other: &Run) -> bool {
        let pipelines = match (self.parse(), other.parse()) {
            (Ok(a), Ok(b)) => a == b,
            _ => self.pipeline == other.pipeline,
        };
        self.scale == other.scale && pipelines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_has_two_names_and_is_one() {
        let short = Run::vanilla(1);
        let long = Run::of("aabb+scalar+atomic");
        assert!(short.same(&long) && !short.same(&long.clone().at(2)));
        assert!(!short.same(&Run::of("aabb+scalar+warp-reduce")));
        // Names that are not known are compared as text.
        assert!(Run::of("aabb+fancy").same(&Run::new("aabb", "fancy")));
        assert!(!Run::of("aabb+fancy").same(&Run::of("exact+fancy")));
    }
}
