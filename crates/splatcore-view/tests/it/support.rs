//! A server with a drawing thread, for all tests.

use splatcore_core::backend::RenderOptions;
use splatcore_core::{Camera, Gaussians, Lens, random::Rng};
use splatcore_cpu::CpuBackend;
use splatcore_page::Pose;
use splatcore_view::drawing::Variants;
use splatcore_view::edit::{Editor, SavePlace};
use splatcore_view::protocol::{CameraInfo, SceneInfo, Status};
use splatcore_view::{Hub, Listen, Port, Server, ServerOptions, serve};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub fn scene() -> Gaussians {
    let mut rng = Rng::new(3, 0);
    let mut scene = Gaussians::zeros(200, 1);
    for i in 0..scene.len() {
        scene.means[i] = [0; 3].map(|_| rng.normal());
        scene.log_scales[i] = [-1.5; 3];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = 2.0;
        scene.sh[4 * i] = [0; 3].map(|_| rng.normal());
    }
    scene
}

/// What "frame all" shows.
pub const FRAME: [[f64; 3]; 2] = [[-1.5, -2.5, -0.5], [1.5, 0.5, 0.5]];

/// A server with a drawing thread.
pub struct Viewer {
    server: Option<Server>,
    pub hub: Arc<Hub>,
    stop: Arc<AtomicBool>,
    drawing: Option<JoinHandle<()>>,
    /// The view to begin with that a browser stored last.
    pub stored: Arc<Mutex<Option<Pose>>>,
    /// Where scenes are saved.
    pub folder: tempfile::TempDir,
}

impl Viewer {
    /// Of a run, which is over if its scene is drawn.
    pub fn start(control: bool) -> Self {
        let hub = Arc::new(Hub::default());
        let photos = |index: usize, size: u32, _: bool| match index {
            0 => Ok((vec![200u8; (size * size * 3) as usize], size, size)),
            _ => Err(format!("there is no photo {index}")),
        };
        let stored = Arc::new(Mutex::default());
        let kept = Arc::clone(&stored);
        let store = move |pose: Pose| {
            *kept.lock().unwrap() = Some(pose);
            Ok(String::from("stored"))
        };
        let options = ServerOptions {
            port: Port::bind(Listen::Loopback { port: 0 }).unwrap(),
            control,
            info: SceneInfo {
                title: "test".into(),
                bounds: [[-2.0; 3], [2.0; 3]],
                frame: FRAME,
                up: [0.0, -1.0, 0.0],
                sh_degree: 1,
                cameras: vec![camera()],
                photos: true,
                training: true,
                ..SceneInfo::default()
            },
            photos: Some(Arc::new(photos)),
            store_start: Some(Arc::new(store)),
        };
        hub.publish(Status {
            gaussians: 200,
            iterations: 100,
            ..Status::default()
        });
        let server = Server::start(options, Arc::clone(&hub)).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (own, asked) = (Arc::clone(&hub), Arc::clone(&stop));
        let folder = tempfile::tempdir().unwrap();
        let place = SavePlace {
            folder: folder.path().into(),
            opened: Some(folder.path().join("scene.ply")),
            proposal: "scene-edited.ply".into(),
            antialiased: false,
            after: None,
        };
        let drawing = std::thread::spawn(move || {
            let backend = CpuBackend::new(Some(1));
            let scene = Arc::new(scene());
            let mut editor = Editor::new(Arc::clone(&scene), Some(place));
            let mut variants = Variants::new(&backend, scene).unwrap();
            let stop = || asked.load(Ordering::Relaxed);
            let options = RenderOptions::default();
            serve(&own, &mut variants, &mut editor, &options, stop);
        });
        Self {
            server: Some(server),
            hub,
            stop,
            drawing: Some(drawing),
            stored,
            folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.as_ref().unwrap().address()
    }

    pub fn url(&self) -> String {
        self.server.as_ref().unwrap().url()
    }

    pub fn token(&self) -> String {
        let url = self.server.as_ref().unwrap().url();
        url.split_once('#').unwrap().1.to_owned()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.server.take());
        self.drawing.take().unwrap().join().unwrap();
    }
}

const LENS: Lens = Lens::OpenCv {
    k: [-0.2, 0.05, 0.0, 0.0, 0.0, 0.0],
    p: [0.0; 2],
    s: [0.0; 4],
};

/// The one photo's camera, in front of the cloud.
fn camera() -> CameraInfo {
    let camera = Camera::look_at([0.0, 0.0, -6.0], [0.0; 3], [0.0, -1.0, 0.0], 0.7, 64, 64);
    CameraInfo {
        name: "photo.jpg".into(),
        position: camera.position(),
        rotation: camera.rotation,
        fov: 0.7f64.to_degrees(),
        aspect: 1.0,
        held_out: false,
        as_taken: Some(Camera {
            lens: LENS,
            ..camera
        }),
    }
}
