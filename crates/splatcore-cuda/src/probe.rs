//! What there is of CUDA on this machine, for `doctor`.

use crate::CudaBackend;
use crate::backend::Options;
use crate::device::driver::driver_info;
use crate::device::machine_code::{cache_folder, embedded};
use crate::device::nvrtc::nvrtc;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Camera, Gaussians};
use std::path::PathBuf;

/// The run-time compiler.
#[derive(Clone, Debug)]
pub struct CompilerInfo {
    /// For example 12.8.
    pub version: String,
    /// The library's file, or its bare name where the system found it.
    pub path: PathBuf,
}

/// What there is of CUDA on this machine.
#[derive(Clone, Debug)]
pub struct Probe {
    /// CUDA version of the driver.
    pub driver: Option<String>,
    /// A line each: number, name, compute capability, memory.
    pub cards: Vec<String>,
    /// The run-time compiler, or how to get it.
    pub compiler: Result<CompilerInfo, String>,
    /// The kernels that are built in, if any.
    pub built_in: Option<String>,
    /// Folder of compiled kernels.
    pub cache: PathBuf,
    /// Its size.
    pub cache_bytes: u64,
    /// What the self-test found, if there is a card.
    pub self_test: Option<Result<String, String>>,
}

/// Looks, and renders one Gaussian if it can, on this card or on the first.
pub fn probe(device: Option<usize>) -> Probe {
    let info = driver_info().ok();
    let compiler = nvrtc()
        .map(|nvrtc| CompilerInfo {
            version: format!("{}.{}", nvrtc.version.0, nvrtc.version.1),
            path: nvrtc.path.clone(),
        })
        .map_err(|error| error.to_string());
    let cache = cache_folder();
    let files = std::fs::read_dir(&cache).into_iter().flatten().flatten();
    let cache_bytes = files
        .filter_map(|file| file.metadata().ok())
        .map(|data| data.len())
        .sum();
    let has_card = info.as_ref().is_some_and(|info| !info.cards.is_empty());
    Probe {
        driver: info
            .as_ref()
            .map(|info| format!("CUDA {}.{}", info.version / 1000, info.version % 1000 / 10)),
        cards: info.map_or_else(Vec::new, |info| {
            let line = |(i, (name, capability, bytes)): (usize, &(String, u32, u64))| {
                let gib = *bytes as f64 / (1u64 << 30) as f64;
                format!(
                    "{i}: {name}, compute capability {}.{}, {gib:.1} GiB",
                    capability / 10,
                    capability % 10
                )
            };
            info.cards.iter().enumerate().map(line).collect()
        }),
        compiler,
        built_in: embedded::described(),
        cache,
        cache_bytes,
        self_test: has_card.then(|| self_test(device)),
    }
}

/// One grey, nearly opaque Gaussian before a black background: its centre's colour is known.
fn self_test(device: Option<usize>) -> Result<String, String> {
    let start = std::time::Instant::now();
    let options = Options {
        device,
        ..Options::default()
    };
    let backend = CudaBackend::open(options).map_err(|error| error.to_string())?;
    let mut scene = Gaussians::zeros(1, 0);
    scene.means[0] = [0.0, 0.0, 4.0];
    scene.rotations[0] = [1.0, 0.0, 0.0, 0.0];
    scene.opacity_logits[0] = 2.0;
    let camera = Camera::pinhole(33, 33, 40.0);
    let mut renderer = backend
        .renderer(&scene)
        .map_err(|error| error.to_string())?;
    let rendered = renderer
        .render(&camera, &RenderOptions::default())
        .map_err(|error| error.to_string())?;
    let centre = rendered.image.data[16 * 33 + 16];
    // Colour 0.5 times the sigmoid of 2.
    let expected = 0.5 / (1.0 + (-2.0f32).exp());
    if centre
        .iter()
        .any(|v| (v - expected).abs() > 1e-4 || v.is_nan())
    {
        return Err(format!("rendered {centre:?} where {expected} was expected"));
    }
    Ok(format!(
        "rendered correctly, {:.1} s with compiling",
        start.elapsed().as_secs_f64()
    ))
}
