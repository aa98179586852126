//! The arguments of one call: their shapes and types against each other, and whether outputs can
//! be written.

use super::card::Card;
use super::element::{Device, Element, Value};
use super::view::View;
use crate::process::{detached, on_all_cores};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::marker::Ungil;
use pyo3::prelude::*;
use splatcore::cuda::tensors::DeviceSlice;
use splatcore::tensors;

/// What a side of an argument must be.
#[derive(Clone, Copy)]
pub enum Side {
    /// This.
    Is(usize),
    /// The same for all arguments that have a side of this name.
    Named(&'static str),
    /// As `Named`, for the first side: any number of leading dimensions, folded into one.
    Folded(&'static str),
}

/// The float type of a call.
#[derive(Clone, Copy)]
pub enum Float {
    F32,
    F64,
}

/// Runs code with `$F` as the float type of a call.
macro_rules! for_float {
    ($float:expr, $F:ident => $body:expr) => {
        match $float {
            $crate::tensors::call::Float::F32 => {
                type $F = f32;
                $body
            }
            $crate::tensors::call::Float::F64 => {
                type $F = f64;
                $body
            }
        }
    };
}
pub(super) use for_float;

/// Arguments that were read so far.
#[derive(Default)]
pub struct Call {
    sides: Vec<(&'static str, usize)>,
    /// The first float tensor's name and type.
    float: Option<(&'static str, Element)>,
    /// The first tensor's name and device.
    device: Option<(&'static str, Device)>,
    /// Memory: name, first byte, end, whether it is written.
    ranges: Vec<(&'static str, usize, usize, bool)>,
}

/// Bytes of all arguments up to which a pool of threads takes longer to wake than to compute.
const SMALL: usize = 1 << 14;

/// That no output overlaps another argument, and all lie on the CPU. Only [`Call::check`] makes it.
pub struct Checked {
    /// Whether the arguments are so small that one thread computes.
    small: bool,
}

/// An argument that is read.
pub struct Input<'a>(View, std::marker::PhantomData<&'a ()>);

/// An argument that is written.
pub struct Output<'a>(View, std::marker::PhantomData<&'a ()>);

/// A Python object of an argument, which stays alive during the call.
pub type Object<'a, 'py> = &'a Bound<'py, PyAny>;

impl Call {
    /// A tensor of the call's float type.
    pub fn floats<'a>(
        &mut self,
        name: &'static str,
        value: Object<'a, '_>,
        sides: &[Side],
    ) -> PyResult<Input<'a>> {
        Ok(Input(
            self.read_floats(name, value, sides)?,
            Default::default(),
        ))
    }

    /// As [`Call::floats`], or None.
    pub fn maybe_floats<'a>(
        &mut self,
        name: &'static str,
        value: Option<Object<'a, '_>>,
        sides: &[Side],
    ) -> PyResult<Option<Input<'a>>> {
        value
            .map(|value| self.floats(name, value, sides))
            .transpose()
    }

    /// A tensor of the call's float type that is written.
    pub fn floats_out<'a>(
        &mut self,
        name: &'static str,
        value: Object<'a, '_>,
        sides: &[Side],
    ) -> PyResult<Output<'a>> {
        let view = self.read_floats(name, value, sides)?;
        self.writable(view, value)
    }

    /// As [`Call::floats_out`], or None.
    pub fn maybe_floats_out<'a>(
        &mut self,
        name: &'static str,
        value: Option<Object<'a, '_>>,
        sides: &[Side],
    ) -> PyResult<Option<Output<'a>>> {
        value
            .map(|value| self.floats_out(name, value, sides))
            .transpose()
    }

    /// A tensor of another type.
    pub fn values<'a, T: Value>(
        &mut self,
        name: &'static str,
        value: Object<'a, '_>,
        sides: &[Side],
    ) -> PyResult<Input<'a>> {
        Ok(Input(
            self.read::<T>(name, value, sides)?,
            Default::default(),
        ))
    }

    /// As [`Call::values`], or None.
    pub fn maybe_values<'a, T: Value>(
        &mut self,
        name: &'static str,
        value: Option<Object<'a, '_>>,
        sides: &[Side],
    ) -> PyResult<Option<Input<'a>>> {
        value
            .map(|value| self.values::<T>(name, value, sides))
            .transpose()
    }

    /// A tensor of another type that is written.
    pub fn values_out<'a, T: Value>(
        &mut self,
        name: &'static str,
        value: Object<'a, '_>,
        sides: &[Side],
    ) -> PyResult<Output<'a>> {
        let view = self.read::<T>(name, value, sides)?;
        self.writable(view, value)
    }

    /// As [`Call::values_out`], or None.
    pub fn maybe_values_out<'a, T: Value>(
        &mut self,
        name: &'static str,
        value: Option<Object<'a, '_>>,
        sides: &[Side],
    ) -> PyResult<Option<Output<'a>>> {
        value
            .map(|value| self.values_out::<T>(name, value, sides))
            .transpose()
    }

    /// Says how long a named side of the arguments to come is.
    pub fn bind(&mut self, name: &'static str, length: usize) {
        self.sides.push((name, length));
    }

    /// The length of a named side of the arguments so far.
    pub fn side(&self, name: &'static str) -> usize {
        let found = self.sides.iter().find(|(side, _)| *side == name);
        found.map_or(0, |&(_, length)| length)
    }

    fn read_floats(
        &mut self,
        name: &'static str,
        value: Object<'_, '_>,
        sides: &[Side],
    ) -> PyResult<View> {
        let view = View::new(name, value)?;
        let found = view.element;
        match self.float {
            Some((first, wanted)) if found != wanted => {
                return Err(PyTypeError::new_err(format!(
                    "{name} must be of {wanted} as {first} is, found {found}"
                )));
            }
            None if !matches!(found, Element::F32 | Element::F64) => {
                return Err(PyTypeError::new_err(format!(
                    "{name} must be of float32 or float64, found {found}"
                )));
            }
            _ => self.float = self.float.or(Some((name, found))),
        }
        self.fit(&view, sides)?;
        Ok(view)
    }

    fn read<T: Value>(
        &mut self,
        name: &'static str,
        value: Object<'_, '_>,
        sides: &[Side],
    ) -> PyResult<View> {
        let view = View::new(name, value)?;
        if view.element != T::ELEMENT {
            return Err(PyTypeError::new_err(format!(
                "{name} must be of {}, found {}",
                T::ELEMENT,
                view.element
            )));
        }
        self.fit(&view, sides)?;
        Ok(view)
    }

    /// Compares shape and device with those of the arguments so far, and remembers them.
    fn fit(&mut self, view: &View, sides: &[Side]) -> PyResult<()> {
        let name = view.name;
        let known = self.sides.len();
        let folds = matches!(sides.first(), Some(Side::Folded(_)));
        let own = sides.len() - usize::from(folds);
        let leading = view.shape.len().checked_sub(own);
        let Some(leading) = leading.filter(|&leading| folds || leading == 0) else {
            return Err(self.no_fit(view, sides));
        };
        let (front, back) = view.shape.split_at(leading);
        let folded = front
            .iter()
            .fold(1, |all: usize, &side| all.saturating_mul(side));
        let lengths = folds.then_some(folded).into_iter();
        let mut fits = true;
        for (found, side) in lengths.chain(back.iter().copied()).zip(sides) {
            fits &= match *side {
                Side::Is(wanted) => found == wanted,
                Side::Named(side) | Side::Folded(side) => {
                    let bound = self.sides.iter().find(|(known, _)| *known == side);
                    let wanted = bound.map_or(found, |&(_, length)| length);
                    if bound.is_none() {
                        self.sides.push((side, found));
                    }
                    found == wanted
                }
            };
        }
        if !fits {
            self.sides.truncate(known);
            return Err(self.no_fit(view, sides));
        }
        match self.device {
            Some((first, wanted)) if wanted != view.device => {
                return Err(PyValueError::new_err(format!(
                    "{name} must lie on {wanted} as {first} does, found {}",
                    view.device
                )));
            }
            _ => self.device = self.device.or(Some((name, view.device))),
        }
        let first = view.pointer.expose_provenance();
        let bytes = view.bytes().unwrap_or(0);
        self.ranges
            .push((name, first, first.saturating_add(bytes), false));
        Ok(())
    }

    fn no_fit(&self, view: &View, sides: &[Side]) -> PyErr {
        let text = |side: &Side| match *side {
            Side::Is(length) => length.to_string(),
            Side::Named(side) | Side::Folded(side) => {
                let bound = self.sides.iter().find(|(known, _)| *known == side);
                match bound {
                    Some((_, length)) => format!("{side} = {length}"),
                    None => side.to_owned(),
                }
            }
        };
        let sides: Vec<String> = sides.iter().map(text).collect();
        PyValueError::new_err(format!(
            "{} must have shape [{}], found {:?}",
            view.name,
            sides.join(", "),
            view.shape
        ))
    }

    /// The argument that was read last, as an output.
    fn writable<'a>(&mut self, view: View, value: Object<'a, '_>) -> PyResult<Output<'a>> {
        if let Some(reason) = view.locked(value)? {
            return Err(PyValueError::new_err(format!(
                "{} is written to, found one that {reason}; pass a new one without",
                view.name
            )));
        }
        if let Some(range) = self.ranges.last_mut() {
            range.3 = true;
        }
        Ok(Output(view, Default::default()))
    }

    /// Ends the reading of arguments that lie on a CUDA device; `None` if they lie on the CPU.
    ///
    /// # Errors
    /// `ValueError` if an output shares memory with another argument, `TypeError` if floats are not
    /// of float32, `RuntimeError` if the device cannot be used.
    pub fn card(&self, stream: usize) -> PyResult<Option<Card>> {
        let Some((_, Device::Cuda(index))) = self.device else {
            return Ok(None);
        };
        if let Some((name, Element::F64)) = self.float {
            return Err(PyTypeError::new_err(format!(
                "{name} must be of float32 on a CUDA device, found float64; pass .float() of all \
                 tensors, or .cpu()"
            )));
        }
        self.apart()?;
        Card::new(index, stream).map(Some)
    }

    /// Ends the reading of arguments that lie on the CPU.
    ///
    /// # Errors
    /// `ValueError` if an output shares memory with another argument, or lies on a CUDA device.
    pub fn check(&self) -> PyResult<(Checked, Float)> {
        if let Some((name, Device::Cuda(_))) = self.device {
            let words =
                format!("{name} must lie on the CPU for this function, found a CUDA device");
            return Err(PyValueError::new_err(words));
        }
        self.apart()?;
        let float = match self.float {
            Some((_, Element::F64)) => Float::F64,
            _ => Float::F32,
        };
        let bytes = |&(_, first, end, _): &(&str, usize, usize, bool)| end - first;
        let small = self.ranges.iter().map(bytes).sum::<usize>() <= SMALL;
        Ok((Checked { small }, float))
    }

    /// Refuses outputs that share memory with other arguments.
    fn apart(&self) -> PyResult<()> {
        for (i, &(name, first, end, written)) in self.ranges.iter().enumerate() {
            for &(other, other_first, other_end, other_written) in &self.ranges[..i] {
                let apart = end <= other_first
                    || other_end <= first
                    || first == end
                    || other_first == other_end;
                if (written || other_written) && !apart {
                    return Err(PyValueError::new_err(format!(
                        "{name} must not share memory with {other}, found that one is written to"
                    )));
                }
            }
        }
        Ok(())
    }
}

impl Input<'_> {
    /// The values, in C order; none if they are of another type, which [`Call`] has refused.
    pub fn slice<T: Value>(&self, _: &Checked) -> &[T] {
        let view = &self.0;
        if view.element != T::ELEMENT || view.len() == 0 {
            return &[];
        }
        // SAFETY: `View::new` has checked type, alignment, contiguity and size. The caller's object
        // keeps the memory, and `Checked` says that no output of the call lies there. That nobody
        // else writes there meanwhile is up to the caller, as for every function of torch.
        unsafe { std::slice::from_raw_parts(view.pointer.cast::<T>(), view.len()) }
    }

    /// The values on a card.
    pub fn on<T: Value>(&self, card: &Card) -> DeviceSlice<T> {
        card.slice(&self.0)
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }
}

impl Output<'_> {
    /// As [`Input::slice`], to write.
    pub fn slice<T: Value>(&mut self, _: &Checked) -> &mut [T] {
        let view = &self.0;
        if view.element != T::ELEMENT || view.len() == 0 {
            return &mut [];
        }
        // SAFETY: as for inputs; `Checked` says that no other argument lies there, and the borrow
        // of `self` that there is one slice of it.
        unsafe { std::slice::from_raw_parts_mut(view.pointer.cast::<T>(), view.len()) }
    }

    /// The values on a card.
    pub fn on<T: Value>(&self, card: &Card) -> DeviceSlice<T> {
        card.slice(&self.0)
    }
}

/// The values on a card of an argument that may be None.
pub fn maybe_on<T: Value>(input: &Option<Input<'_>>, card: &Card) -> Option<DeviceSlice<T>> {
    input.as_ref().map(|input| input.on(card))
}

/// As [`maybe_on`], to write.
pub fn maybe_out_on<T: Value>(output: &Option<Output<'_>>, card: &Card) -> Option<DeviceSlice<T>> {
    output.as_ref().map(|output| output.on(card))
}

/// The values of an argument that may be None.
pub fn maybe<'a, T: Value>(input: &'a Option<Input<'_>>, checked: &Checked) -> Option<&'a [T]> {
    input.as_ref().map(|input| input.slice(checked))
}

/// As [`maybe`], to write.
pub fn maybe_out<'a, T: Value>(
    output: &'a mut Option<Output<'_>>,
    checked: &Checked,
) -> Option<&'a mut [T]> {
    output.as_mut().map(|output| output.slice(checked))
}

/// Computes without Python's lock, on all cores unless there is little to do.
pub fn run(
    py: Python<'_>,
    checked: &Checked,
    work: impl FnOnce() -> tensors::Result + Ungil + Send,
) -> PyResult<()> {
    let small = checked.small;
    detached(py, || {
        let result = match small {
            true => tensors::on_this_thread(work),
            false => on_all_cores(work),
        };
        result.map_err(|error| PyValueError::new_err(error.to_string()))
    })
}

/// A size or count of an argument.
///
/// # Errors
/// `ValueError` if it is negative or does not fit into 31 bits.
pub fn size(name: &str, value: i64) -> PyResult<u32> {
    i32::try_from(value)
        .ok()
        .and_then(|value| u32::try_from(value).ok())
        .ok_or_else(|| {
            PyValueError::new_err(format!("{name} must be 0 to 2147483647, found {value}"))
        })
}
