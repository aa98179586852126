//! `adam`: Kingma & Ba 2015 as INRIA uses it: the plan's betas, epsilon 1e-15, bias correction by
//! the step's number.
//!
//! Every Gaussian is updated in every step, seen or not, as torch's Adam does: an unseen one has
//! gradient 0, its moments decay and it keeps moving a little. With sparse Adam (gsplat's
//! `SelectiveAdam`) `step` calls this for those in view alone; the bias correction stays that of
//! the step's number. Harmonics above degree 0 may decay (Loshchilov & Hutter 2019): the decay is
//! not divided by the second moment, so it pulls at all of them alike. Spherical harmonics above
//! the active degree are left out: their gradients and moments are exactly 0, so their update is
//! exactly 0. Twin: `splatcore_reference::twin::adam`.

use crate::simd::{Lanes, dispatch};
use splatcore_core::backend::StepPlan;
use std::ops::Range;

/// Keeps the quotient finite.
pub const EPSILON: f32 = 1e-15;

/// The factors that are the same for all parameters of a step.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
    /// 1 / (1 - beta1^t).
    pub(crate) first: f64,
    /// 1 / sqrt(1 - beta2^t).
    pub(crate) second: f32,
    /// Decays of the first and the second moment.
    pub(crate) betas: [f32; 2],
}

impl Correction {
    /// For step `t`, from 1, with these decays.
    pub fn new(t: u32, betas: [f64; 2]) -> Self {
        let betas = betas.map(|beta| beta as f32);
        let missing = betas.map(|beta| 1.0 - f64::from(beta).powf(f64::from(t.max(1))));
        Self {
            first: 1.0 / missing[0],
            second: (1.0 / missing[1].sqrt()) as f32,
            betas,
        }
    }

    /// As a step asks for it.
    pub fn of(plan: &StepPlan) -> Self {
        let all = Self::new(plan.step, plan.betas);
        match plan.bias_correction {
            true => all,
            false => Self {
                first: 1.0,
                second: 1.0,
                ..all
            },
        }
    }
}

/// Parameters of one kind with their gradients and moments: rows of `stride` floats of which the
/// first `used` are updated.
pub struct Group<'a> {
    /// `[rows][stride]`
    pub parameters: &'a mut [f32],
    /// `[rows][stride]`
    pub first: &'a mut [f32],
    /// `[rows][stride]`
    pub second: &'a mut [f32],
    /// `[rows][stride]`
    pub gradients: &'a [f32],
    /// Floats a row.
    pub stride: usize,
    /// Floats of a row that are updated.
    pub used: usize,
    /// Learning rate of the first three floats of a row.
    pub base_rate: f32,
    /// Learning rate of the others.
    pub rate: f32,
}

impl<'a> Group<'a> {
    /// Parameters that all learn at one rate.
    pub(crate) fn plain(
        parameters: &'a mut [f32],
        first: &'a mut [f32],
        second: &'a mut [f32],
        gradients: &'a [f32],
        stride: usize,
        rate: f32,
    ) -> Self {
        Self {
            parameters,
            first,
            second,
            gradients,
            stride,
            used: stride,
            base_rate: rate,
            rate,
        }
    }

    /// Some of its rows.
    pub(crate) fn rows(&mut self, rows: &Range<usize>) -> Group<'_> {
        let at = rows.start * self.stride..rows.end * self.stride;
        Group {
            parameters: &mut self.parameters[at.clone()],
            first: &mut self.first[at.clone()],
            second: &mut self.second[at.clone()],
            gradients: &self.gradients[at],
            ..*self
        }
    }
}

dispatch! {
    /// Updates a group.
    pub fn adam / kernel (group: &mut Group<'_>, correction: Correction)
}

#[inline(always)]
fn kernel<L: Lanes>(group: &mut Group<'_>, correction: Correction) {
    let scale = |rate: f32| (rate as f64 * correction.first) as f32;
    let (base, rest) = (scale(group.base_rate), scale(group.rate));
    if group.used == group.stride && base == rest {
        let len = group.parameters.len();
        update::<L>(group, 0, len, rest, correction);
        return;
    }
    // A vector may run past `used` into coefficients whose gradients and moments are 0: their
    // update is 0.
    let mut rates = [rest; 64];
    rates[..3].fill(base);
    let mut row = 0;
    while row + group.stride <= group.parameters.len() {
        let mut c = 0;
        while c < group.used && c + L::WIDTH <= group.stride {
            vector::<L>(group, row + c, L::load(&rates[c..]), correction);
            c += L::WIDTH;
        }
        for c in c..group.used {
            single(group, row + c, rates[c], correction);
        }
        row += group.stride;
    }
}

#[inline(always)]
fn update<L: Lanes>(
    group: &mut Group<'_>,
    from: usize,
    len: usize,
    rate: f32,
    correction: Correction,
) {
    let mut at = from;
    while at + L::WIDTH <= from + len {
        vector::<L>(group, at, L::splat(rate), correction);
        at += L::WIDTH;
    }
    for at in at..from + len {
        single(group, at, rate, correction);
    }
}

#[inline(always)]
fn vector<L: Lanes>(group: &mut Group<'_>, at: usize, rate: L, correction: Correction) {
    let [beta1, beta2] = correction.betas;
    let g = L::load(&group.gradients[at..]);
    let m = L::load(&group.first[at..]);
    let v = L::load(&group.second[at..]);
    let m = L::splat(beta1).mul_add(m, L::splat(1.0 - beta1) * g);
    let v = L::splat(beta2).mul_add(v, L::splat(1.0 - beta2) * g * g);
    let divisor = v
        .sqrt()
        .mul_add(L::splat(correction.second), L::splat(EPSILON));
    let p = L::load(&group.parameters[at..]) - (rate * m) / divisor;
    p.store(&mut group.parameters[at..]);
    m.store(&mut group.first[at..]);
    v.store(&mut group.second[at..]);
}

#[inline(always)]
fn single(group: &mut Group<'_>, at: usize, rate: f32, correction: Correction) {
    let [beta1, beta2] = correction.betas;
    let g = group.gradients[at];
    let m = beta1 * group.first[at] + (1.0 - beta1) * g;
    let v = beta2 * group.second[at] + (1.0 - beta2) * g * g;
    group.parameters[at] -= rate * m / (v.sqrt() * correction.second + EPSILON);
    group.first[at] = m;
    group.second[at] = v;
}
