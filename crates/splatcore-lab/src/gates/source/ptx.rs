//! Inline PTX by what its instructions are: arithmetic, conversions, matrix units, exchange between
//! lanes, loads and stores. Nothing that measures time, waits, ends the program, asks where it
//! runs, or tells the caches what to keep.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Instructions of numbers, bits and lanes.
static PLAIN: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let all = "abs add addc and bfe bfi bfind bmsk brev clz cnot copysign cvt cvta div dp2a dp4a \
               elect ex2 fma fns lg2 lop3 mad mad24 madc match max min mov movmatrix mul mul24 neg \
               not or popc prmt rcp redux rem rsqrt sad selp set setp shf shfl shl shr sin cos \
               slct sqrt sub subc szext tanh testp vabsdiff2 vabsdiff4 vadd2 vadd4 vavrg2 vavrg4 \
               vmax2 vmax4 vmin2 vmin4 vset2 vset4 vsub2 vsub4 vote xor activemask mma ldmatrix \
               stmatrix";
    all.split_whitespace().collect()
});

/// Instructions that reach memory or wait for it, whose modifiers are checked one by one.
static MEMORY: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "ld ldu st atom red cp bar barrier fence membar"
        .split(' ')
        .collect()
});

/// Modifiers of those.
static MODIFIERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let all = "global shared shared::cta const local param relaxed acquire release acq_rel weak \
               cta gpu sc nc ca cg cs wb wt v2 v4 b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 \
               s64 f16 f16x2 bf16 bf16x2 f32 f64 async commit_group wait_group wait_all \
               L1::no_allocate add min max and or xor exch cas inc dec noftz sync aligned red \
               popc arrive warp";
    all.split_whitespace().collect()
});

/// Registers that say which lane, thread or block it is; kernels know all of these.
const REGISTERS: [&str; 10] = [
    "laneid",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
];

/// Types of registers that a block may declare.
const TYPES: [&str; 19] = [
    "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32",
    "s64", "f16", "f16x2", "bf16", "f32", "f64",
];

/// The instructions of a template are known ones.
///
/// # Errors
/// With the first that is not.
pub fn check(text: &str) -> Result<(), String> {
    if let Some(bad) = text.chars().find(|&c| !is_of_ptx(c)) {
        return Err(format!(
            "asm holds {bad}, which is no part of an instruction; take it out"
        ));
    }
    check_registers(text)?;
    let statements = split(text);
    for statement in &statements {
        check_statement(statement)?;
    }
    check_names(&statements)
}

/// Operands are registers that the text declares, operands of the statement and numbers: no names
/// of the program's variables and functions.
fn check_names(statements: &[String]) -> Result<(), String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = |text: &str| -> Vec<String> {
        let mut names = Vec::new();
        let mut before = ' ';
        for part in text.split_inclusive(|c: char| !is_of_name(c)) {
            let name = part.trim_end_matches(|c: char| !is_of_name(c));
            let is_name = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
            if is_name && !matches!(before, '%' | '.') && name != "_" {
                names.push(name.to_owned());
            }
            before = part.chars().last().unwrap_or(' ');
        }
        names
    };
    let mut declared: HashSet<String> = HashSet::new();
    for statement in statements {
        let rest = statement.trim();
        if rest.starts_with('.') {
            declared.extend(names(rest));
            continue;
        }
        let (guard, rest) = match rest.strip_prefix('@') {
            Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            None => ("", rest),
        };
        let operands = rest
            .trim_start()
            .split_once(char::is_whitespace)
            .map_or("", |(_, o)| o);
        let used = names(guard).into_iter().chain(names(operands));
        if let Some(name) = used.into_iter().find(|name| !declared.contains(name)) {
            return Err(format!(
                "asm names {name}, which it does not declare; pass it as operand"
            ));
        }
    }
    Ok(())
}

/// No quotes, comments (`/`), shell or assembler signs.
fn is_of_ptx(c: char) -> bool {
    c.is_ascii_alphanumeric() || " \n\t_.,:;{}[]()<>%@!|+-".contains(c)
}

/// `%%laneid`, `%0`.
fn check_registers(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        let is_operand = !name.is_empty() && name.chars().all(|c| c.is_ascii_digit());
        let is_pair = name.is_empty() && rest.starts_with('%');
        if !is_operand && !is_pair && !REGISTERS.contains(&name) {
            return Err(format!(
                "asm reads %{name}; only operands and lane numbers may be read"
            ));
        }
    }
    Ok(())
}

/// Statements: what ends in `;`, and what a brace of a block begins or ends. A brace within
/// operands encloses a vector.
fn split(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut current = String::new();
    for c in text.chars() {
        let is_block = matches!(c, '{' | '}') && current.trim().is_empty();
        if c == ';' || is_block {
            statements.push(std::mem::take(&mut current));
        } else {
            current.push(c);
        }
    }
    statements.push(current);
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

fn check_statement(statement: &str) -> Result<(), String> {
    let mut rest = statement.trim();
    if let Some(guarded) = rest.strip_prefix('@') {
        let predicate = guarded.split_whitespace().next().unwrap_or_default();
        rest = guarded[predicate.len()..].trim_start();
    }
    let opcode = rest
        .split(|c: char| c.is_whitespace())
        .next()
        .unwrap_or_default();
    if let Some(directive) = opcode.strip_prefix('.') {
        return check_declaration(directive, rest[opcode.len()..].trim());
    }
    let mut parts = opcode.split('.');
    let name = parts.next().unwrap_or_default();
    let unknown = |what: &str| {
        Err(format!(
            "asm with {what}, which is not on the list of instructions; use C++ for it"
        ))
    };
    if PLAIN.contains(name) {
        let is_word = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        return match parts.all(|part| is_word(part) || part == "shared::cta") {
            true => Ok(()),
            false => unknown(opcode),
        };
    }
    if !MEMORY.contains(name) {
        return unknown(opcode);
    }
    match parts.find(|part| !MODIFIERS.contains(*part)) {
        Some(part) => Err(format!(
            "asm with {opcode}: .{part} is not on the list of modifiers; use a plain access"
        )),
        None => Ok(()),
    }
}

/// `.reg .pred p, q`.
fn check_declaration(directive: &str, rest: &str) -> Result<(), String> {
    let (of, names) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_type = of.strip_prefix('.').is_some_and(|of| TYPES.contains(&of));
    let is_name = |c: char| c.is_ascii_alphanumeric() || " ,_<>".contains(c);
    if directive == "reg" && is_type && !names.is_empty() && names.chars().all(is_name) {
        return Ok(());
    }
    Err(format!(
        "asm with .{directive}; only .reg declarations may stand there"
    ))
}
