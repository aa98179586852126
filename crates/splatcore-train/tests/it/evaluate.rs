//! Scores: their values on known images, and the JSON that other people's scripts read.

use crate::common::{Mock, points, views};
use splatcore_core::backend::{Backend, RenderOptions, Renderer};
use splatcore_core::metrics;
use splatcore_train::config::Config;
use splatcore_train::{Evaluation, Extras, evaluate, evaluate_over, init};

fn scene() -> splatcore_core::Gaussians {
    init::from_points(&points(5), &[], &Config::UNSET.complete(), 1.0).gaussians
}

#[test]
fn scores_are_means_of_the_metrics_and_keep_order() {
    let views = views(7);
    let options = RenderOptions {
        background: [0.5, 0.4, 0.3],
        ..RenderOptions::default()
    };
    let mut renderer = Mock::default().renderer(&scene()).unwrap();
    let seen = std::sync::Mutex::new(vec![None; 7]);
    let result = evaluate(
        &mut *renderer,
        &views,
        &options,
        &|i, view, image, score| {
            assert_eq!(score.psnr, metrics::psnr(image, &view.photo));
            assert_eq!(score.ssim, metrics::ssim(image, &view.photo));
            let before = seen.lock().unwrap()[i].replace(score.clone());
            assert!(before.is_none(), "view {i} twice");
        },
    )
    .unwrap();
    let seen: Vec<_> = seen.into_inner().unwrap().into_iter().flatten().collect();
    assert_eq!(result.views, seen);
    assert!(
        result
            .views
            .iter()
            .zip(views.iter())
            .all(|(score, view)| score.name == view.name)
    );
    assert!((result.psnr - seen.iter().map(|s| s.psnr).sum::<f64>() / 7.0).abs() < 1e-12);
    assert!((result.ssim - seen.iter().map(|s| s.ssim).sum::<f64>() / 7.0).abs() < 1e-12);
    assert_eq!(result.gaussians, 5);
}

#[test]
fn several_renderers_give_the_scores_of_one() {
    let views = views(7);
    let options = RenderOptions::default();
    let scores = |count: usize| {
        let mut renderers: Vec<_> = (0..count)
            .map(|_| Mock::default().renderer(&scene()).unwrap())
            .collect();
        let mut renderers: Vec<&mut dyn Renderer> = renderers
            .iter_mut()
            .map(|renderer| &mut **renderer as &mut dyn Renderer)
            .collect();
        let seen = std::sync::Mutex::new(vec![]);
        let found = evaluate_over(
            &mut renderers,
            &views,
            &options,
            Extras::default(),
            &|i, _, _, _| {
                seen.lock().unwrap().push(i);
            },
        );
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..7).collect::<Vec<_>>());
        found.unwrap()
    };
    let one = scores(1);
    assert!([2, 3, 9].iter().all(|&count| scores(count) == one));
}

#[test]
fn the_json_is_that_of_the_contract_and_holds_no_infinity() {
    let mut views = views(3).to_vec();
    views[0].photo.rgb.fill(255);
    views[2].photo.mask = Some(vec![0; 96]);
    let options = RenderOptions {
        background: [1.0; 3],
        ..RenderOptions::default()
    };
    let mut renderer = Mock::default().renderer(&scene()).unwrap();
    let result = evaluate(&mut *renderer, &views, &options, &|_, _, _, _| ()).unwrap();
    let json = serde_json::to_string(&result).unwrap();
    assert!(
        json.starts_with("{\"psnr\":")
            && json.contains("{\"name\":\"000.png\",\"psnr\":100.0,\"ssim\":"),
        "{json}"
    );
    assert_contains!(json, ",\"gaussians\":5,\"views\":[");
    assert_eq!(result.views.len(), 2, "a view without pixels is left out");
    // Not a number is the worst score, not the best.
    let options = RenderOptions {
        background: [f32::NAN; 3],
        ..options
    };
    let Evaluation { psnr, ssim, .. } =
        evaluate(&mut *renderer, &views, &options, &|_, _, _, _| ()).unwrap();
    assert_eq!((psnr, ssim), (0.0, 0.0));
}

#[test]
fn no_views_and_wrong_sizes_are_errors() {
    let mut renderer = Mock::default().renderer(&scene()).unwrap();
    let options = RenderOptions::default();
    let error = evaluate(&mut *renderer, &[], &options, &|_, _, _, _| ()).unwrap_err();
    assert!(error.to_string().contains("no view to evaluate"));
    let mut odd = views(1).to_vec();
    odd[0].camera = odd[0].camera.resized(6, 4);
    let error = evaluate(&mut *renderer, &odd, &options, &|_, _, _, _| ()).unwrap_err();
    assert_contains!(error, "000.png", "6x4", "12x8");
}
