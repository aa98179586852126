//! All of splatcore's kernels under the emulator's checks of memory accesses, which must find no
//! mistake.

use crate::CudaBackend;
use crate::ops::adam::moments::Moments;
use crate::tests::support::device::emulator_with;
use crate::tests::support::side_by_side;
use crate::tests::support::watched::camera;
use splatcore_core::backend::{
    BackendError, Learner, LearnerState, Refine, RenderOptions, Statistic, StepPlan,
};
use splatcore_core::colour::ColourPlan;
use splatcore_core::columns::{Column, ColumnPlan};
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::{Backend, Gaussians, Image, Pipeline, View};
use splatcore_reference::conformance::scenes::{
    odd_camera, random_scene, transparent_views, views,
};
use splatcore_reference::conformance::step::plan;
use std::sync::Arc;

type Said = Result<(), BackendError>;

/// Something to run, with its name.
type Job = (String, Box<dyn Fn(&CudaBackend) -> Said + Send + Sync>);

fn options(pipeline: Pipeline) -> RenderOptions {
    RenderOptions {
        pipeline,
        ..RenderOptions::default()
    }
}

fn all_ones(width: u32, height: u32) -> Image {
    Image::filled(width, height, [1.0; 3])
}

/// Gaussians of all kinds, some in more tiles than fit one list, so many that several blocks share
/// them, and so many of them out of view that some blocks have none.
fn scene() -> Gaussians {
    let mut scene = random_scene(5, 600, 1);
    for mean in &mut scene.means[320..] {
        *mean = [4.0, -2.0, -12.0];
    }
    for i in [3, 20, 77] {
        scene.means[i] = [0.1, -0.2, 0.01 * i as f32];
        scene.log_scales[i] = [0.7; 3];
    }
    scene
}

/// Of an image with lists that are long where kernels tell them from others.
fn size(pipeline: Pipeline) -> [u32; 2] {
    match (pipeline.intersect, pipeline.blend) {
        (
            Intersect::Exact,
            Blend::Scalar | Blend::Splatcore | Blend::TensorGs2x2 | Blend::TensorGs4x4,
        ) => [150, 100],
        _ => [70, 45],
    }
}

fn image(pipeline: Pipeline, change: fn(&mut RenderOptions)) -> Job {
    let run = move |backend: &CudaBackend| {
        let mut options = options(pipeline);
        change(&mut options);
        let [width, height] = size(pipeline);
        let mut renderer = backend.renderer(&scene())?;
        renderer
            .render(&odd_camera(width, height, 0.3), &options)
            .map(drop)
    };
    (format!("image by {pipeline}"), Box::new(run))
}

fn gradients(pipeline: Pipeline, change: fn(&mut RenderOptions)) -> Job {
    let run = move |backend: &CudaBackend| {
        let mut options = options(pipeline);
        change(&mut options);
        let [width, height] = size(pipeline);
        let mut renderer = backend.renderer(&scene())?;
        let camera = odd_camera(width, height, 0.3);
        renderer
            .gradients(&camera, &options, &all_ones(width, height).into())
            .map(drop)
    };
    (format!("gradients by {pipeline}"), Box::new(run))
}

fn counts(blend: Blend) -> Job {
    let pipeline = Pipeline {
        intersect: Intersect::Exact,
        blend,
        backward: blend.backward(),
    };
    let run = move |backend: &CudaBackend| {
        let mut renderer = backend.renderer(&scene())?;
        renderer
            .counts(&odd_camera(70, 45, 0.3), &options(pipeline))
            .map(drop)
    };
    (format!("counts by {pipeline}"), Box::new(run))
}

/// Steps and refinements.
fn steps(
    name: &str,
    views: fn() -> Vec<View>,
    before: fn(&mut dyn Learner) -> Said,
    change: fn(&mut StepPlan),
    after: fn(&mut dyn Learner) -> Said,
) -> Job {
    let run = move |backend: &CudaBackend| {
        let mut learner = backend.learner(&scene(), Arc::new(views()))?;
        before(learner.as_mut())?;
        for step in 1..=3 {
            let mut plan = plan(Pipeline::AUTO, step, step as usize % 3);
            change(&mut plan);
            learner.step(&plan)?;
        }
        after(learner.as_mut())?;
        let state: LearnerState = learner.snapshot()?;
        learner.restore(&state)?;
        let mut plan = plan(Pipeline::AUTO, 4, 0);
        change(&mut plan);
        learner.step(&plan)?;
        learner.last_loss().map(drop)
    };
    (format!("steps {name}"), Box::new(run))
}

fn nothing(_: &mut dyn Learner) -> Said {
    Ok(())
}

fn adc_round(max_gaussians: usize) -> Refine {
    Refine::Adc {
        gradient_threshold: 1e-6,
        split_scale: 0.1,
        min_opacity: 0.005,
        max_scale: Some(10.0),
        max_gaussians,
        budget: None,
        region: None,
        seed: 7,
        step: 100,
    }
}

fn adc(learner: &mut dyn Learner) -> Said {
    learner.refine(&adc_round(1000))?;
    learner.step(&plan(Pipeline::AUTO, 4, 1))?;
    let limit = learner.count() + 20;
    learner.refine(&adc_round(limit))?;
    learner.refine(&Refine::ResetOpacity { ceiling: 0.01 })?;
    Ok(())
}

fn mcmc(learner: &mut dyn Learner) -> Said {
    for step in [100, 200] {
        learner.refine(&Refine::Mcmc {
            min_opacity: 0.2,
            growth: 0.2,
            max_gaussians: 1000,
            region: None,
            seed: 7,
            step,
        })?;
    }
    Ok(())
}

/// Images that are blended as large ones.
fn large_images() -> Vec<Job> {
    let of = |(inverse_depth, interpolate)| -> Job {
        let large = move |backend: &CudaBackend| {
            let backend = backend.clone().with_large_images_from(0);
            let mut options = options(Pipeline::AUTO);
            options.inverse_depth = inverse_depth;
            options.interpolate = interpolate;
            let mut renderer = backend.renderer(&scene())?;
            renderer.render(&camera(90, 70), &options).map(drop)
        };
        let name = format!(
            "an image as if it were large, depth {inverse_depth}, interpolated {interpolate}"
        );
        (name, Box::new(large))
    };
    [(false, false), (true, false), (false, true)]
        .map(of)
        .into()
}

/// Steps around a round of adc, and a reset.
fn refined_steps(backend: &CudaBackend, moments: Moments) -> Said {
    let backend = backend.clone().with_moments(moments);
    let scene = match moments {
        // Of lower degrees harmonics are floats.
        Moments::Small => random_scene(5, 300, 3),
        _ => scene(),
    };
    let mut learner = backend.learner(&scene, Arc::new(views()))?;
    for step in 1..=3 {
        let mut plan = plan(Pipeline::AUTO, step, 0);
        if !moments.keeps_first() {
            plan.betas[0] = 0.0;
        }
        learner.step(&plan)?;
        if step == 2 {
            learner.refine(&adc_round(1000))?;
        }
    }
    learner.refine(&Refine::ResetOpacity { ceiling: 0.01 })?;
    learner.snapshot().map(drop)
}

fn jobs() -> Vec<Job> {
    let all = std::env::var("SPLATCORE_PIPELINES").is_ok_and(|wish| wish == "all");
    let with = |intersect, blend: Blend| Pipeline {
        intersect,
        blend,
        backward: blend.backward(),
    };
    let mut jobs = vec![
        steps("plain", views, nothing, |_| {}, adc),
        steps(
            "mcmc",
            views,
            nothing,
            |plan| {
                plan.noise = Some(0.05);
                (plan.opacity_regulariser, plan.scale_regulariser) = (0.01, 0.01);
                plan.statistics = None;
            },
            mcmc,
        ),
        steps(
            "colour",
            transparent_views,
            nothing,
            |plan| plan.colour = Some(ColourPlan::affine(0.01)),
            nothing,
        ),
        steps(
            "of three photos",
            views,
            nothing,
            |plan| {
                plan.views = vec![2, 0, 1];
                (plan.colour, plan.noise) = (Some(ColourPlan::affine(0.01)), Some(0.05));
                let (weight, rate) = (0.1, 2.0);
                plan.columns[Column::Mask] = Some(ColumnPlan { weight, rate });
            },
            adc,
        ),
        steps(
            "of two photos, sparse",
            views,
            nothing,
            |plan| (plan.sparse_adam, plan.views) = (true, vec![0, 2]),
            nothing,
        ),
        steps(
            "sparse, reduced",
            views,
            nothing,
            |plan| {
                (plan.sparse_adam, plan.scale) = (true, 2);
                let (weight, rate) = (0.1, 2.0);
                plan.columns[Column::Mask] = Some(ColumnPlan { weight, rate });
            },
            |learner| {
                learner.refine(&Refine::PruneFloaters {
                    render: options(Pipeline::AUTO),
                    depth_share: 0.8,
                })?;
                learner
                    .refine(&Refine::PruneByColumn(Column::Mask))
                    .map(drop)
            },
        ),
        steps(
            "antialiased",
            views,
            |learner| {
                learner
                    .refine(&Refine::ComputeColumn(Column::Filter))
                    .map(drop)
            },
            |plan| {
                plan.render.antialias = true;
                plan.statistics = Some(Statistic::Absolute);
            },
            |learner| {
                learner.refine(&Refine::LimitScales {
                    share: 0.02,
                    floor: 0.01,
                })?;
                learner
                    .refine(&Refine::ResetOpacity { ceiling: 0.01 })
                    .map(drop)
            },
        ),
    ];
    jobs.extend(
        Blend::ALL
            .iter()
            .map(|&blend| image(with(Intersect::Exact, blend), |_| {})),
    );
    jobs.extend(
        [Blend::Splatcore, Blend::Scalar, Blend::Subtile].map(|blend| {
            image(with(Intersect::Exact, blend), |options| {
                options.inverse_depth = true
            })
        }),
    );
    jobs.push(image(Pipeline::AUTO, |options| options.antialias = true));
    let right = Backward::ALL.iter().filter(|method| method.is_right());
    jobs.extend(right.map(|&backward| {
        let behind = match backward {
            Backward::Splatcore => Blend::Splatcore,
            _ => Blend::Scalar,
        };
        let pipeline = Pipeline {
            backward,
            ..with(Intersect::Exact, behind)
        };
        gradients(pipeline, |_| {})
    }));
    jobs.push(gradients(
        Pipeline {
            backward: Backward::GaussianParallel,
            ..with(Intersect::Exact, Blend::Subtile)
        },
        |_| {},
    ));
    jobs.extend([Blend::Scalar, Blend::Subtile].map(counts));
    for &intersect in Intersect::ALL {
        if intersect != Intersect::Exact {
            jobs.push(image(with(intersect, Blend::Scalar), |_| {}));
        }
        if all {
            let blends = [Blend::Splatcore, Blend::TensorGs2x2, Blend::TensorGs4x4];
            jobs.extend(blends.map(|blend| image(with(intersect, blend), |_| {})));
        }
    }
    if all {
        jobs.extend(Blend::ALL.iter().map(|&blend| counts(blend)));
    }
    let half = |backend: &CudaBackend| {
        let mut renderer = backend.clone().with_half_scene(true).renderer(&scene())?;
        renderer
            .render(&camera(40, 30), &options(Pipeline::AUTO))
            .map(drop)
    };
    jobs.push(("image of a half scene".into(), Box::new(half)));
    jobs.extend(large_images());
    let of_moments = |moments| {
        let steps = move |backend: &CudaBackend| refined_steps(backend, moments);
        let job: Job = (format!("steps, moments {moments:?}"), Box::new(steps));
        job
    };
    let all = [Moments::Compact, Moments::Second, Moments::Small];
    jobs.extend(all.map(of_moments));
    jobs
}

/// `SPLATCORE_PIPELINES=all` for more pairs of methods, `SPLATCORE_CHECK=mcmc` for the jobs with
/// that in their names.
#[test]
fn no_kernel_of_splatcore_makes_one() {
    let Some(device) = emulator_with(true) else {
        return;
    };
    let backend = CudaBackend::on(Arc::new(device), false);
    let only = std::env::var("SPLATCORE_CHECK").unwrap_or_default();
    let jobs = jobs();
    let wanted = jobs.iter().filter(|(name, _)| name.contains(&only));
    let failures = side_by_side::failures(wanted, side_by_side::cores(), |(name, job)| {
        side_by_side::timed(name, || job(&backend))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
