//! What a result is made of, as the one who writes an algorithm knows it, and which bits that gives (clause COL-14).

use std::rc::Rc;

use megakernel_numerics::{DType, decode, encode};

/// How a number is made.
#[derive(Clone, Debug)]
pub enum Expr {
    /// What an element holds at the beginning.
    Leaf(usize),
    /// A binary16 sum.
    Add(Rc<Expr>, Rc<Expr>),
    /// A binary32 sum, of binary16 numbers or binary32 sums.
    Wide(Rc<Expr>, Rc<Expr>),
    /// Rounded to binary16.
    Narrow(Rc<Expr>),
}

/// What an element holds at the beginning.
pub fn leaf(element: usize) -> Rc<Expr> {
    Rc::new(Expr::Leaf(element))
}

/// A binary16 sum.
pub fn add(a: &Rc<Expr>, b: &Rc<Expr>) -> Rc<Expr> {
    Rc::new(Expr::Add(Rc::clone(a), Rc::clone(b)))
}

/// Bits of a binary16 number; one NaN for all.
fn narrow(number: f64) -> u32 {
    if number.is_nan() { 0x7E00 } else { encode(DType::F16, number) }
}

/// The bits of a binary16 number made so, where `leaf` says what elements hold.
pub fn bits(expr: &Expr, leaf: &dyn Fn(usize) -> u32) -> u32 {
    match expr {
        Expr::Leaf(element) => leaf(*element),
        Expr::Add(a, b) => narrow(decode(DType::F16, bits(a, leaf)) + decode(DType::F16, bits(b, leaf))),
        Expr::Narrow(of) => narrow(f64::from(wide(of, leaf))),
        Expr::Wide(..) => narrow(f64::from(wide(expr, leaf))),
    }
}

fn wide(expr: &Expr, leaf: &dyn Fn(usize) -> u32) -> f32 {
    match expr {
        Expr::Wide(a, b) => wide(a, leaf) + wide(b, leaf),
        other => {
            // Every binary16 number is a binary32 number.
            let exact = decode(DType::F16, bits(other, leaf));
            exact as f32
        }
    }
}
