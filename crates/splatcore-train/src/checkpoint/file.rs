//! Tensors of a checkpoint as they stand in the file.

use super::narrow::Narrow;
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use splatcore_core::Choice;
use splatcore_data::{DataError, Place};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Value of `format` in the metadata.
pub const FORMAT: &str = "splatcore-checkpoint";
/// Value of `version` in the metadata.
pub const VERSION: &str = "2";
/// Versions that can be read. In the first all moments are F32.
const READABLE: [&str; 2] = ["1", VERSION];
/// Bytes of the largest header that is looked at.
const MAX_HEADER: u64 = 16 << 20;

/// A tensor to be written.
pub(super) struct Tensor<'a> {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<usize>,
    data: Data<'a>,
}

enum Data<'a> {
    Bytes(Cow<'a, [u8]>),
    Narrow(Narrow<'a>),
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
            data: Data::Bytes(little_endian(values, 4)),
        }
    }

    pub(super) fn narrow(
        name: String,
        dtype: &'static str,
        shape: Vec<usize>,
        numbers: Narrow<'a>,
    ) -> Self {
        Self {
            name,
            dtype,
            shape,
            data: Data::Narrow(numbers),
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
            data: Data::Bytes(little_endian(values, word)),
        }
    }

    /// As [`Tensor::list`], with a copy of the numbers.
    pub(super) fn copied<T: bytemuck::NoUninit>(
        name: &str,
        dtype: &'static str,
        values: &[T],
        word: usize,
    ) -> Tensor<'static> {
        let bytes = little_endian(values, word).into_owned();
        Tensor {
            name: name.to_owned(),
            dtype,
            shape: vec![values.len()],
            data: Data::Bytes(Cow::Owned(bytes)),
        }
    }

    /// A list's elements as rows of so many numbers.
    pub(super) fn in_rows(mut self, width: usize) -> Self {
        self.shape.push(width);
        self
    }

    /// Bytes in the file.
    pub(super) fn bytes(&self) -> usize {
        match &self.data {
            Data::Bytes(bytes) => bytes.len(),
            Data::Narrow(numbers) => numbers.bytes(),
        }
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.data {
            Data::Bytes(bytes) => out.write_all(bytes),
            Data::Narrow(numbers) => numbers.write(out),
        }
    }
}

/// The header of a file, as JSON.
pub(super) fn header(file: &mut File) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut header = Vec::new();
    if length <= MAX_HEADER {
        file.take(length).read_to_end(&mut header)?;
    }
    match header.len() as u64 == length {
        true => Ok(header),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A file whose header was read; every access checks type and shape, and reads a tensor.
pub(super) struct Reader<'a> {
    path: &'a Path,
    file: RefCell<File>,
    /// Where the first tensor begins.
    start: u64,
    tensors: Metadata,
    metadata: HashMap<String, String>,
    /// Names of the tensors and texts that were read.
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Reader<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self, DataError> {
        let failed = |error: io::Error| DataError::read(path, &error);
        let mut file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let damaged = |why: &dyn std::fmt::Display| {
            let problem = format!("is not a complete safetensors file ({why})");
            DataError::new(path, problem, REMEDY).depending_on(Choice::StartAnew)
        };
        let header = match header(&mut file) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(damaged(&"its header is cut off or too long"));
            }
            header => header.map_err(failed)?,
        };
        let start = 8 + header.len() as u64;
        let tensors: Metadata = serde_json::from_slice(&header).map_err(|error| damaged(&error))?;
        if start + tensors.data_len() as u64 != bytes {
            let all = start + tensors.data_len() as u64;
            return Err(damaged(&format!("{bytes} bytes, {all} expected")));
        }
        let metadata = tensors.metadata().clone().unwrap_or_default();
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
        if !READABLE.contains(&found("version")) {
            return Err(DataError::new(
                path,
                format!(
                    "is a checkpoint of version {}; this program reads versions {}",
                    found("version"),
                    READABLE.join(" and ")
                ),
                "resume with the program that wrote it, or start anew",
            )
            .depending_on(Choice::StartAnew));
        }
        Ok(Self {
            path,
            file: RefCell::new(file),
            start,
            tensors,
            metadata,
            read: RefCell::new(["format", "version"].map(str::to_owned).into()),
        })
    }

    /// How a tensor is stored, if the file has it.
    pub(super) fn dtype(&self, name: &str) -> Option<Dtype> {
        self.tensors.info(name).map(|tensor| tensor.dtype)
    }

    /// The shape of a tensor, if the file has it.
    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.info(name).map(|tensor| &tensor.shape[..])
    }

    /// A tensor of shape `[any, inner...]` as plain values.
    pub(super) fn array<T: bytemuck::Pod>(
        &self,
        name: &str,
        dtype: Dtype,
        inner: &[usize],
    ) -> Result<Vec<T>, DataError> {
        let tensor = (self.tensors.info(name)).ok_or_else(|| self.damaged(name, "is missing"))?;
        let (first, end) = tensor.data_offsets;
        if tensor.dtype != dtype
            || tensor.shape.len() != 1 + inner.len()
            || tensor.shape[1..] != *inner
        {
            return Err(self.damaged(
                name,
                &format!(
                    "is {:?} {:?}, expected {dtype:?} [_, {inner:?}]",
                    tensor.dtype, tensor.shape
                ),
            ));
        }
        self.read.borrow_mut().insert(name.to_owned());
        let mut values = vec![T::zeroed(); (end - first) / size_of::<T>().max(1)];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        if bytes.len() != end - first {
            return Err(self.damaged(name, "has a size that does not fit its type"));
        }
        let mut file = self.file.borrow_mut();
        (file.seek(SeekFrom::Start(self.start + first as u64)))
            .and_then(|_| file.read_exact(bytes))
            .map_err(|error| DataError::read(self.path, &error))?;
        swap_if_big_endian(bytes, dtype.bitsize() / 8);
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

    /// Refuses a file with a tensor or a text that was not read: a run that went on without it
    /// would be another one.
    pub(super) fn check_all_read(&self) -> Result<(), DataError> {
        let read = self.read.borrow();
        let mut names = self.tensors.offset_keys();
        names.extend(self.metadata.keys().cloned());
        names.sort_unstable();
        let Some(unknown) = names.into_iter().find(|name| !read.contains(name)) else {
            return Ok(());
        };
        let problem = "is nothing that this program knows";
        let remedy = "resume with the program that wrote the checkpoint, or start anew";
        Err(DataError::new(self.path, problem, remedy)
            .at(Place::Part(unknown))
            .depending_on(Choice::StartAnew))
    }

    /// A text of the metadata, if there is one under this key.
    pub(super) fn optional(&self, key: &str) -> Option<&str> {
        self.read.borrow_mut().insert(key.to_owned());
        self.metadata.get(key).map(String::as_str)
    }

    pub(super) fn text(&self, key: &str) -> Result<&str, DataError> {
        self.optional(key)
            .ok_or_else(|| self.damaged(key, "is missing"))
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
        let Some(text) = self.optional(key) else {
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
