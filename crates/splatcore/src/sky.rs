//! The sky that a run learned, as a file beside its scene: `sky.json`. docs/conventions.md has the
//! format.

use crate::output;
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use splatcore_core::sky::{COEFFICIENTS, DEGREE, Sky};
use std::path::Path;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkyFile {
    degree: u8,
    /// Of red, green and blue.
    coefficients: Vec<[f32; 3]>,
}

/// Writes a sky.
pub fn write(file: &Path, sky: &Sky) -> Result<()> {
    let content = SkyFile {
        degree: DEGREE,
        coefficients: sky.coefficients.to_vec(),
    };
    output::write_json(file, &content)
}

/// Reads one; none if the file is not there.
///
/// # Errors
/// If the file cannot be read, or is no sky.
pub fn read(file: &Path) -> Result<Option<Sky>> {
    let shown = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => bail!("{shown}: cannot be read ({error})"),
    };
    let remedy = "copy it again from the run, or remove it to show the scene without a sky";
    let content: SkyFile = match serde_json::from_str(&text) {
        Ok(content) => content,
        Err(error) => bail!("{shown}: is no sky ({error}); {remedy}"),
    };
    let (degree, count) = (content.degree, content.coefficients.len());
    let sky = content.coefficients.try_into();
    match sky.map(|coefficients| Sky { coefficients }) {
        Ok(sky) if degree == DEGREE && sky.is_sound() => Ok(Some(sky)),
        _ => bail!(
            "{shown}: is a sky of degree {degree} with {count} coefficients, and {COEFFICIENTS} \
             of degree {DEGREE}, all finite, are known; {remedy}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skies_survive_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sky.json");
        assert_eq!(read(&file).unwrap(), None);
        let mut sky = Sky {
            coefficients: [[0.25, -1.5, 3e-7]; COEFFICIENTS],
        };
        sky.coefficients[3][1] = 0.1;
        write(&file, &sky).unwrap();
        assert_eq!(read(&file).unwrap(), Some(sky));
        for wrong in [
            "{\"degree\":3,\"coefficients\":[[1,2,3]]}",
            "{\"degree\":3,\"coefficients\":[[1,2]]}",
            "[]",
            "",
        ] {
            std::fs::write(&file, wrong).unwrap();
            let error = read(&file).unwrap_err().to_string();
            assert!(
                error.contains("sky.json: is ") && !error.contains('\n'),
                "{error}"
            );
        }
    }
}
