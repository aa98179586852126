//! MCMC's relocation and growth against equation 9.

use super::super::outcome::{Outcome, ensure};
use super::super::scenes::plain_camera;
use super::{families, moments_are_zero, refined, state, survived};
use crate::twin::project::sigmoid;
use crate::twin::{self, densify};
use splatcore_core::backend::{Backend, LearnerState, Refine, RenderOptions};
use splatcore_core::gaussians::logit;
use splatcore_core::{Gaussians, Image, metrics};

fn mcmc(growth: f32, max_gaussians: usize) -> Refine {
    Refine::Mcmc {
        min_opacity: 0.02,
        growth,
        max_gaussians,
        region: None,
        seed: 3,
        step: 700,
    }
}

/// A family of copies shares opacity and scale by equation 9 and has no moments.
fn family_shares(
    before: &LearnerState,
    i: usize,
    after: &LearnerState,
    family: &[usize],
) -> Outcome {
    let copies = family.len();
    let opacity = sigmoid(before.gaussians.opacity_logits[i] as f64);
    let shared = densify::shared_opacity(opacity, copies);
    let factor = densify::shared_scale_factor(opacity, copies);
    for &j in family {
        let g = &after.gaussians;
        ensure(
            g.means[j] == before.gaussians.means[i]
                && g.rotations[j] == before.gaussians.rotations[i],
            || format!("a copy of Gaussian {i} lies elsewhere"),
        )?;
        // The floor of the authors' code.
        let got = sigmoid(g.opacity_logits[j] as f64);
        ensure((got - shared.max(0.02)).abs() < 1e-5, || {
            format!(
                "{copies} copies of an opacity of {opacity:.5} have {got:.5} each, {shared:.5} is \
                 right"
            )
        })?;
        for k in 0..3 {
            let grown = (g.log_scales[j][k] - before.gaussians.log_scales[i][k]) as f64;
            ensure((grown - factor.ln()).abs() < 1e-4, || {
                format!(
                    "{copies} copies of an opacity of {opacity:.5} have {:.6} of the scale each, \
                     {factor:.6} is right",
                    grown.exp()
                )
            })?;
        }
        ensure(moments_are_zero(after, j), || {
            format!("a copy of Gaussian {i} has moments")
        })?;
    }
    Ok(())
}

/// The image from one side, by the twin.
fn image(gaussians: &Gaussians) -> Image {
    let options = RenderOptions {
        background: [0.5; 3],
        ..RenderOptions::default()
    };
    let frame = twin::render(gaussians, &plain_camera(80, 60), &options);
    Image {
        width: 80,
        height: 60,
        data: frame.image.iter().map(|p| p.map(|v| v as f32)).collect(),
    }
}

/// Without growth: the dead move onto the living, whose families share; nobody else changes; the
/// image stays.
pub fn mcmc_relocates(backend: &dyn Backend) -> Outcome {
    let mut before = state(64, 500);
    let dead: Vec<bool> = (0..500).map(|i| i % 9 == 4).collect();
    for i in 0..500 {
        let opacity = if dead[i] {
            0.01
        } else {
            0.1 + 0.8 * (i % 13) as f32 / 13.0
        };
        before.gaussians.opacity_logits[i] = logit(opacity);
    }
    let count = dead.iter().filter(|&&d| d).count();
    let (report, after) = refined(backend, &before, &mcmc(0.0, 10_000))?;
    ensure(
        [report.relocated, report.added, report.count] == [count, 0, 500],
        || format!("{report:?}; {count} of 500 are dead"),
    )?;
    let (mut drawn, mut drawn_opacity) = (0, 0.0);
    for (i, family) in families(&before.gaussians, &after.gaussians)?
        .iter()
        .enumerate()
    {
        match (dead[i], family.as_slice()) {
            (true, []) => {}
            (true, _) => return Err(format!("Gaussian {i} is dead and was not moved")),
            (false, []) => return Err(format!("Gaussian {i} is alive and is gone")),
            (false, &[j]) => ensure(survived(&before, i, &after, j), || {
                format!("Gaussian {i} was not drawn and changed")
            })?,
            (false, family) => {
                family_shares(&before, i, &after, family)?;
                drawn += family.len() - 1;
                drawn_opacity +=
                    (family.len() - 1) as f64 * sigmoid(before.gaussians.opacity_logits[i] as f64);
            }
        }
    }
    ensure(drawn == count, || {
        format!("{drawn} were drawn for {count} dead")
    })?;
    // Drawn in proportion to opacity: the mean opacity of those drawn is E[o²]/E[o], here 0.58, not
    // E[o] = 0.47. Its standard error over some 55 draws is 0.03.
    let (mut first, mut second) = (0.0, 0.0);
    for i in (0..500).filter(|&i| !dead[i]) {
        let o = sigmoid(before.gaussians.opacity_logits[i] as f64);
        first += o;
        second += o * o;
    }
    let (got, want) = (drawn_opacity / drawn as f64, second / first);
    ensure((got - want).abs() < 0.1, || {
        format!(
            "those drawn have a mean opacity of {got:.3}; in proportion to opacity it is {want:.3}"
        )
    })?;
    // The dead were nearly invisible, and families look like their parents but for their flanks.
    let psnr = metrics::psnr_between(&image(&before.gaussians), &image(&after.gaussians));
    ensure(psnr > 30.0, || {
        format!("relocation changes the picture: {psnr:.1} dB")
    })
}

/// Without dead ones: the set grows by its share up to the limit.
pub fn mcmc_grows(backend: &dyn Backend) -> Outcome {
    let mut before = state(65, 400);
    for (i, l) in before.gaussians.opacity_logits.iter_mut().enumerate() {
        *l = logit(0.1 + 0.8 * (i % 13) as f32 / 13.0);
    }
    for (limit, want) in [(10_000, 20), (407, 7), (400, 0), (100, 0)] {
        let (report, after) = refined(backend, &before, &mcmc(0.05, limit))?;
        ensure(
            [report.relocated, report.added, report.count] == [0, want, 400 + want],
            || format!("limit {limit}: {report:?}; growth by {want} is right"),
        )?;
        for (i, family) in families(&before.gaussians, &after.gaussians)?
            .iter()
            .enumerate()
        {
            match family.as_slice() {
                [] => return Err(format!("limit {limit}: Gaussian {i} is gone")),
                &[j] => ensure(survived(&before, i, &after, j), || {
                    format!("limit {limit}: Gaussian {i} was not drawn and changed")
                })?,
                family => family_shares(&before, i, &after, family)?,
            }
        }
        let psnr = metrics::psnr_between(&image(&before.gaussians), &image(&after.gaussians));
        ensure(psnr > 35.0, || {
            format!("limit {limit}: growth changes the picture: {psnr:.1} dB")
        })?;
    }
    Ok(())
}
