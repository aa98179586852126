#![allow(clippy::unwrap_used)]
mod dataset_support;
use splatcore_data::dataset::*;
#[test]
fn probe() {
    for (name, max) in [
        ("posed/bonsai", Some(400)),
        ("posed/fox_colmap", Some(480)),
        ("posed/fox_colmap", None),
        ("posed/fox", Some(480)),
        ("posed/fox", None),
        ("posed/chair", Some(400)),
        ("posed/sceaux", None),
    ] {
        let path = dataset_support::shared(name).unwrap();
        let t = std::time::Instant::now();
        let d = Dataset::open(&path, &OpenOptions::default()).unwrap();
        let opened = t.elapsed();
        let t = std::time::Instant::now();
        let all = d.select(Split::All, 8);
        let v = d
            .load_views(
                &all,
                &LoadOptions {
                    max_size: max,
                    background: [1.0; 3],
                },
                &|_, _| {},
            )
            .unwrap();
        println!(
            "{name} {max:?}: open {opened:?}, load {:?} for {} of {}x{}",
            t.elapsed(),
            v.len(),
            v[0].photo.width,
            v[0].photo.height
        );
        println!("{}", serde_json::to_string(&d.info()).unwrap());
        if d.points.random {
            let c: Vec<f32> = (0..3)
                .map(|a| d.points.positions.iter().map(|p| p[a]).sum::<f32>() / 50000.0)
                .collect();
            let lo: Vec<f32> = (0..3)
                .map(|a| d.points.positions.iter().map(|p| p[a]).fold(f32::MAX, f32::min))
                .collect();
            let hi: Vec<f32> = (0..3)
                .map(|a| d.points.positions.iter().map(|p| p[a]).fold(f32::MIN, f32::max))
                .collect();
            println!("mean {c:?} low {lo:?} high {hi:?}");
        }
    }
}
