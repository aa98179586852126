//! Training on photos whose pixels are not held.

use crate::blobs::trainer;
use crate::common::{StopAt, start};
use crate::options::{all_options, photos};
use crate::runs::{assert_same, end_of};
use splatcore_core::depth::DepthMap;
use splatcore_core::image::PhotoSource;
use splatcore_core::{Photo, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::Strategy;
use splatcore_train::{Checkpoint, TrainError, Trainer};
use std::sync::{Arc, Mutex};

/// Gives the photos that are expected, until one is gone.
#[derive(Debug)]
struct Strict {
    photos: Vec<Arc<Photo>>,
    expected: Mutex<Vec<usize>>,
    gone: Mutex<Option<usize>>,
}

impl PhotoSource for Strict {
    fn pixels(&self, index: usize) -> Result<Arc<Photo>, String> {
        if *self.gone.lock().unwrap() == Some(index) {
            return Err(format!("photo {index} is gone"));
        }
        Ok(Arc::clone(&self.photos[index]))
    }

    fn depths(&self, index: usize) -> Result<Arc<DepthMap>, String> {
        Ok(self.photos[index].depth.clone().unwrap())
    }

    fn expect(&self, now: &[usize], next: &[usize], _: bool) {
        let mut expected = self.expected.lock().unwrap();
        // The photos of a step were expected before it, but for those of the first.
        let known = now.iter().all(|one| expected.contains(one));
        assert!(known || expected.is_empty(), "{now:?} of {expected:?}");
        *expected = [now, next].concat();
    }
}

fn elsewhere(views: &[View]) -> (Arc<Vec<View>>, Arc<Strict>) {
    let photos = views.iter().map(|view| Arc::new(view.photo.clone()));
    let source = Arc::new(Strict {
        photos: photos.collect(),
        expected: Mutex::default(),
        gone: Mutex::default(),
    });
    let released = |(index, view): (usize, &View)| View {
        photo: view.photo.clone().released(source.clone(), index),
        ..view.clone()
    };
    let views = views.iter().enumerate().map(released).collect();
    (Arc::new(views), source)
}

/// Coarse to fine, with alpha on random backgrounds, exposures and steps of several photos.
#[test]
fn runs_end_where_those_with_held_photos_end() {
    let backend = CpuBackend::new(Some(2));
    let views = photos(&backend, 8, true);
    for (strategy, batch) in [(Strategy::Splatcore, 1), (Strategy::Mcmc, 3)] {
        let mut config = all_options(strategy);
        config.batch = Some(batch);
        let (read, _) = elsewhere(&views);
        let run = |views: &Arc<Vec<View>>| trainer(&backend, &config, views, start(&config));
        assert_same(&end_of(run(&read)), &end_of(run(&views)));
    }
}

/// The run ends with the photo's name and keeps the state; with the photo back it ends as if
/// nothing had been.
#[test]
fn a_photo_that_is_gone_leaves_the_state() {
    let backend = CpuBackend::new(Some(2));
    let views = photos(&backend, 8, false);
    let config = all_options(Strategy::Mcmc);
    let (read, source) = elsewhere(&views);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let mut broken = trainer(&backend, &config, &read, start(&config));
    broken.save_to(&path);
    broken.run(&mut StopAt::new(&[44])).unwrap();
    *source.gone.lock().unwrap() = Some(5);
    let error = broken.run(&mut ()).unwrap_err();
    assert_contains!(error.to_string(), "photo 5 is gone", "is saved");
    let TrainError::Saved { step, .. } = error else {
        panic!("{error}");
    };
    drop(broken);
    let checkpoint = Checkpoint::load(&path).unwrap();
    assert!(
        (44..52).contains(&step) && checkpoint.step == step,
        "{step}"
    );
    let resumed = Trainer::resume(&config.complete(), &backend, Arc::clone(&views), checkpoint);
    let whole = trainer(&backend, &config, &views, start(&config));
    assert_same(&end_of(resumed.unwrap()), &end_of(whole));
}
