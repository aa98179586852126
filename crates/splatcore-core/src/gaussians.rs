//! The scene: a set of 3D Gaussians in INRIA's parametrisation.

use crate::sh;

/// A set of 3D Gaussians as structure of arrays. Row `i` of every array belongs to Gaussian `i`.
///
/// Parameters are stored as they are learned and as INRIA's PLY stores them: scales as natural
/// logs, opacity as a logit, rotations as quaternions `w, x, y, z` that need not be normalised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaussians {
    /// Centres in world units, `[n][3]`.
    pub means: Vec<[f32; 3]>,
    /// Natural logs of the standard deviations along the Gaussian's own axes, `[n][3]`.
    pub log_scales: Vec<[f32; 3]>,
    /// Quaternions `w, x, y, z`, Gaussian's axes to world, `[n][4]`.
    pub rotations: Vec<[f32; 4]>,
    /// Opacity before the sigmoid, `[n]`.
    pub opacity_logits: Vec<f32>,
    /// Spherical-harmonics coefficients, `[n][(sh_degree + 1)²]` of r, g, b: coefficient `k` of
    /// Gaussian `i` is `sh[i * coefficients() + k]`. (INRIA's PLY is channel-major; the PLY reader
    /// and writer convert.)
    pub sh: Vec<[f32; 3]>,
    /// Degree of the spherical harmonics: 0 to 3 for what renders and trains, up to 4 in files.
    pub sh_degree: u8,
}

impl Gaussians {
    /// An empty set of the given degree.
    pub fn empty(sh_degree: u8) -> Self {
        Self {
            sh_degree,
            ..Self::default()
        }
    }

    /// `count` Gaussians, all parameters zero (rotations zero too: fill them before use).
    pub fn zeros(count: usize, sh_degree: u8) -> Self {
        Self {
            means: vec![[0.0; 3]; count],
            log_scales: vec![[0.0; 3]; count],
            rotations: vec![[0.0; 4]; count],
            opacity_logits: vec![0.0; count],
            sh: vec![[0.0; 3]; count * sh::coefficients(sh_degree)],
            sh_degree,
        }
    }

    /// Cuts, or appends Gaussians of zeros.
    pub fn resize(&mut self, count: usize) {
        let k = self.coefficients();
        self.means.resize(count, [0.0; 3]);
        self.log_scales.resize(count, [0.0; 3]);
        self.rotations.resize(count, [0.0; 4]);
        self.opacity_logits.resize(count, 0.0);
        self.sh.resize(count * k, [0.0; 3]);
    }

    /// Number of Gaussians.
    pub fn len(&self) -> usize {
        self.means.len()
    }

    /// Whether there is no Gaussian.
    pub fn is_empty(&self) -> bool {
        self.means.is_empty()
    }

    /// Spherical-harmonics coefficients a Gaussian and channel: 1, 4, 9 or 16.
    pub fn coefficients(&self) -> usize {
        sh::coefficients(self.sh_degree)
    }

    /// The coefficients of Gaussian `i`, `[coefficients()][3]`.
    pub fn sh_of(&self, i: usize) -> &[[f32; 3]] {
        let k = self.coefficients();
        &self.sh[i * k..(i + 1) * k]
    }

    /// Appends Gaussian `i` of `other`, which must have the same degree.
    pub fn push_from(&mut self, other: &Gaussians, i: usize) {
        debug_assert_eq!(self.sh_degree, other.sh_degree);
        self.means.push(other.means[i]);
        self.log_scales.push(other.log_scales[i]);
        self.rotations.push(other.rotations[i]);
        self.opacity_logits.push(other.opacity_logits[i]);
        self.sh.extend_from_slice(other.sh_of(i));
    }

    /// A set that holds only a copy of Gaussian `i`.
    pub fn clone_row(&self, i: usize) -> Gaussians {
        let mut row = Gaussians::empty(self.sh_degree);
        row.push_from(self, i);
        row
    }

    /// The Gaussians `order[0]`, `order[1]`, and so on.
    pub fn in_order(&self, order: &[u32]) -> Gaussians {
        let k = self.coefficients();
        let rows = order.iter().map(|&i| i as usize);
        let mut sh = Vec::with_capacity(k * order.len());
        for i in rows.clone() {
            sh.extend_from_slice(self.sh_of(i));
        }
        Gaussians {
            means: rows.clone().map(|i| self.means[i]).collect(),
            log_scales: rows.clone().map(|i| self.log_scales[i]).collect(),
            rotations: rows.clone().map(|i| self.rotations[i]).collect(),
            opacity_logits: rows.map(|i| self.opacity_logits[i]).collect(),
            sh,
            sh_degree: self.sh_degree,
        }
    }

    /// Overwrites Gaussian `to` with Gaussian `from` of `other`, which must have the same degree.
    pub fn copy_row(&mut self, to: usize, other: &Gaussians, from: usize) {
        debug_assert_eq!(self.sh_degree, other.sh_degree);
        let k = self.coefficients();
        self.means[to] = other.means[from];
        self.log_scales[to] = other.log_scales[from];
        self.rotations[to] = other.rotations[from];
        self.opacity_logits[to] = other.opacity_logits[from];
        self.sh[to * k..(to + 1) * k].copy_from_slice(other.sh_of(from));
    }

    /// Keeps the Gaussians for which `keep(i)` holds, in order.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let k = self.coefficients();
        let mut to = 0;
        for from in 0..self.len() {
            if !keep(from) {
                continue;
            }
            if to != from {
                self.means[to] = self.means[from];
                self.log_scales[to] = self.log_scales[from];
                self.rotations[to] = self.rotations[from];
                self.opacity_logits[to] = self.opacity_logits[from];
                self.sh.copy_within(from * k..(from + 1) * k, to * k);
            }
            to += 1;
        }
        self.means.truncate(to);
        self.log_scales.truncate(to);
        self.rotations.truncate(to);
        self.opacity_logits.truncate(to);
        self.sh.truncate(to * k);
    }

    /// Whether every parameter of Gaussian `i` is finite and its rotation is not all zero.
    pub fn is_sound(&self, i: usize) -> bool {
        let finite = |values: &[f32]| values.iter().all(|v| v.is_finite());
        finite(&self.means[i])
            && finite(&self.log_scales[i])
            && finite(&self.rotations[i])
            && self.rotations[i].iter().any(|&q| q != 0.0)
            && self.opacity_logits[i].is_finite()
            && self.sh_of(i).iter().all(|c| finite(c))
    }

    /// Drops every Gaussian that is not sound (see [`Gaussians::is_sound`]) and returns how many
    /// were dropped.
    pub fn drop_unsound(&mut self) -> usize {
        let sound: Vec<bool> = (0..self.len()).map(|i| self.is_sound(i)).collect();
        let dropped = sound.iter().filter(|&&s| !s).count();
        if dropped > 0 {
            self.retain(|i| sound[i]);
        }
        dropped
    }

    /// The same Gaussians with another degree: higher coefficients are cut, or added as zeros.
    pub fn with_sh_degree(&self, sh_degree: u8) -> Self {
        let to = sh::coefficients(sh_degree);
        let keep = to.min(self.coefficients());
        let mut sh = vec![[0.0; 3]; self.len() * to];
        for (i, row) in sh.chunks_exact_mut(to).enumerate() {
            row[..keep].copy_from_slice(&self.sh_of(i)[..keep]);
        }
        Self {
            sh,
            sh_degree,
            ..self.clone()
        }
    }
}

/// The opacity that a logit stands for.
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The logit of an opacity strictly between 0 and 1.
pub fn logit(p: f32) -> f32 {
    (p / (1.0 - p)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Gaussians {
        let mut g = Gaussians::zeros(3, 1);
        for i in 0..3 {
            g.means[i] = [i as f32; 3];
            g.rotations[i] = [1.0, 0.0, 0.0, 0.0];
            g.sh[i * 4 + 2] = [i as f32, 0.0, 0.0];
        }
        g
    }

    #[test]
    fn retain_moves_whole_rows() {
        let mut g = three();
        g.retain(|i| i != 1);
        assert_eq!(g.len(), 2);
        assert_eq!(g.means[1], [2.0; 3]);
        assert_eq!(g.sh_of(1)[2], [2.0, 0.0, 0.0]);
        assert_eq!(g.sh.len(), 8);
    }

    #[test]
    fn unsound_rows_are_dropped_and_counted() {
        let mut g = three();
        g.opacity_logits[0] = f32::NAN;
        g.rotations[2] = [0.0; 4];
        assert_eq!(g.drop_unsound(), 2);
        assert_eq!(g.means, vec![[1.0; 3]]);
    }

    #[test]
    fn degree_changes_keep_the_shared_coefficients() {
        let g = three();
        let up = g.with_sh_degree(3);
        assert_eq!(up.sh_of(2)[2], [2.0, 0.0, 0.0]);
        assert_eq!(up.with_sh_degree(1), g);
    }

    #[test]
    fn logit_inverts_sigmoid() {
        for p in [0.005f32, 0.1, 0.5, 0.99] {
            assert!((sigmoid(logit(p)) - p).abs() < 1e-6);
        }
    }
}
