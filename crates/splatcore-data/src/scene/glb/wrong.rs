//! What is wrong with a file, and what there is to say of one that is read.

const AGAIN: &str = "the file is damaged or of another kind: get or export it again";

/// What is wrong with a file: becomes an error of the crate once the path is known.
#[derive(Debug)]
pub struct Wrong {
    /// A part of the JSON such as "mesh 2"; empty for the file.
    pub place: String,
    pub problem: String,
    pub remedy: &'static str,
}

impl Wrong {
    /// A damaged file.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::with(place, problem, AGAIN)
    }

    /// Another remedy.
    pub fn with(
        place: impl Into<String>,
        problem: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
            remedy,
        }
    }
}

/// What a user may want to know, each line once.
#[derive(Default)]
pub struct Notes {
    pub lines: Vec<String>,
}

impl Notes {
    /// Adds a line.
    pub fn add(&mut self, line: impl Into<String>) {
        let line = line.into();
        // A file may repeat itself, and may make up new lines.
        if self.lines.len() < 20 && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }
}
