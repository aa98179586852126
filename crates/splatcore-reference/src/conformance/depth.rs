//! Inverse depth against the twin, for every pipeline.
//!
//! Two things are compared: the sum of 1/z by the weights of the colours, pixel by pixel, and what
//! users look at, that sum over 1 - transmittance, as PSNR with the largest value of the image as
//! the peak.

use super::answers::Answers;
use super::forward::frames_and_bounds;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{Case, cases};
use super::selection::{Selection, Weight};
use crate::twin::{self, Scene, TwinFrame};
use splatcore_core::backend::{Backend, BackendError, RenderOptions, Rendered};
use splatcore_core::pipeline::Blend;
use splatcore_core::semantics::{ALPHA_MIN, Semantics};
use splatcore_core::with_depth::render_with_depth;
use splatcore_core::{Choice, Pipeline, Precision, Renderer};

/// Least PSNR in dB of the normalised inverse depth: of f32, and of halves. Measured: 121 and 71 at
/// worst.
const MIN: [f64; 2] = [100.0, 60.0];
/// Most that a pixel of it may be off, as a share of the peak, in halves: some ten roundings of
/// 2^-11 on a weight's way through a batch, half of them in the weights that it is divided by too.
const WORST_IN_HALVES: f64 = 0.02;
/// A first-order bound of what comparisons near a cut-off could move; this much of it covers the
/// rest.
const DOUBT_MARGIN: f64 = 1.1;
/// Of the pixels whose transmittance is below 1, so many at least must be far enough from cut-offs
/// to be compared, unless the image has but a few.
const MIN_SURE: f64 = 0.3;
const FEW: usize = 64;

/// Scenes of [`cases`] to look at: usual ones, nothing at all, one pixel, layers of many and of
/// equal depths, depths from the near plane on.
const SCENES: [&str; 9] = [
    "random 0",
    "random 1",
    "random 2",
    "random 4",
    "empty scene",
    "1x1 image",
    "covered by huge Gaussians",
    "depth ties",
    "about the near plane",
];

/// The sums and the expected inverse depth of every pipeline that sums depths, none unless asked
/// for, and the same image with and without; a refusal of the others.
pub fn inverse_depth_matches_the_twin(backend: &dyn Backend) -> Outcome {
    inverse_depth(backend, &Selection::new(backend)?)
}

/// As [`inverse_depth_matches_the_twin`], with the pipelines of one blend.
pub fn inverse_depth_by(backend: &dyn Backend, blend: Blend) -> Outcome {
    inverse_depth(backend, &Selection::new(backend)?.of_blend(blend))
}

fn inverse_depth(backend: &dyn Backend, selection: &Selection) -> Outcome {
    let of_interest =
        |case: &Case| !case.antialias && SCENES.iter().any(|name| case.name.starts_with(name));
    let cases: Vec<Case> = cases().into_iter().filter(of_interest).collect();
    ensure(cases.len() == SCENES.len(), || {
        "a scene of the suite has another name".into()
    })?;
    let mut outcomes: Vec<Outcome> = cases
        .iter()
        .map(|case| {
            one_case(
                backend,
                case,
                &selection.pipelines(case.weight),
                Semantics::default(),
            )
        })
        .collect();
    // Halves hold 1/z in units of the near plane.
    for near_plane in [1e-3, 3.5] {
        let semantics = Semantics {
            near_plane,
            ..Semantics::default()
        };
        let mut case = cases[0].clone();
        case.name = format!("{}, near plane {near_plane}", case.name);
        let pipelines = selection.pipelines(Weight::Common);
        outcomes.push(one_case(backend, &case, &pipelines, semantics));
    }
    gather(outcomes)
}

fn one_case(
    backend: &dyn Backend,
    case: &Case,
    pipelines: &[Pipeline],
    semantics: Semantics,
) -> Outcome {
    let mut renderer = backend.renderer(&case.scene).map_err(said)?;
    let options = |pipeline| RenderOptions {
        semantics,
        inverse_depth: true,
        ..case.options(pipeline)
    };
    let precision = |pipeline: Pipeline| backend.precision(pipeline.blend);
    let (with_depth, without): (Vec<Pipeline>, Vec<Pipeline>) =
        (pipelines.iter()).partition(|pipeline| pipeline.blend.method().inverse_depth);
    let answers = Answers::new(
        &case.scene,
        &case.camera,
        &options(Pipeline::AUTO),
        &case.pixels(),
        &frames_and_bounds(&with_depth, precision),
    );
    for pipeline in without {
        let refused = renderer.render(&case.camera, &options(pipeline));
        ensure(
            matches!(&refused, Err(error @ BackendError::Unsupported { depends_on, .. })
                if depends_on.contains(&Choice::Pipeline)
                    && error.to_string().contains(pipeline.blend.name())),
            || format!("{pipeline} sums no depths and is not refused"),
        )?;
        image_of_its_own(renderer.as_mut(), case, &options(pipeline))
            .map_err(|message| format!("{}, {pipeline}: {message}", case.name))?;
    }
    gather(with_depth.into_iter().map(|pipeline| {
        let what = format!("{}, {pipeline}", case.name);
        one_pipeline(
            renderer.as_mut(),
            case,
            &options(pipeline),
            &answers,
            precision(pipeline),
        )
        .map_err(|message| format!("{what}: {message}"))
    }))
}

/// Depths of a method that sums none come beside its own image.
fn image_of_its_own(renderer: &mut dyn Renderer, case: &Case, options: &RenderOptions) -> Outcome {
    let plain = options.clone().with_inverse_depth(false);
    let image = renderer.render(&case.camera, &plain).map_err(said)?.image;
    let both = render_with_depth(renderer, &case.camera, &plain, true);
    let both = both.map_err(said)?;
    ensure(both.inverse_depth.is_some(), || "no depths".to_string())?;
    ensure(both.image == image, || {
        "another image with depths".to_string()
    })
}

fn one_pipeline(
    renderer: &mut dyn Renderer,
    case: &Case,
    options: &RenderOptions,
    answers: &Answers,
    precision: Precision,
) -> Outcome {
    let pipeline = options.pipeline;
    let twin = answers.frame(pipeline)?;
    let rendered = renderer.render(&case.camera, options).map_err(said)?;
    let sums = sums(&rendered, twin.image.len())?;
    let without = RenderOptions {
        inverse_depth: false,
        ..options.clone()
    };
    let plain = renderer.render(&case.camera, &without).map_err(said)?;
    ensure(plain.inverse_depth.is_none(), || {
        "inverse depth that nobody asked for".into()
    })?;
    ensure(
        plain.image == rendered.image && plain.transmittance == rendered.transmittance,
        || "the picture is another one if depth is asked for".into(),
    )?;
    let doubts = doubts(answers, pipeline, precision)?;
    let nearest = twin::visible_splats(&Scene::from(&case.scene), &case.camera, options)
        .first()
        .map_or(0.0, |splat| 1.0 / splat.depth);
    let taken = |i: usize| 1.0 - twin.transmittance[i];
    let normalised = |i: usize| twin.inverse_depth[i] / taken(i);
    let seen = (0..sums.len()).filter(|&i| taken(i) >= ALPHA_MIN);
    let peak = seen.clone().map(normalised).fold(0.0, f64::max);
    if precision == Precision::Single {
        for (i, &got) in sums.iter().enumerate() {
            let want = twin.inverse_depth[i];
            let most = case.image_tolerance * peak + DOUBT_MARGIN * doubts[i] * nearest;
            // `<=` is false for NaN.
            ensure((got as f64 - want).abs() <= most, || {
                format!(
                    "pixel {} has a sum of {got}, the twin {want:.7} ({most:.1e} allowed)",
                    place(i, twin)
                )
            })?;
        }
    }
    let (mut square, mut sure, mut all) = (0.0, 0usize, 0usize);
    for i in seen {
        all += 1;
        if doubts[i] > 0.0 {
            continue;
        }
        sure += 1;
        let got = sums[i] as f64 / (1.0 - rendered.transmittance[i] as f64);
        let error = (got - normalised(i)).abs() / peak;
        square += error * error;
        ensure(
            precision == Precision::Single || error <= WORST_IN_HALVES,
            || {
                format!(
                    "pixel {} has inverse depth {got}, the twin {:.7}",
                    place(i, twin),
                    normalised(i)
                )
            },
        )?;
    }
    ensure(all < FEW || sure as f64 >= MIN_SURE * all as f64, || {
        format!("only {sure} of {all} pixels are far from a cut-off")
    })?;
    let psnr = -10.0 * (square / sure.max(1) as f64).log10();
    let least = MIN[(precision != Precision::Single) as usize];
    ensure(psnr >= least, || {
        format!("PSNR of the inverse depth is {psnr:.1} dB, {least:.0} are needed")
    })
}

fn place(i: usize, twin: &TwinFrame) -> String {
    format!("({}, {})", i % twin.width, i / twin.width)
}

/// The sums, finite and one a pixel.
fn sums(rendered: &Rendered, pixels: usize) -> Result<&[f32], String> {
    let sums = rendered
        .inverse_depth
        .as_deref()
        .ok_or("no inverse depth")?;
    ensure(sums.len() == pixels, || {
        format!("{} sums for {pixels} pixels", sums.len())
    })?;
    ensure(sums.iter().all(|sum| sum.is_finite()), || {
        "a sum is not finite".into()
    })?;
    Ok(sums)
}

/// How much of each pixel's transmittance comparisons may move that roundings could tip.
fn doubts(answers: &Answers, pipeline: Pipeline, precision: Precision) -> Result<Vec<f64>, String> {
    if precision == Precision::Single {
        let doubts = &answers.frame(pipeline)?.doubts;
        return Ok(doubts.iter().map(|doubt| doubt.transmittance).collect());
    }
    let expected = &answers.pixels(pipeline, precision)?.pixels;
    Ok(expected
        .iter()
        .map(|(_, pixel)| pixel.cut_offs[1])
        .collect())
}
