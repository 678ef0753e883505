//! What nodes of documents compute (clause MCI-06), with any kind of numbers.

use megakernel_mcir::{Along, Function, Index, Masked, Op, Update};

use crate::transform::evaluate::{Array, Numbers, binary, folded, lines, mask, product, repeated, unary};

/// A tile. States begin without extents: one number that is all of its elements, until an update gives them some.
#[derive(Clone, Debug)]
pub struct Tile<N> {
    pub shape: Option<Vec<usize>>,
    pub numbers: Vec<N>,
}

impl<N: Copy> Tile<N> {
    fn array(&self) -> Result<Array<'_, N>, String> {
        let shape = self.shape.as_deref().ok_or("a state is read that has no extents yet (IS08)")?;
        Ok(Array { shape, numbers: &self.numbers })
    }

    fn at(&self, place: usize) -> N {
        self.numbers[if self.shape.is_some() { place } else { 0 }]
    }
}

fn of<N>(shape: &[usize], numbers: Vec<N>) -> Tile<N> {
    Tile { shape: Some(shape.to_vec()), numbers }
}

fn unmet(what: &str) -> String {
    format!("the extents of {what} do not meet (IS09)")
}

/// What a `Compute` or a `Reduce` produces, and the terms that it takes.
///
/// # Errors
/// What does not fit.
pub fn computed<N: Numbers>(
    op: &Op,
    numbers: &N,
    ins: &[&Tile<N::Number>],
    index: &dyn Fn(&Index) -> Result<i64, String>,
    most: u64,
) -> Result<(Tile<N::Number>, usize), String> {
    let each = |a: &Tile<N::Number>, of: &dyn Fn(N::Number) -> N::Number| {
        let made =
            Tile { shape: a.shape.clone(), numbers: a.numbers.iter().map(|&number| of(number)).collect() };
        (made, a.numbers.len())
    };
    Ok(match (op, ins) {
        (Op::Compute(Function::Matmul(is_turned)), [a, b]) => {
            let (a, b) = (a.array()?, b.array()?);
            let ([m, k], [p, q]) = (a.shape, b.shape) else { return Err(unmet("products")) };
            let (inner, n) = if *is_turned { (q, p) } else { (p, q) };
            if k != inner {
                return Err(unmet("products"));
            }
            let terms = m.saturating_mul(*n).saturating_mul(*k);
            if terms as u64 > most {
                return Err(format!(
                    "a product takes {terms} operations, and up to {most} are judged (MCI-21)"
                ));
            }
            (of(&[*m, *n], product(numbers, &a, &b, *is_turned)), terms)
        }
        (Op::Compute(Function::Transpose), [a]) => {
            let a = a.array()?;
            let &[rows, columns] = a.shape else { return Err(unmet("a transposition")) };
            let made: Vec<N::Number> =
                (0..rows * columns).map(|at| a.numbers[at % rows * columns + at / rows]).collect();
            (of(&[columns, rows], made), rows * columns)
        }
        (Op::Compute(Function::Unary(function)), [a]) => each(a, &|number| unary(numbers, *function, number)),
        (Op::Compute(Function::Scale(p, q)), [a]) => each(a, &|number| numbers.scale(number, [*p, *q])),
        (Op::Compute(Function::Binary(function, along)), [a, b]) => {
            if a.shape.is_none() && b.shape.is_none() {
                return Ok((
                    Tile { shape: None, numbers: vec![binary(numbers, *function, a.at(0), b.at(0))] },
                    1,
                ));
            }
            // A state that nothing has updated has the extents that it needs.
            let shape = a.shape.clone().or_else(|| b.shape.clone().filter(|_| along.is_none()));
            let shape = shape.ok_or_else(|| unmet("both operands"))?;
            let needed = match (along, &shape[..]) {
                (None, _) => shape.clone(),
                (Some(Along::Rows), &[m, _]) => vec![m],
                (Some(Along::Columns), &[_, n]) => vec![n],
                _ => return Err(unmet("both operands")),
            };
            if b.shape.as_ref().is_some_and(|found| *found != needed) {
                return Err(unmet("both operands"));
            }
            let met =
                if let (Some(Along::Rows), &[m, _]) = (along, &shape[..]) { vec![m, 1] } else { needed };
            let all: usize = shape.iter().product();
            let made =
                (0..all).map(|at| binary(numbers, *function, a.at(at), b.at(repeated(&shape, &met, at))));
            let made = made.collect();
            (of(&shape, made), all)
        }
        (Op::Compute(Function::Mask(by)), [a]) => {
            let a = a.array()?;
            if a.shape.len() != 2 {
                return Err(unmet("a mask"));
            }
            let offset = index(&by.rows)?.checked_sub(index(&by.columns)?).ok_or("an index is too large")?;
            let made = mask(numbers, &a, Masked { offset, window: by.window });
            (of(a.shape, made), a.numbers.len())
        }
        (Op::Reduce(fold, axis), [a]) => {
            let a = a.array()?;
            let place = usize::try_from(*axis).ok().filter(|&place| place < a.shape.len());
            let place = place.ok_or_else(|| unmet("a reduction"))?;
            let mut made = Vec::new();
            lines(a.shape, *axis, &mut |line| {
                made.extend(folded(numbers, *fold, line.iter().map(|&at| a.numbers[at])))
            });
            let mut shape = a.shape.to_vec();
            shape.remove(place);
            (of(&shape, made), a.numbers.len())
        }
        _ => return Err("it does not have the operands that it needs (IS04)".to_owned()),
    })
}

/// What an `UpdateState` produces, in the order of its `out`.
///
/// # Errors
/// What does not fit.
pub fn updated<N: Numbers>(
    update: Update,
    numbers: &N,
    ins: &[&Tile<N::Number>],
) -> Result<Vec<Tile<N::Number>>, String> {
    let is_free =
        |tile: &Tile<N::Number>, shape: &[usize]| tile.shape.as_ref().is_none_or(|own| own == shape);
    match (update, ins) {
        (Update::Add | Update::Max, [s, x]) => {
            let x = x.array()?;
            if !is_free(s, x.shape) {
                return Err(unmet("a state and what is added"));
            }
            let one = |(at, &number): (usize, &N::Number)| {
                if update == Update::Add {
                    numbers.add(s.at(at), number)
                } else {
                    numbers.max(s.at(at), number)
                }
            };
            Ok(vec![of(x.shape, x.numbers.iter().enumerate().map(one).collect())])
        }
        (Update::ScaleAdd, [s, r, x]) => {
            let (x, r) = (x.array()?, r.array()?);
            let fits =
                is_free(s, x.shape) && r.shape == &x.shape[..1.min(x.shape.len())] && x.shape.len() <= 2;
            if !fits || x.shape.is_empty() {
                return Err(unmet("a state, its factors and what is added"));
            }
            let wide: usize = x.shape[1..].iter().product();
            let one = |(at, &number): (usize, &N::Number)| {
                numbers.add(numbers.mul(s.at(at), r.numbers[at / wide]), number)
            };
            Ok(vec![of(x.shape, x.numbers.iter().enumerate().map(one).collect())])
        }
        (Update::OnlineSoftmax, [x, u, l]) => {
            let x = x.array()?;
            let &[m, n] = x.shape else { return Err(unmet("scores")) };
            if !is_free(u, &[m]) || !is_free(l, &[m]) {
                return Err(unmet("scores and states"));
            }
            let (mut tops, mut sums, mut weights, mut factors) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for row in 0..m {
                let line = &x.numbers[row * n..(row + 1) * n];
                let old = u.at(row);
                let top = line.iter().fold(old, |top, &score| numbers.max(top, score));
                let is_masked = numbers.is_least(top);
                let one = numbers.fraction([1, 1]);
                let factor = if is_masked { one } else { numbers.exp(numbers.sub(old, top)) };
                let none = numbers.fraction([0, 1]);
                let weight =
                    |&score: &N::Number| if is_masked { none } else { numbers.exp(numbers.sub(score, top)) };
                let new: Vec<N::Number> = line.iter().map(weight).collect();
                let sum =
                    new.iter().fold(numbers.mul(l.at(row), factor), |sum, &weight| numbers.add(sum, weight));
                tops.push(top);
                sums.push(sum);
                factors.push(factor);
                weights.extend(new);
            }
            Ok(vec![of(&[m], tops), of(&[m], sums), of(&[m, n], weights), of(&[m], factors)])
        }
        _ => Err("it does not have the operands that it needs (IS04)".to_owned()),
    }
}
