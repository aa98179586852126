//! Reduces a scene in three ways, for comparisons of renders.
//!
//! ```sh
//! cargo run --release -p splatcore-data --example decimate -- SCENE SHARE HOW OUT
//! ```
//!
//! HOW is `merge`, `important` or `random`: `merge` is `decimate`, `important` keeps the Gaussians
//! with the largest opacity times volume, `random` keeps any.

use splatcore_core::gaussians::sigmoid;
use splatcore_core::random::Rng;
use splatcore_data::scene::{self, WriteOptions};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [scene, share, how, out] = &args[..] else {
        return Err("usage: decimate SCENE SHARE merge|important|random OUT".into());
    };
    let mut gaussians = scene::read(Path::new(scene))?.gaussians;
    let target = (share.parse::<f64>()? * gaussians.len() as f64).round() as usize;
    let start = Instant::now();
    if how == "merge" {
        gaussians = scene::decimate(&gaussians, target);
    } else {
        let mut rng = Rng::new(0, 0);
        let mut worth: Vec<(f32, usize)> = (0..gaussians.len())
            .map(|i| {
                let volume: f32 = gaussians.log_scales[i].iter().sum();
                let important = sigmoid(gaussians.opacity_logits[i]).ln() + volume;
                (
                    if how == "important" {
                        important
                    } else {
                        rng.uniform()
                    },
                    i,
                )
            })
            .collect();
        worth.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut keep = vec![false; gaussians.len()];
        worth[..target].iter().for_each(|&(_, i)| keep[i] = true);
        gaussians.retain(|i| keep[i]);
    }
    println!(
        "{} Gaussians in {:.2} s",
        gaussians.len(),
        start.elapsed().as_secs_f64()
    );
    scene::write(
        Path::new(out),
        &gaussians,
        &WriteOptions::default(),
        &|_, _, _| (),
    )?;
    Ok(())
}
