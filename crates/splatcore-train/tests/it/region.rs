//! Runs about a region, on the CPU.

use crate::blobs::{resumed, trainer};
use crate::common::{config, start};
use crate::options::{photos, trained};
use splatcore_core::{Gaussians, Region};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::{Config, GrowthRegion, Strategy};
use splatcore_train::evaluate::{Evaluation, Extras, evaluate_with};

/// A half of the starting Gaussians' space.
const HALF: Region = Region {
    low: [-100.0; 3],
    high: [100.0, 100.0, 0.0],
};

fn inside(scene: &Gaussians) -> usize {
    let means = scene.means.iter();
    means.filter(|&&mean| HALF.contains(mean)).count()
}

#[test]
fn the_set_grows_inside_and_a_resumed_run_is_the_same() {
    let backend = CpuBackend::new(Some(2));
    let views = photos(&backend, 8, false);
    for strategy in [Strategy::Splatcore, Strategy::Adc, Strategy::Mcmc] {
        let everywhere = Config {
            // Large blobs that walk would leave the region.
            noise_rate: Some(0.0),
            ..config(strategy)
        };
        let in_half = Config {
            region: Some(GrowthRegion::Box(HALF)),
            ..everywhere.clone()
        };
        let began = start(&in_half);
        let (all, of_half) = (began.len(), inside(&began));
        assert!(of_half > 10 && all - of_half > 10, "{of_half} of {all}");
        let share = |config: &Config| {
            let scene = trained(&backend, config, &views).scene().unwrap();
            (scene.len(), inside(&scene) as f64 / scene.len() as f64)
        };
        let ((plain, before), (count, now)) = (share(&everywhere), share(&in_half));
        assert!(count > all && plain > all, "{strategy:?}: {count}, {plain}");
        assert!(now > before + 0.1, "{strategy:?}: {now:.2}, {before:.2}");

        resumed(
            || trainer(&backend, &in_half, &views, start(&in_half)),
            &views,
            &[130],
        );
    }
}

/// A box that holds everything counts every opaque pixel, one that holds nothing none.
#[test]
fn pixels_are_those_of_the_region() {
    let backend = CpuBackend::new(Some(2));
    let views = photos(&backend, 3, false);
    let mut trainer = trained(&backend, &config(Strategy::Adc), &views);
    let (renderer, options) = trainer.renderer().unwrap();
    let mut measure = |region: &str| {
        let extras = Extras {
            region: Some(region.parse().unwrap()),
            ..Extras::default()
        };
        evaluate_with(renderer, &views, &options, extras, &|_, _, _, _| ()).unwrap()
    };
    let [whole, near, far] = [
        measure("-99,-99,-99,99,99,99"),
        measure("-99,-99,-99,0,99,99"),
        measure("0,-99,-99,99,99,99"),
    ];
    let share = |found: &Evaluation, view: usize| {
        let region = found.views[view].region;
        region.map_or(0.0, |score| score.share)
    };
    for view in 0..views.len() {
        let [whole, near, far] = [&whole, &near, &far].map(|found| share(found, view));
        // A view that shows less than a hundredth of its pixels there shows none.
        assert!((near + far - whole).abs() < 0.01, "{near} {far} {whole}");
        assert!(whole > 0.1, "{whole}");
    }
    assert!(near.region.is_some() && far.region.is_some());
    let whole = whole.region.unwrap();
    assert!(whole.psnr > 10.0 && whole.psnr < 99.0, "{}", whole.psnr);
    let nothing = measure("50,50,50,60,60,60");
    assert_eq!(nothing.region, None);
    assert!(nothing.views.iter().all(|view| view.region.is_none()));
}
