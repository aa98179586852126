//! Reads what `ncu --csv` prints: one row a metric (`--page details`), one row a metric over all
//! launches (`--print-summary per-kernel`), or one row a launch (`--page raw`).

use super::data::Metrics;
use std::collections::BTreeMap;

/// Why a text is none of the three.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NcuError {
    /// There is no header.
    #[error("no header with \"Kernel Name\": make the file by ncu --csv")]
    NoHeader,
    /// A row has other columns than the header.
    #[error("line {line}: {have} columns, the header has {wanted}: the file is cut off or edited")]
    Columns {
        /// Counted from 1.
        line: usize,
        /// Columns of the row.
        have: usize,
        /// Columns of the header.
        wanted: usize,
    },
    /// Nothing that a profile holds.
    #[error("no metric that a profile holds: profile with ncu --set full")]
    NoMetric,
}

/// Metrics by kernel name, the mean over launches of a kernel. Other lines of the program's output
/// are passed over.
///
/// # Errors
/// See [`NcuError`].
pub fn read_ncu(text: &str) -> Result<BTreeMap<String, Metrics>, NcuError> {
    let mut lines = (1..).zip(text.lines());
    let header = lines
        .by_ref()
        .map(|(_, line)| columns(line))
        .find(|names| names.iter().any(|name| name == "Kernel Name"))
        .ok_or(NcuError::NoHeader)?;
    let at = |name: &str| header.iter().position(|column| column == name);
    let kernel = at("Kernel Name").ok_or(NcuError::NoHeader)?;
    let long = at("Metric Name").zip(at("Metric Value").or(at("Average")));
    let unit_column = at("Metric Unit");
    let mut sums = BTreeMap::<(String, Place), (f64, u32)>::new();
    let mut add = |name: &str, metric: &str, unit: &str, value: &str| {
        let place = Place::of(metric, unit);
        if let (Some((place, scale)), Some(value)) = (place, number(value)) {
            let sum = sums.entry((name.to_owned(), place)).or_default();
            *sum = (sum.0 + value * scale, sum.1 + 1);
        }
    };
    let mut units = Vec::new();
    for (line, content) in lines {
        if !content.starts_with('"') && !content.contains(',') {
            continue;
        }
        let row = columns(content);
        if row.len() != header.len() {
            // Lines of the profiled program may stand between.
            if !content.starts_with('"') {
                continue;
            }
            return Err(NcuError::Columns {
                line,
                have: row.len(),
                wanted: header.len(),
            });
        }
        let name = base_name(&row[kernel]);
        match long {
            Some((metric, value)) => {
                let unit = unit_column.map_or("", |at| row[at].as_str());
                add(name, &row[metric], unit, &row[value]);
            }
            // The raw page: the first row holds units.
            None if units.is_empty() => units = row,
            None => {
                for at in 0..row.len() {
                    add(name, &header[at], &units[at], &row[at]);
                }
            }
        }
    }
    let mut found = BTreeMap::<String, Metrics>::new();
    for ((name, place), (sum, count)) in sums {
        place.put(found.entry(name).or_default(), sum / f64::from(count));
    }
    match found.is_empty() {
        true => Err(NcuError::NoMetric),
        false => Ok(found),
    }
}

/// Where a metric belongs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Duration,
    TheoreticalOccupancy,
    AchievedOccupancy,
    LimitWarps,
    LimitRegisters,
    LimitShared,
    CyclesPerIssue,
    Compute,
    Dram,
    L2,
    L2Hit,
    Stall(String),
    Pipe(String),
}

impl Place {
    /// The place of a metric, by its name on the raw page or on the details page, and what its
    /// value is multiplied by.
    fn of(metric: &str, unit: &str) -> Option<(Self, f64)> {
        let percent = unit == "%";
        let place = match metric {
            "Duration" | "gpu__time_duration.sum" | "gpu__time_duration.avg" => {
                return Some((Self::Duration, microseconds(unit)?));
            }
            "Theoretical Occupancy" | "sm__maximum_warps_per_active_cycle_pct" => {
                Self::TheoreticalOccupancy
            }
            "Achieved Occupancy" | "sm__warps_active.avg.pct_of_peak_sustained_active" => {
                Self::AchievedOccupancy
            }
            "Block Limit Warps" | "launch__occupancy_limit_warps" => Self::LimitWarps,
            "Block Limit Registers" | "launch__occupancy_limit_registers" => Self::LimitRegisters,
            "Block Limit Shared Mem" | "launch__occupancy_limit_shared_mem" => Self::LimitShared,
            "Warp Cycles Per Issued Instruction"
            | "smsp__average_warp_latency_per_inst_issued.ratio" => Self::CyclesPerIssue,
            "Compute (SM) Throughput" | "sm__throughput.avg.pct_of_peak_sustained_elapsed" => {
                Self::Compute
            }
            "DRAM Throughput" if percent => Self::Dram,
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
            | "dram__throughput.avg.pct_of_peak_sustained_elapsed" => Self::Dram,
            "L2 Cache Throughput" if percent => Self::L2,
            "lts__throughput.avg.pct_of_peak_sustained_elapsed" => Self::L2,
            "L2 Hit Rate" | "lts__t_sector_hit_rate.pct" => Self::L2Hit,
            other => Self::named(other)?,
        };
        Some((place, 1.0))
    }

    /// Metrics whose names hold a part: stalls and pipelines.
    fn named(metric: &str) -> Option<Self> {
        let between = |start: &str, end: &str| {
            let rest = metric.strip_prefix(start)?;
            rest.find(end).map(|at| rest[..at].to_owned())
        };
        if let Some(reason) = metric.strip_prefix("Stall ") {
            return Some(Self::Stall(reason.to_lowercase().replace(' ', "_")));
        }
        let stall = between("smsp__average_warps_issue_stalled_", "_per_issue_active");
        let pipe = || {
            let peak = metric.ends_with(".avg.pct_of_peak_sustained_active");
            between("sm__inst_executed_pipe_", ".").filter(|_| peak)
        };
        stall.map(Self::Stall).or_else(|| pipe().map(Self::Pipe))
    }

    fn put(self, metrics: &mut Metrics, value: f64) {
        let field = match self {
            Self::Duration => &mut metrics.duration_us,
            Self::TheoreticalOccupancy => &mut metrics.theoretical_occupancy,
            Self::AchievedOccupancy => &mut metrics.achieved_occupancy,
            Self::LimitWarps => &mut metrics.block_limit_warps,
            Self::LimitRegisters => &mut metrics.block_limit_registers,
            Self::LimitShared => &mut metrics.block_limit_shared,
            Self::CyclesPerIssue => &mut metrics.cycles_per_issue,
            Self::Compute => &mut metrics.compute_percent,
            Self::Dram => &mut metrics.dram_percent,
            Self::L2 => &mut metrics.l2_percent,
            Self::L2Hit => &mut metrics.l2_hit_percent,
            Self::Stall(name) => {
                metrics.stalls.insert(name, value);
                return;
            }
            Self::Pipe(name) => {
                metrics.pipes.insert(name, value);
                return;
            }
        };
        *field = Some(value);
    }
}

/// Microseconds of a unit, by its names in old and new versions.
fn microseconds(unit: &str) -> Option<f64> {
    match unit {
        "nsecond" | "ns" => Some(1e-3),
        "usecond" | "us" => Some(1.0),
        "msecond" | "ms" => Some(1e3),
        "second" | "s" => Some(1e6),
        _ => None,
    }
}

/// A kernel's name without return type, namespaces, template arguments and parameters.
fn base_name(name: &str) -> &str {
    let name = name.split(['(', '<']).next().unwrap_or(name).trim();
    let name = name.rsplit([' ', ':']).next().unwrap_or(name);
    name.trim()
}

/// A number, also `1,234.5`. Absent values are `n/a` or empty.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.replace(',', "").trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// The columns of a line: quotes hold commas, two quotes are one.
fn columns(line: &str) -> Vec<String> {
    let (mut found, mut column, mut quoted) = (Vec::new(), String::new(), false);
    let mut signs = line.trim_end().chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => {
                signs.next();
                column.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(std::mem::take(&mut column)),
            other => column.push(other),
        }
    }
    found.push(column);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the paper's Table II, MipNeRF360, in the layout of the details page.
    const DETAILS: &str = r#"==PROF== Connected to process 7
backend: cuda, 3 frames
"ID","Kernel Name","Block Size","Section Name","Metric Name","Metric Unit","Metric Value"
"0","blend(const float *)","(256,1,1)","Occupancy","Theoretical Occupancy","%","100"
"0","blend(const float *)","(256,1,1)","Occupancy","Achieved Occupancy","%","95.00"
"1","blend(const float *)","(256,1,1)","Occupancy","Achieved Occupancy","%","95.50"
"0","blend(const float *)","(256,1,1)","Occupancy","Block Limit Warps","block","6"
"0","blend(const float *)","(256,1,1)","Memory","DRAM Throughput","%","4.5"
"0","blend(const float *)","(256,1,1)","Memory","DRAM Throughput","Gbyte/second","12"
"0","blend(const float *)","(256,1,1)","Speed","Duration","nsecond","4,710,000"
"0","blend(const float *)","(256,1,1)","Warps","Warp Cycles Per Issued Instruction","","12.95"
"0","blend(const float *)","(256,1,1)","Warps","Stall Not Selected","warp","4.21"
"0","blend(const float *)","(256,1,1)","Warps","L2 Hit Rate","%","n/a"
==PROF== Disconnected
"#;

    #[test]
    fn the_details_page_is_read() {
        let blend = &read_ncu(DETAILS).unwrap()["blend"];
        assert_eq!(blend.theoretical_occupancy, Some(100.0));
        assert_eq!(blend.achieved_occupancy, Some(95.25));
        assert_eq!(blend.block_limit_warps, Some(6.0));
        assert_eq!(blend.dram_percent, Some(4.5));
        assert_eq!(blend.duration_us, Some(4710.0));
        assert_eq!(blend.cycles_per_issue, Some(12.95));
        assert_eq!(blend.stalls["not_selected"], 4.21);
        assert_eq!(blend.l2_hit_percent, None);
    }

    #[test]
    fn the_raw_page_is_read() {
        let stall = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio";
        let pipe = "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active";
        let text = format!(
            "\"ID\",\"Kernel Name\",\"{stall}\",\"{pipe}\",\"gpu__time_duration.sum\"\n\
             \"\",\"\",\"inst\",\"%\",\"us\"\n\
             \"0\",\"void ns::blend<(int)3>(float)\",\"1.45\",\"57.1\",\"1,000.5\"\n\
             \"1\",\"sort\",\"0.5\",\"12\",\"10\"\n"
        );
        let read = read_ncu(&text).unwrap();
        assert_eq!(read["blend"].stalls["barrier"], 1.45);
        assert_eq!(read["blend"].busiest().unwrap().name, "alu");
        assert_eq!(read["blend"].duration_us, Some(1000.5));
        assert_eq!(read["sort"].pipes["alu"], 12.0);
    }

    #[test]
    fn the_summary_is_read() {
        let text = "\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\
                    \"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n\
                    \"7\",\"blend\",\"Occupancy\",\"Achieved Occupancy\",\"%\",\"1\",\"3\",\
                    \"2\"\n";
        assert_eq!(
            read_ncu(text).unwrap()["blend"].achieved_occupancy,
            Some(2.0)
        );
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(read_ncu("==ERROR=="), Err(NcuError::NoHeader));
        let header = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
        assert_eq!(read_ncu(header), Err(NcuError::NoMetric));
        let torn = format!("{header}\"0\",\"blend\",\"Achie");
        let wanted = NcuError::Columns {
            line: 2,
            have: 3,
            wanted: 5,
        };
        assert_eq!(read_ncu(&torn), Err(wanted));
    }
}
