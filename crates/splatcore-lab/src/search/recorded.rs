//! A space whose points were all measured, in Kernel Tuner's formats.
//!
//! *Cache*: what Kernel Tuner (van Werkhoven 2019; version 1.5.0) writes while it tunes and
//! replays in its simulation mode. *T4*: the results format of the autotuning community
//! (schema 1.0.0), which Kernel Tuner and autotuning_methodology read.

use super::space::{Axis, Config, Space, SpaceError, Value};
use super::trials::Outcome;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Why a point has no time. The names are those of T4's `invalidity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// It did not end in time.
    Timeout,
    /// It did not compile.
    Compile,
    /// It did not run.
    Runtime,
    /// It computed something else.
    Correctness,
    /// It asks for more than the device has.
    Constraints,
}

impl Failure {
    /// The name in a cache, which tells fewer kinds apart.
    fn cache_name(self) -> &'static str {
        match self {
            Self::Compile => "CompilationFailedConfig",
            Self::Timeout | Self::Runtime | Self::Correctness => "RuntimeFailedConfig",
            Self::Constraints => "InvalidConfig",
        }
    }

    fn of_cache_name(name: &str) -> Option<Self> {
        Some(match name {
            "CompilationFailedConfig" => Self::Compile,
            "RuntimeFailedConfig" | "ErrorConfig" => Self::Runtime,
            "InvalidConfig" => Self::Constraints,
            _ => return None,
        })
    }
}

/// What was measured of a point. All times in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The objective, or why there is none.
    pub result: Result<f64, Failure>,
    /// Single runs; empty if they were not kept.
    pub runs: Vec<f64>,
    /// Time spent compiling.
    pub compile: f64,
    /// Time spent checking the result.
    pub verify: f64,
    /// Time spent measuring.
    pub benchmark: f64,
    /// When, in ISO 8601; empty if unknown.
    pub timestamp: String,
}

impl Entry {
    /// An entry with this result and nothing else.
    pub fn new(result: Result<f64, Failure>) -> Self {
        Self {
            result,
            runs: Vec::new(),
            compile: 0.0,
            verify: 0.0,
            benchmark: 0.0,
            timestamp: String::new(),
        }
    }

    /// What a search learns.
    pub fn outcome(&self) -> Outcome {
        self.result.map_or(Outcome::Failed, Outcome::Time)
    }
}

/// A recorded space.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The device's name.
    pub device: String,
    /// The kernel's name.
    pub kernel: String,
    /// A number, or a list of numbers; Kernel Tuner compares it and computes the grid from it.
    pub problem_size: Json,
    /// The name of the field with the measured value, which is to be small: `time`.
    pub objective: String,
    /// The axes, in the order of the keys.
    pub axes: Vec<Axis>,
    /// All points that conditions allow.
    pub entries: BTreeMap<Config, Entry>,
}

/// Why a text is no recorded space.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// No JSON, or fields of other types than Kernel Tuner writes.
    #[error("no cache file of Kernel Tuner: {0}")]
    Json(#[from] serde_json::Error),
    /// An entry that does not lie on the axes or has no result.
    #[error("entry `{key}`: {what}")]
    Entry {
        /// Its key.
        key: String,
        /// What is wrong.
        what: String,
    },
    /// A parameter without values.
    #[error("`tune_params` has no list for `{0}` of `tune_params_keys`")]
    Axis(String),
}

/// The file's fields that are read.
#[derive(Deserialize)]
struct File {
    device_name: String,
    kernel_name: String,
    #[serde(default)]
    problem_size: Json,
    tune_params_keys: Vec<String>,
    tune_params: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    objective: Json,
    cache: BTreeMap<String, Map<String, Json>>,
}

impl Recorded {
    /// Reads a cache file, also one whose end is missing because tuning was stopped.
    ///
    /// # Errors
    /// If the text is no such file, or an entry is outside the axes or has no result.
    pub fn read_cache(text: &str) -> Result<Self, RecordedError> {
        let file: File = match serde_json::from_str(text) {
            Ok(file) => file,
            Err(_) if text.trim_end().ends_with(',') => {
                let open = text.trim_end().trim_end_matches(',');
                serde_json::from_str(&format!("{open}}}}}"))?
            }
            Err(error) => return Err(error.into()),
        };
        let objective = match &file.objective {
            Json::Array(all) => all.first().and_then(Json::as_str),
            other => other.as_str(),
        };
        let mut values = file.tune_params;
        let mut axes = Vec::with_capacity(file.tune_params_keys.len());
        for name in file.tune_params_keys {
            let values = values.remove(&name);
            let values = values.ok_or_else(|| RecordedError::Axis(name.clone()))?;
            axes.push(Axis { name, values });
        }
        let mut recorded = Self {
            device: file.device_name,
            kernel: file.kernel_name,
            problem_size: file.problem_size,
            objective: objective.unwrap_or("time").to_owned(),
            axes,
            entries: BTreeMap::new(),
        };
        for (key, fields) in file.cache {
            let read = recorded.entry(&fields);
            let (config, entry) = read.map_err(|what| RecordedError::Entry { key, what })?;
            recorded.entries.insert(config, entry);
        }
        Ok(recorded)
    }

    fn entry(&self, fields: &Map<String, Json>) -> Result<(Config, Entry), String> {
        let mut config = Config::with_capacity(self.axes.len());
        for Axis { name, values } in &self.axes {
            let field = fields
                .get(name)
                .ok_or_else(|| format!("`{name}` is missing"))?;
            let is_field = |value: &Value| match value {
                Value::Bool(value) => field.as_bool() == Some(*value),
                Value::Text(value) => field.as_str() == Some(value),
                Value::Integer(value) => field.as_f64() == Some(*value as f64),
                Value::Float(value) => field.as_f64() == Some(*value),
            };
            let index = values.iter().position(is_field);
            let index = index.ok_or_else(|| format!("{name} = {field} is not in tune_params"))?;
            config.push(index as u16);
        }
        // Old files have the name in the objective's field, new ones in `__error__`.
        let named = |field: &str| fields.get(field).and_then(Json::as_str);
        let failed = [named("__error__"), named(&self.objective)]
            .into_iter()
            .flatten();
        let failure = failed.filter_map(Failure::of_cache_name).next();
        // Kernel Tuner passes over fields that it does not know.
        let exact = fields
            .get("invalidity")
            .cloned()
            .map(serde_json::from_value::<Failure>);
        let time = fields.get(&self.objective).and_then(Json::as_f64);
        let result = match (exact, failure, time) {
            (Some(Ok(failure)), _, _) | (_, Some(failure), _) => Err(failure),
            (_, _, Some(time)) => Ok(time),
            (_, _, None) => return Err(format!("`{}` is no number", self.objective)),
        };
        let number = |name: &str| fields.get(name).and_then(Json::as_f64).unwrap_or(0.0);
        let runs = fields.get("times").and_then(Json::as_array);
        let entry = Entry {
            result,
            runs: runs
                .into_iter()
                .flatten()
                .filter_map(Json::as_f64)
                .collect(),
            compile: number("compile_time"),
            verify: number("verification_time"),
            benchmark: number("benchmark_time"),
            timestamp: named("timestamp").unwrap_or_default().to_owned(),
        };
        Ok((config, entry))
    }

    /// The space of the recorded points.
    ///
    /// # Errors
    /// If the axes are none, or an entry does not lie on them.
    pub fn space(&self) -> Result<Space, SpaceError> {
        Space::of_points(self.axes.clone(), self.entries.keys().cloned().collect())
    }

    /// The best time, None if no point has one.
    pub fn optimum(&self) -> Option<f64> {
        let times = self.entries.values().filter_map(|entry| entry.result.ok());
        times.min_by(f64::total_cmp)
    }

    /// The text of a cache file.
    ///
    /// # Errors
    /// Of the JSON writer.
    pub fn to_cache(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(&CacheFile {
            device_name: &self.device,
            kernel_name: &self.kernel,
            problem_size: &self.problem_size,
            tune_params_keys: self.axes.iter().map(|axis| axis.name.as_str()).collect(),
            tune_params: Parameters(&self.axes),
            objective: &self.objective,
            cache: Entries(self),
        })
    }

    /// The text of a T4 file.
    ///
    /// # Errors
    /// Of the JSON writer.
    pub fn to_t4(&self) -> Result<String, serde_json::Error> {
        let result = |(config, entry): (&Config, &Entry)| {
            let measurements = match entry.result {
                Ok(time) => {
                    vec![serde_json::json!({"name": self.objective, "value": time, "unit": "ms"})]
                }
                Err(_) => Vec::new(),
            };
            let failure = entry.result.err();
            let valid = serde_json::json!("correct");
            let invalidity = failure.map_or(Ok(valid), serde_json::to_value)?;
            Ok(serde_json::json!({
                "timestamp": entry.timestamp,
                "configuration": self.fields(config),
                "times": {
                    "compilation": entry.compile,
                    "benchmark": entry.benchmark,
                    "validation": entry.verify,
                    "framework": 0.0,
                    "search_algorithm": 0.0,
                    "runtimes": entry.runs,
                },
                "invalidity": invalidity,
                "correctness": u8::from(failure != Some(Failure::Correctness)),
                "measurements": measurements,
                "objectives": [self.objective],
            }))
        };
        let results: Result<Vec<Json>, serde_json::Error> =
            self.entries.iter().map(result).collect();
        serde_json::to_string_pretty(&serde_json::json!({
            "schema_version": "1.0.0",
            "metadata": {"timeunit": "milliseconds"},
            "results": results?,
        }))
    }

    fn value(&self, axis: usize, config: &[u16]) -> &Value {
        &self.axes[axis].values[usize::from(config[axis])]
    }

    /// Names and values of a point.
    fn fields(&self, config: &[u16]) -> Map<String, Json> {
        let field = |(at, axis): (usize, &Axis)| {
            let value = serde_json::to_value(self.value(at, config)).unwrap_or_default();
            (axis.name.clone(), value)
        };
        self.axes.iter().enumerate().map(field).collect()
    }

    /// An entry of a cache. A time that is no number becomes `null`.
    fn cache_fields(&self, config: &[u16], entry: &Entry) -> Fields {
        let mut fields: Vec<(String, Json)> = Vec::new();
        for axis in 0..config.len() {
            let value = serde_json::to_value(self.value(axis, config)).unwrap_or_default();
            fields.push((self.axes[axis].name.clone(), value));
        }
        let mut field = |name: &str, value: Json| fields.push((name.to_owned(), value));
        match entry.result {
            Ok(time) => field(&self.objective, time.into()),
            Err(failure) => {
                field(&self.objective, failure.cache_name().into());
                field("__error__", failure.cache_name().into());
                field(
                    "invalidity",
                    serde_json::to_value(failure).unwrap_or_default(),
                );
            }
        }
        field("times", entry.runs.clone().into());
        field("compile_time", entry.compile.into());
        field("verification_time", entry.verify.into());
        field("benchmark_time", entry.benchmark.into());
        field("strategy_time", 0.0.into());
        field("framework_time", 0.0.into());
        field("timestamp", entry.timestamp.clone().into());
        Fields(fields)
    }

    /// A point as Python joins it: the key of its entry.
    fn key(&self, config: &[u16]) -> String {
        let word = |axis: usize| match self.value(axis, config) {
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            other => other.to_string(),
        };
        (0..config.len()).map(word).collect::<Vec<_>>().join(",")
    }
}

/// Kernel Tuner relies on the order of parameters, so maps are written field by field.
#[derive(Serialize)]
struct CacheFile<'a> {
    device_name: &'a str,
    kernel_name: &'a str,
    problem_size: &'a Json,
    tune_params_keys: Vec<&'a str>,
    tune_params: Parameters<'a>,
    objective: &'a str,
    cache: Entries<'a>,
}

struct Parameters<'a>(&'a [Axis]);
struct Entries<'a>(&'a Recorded);
struct Fields(Vec<(String, Json)>);

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|axis| (&axis.name, &axis.values)))
    }
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = |(config, entry): (&Config, &Entry)| {
            (self.0.key(config), self.0.cache_fields(config, entry))
        };
        serializer.collect_map(self.0.entries.iter().map(entry))
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
