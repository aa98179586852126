//! The scene in f64: finite differences need steps far smaller than an f32 can hold.

use splatcore_core::{Gaussians, sh};

/// [`Gaussians`] in f64, same layout. Also the shape of gradients and moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// World units, `[n][3]`.
    pub means: Vec<[f64; 3]>,
    /// Natural logs, `[n][3]`.
    pub log_scales: Vec<[f64; 3]>,
    /// Quaternions w, x, y, z of any nonzero length, `[n][4]`.
    pub rotations: Vec<[f64; 4]>,
    /// Before the sigmoid, `[n]`.
    pub opacity_logits: Vec<f64>,
    /// Coefficient `k` of Gaussian `i` is `sh[i * coefficients() + k]`.
    pub sh: Vec<[f64; 3]>,
    /// 0 to 3.
    pub sh_degree: u8,
}

/// The parameter groups that learn at their own rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Centres.
    Means,
    /// Log scales.
    LogScales,
    /// Quaternions.
    Rotations,
    /// Opacity logits.
    OpacityLogits,
    /// Degree-0 coefficients.
    ShBase,
    /// All higher coefficients.
    ShRest,
}

impl Group {
    /// Every group.
    pub const ALL: [Group; 6] = [
        Group::Means,
        Group::LogScales,
        Group::Rotations,
        Group::OpacityLogits,
        Group::ShBase,
        Group::ShRest,
    ];
}

impl Scene {
    /// `count` Gaussians, all numbers zero.
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

    /// Number of Gaussians.
    pub fn len(&self) -> usize {
        self.means.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.means.is_empty()
    }

    /// Adds the numbers of a scene of the same shape.
    pub fn add(&mut self, more: &Self) {
        for group in Group::ALL {
            let more = more.group(group);
            for (number, more) in self.group_mut(group).into_iter().zip(more) {
                *number += more;
            }
        }
    }

    /// Spherical-harmonics coefficients a Gaussian and channel.
    pub fn coefficients(&self) -> usize {
        sh::coefficients(self.sh_degree)
    }

    /// The coefficients of Gaussian `i`.
    pub fn sh_of(&self, i: usize) -> &[[f64; 3]] {
        let k = self.coefficients();
        &self.sh[i * k..(i + 1) * k]
    }

    /// All numbers of a group, Gaussian by Gaussian.
    pub fn group(&self, group: Group) -> Vec<f64> {
        let k = self.coefficients();
        match group {
            Group::Means => self.means.as_flattened().to_vec(),
            Group::LogScales => self.log_scales.as_flattened().to_vec(),
            Group::Rotations => self.rotations.as_flattened().to_vec(),
            Group::OpacityLogits => self.opacity_logits.clone(),
            Group::ShBase => self.sh.chunks(k).flat_map(|row| row[0]).collect(),
            Group::ShRest => {
                let rest = self.sh.chunks(k).flat_map(|row| &row[1..]);
                rest.copied().flatten().collect()
            }
        }
    }

    /// The same numbers in the same order, to be changed.
    pub fn group_mut(&mut self, group: Group) -> Vec<&mut f64> {
        let k = self.coefficients();
        match group {
            Group::Means => self.means.as_flattened_mut().iter_mut().collect(),
            Group::LogScales => self.log_scales.as_flattened_mut().iter_mut().collect(),
            Group::Rotations => self.rotations.as_flattened_mut().iter_mut().collect(),
            Group::OpacityLogits => self.opacity_logits.iter_mut().collect(),
            Group::ShBase => self.sh.chunks_mut(k).flat_map(|row| &mut row[0]).collect(),
            Group::ShRest => {
                let rest = self.sh.chunks_mut(k).flat_map(|row| &mut row[1..]);
                rest.flatten().collect()
            }
        }
    }
}

impl From<&Gaussians> for Scene {
    fn from(g: &Gaussians) -> Self {
        fn wide<const N: usize>(rows: &[[f32; N]]) -> Vec<[f64; N]> {
            rows.iter().map(|row| row.map(f64::from)).collect()
        }
        Self {
            means: wide(&g.means),
            log_scales: wide(&g.log_scales),
            rotations: wide(&g.rotations),
            opacity_logits: g.opacity_logits.iter().map(|&v| v as f64).collect(),
            sh: wide(&g.sh),
            sh_degree: g.sh_degree,
        }
    }
}

impl From<&Scene> for Gaussians {
    fn from(s: &Scene) -> Self {
        fn narrow<const N: usize>(rows: &[[f64; N]]) -> Vec<[f32; N]> {
            rows.iter().map(|row| row.map(|v| v as f32)).collect()
        }
        Self {
            means: narrow(&s.means),
            log_scales: narrow(&s.log_scales),
            rotations: narrow(&s.rotations),
            opacity_logits: s.opacity_logits.iter().map(|&v| v as f32).collect(),
            sh: narrow(&s.sh),
            sh_degree: s.sh_degree,
        }
    }
}
