//! Rounds of workers that take turns.

use crate::gates::{Gate, Rejection};
use crate::journal::Series;
use crate::worker::{Answer, Ask, Child, FrameSpec, WorkerError};
use splatcore_core::random::Rng;

/// A scene that all workers have loaded under its name.
#[derive(Clone, Debug)]
pub struct TimedScene {
    /// The name that it was loaded under.
    pub name: String,
    /// The frames of a round.
    pub frames: Vec<FrameSpec>,
    /// World units that a camera may be moved by.
    pub reach: f64,
}

/// Who is compared: two workers each, which differ for as long as they live.
pub struct Contestants<'a> {
    /// Run the baseline's kernels.
    pub baseline: [&'a mut Child; 2],
    /// Run the candidate's.
    pub candidate: [&'a mut Child; 2],
    /// Whether the backward pass is timed too.
    pub training: bool,
}

/// Makes one round and adds it to `series`, one for each scene; returns the mean over the scenes of
/// ln(candidate / baseline) by the device's events.
///
/// # Errors
/// What a worker fails with; `true` beside it if that was the candidate.
pub fn round(
    contestants: &mut Contestants,
    scenes: &[TimedScene],
    series: &mut [Series],
    rng: &mut Rng,
) -> Result<f64, (WorkerError, bool)> {
    let mut sum = 0.0;
    for (scene, series) in scenes.iter().zip(series) {
        let frames = drawn(scene, rng);
        let candidate_first = rng.below(2) == 1;
        // Which of the two workers, and whose.
        let order = [(0, false), (0, true), (1, true), (1, false)];
        let order = order.map(|(which, candidate)| (which, candidate != candidate_first));
        // Of the baseline and of the candidate: device, clock.
        let mut times = [[0.0; 2]; 2];
        for (which, is_candidate) in order {
            let workers = match is_candidate {
                true => &mut contestants.candidate,
                false => &mut contestants.baseline,
            };
            let turn = turn(
                &mut *workers[which],
                &scene.name,
                &frames,
                contestants.training,
            );
            let turn = turn.map_err(|error| (error, is_candidate))?;
            for (sum, seconds) in times[usize::from(is_candidate)].iter_mut().zip(turn) {
                *sum += seconds;
            }
        }
        let [[baseline, baseline_clock], [candidate, candidate_clock]] = times;
        series.baseline.push(baseline);
        series.candidate.push(candidate);
        series.clock[0].push(baseline_clock);
        series.clock[1].push(candidate_clock);
        sum += (candidate / baseline).ln();
    }
    Ok(sum / scenes.len().max(1) as f64)
}

/// Seconds by the device and by the clock.
pub(crate) fn turn(
    worker: &mut Child,
    scene: &str,
    frames: &[FrameSpec],
    training: bool,
) -> Result<[f64; 2], WorkerError> {
    worker.select(scene)?;
    let frames = frames.to_vec();
    let ask = match training {
        true => Ask::TimeTraining { frames },
        false => Ask::Time { frames },
    };
    match worker.ask(&ask)? {
        Answer::Timed { device, clock, .. } if device > 0.0 && clock > 0.0 => Ok([device, clock]),
        other => Err(WorkerError::Said(format!("{other:?} is no time"))),
    }
}

/// Whether the device's events and the clock of the worker tell of the same gain, scene by scene:
/// work that events do not see takes time all the same.
///
/// # Errors
/// The rejection, by [`Gate::Clock`].
pub fn clocks_agree(series: &[Series]) -> Result<(), Rejection> {
    /// Of the ratio, relative: frames by the clock hold gaps that no kernel can shorten.
    const MAX: f64 = 0.03;
    for one in series {
        let median = |baseline: &[f64], candidate: &[f64]| {
            let mut ratios: Vec<f64> = candidate.iter().zip(baseline).map(|(c, b)| c / b).collect();
            ratios.sort_by(f64::total_cmp);
            ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
        };
        let device = median(&one.baseline, &one.candidate);
        let clock = median(&one.clock[0], &one.clock[1]);
        // Only a gain that the clock does not confirm is suspicious.
        if device < 1.0 && clock > device + MAX + 0.5 * (1.0 - device) {
            return Err(Rejection::new(
                Gate::Clock,
                format!(
                    "{}: {device:.3} of the baseline's time by events, {clock:.3} by the clock",
                    one.scene
                ),
            ));
        }
    }
    Ok(())
}

/// The frames of a round: in a new order, each camera moved a little.
pub(crate) fn drawn(scene: &TimedScene, rng: &mut Rng) -> Vec<FrameSpec> {
    let mut frames = scene.frames.clone();
    rng.shuffle(&mut frames);
    for frame in &mut frames {
        for x in &mut frame.translation {
            *x += f64::from(rng.uniform() - 0.5) * scene.reach;
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_that_the_clock_does_not_confirm_is_none() {
        let series = |device: f64, clock: f64| {
            vec![Series {
                scene: "scene".into(),
                baseline: vec![1.0; 3],
                candidate: vec![device; 3],
                clock: [vec![2.0; 3], vec![2.0 * clock; 3]],
            }]
        };
        let judged = |device, clock| clocks_agree(&series(device, clock)).map_err(|r| r.gate);
        assert_eq!(judged(0.8, 0.8), Ok(()));
        assert_eq!(judged(0.8, 0.85), Ok(()), "gaps between frames stay");
        assert_eq!(judged(0.8, 1.0), Err(Gate::Clock));
        assert_eq!(judged(1.1, 1.0), Ok(()));
    }
}
