//! What a profile rules out without asking a model.

use super::advice::{Advice, By, Dropped, Kind, Plan};
use crate::profile::{Metrics, Profile};

/// Achieved occupancy, in percent, from which more warps help no more.
const FULL_OCCUPANCY: f64 = 95.0;

/// Use of device memory, in percent, below which nobody waits for its bandwidth.
const IDLE_DRAM: f64 = 20.0;

/// Percent of a frame below which a stage is not worth a search.
const MIN_SHARE: f64 = 0.5;

/// A plan of this advice as far as the profile allows it. The share of a frame that the advice's
/// stages take bounds what it can save: predictions are capped by it.
pub fn prune(advice: Vec<Advice>, profile: &Profile) -> Plan {
    let mut plan = Plan::default();
    for one in &advice {
        match against(one, profile) {
            Some(why) => plan.dropped.push(Dropped {
                number: one.number,
                by: By::Rule,
                why,
            }),
            None => {
                let mut one = one.clone();
                cap(&mut one, profile, &mut plan.notes);
                plan.kept.push(one);
            }
        }
    }
    plan.advice = advice;
    plan
}

/// What speaks against an advice.
fn against(advice: &Advice, profile: &Profile) -> Option<String> {
    if let Some(share) = profile.share_percent(&advice.files)
        && share < MIN_SHARE
    {
        return Some(format!("its stages take {share:.1} % of the frame"));
    }
    let measured = |value: fn(&Metrics) -> Option<f64>| -> Vec<f64> {
        let kernels = profile.kernels_of(&advice.files);
        kernels
            .iter()
            .filter_map(|kernel| value(&kernel.metrics))
            .collect()
    };
    match advice.kind {
        Kind::Occupancy => {
            let least = measured(|m| m.achieved_occupancy)
                .into_iter()
                .reduce(f64::min)?;
            (least >= FULL_OCCUPANCY).then(|| format!("occupancy is {least:.1} % already"))
        }
        Kind::Prefetch => {
            let most = measured(|m| m.dram_percent).into_iter().reduce(f64::max)?;
            (most < IDLE_DRAM).then(|| format!("device memory is {most:.1} % busy"))
        }
        Kind::Other => None,
    }
}

fn cap(advice: &mut Advice, profile: &Profile, notes: &mut Vec<String>) {
    let Some(share) = profile.share_percent(&advice.files) else {
        return;
    };
    if advice.predicted_percent > share {
        notes.push(format!(
            "advice {}: {:.1} % were predicted, its stages take {share:.1} % of the frame",
            advice.number, advice.predicted_percent
        ));
        advice.predicted_percent = share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(number: usize, kind: Kind, file: &str, predicted_percent: f64) -> Advice {
        Advice {
            number,
            what: String::new(),
            why: String::new(),
            watch: String::new(),
            files: vec![file.into()],
            predicted_percent,
            kind,
        }
    }

    fn profile(occupancy: &str, dram: &str) -> Profile {
        let text = format!(
            r#"{{"frame_us": 100,
                "stages": [{{"name": "blend", "us": 60, "files": ["blend.cu"]}},
                           {{"name": "clear", "us": 0.2, "files": ["clear.cu"]}}],
                "kernels": [{{"name": "blend", "files": ["blend.cu"], "metrics":
                    {{"achieved_occupancy": {occupancy}, "dram_percent": {dram}}}}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_profile_rules_advice_out() {
        let all = vec![
            advice(1, Kind::Occupancy, "blend.cu", 5.0),
            advice(2, Kind::Prefetch, "blend.cu", 5.0),
            advice(3, Kind::Other, "clear.cu", 5.0),
            advice(4, Kind::Other, "blend.cu", 80.0),
        ];
        let plan = prune(all.clone(), &profile("95", "19.9"));
        assert_eq!(plan.advice, all);
        let dropped: Vec<_> = plan
            .dropped
            .iter()
            .map(|d| (d.number, d.why.as_str()))
            .collect();
        assert_eq!(
            dropped,
            [
                (1, "occupancy is 95.0 % already"),
                (2, "device memory is 19.9 % busy"),
                (3, "its stages take 0.2 % of the frame"),
            ]
        );
        assert!(plan.dropped.iter().all(|d| d.by == By::Rule));
        assert_eq!(plan.kept.len(), 1);
        assert_eq!(plan.kept[0].predicted_percent, 60.0);
        assert!(plan.notes[0].starts_with("advice 4: 80.0 % were predicted"));
    }

    #[test]
    fn what_was_not_measured_rules_nothing_out() {
        let all = vec![
            advice(1, Kind::Occupancy, "blend.cu", 5.0),
            advice(2, Kind::Prefetch, "other.cu", 5.0),
        ];
        for profile in [
            profile("94.9", "20"),
            profile("null", "null"),
            Profile::default(),
        ] {
            let plan = prune(all.clone(), &profile);
            assert_eq!(plan.kept, all);
        }
    }
}
