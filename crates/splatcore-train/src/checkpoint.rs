//! A run on disk: everything needed to go on bit for bit, in one safetensors file. Its tensors are
//! listed in docs/conventions.md, `checkpoint.safetensors`; those of a feature that a run does not
//! use are left out. Everything that is no array is in the header's metadata, as text.

mod colour;
mod columns;
mod file;
mod moments;
mod motion;
mod narrow;
mod refined;
mod sky;

pub use file::{FORMAT, VERSION};

use crate::budget::Spending;
use crate::intrinsics::{self, IntrinsicsState};
use crate::motion::MotionState;
use crate::observer::CurvePoint;
use crate::poses::{self, PoseState};
use crate::schedule::Course;
use crate::view_order::ViewOrder;
use file::{Reader, Tensor};
use safetensors::Dtype;
use serde_json::{Map, Value, json};
use splatcore_core::random::Rng;
use splatcore_core::{Gaussians, LearnerState, sh};
use splatcore_data::DataError;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Everything that a run is between two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Steps taken.
    pub step: u32,
    /// What the learner knows.
    pub state: LearnerState,
    /// The photos' poses, of a run that refines them.
    pub poses: Option<PoseState>,
    /// The intrinsics of their cameras, likewise.
    pub intrinsics: Option<IntrinsicsState>,
    /// How they moved, likewise.
    pub motion: Option<MotionState>,
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
    /// Tells their cameras from others; `None` in a file of an earlier version.
    pub cameras: Option<String>,
    /// Tells their pixels and masks from others, likewise.
    pub pixels: Option<String>,
    /// Tells their depth maps from others; `None` also of a run without any.
    pub depths: Option<String>,
    /// The course of a run whose end was moved.
    pub course: Option<Course>,
    /// What a run with a budget has spent, and whether it has reached its quality.
    pub spending: Spending,
}

impl Checkpoint {
    /// Writes the file beside its final name, then renames it. Streams: needs no second copy of the
    /// state.
    ///
    /// # Errors
    /// When the file cannot be written; an older one under this name is then untouched.
    pub fn save(&self, path: &Path) -> Result<(), DataError> {
        let mut tensors = self.scene_tensors();
        tensors.extend(colour::tensors(&self.state.colours));
        tensors.extend(sky::tensors(&self.state.sky));
        tensors.extend(refined::tensors(&poses::NAMES, &self.poses));
        tensors.extend(refined::tensors(&intrinsics::NAMES, &self.intrinsics));
        tensors.extend(motion::tensors(&self.motion));
        tensors.extend(self.other_tensors());
        // Wide numbers first, so that all lie at multiples of their size.
        let width = |dtype| {
            ["U8", "BF16", "F32", "U32"]
                .iter()
                .position(|&narrow| narrow == dtype)
        };
        tensors.sort_by_key(|tensor| std::cmp::Reverse(width(tensor.dtype).unwrap_or(4)));
        let mut header = Map::new();
        header.insert("__metadata__".into(), self.metadata());
        let mut offset = 0usize;
        for tensor in &tensors {
            let end = offset + tensor.bytes();
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
            tensors.iter().try_for_each(|tensor| tensor.write(out))
        })
    }

    fn scene_tensors(&self) -> Vec<Tensor<'_>> {
        let state = &self.state;
        let scene = arrays("parameters", &state.gaussians);
        let moments = [("first", &state.first), ("second", &state.second)];
        let moments = moments
            .into_iter()
            .flat_map(|(group, set)| arrays(group, set));
        let mut tensors: Vec<_> = scene
            .into_iter()
            .map(|(name, shape, numbers)| Tensor::f32(name, shape, numbers))
            .collect();
        tensors.extend(
            moments.flat_map(|(name, shape, numbers)| moments::tensors(name, shape, numbers)),
        );
        tensors
    }

    /// Statistics, columns, the order of views, and the curve.
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
        tensors.extend(columns::tensors(&state.columns));
        tensors.extend([
            Tensor::list("view_order", "U32", &self.order.order, 4),
            Tensor::copied("rng", "U64", &self.order.rng.to_words(), 8),
            Tensor::copied("curve.step", "U32", &steps, 4),
            Tensor::copied("curve.loss", "F64", &curve(|p| p.loss), 8),
            Tensor::copied("curve.gaussians", "U64", &counts, 8),
            Tensor::copied("curve.seconds", "F64", &curve(|p| p.seconds), 8),
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
        for (key, known) in [
            ("cameras", &self.cameras),
            ("pixels", &self.pixels),
            ("depths", &self.depths),
        ] {
            if let Some(known) = known {
                metadata[key] = Value::String(known.clone());
            }
        }
        if let Some(loss) = self.smoothed_loss {
            metadata["smoothed_loss"] = Value::String(loss.to_string());
        }
        if let Some(course) = &self.course {
            metadata["course"] = Value::String(json!(course).to_string());
        }
        if let Some(name) = colour::name(&self.state.colours) {
            metadata["colour"] = Value::String(name.into());
        }
        if self.spending != Spending::default() {
            metadata["spending"] = Value::String(json!(self.spending).to_string());
        }
        metadata
    }

    /// Reads what [`Checkpoint::save`] wrote.
    ///
    /// # Errors
    /// An unreadable, damaged or foreign file, or one of another version; says which part.
    pub fn load(path: &Path) -> Result<Self, DataError> {
        read_all(&Reader::open(path)?)
    }

    /// Step and seconds of training of a file that [`Checkpoint::save`] wrote, by its header alone;
    /// none of any other file. Quick also where the state is large.
    pub fn progress(path: &Path) -> Option<(u32, f64)> {
        let header = file::header(&mut File::open(path).ok()?).ok()?;
        let header: Value = serde_json::from_slice(&header).ok()?;
        let metadata = header.get("__metadata__")?;
        let number = |key: &str| metadata.get(key)?.as_str()?.parse::<f64>().ok();
        (metadata.get("format")?.as_str()? == FORMAT)
            .then_some((number("step")? as u32, number("seconds")?))
    }
}

fn read_all(file: &Reader<'_>) -> Result<Checkpoint, DataError> {
    let gaussians = read_gaussians(file, "parameters")?;
    let n = gaussians.len();
    let same = |group: &str| -> Result<Gaussians, DataError> {
        let set = read_gaussians(file, group)?;
        if set.len() == n && set.sh_degree == gaussians.sh_degree {
            return Ok(set);
        }
        Err(file.damaged(group, "has another shape than the parameters"))
    };
    let (first, second) = (same("first")?, same("second")?);
    let order: Vec<u32> = file.array("view_order", Dtype::U32, &[])?;
    let used: usize = file.number("views_used")?;
    if used > order.len() {
        return Err(file.damaged("views_used", "is larger than the number of views"));
    }
    let words: Vec<u64> = file.array("rng", Dtype::U64, &[])?;
    let &[state, increment] = words.as_slice() else {
        return Err(file.damaged("rng", "does not hold 2 words"));
    };
    let steps: Vec<u32> = file.array("curve.step", Dtype::U32, &[])?;
    let losses: Vec<f64> = file.rows("curve.loss", Dtype::F64, &[], steps.len())?;
    let counts: Vec<u64> = file.rows("curve.gaussians", Dtype::U64, &[], steps.len())?;
    let seconds: Vec<f64> = file.rows("curve.seconds", Dtype::F64, &[], steps.len())?;
    let curve = (0..steps.len())
        .map(|i| CurvePoint {
            step: steps[i],
            loss: losses[i],
            gaussians: counts[i],
            seconds: seconds[i],
        })
        .collect();
    let smoothed_loss = match file.optional("smoothed_loss").is_some() {
        true => Some(file.number("smoothed_loss")?),
        false => None,
    };
    let checkpoint = Checkpoint {
        step: file.number("step")?,
        state: LearnerState {
            gaussians,
            first,
            second,
            gradient_sum: file.rows("gradient_sum", Dtype::F32, &[], n)?,
            seen: file.rows("seen", Dtype::U32, &[], n)?,
            colours: colour::read(file)?,
            sky: sky::read(file)?,
            columns: columns::read(file, n)?,
        },
        poses: refined::read(file, &poses::NAMES)?,
        intrinsics: refined::read(file, &intrinsics::NAMES)?,
        motion: motion::read(file)?,
        order: ViewOrder {
            order,
            used,
            rng: Rng::from_words([state, increment]),
        },
        smoothed_loss,
        samples: file.number("samples")?,
        curve,
        seconds: file.number("seconds")?,
        config: file.text("config")?.into(),
        backend: file.text("backend")?.into(),
        photos: file.text("photos")?.into(),
        cameras: file.optional("cameras").map(str::to_owned),
        pixels: file.optional("pixels").map(str::to_owned),
        depths: file.optional("depths").map(str::to_owned),
        course: file.json("course")?,
        spending: file.json("spending")?.unwrap_or_default(),
    };
    file.check_all_read()?;
    Ok(checkpoint)
}

/// The arrays of Gaussians with their names and shapes.
fn arrays<'a>(group: &str, set: &'a Gaussians) -> [(String, Vec<usize>, &'a [f32]); 5] {
    let n = set.len();
    let name = |field: &str| format!("{group}.{field}");
    let sh = vec![n, set.coefficients(), 3];
    [
        (name("means"), vec![n, 3], set.means.as_flattened()),
        (
            name("log_scales"),
            vec![n, 3],
            set.log_scales.as_flattened(),
        ),
        (name("rotations"), vec![n, 4], set.rotations.as_flattened()),
        (name("opacity_logits"), vec![n], &set.opacity_logits),
        (name("sh"), sh, set.sh.as_flattened()),
    ]
}

fn read_gaussians(file: &Reader<'_>, group: &str) -> Result<Gaussians, DataError> {
    let name = |field: &str| format!("{group}.{field}");
    let means: Vec<[f32; 3]> = moments::read(file, &name("means"), &[3])?;
    let n = means.len();
    let harmonics = name("sh");
    let shape = file.shape(&harmonics);
    let coefficients = shape.and_then(|shape| shape.get(1).copied()).unwrap_or(0);
    let Some(sh_degree) = (0..=sh::MAX_DEGREE).find(|&d| sh::coefficients(d) == coefficients)
    else {
        return Err(file.damaged(
            &harmonics,
            "is missing or does not hold 1, 4, 9 or 16 coefficients",
        ));
    };
    // `array` counts rows of the first dimension; here a row is `coefficients` colours.
    let sh = moments::read(file, &harmonics, &[coefficients, 3])?;
    if sh.len() != n * coefficients {
        return Err(file.damaged(&harmonics, "has another number of rows than the means"));
    }
    let gaussians = Gaussians {
        log_scales: moments::read(file, &name("log_scales"), &[3])?,
        rotations: moments::read(file, &name("rotations"), &[4])?,
        opacity_logits: moments::read(file, &name("opacity_logits"), &[])?,
        means,
        sh,
        sh_degree,
    };
    for (field, rows) in [
        ("log_scales", gaussians.log_scales.len()),
        ("rotations", gaussians.rotations.len()),
        ("opacity_logits", gaussians.opacity_logits.len()),
    ] {
        if rows != n {
            let problem = format!("has {rows} rows, expected {n}");
            return Err(file.damaged(&name(field), &problem));
        }
    }
    Ok(gaussians)
}

#[cfg(test)]
mod tests;
