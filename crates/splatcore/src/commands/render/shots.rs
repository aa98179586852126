//! Frames of a film: several samples and moments, one image.

use super::path_args::PathArgs;
use super::plan::Plan;
use anyhow::{Context, Result};
use splatcore_core::Image;
use splatcore_core::backend::{RenderOptions, Rendered, Renderer};
use splatcore_core::panorama::{self, Panorama};
use splatcore_video::Average;

/// A frame.
pub struct Shot {
    pub image: Image,
    /// How much of what is behind each pixel hides, 0 to 1.
    pub alpha: Vec<f32>,
    /// The sum of 1/z by the weights of the colours; for a panorama z is the distance.
    pub inverse_depth: Option<Vec<f32>>,
}

/// What renders the frames of a plan.
pub struct Shots<'a> {
    renderer: &'a mut dyn Renderer,
    options: RenderOptions,
    plan: &'a Plan,
    size: [u32; 2],
    samples: u32,
    moments: u32,
    shutter: f64,
    panorama: Option<Panorama>,
    average: Average,
}

impl<'a> Shots<'a> {
    pub fn new(
        renderer: &'a mut dyn Renderer,
        options: RenderOptions,
        plan: &'a Plan,
        args: &PathArgs,
    ) -> Self {
        let size = plan.size.map(|side| side * args.samples);
        let panorama = Panorama::of(&plan.camera(0.0, size));
        Self {
            renderer,
            options,
            plan,
            size: plan.size,
            samples: args.samples,
            moments: args.motion_blur,
            shutter: args.shutter,
            panorama,
            average: Average::new(plan.size, args.samples),
        }
    }

    /// Renders a frame.
    pub fn shot(&mut self, index: u64) -> Result<Shot> {
        let plain = self.samples == 1 && self.moments == 1;
        let mut sum: Option<Shot> = None;
        for moment in 0..self.moments {
            // Evenly within the time that the shutter is open, about the frame's own.
            let share = (f64::from(moment) + 0.5) / f64::from(self.moments) - 0.5;
            let shot = self
                .moment(index as f64 + self.shutter * share)
                .with_context(|| format!("frame {index}"))?;
            if plain {
                return Ok(shot);
            }
            self.average.add(&shot.image);
            let reduce = |plane: &[f32]| Average::plane(self.size, self.samples, plane);
            let reduced = Shot {
                image: Image::default(),
                alpha: reduce(&shot.alpha),
                inverse_depth: shot.inverse_depth.as_deref().map(reduce),
            };
            sum = Some(match sum {
                None => reduced,
                Some(mut sum) => {
                    add(&mut sum.alpha, &reduced.alpha);
                    if let (Some(sum), Some(new)) = (&mut sum.inverse_depth, &reduced.inverse_depth)
                    {
                        add(sum, new);
                    }
                    sum
                }
            });
        }
        let mut shot = sum.context("a frame has no moment")?;
        let share = 1.0 / self.moments as f32;
        let planes = [Some(&mut shot.alpha), shot.inverse_depth.as_mut()];
        planes
            .into_iter()
            .flatten()
            .flatten()
            .for_each(|value| *value *= share);
        shot.image = self.average.take();
        Ok(shot)
    }

    /// One moment, at the size of all samples.
    fn moment(&mut self, index: f64) -> Result<Shot> {
        let size = self.size.map(|side| side * self.samples);
        let camera = self.plan.camera(index, size);
        let rendered = match &self.panorama {
            Some(panorama) => panorama.render(self.renderer, &camera, &self.options),
            None => self.renderer.render(&camera, &self.options),
        };
        Ok(shot_of(rendered?))
    }

    /// Inverse depth of white for all frames: that which few pixels of some small frames are
    /// beyond.
    pub fn white(&mut self) -> Result<f32> {
        const FRAMES: u64 = 16;
        const LONGEST: u32 = 256;
        let [width, height] = self.size;
        let longest = width.max(height).max(LONGEST);
        let small = [width, height].map(|side| (side * LONGEST / longest).max(1));
        let options = self.options.clone().with_inverse_depth(true);
        // Of the whole path: --frames renders parts of one film, which share the scale.
        let frames = self.plan.count.min(FRAMES);
        let mut white = 0.0_f32;
        for i in 0..frames {
            let index = i * self.plan.count / frames;
            let camera = self.plan.camera(index as f64, small);
            let rendered = panorama::render(self.renderer, &camera, &options)?;
            let depth = rendered.depth().context("the backend gave no depth")?;
            white = white.max(crate::channels::white(&depth));
        }
        Ok(white)
    }
}

fn shot_of(rendered: Rendered) -> Shot {
    Shot {
        image: rendered.image,
        alpha: rendered
            .transmittance
            .iter()
            .map(|left| 1.0 - left)
            .collect(),
        inverse_depth: rendered.inverse_depth,
    }
}

fn add(sum: &mut [f32], new: &[f32]) {
    for (sum, new) in sum.iter_mut().zip(new) {
        *sum += new;
    }
}

impl Shot {
    /// Alpha as 8-bit grey of three channels.
    pub fn alpha_rgb(&self) -> Vec<u8> {
        grey(self.alpha.iter().copied())
    }

    /// Depth in world units, 0 where nothing is.
    pub fn depth(&self) -> Vec<f32> {
        let sums = self.inverse_depth.as_deref().unwrap_or_default();
        let depth = |(&sum, &taken): (&f32, &f32)| match taken > 0.0 && sum > 0.0 {
            true => taken / sum,
            false => 0.0,
        };
        sums.iter().zip(&self.alpha).map(depth).collect()
    }

    /// Inverse depth as 8-bit grey of three channels; `white` is 255.
    pub fn depth_rgb(&self, white: f32) -> Vec<u8> {
        let shade = |depth: f32| {
            if depth > 0.0 && white > 0.0 {
                1.0 / (depth * white)
            } else {
                0.0
            }
        };
        grey(self.depth().into_iter().map(shade))
    }
}

fn grey(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values
        .flat_map(|v| [(v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8; 3])
        .collect()
}
