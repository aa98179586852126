//! The program that finds poses: COLMAP, or pycolmap in a Python.

mod colmap;
mod gpu;
mod installed;
mod pycolmap;
mod request;

use crate::child::{Call, on_path};
use crate::{Job, PosesError};
use std::path::{Path, PathBuf};

pub use installed::{Installed, installed};
pub use request::{Extract, Pairs, VOCABULARY};

const HOW_TO_INSTALL: &str = "Debian and Ubuntu: sudo apt install colmap; macOS: brew install \
    colmap; Windows: https://github.com/colmap/colmap/releases; conda: conda install -c \
    conda-forge colmap; or pip install pycolmap";

/// A program that was found, and what it can do.
pub struct Program {
    kind: Kind,
    /// `COLMAP 3.8` or `pycolmap 4.2.1`.
    pub name: String,
    /// Name of the graphics card that it uses.
    pub gpu: Option<String>,
    /// Why it uses none.
    pub no_gpu: &'static str,
    /// Whether it can find focal lengths before the global mapper runs.
    pub calibrates: bool,
    /// Built with CUDA.
    cuda: bool,
    global: Option<Global>,
}

enum Kind {
    Colmap(Box<colmap::Colmap>),
    Python(PathBuf),
}

/// Who maps globally.
enum Global {
    /// The program itself.
    Own,
    /// A separate program `glomap`.
    Glomap(PathBuf),
}

impl Program {
    /// The program that was asked for, else `colmap` on `PATH`, else pycolmap in a Python on
    /// `PATH`.
    pub fn find(job: &Job) -> Result<Self, PosesError> {
        let mut looked = Vec::new();
        let mut program = match (&job.colmap, &job.python) {
            (Some(path), _) => Self::colmap(path)?,
            (None, Some(path)) => Self::python(path)?,
            (None, None) => match on_path("colmap") {
                Some(path) => Self::colmap(&path)?,
                None => {
                    looked.push("no program `colmap` on PATH".to_owned());
                    Self::any_python(&mut looked)?
                }
            },
        };
        (program.gpu, program.no_gpu) = match (job.no_gpu, program.cuda) {
            (true, _) => (None, "as was asked for"),
            (false, false) => (None, "it was built without CUDA"),
            (false, true) => match gpu::card() {
                Some(card) => (Some(card), ""),
                None => (None, "no NVIDIA card was found"),
            },
        };
        Ok(program)
    }

    fn colmap(path: &Path) -> Result<Self, PosesError> {
        let colmap = colmap::Colmap::probe(path)?;
        let global = match colmap.has_command("global_mapper") {
            true => Some(Global::Own),
            false => on_path("glomap").map(Global::Glomap),
        };
        Ok(Self {
            name: format!("COLMAP {}", colmap.version),
            gpu: None,
            no_gpu: "",
            calibrates: colmap.has_command("view_graph_calibrator"),
            cuda: colmap.cuda,
            global,
            kind: Kind::Colmap(Box::new(colmap)),
        })
    }

    fn python(path: &Path) -> Result<Self, PosesError> {
        let found = pycolmap::probe(path)?;
        Ok(Self {
            name: format!("pycolmap {}", found.version),
            gpu: None,
            no_gpu: "",
            cuda: found.cuda,
            calibrates: found.calibrates,
            global: found.global.then_some(Global::Own),
            kind: Kind::Python(path.to_path_buf()),
        })
    }

    fn any_python(looked: &mut Vec<String>) -> Result<Self, PosesError> {
        for name in ["python3", "python"] {
            let Some(path) = on_path(name) else {
                looked.push(format!("no `{name}`"));
                continue;
            };
            match Self::python(&path) {
                Ok(program) => return Ok(program),
                Err(_) => looked.push(format!("no pycolmap in {}", path.display())),
            }
        }
        Err(PosesError::NoProgram {
            looked: looked.join(", "),
            how: HOW_TO_INSTALL,
        })
    }

    /// Whether it can match photos with those that look like them.
    pub fn finds_similar(&self) -> bool {
        matches!(&self.kind, Kind::Colmap(colmap) if colmap.finds_similar())
    }

    /// What is to be done before [`Program::pair`], which finds it in the folder of work.
    pub fn prepare(&self, database: &Path, pairs: &Pairs<'_>, work: &Path) -> Option<Call> {
        match (&self.kind, pairs) {
            (Kind::Colmap(colmap), Pairs::Similar(_)) => Some(colmap.vocabulary(database, work)),
            _ => None,
        }
    }

    /// Whether there is a global mapper.
    pub fn maps_globally(&self) -> bool {
        self.global.is_some()
    }

    /// Finds features.
    pub fn extract(&self, what: &Extract<'_>) -> Call {
        match &self.kind {
            Kind::Colmap(colmap) => colmap.extract(what, self.gpu.is_some()),
            Kind::Python(path) => pycolmap::extract(path, what, self.gpu.is_some()),
        }
    }

    /// Matches features.
    pub fn pair(&self, database: &Path, pairs: &Pairs<'_>, work: &Path) -> Call {
        match &self.kind {
            Kind::Colmap(colmap) => colmap.pair(database, pairs, work, self.gpu.is_some()),
            Kind::Python(path) => pycolmap::pair(path, database, pairs, self.gpu.is_some()),
        }
    }

    /// Finds focal lengths; only if the program [calibrates](Self::calibrates).
    pub fn calibrate(&self, database: &Path) -> Call {
        match &self.kind {
            Kind::Colmap(colmap) => Call::new(&colmap.path)
                .args(["view_graph_calibrator", "--database_path"])
                .arg(database),
            Kind::Python(path) => pycolmap::calibrate(path, database),
        }
    }

    /// Finds poses, and writes models into folders `0`, `1` and so on of `models`.
    pub fn map(&self, globally: bool, database: &Path, images: &Path, models: &Path) -> Call {
        let command = if globally { "global_mapper" } else { "mapper" };
        let call = match (&self.kind, &self.global) {
            (_, Some(Global::Glomap(path))) if globally => Call::new(path).arg("mapper"),
            (Kind::Python(path), _) => {
                return pycolmap::map(path, globally, database, images, models);
            }
            (Kind::Colmap(colmap), _) => Call::new(&colmap.path).arg(command),
        };
        call.arg("--database_path")
            .arg(database)
            .arg("--image_path")
            .arg(images)
            .arg("--output_path")
            .arg(models)
    }

    /// Adjusts a model's poses, cameras and points to its 2D points, and writes it into another
    /// folder, which exists.
    pub fn adjust(&self, model: &Path, adjusted: &Path) -> Call {
        match &self.kind {
            Kind::Colmap(colmap) => Call::new(&colmap.path)
                .args(["bundle_adjuster", "--input_path"])
                .arg(model)
                .arg("--output_path")
                .arg(adjusted),
            Kind::Python(path) => pycolmap::adjust(path, model, adjusted),
        }
    }
}
