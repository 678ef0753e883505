//! The notation of the specification's formulas.

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Name(String),
    Number(String),
    /// `..` in place of an index.
    Dots,
    /// In parentheses.
    Group(Box<Node>),
    Negative(Box<Node>),
    Power(Box<Node>, Box<Node>),
    Index(Box<Node>, Vec<Node>),
    /// A function, its arguments, and what they run over.
    Call(String, Vec<Node>, Vec<Range>),
    /// `" "` is a product without a sign, `","` a list.
    Binary(&'static str, Box<Node>, Box<Node>),
}

/// What a name runs over: `[from, to)`, or what the text says.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub name: Node,
    pub bounds: Option<(Node, Node)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Number(String),
    Sign(&'static str),
}

const SIGNS: [&str; 19] =
    ["..", "+=", "==", "<=", ">=", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "=", "<", ">", "|"];

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// How many parentheses and powers are open.
    depth: usize,
}

/// Deeper than this, nothing is read.
const DEEPEST: usize = 40;

/// A formula with a sign of equality or order at the start of a text, and where it ends: at the end of the text, or before a comma or a
/// word that goes on in words.
pub fn relation(text: &str) -> Option<(Node, usize)> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let left = parser.sum()?;
    let sign = parser.one_of(&["+=", "==", "<=", ">=", "=", "<", ">"])?;
    let mut right = parser.sum()?;
    // A list, as long as no words are in it.
    loop {
        let at = parser.at;
        let next = parser.one_of(&[","]).and_then(|_| parser.sum()).filter(|next| !is_word(next));
        match next.filter(|_| parser.rest().trim_start().is_empty() || parser.rest().starts_with(',')) {
            Some(next) => right = Node::Binary(",", Box::new(right), Box::new(next)),
            None => {
                parser.at = at;
                break;
            }
        }
    }
    let rest = parser.rest();
    let ends = rest.is_empty() || [",", " for ", " if "].iter().any(|start| rest.starts_with(start));
    (ends && !is_word(&right)).then(|| (Node::Binary(sign, Box::new(left), Box::new(right)), parser.at))
}

/// `for i in 0 .. n, g, d`.
pub fn loops(text: &str) -> Option<Vec<Range>> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.keyword("for").then_some(())?;
    let ranges = parser.ranges()?;
    (parser.rest().is_empty() && ranges.iter().any(|range| range.bounds.is_some())).then_some(ranges)
}

/// Whether something is more probably a word than a name.
fn is_word(node: &Node) -> bool {
    matches!(node, Node::Name(name) if name.len() > 2 && !name.contains('_') && !GREEK.contains(&name.as_str()))
}

const GREEK: [&str; 2] = ["theta", "pi"];

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next token and its length, with the spaces before it.
    fn peek(&self) -> Option<(Token, usize)> {
        let rest = self.rest();
        let body = rest.trim_start();
        let spaces = rest.len() - body.len();
        let while_of = |is: fn(char) -> bool| body.find(|c| !is(c)).unwrap_or(body.len());
        let (token, length) = match body.chars().next()? {
            c if c.is_ascii_alphabetic() => {
                let length = while_of(|c| c.is_ascii_alphanumeric() || c == '_');
                (Token::Name(body.get(..length)?.to_owned()), length)
            }
            c if c.is_ascii_digit() => {
                let length = while_of(|c| c.is_ascii_digit());
                (Token::Number(body.get(..length)?.to_owned()), length)
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| body.starts_with(sign))?;
                (Token::Sign(sign), sign.len())
            }
        };
        Some((token, spaces + length))
    }

    fn one_of(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let (token, length) = self.peek()?;
        let sign = signs.iter().find(|sign| token == Token::Sign(sign))?;
        self.at += length;
        Some(sign)
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = self.peek().filter(|(token, _)| *token == Token::Name(word.to_owned()));
        found.is_some_and(|(_, length)| {
            self.at += length;
            true
        })
    }

    /// Terms, and what may stand in place of them.
    fn sum(&mut self) -> Option<Node> {
        let mut left = self.product()?;
        loop {
            let sign = match self.one_of(&["+", "-"]) {
                Some(sign) => sign,
                None if self.keyword("or") => "or",
                None => return Some(left),
            };
            left = Node::Binary(sign, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Option<Node> {
        let mut left = self.factor()?;
        loop {
            let sign = match self.one_of(&["*", "/"]) {
                Some(sign) => sign,
                None if self.multiplies(&left) => " ",
                None => return Some(left),
            };
            let right = self.factor()?;
            left = Node::Binary(sign, Box::new(left), Box::new(right));
        }
    }

    /// Whether a factor follows without a sign. Words do not.
    fn multiplies(&self, left: &Node) -> bool {
        let starts = match self.peek() {
            Some((Token::Sign("("), _)) => true,
            Some((Token::Name(name), length)) => {
                let called =
                    self.text.get(self.at + length..).is_some_and(|rest| rest.starts_with(['(', '[']));
                called
                    || !is_word(&Node::Name(name.clone()))
                        && !["or", "in", "if", "is"].contains(&name.as_str())
            }
            Some((Token::Number(_), _)) => true,
            _ => false,
        };
        starts && !is_word(left)
    }

    fn factor(&mut self) -> Option<Node> {
        self.depth += 1;
        let found = self.factor_below();
        self.depth -= 1;
        found
    }

    fn factor_below(&mut self) -> Option<Node> {
        if self.depth > DEEPEST {
            return None;
        }
        if self.one_of(&["-"]).is_some() {
            return Some(Node::Negative(Box::new(self.factor()?)));
        }
        let base = self.atom()?;
        match self.one_of(&["^"]) {
            Some(_) => Some(Node::Power(Box::new(base), Box::new(self.factor()?))),
            None => Some(base),
        }
    }

    fn atom(&mut self) -> Option<Node> {
        let (token, length) = self.peek()?;
        self.at += length;
        let mut node = match token {
            Token::Name(name) if self.rest().starts_with('(') => {
                self.at += 1;
                let mut arguments = vec![self.sum()?];
                while self.one_of(&[","]).is_some() {
                    arguments.push(self.sum()?);
                }
                let ranges = if self.keyword("for") { self.ranges()? } else { Vec::new() };
                self.one_of(&[")"])?;
                Node::Call(name, arguments, ranges)
            }
            Token::Name(name) => Node::Name(name),
            Token::Number(number) => Node::Number(number),
            Token::Sign("..") => Node::Dots,
            Token::Sign("(") => {
                let inner = self.sum()?;
                self.one_of(&[")"])?;
                Node::Group(Box::new(inner))
            }
            Token::Sign(_) => return None,
        };
        while self.rest().starts_with('[') {
            self.at += 1;
            let mut index = vec![self.sum()?];
            while self.one_of(&[","]).is_some() {
                index.push(self.sum()?);
            }
            self.one_of(&["]"])?;
            node = Node::Index(Box::new(node), index);
        }
        Some(node)
    }

    fn ranges(&mut self) -> Option<Vec<Range>> {
        let mut ranges = Vec::new();
        loop {
            let (Token::Name(name), length) = self.peek()? else { return None };
            self.at += length;
            let bounds = if self.keyword("in") {
                let from = self.sum()?;
                self.one_of(&[".."])?;
                Some((from, self.sum()?))
            } else {
                None
            };
            ranges.push(Range { name: Node::Name(name), bounds });
            if self.one_of(&[","]).is_none() {
                return Some(ranges);
            }
        }
    }
}
