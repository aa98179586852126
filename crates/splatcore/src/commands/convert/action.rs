//! What `convert` can do with a scene: names, values, help.

use splatcore_data::scene::edit::{Condition, Shape, Similarity, normal_of_three};
use splatcore_train::prune::{Keep, KeepError};

/// A change of a scene, or a look at it.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Move, rotate or scale.
    Move(Similarity),
    /// Turn the scene so that one direction becomes another.
    Up { from: Up, to: [f64; 3] },
    /// Scale so that two points are so far apart.
    Metric { points: Points, length: f64 },
    /// Keep what has its centre in a shape.
    Crop(Shape),
    /// Leave out what has its centre in a shape.
    Remove(Shape),
    /// Keep what meets a condition.
    Filter(Condition),
    /// Cut the spherical harmonics.
    ShDegree(u8),
    /// Put into an order.
    Sort,
    /// Merge Gaussians until so many are left.
    Decimate(Keep),
    /// Leave out floaters.
    PruneFloaters(f32),
    /// Limit sizes.
    MaxScale(f32),
    /// Print what values there are.
    Stats { json: bool },
}

impl Action {
    /// Whether it asks the dataset.
    pub fn asks_photos(&self) -> bool {
        matches!(
            self,
            Action::PruneFloaters(_)
                | Action::MaxScale(_)
                | Action::Up {
                    from: Up::Dataset,
                    ..
                }
                | Action::Metric {
                    points: Points::Photos(_),
                    ..
                }
        )
    }
}

/// A direction that points up.
#[derive(Clone, Debug, PartialEq)]
pub enum Up {
    Direction([f64; 3]),
    /// What is up in the photos.
    Dataset,
}

/// Two points whose distance is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    World([[f64; 3]; 2]),
    /// Where two photos were taken.
    Photos([String; 2]),
}

/// How an action is typed.
pub struct Kind {
    pub name: &'static str,
    pub value: &'static str,
    pub help: &'static str,
    pub parse: fn(&str) -> Result<Action, String>,
    /// The value of the bare flag, if it has one.
    pub without_value: Option<&'static str>,
}

const fn kind(
    name: &'static str,
    value: &'static str,
    parse: fn(&str) -> Result<Action, String>,
    help: &'static str,
) -> Kind {
    Kind {
        name,
        value,
        help,
        parse,
        without_value: None,
    }
}

/// All actions, in the order of the help.
pub const ACTIONS: [Kind; 14] = [
    kind(
        "translate",
        "X,Y,Z",
        translate,
        "Move the scene, world units",
    ),
    kind(
        "rotate",
        "AXIS:DEGREES",
        rotate,
        "Rotate about an axis through the origin, harmonics too: x:90, z:-45, or 1,0,1:30; \
         counter-clockwise for one who looks against the axis",
    ),
    kind(
        "scale",
        "FACTOR",
        scale,
        "Scale about the origin, by a number above 0",
    ),
    kind(
        "up",
        "FROM[:TO]",
        up,
        "Rotate so that the direction FROM, which is up in the scene, becomes TO [-y]; each is x, \
         -y, z, or X,Y,Z. 'dataset' takes what is up in the photos of --dataset, \
         plane:X,Y,Z,X,Y,Z,X,Y,Z three points of a floor that lie counter-clockwise for one who \
         stands on it",
    ),
    kind(
        "metric",
        "A,B=LENGTH",
        metric,
        "Scale so that two places are LENGTH apart, for example metres: X,Y,Z,X,Y,Z=LENGTH, or \
         the names of two photos of --dataset, whose cameras were that far apart",
    ),
    kind(
        "crop",
        "SHAPE",
        crop,
        "Keep only Gaussians whose centre is inside box:X0,Y0,Z0,X1,Y1,Z1, sphere:X,Y,Z,RADIUS, \
         plane:NX,NY,NZ,OFFSET (where normal times position is at least the offset) or \
         polygon:xz:X,Z,X,Z,X,Z (seen along the third axis)",
    ),
    kind(
        "remove",
        "SHAPE",
        remove,
        "Leave out Gaussians whose centre is inside; shapes as for --crop",
    ),
    kind(
        "filter",
        "CONDITION",
        filter,
        "Keep only Gaussians for which it holds: 'opacity>=0.05', 'largest<2', 'y<0'. Names: x, y, \
         z, opacity (0 to 1), size, smallest, largest, sx, sy, sz (standard deviations, world \
         units), elongation, r, g, b, and as PLY stores them opacity_raw, scale_0.., rot_0.., \
         f_dc_0..",
    ),
    kind(
        "sh-degree",
        "0..4",
        sh_degree,
        "Cut the spherical harmonics to this degree [the scene's own]. A Gaussian takes 248 bytes \
         in PLY at degree 3, 188 at 2, 104 at 1 and 68 at 0, which also loads and renders faster; \
         reflections are lost",
    ),
    kind(
        "sort",
        "ORDER",
        sort,
        "Put into an order: 'morton', in which neighbours in space are neighbours in the file",
    ),
    kind(
        "decimate",
        "N|SHARE%",
        decimate,
        "Merge pairs of Gaussians until N, or a share such as 25%, are left: the image changes as \
         little as it can. Takes the scene into memory",
    ),
    kind(
        "prune-floaters",
        "SHARE",
        |s| share(s).map(Action::PruneFloaters),
        "Leave out floaters, as training's flag of this name does: Gaussians nearer than this \
         share of the depth that the cameras of --dataset see at their place, in every one \
         that can tell; try 0.8. Views from beside the photos gain much, those between them \
         nothing; haze, glass and smoke may go too. Renders each view once, and takes the \
         memory of training",
    ),
    kind(
        "max-scale",
        "SHARE",
        |s| share(s).map(Action::MaxScale),
        "Limit sizes, as training's flag of this name does: no Gaussian larger than this share \
         of its distance to the nearest camera of --dataset; try 0.25. What is larger may \
         cover half of a view from beside the photos. Takes the memory of training",
    ),
    Kind {
        without_value: Some("text"),
        ..kind(
            "stats",
            "=FORMAT",
            stats,
            "Print percentiles, mean and deviation of every property and a box to crop to, as \
             --stats or --stats=json; needs no -o",
        )
    },
];

fn translate(text: &str) -> Result<Action, String> {
    Ok(Action::Move(Similarity::translation(vector(text)?)))
}

fn rotate(text: &str) -> Result<Action, String> {
    let wrong = || format!("'{text}' is no rotation; write AXIS:DEGREES, such as x:90 or 1,0,1:30");
    let (axis, degrees) = text.rsplit_once(':').ok_or_else(wrong)?;
    let degrees = degrees.parse().ok().filter(|d: &f64| d.is_finite());
    let degrees = degrees.ok_or_else(wrong)?;
    Ok(Action::Move(Similarity::rotation(
        direction(axis)?,
        degrees,
    )))
}

fn scale(text: &str) -> Result<Action, String> {
    match text.parse::<f64>() {
        Ok(by) if by > 0.0 && by.is_finite() => Ok(Action::Move(Similarity::scale(by))),
        _ => Err(format!("'{text}' is no factor; write a number above 0")),
    }
}

fn up(text: &str) -> Result<Action, String> {
    let (plane, rest) = match text.strip_prefix("plane:") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (from, to) = rest.split_once(':').unwrap_or((rest, "-y"));
    let from = match from {
        points if plane => Up::Direction(normal(points)?),
        "dataset" => Up::Dataset,
        _ => Up::Direction(direction(from)?),
    };
    Ok(Action::Up {
        from,
        to: direction(to)?,
    })
}

fn metric(text: &str) -> Result<Action, String> {
    let wrong = || {
        format!(
            "'{text}' tells no distance; write X,Y,Z,X,Y,Z=LENGTH or PHOTO,PHOTO=LENGTH with a \
             length above 0"
        )
    };
    let (places, length) = text.rsplit_once('=').ok_or_else(wrong)?;
    let length = length
        .parse()
        .ok()
        .filter(|l: &f64| l.is_finite() && *l > 0.0);
    let length = length.ok_or_else(wrong)?;
    let parts: Vec<&str> = places.split(',').map(str::trim).collect();
    let points = match parts[..] {
        [a, b] if !a.is_empty() && !b.is_empty() => Points::Photos([a.into(), b.into()]),
        [_, _, _, _, _, _] => {
            let (a, b) = (
                vector(&parts[..3].join(","))?,
                vector(&parts[3..].join(","))?,
            );
            if a == b {
                return Err(format!("'{text}' names one point twice; write two points"));
            }
            Points::World([a, b])
        }
        _ => return Err(wrong()),
    };
    Ok(Action::Metric { points, length })
}

fn crop(text: &str) -> Result<Action, String> {
    text.parse().map(Action::Crop)
}

fn remove(text: &str) -> Result<Action, String> {
    text.parse().map(Action::Remove)
}

fn filter(text: &str) -> Result<Action, String> {
    text.parse().map(Action::Filter)
}

fn sh_degree(text: &str) -> Result<Action, String> {
    match text.parse() {
        Ok(degree @ 0..=4) => Ok(Action::ShDegree(degree)),
        _ => Err(format!("'{text}' is no degree; write 0, 1, 2, 3 or 4")),
    }
}

fn sort(text: &str) -> Result<Action, String> {
    match text {
        "morton" => Ok(Action::Sort),
        _ => Err(format!("'{text}' is no order; write morton")),
    }
}

fn decimate(text: &str) -> Result<Action, String> {
    let keep = text.parse().map_err(|error: KeepError| error.to_string())?;
    Ok(Action::Decimate(keep))
}

fn stats(text: &str) -> Result<Action, String> {
    match text {
        "text" | "json" => Ok(Action::Stats {
            json: text == "json",
        }),
        _ => Err(format!("'{text}' is no format; write text or json")),
    }
}

fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(v) if v > 0.0 && v < 1.0 => Ok(v),
        _ => Err(format!(
            "'{text}' is not a share; write a number above 0 and below 1, for example 0.8"
        )),
    }
}

/// `x`, `-y`, `+z`, or three numbers that are not all zero.
fn direction(text: &str) -> Result<[f64; 3], String> {
    let (sign, name) = match text.strip_prefix('-') {
        Some(name) => (-1.0, name),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(axis) = ["x", "y", "z"].iter().position(|known| *known == name) {
        let mut direction = [0.0; 3];
        direction[axis] = sign;
        return Ok(direction);
    }
    match vector(text) {
        Ok(direction) if direction.iter().any(|&v| v != 0.0) => Ok(direction),
        _ => Err(format!(
            "'{text}' is no direction; write x, -x, y, -y, z, -z, or three numbers X,Y,Z"
        )),
    }
}

/// The direction from which three points lie counter-clockwise.
fn normal(text: &str) -> Result<[f64; 3], String> {
    let parts: Vec<&str> = text.split(',').collect();
    let point = |i: usize| vector(&parts[3 * i..3 * i + 3].join(","));
    let normal = match parts.len() {
        9 => normal_of_three([point(0)?, point(1)?, point(2)?]),
        _ => None,
    };
    normal.ok_or_else(|| {
        format!(
            "'{text}' is no plane; write plane:X,Y,Z,X,Y,Z,X,Y,Z, three points that are not on a \
             line"
        )
    })
}

fn vector(text: &str) -> Result<[f64; 3], String> {
    let number = |s: &str| s.trim().parse().ok().filter(|v: &f64| v.is_finite());
    let numbers: Option<Vec<f64>> = text.split(',').map(number).collect();
    numbers
        .and_then(|numbers| <[f64; 3]>::try_from(numbers).ok())
        .ok_or_else(|| format!("'{text}' is no point; write three numbers X,Y,Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Action, String> {
        let kind = ACTIONS.iter().find(|kind| kind.name == name).unwrap();
        (kind.parse)(text)
    }

    #[test]
    fn values_are_read() {
        assert_eq!(
            parse("translate", "1,-2, 3.5"),
            Ok(Action::Move(Similarity::translation([1.0, -2.0, 3.5])))
        );
        assert_eq!(
            parse("rotate", "-z:90"),
            Ok(Action::Move(Similarity::rotation([0.0, 0.0, -1.0], 90.0)))
        );
        assert_eq!(
            parse("up", "z"),
            Ok(Action::Up {
                from: Up::Direction([0.0, 0.0, 1.0]),
                to: [0.0, -1.0, 0.0]
            })
        );
        let floor = |to| Action::Up {
            from: Up::Direction([0.0, -1.0, 0.0]),
            to,
        };
        assert_eq!(
            parse("up", "plane:0,2,0,1,2,0,0,2,1"),
            Ok(floor([0.0, -1.0, 0.0]))
        );
        assert_eq!(
            parse("up", "plane:0,2,0,1,2,0,0,2,1:z"),
            Ok(floor([0.0, 0.0, 1.0]))
        );
        assert_eq!(
            parse("metric", "a.jpg,b.jpg=2"),
            Ok(Action::Metric {
                points: Points::Photos(["a.jpg".into(), "b.jpg".into()]),
                length: 2.0
            })
        );
        assert!(parse("metric", "0,0,0,1,0,0=1e-3").is_ok());
    }

    #[test]
    fn wrong_values_say_what_to_write() {
        for (name, text) in [
            ("translate", "1,2"),
            ("translate", "1,2,inf"),
            ("rotate", "x"),
            ("rotate", "0,0,0:90"),
            ("rotate", "x:nan"),
            ("scale", "0"),
            ("scale", "-1"),
            ("up", "w"),
            ("up", "z:"),
            ("up", "plane:0,0,0,1,1,1"),
            ("up", "plane:0,0,0,1,1,1,2,2,2"),
            ("metric", "a,b"),
            ("metric", "a,b=0"),
            ("metric", "0,0,0,0,0,0=1"),
            ("metric", "0,0,0,0,0=1"),
            ("crop", "cube:1"),
            ("filter", "alpha>1"),
            ("sh-degree", "5"),
            ("sort", "size"),
            ("decimate", "0"),
            ("decimate", "101%"),
            ("stats", "xml"),
            ("max-scale", "1"),
        ] {
            let message = parse(name, text).unwrap_err();
            assert!(message.contains("; write "), "{name} {text}: {message}");
        }
    }
}
