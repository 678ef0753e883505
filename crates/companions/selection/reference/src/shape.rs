//! The row `shape` of a region (clause SEL-09): classes of roles and symbols, each with at most one integer.

use std::collections::{BTreeMap, BTreeSet};

/// The row in solved form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    classes: Vec<Class>,
    unknown: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Class {
    roles: BTreeSet<String>,
    symbols: BTreeSet<String>,
    extent: Option<i64>,
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
    /// The role has this extent; `None` if it has another one.
    pub fn known(&mut self, role: &str, extent: i64) -> Option<()> {
        let class = self.class_of_role(role);
        if class.extent.is_some_and(|known| known != extent) {
            return None;
        }
        class.extent = Some(extent);
        Some(())
    }

    /// The role has the extent of a symbol; `None` if the two are different already.
    pub fn symbol(&mut self, role: &str, symbol: &str) -> Option<()> {
        self.class_of_role(role);
        let of_symbol = self.take(|class| class.symbols.contains(symbol));
        let class = self.class_of_role(role);
        class.symbols.insert(symbol.to_owned());
        let Some(other) = of_symbol else {
            return Some(());
        };
        let (roles, symbols) = (other.roles, other.symbols);
        class.roles.extend(roles);
        class.symbols.extend(symbols);
        if let (Some(a), Some(b)) = (class.extent, other.extent)
            && a != b
        {
            return None;
        }
        class.extent = class.extent.or(other.extent);
        Some(())
    }

    /// Nothing is known of the role.
    pub fn unknown(&mut self, role: &str) {
        self.class_of_role(role);
        self.unknown.insert(role.to_owned());
    }

    fn class_of_role(&mut self, role: &str) -> &mut Class {
        let found = self.take(|class| class.roles.contains(role));
        let class = found.unwrap_or_else(|| Class { roles: [role.to_owned()].into(), ..Class::default() });
        self.classes.push(class);
        let last = self.classes.len() - 1;
        &mut self.classes[last]
    }

    fn take(&mut self, is_it: impl Fn(&Class) -> bool) -> Option<Class> {
        let at = self.classes.iter().position(is_it)?;
        Some(self.classes.remove(at))
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
