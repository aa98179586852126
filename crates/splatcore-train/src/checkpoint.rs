//! A run on disk: everything needed to go on bit for bit, in one safetensors file.
//!
//! Tensors (little-endian, as safetensors defines): `parameters.*`, `first.*`, `second.*` with `* =
//! means [n,3]`, `log_scales [n,3]`, `rotations [n,4]`, `opacity_logits [n]`, `sh [n,k,3]`, all
//! F32; `gradient_sum [n]` F32, `seen [n]` U32; `view_order [views]` U32, `rng [2]` U64; the curve
//! as `curve.step` U32, `curve.loss` F64, `curve.gaussians` U64, `curve.seconds` F64. Of a run that
//! learns exposures also `exposure.parameters`, `exposure.first`, `exposure.second [views,12]` F32
//! and `exposure.seen [views]` U32; of an antialiased one `smoothing [n]` F32. Everything else is
//! in the header's metadata, as text.

use crate::observer::CurvePoint;
use crate::view_order::ViewOrder;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use splatcore_core::exposure::Exposures;
use splatcore_core::random::Rng;
use splatcore_core::{Choice, Gaussians, LearnerState, sh};
use splatcore_data::{DataError, Place};
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

/// Value of `format` in the metadata.
pub const FORMAT: &str = "splatcore-checkpoint";
/// Value of `version` in the metadata; a reader knows exactly one.
pub const VERSION: &str = "1";

/// Everything that a run is between two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Steps taken.
    pub step: u32,
    /// What the learner knows.
    pub state: LearnerState,
    /// Where the order of views is.
    pub order: ViewOrder,
    /// Smoothed loss, once there is one.
    pub smoothed_loss: Option<f64>,
    /// Losses that went into it.
    pub samples: u64,
    /// The training curve so far.
    pub curve: Vec<CurvePoint>,
    /// Seconds trained so far.
    pub seconds: f64,
    /// The config as [`crate::ResolvedConfig::to_toml`] wrote it.
    pub config: String,
    /// Name of the backend that was really used.
    pub backend: String,
    /// Tells one set of training photos from another.
    pub photos: String,
}

impl Checkpoint {
    /// Writes the file beside its final name, then renames it. Streams: needs no second copy of the
    /// state.
    ///
    /// # Errors
    /// When the file cannot be written; an older one under this name is then untouched.
    pub fn save(&self, path: &Path) -> Result<(), DataError> {
        let mut tensors = self.scene_tensors();
        tensors.extend(self.exposure_tensors());
        tensors.extend(self.other_tensors());
        let mut header = Map::new();
        header.insert("__metadata__".into(), self.metadata());
        let mut offset = 0usize;
        for tensor in &tensors {
            let end = offset + tensor.data.len();
            let (dtype, shape) = (tensor.dtype, &tensor.shape);
            header.insert(
                tensor.name.clone(),
                json!({"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}),
            );
            offset = end;
        }
        let mut header = Value::Object(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        splatcore_data::file::write_atomically(path, |out| {
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(&header)?;
            tensors
                .iter()
                .try_for_each(|tensor| out.write_all(&tensor.data))
        })
    }

    fn scene_tensors(&self) -> Vec<Tensor<'_>> {
        let state = &self.state;
        let n = state.gaussians.len();
        let sets = [
            ("parameters", &state.gaussians),
            ("first", &state.first),
            ("second", &state.second),
        ];
        let mut tensors = Vec::new();
        for (group, set) in sets {
            let name = |field: &str| format!("{group}.{field}");
            let sh = vec![n, set.coefficients(), 3];
            tensors.extend([
                Tensor::f32(name("means"), vec![n, 3], &set.means),
                Tensor::f32(name("log_scales"), vec![n, 3], &set.log_scales),
                Tensor::f32(name("rotations"), vec![n, 4], &set.rotations),
                Tensor::f32(name("opacity_logits"), vec![n], &set.opacity_logits),
                Tensor::f32(name("sh"), sh, &set.sh),
            ]);
        }
        tensors
    }

    /// None of a run that learned none.
    fn exposure_tensors(&self) -> Vec<Tensor<'_>> {
        let exposures = &self.state.exposures;
        if exposures.is_empty() {
            return Vec::new();
        }
        let sets = [
            ("parameters", &exposures.parameters),
            ("first", &exposures.first),
            ("second", &exposures.second),
        ];
        let mut tensors = Vec::new();
        for (name, values) in sets {
            let shape = vec![values.len(), 12];
            tensors.push(Tensor::f32(format!("exposure.{name}"), shape, values));
        }
        tensors.push(Tensor::list("exposure.seen", "U32", &exposures.seen, 4));
        tensors
    }

    /// Statistics, filters, the order of views, and the curve.
    fn other_tensors(&self) -> Vec<Tensor<'_>> {
        let state = &self.state;
        let curve =
            |value: fn(&CurvePoint) -> f64| self.curve.iter().map(value).collect::<Vec<f64>>();
        let steps: Vec<u32> = self.curve.iter().map(|p| p.step).collect();
        let counts: Vec<u64> = self.curve.iter().map(|p| p.gaussians).collect();
        let mut tensors = vec![
            Tensor::list("gradient_sum", "F32", &state.gradient_sum, 4),
            Tensor::list("seen", "U32", &state.seen, 4),
        ];
        if !state.smoothing.is_empty() {
            tensors.push(Tensor::list("smoothing", "F32", &state.smoothing, 4));
        }
        tensors.extend([
            Tensor::list("view_order", "U32", &self.order.order, 4),
            Tensor::list("rng", "U64", &self.order.rng.to_words(), 8).into_owned(),
            Tensor::list("curve.step", "U32", &steps, 4).into_owned(),
            Tensor::list("curve.loss", "F64", &curve(|p| p.loss), 8).into_owned(),
            Tensor::list("curve.gaussians", "U64", &counts, 8).into_owned(),
            Tensor::list("curve.seconds", "F64", &curve(|p| p.seconds), 8).into_owned(),
        ]);
        tensors
    }

    fn metadata(&self) -> Value {
        let mut metadata = json!({
            "format": FORMAT,
            "version": VERSION,
            "step": self.step.to_string(),
            "views_used": self.order.used.to_string(),
            "samples": self.samples.to_string(),
            "seconds": self.seconds.to_string(),
            "config": self.config,
            "backend": self.backend,
            "photos": self.photos,
        });
        if let Some(loss) = self.smoothed_loss {
            metadata["smoothed_loss"] = Value::String(loss.to_string());
        }
        metadata
    }

    /// Reads what [`Checkpoint::save`] wrote.
    ///
    /// # Errors
    /// An unreadable, damaged or foreign file, or one of another version; says which part.
    pub fn load(path: &Path) -> Result<Self, DataError> {
        let bytes = std::fs::read(path).map_err(|e| DataError::read(path, &e))?;
        Reader::open(path, &bytes)?.read()
    }
}

/// A tensor to be written.
struct Tensor<'a> {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
    data: Cow<'a, [u8]>,
}

impl<'a> Tensor<'a> {
    fn f32<T: bytemuck::NoUninit>(name: String, shape: Vec<usize>, values: &'a [T]) -> Self {
        Self {
            name,
            dtype: "F32",
            shape,
            data: little_endian(values, 4),
        }
    }

    /// Of one dimension, of numbers of `word` bytes.
    fn list<T: bytemuck::NoUninit>(
        name: &str,
        dtype: &'static str,
        values: &'a [T],
        word: usize,
    ) -> Self {
        Self {
            name: name.to_owned(),
            dtype,
            shape: vec![values.len()],
            data: little_endian(values, word),
        }
    }

    fn into_owned(self) -> Tensor<'static> {
        Tensor {
            name: self.name,
            dtype: self.dtype,
            shape: self.shape,
            data: Cow::Owned(self.data.into_owned()),
        }
    }
}

/// A parsed file; every access checks type and shape.
struct Reader<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
    metadata: std::collections::HashMap<String, String>,
}

impl<'a> Reader<'a> {
    fn open(path: &'a Path, bytes: &'a [u8]) -> Result<Self, DataError> {
        let damaged = |e: safetensors::SafeTensorError| {
            DataError::new(
                path,
                format!("is not a complete safetensors file ({e})"),
                REMEDY,
            )
            .depending_on(Choice::StartAnew)
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let found = |key: &str| metadata.get(key).map_or("none", String::as_str);
        if found("format") != FORMAT {
            return Err(DataError::new(
                path,
                format!(
                    "is not a splatcore checkpoint (format {:?})",
                    found("format")
                ),
                "give the checkpoint.safetensors of a training run",
            ));
        }
        if found("version") != VERSION {
            return Err(DataError::new(
                path,
                format!(
                    "is a checkpoint of version {}; this program reads version {VERSION}",
                    found("version")
                ),
                "resume with the program that wrote it, or start anew",
            )
            .depending_on(Choice::StartAnew));
        }
        Ok(Self {
            path,
            tensors: SafeTensors::deserialize(bytes).map_err(damaged)?,
            metadata,
        })
    }

    fn read(&self) -> Result<Checkpoint, DataError> {
        let gaussians = self.gaussians("parameters")?;
        let n = gaussians.len();
        let same = |group: &str| -> Result<Gaussians, DataError> {
            let set = self.gaussians(group)?;
            if set.len() == n && set.sh_degree == gaussians.sh_degree {
                return Ok(set);
            }
            Err(self.damaged(group, "has another shape than the parameters"))
        };
        let (first, second) = (same("first")?, same("second")?);
        let order: Vec<u32> = self.array("view_order", Dtype::U32, &[])?;
        let used: usize = self.number("views_used")?;
        if used > order.len() {
            return Err(self.damaged("views_used", "is larger than the number of views"));
        }
        let words: Vec<u64> = self.array("rng", Dtype::U64, &[])?;
        let &[state, increment] = words.as_slice() else {
            return Err(self.damaged("rng", "does not hold 2 words"));
        };
        let steps: Vec<u32> = self.array("curve.step", Dtype::U32, &[])?;
        let losses: Vec<f64> = self.rows("curve.loss", Dtype::F64, &[], steps.len())?;
        let counts: Vec<u64> = self.rows("curve.gaussians", Dtype::U64, &[], steps.len())?;
        let seconds: Vec<f64> = self.rows("curve.seconds", Dtype::F64, &[], steps.len())?;
        let curve = (0..steps.len())
            .map(|i| CurvePoint {
                step: steps[i],
                loss: losses[i],
                gaussians: counts[i],
                seconds: seconds[i],
            })
            .collect();
        let smoothed_loss = match self.metadata.contains_key("smoothed_loss") {
            true => Some(self.number("smoothed_loss")?),
            false => None,
        };
        Ok(Checkpoint {
            step: self.number("step")?,
            state: LearnerState {
                gaussians,
                first,
                second,
                gradient_sum: self.rows("gradient_sum", Dtype::F32, &[], n)?,
                seen: self.rows("seen", Dtype::U32, &[], n)?,
                exposures: self.exposures()?,
                smoothing: match self.tensors.tensor("smoothing") {
                    Ok(_) => self.rows("smoothing", Dtype::F32, &[], n)?,
                    Err(_) => Vec::new(),
                },
            },
            order: ViewOrder {
                order,
                used,
                rng: Rng::from_words([state, increment]),
            },
            smoothed_loss,
            samples: self.number("samples")?,
            curve,
            seconds: self.number("seconds")?,
            config: self.text("config")?.into(),
            backend: self.text("backend")?.into(),
            photos: self.text("photos")?.into(),
        })
    }

    /// None in a file of a run that learned none.
    fn exposures(&self) -> Result<Exposures, DataError> {
        let parameters = "exposure.parameters";
        if self.tensors.tensor(parameters).is_err() {
            return Ok(Exposures::default());
        }
        let parameters: Vec<[f32; 12]> = self.array(parameters, Dtype::F32, &[12])?;
        let views = parameters.len();
        Ok(Exposures {
            parameters,
            first: self.rows("exposure.first", Dtype::F32, &[12], views)?,
            second: self.rows("exposure.second", Dtype::F32, &[12], views)?,
            seen: self.rows("exposure.seen", Dtype::U32, &[], views)?,
        })
    }

    fn gaussians(&self, group: &str) -> Result<Gaussians, DataError> {
        let name = |field: &str| format!("{group}.{field}");
        let means: Vec<[f32; 3]> = self.array(&name("means"), Dtype::F32, &[3])?;
        let n = means.len();
        let harmonics = name("sh");
        let coefficients = self
            .tensors
            .tensor(&harmonics)
            .ok()
            .and_then(|t| t.shape().get(1).copied())
            .unwrap_or(0);
        let Some(sh_degree) = (0..=sh::MAX_DEGREE).find(|&d| sh::coefficients(d) == coefficients)
        else {
            return Err(self.damaged(
                &harmonics,
                "is missing or does not hold 1, 4, 9 or 16 coefficients",
            ));
        };
        // `array` counts rows of the first dimension; here a row is `coefficients` colours.
        let sh = self.array(&harmonics, Dtype::F32, &[coefficients, 3])?;
        if sh.len() != n * coefficients {
            return Err(self.damaged(&harmonics, "has another number of rows than the means"));
        }
        Ok(Gaussians {
            log_scales: self.rows(&name("log_scales"), Dtype::F32, &[3], n)?,
            rotations: self.rows(&name("rotations"), Dtype::F32, &[4], n)?,
            opacity_logits: self.rows(&name("opacity_logits"), Dtype::F32, &[], n)?,
            means,
            sh,
            sh_degree,
        })
    }

    /// A tensor of shape `[any, inner...]` as plain values.
    fn array<T: bytemuck::Pod>(
        &self,
        name: &str,
        dtype: Dtype,
        inner: &[usize],
    ) -> Result<Vec<T>, DataError> {
        let tensor = self
            .tensors
            .tensor(name)
            .map_err(|_| self.damaged(name, "is missing"))?;
        if tensor.dtype() != dtype
            || tensor.shape().len() != 1 + inner.len()
            || tensor.shape()[1..] != *inner
        {
            return Err(self.damaged(
                name,
                &format!(
                    "is {:?} {:?}, expected {dtype:?} [_, {inner:?}]",
                    tensor.dtype(),
                    tensor.shape()
                ),
            ));
        }
        let word = dtype.bitsize() / 8;
        let mut values = vec![T::zeroed(); tensor.data().len() / size_of::<T>().max(1)];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        if bytes.len() != tensor.data().len() {
            return Err(self.damaged(name, "has a size that does not fit its type"));
        }
        bytes.copy_from_slice(tensor.data());
        swap_if_big_endian(bytes, word);
        Ok(values)
    }

    /// [`Reader::array`] with a known number of rows.
    fn rows<T: bytemuck::Pod>(
        &self,
        name: &str,
        dtype: Dtype,
        inner: &[usize],
        count: usize,
    ) -> Result<Vec<T>, DataError> {
        let values = self.array(name, dtype, inner)?;
        if values.len() == count {
            return Ok(values);
        }
        Err(self.damaged(
            name,
            &format!("has {} rows, expected {count}", values.len()),
        ))
    }

    fn text(&self, key: &str) -> Result<&str, DataError> {
        let value = self.metadata.get(key).map(String::as_str);
        value.ok_or_else(|| self.damaged(key, "is missing"))
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Result<T, DataError> {
        let text = self.text(key)?;
        text.parse()
            .map_err(|_| self.damaged(key, &format!("is not a number ({text:.40?})")))
    }

    fn damaged(&self, part: &str, problem: &str) -> DataError {
        DataError::new(self.path, problem, REMEDY)
            .at(Place::Part(part.to_owned()))
            .depending_on(Choice::StartAnew)
    }
}

const REMEDY: &str = "the checkpoint is damaged: take an older copy, or start anew";

/// The bytes of plain values made of `word`-byte numbers, in little-endian order.
fn little_endian<T: bytemuck::NoUninit>(values: &[T], word: usize) -> Cow<'_, [u8]> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    if cfg!(target_endian = "little") {
        return Cow::Borrowed(bytes);
    }
    let mut bytes = bytes.to_vec();
    swap_if_big_endian(&mut bytes, word);
    Cow::Owned(bytes)
}

fn swap_if_big_endian(bytes: &mut [u8], word: usize) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests;
