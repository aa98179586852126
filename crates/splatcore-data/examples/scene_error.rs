//! Writes a scene in another format, reads it back, and prints times, sizes and errors.
//!
//! ```sh
//! cargo run --release -p splatcore-data --example scene_error -- SCENE OUT [FIRST]
//! cargo run --release -p splatcore-data --example scene_error -- SCENE --against FILE [FIRST]
//! ```
//!
//! FIRST takes the first Gaussians only. `--against` compares with a file that exists, in any
//! order: Gaussians are paired by their place along a Morton curve of the written means, so both
//! files must hold the same Gaussians.

use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_data::scene::{self, WriteOptions};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: scene_error SCENE (OUT | --against FILE) [FIRST]";
    let scene = args.first().ok_or(usage)?;
    let against = args.get(1).ok_or(usage)? == "--against";
    let out = Path::new(args.get(1 + usize::from(against)).ok_or(usage)?);
    let first = args.get(2 + usize::from(against)).map(|n| n.parse());
    let start = Instant::now();
    let mut want = scene::read(Path::new(scene))?.gaussians;
    println!("read     {:.2} s", start.elapsed().as_secs_f64());
    if let Some(first) = first.transpose()? {
        want.retain(|i| i < first);
    }
    if !against {
        let start = Instant::now();
        let step = std::sync::Mutex::new((String::new(), Instant::now()));
        let progress = |what: &str, _: u64, _: u64| {
            let Ok(mut step) = step.lock() else { return };
            if step.0 != what {
                if !step.0.is_empty() {
                    println!("  {} {:.2} s", step.0, step.1.elapsed().as_secs_f64());
                }
                *step = (what.to_string(), Instant::now());
            }
        };
        let written = scene::write(out, &want, &WriteOptions::default(), &progress)?;
        println!("written  {:.2} s", start.elapsed().as_secs_f64());
        println!("bytes    {}", written.bytes);
        written
            .notes
            .iter()
            .for_each(|note| println!("note     {note}"));
    }
    let got = scene::read(out)?;
    println!("bytes    {}", got.bytes);
    report(&want, &got.gaussians);
    Ok(())
}

/// Prints the errors of `got`, whose Gaussians may be in another order.
fn report(want: &Gaussians, got: &Gaussians) {
    println!("count    {} of {}", got.len(), want.len());
    let pairs = paired(want, got);
    println!("paired   {}", pairs.len());
    let (mut mean, mut scale, mut alpha, mut angle) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    let (mut dc, mut sh, mut scale2) = (0.0f64, 0.0f64, 0.0f64);
    let k = want.coefficients().min(got.coefficients());
    for &(i, j) in &pairs {
        for c in 0..3 {
            mean = mean.max(f64::from((want.means[i][c] - got.means[j][c]).abs()));
            let d = f64::from((want.log_scales[i][c] - got.log_scales[j][c]).abs());
            scale = scale.max(d);
            scale2 += d * d;
            dc += f64::from(want.sh_of(i)[0][c] - got.sh_of(j)[0][c]).powi(2);
            for n in 1..k {
                sh += f64::from(want.sh_of(i)[n][c] - got.sh_of(j)[n][c]).powi(2);
            }
        }
        let d = sigmoid(want.opacity_logits[i]) - sigmoid(got.opacity_logits[j]);
        alpha = alpha.max(f64::from(d.abs()));
        angle = angle.max(turn(want.rotations[i], got.rotations[j]));
    }
    let n = pairs.len().max(1) as f64;
    println!("mean     {mean:.3e} at most");
    println!(
        "scale    {scale:.4} at most, rms {:.5}",
        (scale2 / (3.0 * n)).sqrt()
    );
    println!("rotation {angle:.2} degrees at most");
    println!("opacity  {alpha:.4} at most");
    println!("colour   rms {:.6}", (dc / (3.0 * n)).sqrt());
    if k > 1 {
        let values = 3.0 * (k - 1) as f64 * n;
        println!("sh       rms {:.6}", (sh / values).sqrt());
    }
}

/// Pairs of the same Gaussian: the nearest mean within a grid of the written precision.
fn paired(want: &Gaussians, got: &Gaussians) -> Vec<(usize, usize)> {
    if want.len() == got.len() && (0..want.len()).all(|i| near(want, i, got, i) < 1e-3) {
        return (0..want.len()).map(|i| (i, i)).collect();
    }
    let cell =
        |v: f32| ((f64::from(v).abs().ln_1p().copysign(f64::from(v))) * 500.0).round() as i64;
    let mut cells: HashMap<[i64; 3], Vec<usize>> = HashMap::new();
    for j in 0..got.len() {
        cells.entry(got.means[j].map(cell)).or_default().push(j);
    }
    let mut pairs = Vec::new();
    for i in 0..want.len() {
        let at = want.means[i].map(cell);
        let mut best = (f64::INFINITY, 0);
        for shift in 0..27 {
            let near_by = [
                at[0] + shift % 3 - 1,
                at[1] + shift / 3 % 3 - 1,
                at[2] + shift / 9 - 1,
            ];
            for &j in cells.get(&near_by).into_iter().flatten() {
                let d = near(want, i, got, j);
                if d < best.0 {
                    best = (d, j);
                }
            }
        }
        if best.0.is_finite() {
            pairs.push((i, best.1));
        }
    }
    pairs
}

/// How far two Gaussians are apart in what every format keeps well.
fn near(a: &Gaussians, i: usize, b: &Gaussians, j: usize) -> f64 {
    let mut sum = 0.0;
    for c in 0..3 {
        let log = |v: f32| f64::from(v).abs().ln_1p().copysign(f64::from(v));
        sum += 1e4 * (log(a.means[i][c]) - log(b.means[j][c])).powi(2);
        sum += 0.01 * f64::from(a.log_scales[i][c] - b.log_scales[j][c]).powi(2);
        sum += 0.01 * f64::from(a.sh_of(i)[0][c] - b.sh_of(j)[0][c]).powi(2);
    }
    sum
}

/// The angle between two rotations, degrees.
fn turn(a: [f32; 4], b: [f32; 4]) -> f64 {
    let dot = |a: [f32; 4], b: [f32; 4]| -> f64 {
        (0..4).map(|i| f64::from(a[i]) * f64::from(b[i])).sum()
    };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    2.0 * (dot(a, b).abs() / lengths).min(1.0).acos().to_degrees()
}
