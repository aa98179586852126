//! What a loss on depth is made of.

/// A residual. Adding one is a file with the function, its variant and line in the table, and a
/// kernel file of its name in `splatcore-cuda/src/ops/depth_loss/`.
pub struct Entry {
    /// In settings and files, and of the CUDA file: `depth_NAME.cu`.
    pub name: &'static str,
    /// What is compared, in words, behind its name in the help of settings.
    pub about: &'static str,
    /// Of a rendered and a known inverse depth, given a depth of about the scene's size; and its
    /// derivative by the former.
    pub residual: fn(rendered: f64, known: f64, unit: f64) -> [f64; 2],
}
