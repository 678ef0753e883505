//! One text for all mutants of a file: each place asks which mutant is active.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::list::Mutant;

/// What the compiler refused so far.
#[derive(Default, Serialize, Deserialize)]
pub struct Refused {
    /// Mutants.
    pub mutants: BTreeSet<u32>,
    /// Places, by the least of their mutants, of which the plain form is taken, which does not tell where values differ.
    pub plain: BTreeSet<u32>,
}

/// A text with all its mutants.
pub struct Rendered {
    pub text: String,
    /// What stands where.
    pub marks: Vec<(Range<usize>, Mark)>,
    /// Mutants of which this program does not know how to make them.
    pub unknown: Vec<u32>,
    /// Those of chains of conditions that bind names, where no other operator can be.
    pub chains: Vec<u32>,
}

#[derive(Clone)]
pub enum Mark {
    /// What a mutant has there.
    Of(u32),
    /// A place, with its mutants, and whether it has its plain form already.
    Place(Vec<u32>, bool),
    /// A match arm that a mutant deletes.
    Arm(u32),
}

enum Kind {
    /// Left, operator, right.
    Binary(Range<usize>, Range<usize>),
    /// The operand.
    Not(Range<usize>),
    /// A guard that is there.
    Guard,
    /// A place for a guard behind a pattern.
    NoGuard,
    /// The value of a field, and the base.
    Field(Range<usize>),
    /// The statements of a function: its result, where that is given by its parameters; and whether that is an iterator.
    Body { result: String, is_pure: bool },
    /// A use of a constant, of which each mutant has another value.
    Constant(BTreeMap<u32, String>),
    /// `const` of a function with this body.
    Const(Range<usize>),
}

struct Place<'m> {
    range: Range<usize>,
    kind: Kind,
    mutants: Vec<&'m Mutant>,
    /// Of a match arm that is deleted.
    arm: Option<&'m Mutant>,
}

struct Finder<'m> {
    at: BTreeMap<(&'m str, usize), Vec<&'m Mutant>>,
    places: Vec<Place<'m>>,
    chains: Vec<u32>,
    /// By name, the mutants of constants, and the values that these have with them.
    constants: BTreeMap<String, (Vec<&'m Mutant>, BTreeMap<u32, String>)>,
}

/// Whether a condition binds names, so that only `&&` can be there.
fn has_let(condition: &syn::Expr) -> bool {
    match condition {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

impl<'m> Finder<'m> {
    fn take(&mut self, genre: &'static str, at: usize) -> Vec<&'m Mutant> {
        self.at.remove(&(genre, at)).unwrap_or_default()
    }

    fn push(&mut self, range: Range<usize>, kind: Kind, mutants: Vec<&'m Mutant>) {
        if !mutants.is_empty() {
            self.places.push(Place { range, kind, mutants, arm: None });
        }
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block, source: &str) {
        if let Some(constant) = &signature.constness {
            self.places.push(Place {
                range: constant.span.byte_range(),
                kind: Kind::Const(block.span().byte_range()),
                mutants: Vec::new(),
                arm: None,
            });
        }
        let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) else { return };
        let range = first.span().byte_range().start..last.span().byte_range().end;
        let mutants = self.take("FnValue", range.start);
        let parameters = signature.inputs.span().byte_range();
        let parameters = source.get(parameters).unwrap_or_default();
        let result = match &signature.output {
            syn::ReturnType::Default => String::new(),
            syn::ReturnType::Type(_, result) => source[result.span().byte_range()].to_owned(),
        };
        let is_pure = !parameters.contains("mut ") && !parameters.contains("FnMut");
        self.push(range, Kind::Body { result, is_pure }, mutants);
    }
}

thread_local!(static SOURCE: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) });

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        let mutants = self.take("BinaryOperator", node.op.span().byte_range().start);
        if has_let(&node.left) || has_let(&node.right) {
            self.chains.extend(mutants.iter().map(|mutant| mutant.id));
            visit::visit_expr_binary(self, node);
            return;
        }
        let (left, right) = (node.left.span().byte_range(), node.right.span().byte_range());
        self.push(left.start..right.end, Kind::Binary(left, right), mutants);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let operand = node.expr.span().byte_range();
        let start = node.op.span().byte_range().start;
        let mutants = self.take("UnaryOperator", start);
        self.push(start..operand.end, Kind::Not(operand), mutants);
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let arm = self.take("MatchArm", node.span().byte_range().start).pop();
        let (range, kind, mutants) = match &node.guard {
            Some((_, guard)) => {
                let range = guard.span().byte_range();
                let mutants = self.take("MatchArmGuard", range.start);
                (range, Kind::Guard, mutants)
            }
            None => {
                let end = node.pat.span().byte_range().end;
                (end..end, Kind::NoGuard, Vec::new())
            }
        };
        if arm.is_some() || !mutants.is_empty() {
            self.places.push(Place { range, kind, mutants, arm });
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        if let Some(base) = &node.rest {
            for field in &node.fields {
                let mutants = self.take("StructField", field.span().byte_range().start);
                self.push(field.expr.span().byte_range(), Kind::Field(base.span().byte_range()), mutants);
            }
        }
        visit::visit_expr_struct(self, node);
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        let range = node.expr.span().byte_range();
        let places: Vec<_> = self.at.keys().copied().filter(|(_, at)| range.contains(at)).collect();
        let mut all = (Vec::new(), BTreeMap::new());
        for (genre, at) in places {
            let old = if genre == "UnaryOperator" {
                1
            } else {
                SOURCE.with_borrow(|source| source[at..].find(' ').unwrap_or(0))
            };
            for mutant in self.at.remove(&(genre, at)).unwrap_or_default() {
                let value = SOURCE.with_borrow(|source| {
                    format!(
                        "{}{}{}",
                        &source[range.start..at],
                        mutant.replacement,
                        &source[at + old..range.end]
                    )
                });
                all.0.push(mutant);
                all.1.insert(mutant.id, value);
            }
        }
        if !all.0.is_empty() {
            self.constants.insert(node.ident.to_string(), all);
        }
    }

    fn visit_expr_path(&mut self, node: &'ast syn::ExprPath) {
        let name = node.path.get_ident().map(ToString::to_string).unwrap_or_default();
        if let Some((mutants, values)) = self.constants.get(&name).cloned() {
            self.push(node.span().byte_range(), Kind::Constant(values), mutants);
        }
    }

    // Nothing asks there.
    fn visit_type_array(&mut self, _: &'ast syn::TypeArray) {}

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        SOURCE.with_borrow(|source| self.body(&node.sig, &node.block, source));
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        SOURCE.with_borrow(|source| self.body(&node.sig, &node.block, source));
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(block) = &node.default {
            SOURCE.with_borrow(|source| self.body(&node.sig, block, source));
        }
        visit::visit_trait_item_fn(self, node);
    }
}

/// The text of a file with all its mutants but those that were refused.
pub fn render(source: &str, mutants: &[&Mutant], refused: &Refused) -> syn::Result<Rendered> {
    let file = syn::parse_file(source)?;
    let lines: Vec<usize> =
        std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut finder =
        Finder { at: BTreeMap::new(), places: Vec::new(), chains: Vec::new(), constants: BTreeMap::new() };
    for mutant in mutants.iter().filter(|mutant| !refused.mutants.contains(&mutant.id)) {
        let start = lines[mutant.line - 1];
        let line = &source[start..];
        let offset = line.char_indices().nth(mutant.column - 1).map_or(line.len(), |(at, _)| at);
        finder.at.entry((&mutant.genre, start + offset)).or_default().push(mutant);
    }
    SOURCE.set(source.to_owned());
    finder.visit_file(&file);
    let unknown = finder.at.values().flatten().map(|mutant| mutant.id).collect();
    let mut places = finder.places;
    // Outer places first.
    places.sort_by_key(|place| (place.range.start, std::cmp::Reverse(place.range.end)));
    // A function without mutants stays constant.
    let starts: Vec<usize> = places
        .iter()
        .filter(|place| !matches!(place.kind, Kind::Const(_)))
        .map(|place| place.range.start)
        .collect();
    places.retain(|place| match &place.kind {
        Kind::Const(body) => starts.iter().any(|start| body.contains(start)),
        _ => true,
    });
    let mut renderer = Renderer { source, places: &places, refused, text: String::new(), marks: Vec::new() };
    renderer.range(0..source.len(), None);
    Ok(Rendered { text: renderer.text, marks: renderer.marks, unknown, chains: finder.chains })
}

struct Renderer<'r> {
    source: &'r str,
    places: &'r [Place<'r>],
    refused: &'r Refused,
    text: String,
    marks: Vec<(Range<usize>, Mark)>,
}

impl Renderer<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn mutant(&mut self, id: u32, text: &str) {
        let start = self.text.len();
        self.push(text);
        self.marks.push((start..self.text.len(), Mark::Of(id)));
    }

    /// A part of the source, with the places in it; that of this number is being rendered.
    fn range(&mut self, range: Range<usize>, within: Option<usize>) {
        let mut at = range.start;
        let first = within.map_or(0, |within| within + 1);
        for number in first..self.places.len() {
            let place = &self.places[number];
            if place.range.start > range.end {
                break;
            }
            if place.range.start < at || place.range.end > range.end {
                continue;
            }
            let source = self.source;
            self.push(&source[at..place.range.start]);
            at = place.range.end;
            self.place(number);
        }
        let source = self.source;
        self.push(&source[at..range.end]);
    }

    fn place(&mut self, number: usize) {
        let Place { range, kind, mutants, arm } = &self.places[number];
        let ids: Vec<u32> = mutants.iter().chain(arm).map(|mutant| mutant.id).collect();
        let is_plain = ids.iter().any(|id| self.refused.plain.contains(id));
        let start = self.text.len();
        let source = self.source;
        let on = |id: u32| format!("::megakernel_active::on({id})");
        match kind {
            Kind::Const(_) => {}
            Kind::Binary(left, right) => {
                self.binary(number, left.clone(), right.clone(), is_plain);
            }
            Kind::Constant(values) => {
                self.alternatives(number, |mutant| values.get(&mutant.id).cloned().unwrap_or_default());
            }
            Kind::Not(operand) => self.alternatives(number, |_| source[operand.clone()].to_owned()),
            Kind::Field(base) => {
                let field = |mutant: &Mutant| {
                    let name =
                        mutant.name.split("delete field ").nth(1).and_then(|rest| rest.split(' ').next());
                    format!("({}).{}", &source[base.clone()], name.unwrap_or_default())
                };
                self.alternatives(number, field);
            }
            Kind::NoGuard => {
                if let Some(arm) = arm {
                    self.push(&format!(" if !{}", on(arm.id)));
                }
            }
            Kind::Guard => {
                if let Some(arm) = arm {
                    self.push("(");
                    self.guard(number, range.clone());
                    self.push(&format!(") && !{}", on(arm.id)));
                } else {
                    self.guard(number, range.clone());
                }
            }
            Kind::Body { result, is_pure } => {
                self.body(number, range.clone(), result, *is_pure && !is_plain);
            }
        }
        let end = self.text.len();
        self.marks.push((start..end, Mark::Place(ids, is_plain)));
        self.marks.extend(arm.map(|arm| (start..end, Mark::Arm(arm.id))));
    }

    fn guard(&mut self, number: usize, range: Range<usize>) {
        let places = self.places;
        for _ in &places[number].mutants {
            self.push("::megakernel_active::or(");
        }
        self.range(range, Some(number));
        for mutant in &places[number].mutants {
            self.push(&format!(", {}, || {})", mutant.id, mutant.replacement));
        }
    }

    /// The plain form: one expression for each mutant, and the original one.
    fn alternatives(&mut self, number: usize, other: impl Fn(&Mutant) -> String) {
        let places = self.places;
        let Place { range, mutants, .. } = &places[number];
        self.push("(");
        for mutant in mutants {
            self.push(&format!("if ::megakernel_active::on({}) {{ ", mutant.id));
            self.mutant(mutant.id, &other(mutant));
            self.push(" } else ");
        }
        self.push("{ ");
        let (start, end) = (range.start, range.end);
        self.range(start..end, Some(number));
        self.push(" })");
    }

    fn binary(&mut self, number: usize, left: Range<usize>, right: Range<usize>, is_plain: bool) {
        let (places, source) = (self.places, self.source);
        let mutants = &places[number].mutants;
        let operator = source[left.end..right.start].trim().to_owned();
        match operator.as_str() {
            "==" | "!=" | "<" | "<=" | ">" | ">=" if !is_plain => {
                self.push("(match (&(");
                self.range(left, Some(number));
                self.push("), &(");
                self.range(right, Some(number));
                self.push(")) { (l__, r__) => ");
                for _ in mutants {
                    self.push("::megakernel_active::or(");
                }
                self.push(&format!("*l__ {operator} *r__"));
                for mutant in mutants {
                    self.push(&format!(", {}, || ", mutant.id));
                    self.mutant(mutant.id, &format!("*l__ {} *r__", mutant.replacement));
                    self.push(")");
                }
                self.push(" })");
            }
            "&&" | "||" if !is_plain && mutants.len() == 1 => {
                let id = mutants[0].id;
                self.push("(match (");
                self.range(left, Some(number));
                self.push(&format!(
                    ") {{ v__ => if ::megakernel_active::goes_on({id}, {}, v__) ",
                    operator == "&&"
                ));
                self.push(&format!("{{ ::megakernel_active::right({id}, v__, "));
                self.range(right, Some(number));
                self.push(") } else { v__ } })");
            }
            _ => {
                let (left, right) = (&source[left], &source[right]);
                self.alternatives(number, |mutant| format!("{left} {} {right}", mutant.replacement));
            }
        }
    }

    fn body(&mut self, number: usize, range: Range<usize>, result: &str, tells: bool) {
        let places = self.places;
        let mutants = &places[number].mutants;
        if result.starts_with("impl Iterator") {
            for mutant in mutants {
                self.push(&format!(
                    "if ::megakernel_active::on({}) {{ ::megakernel_active::Either::Left(",
                    mutant.id
                ));
                self.mutant(mutant.id, &mutant.replacement);
                self.push(") } else { ::megakernel_active::Either::Right({ ");
            }
            self.range(range, Some(number));
            self.push(&" }) }".repeat(mutants.len()));
            return;
        }
        let same = |mutant: &Mutant| match mutant.replacement.as_str() {
            _ if !tells => None,
            "true" => Some("result__".to_owned()),
            "false" => Some("!result__".to_owned()),
            "None" if result.starts_with("Option") => Some("result__.is_none()".to_owned()),
            "vec![]" => Some("result__.is_empty()".to_owned()),
            number @ ("0" | "1" | "-1") => Some(format!("result__ == {number}")),
            _ => None,
        };
        for mutant in mutants.iter().filter(|mutant| same(mutant).is_none()) {
            self.push(&format!("if ::megakernel_active::on({}) {{ return ", mutant.id));
            self.mutant(mutant.id, &mutant.replacement);
            self.push("; } ");
        }
        let told: Vec<_> = mutants.iter().filter_map(|mutant| Some((mutant, same(mutant)?))).collect();
        if told.is_empty() {
            self.range(range, Some(number));
            return;
        }
        self.push(&format!("let result__ = (|| -> {result} {{ "));
        self.range(range, Some(number));
        self.push(" })(); ");
        for (mutant, same) in told {
            self.push(&format!("if ::megakernel_active::ret({}, {same}) {{ return ", mutant.id));
            self.mutant(mutant.id, &mutant.replacement);
            self.push("; } ");
        }
        self.push("result__");
    }
}
