//! What a proposer may know of a verdict.

use super::question::{MAX_PART_BYTES, Setting, first_bytes};
use crate::gates::{Gate, Rejection, Verdict};

/// A verdict for a prompt: times as ratios; of a rejection the reason, where it tells nothing about
/// held-out scenes, thresholds or how a gate decides.
pub fn for_prompt(verdict: &Verdict, setting: &Setting) -> String {
    let ratio = verdict
        .ratio()
        .map_or(String::new(), |ratio| format!("it takes {ratio}"));
    match verdict {
        Verdict::Faster(_) => format!("Right and faster: {ratio}."),
        Verdict::Slower(_) => format!("Right, but slower: {ratio}."),
        Verdict::Unclear(_) => format!("Right, and no clear difference: {ratio}."),
        Verdict::Untimed => "Right as far as it was checked, not timed.".into(),
        Verdict::Rejected(rejection) => rejected(rejection, setting),
    }
}

fn rejected(rejection: &Rejection, setting: &Setting) -> String {
    let gate = rejection.gate;
    match general(gate) {
        Some(what) => format!("Rejected ({gate}): {what}."),
        None => {
            let reason = setting.without_hidden(&rejection.reason);
            let reason = first_bytes(&reason, MAX_PART_BYTES);
            format!("Rejected ({gate}):\n\n{reason}")
        }
    }
}

/// What is said of gates whose reasons stay with the lab.
fn general(gate: Gate) -> Option<&'static str> {
    match gate {
        Gate::Files
        | Gate::Directives
        | Gate::Assembly
        | Gate::Conditions
        | Gate::Interface
        | Gate::Compile
        | Gate::MachineCode
        | Gate::Memory
        | Gate::Races
        | Gate::Deadline
        | Gate::CrossCheck => None,
        Gate::Result => Some("the result is not that of the reference"),
        Gate::Precision => Some("the result is less exact than the baseline's"),
        Gate::Repeat => Some("two runs differ where the baseline's do not"),
        Gate::Metamorphic => {
            Some("what must not change the result changes it, or what must does not")
        }
        Gate::Clock => Some("its clocks do not agree"),
        Gate::AfterTiming => Some("frames that were rendered while timing are wrong"),
        Gate::Bound => Some("it is faster than the work allows, so that work must be missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Ratio;

    #[test]
    fn reasons_stay_with_the_lab_where_they_tell_too_much() {
        let mut setting = Setting::new("blend");
        setting.hidden = vec!["garden".into()];
        let told = |gate, reason: &str| {
            for_prompt(&Verdict::Rejected(Rejection::new(gate, reason)), &setting)
        };
        let log = told(Gate::Compile, "blend.cu(3): error: x\nwhile on garden\nend");
        assert_eq!(log, "Rejected (compile):\n\nblend.cu(3): error: x\nend");
        let secret = told(Gate::Result, "garden: 43.2 dB, 50 wanted");
        assert_eq!(
            secret,
            "Rejected (result): the result is not that of the reference."
        );
        let long = told(Gate::Compile, &"an error\n".repeat(5000));
        assert!(long.len() < MAX_PART_BYTES + 100);
    }

    #[test]
    fn times_are_ratios() {
        let ratio = Ratio {
            ratio: 0.9,
            low: 0.89,
            high: 0.91,
        };
        let told = for_prompt(&Verdict::Faster(ratio), &Setting::new("blend"));
        let wanted = "Right and faster: it takes 0.9000 of the baseline's time (0.8900 to 0.9100).";
        assert_eq!(told, wanted);
    }
}
