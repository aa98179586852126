//! What a ray sees: the nearest surface, lit by the sun (with shadows) and the sky, mirrored once
//! if it shines.

use super::shape::SKIN;
use super::texture::Paint;
use super::vector::{V, add, along, dot, length, mix, mul, scale, sub, unit};
use super::world::{BACKDROP, Material, World};

/// Sunlight on a surface that faces it.
const SUNLIGHT: V = [1.12, 1.04, 0.90];
/// Light from straight above and from the ground.
const SKYLIGHT: [V; 2] = [[0.34, 0.39, 0.47], [0.16, 0.15, 0.12]];

/// What a ray meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Linear light, 0 to 1.
    pub colour: [f64; 3],
    /// Distance along the ray's unit direction, world units.
    pub distance: f64,
    /// Outward unit normal of the surface.
    pub normal: [f64; 3],
}

/// A surface point before it is lit.
struct Hit {
    distance: f64,
    normal: V,
    what: What,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Shape(usize),
    Ground,
    Backdrop,
}

impl World {
    /// Follows a ray from a point inside the backdrop; `direction` of unit length, world axes.
    pub fn look(&self, origin: [f64; 3], direction: [f64; 3]) -> Seen {
        let hit = self.first(origin, direction);
        Seen {
            colour: self.light(&hit, origin, direction, true),
            distance: hit.distance,
            normal: hit.normal,
        }
    }

    /// Whether nothing lies between a point inside the backdrop and a point of a surface, but for
    /// the last thousandth of the way.
    pub fn sees(&self, from: [f64; 3], surface: [f64; 3]) -> bool {
        let way = sub(surface, from);
        let distance = length(way);
        distance > 0.0 && self.first(from, scale(way, 1.0 / distance)).distance > distance * 0.999
    }

    fn first(&self, origin: V, direction: V) -> Hit {
        let b = dot(origin, direction);
        let to_backdrop = -b
            + (b * b - dot(origin, origin) + BACKDROP * BACKDROP)
                .max(0.0)
                .sqrt();
        let to_ground = -origin[1] / direction[1];
        let (limit, what) = if to_ground > SKIN && to_ground < to_backdrop {
            (to_ground, What::Ground)
        } else {
            (to_backdrop, What::Backdrop)
        };
        if let Some((distance, shape)) = self.tree.nearest(&self.shapes, origin, direction, limit) {
            let p = along(origin, direction, distance);
            return Hit {
                distance,
                normal: self.shapes[shape].normal(p),
                what: What::Shape(shape),
            };
        }
        let normal = match what {
            What::Ground => [0.0, -1.0, 0.0],
            _ => unit(scale(along(origin, direction, limit), -1.0)),
        };
        Hit {
            distance: limit,
            normal,
            what,
        }
    }

    /// Light that comes back along the ray; mirrors are followed while `mirrors`.
    fn light(&self, hit: &Hit, origin: V, direction: V, mirrors: bool) -> V {
        let p = along(origin, direction, hit.distance);
        let (material, own) = match hit.what {
            What::Backdrop => return self.backdrop(p),
            What::Ground => (
                Material {
                    paint: Paint::Plain(self.ground(p)),
                    mirror: 0.0,
                },
                None,
            ),
            What::Shape(i) => (self.materials[i], Some(i)),
        };
        let local = own.map_or(p, |i| self.shapes[i].local(p));
        let albedo = material.paint.colour(p, local);
        let n = hit.normal;
        // Off the surface, so that rounding does not make it shade itself.
        let start = along(p, n, 1e-4);
        let facing = dot(n, self.sun);
        let lit = facing > 0.0
            && !self
                .tree
                .blocked(&self.shapes, start, self.sun, f64::INFINITY);
        let sunlight = if lit {
            scale(SUNLIGHT, facing)
        } else {
            [0.0; 3]
        };
        let skylight = mix(SKYLIGHT[1], SKYLIGHT[0], 0.5 - 0.5 * n[1]);
        let matt = mul(
            albedo,
            add(sunlight, scale(skylight, self.openness(p, n, own))),
        );
        let colour = if material.mirror > 0.0 && mirrors {
            let cosine = -dot(n, direction);
            let share =
                material.mirror + (1.0 - material.mirror) * (1.0 - cosine).clamp(0.0, 1.0).powi(5);
            let away = unit(along(direction, n, 2.0 * cosine));
            let glint = if lit {
                dot(away, self.sun).max(0.0).powi(60)
            } else {
                0.0
            };
            let mirrored = self.light(&self.first(start, away), start, away, false);
            let tint = mix(albedo, [1.0; 3], 0.45);
            add(mix(matt, mul(mirrored, tint), share), [0.8 * glint; 3])
        } else {
            matt
        };
        colour.map(|c| c.clamp(0.0, 1.0))
    }

    /// Share of the sky that nearby solids leave open: form factors of balls that stand for them,
    /// and of the ground for what is close above it.
    fn openness(&self, p: V, n: V, own: Option<usize>) -> f64 {
        let mut open = 1.0;
        for &(centre, radius, shape) in &self.occluders {
            let way = sub(centre, p);
            let square = dot(way, way);
            let cosine = dot(n, way);
            if cosine <= 0.0 || square > 36.0 * radius * radius || own == Some(shape) {
                continue;
            }
            let cosine = cosine / square.sqrt();
            open *= 1.0 - (cosine * radius * radius / square).min(0.85);
        }
        let height = -p[1];
        if own.is_some() {
            open *= 0.6 + 0.4 * (height / 0.35).min(1.0);
        }
        open
    }
}

/// Linear light to an sRGB value, both 0 to 1 (IEC 61966-2-1).
pub fn encode_srgb(linear: f64) -> f64 {
    if linear <= 0.003_130_8 {
        12.92 * linear
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    }
}
