//! What an instruction computes, element by element: by the thread that keeps the element.

use megakernel_mcir::kernel::View;
use megakernel_mcir::{Along, Binary, Fold, Function, Op, Unary, Update};

use super::Refused;
use super::code::Code;
use super::tiles::Layout;
use super::views::Seen;

/// Which elements of an operand an element of the result needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// The one at the same coordinates.
    Same,
    /// Those with the same first coordinate.
    Row,
    /// Others.
    Any,
}

/// How elements of a result are gone through.
struct Way {
    layout: Layout,
    shape: Vec<i64>,
}

impl Way {
    /// As the result is kept; or, of a result in memory, as an operand is whose elements it needs one by one.
    fn of(out: &Seen, operands: &[(Seen, Needs)]) -> Way {
        let as_kept = |seen: &Seen| Way { layout: seen.layout, shape: seen.held.shape.clone() };
        if out.layout != Layout::Memory {
            return as_kept(out);
        }
        let suits = |(seen, needs): &&(Seen, Needs)| match seen.layout {
            Layout::Memory => false,
            Layout::Rows => *needs != Needs::Any && !out.extents.is_empty(),
            Layout::Elements => *needs == Needs::Same && seen.held.shape == out.held.shape,
        };
        operands.iter().find(suits).map_or_else(|| as_kept(out), |(seen, _)| as_kept(seen))
    }

    /// Whether a thread that computes an element has what it needs of an operand.
    fn has(&self, out: &Seen, operand: &Seen, needs: Needs) -> bool {
        match operand.layout {
            Layout::Memory => true,
            Layout::Rows => needs != Needs::Any && (self.layout == Layout::Rows || out.extents.len() <= 1),
            Layout::Elements => {
                needs == Needs::Same && self.layout == Layout::Elements && self.shape == operand.held.shape
            }
        }
    }
}

fn operands<const N: usize>(views: &[View]) -> Result<&[View; N], Refused> {
    views.try_into().map_err(|_| Refused::of("an operand too few or too many"))
}

fn ranks(seen: &[&Seen], wanted: &[usize]) -> Result<(), Refused> {
    let found: Vec<usize> = seen.iter().map(|seen| seen.extents.len()).collect();
    if found == wanted {
        return Ok(());
    }
    Err(Refused::of(format!("operands have {found:?} axes, and {wanted:?} are needed")))
}

fn unary(function: Unary, a: &str) -> String {
    match function {
        Unary::Copy => a.to_owned(),
        Unary::Neg => format!("-{a}"),
        Unary::Exp => format!("expf({a})"),
        Unary::Rsqrt => format!("1.0f / sqrtf({a})"),
        Unary::Silu => format!("mcir::silu({a})"),
        Unary::Gelu => format!("mcir::gelu({a})"),
    }
}

fn binary(function: Binary, a: &str, b: &str) -> String {
    match function {
        Binary::Add => format!("{a} + {b}"),
        Binary::Sub => format!("{a} - {b}"),
        Binary::Mul => format!("{a} * {b}"),
        Binary::Div => format!("{a} / {b}"),
        Binary::Max => format!("mcir::most({a}, {b})"),
    }
}

/// A number as C++ that binary32 rounds as it rounds the number.
pub(super) fn float(value: f64) -> String {
    format!("{:?}f", value as f32)
}

impl Code<'_> {
    pub(super) fn compute(&mut self, op: &Op, ins: &[View], outs: &[View]) -> Result<(), Refused> {
        if matches!(op, Op::UpdateState(Update::OnlineSoftmax)) {
            return self.softmax(ins, outs);
        }
        let [out] = operands::<1>(outs)?;
        let mut seen = Vec::with_capacity(ins.len());
        for (number, view) in ins.iter().enumerate() {
            seen.push(self.seen(view, number)?);
        }
        let out = self.seen(out, ins.len())?;
        let needs = needs(op, &seen, &out)?;
        let operands: Vec<(Seen, Needs)> = seen.into_iter().zip(needs).collect();
        let way = Way::of(&out, &operands);
        let (operands, is_exchanged) = self.brought(&way, &out, operands);
        self.each(op, &way, &out, &operands)?;
        if is_exchanged {
            self.meet();
        }
        Ok(())
    }

    /// The operands, of which those that threads have to exchange are in memory.
    fn brought(
        &mut self,
        way: &Way,
        out: &Seen,
        mut operands: Vec<(Seen, Needs)>,
    ) -> (Vec<(Seen, Needs)>, bool) {
        let mut end = 0;
        for (number, (seen, needs)) in operands.iter_mut().enumerate() {
            if !way.has(out, seen, *needs) {
                let staged = self.staged(seen, number, end);
                (*seen, end) = staged;
            }
        }
        if end > 0 {
            self.meet();
        }
        (operands, end > 0)
    }

    fn each(&mut self, op: &Op, way: &Way, out: &Seen, operands: &[(Seen, Needs)]) -> Result<(), Refused> {
        // What is read after an element of it may have been written is written last.
        let overlaps = |(seen, needs): &(Seen, Needs)| {
            seen.name == seen.held.name
                && seen.held.allocation == out.held.allocation
                && !(*needs == Needs::Same && seen.is(out) && out.layout == seen.layout)
        };
        if !operands.iter().any(overlaps) {
            let (coordinates, braces) = self.walk(out, way.layout);
            let value = self.value(op, operands, &coordinates)?;
            self.put(out, &coordinates, &value);
            self.close(braces);
            return Ok(());
        }
        self.later(out, way, |code, coordinates| code.value(op, operands, coordinates))
    }

    /// Computes all elements before the first one is written.
    fn later(
        &mut self,
        out: &Seen,
        way: &Way,
        value: impl FnOnce(&mut Self, &[String]) -> Result<String, Refused>,
    ) -> Result<(), Refused> {
        self.hold(out, way);
        self.line("int held = 0;");
        let (coordinates, braces) = self.walk(out, way.layout);
        let value = value(self, &coordinates)?;
        self.line(format!("later[held++] = {value};"));
        self.close(braces);
        if out.layout == Layout::Memory {
            self.meet();
        }
        self.line("held = 0;");
        let (coordinates, braces) = self.walk(out, way.layout);
        self.put(out, &coordinates, "later[held++]");
        self.close(braces);
        Ok(())
    }

    /// Declares room for as many numbers as a thread computes of a result.
    fn hold(&mut self, out: &Seen, way: &Way) {
        let mut held = (*out.held).clone();
        held.layout = way.layout;
        // A thread has as many rows of a view as of its buffer, at most; of elements in memory, fewer than that.
        let count = held.each(self.threads);
        self.line(format!("float later[{count}];"));
        self.held_back = self.held_back.max(count.saturating_mul(4));
    }

    /// What an element is, in C++; lines before it compute parts of it.
    fn value(
        &mut self,
        op: &Op,
        operands: &[(Seen, Needs)],
        coordinates: &[String],
    ) -> Result<String, Refused> {
        let threads = self.threads;
        let get = |place: usize, coordinates: &[String]| {
            operands.get(place).map(|(seen, _)| seen.get(coordinates, threads)).unwrap_or_default()
        };
        let extent = |place: usize, axis: usize| {
            operands.get(place).and_then(|(seen, _)| seen.extents.get(axis)).cloned().unwrap_or_default()
        };
        let own = || get(0, coordinates);
        let name = |axis: usize| coordinates.get(axis).cloned().unwrap_or_default();
        let k = || "k".to_owned();
        Ok(match op {
            Op::Compute(Function::Matmul(is_turned)) => {
                let right = if *is_turned { [name(1), k()] } else { [k(), name(1)] };
                self.line("float sum = 0.0f;");
                self.line(format!(
                    "for (int k = 0; k < {}; ++k) sum += {} * {};",
                    extent(0, 1),
                    get(0, &[name(0), k()]),
                    get(1, &right)
                ));
                "sum".to_owned()
            }
            Op::Compute(Function::Transpose) => get(0, &[name(1), name(0)]),
            Op::Compute(Function::Unary(function)) => unary(*function, &own()),
            Op::Compute(Function::Scale(p, q)) => {
                if *q < 1 {
                    return Err(Refused::of("a fraction is out of range"));
                }
                format!("{} * {}", own(), float(*p as f64 / *q as f64))
            }
            Op::Compute(Function::Binary(function, along)) => {
                let other = match along {
                    None => coordinates.to_vec(),
                    Some(Along::Rows) => vec![name(0)],
                    Some(Along::Columns) => vec![name(1)],
                };
                binary(*function, &own(), &get(1, &other))
            }
            Op::Compute(Function::Mask(mask)) => {
                let (row, column) = (self.integers.index(&mask.rows)?, self.integers.index(&mask.columns)?);
                let (row, column) = (format!("{row} + {}", name(0)), format!("{column} + {}", name(1)));
                let mut is_kept = format!("{column} <= {row}");
                if let Some(window) = mask.window {
                    is_kept = format!("{is_kept} && {column} > {row} - {window}ll");
                }
                format!("{is_kept} ? {} : -mcir::infinity()", own())
            }
            Op::Reduce(fold, axis) => {
                let axis = usize::try_from(*axis).unwrap_or(0);
                let mut inner = coordinates.to_vec();
                inner.insert(axis.min(inner.len()), k());
                let (first, next) = match fold {
                    Fold::Sum => ("0.0f", format!("folded + {}", get(0, &inner))),
                    Fold::Max => ("-mcir::infinity()", format!("mcir::most(folded, {})", get(0, &inner))),
                };
                self.line(format!("float folded = {first};"));
                self.line(format!("for (int k = 0; k < {}; ++k) folded = {next};", extent(0, axis)));
                "folded".to_owned()
            }
            Op::UpdateState(Update::Add) => format!("{} + {}", own(), get(1, coordinates)),
            Op::UpdateState(Update::Max) => format!("mcir::most({}, {})", own(), get(1, coordinates)),
            Op::UpdateState(Update::ScaleAdd) => {
                format!("{} * {} + {}", own(), get(1, &[name(0)]), get(2, coordinates))
            }
            _ => return Err(Refused::of("an instruction of another kind")),
        })
    }

    /// The largest score and the sum of weights of each row go on; weights, and what rows are scaled by.
    fn softmax(&mut self, ins: &[View], outs: &[View]) -> Result<(), Refused> {
        let (ins, outs) = (operands::<3>(ins)?, operands::<4>(outs)?);
        let mut all = Vec::new();
        for (number, view) in ins.iter().chain(outs).enumerate() {
            all.push(self.seen(view, number)?);
        }
        let [x, u, l, top, sum, p, r] = &all[..] else { return Err(Refused::of("operands")) };
        ranks(&[x, u, l, top, sum, p, r], &[2, 1, 1, 1, 1, 2, 1])?;
        let threads = self.threads;
        // Twice through the scores: by rows for the largest one and the sum, and by weights.
        let by_rows = Way { layout: Layout::Rows, shape: u.held.shape.clone() };
        let by_weights = Way::of(p, &[(x.clone(), Needs::Same)]);
        let mut scores = x.clone();
        let mut end = 0;
        if !by_rows.has(u, x, Needs::Row) || !by_weights.has(p, x, Needs::Same) {
            (scores, end) = self.staged(x, 0, 0);
            self.meet();
        }
        let most = self.exchange_from(end, "float", 1);
        self.exchange_to(end, u.held.elements().saturating_mul(4));
        let mut count = 0;
        for (name, seen) in [("tops", top), ("sums", sum), ("scales", r)] {
            let each = seen.held.each(threads).max(u.held.each(threads));
            self.line(format!("float {name}[{each}];"));
            count += each;
        }
        self.held_back = self.held_back.max(count.saturating_mul(4));
        let (row, braces) = self.walk(u, Layout::Rows);
        let inner = [row[0].clone(), "k".to_owned()];
        let score = scores.get(&inner, threads);
        let each = format!("for (int k = 0; k < {}; ++k)", x.extents[1]);
        self.line(format!("const float before = {};", u.get(&row, threads)));
        self.line("float top = before, sum = 0.0f;");
        self.line(format!("{each} top = mcir::most(top, {score});"));
        self.line(format!("{each} sum += mcir::weight({score}, top);"));
        self.line("const float scale = mcir::rescale(before, top);");
        let at = format!("{} / {threads}", row[0]);
        self.line(format!("sums[{at}] = {} * scale + sum;", l.get(&row, threads)));
        self.line(format!("tops[{at}] = top;"));
        self.line(format!("scales[{at}] = scale;"));
        self.line(format!("{most}[{}] = top;", row[0]));
        self.close(braces);
        self.meet();
        let weighed = |coordinates: &[String]| {
            format!("mcir::weight({}, {most}[{}])", scores.get(coordinates, threads), coordinates[0])
        };
        let is_in = |out: &Seen| scores.name == x.held.name && out.held.allocation == x.held.allocation;
        let is_same = by_weights.layout == x.layout && p.layout == x.layout && p.is(x);
        if is_in(p) && !is_same {
            self.later(p, &by_weights, |_, coordinates| Ok(weighed(coordinates)))?;
        } else {
            let (coordinates, braces) = self.walk(p, by_weights.layout);
            self.put(p, &coordinates, &weighed(&coordinates));
            self.close(braces);
        }
        // The others may lie where scores are read until now.
        self.meet();
        for (name, seen) in [("tops", top), ("sums", sum), ("scales", r)] {
            let (row, braces) = self.walk(seen, Layout::Rows);
            self.put(seen, &row, &format!("{name}[{} / {threads}]", row[0]));
            self.close(braces);
        }
        Ok(())
    }
}

/// What elements of a result need of each operand.
fn needs(op: &Op, ins: &[Seen], out: &Seen) -> Result<Vec<Needs>, Refused> {
    let rank = out.extents.len();
    let all: Vec<&Seen> = ins.iter().chain([out]).collect();
    Ok(match op {
        Op::Compute(Function::Matmul(_)) => {
            ranks(&all, &[2, 2, 2])?;
            vec![Needs::Row, Needs::Any]
        }
        Op::Compute(Function::Transpose) => {
            ranks(&all, &[2, 2])?;
            vec![Needs::Any]
        }
        Op::Compute(Function::Unary(_) | Function::Scale(..)) => {
            ranks(&all, &[rank, rank])?;
            vec![Needs::Same]
        }
        Op::Compute(Function::Mask(..)) => {
            ranks(&all, &[2, 2])?;
            vec![Needs::Same]
        }
        Op::Compute(Function::Binary(_, None)) | Op::UpdateState(Update::Add | Update::Max) => {
            ranks(&all, &[rank, rank, rank])?;
            vec![Needs::Same, Needs::Same]
        }
        Op::Compute(Function::Binary(_, Some(along))) => {
            ranks(&all, &[2, 1, 2])?;
            vec![Needs::Same, if *along == Along::Rows { Needs::Row } else { Needs::Any }]
        }
        Op::Reduce(_, axis) => {
            ranks(&all, &[rank + 1, rank])?;
            let axis = usize::try_from(*axis).ok().filter(|axis| *axis <= rank);
            let axis = axis.ok_or_else(|| Refused::of("no such axis"))?;
            vec![if axis == 0 { Needs::Any } else { Needs::Row }]
        }
        Op::UpdateState(Update::ScaleAdd) => {
            ranks(&all, &[rank, 1, rank, rank])?;
            if rank == 0 {
                return Err(Refused::of("rows of a number"));
            }
            vec![Needs::Same, Needs::Row, Needs::Same]
        }
        _ => return Err(Refused::of("an instruction of another kind")),
    })
}
