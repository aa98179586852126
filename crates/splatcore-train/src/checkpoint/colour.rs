//! The tensors of colour models.

use super::file::{Reader, Tensor};
use safetensors::Dtype;
use splatcore_core::colour::{ColourModel, ColourState, ColourTable};
use splatcore_data::DataError;

/// The affine model's, which files without a name of a model hold.
const AFFINE: &str = "exposure";
const PHOTOS: &str = "colour.photos";
const CAMERAS: &str = "colour.cameras";
/// In the metadata: whose numbers the file holds, if not the affine model's.
const NAME: &str = "colour";

/// What the metadata call the model.
pub(super) fn name(colours: &ColourState) -> Option<&'static str> {
    let other = colours.model.filter(|&model| model != ColourModel::Affine);
    other.map(|model| model.entry().name)
}

/// None of a run that learned none.
pub(super) fn tensors(colours: &ColourState) -> Vec<Tensor<'_>> {
    let tables = match colours.model {
        None => Vec::new(),
        Some(ColourModel::Affine) => vec![(AFFINE, &colours.photos)],
        Some(_) => vec![(PHOTOS, &colours.photos), (CAMERAS, &colours.cameras)],
    };
    let of_table = |(group, table)| table_tensors(group, table);
    tables.into_iter().flat_map(of_table).collect()
}

/// Those of a table.
pub(super) fn table_tensors<'a>(group: &str, table: &'a ColourTable) -> Vec<Tensor<'a>> {
    let mut tensors = Vec::new();
    for (part, values) in [
        ("parameters", &table.parameters),
        ("first", &table.first),
        ("second", &table.second),
    ] {
        let shape = vec![table.rows(), table.width];
        tensors.push(Tensor::f32(format!("{group}.{part}"), shape, values));
    }
    let seen = format!("{group}.seen");
    tensors.push(Tensor::list(&seen, "U32", &table.seen, 4));
    tensors
}

/// None in a file of a run that learned none.
pub(super) fn read(file: &Reader<'_>) -> Result<ColourState, DataError> {
    if file.optional(NAME).is_some() {
        let model: ColourModel = (file.text(NAME)?.parse()).map_err(|problem: String| {
            file.damaged(NAME, &format!("is unknown here: {problem}"))
        })?;
        let entry = model.entry();
        return Ok(ColourState {
            model: Some(model),
            photos: table(file, PHOTOS, entry.photo.len())?,
            cameras: table(file, CAMERAS, entry.camera.len())?,
        });
    }
    if file.dtype(&format!("{AFFINE}.parameters")).is_none() {
        return Ok(ColourState::default());
    }
    let model = ColourModel::Affine;
    Ok(ColourState {
        photos: table(file, AFFINE, model.entry().photo.len())?,
        ..ColourState::fresh(model, 0, 0)
    })
}

/// A table of rows of so many numbers.
pub(super) fn table(
    file: &Reader<'_>,
    group: &str,
    width: usize,
) -> Result<ColourTable, DataError> {
    let rows = file.array(&format!("{group}.seen"), Dtype::U32, &[])?;
    let part = |part: &str| -> Result<Vec<f32>, DataError> {
        let name = format!("{group}.{part}");
        let values: Vec<f32> = file.array(&name, Dtype::F32, &[width])?;
        match values.len() == rows.len() * width {
            true => Ok(values),
            false => Err(file.damaged(&name, "has another number of rows than its counts")),
        }
    };
    Ok(ColourTable {
        width,
        parameters: part("parameters")?,
        first: part("first")?,
        second: part("second")?,
        seen: rows,
    })
}
