//! Reports of NVIDIA's compute-sanitizer, which checks what a card does. A worker runs under it
//! (`evaluate/sanitize.rs`); its lines begin with `=========`.

use super::{Gate, Rejection};

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Accesses outside buffers, or misaligned.
    Memcheck,
    /// Unordered accesses to shared memory.
    Racecheck,
    /// Barriers and warp operations that some threads miss.
    Synccheck,
}

impl Tool {
    /// All that the lab runs.
    pub const ALL: [Self; 3] = [Self::Memcheck, Self::Racecheck, Self::Synccheck];

    /// The value of `--tool`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
        }
    }

    /// The gate that its findings belong to.
    pub fn gate(self) -> Gate {
        match self {
            Self::Memcheck => Gate::Memory,
            Self::Racecheck | Self::Synccheck => Gate::Races,
        }
    }
}

/// The line that begins a report's lines.
const MARK: &str = "=========";
/// Lines of a finding that a rejection quotes: what, where, by which thread.
const QUOTED: usize = 3;

/// Reads a report: `Ok` holds the first finding, if there is one.
///
/// # Errors
/// If the report has no end: the tool did not come so far, and nothing is known.
pub fn read(tool: Tool, report: &str) -> Result<Option<Rejection>, String> {
    let lines: Vec<&str> = report
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix(MARK))
        .collect();
    let summary = lines.iter().rev().find(|line| line.contains("SUMMARY:"));
    let Some(summary) = summary.map(|line| line.trim()) else {
        let last = lines.last().map_or("", |line| line.trim());
        let name = tool.name();
        return Err(format!("{name}: its report has no summary ('{last}')"));
    };
    // `ERROR SUMMARY: 3 errors`, `RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)`
    let (_, counts) = summary.split_once(':').unwrap_or_default();
    let mut numbers = counts
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    let Some(first) = numbers.next() else {
        return Err(format!("{}: '{summary}' has no count", tool.name()));
    };
    if first.bytes().all(|digit| digit == b'0') {
        return Ok(None);
    }
    // The banner names the program; notes have no place behind them.
    let is_banner = |line: &str| line == "COMPUTE-SANITIZER" || line.contains("SUMMARY:");
    let said: Vec<&str> = lines
        .iter()
        .map(|line| line.trim())
        .skip_while(|line| line.is_empty() || is_banner(line))
        .take_while(|line| !line.is_empty() && !is_banner(line))
        .take(QUOTED)
        .collect();
    let reason = format!("{}: {}; {summary}", tool.name(), said.join(", "));
    Ok(Some(Rejection::new(tool.gate(), reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: &str = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at blend+0x160 in blend_scalar.cu:95
=========     by thread (3,0,0) in block (2,0,0)
=========     Address 0x7f6510c00400 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========
========= ERROR SUMMARY: 2 errors
";
    const RACE: &str = "\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at blend+0x1f0 in blend_scalar.cu:40
=========     and Read access at blend+0x2a0 in blend_scalar.cu:52 [1024 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
";
    const DIVERGENT: &str = "\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at blend+0x90
=========
========= ERROR SUMMARY: 1 error
";

    #[test]
    fn a_finding_is_the_gate_s_rejection() {
        let found = |tool, report| read(tool, report).unwrap().unwrap().to_string();
        assert_eq!(
            found(Tool::Memcheck, WRITE),
            "memory: memcheck: Invalid __global__ write of size 4 bytes, at blend+0x160 in \
             blend_scalar.cu:95, by thread (3,0,0) in block (2,0,0); ERROR SUMMARY: 2 errors"
        );
        let race = found(Tool::Racecheck, RACE);
        assert!(
            race.starts_with("races: racecheck: Error: Race reported"),
            "{race}"
        );
        let divergent = found(Tool::Synccheck, DIVERGENT);
        assert!(
            divergent.starts_with("races: synccheck: Barrier error"),
            "{divergent}"
        );
    }

    #[test]
    fn a_report_without_findings_passes_and_one_without_an_end_says_nothing() {
        let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(read(Tool::Memcheck, clean), Ok(None));
        let clean = "========= COMPUTE-SANITIZER\n\
                     ========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert_eq!(read(Tool::Racecheck, clean), Ok(None));
        let (cut, _) = WRITE.split_at(WRITE.len() / 2);
        for report in [cut, "", "no report", "========= ERROR SUMMARY:"] {
            assert!(read(Tool::Memcheck, report).is_err(), "{report}");
        }
    }
}
