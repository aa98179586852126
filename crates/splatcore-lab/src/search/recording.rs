//! Measuring every point of a space that kernel texts span.

use super::recorded::{Entry, Failure, Recorded};
use super::space::{Axis, Config};
use super::variants::Variants;
use crate::candidate::Texts;
use crate::gates::{Gate, Rejection};
use crate::timing::median;
use splatcore_core::random::Rng;
use std::collections::BTreeMap;

/// A space that is being measured.
#[derive(Clone, Debug)]
pub struct Recording {
    texts: Texts,
    variants: Variants,
    /// The axes of the variants that are recorded; the others stay as they are.
    axes: Vec<usize>,
    /// Points of the variants, in the order in which they are measured.
    points: Vec<Config>,
    /// What was measured so far.
    pub recorded: Recorded,
}

/// A point that was not measured yet.
pub struct Open {
    /// On the recorded axes.
    pub config: Config,
    /// The kernel files that differ from the baseline's; `None` if two changes overlap.
    pub changed: Option<Texts>,
}

impl Recording {
    /// Begins to record the space of `texts`: of all axes, or of those that `names` lists. Points
    /// come in an order that the seed draws, so that a drift of the card lies along no axis.
    ///
    /// # Errors
    /// If a declaration is malformed, a name is no axis, nothing can be varied, or there are too
    /// many points to list.
    pub fn new(
        texts: Texts,
        names: &[String],
        kernel: &str,
        device: &str,
        seed: u64,
    ) -> Result<Self, String> {
        let variants = Variants::find(&texts).map_err(|error| error.to_string())?;
        let space = variants.space().map_err(|error| error.to_string())?;
        let all = space.axes();
        let known = || {
            let names: Vec<&str> = all.iter().map(|axis| axis.name.as_str()).collect();
            names.join(", ")
        };
        if let Some(unknown) = names
            .iter()
            .find(|name| all.iter().all(|a| a.name != **name))
        {
            return Err(format!(
                "nothing is called {unknown}; the space has {}",
                known()
            ));
        }
        let is_kept = |axis: &usize| names.is_empty() || names.contains(&all[*axis].name);
        let axes: Vec<usize> = (0..all.len()).filter(is_kept).collect();
        if axes.is_empty() {
            return Err("the files declare no tunable and mark no place".into());
        }
        let start = variants.start();
        let stays = |config: &&Config| {
            (0..all.len()).all(|axis| axes.contains(&axis) || config[axis] == start[axis])
        };
        let points = space.points().ok_or_else(|| {
            format!(
                "the space has more points than can be listed; name some of {}",
                known()
            )
        })?;
        let mut points: Vec<Config> = points.iter().filter(stays).cloned().collect();
        Rng::new(seed, 0).shuffle(&mut points);
        let kept: Vec<Axis> = axes.iter().map(|&axis| all[axis].clone()).collect();
        Ok(Self {
            recorded: Recorded {
                device: device.into(),
                kernel: kernel.into(),
                problem_size: serde_json::json!([1]),
                objective: "time".into(),
                axes: kept,
                entries: BTreeMap::new(),
            },
            texts,
            variants,
            axes,
            points,
        })
    }

    /// Goes on with what an earlier run recorded.
    ///
    /// # Errors
    /// If that is another space, or was measured on another device.
    pub fn resume(&mut self, before: Recorded) -> Result<(), String> {
        if before.axes != self.recorded.axes || before.kernel != self.recorded.kernel {
            return Err("it holds another space; give a new file".into());
        }
        if before.device != self.recorded.device {
            let (there, here) = (&before.device, &self.recorded.device);
            return Err(format!(
                "its times are of {there}, and this is {here}; give a new file"
            ));
        }
        self.recorded = before;
        Ok(())
    }

    /// Points of the whole space.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// The next points, at most `most`.
    pub fn next(&self, most: usize) -> Vec<Open> {
        let open = self.points.iter().filter_map(|point| {
            let config: Config = self.axes.iter().map(|&axis| point[axis]).collect();
            (!self.recorded.entries.contains_key(&config)).then(|| Open {
                config,
                changed: self.variants.apply(&self.texts, point).map(|mut changed| {
                    changed.retain(|name, text| self.texts.get(name) != Some(text));
                    changed
                }),
            })
        });
        open.take(most).collect()
    }

    /// Adds what was measured of a point: milliseconds a frame, one number a round.
    pub fn add(&mut self, config: Config, measured: Result<Vec<f64>, Failure>) {
        let entry = match measured {
            Ok(runs) if runs.is_empty() => Entry::new(Err(Failure::Runtime)),
            Ok(runs) => {
                let entry = Entry::new(Ok(median(&runs)));
                let benchmark = runs.iter().sum();
                Entry {
                    runs,
                    benchmark,
                    ..entry
                }
            }
            Err(failure) => Entry::new(Err(failure)),
        };
        self.recorded.entries.insert(config, entry);
    }
}

/// What a rejection is called in a recorded space.
pub fn failure(rejection: &Rejection) -> Failure {
    match rejection.gate {
        Gate::Compile => Failure::Compile,
        Gate::Deadline => Failure::Timeout,
        Gate::AfterTiming | Gate::Result => Failure::Correctness,
        _ => Failure::Runtime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Value;

    const TEXT: &str = "#define BATCH 64  // tune: 32 64 128; when BATCH * WIDE <= 256\n\
        #define WIDE 2  // tune: 1 2 4\n\
        void f() {\n\
        \x20   a = expf(b);\n\
        }\n";

    fn recording(names: &[&str]) -> Result<Recording, String> {
        let texts = Texts::from([
            ("a.cu".into(), TEXT.into()),
            ("b.cuh".into(), "int i;\n".into()),
        ]);
        let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
        Recording::new(texts, &names, "a", "a card", 3)
    }

    #[test]
    fn every_point_that_conditions_allow_is_measured_once() {
        let mut recording = recording(&[]).unwrap();
        // Without (BATCH, WIDE) = (128, 4), with and without __expf.
        assert_eq!(recording.count(), 16);
        let mut seen = Vec::new();
        while let Some(open) = recording.next(1).pop() {
            let changed = open.changed.unwrap();
            assert!(changed.len() <= 1, "b.cuh has nothing to vary");
            seen.push(changed);
            recording.add(open.config, Ok(vec![3.0, 1.0, 2.0]));
        }
        assert_eq!(recording.recorded.entries.len(), 16);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 16);
        assert_eq!(recording.recorded.optimum(), Some(2.0));
        assert_eq!(
            recording.recorded.space().unwrap().points().unwrap().len(),
            16
        );
    }

    #[test]
    fn axes_that_are_not_named_stay() {
        let recording = recording(&["WIDE"]).unwrap();
        assert_eq!(recording.recorded.axes.len(), 1);
        assert_eq!(
            recording.recorded.axes[0].values,
            [1, 2, 4].map(Value::Integer)
        );
        let texts = recording
            .next(9)
            .into_iter()
            .map(|open| open.changed.unwrap());
        for text in texts.filter_map(|texts| texts.get("a.cu").cloned()) {
            assert!(
                text.contains("BATCH 64") && text.contains("= expf"),
                "{text}"
            );
        }
        let error = super::tests::recording(&["LONG"]).unwrap_err();
        assert_eq!(
            error,
            "nothing is called LONG; the space has BATCH, WIDE, expf"
        );
    }

    #[test]
    fn a_file_of_an_earlier_run_is_gone_on_with() {
        let mut first = recording(&["WIDE"]).unwrap();
        let open = first.next(1).pop().unwrap();
        first.add(open.config.clone(), Err(Failure::Compile));
        let text = first.recorded.to_cache().unwrap();
        let before = Recorded::read_cache(&text).unwrap();
        let mut second = recording(&["WIDE"]).unwrap();
        second.resume(before.clone()).unwrap();
        assert_eq!(second.next(9).len(), 2);
        assert_eq!(second.recorded, first.recorded);
        let other = recording(&["BATCH"]).unwrap().resume(before.clone());
        assert!(other.unwrap_err().starts_with("it holds another space"));
        let mut elsewhere = recording(&["WIDE"]).unwrap();
        elsewhere.recorded.device = "another card".into();
        let error = elsewhere.resume(before).unwrap_err();
        assert!(
            error.starts_with("its times are of a card, and this is another"),
            "{error}"
        );
    }
}
