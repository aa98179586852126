//! A view up to the point where pixels begin: splats in order and the list of each tile. Images and
//! gradients are made from nothing else, so methods whose lists are equal have equal results.

use super::antialias;
use super::blend::blend;
use super::blend_backward::blend_backward;
use super::cut_offs::{CutOffs, Doubt};
use super::frame::{TwinFrame, TwinGradients};
use super::intersect::{self, TileLists, intersect};
use super::intrinsics::intrinsics_backward;
use super::project::{Splat, project};
use super::project_backward::{depth_gradient, project_backward};
use super::scene::Scene;
use super::sort::sort;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Camera, IntrinsicsGradient};

/// Splats and lists of a view.
#[derive(Clone, Debug)]
pub struct Lists {
    /// From where.
    pub camera: Camera,
    /// How.
    pub options: RenderOptions,
    /// Every Gaussian in front of the near plane, front to back.
    pub splats: Vec<Splat>,
    /// Of each tile, by index into `splats`.
    pub tiles: TileLists,
    cut_offs: CutOffs,
    /// Gaussians in the scene.
    count: usize,
}

impl Lists {
    /// Projects, sorts and intersects.
    pub fn new(scene: &Scene, camera: &Camera, options: &RenderOptions, cut_offs: CutOffs) -> Self {
        let splats = visible_splats(scene, camera, options);
        let tiles = intersect(&splats, camera, options.pipeline.intersect, cut_offs);
        Self {
            camera: camera.clone(),
            options: options.clone(),
            splats,
            tiles,
            cut_offs,
            count: scene.len(),
        }
    }

    /// Blends.
    pub fn render(&self) -> TwinFrame {
        let blended = blend(
            &self.splats,
            &self.tiles,
            &self.camera,
            &self.options,
            self.cut_offs,
        );
        let mut frame = TwinFrame {
            width: self.camera.width as usize,
            height: self.camera.height as usize,
            image: blended.image,
            transmittance: blended.transmittance,
            inverse_depth: blended.inverse_depth,
            doubts: blended.doubts,
            in_view: vec![Some(false); self.count],
            pairs: self.tiles.lists.iter().map(|list| list.len() as u64).sum(),
            fragments_blended: blended.fragments_blended,
        };
        for splat in &self.splats {
            frame.in_view[splat.index] = intersect::in_view(splat, &self.camera);
        }
        frame
    }

    /// Gradients of a scalar with respect to every parameter of `scene`, from which these lists
    /// are, given its gradient with respect to each pixel: asked row by row, which may depend on
    /// what is in doubt there.
    pub fn gradients(
        &self,
        scene: &Scene,
        image_gradient: &mut dyn FnMut(usize, &Doubt) -> [f64; 3],
    ) -> TwinGradients {
        self.gradients_scaled(scene, image_gradient, &mut |_| 1.0)
    }

    /// As [`Lists::gradients`], with `scale_behind` of [`blend_backward`].
    pub fn gradients_scaled(
        &self,
        scene: &Scene,
        image_gradient: &mut dyn FnMut(usize, &Doubt) -> [f64; 3],
        scale_behind: &mut dyn FnMut(f64) -> f64,
    ) -> TwinGradients {
        let camera = &self.camera;
        let splat_gradients = blend_backward(
            &self.splats,
            &self.tiles,
            camera,
            &self.options,
            self.cut_offs,
            image_gradient,
            scale_behind,
        );
        let mut result = TwinGradients {
            scene: Scene::zeros(scene.len(), scene.sh_degree),
            ndc_norms: vec![0.0; scene.len()],
            absolute_norms: vec![0.0; scene.len()],
            intrinsics: IntrinsicsGradient::default(),
            colours: vec![[0.0; 3]; scene.len()],
        };
        let mut intrinsics = result.intrinsics.numbers();
        let half = [camera.width as f64 / 2.0, camera.height as f64 / 2.0];
        for (splat, gradient) in self.splats.iter().zip(&splat_gradients) {
            project_backward(scene, splat, camera, gradient, &mut result.scene);
            let norm = |gradient: [f64; 2]| (gradient[0] * half[0]).hypot(gradient[1] * half[1]);
            result.ndc_norms[splat.index] = norm(gradient.mean);
            result.absolute_norms[splat.index] = norm(gradient.absolute);
            result.colours[splat.index] = gradient.colour;
            let more = intrinsics_backward(scene, splat, camera, gradient);
            intrinsics
                .iter_mut()
                .zip(more)
                .for_each(|(sum, part)| *sum += part);
        }
        result.intrinsics = intrinsics.into();
        result
    }
}

impl Lists {
    /// Gradients of a scalar by way of inverse depth and transmittance, given its gradients with
    /// respect to both of each pixel: of the image that splats of the colours (1/z, 1, 0) make on
    /// black, which are inverse depth and 1 - transmittance.
    pub fn depth_gradients(
        &self,
        scene: &Scene,
        gradient: &mut dyn FnMut(usize, &Doubt) -> [f64; 2],
    ) -> Scene {
        let mut channels = self.clone();
        (channels.options.background, channels.options.sky) = ([0.0; 3], None);
        for splat in &mut channels.splats {
            splat.colour = [1.0 / splat.depth, 1.0, 0.0];
        }
        let splat_gradients = blend_backward(
            &channels.splats,
            &channels.tiles,
            &channels.camera,
            &channels.options,
            channels.cut_offs,
            &mut |pixel, doubt| {
                let [inverse_depth, transmittance] = gradient(pixel, doubt);
                [inverse_depth, -transmittance, 0.0]
            },
            &mut |_| 1.0,
        );
        let mut out = Scene::zeros(scene.len(), scene.sh_degree);
        for (splat, mut gradient) in self.splats.iter().zip(splat_gradients) {
            let d_depth = -gradient.colour[0] / (splat.depth * splat.depth);
            gradient.colour = [0.0; 3];
            project_backward(scene, splat, &self.camera, &gradient, &mut out);
            let by_mean = depth_gradient(scene.means[splat.index], &self.camera);
            for (mean, axis) in out.means[splat.index].iter_mut().zip(by_mean) {
                *mean += d_depth * axis;
            }
        }
        out
    }
}

/// Every Gaussian in front of the near plane, projected, front to back.
pub fn visible_splats(scene: &Scene, camera: &Camera, options: &RenderOptions) -> Vec<Splat> {
    let degree = options.sh_degree.min(scene.sh_degree);
    let near = options.semantics.near_plane as f64;
    let mut splats: Vec<Splat> = (0..scene.len())
        .filter_map(|i| project(scene, i, camera, near, degree))
        .collect();
    if options.antialias {
        splats.iter_mut().for_each(antialias::compensate);
    }
    sort(&mut splats);
    splats
}
