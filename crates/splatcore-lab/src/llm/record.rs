//! The record of an experiment's exchanges: one line of JSON each, append-only.
//!
//! What is on record is never asked again: a run that was killed goes on from the record as if it
//! had not been. A record is also a transcript for [`super::replay`] and
//! [`super::server`].

use super::endpoint::Price;
use super::model::{ModelError, Reply, Request};
use crate::candidate::Bill;
use crate::journal::lock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A question, its answer, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// [`Request::hash`] of the request.
    pub hash: String,
    /// The question.
    pub request: Request,
    /// The answer.
    pub reply: Reply,
    /// The price of tokens at that time, if it was known.
    pub price: Option<Price>,
    /// What was paid, in the currency of the price; unknown without a price.
    pub cost: Option<f64>,
    /// Seconds from question to answer.
    pub seconds: f64,
}

impl Exchange {
    /// An exchange at these prices.
    pub fn new(request: Request, reply: Reply, price: Option<Price>, seconds: f64) -> Self {
        Self {
            hash: request.hash(),
            cost: price.map(|price| price.of(reply.usage)),
            request,
            reply,
            price,
            seconds,
        }
    }

    /// For the journal.
    pub fn bill(&self) -> Bill {
        let (by, usage) = (&self.reply.by, self.reply.usage);
        Bill {
            request: self.hash.clone(),
            role: self.request.role.to_string(),
            number: self.request.number,
            id: None,
            model: by.model.clone(),
            version: by.version.clone(),
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            estimated: usage.estimated,
            cost: self.cost,
            seconds: self.seconds,
        }
    }
}

/// An experiment's exchanges, in a file that nobody else writes meanwhile.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: File,
    exchanges: Vec<Exchange>,
    by_hash: BTreeMap<String, usize>,
}

impl Record {
    /// Opens a record, or begins one. A last line that a kill left unfinished is removed.
    ///
    /// # Errors
    /// [`ModelError::File`] if the file cannot be written, another run holds it, or a line is no
    /// exchange or was changed.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ModelError> {
        let path = path.into();
        let failed = |error: std::io::Error| file_error(&path, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        let others = || {
            ModelError::File(format!(
                "{}: another run of this experiment writes here: wait for it or end it",
                path.display()
            ))
        };
        lock(&file).ok_or_else(others)?;
        let text = std::fs::read(&path).map_err(failed)?;
        let (exchanges, whole) = parse(&path, &text)?;
        if whole < text.len() {
            file.set_len(whole as u64).map_err(failed)?;
            file.sync_all().map_err(failed)?;
        }
        if text.is_empty() {
            sync_folder(&path).map_err(failed)?;
        }
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut by_hash = BTreeMap::new();
        for (at, exchange) in exchanges.iter().enumerate() {
            by_hash.entry(exchange.hash.clone()).or_insert(at);
        }
        Ok(Self {
            path,
            file,
            exchanges,
            by_hash,
        })
    }

    /// All exchanges, oldest first.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The exchange of a request.
    pub fn find(&self, hash: &str) -> Option<&Exchange> {
        self.by_hash.get(hash).map(|&at| &self.exchanges[at])
    }

    /// Adds an exchange. It is on disk when this returns.
    ///
    /// # Errors
    /// [`ModelError::File`] if the file cannot be written.
    pub fn append(&mut self, exchange: Exchange) -> Result<(), ModelError> {
        let failed = |error: std::io::Error| file_error(&self.path, &error);
        let mut line = serde_json::to_string(&exchange).map_err(|error| failed(error.into()))?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(failed)?;
        self.file.sync_data().map_err(failed)?;
        let at = self.exchanges.len();
        self.by_hash.entry(exchange.hash.clone()).or_insert(at);
        self.exchanges.push(exchange);
        Ok(())
    }
}

/// The exchanges of a record that is only read.
///
/// # Errors
/// [`ModelError::File`] if it cannot be read, or a line is no exchange or was changed.
pub fn read(path: &Path) -> Result<Vec<Exchange>, ModelError> {
    let text = std::fs::read(path).map_err(|error| file_error(path, &error))?;
    Ok(parse(path, &text)?.0)
}

/// Exchanges, and the length of the text that holds them: a last line may be unfinished.
fn parse(path: &Path, text: &[u8]) -> Result<(Vec<Exchange>, usize), ModelError> {
    let whole = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let mut exchanges = Vec::new();
    for (number, line) in (1..).zip(text[..whole].split_inclusive(|&byte| byte == b'\n')) {
        let wrong = |what: &str| {
            ModelError::File(format!(
                "{}, line {number}: {what}: restore the file, or begin a new experiment",
                path.display()
            ))
        };
        let exchange: Exchange = serde_json::from_slice(line)
            .map_err(|error| wrong(&format!("no exchange ({error})")))?;
        if exchange.request.hash() != exchange.hash {
            return Err(wrong("the request is not the one that was recorded"));
        }
        exchanges.push(exchange);
    }
    Ok((exchanges, whole))
}

fn file_error(path: &Path, error: &std::io::Error) -> ModelError {
    ModelError::File(format!("{}: {error}", path.display()))
}

/// Makes the name of a new file as lasting as its content.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::exchange;
    use super::*;

    fn in_folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llm.jsonl");
        (folder, path)
    }

    #[test]
    fn what_was_appended_is_found_again() {
        let (_folder, path) = in_folder();
        let mut record = Record::open(&path).unwrap();
        for number in 0..3 {
            record
                .append(exchange(number, "question", "answer\n\"x\""))
                .unwrap();
        }
        drop(record);
        let record = Record::open(&path).unwrap();
        assert_eq!(record.exchanges().len(), 3);
        assert_eq!(
            record.exchanges()[2].request.parameters["top_p"],
            1.0 - f64::EPSILON
        );
        let wanted = exchange(1, "question", "answer\n\"x\"");
        assert_eq!(record.find(&wanted.hash), Some(&wanted));
        assert_eq!(record.find("0"), None);
        assert_eq!(read(&path).unwrap(), record.exchanges());
    }

    #[test]
    fn a_kill_in_the_middle_of_a_line_loses_that_line_only() {
        let (_folder, path) = in_folder();
        let mut record = Record::open(&path).unwrap();
        record.append(exchange(0, "first", "a")).unwrap();
        let kept = std::fs::read(&path).unwrap();
        record.append(exchange(1, "second", "b")).unwrap();
        drop(record);
        let all = std::fs::read(&path).unwrap();
        for length in kept.len()..all.len() {
            std::fs::write(&path, &all[..length]).unwrap();
            assert_eq!(read(&path).unwrap().len(), 1);
            let mut record = Record::open(&path).unwrap();
            assert_eq!(record.exchanges().len(), 1, "{length} bytes");
            record.append(exchange(1, "second", "b")).unwrap();
            drop(record);
            assert_eq!(std::fs::read(&path).unwrap(), all);
        }
    }

    #[test]
    fn a_line_that_was_changed_is_refused() {
        let (_folder, path) = in_folder();
        let mut record = Record::open(&path).unwrap();
        record.append(exchange(0, "first", "a")).unwrap();
        record.append(exchange(1, "other", "b")).unwrap();
        drop(record);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("other", "another", 1)).unwrap();
        let error = Record::open(&path).unwrap_err().to_string();
        assert!(error.contains("line 2: the request is not"), "{error}");
        std::fs::write(&path, "{}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("line 1: no exchange"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }

    #[test]
    fn two_runs_cannot_write_one_record() {
        let (_folder, path) = in_folder();
        let first = Record::open(&path).unwrap();
        let error = Record::open(&path).unwrap_err().to_string();
        assert!(error.contains("another run"), "{error}");
        drop(first);
        assert!(Record::open(&path).is_ok());
    }
}
