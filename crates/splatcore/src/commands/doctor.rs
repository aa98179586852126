//! `splatcore doctor`: what this machine and this build can do, and whether they compute correctly.

mod cuda;
mod tools;

use self::cuda::Cuda;
use self::tools::Tool;
use crate::backends::{self, DeviceArgs};
use crate::output;
use anyhow::{Result, bail};
use serde::Serialize;
use splatcore_core::backend::{BackendError, RenderOptions};
use splatcore_core::random::Rng;
use splatcore_core::{Backend, Camera, Gaussians, Image, Pipeline, metrics};
use splatcore_cpu::{CpuBackend, simd};
use splatcore_data::scene::formats_in_short;
use splatcore_train::memory::{self, Bytes};

/// Say what this machine and this build can do, and check that they compute correctly.
///
/// Also names the other programs that splatcore runs, what each is for, and how to get those that
/// are missing.
///
/// The self-test takes well under a second on the processor, up to a minute on a card whose kernels
/// are not in the cache yet. Exit code 1 if a check fails.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

#[derive(Serialize)]
struct Doctor {
    version: &'static str,
    cpu: Cpu,
    cuda: Cuda,
    images: &'static str,
    scenes: String,
    datasets: &'static str,
    /// Other programs, and what the system has.
    tools: Vec<Tool>,
    self_test: SelfTest,
}

#[derive(Serialize)]
struct Cpu {
    name: String,
    architecture: &'static str,
    instruction_set: &'static str,
    threads: usize,
    memory: Option<u64>,
    memory_available: Option<u64>,
}

#[derive(Serialize)]
struct SelfTest {
    passed: bool,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    name: String,
    passed: bool,
    found: String,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    backends::check_device(args.device.device)?;
    let checks = self_test(&CpuBackend::new(None));
    let probe = splatcore_cuda::probe(args.device.device);
    let nvrtc = probe.compiler.as_ref().ok();
    let nvrtc = nvrtc.map(|found| (found.version.clone(), found.path.clone()));
    let cuda = Cuda::from(probe);
    let passed = checks.iter().all(|check| check.passed)
        && cuda.self_test.as_ref().is_none_or(|test| test.passed);
    let doctor = Doctor {
        version: env!("CARGO_PKG_VERSION"),
        cpu: cpu(),
        cuda,
        images: "JPEG, PNG and TIFF (8 and 16 bit), WebP, EXR",
        scenes: formats_in_short(),
        datasets: "COLMAP, transforms.json, Polycam, Record3D, 3D Scanner App, Metashape, \
                   RealityScan, Bundler, LLFF",
        tools: tools::tools(nvrtc),
        self_test: SelfTest { passed, checks },
    };
    if args.json {
        output::print_json(&doctor)?;
    } else {
        output::print(&text(&doctor))?;
    }
    if !passed {
        bail!(
            "the self-test failed: results of this build on this machine cannot be trusted; please \
             report it"
        );
    }
    Ok(())
}

fn text(doctor: &Doctor) -> String {
    let cpu = &doctor.cpu;
    let bytes = |b: Option<u64>| b.map_or("unknown".into(), |b| Bytes(b).to_string());
    let mut lines = vec![
        format!("splatcore    {}", doctor.version),
        format!(
            "CPU          {} ({}), {}, {} threads",
            cpu.name, cpu.architecture, cpu.instruction_set, cpu.threads
        ),
        format!(
            "memory       {}, {} free",
            bytes(cpu.memory),
            bytes(cpu.memory_available)
        ),
    ];
    lines.extend(doctor.cuda.lines());
    lines.extend([
        format!("images       {}", doctor.images),
        format!("scenes       {}", doctor.scenes),
        format!("datasets     {}", doctor.datasets),
    ]);
    lines.extend(tools::lines(&doctor.tools));
    for check in &doctor.self_test.checks {
        lines.push(format!(
            "self-test    {} {}: {}",
            output::verdict(check.passed),
            check.name,
            check.found
        ));
    }
    lines.join("\n")
}

fn cpu() -> Cpu {
    Cpu {
        name: cpu_name().unwrap_or_else(|| "unknown".into()),
        architecture: std::env::consts::ARCH,
        instruction_set: simd::detected(),
        threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
        memory: total_memory(),
        memory_available: memory::available(),
    }
}

/// What the system calls the processor; Linux and macOS say.
fn cpu_name() -> Option<String> {
    if cfg!(target_os = "macos") {
        let said = std::process::Command::new("sysctl")
            .args(["-n", "machdep.cpu.brand_string"])
            .output()
            .ok()?;
        return Some(String::from_utf8(said.stdout).ok()?.trim().to_owned())
            .filter(|name| !name.is_empty());
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Memory of the machine in bytes, where the system says (Linux).
fn total_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Pipelines must agree with the reference, and the gradient with finite differences.
fn self_test(backend: &dyn Backend) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut add = |name: String, result: Result<(bool, String), BackendError>| {
        let (passed, found) = result.unwrap_or_else(|error| (false, error.to_string()));
        checks.push(Check {
            name,
            passed,
            found,
        });
    };
    for pipeline in Pipeline::all()
        .into_iter()
        .filter(|p| *p != Pipeline::VANILLA)
    {
        add(
            format!("{pipeline} renders as vanilla"),
            agreement(backend, pipeline),
        );
    }
    for pipeline in [Pipeline::AUTO, Pipeline::VANILLA] {
        add(format!("{pipeline} gradient"), gradient(backend, pipeline));
    }
    checks
}

/// Width and height of the images that are compared, in pixels.
const SIZE: [u32; 2] = [83, 61];

fn camera() -> Camera {
    Camera::look_at(
        [0.0, 0.0, -4.0],
        [0.0; 3],
        [0.0, -1.0, 0.0],
        0.9,
        SIZE[0],
        SIZE[1],
    )
}

/// PSNR of a pipeline's image against vanilla's on a few hundred random Gaussians.
fn agreement(backend: &dyn Backend, pipeline: Pipeline) -> Result<(bool, String), BackendError> {
    let mut renderer = backend.renderer(&random_scene(400, -3.0..-1.5))?;
    let mut render = |pipeline| {
        let options = RenderOptions {
            pipeline,
            background: [0.2, 0.4, 0.6],
            ..RenderOptions::default()
        };
        renderer
            .render(&camera(), &options)
            .map(|rendered| rendered.image)
    };
    let (image, reference) = (render(pipeline)?, render(Pipeline::VANILLA)?);
    let psnr = metrics::psnr_between(&image, &reference);
    // A black or flat picture would agree with anything: there must be something to see.
    let mean = reference.data.iter().flatten().sum::<f32>() / (3 * reference.data.len()) as f32;
    let spread = reference
        .data
        .iter()
        .flatten()
        .map(|v| (v - mean).powi(2))
        .sum::<f32>()
        / reference.data.len() as f32;
    Ok((
        psnr >= 60.0 && spread > 1e-3,
        match psnr.is_infinite() {
            true => "equal (at least 60 dB)".into(),
            false => format!("{psnr:.1} dB (at least 60)"),
        },
    ))
}

/// The largest relative error, over the groups of parameters, of the gradient's component along a
/// random direction in that group, against a central difference. The Gaussians are large and faint,
/// so that no pixel is near a threshold and the image is a smooth function of them.
fn gradient(backend: &dyn Backend, pipeline: Pipeline) -> Result<(bool, String), BackendError> {
    let mut scene = random_scene(6, 0.4..0.7);
    let options = RenderOptions {
        pipeline,
        ..RenderOptions::default()
    };
    let mut rng = Rng::new(2, 0);
    let mut weights = Image::filled(SIZE[0], SIZE[1], [0.0; 3]);
    weights
        .data
        .iter_mut()
        .flatten()
        .for_each(|w| *w = rng.normal());
    let loss = |scene: &Gaussians| -> Result<f64, BackendError> {
        let image = backend.renderer(scene)?.render(&camera(), &options)?.image;
        let products = image
            .data
            .iter()
            .flatten()
            .zip(weights.data.iter().flatten());
        Ok(products.map(|(v, w)| *v as f64 * *w as f64).sum())
    };
    let mut found =
        backend
            .renderer(&scene)?
            .gradients(&camera(), &options, &weights.clone().into())?;
    let mut worst = 0.0f64;
    for group in 0..groups(&mut scene).len() {
        let direction: Vec<f32> = groups(&mut scene)[group]
            .iter()
            .map(|_| rng.normal())
            .collect();
        let loss_at = |step: f32| {
            let mut moved = scene.clone();
            groups(&mut moved)[group]
                .iter_mut()
                .zip(&direction)
                .for_each(|(v, d)| **v += step * d);
            loss(&moved)
        };
        let step = 5e-3;
        let difference = (loss_at(step)? - loss_at(-step)?) / (2.0 * step as f64);
        let product: f64 = groups(&mut found)[group]
            .iter()
            .zip(&direction)
            .map(|(g, d)| **g as f64 * *d as f64)
            .sum();
        let error = (product - difference).abs() / difference.abs();
        // A gradient of zero, or one that is not a number, is an error too.
        worst = if error.is_nan() {
            f64::INFINITY
        } else {
            worst.max(error)
        };
    }
    Ok((
        worst <= 2e-3,
        format!("{worst:.1e} from finite differences (at most 2e-3)"),
    ))
}

/// The parameters of a scene: means, log scales, rotations, opacity logits, colours.
fn groups(scene: &mut Gaussians) -> [Vec<&mut f32>; 5] {
    [
        scene.means.iter_mut().flatten().collect(),
        scene.log_scales.iter_mut().flatten().collect(),
        scene.rotations.iter_mut().flatten().collect(),
        scene.opacity_logits.iter_mut().collect(),
        scene.sh.iter_mut().flatten().collect(),
    ]
}

/// Gaussians around the origin at depths well apart, SH degree 1, log scales in the given range.
fn random_scene(count: usize, log_scales: std::ops::Range<f32>) -> Gaussians {
    let mut rng = Rng::new(1, 0);
    let mut scene = Gaussians::zeros(count, 1);
    let spread = if count > 100 { 1.5 } else { 0.3 };
    for i in 0..count {
        let mut centred = || 2.0 * rng.uniform() - 1.0;
        let depth = (i as f32 + 0.5) / count as f32 * 2.0 - 1.0;
        scene.means[i] = [spread * centred(), spread * centred(), depth];
        scene.log_scales[i] = [0; 3].map(|_| {
            log_scales.start + (log_scales.end - log_scales.start) * (0.5 + 0.5 * centred())
        });
        scene.rotations[i] = [1.0, 0.5 * centred(), 0.5 * centred(), 0.5 * centred()];
        scene.opacity_logits[i] = if count > 100 {
            2.0 * centred()
        } else {
            -0.7 + 0.3 * centred()
        };
        for k in 0..4 {
            scene.sh[4 * i + k] = [0; 3].map(|_| if k == 0 { centred() } else { 0.2 * centred() });
        }
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_self_test_passes_here() {
        for check in self_test(&CpuBackend::new(None)) {
            assert!(check.passed, "{}: {}", check.name, check.found);
        }
    }
}
