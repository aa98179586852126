//! What is to be measured.

use splatcore_core::pipeline::Pipeline;

/// One pipeline at one resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Name of the pipeline, `intersect+blend`.
    pub pipeline: String,
    /// Width and height are so many times the camera's.
    pub scale: u32,
}

impl Run {
    /// At the camera's own size.
    pub fn new(intersect: &str, blend: &str) -> Self {
        Self {
            pipeline: format!("{intersect}+{blend}"),
            scale: 1,
        }
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
}
