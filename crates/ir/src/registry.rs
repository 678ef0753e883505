//! What the specification declares as tables: classes, rules, clauses, profiles and methods, of the core and of every
//! companion.
//!
//! The tables in the generated list come first. [`install`] adds those of a companion that this build does not know, before a
//! process does anything else. A [`Rule`], [`Class`], [`Profile`] or [`Method`] is an index into its table.

use std::sync::{PoisonError, RwLock};

use crate::generated::{CHECKS, CLASSES, CLAUSES, METHODS, PROFILES, RULES, RULES_OF_A_CLASS};
use crate::protocol::{Method, Profile};
use crate::rule::{Class, Clause, Rule, Severity};

/// A class of rules.
#[derive(Clone, Copy, Debug)]
pub struct ClassRecord {
    /// Before the digits of a rule's id.
    pub letters: &'static str,
    /// In code and on command lines.
    pub name: &'static str,
    /// What its rules protect.
    pub title: &'static str,
    /// Of its diagnostics.
    pub severity: Severity,
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleRecord {
    /// Id, slug and document.
    pub clause: Clause,
    /// The class that the letters of the id name.
    pub class: Class,
}

/// A profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileRecord {
    /// In messages, cases and on the command line.
    pub name: &'static str,
    /// What an implementation does that claims it.
    pub summary: &'static str,
    /// Classes whose rules count for its verdict, and those of its warnings.
    pub classes: &'static [Class],
}

/// A method.
#[derive(Clone, Copy, Debug)]
pub struct MethodRecord {
    /// In messages and cases.
    pub name: &'static str,
    /// What is asked for.
    pub summary: &'static str,
    /// What an accepting answer carries.
    pub answer: Carries,
}

/// What an accepting answer carries beside its diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Nothing.
    Verdict,
    /// A document.
    Document,
    /// Files that the request names.
    Files,
}

/// What a companion adds, as its `companion.json` and the headings of its specification say it.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Of the companion.
    pub name: &'static str,
    /// Its classes of rules.
    pub classes: &'static [ClassRecord],
    /// Its profiles: name, summary, and the letters of the classes that each judges.
    pub profiles: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// Its methods.
    pub methods: &'static [MethodRecord],
    /// Its rules; the letters of an id say the class.
    pub rules: &'static [Clause],
    /// Its clauses that are not rules.
    pub clauses: &'static [Clause],
    /// The members of `expect` in a case that its checker judges.
    pub checks: &'static [&'static str],
}

/// What was installed, behind the generated tables.
struct Installed {
    names: Vec<&'static str>,
    classes: Vec<&'static ClassRecord>,
    rules: Vec<&'static RuleRecord>,
    profiles: Vec<&'static ProfileRecord>,
    methods: Vec<&'static MethodRecord>,
    clauses: Vec<&'static Clause>,
    checks: Vec<&'static str>,
}

static INSTALLED: RwLock<Installed> = RwLock::new(Installed {
    names: Vec::new(),
    classes: Vec::new(),
    rules: Vec::new(),
    profiles: Vec::new(),
    methods: Vec::new(),
    clauses: Vec::new(),
    checks: Vec::new(),
});

/// A row of a table: generated, or installed.
fn row<T>(
    generated: &'static [T],
    installed: fn(&Installed) -> &Vec<&'static T>,
    index: usize,
) -> &'static T {
    if let Some(row) = generated.get(index) {
        return row;
    }
    let lock = INSTALLED.read().unwrap_or_else(PoisonError::into_inner);
    let row = installed(&lock).get(index - generated.len()).copied();
    row.unwrap_or_else(|| unreachable!("an index is made for a row that there is, and rows stay"))
}

fn count<T>(generated: &'static [T], installed: fn(&Installed) -> &Vec<&'static T>) -> usize {
    generated.len() + installed(&INSTALLED.read().unwrap_or_else(PoisonError::into_inner)).len()
}

pub(crate) fn class(class: Class) -> &'static ClassRecord {
    row(CLASSES, |all| &all.classes, class.0.into())
}

/// The number of the first rule that is installed.
const FIRST_INSTALLED: usize = RULES.len() * RULES_OF_A_CLASS;

pub(crate) fn rule(rule: Rule) -> &'static RuleRecord {
    let number = usize::from(rule.0);
    let generated =
        RULES.get(number / RULES_OF_A_CLASS).and_then(|rules| rules.get(number % RULES_OF_A_CLASS));
    generated.unwrap_or_else(|| row(&[], |all| &all.rules, number - FIRST_INSTALLED))
}

pub(crate) fn profile(profile: Profile) -> &'static ProfileRecord {
    row(PROFILES, |all| &all.profiles, profile.0.into())
}

pub(crate) fn method(method: Method) -> &'static MethodRecord {
    row(METHODS, |all| &all.methods, method.0.into())
}

/// Every class, in order; those of installed companions last.
pub fn classes() -> impl DoubleEndedIterator<Item = Class> + ExactSizeIterator {
    (0..count(CLASSES, |all| &all.classes) as u16).map(Class)
}

/// Every rule, in order; those of installed companions last.
pub fn rules() -> impl DoubleEndedIterator<Item = Rule> {
    let installed = 0..count(&[], |all| &all.rules);
    Rule::ALL.into_iter().chain(installed.map(|index| Rule((FIRST_INSTALLED + index) as u16)))
}

/// Every profile, in the order of reports; those of installed companions last.
pub fn profiles() -> impl DoubleEndedIterator<Item = Profile> + ExactSizeIterator {
    (0..count(PROFILES, |all| &all.profiles) as u16).map(Profile)
}

/// Every method; those of installed companions last.
pub fn methods() -> impl DoubleEndedIterator<Item = Method> + ExactSizeIterator {
    (0..count(METHODS, |all| &all.methods) as u16).map(Method)
}

/// Every clause that is not a rule; those of installed companions last.
pub fn clauses() -> impl Iterator<Item = &'static Clause> {
    let installed = INSTALLED.read().unwrap_or_else(PoisonError::into_inner).clauses.clone();
    CLAUSES.iter().chain(installed)
}

/// The headings of all rules, then of the other clauses, in the order of the specification.
pub fn headings() -> impl Iterator<Item = &'static Clause> {
    rules().map(|rule| rule.clause()).chain(clauses())
}

/// The heading of a rule or clause.
pub fn heading(id: &str) -> Option<&'static Clause> {
    headings().find(|clause| clause.id == id)
}

/// Whether a companion declares a member of `expect` by this name.
pub fn has_check(name: &str) -> bool {
    CHECKS.contains(&name) || INSTALLED.read().unwrap_or_else(PoisonError::into_inner).checks.contains(&name)
}

/// Adds what a companion declares. Doing so again changes nothing.
///
/// # Errors
/// A name, an id or letters that are taken, or a class that nothing declares.
pub fn install(declaration: &'static Declaration) -> Result<(), String> {
    let mut all = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
    if all.names.contains(&declaration.name) {
        return Ok(());
    }
    let taken = |what: &str, name: &str| format!("{}: {what} `{name}` is declared already", declaration.name);
    let class_rows: Vec<&'static ClassRecord> =
        CLASSES.iter().chain(all.classes.iter().copied()).chain(declaration.classes).collect();
    let class = |letters: &str| {
        let found = class_rows.iter().position(|class| class.letters == letters);
        found
            .map(|index| Class(index as u16))
            .ok_or_else(|| format!("{}: nothing declares a class of rules `{letters}`", declaration.name))
    };
    for (index, row) in class_rows.iter().enumerate() {
        if class_rows[..index].iter().any(|other| other.letters == row.letters || other.name == row.name) {
            return Err(taken("class", row.letters));
        }
    }
    let mut profiles = Vec::new();
    for &(name, summary, letters) in declaration.profiles {
        if PROFILES.iter().chain(all.profiles.iter().copied()).any(|profile| profile.name == name) {
            return Err(taken("profile", name));
        }
        let classes = letters.iter().map(|letters| class(letters)).collect::<Result<Vec<_>, _>>()?;
        profiles.push(ProfileRecord { name, summary, classes: classes.leak() });
    }
    for each in declaration.methods {
        if METHODS.iter().chain(all.methods.iter().copied()).any(|method| method.name == each.name) {
            return Err(taken("method", each.name));
        }
    }
    let mut rules = Vec::new();
    for &clause in declaration.rules {
        let known =
            RULES.iter().copied().flatten().chain(all.rules.iter().copied()).map(|rule| rule.clause.id);
        if known.chain(rules.iter().map(|rule: &RuleRecord| rule.clause.id)).any(|id| id == clause.id) {
            return Err(taken("rule", clause.id));
        }
        let letters = clause.id.trim_end_matches(|c: char| c.is_ascii_digit());
        rules.push(RuleRecord { clause, class: class(letters)? });
    }
    // Rows live as long as the process, as the generated ones do.
    all.names.push(declaration.name);
    all.classes.extend(declaration.classes);
    all.profiles.extend(&*profiles.leak());
    all.methods.extend(declaration.methods);
    all.rules.extend(&*rules.leak());
    all.clauses.extend(declaration.clauses);
    all.checks.extend(declaration.checks);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_companion_can_be_installed() {
        static TOY: Declaration = Declaration {
            name: "toy",
            classes: &[ClassRecord {
                letters: "YS",
                name: "toy-structure",
                title: "the toy is whole",
                severity: Severity::Error,
            }],
            profiles: &[("toy", "Toys.", &["S", "YS"])],
            methods: &[MethodRecord { name: "play", summary: "Play.", answer: Carries::Document }],
            rules: &[Clause { id: "YS01", title: "broken", document: "toy.md" }],
            clauses: &[Clause { id: "TOY-01", title: "Toys", document: "toy.md" }],
            checks: &["fun"],
        };
        static CLASH: Declaration = Declaration {
            name: "clash",
            classes: &[],
            profiles: &[],
            methods: &[],
            rules: &[Clause { id: "QQ01", title: "unknown", document: "toy.md" }],
            clauses: &[],
            checks: &[],
        };
        install(&TOY).expect("nothing clashes");
        install(&TOY).expect("once is enough");
        let rule = Rule::from_id("YS01").expect("installed");
        let profile: Profile = "toy".parse().expect("installed");
        assert_eq!(
            (rule.slug(), rule.severity(), rule.class().name()),
            ("broken", Severity::Error, "toy-structure")
        );
        assert!(
            profile.judges(rule.class()) && profile.judges(Class::STRUCTURE) && !profile.judges(Class::RACE)
        );
        assert!(!Profile::VALIDATE.judges(rule.class()));
        assert_eq!(Method::from_name("play").map(Method::answer), Some(Carries::Document));
        assert!(rules().any(|each| each == rule) && !Rule::ALL.contains(&rule));
        assert!(clauses().any(|clause| clause.id == "TOY-01"));
        assert!(has_check("fun") && has_check("translation") && !has_check("unknown"));
        assert_eq!(install(&CLASH), Err("clash: nothing declares a class of rules `QQ`".to_owned()));
    }
}
