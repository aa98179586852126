//! Where in the kernels' text something was: what a library says as `{code 0x12}`, told as file and
//! line.

use std::path::Path;
use std::process::Command;

const OPEN: &str = "{code 0x";

/// The message with every place named, by `addr2line`, which comes with the linker; without it
/// places stay as they are.
pub fn name(words: &str, library: &Path) -> String {
    let mut parts = words.split(OPEN);
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((code, rest)) = part.split_once('}') else {
            return words.to_owned();
        };
        match u64::from_str_radix(code, 16)
            .ok()
            .and_then(|code| find(code, library))
        {
            Some(place) => named.push_str(&format!("({place})")),
            None => named.push_str(&format!("{OPEN}{code}}}")),
        }
        named.push_str(rest);
    }
    named
}

/// The line of a function that was inlined first, then those that called it; none of the
/// emulator's.
fn find(return_address: u64, library: &Path) -> Option<String> {
    let output = Command::new("addr2line")
        .arg("-i")
        .arg("-e")
        .arg(library)
        .arg(format!("{:#x}", return_address.saturating_sub(1)))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut places: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(" (").next()?.rsplit('/').next())
        .filter(|place| !place.contains(".hpp:") && !place.contains('?'))
        .collect();
    places.dedup();
    (!places.is_empty()).then(|| places.join(", called at "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_nobody_knows_stays_as_it_is() {
        let nowhere = Path::new("/no/such/library.so");
        for words in [
            "nothing",
            "read {code 0x12} what {code 0xff}",
            "{code 0x",
            "{code 0xzz} it",
        ] {
            assert_eq!(name(words, nowhere), words);
        }
    }
}
