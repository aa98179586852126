//! `depth_loss`: how far the depths of a frame are from those that its photo knows, and their
//! normals, how much stands where it shows the sky, and the gradients by the frame's inverse depth
//! and alpha. Which losses there are: [`splatcore_core::depth`].

use rayon::prelude::*;
use splatcore_core::Camera;
use splatcore_core::depth::normals::{NEIGHBOURS, PixelRays, inverse_depth};
use splatcore_core::depth::{DepthMap, DepthPlan};

/// Pixels that are summed together; parts are added up in their order, whichever thread made them.
const PART: usize = 4096;

/// The loss of the planes (inverse depth, alpha, nothing) of a view, and its gradients by each.
pub(crate) fn depth_loss(
    plan: &DepthPlan,
    map: &DepthMap,
    camera: &Camera,
    planes: &[Vec<f32>; 3],
) -> (f64, [Vec<f32>; 3]) {
    let [sums, _, nothing] = planes;
    let size = [camera.width, camera.height];
    let [share, sky_share, normal_share] = [plan.weight, plan.sky_weight, plan.normal_weight]
        .map(|weight| f64::from(weight) / sums.len() as f64);
    let frame = Shown { map, planes, size };
    let normals = (!map.normals.is_empty() && plan.normal_weight > 0.0).then(|| Normals {
        frame,
        rays: PixelRays::of(camera),
    });
    let mut gradients = [(); 3].map(|()| vec![0.0f32; nothing.len()]);
    let [by_sum, by_alpha, _] = &mut gradients;
    let gradients_of_parts = by_sum
        .par_chunks_mut(PART)
        .zip(by_alpha.par_chunks_mut(PART));
    let parts: Vec<[f64; 3]> = gradients_of_parts
        .enumerate()
        .map(|(part, (by_sum, by_alpha))| {
            let mut totals = [0.0; 3];
            for (i, (by_sum, by_alpha)) in by_sum.iter_mut().zip(by_alpha).enumerate() {
                let at = part * PART + i;
                let known = map.inverse[frame.index(at)];
                let [[value, of_sum, of_alpha], [sky, _, sky_of_alpha]] =
                    plan.at_pixel(frame.at(at), known);
                let [off, off_of_sum, off_of_alpha] = normals
                    .as_ref()
                    .map_or([0.0; 3], |normals| normals.at_pixel(at));
                for (total, value) in totals.iter_mut().zip([value, sky, off]) {
                    *total += value;
                }
                *by_sum = (share * of_sum + normal_share * off_of_sum) as f32;
                let of_normal = normal_share * off_of_alpha;
                *by_alpha = (share * of_alpha + sky_share * sky_of_alpha + of_normal) as f32;
            }
            totals
        })
        .collect();
    let sum = |k: usize| parts.iter().map(|part| part[k]).sum::<f64>();
    let value = share * sum(0) + sky_share * sum(1) + normal_share * sum(2);
    (value, gradients)
}

/// A frame, and what is known of it.
#[derive(Clone, Copy)]
struct Shown<'a> {
    map: &'a DepthMap,
    planes: &'a [Vec<f32>; 3],
    size: [u32; 2],
}

impl Shown<'_> {
    fn place(&self, at: usize) -> [u32; 2] {
        [at as u32 % self.size[0], at as u32 / self.size[0]]
    }

    /// Where the map has what is known of a pixel.
    fn index(&self, at: usize) -> usize {
        self.map.index(self.place(at), self.size)
    }

    /// Inverse depth, not divided by alpha, and alpha.
    fn at(&self, at: usize) -> [f64; 2] {
        [self.planes[0][at], self.planes[1][at]].map(f64::from)
    }
}

/// The loss on normals of a frame.
struct Normals<'a> {
    frame: Shown<'a>,
    rays: PixelRays,
}

impl Normals<'_> {
    /// The neighbour of a pixel in the image.
    fn beside(&self, at: usize, [dx, dy]: [i32; 2]) -> Option<usize> {
        let [x, y] = self.frame.place(at);
        let [width, height] = self.frame.size;
        let x = x.checked_add_signed(dx).filter(|&x| x < width)?;
        let y = y.checked_add_signed(dy).filter(|&y| y < height)?;
        Some(y as usize * width as usize + x as usize)
    }

    /// Of a pixel whose normal is known and rendered.
    fn of(&self, at: usize) -> Option<[f64; 6]> {
        let known = self.frame.map.normals[self.frame.index(at)];
        if known == [0.0; 3] {
            return None;
        }
        let mut q = [0.0; 5];
        for (q, neighbour) in q.iter_mut().zip(NEIGHBOURS) {
            *q = inverse_depth(self.frame.at(self.beside(at, neighbour)?))?;
        }
        Some(self.rays.normal_loss(self.frame.place(at), q, known))
    }

    /// The loss of a pixel's normal, and the derivatives of all of them by its inverse depth and
    /// alpha: it is also a neighbour of others.
    fn at_pixel(&self, at: usize) -> [f64; 3] {
        let value = self.of(at).map_or(0.0, |found| found[0]);
        let Some(q) = inverse_depth(self.frame.at(at)) else {
            return [value, 0.0, 0.0];
        };
        let mut by_q = 0.0;
        for (k, [dx, dy]) in NEIGHBOURS.into_iter().enumerate() {
            let centre = self.beside(at, [-dx, -dy]);
            by_q += centre
                .and_then(|centre| self.of(centre))
                .map_or(0.0, |found| found[1 + k]);
        }
        let by_sum = by_q / self.frame.at(at)[1];
        [value, by_sum, -by_sum * q]
    }
}
