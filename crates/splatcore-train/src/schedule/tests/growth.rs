//! The default strategy: what it grows to, and when it halves.

use super::*;
use crate::config::Interval;
use splatcore_core::{Camera, Photo, View};

/// Towards a number that steps and photos tell, with opacities halved and no limit on size.
#[test]
fn the_default_strategy_knows_its_number() {
    let view = |width: u32, height: u32| View {
        name: String::new(),
        camera: Camera::look_at(
            [0.0, 0.0, 3.0],
            [0.0; 3],
            [0.0, 1.0, 0.0],
            0.8,
            width,
            height,
        ),
        photo: Photo::opaque(0, 0, Vec::new()),
    };
    let limit = |iterations, views: &[View], max_gaussians| {
        let config = Config {
            iterations: Some(iterations),
            max_gaussians,
            ..Config::UNSET
        };
        let schedule = scheduled(&config, 1.0).with_photos(views, views.len());
        let limits = [600, 5000].map(|step| {
            schedule.refinements(step).iter().find_map(|r| match r {
                Refine::Adc {
                    max_gaussians,
                    max_scale: None,
                    budget: Some(_),
                    ..
                } => Some(*max_gaussians),
                _ => None,
            })
        });
        assert_eq!(limits[0], limits[1]);
        assert_eq!(schedule.gaussians_in_the_end(0, 10), limits[0].unwrap());
        limits[0].unwrap()
    };
    let many: Vec<View> = (0..250).map(|_| view(800, 500)).collect();
    assert_eq!(limit(30_000, &many, None), 1_000_000);
    assert_eq!(limit(7500, &many, None), 500_000);
    assert_eq!(limit(30_000, &many[..62], None), 497_996);
    // Longer runs, and what is given.
    assert_eq!(limit(60_000, &many, None), 1_000_000);
    assert_eq!(limit(7500, &many, Some(1234)), 1234);
    // Of a large photo no more than 430,000 pixels count.
    let large = |count| -> Vec<View> { (0..count).map(|_| view(4000, 3000)).collect() };
    // Of a run that sees such photos very often no more than 170 steps a photo count.
    assert_eq!(limit(30_000, &large(62), None), 306_049);
    assert_eq!(limit(8000, &large(62), None), 266_634);
    assert_eq!(limit(30_000, &large(200), None), 927_362);
    assert_eq!(limit(30_000, &large(4000), None), 4_000_000);

    let all = refinements(&Config::UNSET);
    let halvings = steps_of(&all, |r| matches!(r, Refine::FadeOpacity { .. }));
    assert_eq!(halvings, (1..=11).map(|k| 2100 * k).collect::<Vec<u32>>());
    assert!(resets(&Config::UNSET).is_empty());
}

#[test]
fn halvings_are_fourteen_in_a_run() {
    let halving = |iterations| {
        let config = Config {
            iterations: Some(iterations),
            ..Config::UNSET
        };
        let densify = config.complete().densify;
        (densify.until, densify.opacity_halving_every)
    };
    let every = |steps| Some(Interval::Steps(steps));
    assert_eq!(halving(30_000), (24_000, every(2100)));
    assert_eq!(halving(7000), (5600, every(500)));
    assert_eq!(halving(300), (240, every(200)));
}
