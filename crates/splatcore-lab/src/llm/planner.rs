//! The planner: advice from the kernels' text, then a choice of it by the profile.

use super::model::{Model, ModelError, Role};
use super::prompts::Prompt;
use super::question::{self, Setting};
use crate::candidate::{Guided, Texts};
use crate::plan::{Advice, By, Dropped, MAX_ADVICE, Plan, prune, read_advice, read_choice};
use crate::profile::{Profile, to_markdown};
use serde::{Deserialize, Serialize};

/// Advice that is left after the profile was seen.
pub const MAX_KEPT: usize = 5;

/// What guides the coder: the paper's three ways to search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guidance {
    /// A planner's advice, pruned by a profile.
    PlannerAndProfile(Box<Profile>),
    /// A planner's advice from the kernels' text alone.
    Planner,
    /// Nothing.
    None,
}

impl Guidance {
    /// Which of the three ways it is.
    pub fn guided(&self) -> Guided {
        match self {
            Self::PlannerAndProfile(_) => Guided::PlannerAndProfile,
            Self::Planner => Guided::Planner,
            Self::None => Guided::Nothing,
        }
    }

    /// The profile, if there is one.
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::PlannerAndProfile(profile) => Some(profile),
            Self::Planner | Self::None => None,
        }
    }
}

/// Makes a plan: asks the planner for advice, drops by rules what the profile rules out, then asks
/// the planner which of the rest the profile speaks for.
///
/// # Errors
/// Those of the model, and [`ModelError::Prompt`] if the planner gives no list of advice.
pub fn plan(
    model: &mut impl Model,
    setting: &Setting,
    guidance: &Guidance,
    baseline: &Texts,
) -> Result<Plan, ModelError> {
    if *guidance == Guidance::None {
        return Ok(Plan::default());
    }
    let advice = advise(model, setting, baseline)?;
    let Some(profile) = guidance.profile() else {
        return Ok(Plan {
            kept: advice.clone(),
            advice,
            ..Plan::default()
        });
    };
    let plan = prune(advice, profile);
    if plan.kept.is_empty() {
        return Ok(plan);
    }
    choose(model, setting, profile, baseline, plan)
}

/// The planner's advice.
fn advise(
    model: &mut impl Model,
    setting: &Setting,
    baseline: &Texts,
) -> Result<Vec<Advice>, ModelError> {
    let names: Vec<String> = baseline.keys().cloned().collect();
    let values = [
        ("task", setting.task.as_str()),
        ("files", &question::files(baseline)),
        ("most", &MAX_ADVICE.to_string()),
    ];
    let messages = setting.prompts.messages(Prompt::Planner, &values);
    let request = setting.request(Role::Planner, 0, messages)?;
    let read = |reply: &str| {
        read_advice(reply, &names).ok_or("it holds no JSON list of objects with \"what\"".into())
    };
    setting.ask(model, request, read)?.map_err(|problem| {
        ModelError::Prompt(format!(
            "the planner gives no advice ({problem}): edit {} in the experiment's prompts, or use \
             another model",
            Prompt::Planner.file()
        ))
    })
}

/// The plan after the planner has seen the profile. If its answer cannot be used, the advice with
/// the highest predictions is kept.
fn choose(
    model: &mut impl Model,
    setting: &Setting,
    profile: &Profile,
    baseline: &Texts,
    mut plan: Plan,
) -> Result<Plan, ModelError> {
    let listed: Vec<String> = plan
        .kept
        .iter()
        .map(|one| {
            let predicted = one.predicted_percent;
            format!(
                "## Advice {}: {predicted} % predicted\n\n{}",
                one.number,
                one.to_markdown()
            )
        })
        .collect();
    let values = [
        ("task", setting.task.as_str()),
        ("profile", &to_markdown(profile)),
        ("files", &question::files(baseline)),
        ("advice", &listed.join("\n")),
        ("most", &MAX_KEPT.to_string()),
    ];
    let messages = setting.prompts.messages(Prompt::Pruner, &values);
    let request = setting.request(Role::Planner, 0, messages)?;
    let open = std::mem::take(&mut plan.kept);
    let read = |reply: &str| {
        let [keep, drop] = read_choice(reply).ok_or("it holds no JSON object with \"keep\"")?;
        let known = |number: usize| open.iter().any(|one| one.number == number);
        let mut keep: Vec<_> = keep.into_iter().filter(|(n, _)| known(*n)).collect();
        keep.truncate(MAX_KEPT);
        match keep.is_empty() {
            true => Err("it keeps none of the given advice".to_owned()),
            false => Ok((keep, drop)),
        }
    };
    match setting.ask(model, request, read)? {
        Ok((keep, drop)) => {
            for (number, why) in &keep {
                let new = plan.kept.iter().all(|one| one.number != *number);
                plan.kept.extend(
                    open.iter()
                        .find(|one| one.number == *number && new)
                        .cloned(),
                );
                if new && !why.is_empty() {
                    plan.notes.push(format!("advice {number} is kept: {why}"));
                }
            }
            let why = |number| {
                drop.iter()
                    .find(|(n, _)| *n == number)
                    .map(|(_, why)| why.clone())
            };
            drop_rest(&mut plan, &open, |number| why(number).unwrap_or_default());
        }
        Err(problem) => {
            let mut best = open.clone();
            best.sort_by(|a, b| b.predicted_percent.total_cmp(&a.predicted_percent));
            best.truncate(MAX_KEPT);
            plan.kept = best;
            plan.notes.push(format!(
                "the planner made no choice ({problem}): by prediction"
            ));
            drop_rest(&mut plan, &open, |_| "a lower prediction".into());
        }
    }
    Ok(plan)
}

fn drop_rest(plan: &mut Plan, open: &[Advice], why: impl Fn(usize) -> String) {
    for one in open {
        if plan.kept.iter().all(|kept| kept.number != one.number) {
            plan.dropped.push(Dropped {
                number: one.number,
                by: By::Planner,
                why: why(one.number),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Request;
    use super::super::testing::{Answering, reply};
    use super::*;

    const ADVICE: &str = r#"[
        {"what": "Features to shared memory", "files": ["blend.cu"], "predicted_percent": 90},
        {"what": "More occupancy", "files": ["blend.cu"], "predicted_percent": 9},
        {"what": "Unroll", "files": ["blend.cu"], "predicted_percent": 3},
        {"what": "Fast exponentials", "predicted_percent": 10}]"#;

    fn profile() -> Box<Profile> {
        let text = r#"{"frame_us": 100, "device": "a card",
            "stages": [{"name": "blend", "us": 60, "files": ["blend.cu"]}],
            "kernels": [{"name": "blend", "files": ["blend.cu"],
                "metrics": {"achieved_occupancy": 96}}]}"#;
        Box::new(serde_json::from_str(text).unwrap())
    }

    fn planned(guidance: &Guidance, choice: &str) -> (Result<Plan, ModelError>, Vec<Request>) {
        let mut asked = Vec::new();
        let mut model = Answering(|request: &Request| {
            asked.push(request.clone());
            Ok(reply(if asked.len() == 1 { ADVICE } else { choice }))
        });
        let baseline = Texts::from([("blend.cu".into(), "float x;\n".into())]);
        let plan = plan(&mut model, &Setting::new("the blend"), guidance, &baseline);
        (plan, asked)
    }

    #[test]
    fn advice_is_pruned_by_rules_and_by_the_planner() {
        let choice = r#"{"keep": [{"advice": 4, "why": "XU is busy"}, 2, 1, 1],
            "drop": [{"advice": 3, "why": "issue slots are free"}]}"#;
        let guidance = Guidance::PlannerAndProfile(profile());
        let (plan, asked) = planned(&guidance, choice);
        let plan = plan.unwrap();
        let kept: Vec<usize> = plan.kept.iter().map(|one| one.number).collect();
        assert_eq!(kept, [4, 1]);
        assert_eq!(plan.kept[1].predicted_percent, 60.0);
        assert_eq!(plan.advice.len(), 4);
        let dropped: Vec<_> = plan
            .dropped
            .iter()
            .map(|d| (d.number, d.by, &*d.why))
            .collect();
        let wanted = [
            (2, By::Rule, "occupancy is 96.0 % already"),
            (3, By::Planner, "issue slots are free"),
        ];
        assert_eq!(dropped, wanted);
        assert!(plan.notes.contains(&"advice 4 is kept: XU is busy".into()));
        let question = &asked[0].messages[1].content;
        assert!(question.contains("the blend") && question.contains("float x;"));
        assert!(
            !question.contains("a card"),
            "the first question is about the text"
        );
        let question = &asked[1].messages[1].content;
        assert!(question.contains("Card: a card"));
        assert!(
            !question.contains("More occupancy"),
            "what rules dropped is not asked about"
        );
    }

    #[test]
    fn without_a_choice_predictions_decide() {
        let guidance = Guidance::PlannerAndProfile(profile());
        let (plan, asked) = planned(&guidance, "All of it is good.");
        let plan = plan.unwrap();
        let kept: Vec<usize> = plan.kept.iter().map(|one| one.number).collect();
        assert_eq!(kept, [1, 4, 3]);
        assert_eq!(asked.len(), 1 + 3);
        assert!(
            plan.notes
                .iter()
                .any(|note| note.contains("made no choice"))
        );
    }

    #[test]
    fn the_other_ways_need_no_profile() {
        let (plan, asked) = planned(&Guidance::Planner, "");
        assert_eq!((plan.unwrap().kept.len(), asked.len()), (4, 1));
        let (plan, asked) = planned(&Guidance::None, "");
        assert_eq!((plan.unwrap(), asked.len()), (Plan::default(), 0));
    }

    #[test]
    fn a_planner_without_advice_ends_the_run() {
        let baseline = Texts::new();
        let mut model = Answering(|_: &Request| Ok(reply("It is good as it is.")));
        let setting = Setting::new("the blend");
        let error = plan(&mut model, &setting, &Guidance::Planner, &baseline).unwrap_err();
        assert!(error.to_string().contains("edit planner.md"), "{error}");
    }
}
