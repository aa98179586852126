//! Sections and symbols of an ELF file of 64 bits, little-endian, as NVRTC writes them. Every
//! offset is checked: the bytes may be anything.

/// Why bytes are no compiled code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the compiled code of a card: {0}")]
pub struct CubinError(pub(super) String);

pub(super) fn broken<T>(words: &str) -> Result<T, CubinError> {
    Err(CubinError(words.into()))
}

/// `SHT_SYMTAB`.
const SYMBOLS: u32 = 2;
/// `SHT_RELA` and `SHT_REL`, with the bytes of an entry.
const RELOCATIONS: [(u32, usize); 2] = [(4, 24), (9, 16)];
/// `SHT_NOBITS`.
const NO_BITS: u32 = 8;
/// Bytes of a section's header and of a symbol.
const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
/// `EM_CUDA`.
const CUDA: u16 = 190;

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(word.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

fn place_at(bytes: &[u8], at: usize) -> Option<usize> {
    u64_at(bytes, at)?.try_into().ok()
}

fn text_at(strings: &[u8], at: usize) -> Option<&str> {
    let rest = strings.get(at..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// A section.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    pub name: &'a str,
    kind: u32,
    pub flags: u64,
    /// Its bytes; none if they are zeroes that the file leaves out.
    pub data: &'a [u8],
    /// Bytes in memory.
    pub bytes: u64,
    info: u32,
}

impl Section<'_> {
    /// Kernels may write to it, and it holds something.
    pub fn is_writable(&self) -> bool {
        self.flags & 1 != 0 && self.flags & 2 != 0 && self.bytes != 0
    }
}

/// A symbol.
#[derive(Clone, Debug)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    /// The number of its section; 0 if it is defined elsewhere.
    pub section: usize,
    pub bytes: u64,
}

/// What a file holds.
pub(super) struct Elf<'a> {
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
}

impl<'a> Elf<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is none, or cut off.
    pub fn read(bytes: &'a [u8]) -> Result<Self, CubinError> {
        if bytes.get(..6) != Some(b"\x7fELF\x02\x01") {
            return broken("no ELF file of 64 bits");
        }
        if u16_at(bytes, 18) != Some(CUDA) {
            return broken("an ELF file of another machine");
        }
        let read = || {
            let flags = u32_at(bytes, 48)?;
            let first = place_at(bytes, 40)?;
            let count = usize::from(u16_at(bytes, 60)?);
            let names = usize::from(u16_at(bytes, 62)?);
            Some((flags, first, count, names))
        };
        let Some((flags, first, count, names)) = read() else {
            return broken("its header is cut off");
        };
        let header = |number: usize| {
            let start = number.checked_mul(SECTION_BYTES)?.checked_add(first)?;
            bytes.get(start..start.checked_add(SECTION_BYTES)?)
        };
        let content = |number: usize| section_data(bytes, header(number)?);
        let Some(names) = content(names) else {
            return broken("the names of its sections are not there");
        };
        let sections: Option<Vec<Section>> = (0..count)
            .map(|number| {
                let header = header(number)?;
                Some(Section {
                    name: text_at(names, u32_at(header, 0)? as usize)?,
                    kind: u32_at(header, 4)?,
                    flags: u64_at(header, 8)?,
                    data: section_data(bytes, header)?,
                    bytes: u64_at(header, 32)?,
                    info: u32_at(header, 44)?,
                })
            })
            .collect();
        let Some(sections) = sections else {
            return broken("a section is cut off");
        };
        let table = (0..count).find(|&number| sections[number].kind == SYMBOLS);
        let symbols = match table {
            None => Some(Vec::new()),
            Some(number) => header(number).and_then(|header| {
                let strings = content(u32_at(header, 40)? as usize)?;
                symbols(sections[number].data, strings)
            }),
        };
        match symbols {
            Some(symbols) => Ok(Self {
                flags,
                sections,
                symbols,
            }),
            None => broken("a symbol is cut off"),
        }
    }

    /// What the loader writes into a section: place, kind, symbol's name and addend, as bytes.
    pub fn relocations(&self, section: usize) -> Vec<u8> {
        let mut found = Vec::new();
        for table in &self.sections {
            let Some(&(_, size)) = RELOCATIONS.iter().find(|(kind, _)| *kind == table.kind) else {
                continue;
            };
            if table.info as usize != section {
                continue;
            }
            for entry in table.data.chunks_exact(size) {
                let symbol = u32_at(entry, 12).unwrap_or(0) as usize;
                let name = self.symbols.get(symbol).map_or("", |symbol| symbol.name);
                found.extend_from_slice(&entry[..12]);
                found.extend_from_slice(&entry[16..]);
                found.extend_from_slice(name.as_bytes());
                found.push(0);
            }
        }
        found
    }
}

fn section_data<'a>(bytes: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    if matches!(u32_at(header, 4)?, 0 | NO_BITS) {
        return Some(&[]);
    }
    let (start, size) = (place_at(header, 24)?, place_at(header, 32)?);
    bytes.get(start..start.checked_add(size)?)
}

fn symbols<'a>(table: &[u8], strings: &'a [u8]) -> Option<Vec<Symbol<'a>>> {
    let entries = table.chunks_exact(SYMBOL_BYTES);
    entries
        .map(|entry| {
            Some(Symbol {
                name: text_at(strings, u32_at(entry, 0)? as usize)?,
                section: usize::from(u16_at(entry, 6)?),
                bytes: u64_at(entry, 16)?,
            })
        })
        .collect()
}
