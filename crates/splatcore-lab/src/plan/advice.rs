//! Advice and plans.

use super::json::{find, number, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Advice that a planner may give.
pub const MAX_ADVICE: usize = 12;

/// Signs of a field of an advice.
const MAX_TEXT: usize = 600;

/// What an advice is about, as far as rules ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// More resident warps: registers, shared memory, block size.
    Occupancy,
    /// Loads from device memory ahead of their use.
    Prefetch,
    /// Anything else.
    Other,
}

impl Kind {
    /// The kind that a planner names; without one, what the advice's own words suggest.
    fn of(named: &str, what: &str) -> Self {
        let what = what.to_lowercase();
        let holds = |words: &[&str]| words.iter().any(|word| what.contains(word));
        match named.to_lowercase().as_str() {
            "occupancy" => Self::Occupancy,
            "prefetch" => Self::Prefetch,
            "" if holds(&["occupancy", "launch_bounds", "block size"]) => Self::Occupancy,
            "" if holds(&["prefetch", "double-buffer", "double buffer", "cp.async"]) => {
                Self::Prefetch
            }
            _ => Self::Other,
        }
    }
}

/// One thing to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Its number, from 1, in the order in which the planner gave it.
    pub number: usize,
    /// What to change.
    pub what: String,
    /// Why it should be faster.
    pub why: String,
    /// Which metric would show it.
    pub watch: String,
    /// Files of the task that it changes; empty if the planner named none.
    pub files: Vec<String>,
    /// Percent of the frame's time that it should save.
    pub predicted_percent: f64,
    /// What it is about.
    pub kind: Kind,
}

impl Advice {
    /// The advice as a coder reads it.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("{}\n", self.what);
        for (name, part) in [("Why", &self.why), ("Watch", &self.watch)] {
            if !part.is_empty() {
                text.push_str(&format!("\n{name}: {part}\n"));
            }
        }
        if !self.files.is_empty() {
            text.push_str(&format!("\nFiles: {}\n", self.files.join(", ")));
        }
        text
    }
}

/// Who dropped an advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A rule.
    Rule,
    /// The planner, which has seen the profile.
    Planner,
}

/// An advice that is not followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// Number of the advice.
    pub number: usize,
    /// Who dropped it.
    pub by: By,
    /// Why.
    pub why: String,
}

/// All advice, and what is left of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// All advice, as the planner gave it.
    pub advice: Vec<Advice>,
    /// What is followed, predictions capped. Each has an island of the search.
    pub kept: Vec<Advice>,
    /// What is not, with reasons.
    pub dropped: Vec<Dropped>,
    /// What the profile says against predictions that were capped, and why advice was kept.
    pub notes: Vec<String>,
}

/// The advice in a planner's reply: a list of objects with `what` and, if the planner keeps to the
/// form, `why`, `watch`, `files`, `predicted_percent` and `kind`. At most [`MAX_ADVICE`]; files
/// that are none of the task's are left out.
pub fn read_advice(reply: &str, files: &[String]) -> Option<Vec<Advice>> {
    let list = |value: &Value| {
        let items = value.as_array()?;
        let read: Vec<Advice> = items
            .iter()
            .filter_map(|item| read_one(item, files))
            .take(MAX_ADVICE)
            .collect();
        (!read.is_empty()).then_some(read)
    };
    let mut advice = find(reply, list)?;
    for (number, advice) in (1..).zip(&mut advice) {
        advice.number = number;
    }
    Some(advice)
}

fn read_one(item: &Value, known: &[String]) -> Option<Advice> {
    let what = text(item, "what", MAX_TEXT);
    if what.is_empty() {
        return None;
    }
    let files = match item.get("files") {
        Some(Value::Array(files)) => files.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(file)) => vec![file.as_str()],
        _ => Vec::new(),
    };
    // Planners write paths.
    let names = files
        .iter()
        .map(|file| file.rsplit('/').next().unwrap_or(file));
    let files = names.filter(|name| known.iter().any(|known| known == name));
    Some(Advice {
        number: 0,
        kind: Kind::of(&text(item, "kind", 40), &what),
        why: text(item, "why", MAX_TEXT),
        watch: text(item, "watch", MAX_TEXT),
        files: files.map(str::to_owned).collect(),
        predicted_percent: number(item, "predicted_percent")
            .unwrap_or(0.0)
            .clamp(0.0, 100.0),
        what,
    })
}

/// Numbers and reasons of the advice to keep, and of that to drop, in a pruner's reply:
/// `{"keep": [{"advice": 3, "why": "..."}], "drop": [...]}`. Plain numbers will do.
pub fn read_choice(reply: &str) -> Option<[Vec<(usize, String)>; 2]> {
    let one = |value: &Value| {
        let number = value
            .as_u64()
            .map(|n| n as f64)
            .or_else(|| number(value, "advice"))?;
        (number >= 1.0).then(|| (number as usize, text(value, "why", MAX_TEXT)))
    };
    let list = |value: &Value, name: &str| -> Option<Vec<(usize, String)>> {
        let items = value.get(name)?.as_array()?;
        Some(items.iter().filter_map(one).collect())
    };
    find(reply, |value| {
        let keep = list(value, "keep").filter(|keep| !keep.is_empty())?;
        Some([keep, list(value, "drop").unwrap_or_default()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<String> {
        vec!["blend.cu".into()]
    }

    #[test]
    fn advice_is_read() {
        let reply = r#"Some ideas:
```json
{"advice": [
  {"what": "Features to shared memory", "why": "gathers", "watch": "L2 hits",
   "files": ["ops/blend/blend.cu", "secret.rs"], "predicted_percent": "11 %"},
  {"why": "no what"},
  {"what": "Double-buffer the fetch", "predicted_percent": 900},
  {"what": "Fewer registers", "kind": "occupancy", "files": "blend.cu"},
  {"what": "Unroll, at equal occupancy", "kind": "compute"}
]}
```"#;
        let advice = read_advice(reply, &files()).unwrap();
        assert_eq!(advice.len(), 4);
        assert_eq!(advice[0].files, files());
        assert_eq!(advice[0].predicted_percent, 11.0);
        assert_eq!((advice[1].number, advice[1].kind), (2, Kind::Prefetch));
        assert_eq!(advice[1].predicted_percent, 100.0);
        assert_eq!(advice[2].kind, Kind::Occupancy);
        assert_eq!(advice[3].kind, Kind::Other);
        let shown = advice[0].to_markdown();
        assert!(shown.starts_with("Features to shared memory\n\nWhy: gathers\n"));
        assert_eq!(read_advice("I have no advice.", &files()), None);
        let many = serde_json::json!(vec![serde_json::json!({"what": "x"}); 40]).to_string();
        assert_eq!(read_advice(&many, &files()).unwrap().len(), MAX_ADVICE);
        let long = format!("[{{\"what\": \"{}\"}}]", "x".repeat(100_000));
        assert_eq!(
            read_advice(&long, &files()).unwrap()[0].what.len(),
            MAX_TEXT
        );
    }

    #[test]
    fn choices_are_read() {
        let reply = r#"{"keep": [{"advice": 3, "why": "LSU"}, 1], "drop": [{"advice": "2"}]}"#;
        let [keep, drop] = read_choice(reply).unwrap();
        assert_eq!(keep, [(3, "LSU".to_owned()), (1, String::new())]);
        assert_eq!(drop, [(2, String::new())]);
        assert_eq!(read_choice(r#"{"keep": []}"#), None);
        assert_eq!(read_choice("keep 1"), None);
    }
}
