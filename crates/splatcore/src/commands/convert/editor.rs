//! Applies actions to a scene.

use super::action::{Action, Points, Up};
use super::photos::Photos;
use crate::commands::scene_stats::stats_text;
use crate::output::{self, counted, thousands};
use anyhow::{Result, bail};
use splatcore_core::camera::{dot, normalize};
use splatcore_core::{Gaussians, sh};
use splatcore_data::scene::edit::{
    self, Merged, Moved, Selected, Similarity, Stats, WithDegree, matching,
};
use splatcore_data::scene::rows::whole;
use splatcore_data::scene::{OpenScene, Rows, decimate, morton_order};
use splatcore_train::prune::Keep;
use std::path::{Path, PathBuf};

/// Where a scene was moved to.
pub struct Place {
    /// From where it was.
    pub map: Similarity,
    /// The direction that somebody made up, unit length.
    pub up: Option<[f64; 3]>,
}

/// A scene and what was done with it.
pub struct Editor<'a> {
    path: PathBuf,
    rows: Box<dyn Rows>,
    antialiased: bool,
    photos: &'a Photos<'a>,
    /// Moves that are not applied yet: those that follow each other are one.
    pending: Similarity,
    /// From the world of the photos to where the scene is; none for scenes that were moved apart.
    from_photos: Option<Similarity>,
    /// All moves of this editor.
    moved: Similarity,
    /// The direction that `--up` made up.
    up: Option<[f64; 3]>,
}

impl<'a> Editor<'a> {
    /// Begins with a scene as it was read; `path` is for messages and for the run beside it.
    pub fn new(path: PathBuf, scene: OpenScene, photos: &'a Photos<'a>) -> Self {
        Self {
            path,
            rows: scene.rows,
            antialiased: scene.antialiased,
            photos,
            pending: Similarity::IDENTITY,
            from_photos: Some(Similarity::IDENTITY),
            moved: Similarity::IDENTITY,
            up: None,
        }
    }

    /// Joins scenes, at least one, each with its actions applied.
    pub fn merged(mut editors: Vec<Self>) -> Result<Self> {
        let first = &editors[0];
        let (path, photos, antialiased) = (first.path.clone(), first.photos, first.antialiased);
        if editors.iter().any(|other| other.antialiased != antialiased) {
            eprintln!(
                "warning: some of the scenes are made for Mip-Splatting's 2D filter and some are \
                 not; the result is marked as the first is"
            );
        }
        let in_place = editors.iter().all(Self::is_in_place);
        let parts = editors.drain(..).map(Self::into_rows);
        let merged = Merged::new(parts.collect()).map_err(anyhow::Error::msg)?;
        Ok(Self {
            path,
            rows: Box::new(merged),
            antialiased,
            photos,
            pending: Similarity::IDENTITY,
            from_photos: in_place.then_some(Similarity::IDENTITY),
            moved: Similarity::IDENTITY,
            up: None,
        })
    }

    /// Whether the scene is to be rendered with Mip-Splatting's 2D filter.
    pub fn antialiased(&self) -> bool {
        self.antialiased
    }

    /// From where the scene was to where it is, and what `--up` made up; none for scenes that were
    /// moved apart.
    pub fn place(&self) -> Option<Place> {
        let (map, up) = (self.from_photos?, self.up);
        Some(Place { map, up })
    }

    /// Whether the scene is where the photos are.
    fn is_in_place(&self) -> bool {
        self.from_photos == Some(Similarity::IDENTITY)
    }

    /// The scene as it is now.
    pub fn into_rows(mut self) -> Box<dyn Rows> {
        self.settle();
        self.rows
    }

    /// Prints the matrix of all moves, if there were any.
    pub fn report_moves(&mut self) {
        if self.moved == Similarity::IDENTITY {
            return;
        }
        let rows = self.moved.matrix().map(|row| {
            // Every digit, and an exponent where that is shorter; -0 is 0.
            let numbers = row.map(|v| format!("{:?}", v + 0.0));
            format!("[{}]", numbers.join(", "))
        });
        eprintln!("{}: moved by [{}]", self.path.display(), rows.join(", "));
        self.moved = Similarity::IDENTITY;
    }

    /// Applies one action to what is there now.
    pub fn apply(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::Move(map) => self.shift(map),
            Action::Up { from, to } => {
                let from = match from {
                    Up::Direction(direction) => *direction,
                    Up::Dataset => {
                        let turned = Similarity {
                            rotation: self.world("--up")?.rotation,
                            ..Similarity::IDENTITY
                        };
                        turned.point(self.photos.up()?)
                    }
                };
                self.shift(&Similarity::between(from, *to));
                self.up = normalize(*to);
            }
            Action::Metric { points, length } => {
                let [a, b] = match points {
                    Points::World(points) => *points,
                    Points::Photos(names) => {
                        let world = self.world("--metric")?;
                        self.photos.positions(names)?.map(|p| world.point(p))
                    }
                };
                let squares = (0..3).map(|c| (a[c] - b[c]).powi(2));
                self.shift(&Similarity::scale(length / squares.sum::<f64>().sqrt()));
            }
            Action::Crop(shape) => {
                self.keep("--crop", |g, i| shape.contains(g.means[i].map(f64::from)))?;
            }
            Action::Remove(shape) => {
                self.keep("--remove", |g, i| {
                    !shape.contains(g.means[i].map(f64::from))
                })?;
            }
            Action::Filter(condition) => self.keep("--filter", |g, i| condition.holds(g, i))?,
            Action::ShDegree(degree) => {
                if *degree < self.rows.sh_degree() {
                    self.replace(|rows| Box::new(WithDegree::new(rows, *degree)));
                }
            }
            Action::Sort => {
                self.settle();
                let order = morton_order(&*self.rows)?;
                self.replace(|rows| Box::new(Selected::new(rows, order)));
            }
            Action::Decimate(keep) => self.decimate(*keep)?,
            Action::PruneFloaters(share) => {
                let scene = self.in_place("--prune-floaters")?;
                let left =
                    self.photos
                        .without_floaters(&self.path, scene, self.antialiased, *share)?;
                self.rows = Box::new(left);
            }
            Action::MaxScale(share) => {
                let scene = self.in_place("--max-scale")?;
                self.rows = Box::new(self.photos.with_limited_scales(&self.path, scene, *share)?);
            }
            Action::Stats { json } => {
                self.settle();
                let stats = edit::stats(&*self.rows)?;
                match json {
                    true => output::print_json(&stats)?,
                    false => output::print(&table(&stats, &self.path))?,
                }
            }
        }
        Ok(())
    }

    fn shift(&mut self, map: &Similarity) {
        let turned = |up| map.rotation.map(|row| dot(row, up));
        self.up = self.up.map(turned);
        self.pending = self.pending.then(map);
        self.moved = self.moved.then(map);
        self.from_photos = self.from_photos.map(|known| known.then(map));
    }

    /// Applies pending moves.
    fn settle(&mut self) {
        let map = std::mem::replace(&mut self.pending, Similarity::IDENTITY);
        if map != Similarity::IDENTITY {
            self.replace(|rows| Box::new(Moved::new(rows, map)));
        }
    }

    fn replace(&mut self, with: impl FnOnce(Box<dyn Rows>) -> Box<dyn Rows>) {
        let rows = std::mem::replace(&mut self.rows, Box::new(Gaussians::empty(0)));
        self.rows = with(rows);
    }

    fn decimate(&mut self, keep: Keep) -> Result<()> {
        self.settle();
        let before = self.rows.len();
        let merged = decimate(&whole(&*self.rows)?, keep.of(before));
        eprintln!(
            "--decimate merged {} into {}",
            counted(before, "Gaussian"),
            thousands(merged.len() as u64)
        );
        self.rows = Box::new(merged);
        Ok(())
    }

    fn keep(&mut self, flag: &str, keep: impl FnMut(&Gaussians, usize) -> bool) -> Result<()> {
        self.settle();
        let before = self.rows.len();
        let kept = matching(&*self.rows, keep)?;
        let all = counted(before, "Gaussian");
        match kept.len() {
            0 if before > 0 => eprintln!("warning: {flag} kept none of {all}"),
            kept => eprintln!("{flag} kept {} of {all}", thousands(kept as u64)),
        }
        if kept.len() < before {
            self.replace(|rows| Box::new(Selected::new(rows, kept)));
        }
        Ok(())
    }

    /// From the world of the photos to where the scene is now.
    fn world(&self, flag: &str) -> Result<Similarity> {
        match self.from_photos {
            Some(world) => Ok(world),
            None => bail!(
                "{flag} asks the photos, but scenes were moved before they were merged; write it \
                 behind the scene that the photos show"
            ),
        }
    }

    /// The whole scene, which must be where the photos are.
    fn in_place(&mut self, flag: &str) -> Result<Gaussians> {
        if !self.is_in_place() {
            bail!(
                "{flag} asks the photos, but the scene was moved before; write it before the moves"
            );
        }
        self.settle();
        let degree = self.rows.sh_degree();
        if degree > sh::MAX_DEGREE {
            let limit = sh::MAX_DEGREE;
            eprintln!("{flag} cuts spherical harmonics of degree {degree} to {limit}");
            self.replace(|rows| Box::new(WithDegree::new(rows, limit)));
        }
        Ok(whole(&*self.rows)?)
    }
}

/// What `--stats` prints for people; `scene` is the file that was read.
fn table(stats: &Stats, scene: &Path) -> String {
    format!(
        "Gaussians    {}\nSH degree    {}\n\n{}",
        thousands(stats.gaussians as u64),
        stats.sh_degree,
        stats_text(stats, scene)
    )
}
