//! The row `shape` of a region (clause SEL-09): classes of roles and symbols, each with at most one integer.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_selection::document::Extent;

/// The row in solved form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    classes: BTreeSet<Class>,
    unknown: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    roles: BTreeSet<String>,
    symbols: BTreeSet<String>,
    extent: Option<i64>,
}

impl Class {
    fn meets(&self, other: &Class) -> bool {
        !self.roles.is_disjoint(&other.roles) || !self.symbols.is_disjoint(&other.symbols)
    }

    /// Both in one; `None` if they have different integers.
    fn with(mut self, other: Class) -> Option<Class> {
        if self.extent.zip(other.extent).is_some_and(|(one, other)| one != other) {
            return None;
        }
        self.extent = self.extent.or(other.extent);
        self.roles.extend(other.roles);
        self.symbols.extend(other.symbols);
        Some(self)
    }
}

/// What is shown of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'a> {
    /// Its extent is known.
    Extent(i64),
    /// It is the same as this symbol.
    Symbol(&'a str),
    /// Nothing.
    Unknown,
}

impl Shape {
    /// The row of an op that says this of one role.
    pub fn of(role: &str, extent: &Extent) -> Shape {
        let mut class = Class { roles: [role.to_owned()].into(), ..Class::default() };
        let mut unknown = BTreeSet::new();
        match extent {
            Extent::Known(extent) => class.extent = Some(*extent),
            Extent::Symbol(symbol) => class.symbols = [symbol.clone()].into(),
            Extent::Unknown => unknown = [role.to_owned()].into(),
        }
        Shape { classes: [class].into(), unknown }
    }

    /// The row that says what both say; `None` if a class would have two integers.
    pub fn united(&self, other: &Shape) -> Option<Shape> {
        let mut classes = self.classes.clone();
        for class in &other.classes {
            // Classes of one row have nothing in common, so what meets the others' class meets it already.
            let (meeting, mut rest): (BTreeSet<Class>, BTreeSet<Class>) =
                classes.into_iter().partition(|known| known.meets(class));
            let mut one = class.clone();
            for known in meeting {
                one = one.with(known)?;
            }
            rest.insert(one);
            classes = rest;
        }
        Some(Shape { classes, unknown: &self.unknown | &other.unknown })
    }

    fn class(&self, role: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.roles.contains(role))
    }

    /// The integer of a role's class, whether the role is known or not.
    pub fn bound(&self, role: &str) -> Option<i64> {
        self.class(role)?.extent
    }

    /// The extent of a role, if it is known.
    pub fn extent(&self, role: &str) -> Option<i64> {
        if self.unknown.contains(role) { None } else { self.bound(role) }
    }

    /// What is shown of each role.
    pub fn shown(&self) -> BTreeMap<&str, Shown<'_>> {
        let mut shown = BTreeMap::new();
        for class in &self.classes {
            for role in &class.roles {
                let what = match (class.extent, class.symbols.first()) {
                    _ if self.unknown.contains(role) => Shown::Unknown,
                    (Some(extent), _) => Shown::Extent(extent),
                    (None, Some(symbol)) => Shown::Symbol(symbol),
                    (None, None) => Shown::Unknown,
                };
                shown.insert(role.as_str(), what);
            }
        }
        shown
    }
}
