//! NVIDIA's driver, opened at run time by cudarc: a program with this module starts on machines
//! without one. Here: which cards there are, and why one cannot be used. In `card`: a card as a
//! [`super::Device`].

mod card;
mod pageable;
mod restore;
mod second;

pub use card::Card;
pub use restore::RestoreContext;
pub use second::SecondStream;

use cudarc::driver::{result, sys};
use std::mem::MaybeUninit;

/// Least compute capability: the products of `blend_splatcore` need Turing's matrix units.
pub const MIN_CAPABILITY: u32 = 75;

/// Why no card can be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct NoCard {
    /// In a few words.
    pub reason: String,
    /// What the user can do.
    pub remedy: String,
}

/// What the driver says without a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverInfo {
    /// CUDA version that the driver supports, as 12080 for 12.8.
    pub version: i32,
    /// Name, compute capability times ten and bytes of each card.
    pub cards: Vec<(String, u32, u64)>,
}

/// Whether there is a driver, which may still see no card. Does not start it, which takes time.
pub fn has_driver() -> bool {
    // SAFETY: opening the driver has no preconditions.
    unsafe { sys::is_culib_present() }
}

/// Asks the driver which cards there are.
///
/// # Errors
/// If there is no driver or it does not start.
pub fn driver_info() -> Result<DriverInfo, NoCard> {
    if !has_driver() {
        return Err(NoCard {
            reason: "no NVIDIA driver (libcuda) was found".into(),
            remedy: "install NVIDIA's driver from https://www.nvidia.com/drivers".into(),
        });
    }
    let stuck = |error| NoCard {
        reason: format!("the NVIDIA driver does not start: {}", words(error)),
        remedy: "check that nvidia-smi works and that a card is visible (CUDA_VISIBLE_DEVICES)"
            .into(),
    };
    result::init().map_err(stuck)?;
    let mut info = DriverInfo::default();
    // SAFETY: the driver is initialised, and the devices are its own.
    unsafe {
        let _ = sys::cuDriverGetVersion(&mut info.version);
        for ordinal in 0..result::device::get_count().map_err(stuck)? {
            let device = result::device::get(ordinal).map_err(stuck)?;
            let attribute =
                |which| result::device::get_attribute(device, which).unwrap_or(0) as u32;
            use sys::CUdevice_attribute::*;
            let capability = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
                + attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
            info.cards.push((
                result::device::get_name(device).unwrap_or_else(|_| "unnamed".into()),
                capability,
                result::device::total_mem(device).unwrap_or(0) as u64,
            ));
        }
    }
    Ok(info)
}

/// Which card of the world that of a number is, in words: a number of its own and its place in the
/// machine. `None` if the driver does not say.
pub fn identity(ordinal: usize) -> Option<String> {
    if !has_driver() {
        return None;
    }
    result::init().ok()?;
    let device = result::device::get(i32::try_from(ordinal).ok()?).ok()?;
    let card = result::device::get_uuid(device).ok()?;
    let uuid = part_of(device).unwrap_or(card);
    let kind = if uuid.bytes == card.bytes {
        "GPU"
    } else {
        "MIG"
    };
    // SAFETY: the device is the driver's own.
    let place = |which| unsafe { result::device::get_attribute(device, which) }.ok();
    use sys::CUdevice_attribute::*;
    let places = [
        place(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
        place(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
        place(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
    ];
    Some(in_words((kind, uuid.bytes.map(|byte| byte as u8)), places))
}

/// The first version of CUDA whose driver tells parts of a card by MIG from each other.
const TELLS_PARTS: i32 = 11_040;

/// The UUID of a card, or of the part of one by MIG that this is; `None` if the driver does not
/// tell them apart.
fn part_of(device: sys::CUdevice) -> Option<sys::CUuuid> {
    let (mut version, mut uuid) = (0, MaybeUninit::uninit());
    // SAFETY: the driver writes its version.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .ok()?;
    if version < TELLS_PARTS {
        return None;
    }
    // SAFETY: the driver writes an UUID where it succeeds.
    unsafe { sys::cuDeviceGetUuid_v2(uuid.as_mut_ptr(), device) }
        .result()
        .ok()?;
    // SAFETY: it did.
    Some(unsafe { uuid.assume_init() })
}

/// As nvidia-smi has them: the UUID of a card or of a part of one, and domain, bus and device of
/// PCI.
fn in_words((kind, uuid): (&str, [u8; 16]), [domain, bus, device]: [i32; 3]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hex[part]);
    format!(
        "{kind}-{} at PCI {domain:04x}:{bus:02x}:{device:02x}",
        parts.join("-")
    )
}

/// There is no card of this number; names those that there are.
fn no_such_card(ordinal: usize, cards: &[(String, u32, u64)]) -> NoCard {
    let known: Vec<String> = cards
        .iter()
        .enumerate()
        .map(|(i, (name, ..))| format!("{i} ({name})"))
        .collect();
    match known.len() {
        0 => NoCard {
            reason: "the NVIDIA driver sees no card".into(),
            remedy: "check nvidia-smi and CUDA_VISIBLE_DEVICES".into(),
        },
        n => NoCard {
            reason: format!(
                "there is no card {ordinal}; the driver sees {}: {}",
                if n == 1 { "one".into() } else { n.to_string() },
                known.join(", ")
            ),
            remedy: "choose one of them (CUDA_VISIBLE_DEVICES hides and renumbers cards)".into(),
        },
    }
}

fn words(error: result::DriverError) -> String {
    let text = |s: Result<&std::ffi::CStr, _>| {
        s.map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    format!(
        "{} ({})",
        text(error.error_string()),
        text(error.error_name())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_told_apart_as_nvidia_smi_does() {
        let uuid = std::array::from_fn(|k| 0x10 * k as u8 + 1);
        assert_eq!(
            in_words(("GPU", uuid), [0, 0x18, 0]),
            "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1 at PCI 0000:18:00"
        );
    }

    #[test]
    fn a_card_that_is_not_there_is_answered_with_those_that_are() {
        let card = |name: &str| (name.to_owned(), 90, 1 << 30);
        let words = |cards: &[_]| no_such_card(3, cards).to_string();
        let two = words(&[card("H200"), card("L4")]);
        assert_contains!(two, "no card 3; the driver sees 2: 0 (H200), 1 (L4)");
        assert_contains!(two, "choose one of them");
        let one = words(&[card("L4")]);
        assert_contains!(one, "sees one: 0 (L4)");
        assert!(words(&[]).contains("sees no card"));
    }
}
