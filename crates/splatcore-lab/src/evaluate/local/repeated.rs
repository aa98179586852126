//! Times alone, for those who ask how sure a verdict is.

use super::{Local, Stop};
use crate::candidate::Texts;
use crate::evaluate::Broken;
use crate::gates::Verdict;
use crate::journal::Series;

impl Local<'_> {
    /// Times kernels beside the baseline's, in a worker of their own, until the verdict falls. No
    /// gate is met.
    ///
    /// # Errors
    /// If they cannot be timed here.
    pub fn compare(&mut self, changed: &Texts) -> Result<(Vec<Series>, Verdict), Broken> {
        self.evaluated += 1;
        self.timed(changed).map_err(broken)
    }

    /// How much processes of the baseline differ: [`crate::timing::margin`], measured when it is
    /// first wanted.
    ///
    /// # Errors
    /// If the baseline cannot be timed here.
    pub fn process_margin(&mut self) -> Result<f64, Broken> {
        self.margin().map_err(broken)
    }
}

fn broken(stop: Stop) -> Broken {
    Broken(format!("times: {stop}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::shells::Shells;
    use super::*;
    use crate::timing::PROCESSES;

    /// Says that it is ready, and adds a line to a file: how many kernel files it was given.
    const SCRIPT: &str = r#"ls "$1" | wc -l >> "$0"
        echo '{"answer":"ready","device":"a shell","sandbox":"none"}'
        while read line; do echo '{"answer":"done"}'; done"#;

    /// A worker that has rendered for long may be a little faster, or slower, than a new one, and
    /// the first of all than the next.
    #[test]
    fn all_workers_of_a_comparison_are_new_and_no_side_starts_first() {
        let folder = tempfile::tempdir().unwrap();
        let started = folder.path().join("started");
        let shells = Shells::new(SCRIPT, &started);
        // Without scenes every round is even.
        let mut local = shells.local(vec![]);
        // Files of each worker's kernels, in the order of their starts.
        let take_started = || {
            let text = std::fs::read_to_string(&started).unwrap();
            std::fs::remove_file(&started).unwrap();
            let lines = text.lines().map(|line| line.trim().to_owned());
            lines.collect::<String>()
        };
        assert_eq!(local.process_margin().unwrap(), 0.0);
        assert_eq!(take_started(), "0000".repeat(PROCESSES));
        let changed = Texts::from([("blend.cu".to_owned(), "// changed".to_owned())]);
        let mut orders = Vec::new();
        for _ in 0..8 {
            let (_, verdict) = local.compare(&changed).unwrap();
            assert!(matches!(verdict, Verdict::Untimed), "{verdict}");
            orders.push(take_started());
        }
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders, ["0110", "1001"]);
    }
}
