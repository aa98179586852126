//! Fields of JSON files, which know their names for messages.

use crate::PathError;
use serde_json::Value;
use std::path::Path;

/// A value and where it stands.
#[derive(Clone)]
pub struct Field<'a> {
    value: &'a Value,
    file: &'a Path,
    name: String,
}

impl<'a> Field<'a> {
    /// A file as a whole.
    pub fn root(value: &'a Value, file: &'a Path) -> Self {
        let name = String::new();
        Self { value, file, name }
    }

    pub fn error(&self, problem: impl Into<String>, remedy: impl Into<String>) -> PathError {
        PathError::file(self.file, self.name.as_str(), problem, remedy)
    }

    /// A member that may be missing or null.
    pub fn find(&self, member: &str) -> Option<Field<'a>> {
        let value = self.value.get(member).filter(|value| !value.is_null())?;
        Some(Self {
            value,
            file: self.file,
            name: self.name_of(member),
        })
    }

    /// A member that must be there.
    pub fn get(&self, member: &str) -> Result<Field<'a>, PathError> {
        self.find(member).ok_or_else(|| {
            let name = self.name_of(member);
            PathError::file(self.file, name, "is missing", "save the path again")
        })
    }

    /// The entries of a list.
    pub fn list(&self) -> Result<Vec<Field<'a>>, PathError> {
        let Some(values) = self.value.as_array() else {
            return Err(self.expected("a list"));
        };
        let entry = |(i, value): (usize, &'a Value)| Self {
            value,
            file: self.file,
            name: format!("{}[{i}]", self.name),
        };
        Ok(values.iter().enumerate().map(entry).collect())
    }

    pub fn number(&self) -> Result<f64, PathError> {
        let number = self.value.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| self.expected("a number"))
    }

    /// A number above 0.
    pub fn positive(&self) -> Result<f64, PathError> {
        match self.number()? {
            number if number > 0.0 => Ok(number),
            number => Err(self.error(format!("{number} is not above 0"), "correct it")),
        }
    }

    /// A vertical field of view in degrees, as radians.
    pub fn degrees(&self) -> Result<f64, PathError> {
        match self.number()? {
            fov if fov > 0.0 && fov < 180.0 => Ok(fov.to_radians()),
            fov => Err(self.error(
                format!("a field of view of {fov} degrees is not between 0 and 180"),
                "correct it",
            )),
        }
    }

    /// A list of just so many numbers.
    pub fn numbers<const N: usize>(&self) -> Result<[f64; N], PathError> {
        let values = self.value.as_array().filter(|values| values.len() == N);
        let mut numbers = [0.0; N];
        for (number, value) in numbers.iter_mut().zip(values.into_iter().flatten()) {
            *number = value.as_f64().filter(|v| v.is_finite()).unwrap_or(f64::NAN);
        }
        if values.is_none() || numbers.iter().any(|v| v.is_nan()) {
            return Err(self.expected(&format!("a list of {N} numbers")));
        }
        Ok(numbers)
    }

    /// Any number of numbers.
    pub fn all_numbers(&self) -> Result<Vec<f64>, PathError> {
        self.list()?.iter().map(Self::number).collect()
    }

    pub fn text(&self) -> Result<&'a str, PathError> {
        self.value.as_str().ok_or_else(|| self.expected("text"))
    }

    pub fn truth(&self) -> Result<bool, PathError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.expected("true or false"))
    }

    fn expected(&self, what: &str) -> PathError {
        let found = match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => {
                format!("the text {:?}", text.chars().take(40).collect::<String>())
            }
            Value::Array(values) => format!("a list of {}", values.len()),
            Value::Object(_) => "an object".to_owned(),
        };
        self.error(
            format!("{what} is expected, there is {found}"),
            "correct it, or save the path again",
        )
    }

    fn name_of(&self, member: &str) -> String {
        match self.name.is_empty() {
            true => member.to_owned(),
            false => format!("{}.{member}", self.name),
        }
    }
}
