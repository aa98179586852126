//! Other programs on a card whose times are taken.

use splatcore_cuda::device::driver::identity;
use std::process::Command;

/// Says on stderr which other programs have memory of a card, by what nvidia-smi lists: a card that
/// two compute on serves them in turns, and slows a long kernel more than a short one. Says nothing
/// where nvidia-smi is missing or lists none, as in a container that hides them. To be called
/// before the card is opened: where numbers of processes are those of another namespace, this one
/// would be taken for another.
pub fn warn(device: Option<usize>) {
    let Some(card) = identity(device.unwrap_or(0)) else {
        return;
    };
    let asked = [
        "--query-compute-apps=gpu_uuid,pid,process_name",
        "--format=csv,noheader",
    ];
    let Ok(output) = Command::new("nvidia-smi").args(asked).output() else {
        return;
    };
    let listed = String::from_utf8_lossy(&output.stdout);
    let others = on_card(&listed, &card, std::process::id());
    if !others.is_empty() {
        eprintln!(
            "warning: other programs use this card ({}); if they compute meanwhile, the times are \
             wrong: end them, or choose another card with --device",
            others.join(", ")
        );
    }
}

/// The programs on the card of this [`identity`] but the one of this number, as `NAME PID`;
/// `listed` has a line for each: UUID of the card, number, and path or name, with commas between.
fn on_card(listed: &str, card: &str, own: u32) -> Vec<String> {
    let uuid = card.split(' ').next().unwrap_or_default();
    let program = |line: &str| {
        let mut parts = line.splitn(3, ',').map(str::trim);
        let (on, number, path) = (parts.next()?, parts.next()?, parts.next()?);
        let number: u32 = number.parse().ok()?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        (on == uuid && number != own).then(|| format!("{name} {number}"))
    };
    listed.lines().filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_on_the_same_card_are_named() {
        let listed = "GPU-a1, 17, /usr/bin/python3\nGPU-b2, 18, train\nGPU-a1, 19, own\n\
                      GPU-a1, 20, C:\\x\\a, b.exe\nGPU-a1, [N/A], hidden\nNo devices were found\n";
        let found = on_card(listed, "GPU-a1 at PCI 0000:18:00", 19);
        assert_eq!(found, ["python3 17", "a, b.exe 20"]);
        assert!(on_card(listed, "MIG-a1 at PCI 0000:18:00", 19).is_empty());
        assert!(on_card("", "GPU-a1", 1).is_empty());
    }
}
