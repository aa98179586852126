//! What a path that was typed stands for: the file of a scene, the folder of a run with its scene,
//! or a dataset; and what is known of a scene besides its Gaussians: settings, dataset, cameras,
//! up, the view to begin with.
//!
//! | question | file |
//! | --- | --- |
//! | which file is the scene, which dataset belongs to it | here |
//! | what does a run record of itself, and what is known of a lone scene | `facts.rs` |
//! | how is the file beside a scene called | `beside.rs` |
//! | where are photos and cameras of a scene that was moved | `moved.rs` |
//! | how are the files of a run called | `files.rs` |

mod beside;
mod facts;
mod files;
mod moved;
mod settings;

pub use facts::{DatasetPlace, Facts, forget_move, relative};
pub use files::Files;
pub use moved::Move;

use crate::cameras::json;
use crate::cameras::named::NamedCamera;
use crate::load;
use crate::output::{self, WrongUsage};
use crate::sky;
use crate::up::Up;
use anyhow::{Result, bail};
use splatcore_core::Gaussians;
use splatcore_core::sky::Sky;
use splatcore_data::dataset::{Dataset, is_file_of_cameras, scene_of_results};
use splatcore_data::scene;
use splatcore_data::scene::edit::Similarity;
use splatcore_page::Pose;
use splatcore_train::Config;
use splatcore_train::config::Background;
use splatcore_view::StoreStart;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What a path that was typed stands for.
pub enum Typed {
    /// A scene.
    Scene(SceneSource),
    /// A dataset, or nothing that is known.
    Dataset,
}

impl Typed {
    /// What `path` stands for, by the names in it.
    ///
    /// # Errors
    /// If it is the folder of a run that has no scene yet.
    pub fn of(path: &Path) -> Result<Self> {
        let (files, unbundled) = (Files::of(path), scene::is_unbundled(path));
        let own = [&files.scene, &files.sog].into_iter().find(|f| f.is_file());
        // A run's scene comes before a SOG of several files that was written into its folder.
        let own = own.filter(|_| !unbundled || files.hold_run());
        if unbundled && own.is_none() {
            return Ok(Self::Scene(SceneSource::of_file(path, path)));
        }
        if path.is_dir() {
            return match own {
                Some(file) => Ok(Self::Scene(SceneSource::of_file(path, file))),
                None if files.checkpoint.is_file() && files.config.is_file() => bail!(
                    "{}: is a run that has not written its scene yet; end it with `splatcore \
                     train` and --resume",
                    path.display()
                ),
                None => Ok(Self::Dataset),
            };
        }
        Ok(match is_file_of_cameras(path) {
            true => Self::Dataset,
            false => Self::Scene(SceneSource::of_file(path, path)),
        })
    }
}

/// A scene that was named, and what is known of it. Nothing is read before it is asked for.
#[derive(Clone)]
pub struct SceneSource {
    /// As it was typed: a file, or the folder of a run.
    typed: PathBuf,
    /// The scene's file; of a scene of several files their folder, or the one that lists them.
    file: PathBuf,
    facts: OnceLock<Box<Facts>>,
}

impl SceneSource {
    /// The scene that `path` stands for.
    ///
    /// # Errors
    /// If it is a dataset, or the folder of a run that has no scene yet.
    pub fn find(path: &Path) -> Result<Self> {
        match Typed::of(path)? {
            Typed::Scene(source) => Ok(source),
            Typed::Dataset if path.exists() => {
                let remedy = match scene_of_results(path) {
                    Some(file) => format!("give {}", file.display()),
                    None => "give a scene file, or the folder that `splatcore train` wrote".into(),
                };
                bail!(
                    "{}: is no scene and no folder of a run; {remedy}",
                    path.display()
                )
            }
            Typed::Dataset => Ok(Self::of_file(path, path)),
        }
    }

    fn of_file(typed: &Path, file: &Path) -> Self {
        Self {
            typed: typed.into(),
            file: file.into(),
            facts: OnceLock::new(),
        }
    }

    /// As it was typed.
    pub fn typed(&self) -> &Path {
        &self.typed
    }

    /// The scene's file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The folder that holds the scene's file.
    pub fn folder(&self) -> &Path {
        beside::folder_of(&self.file)
    }

    /// Reads the scene; also whether it is to be rendered with Mip-Splatting's 2D filter.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn load(&self) -> Result<(Gaussians, bool)> {
        load::scene(&self.file)
    }

    /// The name without folder and ending; of a run the folder's.
    pub fn name(&self) -> String {
        let name = match self.typed.is_dir() {
            true => self.typed.canonicalize().ok().and_then(|folder| {
                let name = folder.file_name()?;
                Some(name.to_string_lossy().into_owned())
            }),
            false => self
                .typed
                .file_stem()
                .map(|name| name.to_string_lossy().into_owned()),
        };
        name.unwrap_or_default()
    }

    /// What the run recorded, or what stands beside the scene.
    pub fn facts(&self) -> &Facts {
        self.facts
            .get_or_init(|| Box::new(Facts::of_scene(&self.file)))
    }

    /// Which way is up, if the run recorded it or somebody chose it for this scene.
    pub fn up(&self) -> Option<Up> {
        self.facts().up
    }

    /// The view that somebody chose for this scene to begin with.
    pub fn start(&self) -> Option<Pose> {
        self.facts().start.clone()
    }

    /// The file of the cameras that the run recorded, if it did.
    pub fn cameras_file(&self) -> Option<PathBuf> {
        let file = Files::of(beside::folder_of(&self.file)).cameras;
        (self.facts().dataset.is_some() && file.is_file()).then_some(file)
    }

    /// The cameras that the run recorded, if it did; a file that cannot be read is warned of.
    pub fn cameras(&self) -> Option<Vec<NamedCamera>> {
        self.read_cameras()
            .inspect_err(|error| eprintln!("warning: not used: {error:#}"))
            .ok()
            .flatten()
    }

    /// The cameras that the run recorded, if it did, where the scene is now.
    ///
    /// # Errors
    /// If their file cannot be read.
    pub fn read_cameras(&self) -> Result<Option<Vec<NamedCamera>>> {
        let Some(file) = self.cameras_file() else {
            return Ok(None);
        };
        let mut cameras = json::read_json(&file)?;
        if let Some(moved) = &self.facts().moved {
            cameras.iter_mut().for_each(|c| moved.camera(&mut c.camera));
        }
        Ok(Some(cameras))
    }

    /// The folder of the dataset: `typed`, else what the run recorded; none if nothing is known.
    ///
    /// # Errors
    /// One line: the dataset that was recorded is not there any more.
    pub fn dataset_folder(&self, typed: Option<&Path>) -> Result<Option<PathBuf>> {
        match (typed, &self.facts().dataset) {
            (Some(typed), _) => Ok(Some(typed.into())),
            (None, Some(place)) => Ok(Some(place.find(beside::folder_of(&self.file))?)),
            (None, None) => Ok(None),
        }
    }

    /// Whether there is a dataset for a command that cannot do without, before anything is read.
    ///
    /// # Errors
    /// If none is known, or it is not there any more.
    pub fn check_dataset(&self, typed: Option<&Path>) -> Result<PathBuf> {
        self.dataset_folder(typed)?.ok_or_else(|| {
            WrongUsage(format!(
                "{}: no run beside the scene names its photos; add --dataset DIR",
                self.typed.display()
            ))
            .into()
        })
    }

    /// The dataset that a command cannot do without, and its folder: [`SceneSource::dataset`].
    ///
    /// # Errors
    /// If none is known, it is not there any more, or it cannot be read.
    pub fn needs_dataset(
        &self,
        typed: Option<&Path>,
        images: Option<&str>,
    ) -> Result<(Dataset, PathBuf)> {
        let folder = self.check_dataset(typed)?;
        Ok((self.open(typed, images, &folder)?, folder))
    }

    /// The dataset that was typed, or else that of the run, and its folder; none if none is known.
    /// Its frame is the scene's: turned upright if the run was.
    ///
    /// # Errors
    /// If it is not there any more, or cannot be read.
    pub fn dataset(
        &self,
        typed: Option<&Path>,
        images: Option<&str>,
    ) -> Result<Option<(Dataset, PathBuf)>> {
        let Some(folder) = self.dataset_folder(typed)? else {
            return Ok(None);
        };
        Ok(Some((self.open(typed, images, &folder)?, folder)))
    }

    fn open(&self, typed: Option<&Path>, images: Option<&str>, folder: &Path) -> Result<Dataset> {
        // Another dataset's photos are elsewhere.
        let own = self.facts().dataset.as_ref().filter(|_| typed.is_none());
        if own.is_some() {
            eprintln!("photos of the run: {}", folder.display());
        }
        let images = images.or(own.and_then(|place| place.images.as_deref()));
        let mut dataset = load::dataset(folder, images, self.readout())?;
        self.turn(&mut dataset);
        Ok(dataset)
    }

    /// The rotation from a dataset's world to that of the run; none if the run was not turned
    /// upright, or the dataset is the cameras that the run wrote.
    pub fn turned(&self, dataset: &Dataset) -> Option<[[f64; 3]; 3]> {
        let place = |path: &Path| path.canonicalize().ok();
        let files = Files::of(self.folder());
        let own = [&files.transforms, &files.colmap].map(|file| place(file));
        let is_own = |file: &PathBuf| place(file).is_some_and(|file| own.contains(&Some(file)));
        (self.facts().turned).filter(|_| !dataset.files.iter().any(is_own))
    }

    /// Turns a dataset to where the scene is, if the run was turned upright, or the scene was moved
    /// since.
    pub fn turn(&self, dataset: &mut Dataset) {
        if let Some(rotation) = self.turned(dataset) {
            dataset.turn(&rotation);
        }
        if let Some(moved) = &self.facts().moved {
            moved.dataset(dataset);
        }
    }

    /// Background and `--test-every`: what was typed, else what the config.toml beside the scene
    /// says (a run writes one), else black and 8.
    pub fn settings(
        &self,
        background: Option<Background>,
        test_every: Option<u32>,
    ) -> (Background, u32) {
        let beside = self.config();
        let data = match beside.is_file().then(|| Config::from_file(&beside)) {
            Some(Ok(config)) => Some(config.complete().data),
            // Another program's may have that name too.
            Some(Err(error)) => {
                eprintln!("warning: the settings beside the scene are not used: {error}");
                None
            }
            None => None,
        };
        if let (Some(data), true) = (&data, background.is_none() || test_every.is_none()) {
            eprintln!(
                "from {}: background {}, test-every {} (flags override)",
                beside.display(),
                data.background,
                data.test_every
            );
        }
        let data = data.unwrap_or_else(|| Config::UNSET.complete().data);
        (
            background.unwrap_or(data.background),
            test_every.unwrap_or(data.test_every),
        )
    }

    /// The sky that the run beside the scene learned, turned as the scene was since; none where a
    /// colour was typed to be behind the scene in its place.
    ///
    /// # Errors
    /// If its file is none.
    pub fn sky(&self, typed: Option<Background>) -> Result<Option<Arc<Sky>>> {
        let sky = typed.map_or_else(|| self.sky_beside(), |_| Ok(None))?;
        if sky.is_some() {
            eprintln!(
                "from {}: the sky (--background shows a colour)",
                Files::of(self.folder()).sky.display()
            );
        }
        Ok(sky.map(Arc::new))
    }

    /// The sky that the run beside the scene learned, turned as the scene was since.
    ///
    /// # Errors
    /// If its file is none.
    pub fn sky_beside(&self) -> Result<Option<Sky>> {
        let Some(sky) = sky::read(&Files::of(self.folder()).sky)? else {
            return Ok(None);
        };
        let moved = &self.facts().moved;
        Ok(Some(moved.as_ref().map_or(sky, |moved| moved.sky(&sky))))
    }

    /// Says that another file of this scene does not hold its sky, if it has one.
    pub fn tell_of_sky(&self, file: &Path) {
        let (own, there) = (
            Files::of(self.folder()).sky,
            Files::of(beside::folder_of(file)).sky,
        );
        if own.is_file() && !there.is_file() {
            eprintln!(
                "note: no format of scenes holds a sky, so {} has none; it stays in {}",
                file.display(),
                own.display()
            );
        }
    }

    /// Records what is known of this scene for another file of it, where that makes a run's folder:
    /// the file has the name of a run's scene, and no other run is there.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn pass_on(&self, file: &Path) -> Result<()> {
        let (here, there) = (beside::folder_of(&self.file), beside::folder_of(file));
        let (own, files) = (Files::of(here), Files::of(there));
        let names = [&files.scene, &files.sog].map(|own| own.file_name());
        let is_runs = names.contains(&file.file_name());
        if !is_runs || files.config.is_file() || beside::same_folder(&self.file, file) {
            return Ok(());
        }
        let Some(place) = &self.facts().dataset else {
            return Ok(());
        };
        let now = place.find(here).unwrap_or_else(|_| place.absolute.clone());
        if let Some(sky) = sky::read(&own.sky)? {
            sky::write(&files.sky, &sky)?;
        }
        let facts = Facts {
            dataset: Some(DatasetPlace::new(&now, place.images.as_deref(), there)),
            ..self.facts().clone()
        };
        if own.cameras.is_file() {
            let cameras = json::read_json(&own.cameras)?;
            json::write_json(&files.cameras, &cameras)?;
        }
        facts.write(&files.run)
    }

    /// Records what is known of a file in the same folder that this scene was written to, moved by
    /// a map: which way is up (`up`, if somebody chose it, else as it was), where it begins, and
    /// where its photos are. Nothing where nothing moved.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn record_move(&self, file: &Path, map: &Similarity, up: Option<Up>) -> Result<()> {
        let known = self.facts();
        let same = beside::same_folder(&self.file, file);
        let (beside, before) = (beside::beside(file), beside::found_beside(file));
        let before = match before.is_file() {
            true => Facts::read(&before).ok().and_then(|facts| facts.moved),
            false => None,
        };
        let all = match &known.moved {
            Some(moved) => moved.map().then(map),
            None => *map,
        };
        let moved = Move::of(&all);
        if !same || known.are_none() || (moved.is_none() && before.is_none()) {
            return Ok(());
        }
        let now = Move::of(map);
        let turned = |known: Up| Up {
            direction: now.map_or(known.direction, |now| now.direction(known.direction)),
            ..known
        };
        let facts = Facts {
            up: up.or(known.up.map(turned)),
            start: (known.start.as_ref()).map(|pose| now.map_or(pose.clone(), |m| m.pose(pose))),
            moved,
            ..Facts::default()
        };
        facts.write(&beside)
    }

    /// What stores a view to begin with: in run.json for the scene that a run wrote, else in a file
    /// beside the scene.
    pub fn store_start(&self) -> StoreStart {
        let files = Files::of(beside::folder_of(&self.file));
        let names = [&files.scene, &files.sog].map(|own| own.file_name());
        let is_runs = names.contains(&self.file.file_name()) && files.run.is_file();
        // Of a scene that was moved, what is known stands beside it.
        if is_runs && !beside::found_beside(&self.file).is_file() {
            return store_start(files.run);
        }
        let (scene, store) = (self.file.clone(), store_start(beside::beside(&self.file)));
        Arc::new(move |pose: Pose| {
            beside::rename_old(&scene).map_err(|error| output::one_line(&error))?;
            store(pose)
        })
    }

    /// Reads what is known of this scene before `file` is written: if that lies beside it, what an
    /// earlier version left for this scene stays of this scene alone.
    ///
    /// # Errors
    /// If that cannot be renamed.
    pub fn before_writing(&self, file: &Path) -> Result<()> {
        let _ = self.facts();
        match beside::same_folder(&self.file, file) {
            true => beside::rename_old(&self.file),
            false => Ok(()),
        }
    }

    fn config(&self) -> PathBuf {
        Files::of(beside::folder_of(&self.file)).config
    }
}

/// What stores a view to begin with in a file of what is known of a scene.
pub fn store_start(file: PathBuf) -> StoreStart {
    let shown = output::one_line;
    Arc::new(move |pose: Pose| {
        let mut facts = match file.is_file() {
            true => Facts::read(&file).map_err(|error| shown(&error))?,
            false => Facts::default(),
        };
        facts.start = Some(pose);
        facts.write(&file).map_err(|error| shown(&error))?;
        Ok(format!(
            "stored: the scene begins here now ({})",
            file.display()
        ))
    })
}
