//! Which part of a renderer that the papers compare with runs here.

/// Said behind the renderer's name; empty if all of it runs.
pub fn part_of(renderer: &str) -> &'static str {
    match renderer {
        "FlashGS" | "Speedy-Splat" => ", intersection only",
        "StopThePop" => ", tile test only",
        "GSCore" => ", oriented box only",
        "AdR-Gaussian" => ", adaptive radius only",
        _ => "",
    }
}

/// The remark below tables with such names.
pub const PARTS: &str = "A renderer's label says which part of it runs here; what else it changes \
                         (the model, the order, how a kernel works) does not.";
