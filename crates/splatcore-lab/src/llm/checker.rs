//! The cross-check: another model compares a candidate with the baseline. It can only object.

use super::model::{Model, ModelError, Role};
use super::prompts::Prompt;
use super::question::{self, Setting};
use crate::candidate::{Candidate, Id, Operator, Texts};
use crate::gates::result::Wanted;
use crate::gates::{Gate, Verdict};
use crate::journal::CrossChecked;
use crate::plan::json;
use crate::propose::History;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Candidates over which the error rate is taken.
const WINDOW: usize = 20;

/// Candidates before which there is no error rate.
const MIN: usize = 6;

/// Signs of a text of the checker.
const MAX_TEXT: usize = 1000;

/// Signs of it that name a test.
const MAX_NAME: usize = 80;

/// Inputs for which, a checker says, a candidate computes something else. Everything that it does
/// not say is free: a test draws it at random.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counterexample {
    /// In words.
    pub text: String,
    /// Pixels, 1 to 4096.
    pub width: Option<u32>,
    /// Pixels, 1 to 4096.
    pub height: Option<u32>,
    /// Gaussians in view, 0 to 1 M.
    pub gaussians: Option<u32>,
    /// Least and greatest opacity, 0 to 1.
    pub opacity: Option<[f32; 2]>,
    /// Red, green and blue, 0 to 1.
    pub background: Option<[f32; 3]>,
}

/// What a checker says of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "opinion")]
pub enum Opinion {
    /// It finds no difference. That proves nothing.
    Equivalent,
    /// It finds one.
    Differs {
        /// Where.
        place: String,
        /// For which inputs, if it says so: the lab makes a test of it.
        counterexample: Option<Counterexample>,
    },
    /// Its answers cannot be read. That is no objection.
    Unreadable,
}

impl Counterexample {
    /// The test that it makes.
    fn wanted(&self) -> Wanted {
        Wanted {
            name: self.text.chars().take(MAX_NAME).collect(),
            size: self.width.zip(self.height).map(|(w, h)| [w, h]),
            gaussians: self.gaussians.map(|n| n as usize),
            opacity: self.opacity,
            background: self.background,
        }
    }
}

impl Opinion {
    /// For the journal: what the model called `by` said of a candidate.
    pub fn checked(&self, id: Id, by: String) -> CrossChecked {
        let (objection, counterexample) = match self {
            Self::Equivalent | Self::Unreadable => (None, None),
            Self::Differs {
                place,
                counterexample: None,
            } => (Some(place.clone()), None),
            Self::Differs {
                place,
                counterexample: Some(example),
            } => (
                Some(format!("{place}: {}", example.text)),
                Some(example.wanted()),
            ),
        };
        CrossChecked {
            id,
            by,
            objection,
            counterexample,
        }
    }
}

/// Whether a checker is asked before a candidate is evaluated: while more than a third of the last
/// 20 candidates of a model were rejected. One question a candidate pays from this rate on (paper,
/// section VI-B). The checker's own objections count neither way.
pub fn asks_first(history: &History) -> bool {
    let judged = history.judged.iter().rev();
    let of_models = judged.filter(|judged| judged.candidate.operator == Operator::Llm);
    let counted = of_models.filter_map(|judged| match &judged.verdict {
        Verdict::Rejected(rejection) if rejection.gate == Gate::CrossCheck => None,
        Verdict::Rejected(_) => Some(true),
        _ => Some(false),
    });
    let last: Vec<bool> = counted.take(WINDOW).collect();
    let wrong = last.iter().filter(|&&wrong| wrong).count();
    last.len() >= MIN && 3 * wrong > last.len()
}

/// Asks a checker about a candidate. The same candidate gets the same answer, from the record.
///
/// # Errors
/// Those of the model.
pub fn check(
    model: &mut impl Model,
    setting: &Setting,
    baseline: &Texts,
    candidate: &Candidate,
) -> Result<Opinion, ModelError> {
    let mut after = baseline.clone();
    after.extend(candidate.changed.clone());
    let values = [
        ("task", setting.task.as_str()),
        ("files", &question::files(baseline)),
        // All of it: what is left out cannot be objected to.
        ("change", &question::whole_diff(baseline, &after)),
    ];
    let messages = setting.prompts.messages(Prompt::Checker, &values);
    let request = setting.request(Role::Checker, 0, messages)?;
    let read = |reply: &str| {
        json::find(reply, read).ok_or("it holds no JSON object with \"equivalent\"".to_owned())
    };
    let read = setting.ask(model, request, read)?;
    Ok(read.unwrap_or(Opinion::Unreadable))
}

fn read(value: &Value) -> Option<Opinion> {
    if value.get("equivalent")?.as_bool()? {
        return Some(Opinion::Equivalent);
    }
    let place = json::text(value, "where", MAX_TEXT);
    Some(Opinion::Differs {
        place: if place.is_empty() {
            "no place given".into()
        } else {
            place
        },
        counterexample: value.get("counterexample").and_then(counterexample),
    })
}

fn counterexample(value: &Value) -> Option<Counterexample> {
    if let Some(text) = value.as_str() {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        return Some(Counterexample {
            text: text.chars().take(MAX_TEXT).collect(),
            ..Counterexample::default()
        });
    }
    value.as_object()?;
    let count = |name: &str, range: std::ops::RangeInclusive<u64>| {
        let found = value.get(name)?.as_u64().filter(|n| range.contains(n))?;
        u32::try_from(found).ok()
    };
    Some(Counterexample {
        text: json::text(value, "text", MAX_TEXT),
        width: count("width", 1..=4096),
        height: count("height", 1..=4096),
        gaussians: count("gaussians", 0..=1_000_000),
        opacity: shares(value, "opacity").filter(|[least, most]| least <= most),
        background: shares(value, "background"),
    })
}

/// Numbers from 0 to 1.
fn shares<const N: usize>(value: &Value, name: &str) -> Option<[f32; N]> {
    let list = value.get(name)?.as_array()?;
    let share = |value: &Value| value.as_f64().filter(|s| (0.0..=1.0).contains(s));
    let read: Option<Vec<f32>> = list.iter().map(|v| share(v).map(|s| s as f32)).collect();
    read?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::super::model::Request;
    use super::super::testing::{Answering, reply};
    use super::*;
    use crate::gates::Rejection;
    use crate::propose::Judged;

    fn candidate() -> Candidate {
        Candidate {
            parents: Vec::new(),
            operator: Operator::Llm,
            origin: None,
            changed: Texts::from([("blend.cu".into(), "two\n".into())]),
            about: String::new(),
        }
    }

    fn opinion(answer: &str) -> Opinion {
        let baseline = Texts::from([("blend.cu".into(), "one\n".into())]);
        let mut model = Answering(|request: &Request| {
            assert_eq!(request.role, Role::Checker);
            let question = &request.messages[1].content;
            assert!(question.contains("-one\n+two"), "{question}");
            Ok(reply(answer))
        });
        check(
            &mut model,
            &Setting::new("the blend"),
            &baseline,
            &candidate(),
        )
        .unwrap()
    }

    /// A change of many lines is shown to its end.
    #[test]
    fn a_long_change_is_shown_whole() {
        let mut candidate = candidate();
        let lines: String = (0..4000).map(|line| format!("line {line}\n")).collect();
        candidate.changed.insert("blend.cu".into(), lines);
        let mut model = Answering(|request: &Request| {
            assert!(request.messages[1].content.contains("+line 3999\n"));
            Ok(reply("{\"equivalent\": true}"))
        });
        let baseline = Texts::from([("blend.cu".into(), "one\n".into())]);
        let setting = Setting::new("the blend");
        check(&mut model, &setting, &baseline, &candidate).unwrap();
    }

    #[test]
    fn objections_are_read() {
        assert_eq!(
            opinion("```json\n{\"equivalent\": true}\n```"),
            Opinion::Equivalent
        );
        assert_eq!(opinion("It looks good to me."), Opinion::Unreadable);
        let checked = |opinion: &Opinion| opinion.checked(Id::baseline(), "a model".into());
        assert_eq!(checked(&opinion("nothing")).objection, None);
        let differs = opinion(
            r#"{"equivalent": false, "where": "blend.cu: the loop", "counterexample":
               {"text": "a tile of 300", "width": 33, "height": 9999999, "gaussians": 300,
                "opacity": [0.9, 1], "background": [1, 0, 2]}}"#,
        );
        let Opinion::Differs {
            counterexample: Some(example),
            ..
        } = &differs
        else {
            panic!("{differs:?}");
        };
        assert_eq!((example.width, example.height), (Some(33), None));
        assert_eq!(
            (example.opacity, example.background),
            (Some([0.9, 1.0]), None)
        );
        let said = checked(&differs);
        let objection = said.objection.as_deref();
        assert_eq!(objection, Some("blend.cu: the loop: a tile of 300"));
        let wanted = said.counterexample.unwrap();
        assert_eq!((wanted.size, wanted.gaussians), (None, Some(300)));
        assert_eq!(wanted.name, "a tile of 300");
        let plain = opinion(r#"{"equivalent": false, "counterexample": "an empty\ntile"}"#);
        let says = "no place given: an empty tile";
        assert_eq!(checked(&plain).objection.as_deref(), Some(says));
    }

    #[test]
    fn it_is_asked_first_while_many_candidates_are_wrong() {
        let with = |verdicts: &[Verdict]| {
            let judged = verdicts.iter().map(|verdict| Judged {
                candidate: candidate(),
                verdict: verdict.clone(),
            });
            asks_first(&History {
                judged: judged.collect(),
                ..History::default()
            })
        };
        let wrong = || Verdict::Rejected(Rejection::new(Gate::Result, ""));
        let objected = || Verdict::Rejected(Rejection::new(Gate::CrossCheck, ""));
        let right = || Verdict::Untimed;
        assert!(!with(&vec![wrong(); MIN - 1]), "too few");
        assert!(with(&vec![wrong(); MIN]));
        let third = [wrong(), wrong(), right(), right(), right(), right()];
        assert!(!with(&third), "a third is not more than a third");
        let more = [wrong(), wrong(), wrong(), right(), right(), right()];
        assert!(with(&more));
        let old = [vec![wrong(); 30], vec![right(); WINDOW]].concat();
        assert!(!with(&old), "old errors count no more");
        assert!(!with(&[
            objected(),
            objected(),
            objected(),
            wrong(),
            right(),
            right()
        ]));
    }
}
