//! What ends a run early, what cannot be resumed, and what cannot be saved.

use crate::common::{Mock, StopAt, views};
use crate::runs::{assert_same, config, end_of, start, trainer};
use splatcore_core::depth::DepthMap;
use splatcore_core::{Gaussians, Lens, View};
use splatcore_train::config::{Config, Strategy};
use splatcore_train::{Checkpoint, Event, Observer, Outcome, TrainError, Trainer};
use std::path::Path;
use std::sync::Arc;

#[test]
fn memory_that_runs_out_leaves_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    for batch in [1, 4] {
        let config = Config {
            batch: Some(batch),
            ..config(Strategy::Adc)
        };
        memory_runs_out(&config, &path);
    }
}

fn memory_runs_out(config: &Config, path: &Path) {
    let mock = || Mock {
        out_of_memory_at: Some(123),
        ..Mock::default()
    };
    let mut broken = trainer(config, &mock());
    broken.save_to(path);
    assert_contains!(
        broken.run(&mut ()).unwrap_err(),
        "a list of pairs needs 9 bytes, 8 bytes are free",
        "step 122 is saved"
    );
    let checkpoint = Checkpoint::load(path).unwrap();
    assert_eq!(checkpoint.step, 122);
    let second =
        Trainer::resume(&config.complete(), &Mock::default(), views(9), checkpoint).unwrap();
    // As if there had always been enough: the photo of the failed step is shown.
    assert_same(&end_of(second), &end_of(trainer(config, &Mock::default())));

    // Without a place to save to, it is what the backend said.
    let error = trainer(config, &mock())
        .run(&mut ())
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("8 bytes are free"), "{error}");
}

#[test]
fn another_run_is_not_resumed() {
    let config = config(Strategy::Adc);
    let mut trainer = trainer(&config, &Mock::default());
    trainer.run(&mut StopAt::new(&[20])).unwrap();
    let checkpoint = trainer.checkpoint().unwrap();
    let resume = |config: &Config, mock: &Mock, n: usize| {
        Trainer::resume(&config.complete(), mock, views(n), checkpoint.clone())
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    let longer = Config {
        iterations: Some(500),
        ..config.clone()
    };
    let error = resume(&longer, &Mock::default(), 9).unwrap_err();
    assert!(
        error.starts_with("cannot resume: iterations was 400 in the checkpoint and is 500 now"),
        "{error}"
    );
    let other = Mock {
        name: Some("cuda"),
        ..Mock::default()
    };
    let error = resume(&config, &other, 9).unwrap_err();
    assert_contains!(error, "backend in use was mock", "is cuda now");
    let error = resume(&config, &Mock::default(), 8).unwrap_err();
    assert_contains!(error, "9 photos", "8 photos");
    let harmless = Config {
        threads: Some(1),
        checkpoint_every: Some(3),
        eval_every: Some(9),
        ..config
    };
    assert_eq!(resume(&harmless, &Mock::default(), 9), Ok(()));
}

/// A checkpoint of an earlier version does not know cameras and pixels, and is taken all the same.
#[test]
fn other_pixels_masks_and_cameras_are_not_resumed() {
    let config = config(Strategy::Adc);
    let mut trainer = trainer(&config, &Mock::default());
    trainer.run(&mut StopAt::new(&[20])).unwrap();
    let checkpoint = trainer.checkpoint().unwrap();
    let resume = |change: &dyn Fn(&mut View), checkpoint: &Checkpoint| {
        let mut views = views(9).to_vec();
        change(&mut views[4]);
        let (config, mock) = (config.complete(), Mock::default());
        Trainer::resume(&config, &mock, Arc::new(views), checkpoint.clone())
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    assert_eq!(resume(&|_| (), &checkpoint), Ok(()));
    let old = Checkpoint {
        cameras: None,
        pixels: None,
        depths: None,
        ..checkpoint.clone()
    };
    let mask = |view: &mut View| view.photo.mask = Some(vec![1; 12 * 8]);
    let refused = |change: &dyn Fn(&mut View), wanted: &str| {
        let error = resume(change, &checkpoint).unwrap_err();
        assert_contains!(error, "cannot resume", wanted);
        assert_eq!(resume(change, &old), Ok(()), "{wanted}");
    };
    refused(&|view| view.photo.rgb[285] ^= 1, "pixels and masks");
    refused(&mask, "pixels and masks");
    refused(&|view| view.camera.fx *= 1.01, "cameras");
    let lens = Lens::Division { k: 0.1 };
    refused(&|view| view.camera.lens = lens, "cameras");
}

#[test]
fn other_depth_maps_are_not_resumed() {
    let config = config(Strategy::Adc);
    let depths = |nearest: f32| {
        let mut views = views(9).to_vec();
        let mut inverse = vec![0.25; 12 * 8];
        inverse[7] = nearest;
        views[4].photo.depth = Some(Arc::new(DepthMap {
            width: 12,
            height: 8,
            inverse,
            normals: Vec::new(),
        }));
        Arc::new(views)
    };
    let (complete, mock) = (config.complete(), Mock::default());
    let mut trainer = Trainer::new(&complete, &mock, depths(0.5), start(&config)).unwrap();
    trainer.run(&mut StopAt::new(&[20])).unwrap();
    let checkpoint = trainer.checkpoint().unwrap();
    let resume = |views| {
        Trainer::resume(&complete, &mock, views, checkpoint.clone())
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    assert_eq!(resume(depths(0.5)), Ok(()));
    for other in [depths(0.75), views(9)] {
        let error = resume(other).unwrap_err();
        assert_contains!(error, "cannot resume", "depth maps");
    }
}

#[test]
fn nothing_to_train_on_or_with_is_said() {
    let config = config(Strategy::Adc);
    let new = |views, init| {
        Trainer::new(&config.complete(), &Mock::default(), views, init)
            .map(|_| ())
            .unwrap_err()
    };
    assert!(matches!(new(views(0), start(&config)), TrainError::NoViews));
    assert!(matches!(
        new(views(3), Gaussians::empty(1)),
        TrainError::NoGaussians
    ));
    let mut odd = views(3).to_vec();
    odd[1].camera = odd[1].camera.resized(6, 4);
    let error = new(odd.into(), start(&config)).to_string();
    assert_eq!(error, "view '001.png': the photo is 12x8, its camera 6x4");
    let mut masked = views(2).to_vec();
    masked
        .iter_mut()
        .for_each(|view| view.photo.mask = Some(vec![0; 96]));
    assert!(matches!(
        new(masked.into(), start(&config)),
        TrainError::NoViews
    ));
    let config = Config {
        batch: Some(4),
        ..config
    };
    let error = Trainer::new(
        &config.complete(),
        &Mock::default(),
        views(3),
        start(&config),
    );
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "a step of 4 photos, and there are 3 to train on");
}

/// Removes what is in the way of checkpoints when the first one could not be written.
struct MakesRoom<'a>(&'a Path, u32);
impl Observer for MakesRoom<'_> {
    fn note(&mut self, event: &Event<'_>) {
        let Event::NotSaved(error) = event else {
            return;
        };
        assert!(error.to_string().contains("cannot be written"), "{error}");
        self.1 += 1;
        let _ = std::fs::remove_file(self.0);
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_does_not_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let config = Config {
        checkpoint_every: Some(2),
        ..config(Strategy::Adc)
    };
    let path = file.join("c.safetensors");
    let mut trainer = trainer(&config, &Mock::default());
    trainer.save_to(path.clone());
    let mut observer = MakesRoom(&file, 0);
    assert_eq!(trainer.run(&mut observer).unwrap(), Outcome::Finished);
    assert_eq!(observer.1, 1);
    assert_eq!(
        Checkpoint::load(&path).unwrap().step,
        config.complete().iterations
    );
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let mut trainer = trainer(&config(Strategy::Adc), &Mock::default());
    trainer.save_to(file.join("c.safetensors"));
    let error = trainer.run(&mut StopAt::new(&[2])).unwrap_err().to_string();
    assert_contains!(error, "cannot be written");
    assert!(Path::new(&file).is_file());
}

/// What it was told of memory of the host.
struct Offloaded(Vec<u64>);
impl Observer for Offloaded {
    fn note(&mut self, event: &Event<'_>) {
        if let Event::Offloaded { bytes } = event {
            self.0.push(*bytes);
        }
    }
}

#[test]
fn memory_that_is_taken_of_the_host_is_told_once() {
    for (offloads_from, told) in [(Some(60), vec![512]), (None, vec![])] {
        let mock = Mock {
            offloads_from,
            ..Mock::default()
        };
        let mut observer = Offloaded(Vec::new());
        let mut run = trainer(&config(Strategy::Adc), &mock);
        run.run(&mut observer).unwrap();
        assert_eq!(observer.0, told);
    }
}
