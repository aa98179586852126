//! Conditions on [tunables](crate::tunables): expressions over 64-bit integers with the operators
//! of C.

use std::fmt;

/// An expression. Names are `N`: text as it was read, or whatever [`Expression::bind`] made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression<N = String> {
    /// A literal.
    Number(i64),
    /// The value of a name.
    Name(N),
    /// `!x`: 1 if x is 0, else 0.
    Not(Box<Self>),
    /// `-x`.
    Minus(Box<Self>),
    /// An operator with two operands.
    Binary(Operation, Box<Self>, Box<Self>),
}

/// An operator with two operands, as C defines it. Comparisons and logic give 0 or 1; the right
/// operand of `&&` and `||` is evaluated only if the left one does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Operation {
    Or,
    And,
    Equal,
    NotEqual,
    LessEqual,
    GreaterEqual,
    Less,
    Greater,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operators by precedence, the loosest first; within a level, longer spellings first.
const LEVELS: [&[(&str, Operation)]; 6] = [
    &[("||", Operation::Or)],
    &[("&&", Operation::And)],
    &[("==", Operation::Equal), ("!=", Operation::NotEqual)],
    &[
        ("<=", Operation::LessEqual),
        (">=", Operation::GreaterEqual),
        ("<", Operation::Less),
        (">", Operation::Greater),
    ],
    &[("+", Operation::Add), ("-", Operation::Subtract)],
    &[
        ("*", Operation::Multiply),
        ("/", Operation::Divide),
        ("%", Operation::Remainder),
    ],
];

/// How deep parentheses and signs may nest.
const MAX_DEPTH: usize = 64;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at `{rest}`: {what}")]
pub struct ParseError {
    /// The text from the place where reading stopped.
    pub rest: String,
    /// What was expected there.
    pub what: &'static str,
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A division or remainder by 0.
    #[error("division by zero")]
    DivisionByZero,
    /// A result beyond 64 bits.
    #[error("overflow")]
    Overflow,
}

impl std::str::FromStr for Expression {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser {
            rest: text.trim_start(),
            depth: 0,
        };
        let expression = parser.level(0)?;
        match parser.rest.is_empty() {
            true => Ok(expression),
            false => Err(parser.expected("an operator or the end")),
        }
    }
}

impl<N> Expression<N> {
    /// The value, with `value` giving that of each name.
    ///
    /// # Errors
    /// If a divisor is 0 or a result does not fit in 64 bits.
    pub fn evaluate(&self, value: &impl Fn(&N) -> i64) -> Result<i64, ValueError> {
        let (operation, left, right) = match self {
            Self::Number(number) => return Ok(*number),
            Self::Name(name) => return Ok(value(name)),
            Self::Not(of) => return Ok(i64::from(of.evaluate(value)? == 0)),
            Self::Minus(of) => {
                let negated = of.evaluate(value)?.checked_neg();
                return negated.ok_or(ValueError::Overflow);
            }
            Self::Binary(operation, left, right) => (operation, left, right),
        };
        let a = left.evaluate(value)?;
        match operation {
            Operation::Or if a != 0 => return Ok(1),
            Operation::And if a == 0 => return Ok(0),
            _ => {}
        }
        let b = right.evaluate(value)?;
        let by_zero = matches!(operation, Operation::Divide | Operation::Remainder) && b == 0;
        if by_zero {
            return Err(ValueError::DivisionByZero);
        }
        let result = match operation {
            Operation::Or | Operation::And => Some(i64::from(b != 0)),
            Operation::Equal => Some(i64::from(a == b)),
            Operation::NotEqual => Some(i64::from(a != b)),
            Operation::LessEqual => Some(i64::from(a <= b)),
            Operation::GreaterEqual => Some(i64::from(a >= b)),
            Operation::Less => Some(i64::from(a < b)),
            Operation::Greater => Some(i64::from(a > b)),
            Operation::Add => a.checked_add(b),
            Operation::Subtract => a.checked_sub(b),
            Operation::Multiply => a.checked_mul(b),
            Operation::Divide => a.checked_div(b),
            Operation::Remainder => a.checked_rem(b),
        };
        result.ok_or(ValueError::Overflow)
    }

    /// Whether the value is one, and other than 0.
    pub fn holds(&self, value: &impl Fn(&N) -> i64) -> bool {
        self.evaluate(value).is_ok_and(|value| value != 0)
    }

    /// The expression with an expression in place of each name.
    ///
    /// # Errors
    /// The first that `bind` returns.
    pub fn bind<M, E>(
        &self,
        bind: &mut impl FnMut(&N) -> Result<Expression<M>, E>,
    ) -> Result<Expression<M>, E> {
        Ok(match self {
            Self::Number(number) => Expression::Number(*number),
            Self::Name(name) => bind(name)?,
            Self::Not(of) => Expression::Not(Box::new(of.bind(bind)?)),
            Self::Minus(of) => Expression::Minus(Box::new(of.bind(bind)?)),
            Self::Binary(operation, left, right) => Expression::Binary(
                *operation,
                Box::new(left.bind(bind)?),
                Box::new(right.bind(bind)?),
            ),
        })
    }

    /// Calls `visit` with each name, from left to right.
    pub fn names<'a>(&'a self, visit: &mut impl FnMut(&'a N)) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => visit(name),
            Self::Not(of) | Self::Minus(of) => of.names(visit),
            Self::Binary(_, left, right) => {
                left.names(visit);
                right.names(visit);
            }
        }
    }
}

/// With every operation in parentheses; parsing the text gives the expression back.
impl<N: fmt::Display> fmt::Display for Expression<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "{name}"),
            Self::Not(of) => write!(f, "!{of}"),
            Self::Minus(of) => write!(f, "-{of}"),
            Self::Binary(operation, left, right) => {
                let mut all = LEVELS.iter().copied().flatten();
                let sign = all
                    .find(|(_, of)| of == operation)
                    .map_or("", |(sign, _)| sign);
                write!(f, "({left} {sign} {right})")
            }
        }
    }
}

struct Parser<'a> {
    /// What is left to read, without leading blanks.
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn expected(&self, what: &'static str) -> ParseError {
        ParseError {
            rest: self.rest.to_owned(),
            what,
        }
    }

    /// Whether the text goes on with `sign`, which is then passed over.
    fn take(&mut self, sign: &str) -> bool {
        let after = self.rest.strip_prefix(sign);
        self.rest = after.map_or(self.rest, str::trim_start);
        after.is_some()
    }

    fn level(&mut self, level: usize) -> Result<Expression, ParseError> {
        let Some(operations) = LEVELS.get(level) else {
            return self.operand();
        };
        let mut left = self.level(level + 1)?;
        while let Some((_, operation)) = operations.iter().find(|(sign, _)| self.take(sign)) {
            let right = self.level(level + 1)?;
            left = Expression::Binary(*operation, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expression, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.expected("fewer parentheses"));
        }
        let operand = if self.take("!") {
            Expression::Not(Box::new(self.operand()?))
        } else if self.take("-") {
            Expression::Minus(Box::new(self.operand()?))
        } else if self.take("(") {
            let inner = self.level(0)?;
            if !self.take(")") {
                return Err(self.expected("expected )"));
            }
            inner
        } else {
            self.word()?
        };
        self.depth -= 1;
        Ok(operand)
    }

    fn word(&mut self) -> Result<Expression, ParseError> {
        let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
        let end = self.rest.find(|c| !in_word(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let found = match word.chars().next() {
            None => return Err(self.expected("expected a number or a name")),
            Some(c) if c.is_ascii_digit() => match word.parse() {
                Ok(number) => Expression::Number(number),
                Err(_) => return Err(self.expected("expected a decimal integer of 64 bits")),
            },
            Some(_) => Expression::Name(word.to_owned()),
        };
        self.rest = self.rest[end..].trim_start();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn value(text: &str) -> Result<i64, ValueError> {
        let of = |name: &String| match name.as_str() {
            "A" => 7,
            "B" => 32,
            _ => 0,
        };
        text.parse::<Expression>().unwrap().evaluate(&of)
    }

    #[test]
    fn precedence_is_that_of_c() {
        assert_eq!(value("2 + 3 * 4"), Ok(14));
        assert_eq!(value("20 - 6 - 4"), Ok(10));
        assert_eq!(value("-A % 4 * 2"), Ok(-6));
        assert_eq!(value("1 || 0 && 0"), Ok(1));
        assert_eq!(value("1 < 2 == 1"), Ok(1));
        assert_eq!(value("B%A<=4&&B>=32"), Ok(1));
        assert_eq!(value("!(A == 7) || ZERO != 0"), Ok(0));
        assert_eq!(value("!!B + -(-2)"), Ok(3));
    }

    #[test]
    fn what_has_no_value_says_why() {
        assert_eq!(value("1 / ZERO"), Err(ValueError::DivisionByZero));
        assert_eq!(value("1 % (A - 7)"), Err(ValueError::DivisionByZero));
        assert_eq!(value("9223372036854775807 + 1"), Err(ValueError::Overflow));
        // The right side is not looked at once the left one decides.
        assert_eq!(value("ZERO != 0 && 1 % ZERO == 0"), Ok(0));
        assert_eq!(value("ZERO == 0 || 1 % ZERO == 0"), Ok(1));
    }

    #[test]
    fn what_is_no_expression_is_pointed_at() {
        for (text, rest) in [
            ("", ""),
            ("1 +", ""),
            ("(1 + 2", ""),
            ("1 2", "2"),
            ("A = 3", "= 3"),
            ("3 * 0x10", "0x10"),
            ("A & B", "& B"),
        ] {
            assert_eq!(text.parse::<Expression>().unwrap_err().rest, rest, "{text}");
        }
        assert!("(".repeat(10_000).parse::<Expression>().is_err());
        assert!("!".repeat(10_000).parse::<Expression>().is_err());
    }

    fn random(rng: &mut Rng, depth: usize) -> Expression {
        match rng.below(if depth == 0 { 2 } else { 6 }) {
            0 => Expression::Number(rng.below(5) as i64),
            1 => Expression::Name(["A", "B", "ZERO"][rng.below(3)].to_owned()),
            2 => Expression::Not(Box::new(random(rng, depth - 1))),
            3 => Expression::Minus(Box::new(random(rng, depth - 1))),
            _ => {
                let all: Vec<_> = LEVELS.iter().copied().flatten().collect();
                let operation = all[rng.below(all.len())].1;
                let mut operand = || Box::new(random(rng, depth - 1));
                Expression::Binary(operation, operand(), operand())
            }
        }
    }

    #[test]
    fn printed_expressions_are_read_back() {
        for seed in 0..500 {
            let expression = random(&mut Rng::new(seed, 0), 4);
            let read: Expression = expression.to_string().parse().unwrap();
            assert_eq!(read, expression);
        }
    }
}
