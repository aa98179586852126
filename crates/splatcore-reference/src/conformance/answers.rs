//! What the twin says of a view, for all pipelines at once.
//!
//! It depends on a pipeline's `intersect`, on its blend if that is not `scalar`'s image by design
//! ([`Pipeline::plain`]), and on how exact the blend is, and on nothing else of it. So it is
//! computed once for each of these, before the backend is asked; and once for all intersects whose
//! lists are equal, as everything follows from the lists. Intersects are done side by side on the
//! machine's threads, each by the sequential twin.

use super::bounds::{ExpectedPixels, Reference};
use crate::twin::{CutOffs, Lists, Scene, TwinFrame};
use rayon::prelude::*;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Blend, Intersect};
use splatcore_core::precision::{Half, Precision};
use splatcore_core::{Camera, Gaussians, Pipeline};

/// What to compute for a pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// The image, with what is in doubt.
    Frame,
    /// What is right in the asked pixels for a backend of this precision.
    Pixels(Precision),
}

/// Answers for one view of a scene.
pub struct Answers(Vec<Answer>);

/// For the plain pipelines of these lists.
struct Answer {
    intersects: Vec<Intersect>,
    blend: Blend,
    frame: Option<TwinFrame>,
    expected: Vec<ExpectedPixels>,
}

impl Answers {
    /// Computes what is wanted. Of `options` the pipeline does not matter; `pixels` are for
    /// [`Wanted::Pixels`].
    pub fn new(
        scene: &Gaussians,
        camera: &Camera,
        options: &RenderOptions,
        pixels: &[[usize; 2]],
        wanted: &[(Pipeline, Wanted)],
    ) -> Self {
        let scene = Scene::from(scene);
        let mut groups = Vec::new();
        for &blend in Blend::ALL {
            let is_wanted = |&intersect: &Intersect| {
                let mut plain = wanted.iter().map(|(of, _)| of.plain());
                plain.any(|of| (of.intersect, of.blend) == (intersect, blend))
            };
            let intersects = Intersect::ALL.iter().copied().filter(is_wanted);
            let mut options = options.clone();
            options.pipeline.blend = blend;
            let of_blend = by_lists(&scene, camera, &options, &intersects.collect::<Vec<_>>());
            groups.extend(of_blend);
        }
        let answer = |(intersects, lists): (Vec<Intersect>, Lists)| {
            let blend = lists.options.pipeline.blend;
            let of_these = wanted
                .iter()
                .filter(|(of, _)| of.plain().blend == blend && intersects.contains(&of.intersect));
            let (mut wants_frame, mut precisions) = (false, Vec::new());
            for (_, what) in of_these {
                match what {
                    Wanted::Frame => wants_frame = true,
                    Wanted::Pixels(precision) if !precisions.contains(&arithmetic(*precision)) => {
                        precisions.push(arithmetic(*precision));
                    }
                    Wanted::Pixels(_) => {}
                }
            }
            Answer {
                intersects,
                blend,
                frame: wants_frame.then(|| lists.render()),
                expected: match precisions.is_empty() {
                    true => Vec::new(),
                    false => Reference::of(lists).pixels_of(&precisions, pixels),
                },
            }
        };
        Self(groups.into_par_iter().map(answer).collect())
    }

    /// The image.
    ///
    /// # Errors
    /// If it was not asked for.
    pub fn frame(&self, pipeline: Pipeline) -> Result<&TwinFrame, String> {
        let frame = self.of(pipeline).and_then(|answer| answer.frame.as_ref());
        frame.ok_or_else(|| format!("the twin was not asked for a picture with {pipeline}"))
    }

    /// What is right in the pixels that were asked for.
    ///
    /// # Errors
    /// If it was not asked for.
    pub fn pixels(
        &self,
        pipeline: Pipeline,
        precision: Precision,
    ) -> Result<&ExpectedPixels, String> {
        let precision = arithmetic(precision);
        let expected = self.of(pipeline).and_then(|answer| {
            let mut expected = answer.expected.iter();
            expected.find(|expected| expected.precision == precision)
        });
        expected.ok_or_else(|| format!("the twin was not asked for bounds with {pipeline}"))
    }

    fn of(&self, pipeline: Pipeline) -> Option<&Answer> {
        let plain = pipeline.plain();
        self.0.iter().find(|answer| {
            answer.blend == plain.blend && answer.intersects.contains(&plain.intersect)
        })
    }
}

/// What bounds depend on: not on what a method promises.
fn arithmetic(precision: Precision) -> Precision {
    match precision {
        Precision::Half(half) => Precision::Half(Half { psnr: None, ..half }),
        Precision::Single => Precision::Single,
    }
}

/// Lists of each intersect, those that are equal once.
pub fn by_lists(
    scene: &Scene,
    camera: &Camera,
    options: &RenderOptions,
    intersects: &[Intersect],
) -> Vec<(Vec<Intersect>, Lists)> {
    let lists = |&intersect: &Intersect| {
        let options = RenderOptions {
            pipeline: Pipeline {
                intersect,
                ..options.pipeline
            },
            ..options.clone()
        };
        (
            intersect,
            Lists::new(scene, camera, &options, CutOffs::Reference),
        )
    };
    let all: Vec<(Intersect, Lists)> = intersects.par_iter().map(lists).collect();
    let mut groups: Vec<(Vec<Intersect>, Lists)> = Vec::new();
    for (intersect, lists) in all {
        match groups
            .iter_mut()
            .find(|(_, known)| known.tiles == lists.tiles)
        {
            Some((of, _)) => of.push(intersect),
            None => groups.push((vec![intersect], lists)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::scenes::{odd_camera, random_scene};
    use super::*;
    use crate::twin;
    use splatcore_core::pipeline::Blend;

    /// Frame and bounds are those that each pipeline alone would get, though the first and the last
    /// share theirs.
    #[test]
    fn answers_are_those_of_each_pipeline() {
        let (scene, camera) = (random_scene(5, 200, 1), odd_camera(45, 33, 0.4));
        let pixels: Vec<[usize; 2]> = (0..45 * 33).step_by(7).map(|i| [i % 45, i / 45]).collect();
        let intersects = [Intersect::TileCull, Intersect::Aabb, Intersect::Exact];
        let blends = [
            Blend::TcGs,
            Blend::GemmGs,
            Blend::Splatcore,
            Blend::TensorGs2x2,
        ];
        let mut wanted = vec![];
        let with = |intersect, blend| Pipeline {
            intersect,
            blend,
            ..Pipeline::AUTO
        };
        for intersect in intersects {
            wanted.push((with(intersect, Blend::Scalar), Wanted::Frame));
            let bounds = |blend: Blend| Wanted::Pixels(blend.precision());
            wanted.extend(blends.map(|blend| (with(intersect, blend), bounds(blend))));
        }
        let options = RenderOptions::default();
        let answers = Answers::new(&scene, &camera, &options, &pixels, &wanted);
        assert_eq!(answers.0.len(), 2, "equal lists are not shared");
        for intersect in intersects {
            let mut options = options.clone();
            options.pipeline.intersect = intersect;
            let alone = twin::render(&scene, &camera, &options);
            let frame = answers.frame(options.pipeline).unwrap();
            assert_eq!((&frame.image, &frame.doubts), (&alone.image, &alone.doubts));
            for blend in blends {
                let reference = Reference::new(&scene, &camera, &options);
                let alone = reference.pixels(blend.precision(), pixels.clone());
                let found = answers
                    .pixels(with(intersect, blend), blend.precision())
                    .unwrap();
                assert!(found.pixels == alone.pixels, "{intersect}+{blend}");
            }
        }
        let lacking = with(Intersect::Obb, Blend::Scalar);
        answers.frame(lacking).unwrap_err();
        answers
            .pixels(with(Intersect::Exact, Blend::Scalar), Precision::Single)
            .unwrap_err();
    }
}
