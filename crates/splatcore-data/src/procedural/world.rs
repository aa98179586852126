//! The scene: a garden square under a painted sky. Metres, y down, the square's centre at the
//! origin.

use super::bvh::Tree;
use super::shape::Shape;
use super::texture::{Paint, clouds};
use super::vector::{V, along, length, mix, scale, smoothstep, unit};

/// The backdrop is a sphere of this radius around the origin; everything lies inside.
pub(super) const BACKDROP: f64 = 13.0;
/// Radius of the paved square.
const SQUARE: f64 = 3.3;
/// Where light comes from, not yet of unit length.
const SUN: V = [-0.55, -0.95, 0.45];

/// How a shape looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Material {
    pub paint: Paint,
    /// Share of light mirrored head-on; 0 for matt.
    pub mirror: f64,
}

/// Shapes with their materials, and the sun.
pub struct World {
    pub(super) shapes: Vec<Shape>,
    pub(super) materials: Vec<Material>,
    pub(super) tree: Tree,
    /// Balls that darken their surroundings, with the shape they stand for.
    pub(super) occluders: Vec<(V, f64, usize)>,
    pub(super) sun: V,
}

/// A point at a height above the ground.
fn at(x: f64, z: f64, height: f64) -> V {
    [x, -height, z]
}

fn matt(paint: Paint) -> Material {
    Material { paint, mirror: 0.0 }
}

fn plain(r: f64, g: f64, b: f64) -> Material {
    matt(Paint::Plain([r, g, b]))
}

fn stone(tone: V) -> Material {
    matt(Paint::Mottled {
        grain: 0.22,
        colours: [scale(tone, 0.75), tone],
    })
}

#[derive(Default)]
struct Builder {
    shapes: Vec<Shape>,
    materials: Vec<Material>,
}

impl Builder {
    fn put(&mut self, shape: Shape, material: Material) {
        self.shapes.push(shape);
        self.materials.push(material);
    }

    fn ball(&mut self, centre: V, radius: f64, material: Material) {
        self.put(Shape::Sphere { centre, radius }, material);
    }

    fn rod(&mut self, from: V, to: V, radius: f64, material: Material) {
        self.put(
            Shape::Frustum {
                from,
                to,
                radii: [radius; 2],
            },
            material,
        );
    }

    fn cone(&mut self, from: V, to: V, radius: f64, material: Material) {
        self.put(
            Shape::Frustum {
                from,
                to,
                radii: [radius, 0.0],
            },
            material,
        );
    }

    fn block(&mut self, foot: V, size: V, yaw: f64, material: Material) {
        let half = scale(size, 0.5);
        self.put(
            Shape::Cuboid {
                centre: [foot[0], foot[1] - half[1], foot[2]],
                half,
                yaw,
            },
            material,
        );
    }

    fn ring(&mut self, centre: V, normal: V, major: f64, minor: f64, material: Material) {
        self.put(
            Shape::Torus {
                centre,
                normal: unit(normal),
                major,
                minor,
            },
            material,
        );
    }

    /// What stands on the square.
    fn things(&mut self) {
        self.copper_ball();
        self.chest();
        self.cone_and_column();
        self.steps();
    }

    /// A polished copper ball on a stone plinth: the one shiny thing.
    fn copper_ball(&mut self) {
        self.block(
            at(-0.95, -0.35, 0.0),
            [0.95, 0.42, 0.95],
            0.35,
            stone([0.62, 0.58, 0.52]),
        );
        let copper = Material {
            paint: Paint::Plain([0.72, 0.36, 0.20]),
            mirror: 0.45,
        };
        self.ball(at(-0.95, -0.35, 0.42 + 0.55), 0.55, copper);
    }

    /// A wooden chest with a striped ball on it, and a lifebuoy leaning on its front.
    fn chest(&mut self) {
        self.block(
            at(1.15, 0.35, 0.0),
            [1.3, 0.8, 0.9],
            -0.45,
            matt(Paint::Wood),
        );
        let stripes = Paint::Wedges {
            count: 5.0,
            colours: [[0.80, 0.10, 0.08], [0.88, 0.84, 0.76]],
        };
        self.ball(at(1.0, 0.4, 0.8 + 0.3), 0.3, matt(stripes));
        let buoy = Paint::Wedges {
            count: 4.0,
            colours: [[0.90, 0.88, 0.82], [0.85, 0.28, 0.06]],
        };
        self.ring(
            at(0.85, -0.62, 0.46),
            [0.2, -0.35, -1.0],
            0.36,
            0.13,
            matt(buoy),
        );
    }

    /// A traffic cone, and a column with a lamp.
    fn cone_and_column(&mut self) {
        let bands = Paint::Bands {
            period: 0.5,
            colours: [[0.88, 0.26, 0.04], [0.90, 0.88, 0.84]],
        };
        self.block(
            at(-0.35, 1.35, 0.0),
            [0.62, 0.06, 0.62],
            0.2,
            plain(0.10, 0.10, 0.11),
        );
        self.cone(
            at(-0.35, 1.35, 0.06),
            at(-0.35, 1.35, 1.06),
            0.26,
            matt(bands),
        );
        self.rod(
            at(-2.15, 1.05, 0.0),
            at(-2.15, 1.05, 1.55),
            0.2,
            stone([0.66, 0.64, 0.60]),
        );
        self.block(
            at(-2.15, 1.05, 1.55),
            [0.56, 0.1, 0.56],
            0.0,
            stone([0.50, 0.48, 0.46]),
        );
        self.ball(at(-2.15, 1.05, 1.65 + 0.22), 0.22, plain(0.95, 0.80, 0.42));
    }

    /// Three steps with a jade cone on top.
    fn steps(&mut self) {
        for step in 0..3 {
            let size = 1.5 - 0.42 * step as f64;
            let tone = [[0.42, 0.50, 0.58], [0.50, 0.57, 0.63], [0.58, 0.64, 0.68]][step];
            let block = Paint::Mottled {
                grain: 0.18,
                colours: [scale(tone, 0.8), tone],
            };
            self.block(
                at(0.75, 2.2, 0.2 * step as f64),
                [size, 0.2, size * 0.7],
                0.15,
                matt(block),
            );
        }
        let jade = Paint::Mottled {
            grain: 0.15,
            colours: [[0.05, 0.30, 0.22], [0.14, 0.46, 0.32]],
        };
        self.cone(at(0.75, 2.2, 0.6), at(0.75, 2.2, 1.25), 0.22, matt(jade));
        self.ball(at(0.75, 2.2, 1.25), 0.12, plain(0.90, 0.70, 0.14));
    }

    /// Thin parts: two poles, a sagging cable with lanterns, a hoop, bollards.
    fn thin_parts(&mut self) {
        let iron = plain(0.12, 0.13, 0.15);
        let (left, right) = (at(-2.3, -1.5, 2.3), at(2.4, -1.2, 2.3));
        for top in [left, right] {
            self.rod([top[0], 0.0, top[2]], [top[0], -2.4, top[2]], 0.035, iron);
            self.ball([top[0], -2.4, top[2]], 0.07, plain(0.90, 0.70, 0.14));
        }
        let cable = |t: f64| along(mix(left, right, t), [0.0, 1.0, 0.0], 2.4 * t * (1.0 - t));
        let lanterns = [
            [0.85, 0.12, 0.10],
            [0.95, 0.62, 0.08],
            [0.16, 0.50, 0.20],
            [0.10, 0.32, 0.70],
            [0.55, 0.16, 0.50],
        ];
        let pieces = 12;
        for i in 0..pieces {
            let (a, b) = (i as f64 / pieces as f64, (i + 1) as f64 / pieces as f64);
            self.rod(cable(a), cable(b), 0.016, iron);
            if i % 2 == 1 && i + 1 < pieces {
                let colour = lanterns[i / 2];
                self.ball(
                    along(cable(b), [0.0, 1.0, 0.0], 0.12),
                    0.11,
                    matt(Paint::Plain(colour)),
                );
            }
        }
        self.ring(
            at(2.15, 1.5, 0.62),
            [1.0, 0.0, 0.75],
            0.58,
            0.035,
            plain(0.12, 0.36, 0.68),
        );
        for i in 0..14 {
            let turn = (i as f64 + 0.5) / 14.0 * std::f64::consts::TAU;
            let (x, z) = (3.1 * turn.cos(), 3.1 * turn.sin());
            self.rod(
                at(x, z, 0.0),
                at(x, z, 0.42),
                0.045,
                plain(0.80, 0.78, 0.72),
            );
            self.ball(at(x, z, 0.45), 0.065, plain(0.72, 0.14, 0.10));
        }
    }

    /// Trees behind the cameras' circle, so that every view has some beyond the square.
    fn trees(&mut self) {
        for i in 0..9 {
            let turn = (i as f64 + 0.3 * ((i * 7) % 3) as f64) / 9.0 * std::f64::consts::TAU;
            let far = 9.2 + ((i * 5) % 4) as f64 * 0.5;
            let (x, z) = (far * turn.cos(), far * turn.sin());
            let tall = 1.9 + ((i * 3) % 5) as f64 * 0.22;
            let green = mix(
                [0.07, 0.24, 0.09],
                [0.20, 0.34, 0.08],
                ((i * 4) % 9) as f64 / 8.0,
            );
            let leaves = matt(Paint::Mottled {
                grain: 0.35,
                colours: [scale(green, 0.7), green],
            });
            self.rod(at(x, z, 0.0), at(x, z, 0.8), 0.13, plain(0.24, 0.15, 0.09));
            if i % 3 == 0 {
                self.ball(at(x, z, tall * 0.75), 0.8, leaves);
            } else {
                self.cone(at(x, z, 0.55), at(x, z, tall * 0.85), 0.85, leaves);
                self.cone(at(x, z, tall * 0.5), at(x, z, tall * 1.2), 0.6, leaves);
            }
        }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// The scene, the same every time.
    pub fn new() -> Self {
        let mut builder = Builder::default();
        builder.things();
        builder.thin_parts();
        builder.trees();
        let Builder { shapes, materials } = builder;
        let occluders = shapes
            .iter()
            .enumerate()
            .filter_map(|(i, s)| s.occluder().map(|(c, r)| (c, r, i)))
            .collect();
        Self {
            tree: Tree::new(&shapes),
            shapes,
            materials,
            occluders,
            sun: unit(SUN),
        }
    }

    /// Colour of the ground at a point of it.
    pub(super) fn ground(&self, p: V) -> V {
        let flat = [p[0], 0.0, p[2]];
        let radius = length(flat);
        if radius > SQUARE {
            // Dark and light patches, drier towards the horizon.
            let patch = smoothstep(0.3, 0.7, clouds(scale(flat, 0.45), 3));
            let grass = mix([0.13, 0.25, 0.06], [0.25, 0.34, 0.10], patch);
            let tufts = 0.8 + 0.4 * clouds(scale(flat, 1.9), 2);
            return mix(
                scale(grass, tufts),
                [0.36, 0.38, 0.17],
                smoothstep(6.0, BACKDROP, radius) * 0.8,
            );
        }
        let uneven = clouds(scale(flat, 1.7), 2);
        if radius > SQUARE - 0.35 {
            return scale([0.50, 0.46, 0.42], 0.75 + 0.4 * uneven);
        }
        let tile = (p[0] / 0.75).floor() + (p[2] / 0.75).floor();
        let (a, b) = ([0.62, 0.54, 0.43], [0.30, 0.20, 0.16]);
        scale(
            if tile.rem_euclid(2.0) < 1.0 { a } else { b },
            0.8 + 0.35 * uneven,
        )
    }

    /// Colour of the backdrop at a point of it: sky, clouds and a line of hills.
    pub(super) fn backdrop(&self, p: V) -> V {
        let up = -p[1] / BACKDROP;
        let turn = [p[0] / BACKDROP, 0.0, p[2] / BACKDROP];
        let sky = mix(
            [0.72, 0.82, 0.90],
            [0.20, 0.42, 0.78],
            smoothstep(-0.02, 0.55, up),
        );
        let cover = clouds([2.6 * turn[0] + 5.0, 7.0 * up, 2.6 * turn[2]], 3);
        let sky = mix(sky, [0.93, 0.94, 0.95], 0.75 * smoothstep(0.5, 0.75, cover));
        let ridge = 0.05 + 0.10 * clouds(scale(turn, 2.3), 2);
        let hill = mix(
            [0.30, 0.38, 0.28],
            [0.36, 0.47, 0.52],
            smoothstep(0.0, 0.12, up),
        );
        mix(hill, sky, smoothstep(ridge - 0.006, ridge + 0.006, up))
    }
}
