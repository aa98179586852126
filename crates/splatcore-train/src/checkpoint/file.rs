//! Tensors of a checkpoint as they stand in the file.

use safetensors::{Dtype, SafeTensors};
use splatcore_core::Choice;
use splatcore_data::{DataError, Place};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

/// Value of `format` in the metadata.
pub const FORMAT: &str = "splatcore-checkpoint";
/// Value of `version` in the metadata; a reader knows exactly one.
pub const VERSION: &str = "1";

/// A tensor to be written.
pub(super) struct Tensor<'a> {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) data: Cow<'a, [u8]>,
}

impl<'a> Tensor<'a> {
    pub(super) fn f32<T: bytemuck::NoUninit>(
        name: String,
        shape: Vec<usize>,
        values: &'a [T],
    ) -> Self {
        Self {
            name,
            dtype: "F32",
            shape,
            data: little_endian(values, 4),
        }
    }

    /// Of one dimension, of numbers of `word` bytes.
    pub(super) fn list<T: bytemuck::NoUninit>(
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

    pub(super) fn into_owned(self) -> Tensor<'static> {
        Tensor {
            name: self.name,
            dtype: self.dtype,
            shape: self.shape,
            data: Cow::Owned(self.data.into_owned()),
        }
    }
}

/// A parsed file; every access checks type and shape.
pub(super) struct Reader<'a> {
    path: &'a Path,
    pub(super) tensors: SafeTensors<'a>,
    /// Names of the tensors that were read.
    read: RefCell<BTreeSet<String>>,
    pub(super) metadata: std::collections::HashMap<String, String>,
}

impl<'a> Reader<'a> {
    pub(super) fn open(path: &'a Path, bytes: &'a [u8]) -> Result<Self, DataError> {
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
            read: RefCell::default(),
            metadata,
        })
    }

    /// A tensor of shape `[any, inner...]` as plain values.
    pub(super) fn array<T: bytemuck::Pod>(
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
        self.read.borrow_mut().insert(name.to_owned());
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
    pub(super) fn rows<T: bytemuck::Pod>(
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

    /// Refuses a file with a tensor that was not read: a run that went on without it would be
    /// another one.
    pub(super) fn check_all_read(&self) -> Result<(), DataError> {
        let read = self.read.borrow();
        let mut names = self.tensors.names();
        names.sort_unstable();
        let Some(unknown) = names.into_iter().find(|name| !read.contains(*name)) else {
            return Ok(());
        };
        let problem = "is nothing that this program knows";
        let remedy = "resume with the program that wrote the checkpoint, or start anew";
        Err(DataError::new(self.path, problem, remedy)
            .at(Place::Part(unknown.to_owned()))
            .depending_on(Choice::StartAnew))
    }

    pub(super) fn text(&self, key: &str) -> Result<&str, DataError> {
        let value = self.metadata.get(key).map(String::as_str);
        value.ok_or_else(|| self.damaged(key, "is missing"))
    }

    pub(super) fn number<T: std::str::FromStr>(&self, key: &str) -> Result<T, DataError> {
        let text = self.text(key)?;
        text.parse()
            .map_err(|_| self.damaged(key, &format!("is not a number ({text:.40?})")))
    }

    /// A value as JSON, if the file has one under this key.
    pub(super) fn json<T: serde::de::DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<Option<T>, DataError> {
        let Some(text) = self.metadata.get(key) else {
            return Ok(None);
        };
        let value = serde_json::from_str(text);
        value
            .map(Some)
            .map_err(|e| self.damaged(key, &format!("cannot be read ({e})")))
    }

    pub(super) fn damaged(&self, part: &str, problem: &str) -> DataError {
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
