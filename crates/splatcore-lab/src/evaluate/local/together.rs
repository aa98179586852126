//! Times of many changes of the kernels side by side, for a record of a whole space.

use super::{Local, Started, Stop, kernel_folder};
use crate::candidate::Texts;
use crate::evaluate::blame::blame;
use crate::evaluate::scene::Scene;
use crate::evaluate::{Broken, Role};
use crate::gates::Rejection;
use crate::timing::{drawn, turn};
use crate::worker::Child;
use splatcore_core::random::Rng;

impl Local<'_> {
    /// Times several changes of the kernels: seconds a frame by the device's events, one number a
    /// round, or why there is none. All workers are started at once, and take turns in each round.
    /// Of the gates, one frame of each scene is compared with the reference; none other is met.
    ///
    /// # Errors
    /// If nothing can be timed here.
    pub fn time_together(
        &mut self,
        changes: &[Texts],
        rounds: usize,
    ) -> Result<Vec<Result<Vec<f64>, Rejection>>, Broken> {
        self.expect_images()?;
        let mut workers = self.start_together(changes)?;
        let mut times = vec![Vec::with_capacity(rounds); changes.len()];
        let mut order: Vec<usize> = (0..changes.len()).collect();
        for _ in 0..rounds {
            self.evaluated += 1;
            let mut rng = Rng::new(self.settings.seed, 1000 + self.evaluated);
            rng.shuffle(&mut order);
            let frames: Vec<_> = self
                .scenes
                .iter()
                .map(|s| drawn(&s.timed, &mut rng))
                .collect();
            let count: usize = frames.iter().map(Vec::len).sum();
            for &at in &order {
                let Ok(worker) = &mut workers[at] else {
                    continue;
                };
                let mut seconds = Ok(0.0);
                for (scene, frames) in self.scenes.iter().zip(&frames) {
                    let child = &mut worker.child;
                    let turn = turn(child, &scene.timed.name, frames, self.settings.training);
                    seconds = seconds.and_then(|sum| turn.map(|[device, _]| sum + device));
                }
                match seconds {
                    Ok(seconds) => times[at].push(seconds / count.max(1) as f64),
                    Err(error) => workers[at] = Err(blame(error)),
                }
            }
        }
        let timed = workers.into_iter().zip(times);
        Ok(timed.map(|(worker, times)| worker.map(|_| times)).collect())
    }

    /// Renders the references of the timed scenes, unless they are there.
    fn expect_images(&mut self) -> Result<(), Broken> {
        if self.scenes.iter().all(|scene| scene.expected.is_some()) {
            return Ok(());
        }
        let started = self.start_baseline(&self.scenes);
        let mut baseline = started.map_err(|stop| Broken(stop.to_string()))?;
        for scene in &mut self.scenes {
            scene.expect(&self.settings, self.toolbox, &mut baseline)?;
        }
        Ok(())
    }

    /// Starts a worker for each change, all at the same time: most of a start is the compiler.
    fn start_together(&self, changes: &[Texts]) -> Result<Vec<Result<Started, Rejection>>, Broken> {
        let spawn = |changed: &Texts| {
            let folder = kernel_folder(changed)?;
            let program = self.toolbox.worker(folder.path(), Role::Timed);
            let program = program.map_err(Stop::NotRun)?;
            let spawned = Child::spawn(&program, self.settings.limits);
            Ok(spawned.map_err(blame).map(|child| Started {
                child,
                _folder: Some(folder),
            }))
        };
        // In this thread, since a worker ends with the thread that started it.
        let spawned: Result<Vec<_>, Stop> = changes.iter().map(spawn).collect();
        let mut workers = spawned.map_err(|stop| Broken(stop.to_string()))?;
        let scenes = &self.scenes;
        std::thread::scope(|scope| {
            for worker in &mut workers {
                scope.spawn(move || {
                    if let Ok(started) = worker
                        && let Err(rejection) = prepare(&mut started.child, scenes)
                    {
                        *worker = Err(rejection);
                    }
                });
            }
        });
        Ok(workers)
    }
}

/// Loads the scenes and renders a frame of each, which must be what it should.
fn prepare(child: &mut Child, scenes: &[Scene]) -> Result<(), Rejection> {
    child.wait().map_err(blame)?;
    for scene in scenes {
        let name = &scene.timed.name;
        child.load_as(name, &scene.scene).map_err(blame)?;
        if let Some(expected) = &scene.expected {
            expected.still_rendered(name, child)?;
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::shells::Shells;
    use super::*;
    use crate::evaluate::scene::Expected;
    use crate::gates::Gate;
    use crate::gates::result::image_error;
    use crate::timing::TimedScene;
    use crate::worker::{FrameSpec, arrays};
    use splatcore_core::backend::RenderOptions;
    use splatcore_core::{Camera, Gaussians, Image, Lens};

    /// Answers from the files that it is given in place of kernels: `image` names the image that it
    /// renders, `times` is what it answers when it is to time frames.
    const SCRIPT: &str = r#"echo '{"answer":"ready","device":"a shell","sandbox":"none"}'
        while read line; do case "$line" in
            *'"ask":"render"'*)
                cp "$0/$(cat "$1/image")" image; echo '{"answer":"done"}' ;;
            *'"ask":"time"'*) cat "$1/times" ;;
            *) echo '{"answer":"done"}' ;;
        esac; done"#;

    fn image(value: f32) -> Image {
        Image::filled(4, 4, [value; 3])
    }

    /// Two frames of one scene, which is to be grey.
    fn scene() -> Scene {
        let camera = Camera {
            width: 4,
            height: 4,
            fx: 4.0,
            fy: 4.0,
            cx: 2.0,
            cy: 2.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: Lens::Pinhole,
            shutter: None,
        };
        let frame = FrameSpec::new(&camera, &RenderOptions::default());
        Scene {
            scene: Gaussians::default(),
            timed: TimedScene {
                name: "grey".into(),
                frames: vec![frame.clone(), frame.clone()],
                reach: 0.0,
            },
            expected: Some(Expected {
                frame,
                image: image(0.5),
                gradients: None,
                baseline: image_error(&image(0.5), &image(0.5)),
            }),
        }
    }

    #[test]
    fn each_change_has_its_own_times_or_its_own_reason() {
        let images = tempfile::tempdir().unwrap();
        for (name, value) in [("grey", 0.5), ("white", 1.0)] {
            arrays::write_image(&images.path().join(name), &image(value), &[1.0; 16]).unwrap();
        }
        let shells = Shells::new(SCRIPT, images.path());
        let mut local = shells.local(vec![scene()]);
        let timed = |device: f64| {
            format!(r#"{{"answer":"timed","device":{device},"clock":1.0,"stages":[]}}"#) + "\n"
        };
        let failed =
            r#"{"answer":"failed","error":"the launch did not compile"}"#.to_owned() + "\n";
        let change = |image: &str, times: String| {
            Texts::from([("image".into(), image.into()), ("times".into(), times)])
        };
        let changes = [
            change("grey", timed(0.5)),
            change("white", timed(0.1)),
            change("grey", failed),
            change("grey", timed(0.25)),
        ];
        let times = local.time_together(&changes, 3).unwrap();
        // Seconds a frame, of two frames a round.
        assert_eq!(times[0], Ok(vec![0.25; 3]));
        assert_eq!(times[1].as_ref().unwrap_err().gate, Gate::AfterTiming);
        assert_eq!(times[2].as_ref().unwrap_err().gate, Gate::Compile);
        assert_eq!(times[3], Ok(vec![0.125; 3]));
    }
}
