//! The coder: edits for one advice, from one parent.

use super::model::{Model, ModelError, Role};
use super::prompts::Prompt;
use super::question::{self, MAX_PART_BYTES, REPAIRS, Setting, first_bytes};
use super::verdict;
use crate::candidate::{self, Candidate, Id, Operator, Origin, Texts};
use crate::plan::Advice;
use crate::propose::{History, Judged};

/// Earlier tries with the same advice that a prompt lists.
const MAX_LISTED: usize = 4;

/// Signs of the coder's line on what it changed.
const MAX_CHANGE: usize = 100;

/// What a coder is to do.
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// Which try it is, for which advice.
    pub origin: &'a Origin,
    /// The advice.
    pub advice: Option<&'a Advice>,
    /// The candidate to start from; the baseline if none.
    pub parent: Option<&'a Judged>,
    /// The profile as text, if the coder may know it.
    pub profile: Option<&'a str>,
}

/// A candidate from a coder's edits. `Err` inside `Ok`: why none of its answers could be used.
///
/// # Errors
/// Those of the model.
pub fn write(
    model: &mut impl Model,
    setting: &Setting,
    history: &History,
    assignment: Assignment<'_>,
) -> Result<Result<Candidate, String>, ModelError> {
    let start = match assignment.parent {
        Some(parent) => history.texts_of(&parent.candidate),
        None => history.baseline.clone(),
    };
    let advice = advice(assignment.advice);
    let profile = assignment
        .profile
        .map_or(String::new(), |text| format!("# Profile\n\n{text}"));
    let values = [
        ("task", setting.task.as_str()),
        ("profile", &profile),
        ("files", &question::files(&start)),
        ("parent", &so_far(setting, history, &assignment)),
        ("advice", &advice),
    ];
    let messages = setting.prompts.messages(Prompt::Coder, &values);
    let request = setting.request(Role::Coder, assignment.origin.number, messages)?;
    let read = |reply: &str| {
        let edits = candidate::parse(reply).map_err(|error| error.to_string())?;
        let texts = candidate::apply(&start, &edits).map_err(|error| error.to_string())?;
        let changed = changed(&history.baseline, &texts);
        if texts == start || changed.is_empty() {
            return Err("the edits change nothing".to_owned());
        }
        Ok((changed, what(reply, assignment.advice)))
    };
    let written = setting.ask(model, request, read)?;
    let origin = assignment.origin;
    let parents: Vec<Id> = assignment.parent.iter().map(|p| p.candidate.id()).collect();
    Ok(match written {
        Ok((changed, what)) => Ok(Candidate {
            parents,
            operator: Operator::Llm,
            origin: Some(origin.clone()),
            changed,
            about: what,
        }),
        Err(problem) => {
            let line = problem.lines().next().unwrap_or_default();
            Err(origin.about(&format!("no edit after {REPAIRS} repairs: {line}")))
        }
    })
}

/// The files that differ from the baseline.
fn changed(baseline: &Texts, texts: &Texts) -> Texts {
    let differs = |(name, text): &(&String, &String)| baseline.get(*name) != Some(text);
    let files = texts.iter().filter(differs);
    files
        .map(|(name, text)| (name.clone(), text.clone()))
        .collect()
}

fn advice(advice: Option<&Advice>) -> String {
    match advice {
        Some(advice) => format!(
            "Follow this advice, as far as it is right, together with what was done so far:\n\n{}",
            advice.to_markdown()
        ),
        None => "Make the kernels faster.".into(),
    }
}

/// The coder's own line on what it changed; without one, the advice.
fn what(reply: &str, advice: Option<&Advice>) -> String {
    let own = reply
        .lines()
        .find_map(|line| line.trim().strip_prefix("CHANGE:"));
    let own = own.map(str::trim).filter(|line| !line.is_empty());
    let what = own.or(advice.map(|advice| advice.what.as_str()));
    let what = what
        .unwrap_or("edits")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    what.chars().take(MAX_CHANGE).collect()
}

/// Where the files come from, and what was tried with this advice.
fn so_far(setting: &Setting, history: &History, assignment: &Assignment<'_>) -> String {
    let mut text = match assignment.parent {
        None => "The files are the baseline.".to_owned(),
        Some(parent) => {
            let after = history.texts_of(&parent.candidate);
            format!(
                "The files are a candidate's. {}\n\nIt changes this against the baseline:\n\n\
                 ```diff\n{}\n```",
                verdict::for_prompt(&parent.verdict, setting),
                question::diff(&history.baseline, &after).trim_end()
            )
        }
    };
    let advice = assignment.origin.advice_number();
    let same = |judged: &&Judged| {
        let origin = judged.candidate.origin.as_ref();
        origin.is_some_and(|origin| origin.advice_number() == advice)
    };
    let tried: Vec<&Judged> = history
        .judged
        .iter()
        .rev()
        .filter(same)
        .take(MAX_LISTED)
        .collect();
    if !tried.is_empty() {
        text.push_str("\n\nTried with this advice, latest first:\n");
    }
    for judged in tried {
        let told = verdict::for_prompt(&judged.verdict, setting);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let about = setting.without_hidden(&judged.candidate.described());
        let told = first_bytes(&told, MAX_PART_BYTES / 8 / MAX_LISTED);
        text.push_str(&format!("\n- {about}. {told}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::model::Request;
    use super::super::testing::{Answering, reply};
    use super::*;
    use crate::candidate::{Followed, Guided};
    use crate::gates::{Gate, Ratio, Rejection, Verdict};

    const EDIT: &str = "CHANGE: two for one\nblend.cu\n<<<<<<< SEARCH\nint one = 1;\n=======\n\
                        int one = 2;\n>>>>>>> REPLACE\n";

    fn history() -> History {
        let text = "int one = 1;\nint two = 2;\n";
        let files = [("blend.cu", text), ("sort.cu", "sort\n")];
        History {
            baseline: files.iter().map(|&(n, t)| (n.into(), t.into())).collect(),
            ..History::default()
        }
    }

    fn origin() -> Origin {
        Origin {
            number: 7,
            model: "coder".into(),
            guided: Guided::Planner,
            advice: Some(Followed {
                number: 3,
                what: "two for one".into(),
                predicted_percent: 5.0,
            }),
        }
    }

    fn assignment<'a>(origin: &'a Origin, parent: Option<&'a Judged>) -> Assignment<'a> {
        Assignment {
            origin,
            advice: None,
            parent,
            profile: None,
        }
    }

    /// The answers in turn, and the questions.
    fn written(
        history: &History,
        parent: Option<&Judged>,
        answers: &[&str],
    ) -> (Result<Candidate, String>, Vec<Request>) {
        let mut asked = Vec::new();
        let mut model = Answering(|request: &Request| {
            asked.push(request.clone());
            Ok(reply(answers[asked.len() - 1]))
        });
        let setting = Setting::new("the blend");
        let written = write(&mut model, &setting, history, assignment(&origin(), parent));
        (written.unwrap(), asked)
    }

    #[test]
    fn edits_become_a_candidate() {
        let (candidate, asked) = written(&history(), None, &[EDIT]);
        let candidate = candidate.unwrap();
        assert_eq!(candidate.described(), "try 7, advice 3: two for one");
        assert_eq!(candidate.origin, Some(origin()));
        assert_eq!(candidate.changed.len(), 1);
        assert_eq!(
            candidate.changed["blend.cu"],
            "int one = 2;\nint two = 2;\n"
        );
        assert_eq!(candidate.parents, []);
        assert_eq!((asked.len(), asked[0].number), (1, 7));
        let question = &asked[0].messages[1].content;
        assert!(question.contains("The files are the baseline."));
        assert!(question.contains("## sort.cu"));
    }

    #[test]
    fn a_failed_edit_goes_back_with_the_nearest_lines() {
        let wrong = EDIT.replace("int one = 1;", "int one = 5;");
        let (candidate, asked) = written(&history(), None, &[&wrong, "Sorry.", EDIT]);
        assert!(candidate.is_ok());
        let told = |at: usize| &asked[at].messages[asked[at].messages.len() - 1].content;
        assert!(
            told(1).contains("and the file has there\nint one = 1;"),
            "{}",
            told(1)
        );
        assert!(told(2).contains("no edit found"), "{}", told(2));
        assert_eq!(asked[2].messages.len(), 2 + 4);
        let nothing = EDIT.replace("int one = 2;", "int one = 1;");
        let (given_up, asked) = written(&history(), None, &[&nothing, &wrong, &nothing]);
        let line = given_up.unwrap_err();
        let says = "try 7, advice 3: no edit after 2 repairs: the edits change nothing";
        assert_eq!(line, says);
        assert_eq!(asked.len(), 3);
    }

    #[test]
    fn a_parent_is_shown_with_its_change_and_verdict() {
        let mut history = history();
        let (candidate, _) = written(&history, None, &[EDIT]);
        let judged = Judged {
            candidate: candidate.unwrap(),
            verdict: Verdict::Faster(Ratio {
                ratio: 0.8,
                low: 0.79,
                high: 0.81,
            }),
        };
        history.judged.push(judged.clone());
        let second = EDIT.replace("int one = 1;", "int two = 2;");
        let second = second.replace("int one = 2;", "int two = 3;");
        let (candidate, asked) = written(&history, Some(&judged), &[&second]);
        let candidate = candidate.unwrap();
        assert_eq!(candidate.parents, [judged.candidate.id()]);
        assert_eq!(
            candidate.changed["blend.cu"],
            "int one = 2;\nint two = 3;\n"
        );
        let question = &asked[0].messages[1].content;
        for part in [
            "-int one = 1;\n+int one = 2;",
            "it takes 0.8000 of the baseline's time",
            "Tried with this advice, latest first:\n\n- try 7, advice 3: two for one. Right",
        ] {
            assert!(question.contains(part), "{part}\n{question}");
        }
        // Back to the baseline is no candidate.
        let back =
            "blend.cu\n<<<<<<< SEARCH\nint one = 2;\n=======\nint one = 1;\n>>>>>>> REPLACE\n";
        let (given_up, _) = written(&history, Some(&judged), &[back; 3]);
        assert!(given_up.unwrap_err().contains("change nothing"));
    }

    #[test]
    fn a_compiler_s_log_reaches_the_coder() {
        let mut history = history();
        let (candidate, _) = written(&history, None, &[EDIT]);
        let judged = Judged {
            candidate: candidate.unwrap(),
            verdict: Verdict::Rejected(Rejection::new(Gate::Compile, "blend.cu(1): error: x")),
        };
        history.judged.push(judged.clone());
        let (_, asked) = written(&history, Some(&judged), &["no"; 3]);
        let question = &asked[0].messages[1].content;
        assert!(
            question.contains("Rejected (compile):\n\nblend.cu(1): error: x"),
            "{question}"
        );
    }
}
