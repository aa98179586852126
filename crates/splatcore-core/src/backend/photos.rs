//! Photos that are read before a step needs them.

use super::{BackendError, Ranks, StepPlan};
use crate::View;
use crate::image::elsewhere::expect;

/// Reads the photos that one of some ranks needs in a step, with their depths or without, if they
/// are not held, and lets those of the steps that follow be read ahead. So a photo that cannot be
/// read is known of before the step.
///
/// # Errors
/// As [`crate::Photo::held`].
pub fn read_ahead(
    views: &[View],
    ranks: Ranks,
    plan: &StepPlan,
    depths: bool,
) -> Result<(), BackendError> {
    let batch = plan.views.len().max(1);
    let own = |(index, &view): (usize, &usize)| {
        let rendered = ranks.team(index % batch, batch).contains(&ranks.rank);
        rendered.then_some(view)
    };
    let own =
        |views: &[usize]| -> Vec<usize> { views.iter().enumerate().filter_map(own).collect() };
    let now = own(&plan.views);
    expect(views, &now, &own(&plan.upcoming), depths);
    for view in now {
        // Whoever takes the step refuses a view that there is not.
        if let Some(view) = views.get(view) {
            view.photo.held()?;
            if depths {
                view.photo.depths()?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::RenderOptions;
    use crate::depth::DepthMap;
    use crate::image::PhotoSource;
    use crate::{Camera, Photo};
    use std::sync::{Arc, Mutex};

    /// Remembers what it was told and asked for.
    #[derive(Debug, Default)]
    struct Told {
        expected: Mutex<[Vec<usize>; 2]>,
        read: Mutex<Vec<usize>>,
        deep: Mutex<Vec<usize>>,
    }

    impl PhotoSource for Told {
        fn pixels(&self, index: usize) -> Result<Arc<Photo>, String> {
            self.read.lock().unwrap().push(index);
            match index {
                9 => Err("photo 9 is gone".into()),
                _ => Ok(Arc::new(Photo::opaque(1, 1, vec![0; 3]))),
            }
        }

        fn depths(&self, index: usize) -> Result<Arc<DepthMap>, String> {
            self.deep.lock().unwrap().push(index);
            Ok(Arc::default())
        }

        fn expect(&self, now: &[usize], next: &[usize], _: bool) {
            *self.expected.lock().unwrap() = [now.to_vec(), next.to_vec()];
        }
    }

    /// Ten views, of which those at 2 and 3 hold their pixels.
    fn views(source: &Arc<Told>) -> Vec<View> {
        let view = |index: usize| {
            let photo = Photo::opaque(1, 1, vec![0; 3]);
            View {
                name: index.to_string(),
                camera: Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 1, 1),
                photo: match index {
                    2 | 3 => photo,
                    _ => photo.released(source.clone(), index),
                },
            }
        };
        (0..10).map(view).collect()
    }

    #[test]
    fn a_rank_reads_the_photos_that_it_renders() {
        let plan = StepPlan {
            upcoming: vec![4, 5, 6, 7, 8, 0, 1, 2],
            ..StepPlan::of(1, vec![0, 1, 2, 3], RenderOptions::default())
        };
        let told = |ranks: Ranks| {
            let source = Arc::new(Told::default());
            read_ahead(&views(&source), ranks, &plan, false).unwrap();
            let [now, next] = source.expected.lock().unwrap().clone();
            assert_eq!(*source.read.lock().unwrap(), now);
            [now, next]
        };
        let all = vec![4, 5, 6, 7, 8, 0, 1];
        assert_eq!(told(Ranks::ALONE), [vec![0, 1], all]);
        assert_eq!(told(Ranks::of(0, 2)), [vec![0], vec![4, 6, 8, 1]]);
        assert_eq!(told(Ranks::of(1, 2)), [vec![1], vec![5, 7, 0]]);
        assert_eq!(told(Ranks::of(2, 3)), [vec![], vec![6, 1]]);
    }

    /// A photo of which no depths are known has none to read.
    #[test]
    fn depths_are_read_where_they_are_wanted() {
        let source = Arc::new(Told::default());
        let mut views = views(&source);
        views[4].photo.elsewhere = None;
        views[4].photo.depth = Some(Arc::default());
        views[4].photo = views[4].photo.clone().released(source.clone(), 4);
        for depths in [false, true] {
            let plan = StepPlan::of(1, vec![3, 4, 5], RenderOptions::default());
            read_ahead(&views, Ranks::ALONE, &plan, depths).unwrap();
            assert_eq!(source.deep.lock().unwrap().contains(&4), depths);
            assert!(source.deep.lock().unwrap().len() <= 1);
        }
    }

    #[test]
    fn a_photo_that_is_gone_is_met_before_the_step() {
        let source = Arc::new(Told::default());
        let step = |ranks, view| {
            let plan = StepPlan::of(1, vec![0, view], RenderOptions::default());
            read_ahead(&views(&source), ranks, &plan, false)
        };
        let error = step(Ranks::ALONE, 9).unwrap_err().to_string();
        assert_eq!(error, "photo 9 is gone");
        assert!(step(Ranks::of(0, 2), 9).is_ok() && step(Ranks::of(1, 2), 9).is_err());
        // Whoever takes the step refuses what there is not.
        assert!(step(Ranks::ALONE, 10).is_ok());
    }
}
