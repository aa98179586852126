//! What the commands share that show a scene in a browser.

use crate::cameras::framing::middle;
use crate::interrupt;
use crate::output::{self, counted};
use crate::scene_source::SceneSource;
use crate::up::{Direction, Up};
use anyhow::Result;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Camera, Gaussians, View};
use splatcore_train::{Progress, Signal};
use splatcore_view::drawing::{Copies, Variants};
use splatcore_view::edit::{AfterSave, Editor, FILE_UP, SavePlace};
use splatcore_view::protocol::{CameraInfo, SceneInfo, Status};
use splatcore_view::{
    Budget, Hub, Listen, Moment, Photos, Port, Server, ServerOptions, StoreStart, serve,
};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Points of the curves that browsers are sent; when there are more, every second is dropped.
const MAX_POINTS: usize = 400;
/// Share of means on either side that are no part of the scene's bounds.
const OUTLIERS: f64 = 0.02;

/// Where the viewer listens.
#[derive(Clone, clap::Args)]
pub struct ViewerArgs {
    /// Port of the viewer on this machine [any free one]
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Let others look: listen on this address, for example 0.0.0.0:7007. Whoever has the printed
    /// address sees the scene and the photos; nothing is encrypted
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Do not open a browser, only print the address
    #[arg(long)]
    no_browser: bool,
}

/// An address and a port, or `localhost` and a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:");
    let address = match local.and_then(|port| port.parse().ok()) {
        Some(port) => Some(SocketAddr::from(([127, 0, 0, 1], port))),
        None => text.parse().ok(),
    };
    address.ok_or_else(|| {
        format!("'{text}' is no address with a port; write for example 0.0.0.0:7007")
    })
}

impl ViewerArgs {
    /// Whether any of them was typed.
    pub fn given(&self) -> bool {
        self.port.is_some() || self.listen.is_some() || self.no_browser
    }

    fn listen(&self) -> Listen {
        match (self.listen, self.port) {
            (Some(address), _) => Listen::Address(address),
            (None, port) => Listen::Loopback {
                port: port.unwrap_or(0),
            },
        }
    }

    /// Takes the port, which [`ViewerArgs::start`] needs.
    ///
    /// # Errors
    /// If it is taken.
    pub fn bind(&self) -> Result<Port> {
        Ok(Port::bind(self.listen())?)
    }

    /// Starts a server, prints its address, and opens it where there is a screen and a person.
    pub fn start(
        &self,
        port: Port,
        info: SceneInfo,
        (photos, store_start): (Option<Photos>, Option<StoreStart>),
        allow_control: bool,
        hub: &Arc<Hub>,
    ) -> Result<Server> {
        let options = ServerOptions {
            port,
            control: allow_control || self.listen.is_none(),
            info,
            photos,
            store_start,
        };
        // Who sees the address may press Ctrl-C at once.
        interrupt::watch()?;
        let server = Server::start(options, Arc::clone(hub))?;
        let url = server.url();
        eprintln!("watch it: {url}");
        let screen = !cfg!(target_os = "linux")
            || ["DISPLAY", "WAYLAND_DISPLAY"]
                .iter()
                .any(|name| std::env::var_os(name).is_some());
        // Without a browser the address is enough.
        if !self.no_browser && screen && std::io::stderr().is_terminal() {
            let _ = open::that_detached(url);
        }
        Ok(server)
    }
}

/// What a browser is told of a scene: `cameras` are photos with whether they are held out; up is
/// what they share if it is not known.
pub fn scene_info<'a>(
    title: String,
    gaussians: &Gaussians,
    cameras: impl Iterator<Item = (&'a str, &'a Camera, bool)>,
    up: Option<Up>,
) -> SceneInfo {
    let cameras: Vec<CameraInfo> = cameras
        .map(|(name, camera, held_out)| CameraInfo {
            name: name.into(),
            position: camera.position(),
            rotation: camera.rotation,
            fov: 2.0 * camera.tan_half_fov()[1].atan().to_degrees(),
            aspect: camera.tan_half_fov()[0] / camera.tan_half_fov()[1],
            held_out,
            as_taken: camera.lens.polynomial().map(|_| camera.clone()),
        })
        .collect();
    SceneInfo {
        title,
        bounds: bounds(&gaussians.means),
        frame: middle(gaussians),
        up: up
            .unwrap_or_else(|| Up::of_rotations(cameras.iter().map(|camera| camera.rotation)))
            .direction,
        sh_degree: gaussians.sh_degree,
        cameras,
        ..SceneInfo::default()
    }
}

/// The box around all means but outliers.
fn bounds(means: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let mut bounds = [[-1.0; 3], [1.0; 3]];
    let skip = (means.len() as f64 * OUTLIERS) as usize;
    for axis in 0..3 {
        let mut values: Vec<f32> = means.iter().map(|mean| mean[axis]).collect();
        values.sort_unstable_by(f32::total_cmp);
        if let (Some(&low), Some(&high)) = (values.get(skip), values.iter().nth_back(skip)) {
            (bounds[0][axis], bounds[1][axis]) = (low, high);
        }
    }
    bounds
}

/// Photos that are in memory, as they are trained on.
pub fn photos_of(views: Vec<Arc<Vec<View>>>) -> Photos {
    Arc::new(move |index, size, _| {
        let view = views.iter().flat_map(|views| views.iter()).nth(index);
        let view = view.ok_or_else(|| format!("there is no photo {index}"))?;
        shrunk(view, size)
    })
}

/// A photo of at most so many pixels on the longer side.
pub fn shrunk(view: &View, size: u32) -> Result<(Vec<u8>, u32, u32), String> {
    let (width, height) = (view.photo.width, view.photo.height);
    let scale = (f64::from(size) / f64::from(width.max(height))).min(1.0);
    let side = |pixels: u32| ((f64::from(pixels) * scale).round() as u32).max(1);
    let photo = view.photo.held().map_err(|error| error.to_string())?;
    let picture = image::RgbImage::from_raw(width, height, photo.rgb.clone());
    let picture = picture.ok_or("the photo is damaged")?;
    let small = image::imageops::thumbnail(&picture, side(width), side(height));
    Ok((small.into_raw(), side(width), side(height)))
}

/// Where browsers may save what they make of a scene: beside its file.
pub fn save_place(source: &SceneSource, antialiased: bool) -> SavePlace {
    let file = source.file();
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let endings = [
        ".compressed.ply",
        ".ply",
        ".spz",
        ".sog",
        ".splat",
        ".glb",
        ".usdz",
        ".usda",
    ];
    let lower = name.to_lowercase();
    let found = endings.iter().find(|ending| lower.ends_with(**ending));
    let ending = found.copied().unwrap_or(".ply");
    // A name in lower case is as long, but for letters that no ending has.
    let stem = found.and_then(|ending| name.get(..name.len() - ending.len()));
    let stem = stem
        .or_else(|| name.split('.').next())
        .filter(|stem| !stem.is_empty());
    SavePlace {
        folder: parent.unwrap_or(Path::new(".")).into(),
        opened: Some(file.into()),
        proposal: format!("{}-edited{ending}", stem.unwrap_or("scene")),
        antialiased,
        after: Some(after_save(source.clone())),
    }
}

/// Records what is known of a scene for the files that it is saved to, scaled and turned.
fn after_save(source: SceneSource) -> AfterSave {
    AfterSave(Arc::new(move |file, moves| {
        let chosen = moves.up.as_ref().map(|_| Direction(FILE_UP).chosen());
        source
            .record_move(file, &moves.similarity(), chosen)
            .map_err(|error| output::one_line(&error))
    }))
}

/// Shows a finished scene until the program is ended. Browsers that may control it edit it, and
/// save it where there is a place; what they did not save is written beside the scene at the end.
/// The guard hears Ctrl-C, and is there before the address is printed.
pub fn show(
    guard: &interrupt::Guard,
    hub: &Hub,
    backend: &dyn Backend,
    scene: Gaussians,
    options: &RenderOptions,
    place: Option<SavePlace>,
) -> Result<()> {
    let scene = Arc::new(scene);
    let mut editor = Editor::new(Arc::clone(&scene), place);
    let mut variants = Variants::new(backend, scene)?;
    let stop = || guard.stop_requested();
    serve(hub, &mut variants, &mut editor, options, stop);
    let Some(file) = editor.end() else {
        return Ok(());
    };
    let (edits, file_name) = (editor.unsaved(), file.display());
    let are = if edits == 1 { "is" } else { "are" };
    eprintln!(
        "{} {are} not saved: writing {file_name} (again to stop at once, without it)",
        counted(edits, "edit")
    );
    match editor.write(&file) {
        Ok(saved) => eprintln!("{file_name}: {}", counted(saved.gaussians, "Gaussian")),
        Err(problem) => {
            eprintln!(
                "{problem}; save the scene in the browser, or press Ctrl-C again to lose the edits"
            );
            serve(hub, &mut variants, &mut editor, options, || false);
        }
    }
    Ok(())
}

/// A training run that is watched.
pub struct Live {
    hub: Arc<Hub>,
    /// Ends when this value is dropped.
    _server: Server,
    budget: Budget,
    backend: Arc<dyn Backend>,
    copies: Copies,
    status: Status,
}

impl Live {
    /// Starts the server. `share` bounds the time that viewing takes; the run's backend also holds
    /// what viewing makes of the scene.
    pub fn start(
        (viewer, port): (&ViewerArgs, Port),
        allow_control: bool,
        share: f64,
        (info, photos, store_start): (SceneInfo, Photos, StoreStart),
        backend: Arc<dyn Backend>,
    ) -> Result<Self> {
        let hub = Arc::new(Hub::default());
        let info = SceneInfo {
            training: true,
            photos: true,
            ..info
        };
        let of_scene = (Some(photos), Some(store_start));
        let server = viewer.start(port, info, of_scene, allow_control, &hub)?;
        Ok(Self {
            hub,
            _server: server,
            budget: Budget::new(share),
            copies: Copies::new(Arc::clone(&backend)),
            backend,
            status: Status::default(),
        })
    }

    /// Whether [`Live::look`] would do anything.
    pub fn wants_look(&self) -> bool {
        self.hub.wants_attention(&self.budget)
    }

    /// Draws what browsers wait for.
    pub fn look(&mut self, moment: Moment, interrupted: &dyn Fn() -> bool) -> Signal {
        let (budget, copies) = (&mut self.budget, &mut self.copies);
        match self
            .hub
            .draw_between_steps(moment, copies, budget, interrupted)
        {
            true => Signal::Stop,
            false => Signal::Continue,
        }
    }

    /// Tells browsers where the run is.
    pub fn progress(&mut self, p: &Progress) {
        let loss = p.loss.is_finite().then_some(p.loss);
        if let Some(loss) = loss {
            add(&mut self.status.losses, (p.step, loss));
        }
        self.status = Status {
            step: p.step,
            iterations: p.iterations,
            loss,
            gaussians: p.gaussians,
            steps_per_second: p.steps_per_second,
            seconds_left: p.seconds_left,
            ..std::mem::take(&mut self.status)
        };
        self.hub.publish(self.status.clone());
    }

    /// Tells browsers a measured quality.
    pub fn measured(&mut self, step: u32, psnr: f64) {
        add(&mut self.status.psnr, (step, psnr));
        self.hub.publish(self.status.clone());
    }

    /// The run has ended: shows its scene until the program is ended.
    pub fn stay(mut self, scene: Gaussians, options: &RenderOptions, file: &Path) -> Result<()> {
        self.status.ended = true;
        self.hub.publish(self.status.clone());
        let guard = interrupt::Guard::start_showing()?;
        eprintln!("the scene stays in the browser; Ctrl-C ends the program");
        let source = SceneSource::find(file)?;
        let place = save_place(&source, options.antialias);
        show(
            &guard,
            &self.hub,
            &*self.backend,
            scene,
            options,
            Some(place),
        )
    }

    /// Browsers that look.
    pub fn watchers(&self) -> usize {
        self.hub.clients()
    }
}

fn add(points: &mut Vec<(u32, f64)>, point: (u32, f64)) {
    points.push(point);
    if points.len() > MAX_POINTS {
        let mut odd = false;
        points.retain(|_| {
            odd = !odd;
            odd
        });
    }
}
