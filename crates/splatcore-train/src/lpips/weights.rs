//! Reads the weights from a safetensors file (docs/conventions.md says which tensors it has).

use super::Lpips;
use super::convolution::Convolution;
use super::network::{Layer, Network, Shape};
use half::f16;
use safetensors::{Dtype, SafeTensors};
use splatcore_data::DataError;
use std::path::Path;

const REMEDY: &str = "make it as docs/guide/measuring.md says";

impl Lpips {
    /// Reads the weights of a network. The metadata entry `network` says which; tensors that it
    /// does not need are skipped.
    ///
    /// # Errors
    /// An unreadable file, one that is no safetensors file, an unknown network, a tensor that is
    /// missing or has another shape or type, a value that is not finite.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let bytes = std::fs::read(path).map_err(|error| DataError::read(path, &error))?;
        Self::parse(&bytes, path)
    }

    /// As [`Lpips::read`], for bytes at hand; `path` is only named in errors.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self, DataError> {
        let no_file = |e: safetensors::SafeTensorError| {
            let problem = format!("is not a complete safetensors file ({e})");
            DataError::new(path, problem, REMEDY)
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(no_file)?;
        let file = File {
            path,
            tensors: SafeTensors::deserialize(bytes).map_err(no_file)?,
        };
        let name = header.metadata().as_ref().and_then(|m| m.get("network"));
        let network = file.network(name.map(String::as_str))?;
        let (mut convolutions, mut linear, mut channels) = (Vec::new(), Vec::new(), 0);
        for layer in network.layers() {
            match layer {
                Layer::Convolution(shape) => {
                    channels = shape.output;
                    convolutions.push(file.convolution(shape)?);
                }
                Layer::MaxPool(_) => {}
                Layer::Compared => {
                    let name = format!("lin{}.model.1.weight", linear.len());
                    linear.push(file.values(&name, &[1, channels, 1, 1])?);
                }
            }
        }
        Ok(Self {
            network,
            convolutions,
            linear,
        })
    }
}

struct File<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
}

impl File<'_> {
    fn wrong(&self, problem: String) -> DataError {
        DataError::new(self.path, problem, REMEDY)
    }

    fn network(&self, name: Option<&str>) -> Result<Network, DataError> {
        let known = Network::ALL.map(Network::name).join(" or ");
        let Some(name) = name else {
            return Err(self.wrong(format!("has no metadata entry `network` ({known})")));
        };
        let found = Network::ALL
            .into_iter()
            .find(|network| network.name() == name);
        found.ok_or_else(|| {
            self.wrong(format!(
                "is for the network {name:.40?}; this program knows {known}"
            ))
        })
    }

    fn convolution(&self, shape: &Shape) -> Result<Convolution, DataError> {
        let Shape {
            index,
            input,
            output,
            side,
            ..
        } = *shape;
        let values = self.values(
            &format!("features.{index}.weight"),
            &[output, input, side, side],
        )?;
        // From [channel out][channel in][kernel row][kernel column].
        let mut weights = vec![0.0; values.len()];
        for (i, value) in values.into_iter().enumerate() {
            let (place, rest) = (i % (side * side), i / (side * side));
            weights[(place * input + rest % input) * output + rest / input] = value;
        }
        Ok(Convolution {
            shape: *shape,
            weights,
            bias: self.values(&format!("features.{index}.bias"), &[output])?,
        })
    }

    /// The values of the tensor of this name, which must have this shape.
    fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, DataError> {
        let Ok(tensor) = self.tensors.tensor(name) else {
            return Err(self.wrong(format!("has no tensor `{name}` {shape:?}")));
        };
        if tensor.shape() != shape {
            return Err(self.wrong(format!(
                "tensor `{name}` has the shape {:?}, expected {shape:?}",
                tensor.shape()
            )));
        }
        let data = tensor.data();
        let values: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => {
                let words = data.as_chunks::<4>().0;
                words.iter().map(|word| f32::from_le_bytes(*word)).collect()
            }
            Dtype::F16 => {
                let words = data.as_chunks::<2>().0.iter();
                words.map(|word| f16::from_le_bytes(*word).into()).collect()
            }
            other => {
                return Err(self.wrong(format!(
                    "tensor `{name}` has the type {other:?}, expected F32 or F16"
                )));
            }
        };
        match values.iter().all(|value| value.is_finite()) {
            true => Ok(values),
            false => Err(self.wrong(format!("tensor `{name}` holds a value that is not finite"))),
        }
    }
}
