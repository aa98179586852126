//! Comparing a backend's f32 with the twin's f64.

use super::bounds::ExpectedPixels;
use super::outcome::{Outcome, ensure};
use crate::twin::{Group, Scene, TwinFrame};
use splatcore_core::backend::Rendered;

/// A doubtful pixel's bound is first-order; this much of it covers the rest.
const DOUBT_MARGIN: f64 = 1.1;

/// Every pixel within `tolerance`, those near a cut-off within what that could move them besides;
/// PSNR of what is left at least 80 dB (or better, where the tolerance is).
pub fn frames(what: &str, twin: &TwinFrame, backend: &Rendered, tolerance: f64) -> Outcome {
    let pixels = twin.width * twin.height;
    let image = &backend.image;
    ensure(
        [image.width as usize, image.height as usize] == [twin.width, twin.height]
            && image.data.len() == pixels
            && backend.transmittance.len() == pixels,
        || {
            format!(
                "{what}: image {}x{} of {} pixels and {} transmittances for a camera of {}x{}",
                image.width,
                image.height,
                image.data.len(),
                backend.transmittance.len(),
                twin.width,
                twin.height
            )
        },
    )?;
    let mut square = 0.0;
    let mut worst: Option<(f64, String)> = None;
    for i in 0..pixels {
        let doubt = twin.doubts[i];
        let mut judge = |name: &str, got: f32, want: f64, doubt: f64| {
            let error = (got as f64 - want).abs();
            let beyond = (error - DOUBT_MARGIN * doubt).max(0.0);
            // `beyond` of a NaN is 0, so ask for the number itself.
            let beyond = if got.is_finite() {
                beyond
            } else {
                f64::INFINITY
            };
            if beyond > worst.as_ref().map_or(tolerance, |(most, _)| *most) {
                let (x, y) = (i % twin.width, i / twin.width);
                let message = format!(
                    "pixel ({x}, {y}) {name} is {got}, the twin has {want:.7} (off by {error:.2e}, \
                     {doubt:.2e} of \
                     it near a cut-off, {tolerance:.1e} allowed)"
                );
                worst = Some((beyond, message));
            }
            beyond
        };
        for (c, name) in ["red", "green", "blue"].into_iter().enumerate() {
            let beyond = judge(name, image.data[i][c], twin.image[i][c], doubt.colour);
            square += beyond * beyond;
        }
        judge(
            "transmittance",
            backend.transmittance[i],
            twin.transmittance[i],
            doubt.transmittance,
        );
    }
    if let Some((_, message)) = worst {
        return Err(format!("{what}: {message}"));
    }
    let psnr = -10.0 * (square / (3 * pixels) as f64).log10();
    let least = 80.0f64.min(-20.0 * tolerance.log10());
    ensure(psnr >= least, || {
        format!("{what}: PSNR against the twin is {psnr:.1} dB, {least:.0} are needed")
    })
}

/// An image of a backend of few digits: every pixel within the bounds of [`super::bounds`] and
/// `tolerance` of the twin, and `least` dB against the same pipeline's image with f32 blending,
/// where comparisons that roundings may tip are made good. Where a method promises nothing its
/// image must be finite. Looks at the pixels of `expected` alone.
pub fn bounded(
    what: &str,
    expected: &ExpectedPixels,
    [backend, single]: [&Rendered; 2],
    least: Option<f64>,
    tolerance: f64,
) -> Outcome {
    let [width, height] = expected.size;
    let whole = |r: &Rendered| {
        [r.image.width as usize, r.image.height as usize] == [width, height]
            && r.image.data.len() == width * height
            && r.transmittance.len() == width * height
    };
    ensure(whole(backend) && whole(single), || {
        format!("{what}: the image is not one of {width}x{height} pixels")
    })?;
    let mut values = backend
        .image
        .data
        .as_flattened()
        .iter()
        .chain(&backend.transmittance);
    ensure(values.all(|v| v.is_finite()), || {
        format!("{what}: a pixel is not finite")
    })?;
    let Some(least) = least else {
        return Ok(());
    };
    let (mut square, mut compared) = (0.0, 0usize);
    let mut worst: Option<(f64, String)> = None;
    for &([x, y], expected) in &expected.pixels {
        let i = y * width + x;
        let mut judge = |name: &str, got: f32, want: f64, k: usize| {
            let (rounding, cut_offs) = (expected.rounding[k], expected.cut_offs[k]);
            let error = (got as f64 - want).abs();
            let beyond = error - tolerance - rounding - DOUBT_MARGIN * cut_offs;
            if beyond > worst.as_ref().map_or(0.0, |(most, _)| *most) {
                let message = format!(
                    "pixel ({x}, {y}) {name} is {got}, the twin has {want:.7} (off by {error:.2e}; \
                     {rounding:.2e} from \
                     roundings and {cut_offs:.2e} near cut-offs allowed)"
                );
                worst = Some((beyond, message));
            }
        };
        for (c, name) in ["red", "green", "blue"].into_iter().enumerate() {
            let got = backend.image.data[i][c];
            judge(name, got, expected.colour[c], 0);
            let off = (got - single.image.data[i][c]).abs() as f64;
            square += (off - expected.cut_offs[0]).max(0.0).powi(2);
        }
        judge(
            "transmittance",
            backend.transmittance[i],
            expected.transmittance,
            1,
        );
        compared += 3;
    }
    let psnr = -10.0 * (square / compared.max(1) as f64).log10();
    if let Some((_, message)) = worst {
        return Err(format!("{what}: {message}; PSNR {psnr:.1} dB"));
    }
    ensure(psnr >= least, || {
        format!(
            "{what}: PSNR against the image blended in f32 is {psnr:.1} dB, {least:.0} are promised"
        )
    })
}

/// Relative L2 within `tolerance` and cosine at least 0.9999, for each parameter group; a Gaussian
/// without any gradient in the twin has exactly none in the backend. With `shape_as_one` the errors
/// of scales and rotations are relative to both together.
pub fn gradients(
    what: &str,
    twin: &Scene,
    backend: &Scene,
    tolerance: &dyn Fn(Group) -> f64,
    shape_as_one: bool,
) -> Outcome {
    ensure(
        backend.len() == twin.len() && backend.sh.len() == twin.sh.len(),
        || format!("{what}: the gradients' shape is not the scene's"),
    )?;
    for group in Group::ALL {
        let (want, got) = (twin.group(group), backend.group(group));
        let per_row = want.len() / twin.len().max(1);
        for (i, (w, g)) in rows(&want, per_row).zip(rows(&got, per_row)).enumerate() {
            if w.iter().all(|&v| v == 0.0) && g.iter().any(|&v| v != 0.0) {
                return Err(format!(
                    "{what}: {group:?} of Gaussian {i} has gradient {g:?} where the twin has \
                     exactly none"
                ));
            }
        }
        vectors(
            &format!("{what}, {group:?}"),
            &want,
            &got,
            floor(twin, group, shape_as_one),
            tolerance(group),
        )?;
    }
    Ok(())
}

/// What errors of a group's gradient are relative to at least. The gradient of a round Gaussian's
/// rotation is the difference of two equal terms of the size of its scales' gradients: what f32
/// leaves of them is not the rotation's error.
pub fn floor(twin: &Scene, group: Group, shape_as_one: bool) -> f64 {
    let scales = norm(&twin.group(Group::LogScales));
    match group {
        Group::LogScales | Group::Rotations if shape_as_one => {
            scales.hypot(norm(&twin.group(Group::Rotations)))
        }
        Group::Rotations => 1e-2 * scales,
        _ => 0.0,
    }
}

/// Relative L2 and cosine of two vectors. Errors are relative to the larger of the wanted vector's
/// norm and `floor`.
pub fn vectors(what: &str, want: &[f64], got: &[f64], floor: f64, tolerance: f64) -> Outcome {
    let difference: Vec<f64> = want.iter().zip(got).map(|(a, b)| a - b).collect();
    let (size, error) = (norm(want), norm(&difference));
    let relative = error / size.max(floor).max(f64::MIN_POSITIVE);
    // `<=` is false for NaN.
    let close = relative <= tolerance || (error == 0.0 && size == 0.0);
    ensure(close, || {
        let worst = (0..want.len())
            .max_by(|&a, &b| difference[a].abs().total_cmp(&difference[b].abs()))
            .unwrap_or(0);
        format!(
            "{what}: relative L2 error {relative:.2e} (norm {size:.3e}), {tolerance:.1e} allowed; \
             worst at {worst}: {} \
             for {}",
            got[worst], want[worst]
        )
    })?;
    let dot: f64 = want.iter().zip(got).map(|(a, b)| a * b).sum();
    let cosine = dot / (size * norm(got)).max(f64::MIN_POSITIVE);
    ensure(
        size <= 1e-3 * floor || size == 0.0 || cosine >= 0.9999,
        || format!("{what}: cosine {cosine:.6}, 0.9999 is needed"),
    )
}

fn rows(values: &[f64], per_row: usize) -> impl Iterator<Item = &[f64]> {
    values.chunks(per_row.max(1))
}

/// Euclidean norm.
pub fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}
