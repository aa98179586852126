//! The lab's tools.

use super::client::Client;
use super::protocol::Tools;
use crate::campaign::{Session, Watch};
use crate::candidate::{Candidate, Edit, Guided, Operator, Origin, Texts, apply, parse};
use crate::evaluate::Evaluator;
use crate::gates::Verdict;
use crate::propose::Judged;
use serde_json::{Value, json};

/// An experiment, at a client's service.
pub struct Desk<'a, 'b> {
    session: &'a mut Session<'b>,
    evaluator: &'a mut dyn Evaluator,
    watch: &'a mut dyn Watch,
    profile: String,
    client: Client,
}

/// The tools of `tools/list`.
pub fn tools() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    json!([
        {
            "name": "task",
            "description": "What is to be made faster: pipeline, scenes, files that may be \
                            changed, what every change is held to, and the profile.",
            "inputSchema": {"type": "object", "properties": {}},
        },
        {
            "name": "read_file",
            "description": "The text of a kernel file.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "file": text("its name, as `task` gives it"),
                    "candidate": text("whose text: a candidate's; the baseline's if left out"),
                },
                "required": ["file"],
            },
        },
        {
            "name": "propose",
            "description": "Judge a change: every gate, then its time beside the baseline's. \
                            Takes seconds to minutes.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "about": text("one line on what is changed and why it should be faster"),
                    "edits": text("for each edit a line with the file's name, then <<<<<<< SEARCH, \
                                   lines that stand in the file once, =======, the lines to put \
                                   there, >>>>>>> REPLACE"),
                    "parent": text("the candidate that the edits are of; the baseline if left out"),
                    "model": text("the model that you are, for the record"),
                    "version": text("its version, for the record"),
                    "tokens_in": count("tokens that you read since your last judged proposal, for \
                                        the record; estimated if left out"),
                    "tokens_out": count("tokens that you wrote since then, thoughts included"),
                },
                "required": ["about", "edits"],
            },
        },
        {
            "name": "candidates",
            "description": "Every candidate so far with its verdict, the fastest first.",
            "inputSchema": {"type": "object", "properties": {}},
        },
    ])
}

const RULES: &str = "\
Every change is held to this, in this order, and the first gate that it does not pass rejects it:
- only the files above; kernel text only: no includes, no host code, no new kernels, no clocks;
- names and parameters of kernels and structs stay, `begin_kernel();` stays the first statement;
- no variable that outlives a launch, no new test of EMULATED, COUNT or the size of the image;
- images, transmittance, inverse depth and gradients are those of the reference on scenes drawn
  anew; images are at most 0.05 dB less exact than the baseline's beyond what chance explains, in
  any view (0.5 dB with it) and in their mean, gradients at most a tenth;
- the same bits twice; no race, no barrier that some threads miss, no access outside a buffer.
Then whole frames are timed beside the baseline's, from cameras that move.";

impl<'a, 'b> Desk<'a, 'b> {
    /// Serves a session's experiment. `profile` is what is known of the baseline: stages,
    /// resources, counts.
    pub fn new(
        session: &'a mut Session<'b>,
        evaluator: &'a mut dyn Evaluator,
        watch: &'a mut dyn Watch,
        profile: String,
    ) -> Self {
        Self {
            session,
            evaluator,
            watch,
            profile,
            client: Client::new(),
        }
    }

    fn task(&self) -> String {
        let experiment = &self.session.folder().experiment;
        let scenes: Vec<&str> = experiment
            .scenes
            .search
            .iter()
            .map(|s| s.model.as_str())
            .collect();
        format!(
            "Pipeline {}, a {}, on {}.\nFiles that may be changed: {}\n\n{RULES}\n\n{}",
            experiment.task.pipeline,
            match experiment.task.workload {
                crate::experiment::Workload::Frame => "frame",
                crate::experiment::Workload::Step => "step of training",
            },
            match scenes.is_empty() {
                true => "no scene: nothing is timed".to_owned(),
                false => scenes.join(", "),
            },
            experiment.task.files.join(", "),
            self.profile
        )
    }

    fn find(&self, id: &str) -> Result<&Judged, String> {
        let found = self.session.state().history.named(id);
        found.map_err(|error| format!("{error}; `candidates` lists them"))
    }

    /// The task's files as a candidate has them.
    fn texts(&self, candidate: Option<&str>) -> Result<Texts, String> {
        let history = &self.session.state().history;
        match candidate {
            None => Ok(history.baseline.clone()),
            Some(id) => Ok(history.texts_of(&self.find(id)?.candidate)),
        }
    }

    fn read(&self, arguments: &Value) -> Result<String, String> {
        let texts = self.texts(word(arguments, "candidate"))?;
        let file = word(arguments, "file").ok_or("give the file's name")?;
        texts.get(file).cloned().ok_or_else(|| {
            let known: Vec<&str> = texts.keys().map(String::as_str).collect();
            format!("{file} is none of the task's files: {}", known.join(", "))
        })
    }

    fn propose(&mut self, arguments: &Value) -> Result<String, String> {
        if let Some(reason) = self.session.ends(self.watch) {
            return Err(format!("the experiment is over: {reason}"));
        }
        let about = word(arguments, "about").ok_or("say in `about` what is changed")?;
        let edits = word(arguments, "edits").ok_or("give `edits`")?;
        let parent = word(arguments, "parent");
        let edits: Vec<Edit> = parse(edits).map_err(|error| error.to_string())?;
        let mut changed = apply(&self.texts(parent)?, &edits).map_err(|error| error.to_string())?;
        let baseline = &self.session.state().history.baseline;
        changed.retain(|name, text| baseline.get(name) != Some(text));
        if changed.is_empty() {
            return Err("the edits change nothing".into());
        }
        let parents = match parent {
            Some(id) => vec![self.find(id)?.candidate.id()],
            None => vec![],
        };
        let number = self.session.state().history.proposed;
        let bill = self.client.bill(number, arguments)?;
        let candidate = Candidate {
            parents,
            operator: Operator::Llm,
            origin: Some(Origin {
                number,
                model: bill.model.clone().unwrap_or_else(|| "agent".into()),
                guided: Guided::Agent,
                advice: None,
            }),
            changed,
            about: about.lines().next().unwrap_or_default().to_owned(),
        };
        let id = candidate.id();
        if let Some(judged) = self.session.state().history.find(&id) {
            return Ok(format!(
                "candidate {id} was proposed before: {}",
                judged.verdict
            ));
        }
        self.session
            .answered(bill)
            .and_then(|()| self.session.submit(candidate, self.evaluator, self.watch))
            .map_err(|error| error.to_string())?;
        self.client.judged();
        let state = self.session.state();
        let Some(judged) = state.history.find(&id) else {
            return Err(format!("candidate {id} has no verdict"));
        };
        let mut answer = format!("candidate {id}: {}", judged.verdict);
        for (kernel, takes) in state.resources.get(&id).into_iter().flatten() {
            answer.push_str(&format!("\n{kernel}: {takes}"));
        }
        Ok(answer)
    }

    fn candidates(&self) -> String {
        let state = self.session.state();
        let looked = |j: &Judged| state.looked.get(&j.candidate.id()).copied();
        let ratio = |j: &Judged| match (&j.verdict, j.verdict.ratio()) {
            (_, Some(ratio)) => ratio.ratio,
            (Verdict::Untimed, None) => looked(j).unwrap_or(f64::INFINITY),
            _ => f64::INFINITY,
        };
        let mut judged: Vec<&Judged> = state.history.judged.iter().collect();
        judged.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let lines = judged.iter().map(|j| {
            let (id, verdict, about) = (j.candidate.id(), &j.verdict, j.candidate.described());
            let parents = j.candidate.parents.iter();
            let of: String = parents.map(|parent| format!(" (of {parent})")).collect();
            match looked(j).filter(|_| j.verdict == Verdict::Untimed) {
                Some(ratio) => {
                    format!("{id}{of} {ratio:.4} of the baseline's time at a first look: {about}\n")
                }
                None => format!("{id}{of} {verdict}: {about}\n"),
            }
        });
        let lines: String = lines.collect();
        match lines.is_empty() {
            true => "none yet".into(),
            false => lines,
        }
    }
}

impl Tools for Desk<'_, '_> {
    fn list(&self) -> Value {
        tools()
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Option<Result<String, String>> {
        let answer = match name {
            "task" => Ok(self.task()),
            "read_file" => self.read(arguments),
            "propose" => self.propose(arguments),
            "candidates" => Ok(self.candidates()),
            _ => return None,
        };
        let (Ok(text) | Err(text)) = &answer;
        self.client.told(text);
        Some(answer)
    }
}

fn word<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
