//! Subjects that need no state to be judged: documents by number, a validator that says which rules one breaks, and an explorer that
//! says what goes wrong in its runs.

use std::fmt::{self, Debug};
use std::ops::Range;

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;

use crate::{Enumeration, Family, Scope, Subject, Weakness};

/// How many documents one worker judges at a time.
const CHUNK: u64 = 1 << 10;

/// A number, digit by digit, the base of each as it comes.
pub struct Digits(u64);

impl Digits {
    /// The next digit: one of so many choices.
    pub fn pick(&mut self, choices: usize) -> usize {
        let choices = choices as u64;
        let digit = (self.0 % choices) as usize;
        self.0 /= choices;
        digit
    }

    /// All that is left, as one number.
    pub fn rest(&mut self) -> u64 {
        std::mem::take(&mut self.0)
    }
}

/// A family whose documents have the numbers from 0 on.
pub trait Numbered: Family + Clone {
    /// What has a number.
    type Document: Clone + Send;

    /// How many numbers there are: the product of what all digits are picked from.
    fn count(&self) -> u64;

    /// The document of a number. Nothing if what its digits say is none.
    fn made(&self, digits: &mut Digits) -> Option<Self::Document>;
}

/// A numbered family, laid out.
pub struct Numbers<F>(F);

impl<F: Numbered> Enumeration for Numbers<F> {
    type Document = F::Document;
    type Chunk = Range<u64>;

    fn size(&self) -> u64 {
        self.0.count()
    }

    fn chunks(&self) -> Vec<Range<u64>> {
        let size = self.size();
        (0..size.div_ceil(CHUNK)).map(|chunk| chunk * CHUNK..size.min((chunk + 1) * CHUNK)).collect()
    }

    fn len(&self, chunk: &Range<u64>) -> u64 {
        chunk.end - chunk.start
    }

    fn visit(&self, chunk: &Range<u64>, visit: &mut dyn FnMut(&F::Document)) {
        chunk.clone().filter_map(|number| self.0.made(&mut Digits(number))).for_each(|made| visit(&made));
    }
}

/// A companion's documents, its validator and its explorer.
pub trait Explored: Sync + 'static {
    /// [`Subject::NOUN`].
    const NOUN: &'static str;
    /// [`Subject::DOCUMENT`].
    const DOCUMENT: &'static str;
    /// [`Subject::STRUCTURE`].
    const STRUCTURE: &'static str;
    /// The class of these rules.
    const STRUCTURE_CLASS: Class;
    /// [`Subject::EXACT`].
    const EXACT: bool;
    /// [`Subject::REASONS`].
    const REASONS: &'static [&'static str];

    /// A document, small.
    type Small: Clone + Send;
    /// A family of documents.
    type Family: Numbered<Document = Self::Small>;
    /// What goes wrong in some run; the default is nothing.
    type Faults: Debug + Default + PartialEq + Send;

    /// Every scope, smallest first.
    fn scopes() -> Vec<Scope<Self::Family>>;

    /// The rules that the validator finds broken, in any order. Nothing for what is no document.
    fn broken(small: &Self::Small) -> Option<Vec<Rule>>;

    /// Runs a document in every order. Nothing if it is too large for that.
    fn explore(small: &Self::Small) -> Option<Self::Faults>;

    /// Which of [`Explored::REASONS`] a broken rule has; nothing if no run bears it out.
    fn reason(small: &Self::Small, faults: &Self::Faults, rule: Rule) -> Option<usize>;

    /// What goes wrong and no broken rule is about.
    fn missed(rules: &[Rule], faults: &Self::Faults) -> Option<&'static str>;

    /// All documents that are smaller by one step.
    fn smaller(small: &Self::Small) -> Vec<Self::Small>;

    /// The document in the style of the specification's examples.
    fn text(small: &Self::Small) -> String;
}

/// Asks both.
pub struct Judge {
    /// What the validator does not find.
    without: Option<Rule>,
}

/// What the two say.
#[derive(Debug)]
pub struct Verdicts<F> {
    /// The rules that the validator finds broken.
    pub rules: Vec<Rule>,
    /// Why, for each of them.
    reasons: Vec<Option<usize>>,
    /// What the explorer finds.
    faults: F,
    /// What goes wrong and no rule about that rejects.
    missed: Option<&'static str>,
}

impl<F: Debug> fmt::Display for Verdicts<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<&str> = self.rules.iter().map(|rule| rule.id()).collect();
        let verdict = if rules.is_empty() { "accept".to_owned() } else { rules.join(", ") };
        write!(f, "validator: {verdict}\nexplorer: {:?}", self.faults)
    }
}

impl<E: Explored> Subject for E {
    const NOUN: &'static str = E::NOUN;
    const DOCUMENT: &'static str = E::DOCUMENT;
    const STRUCTURE: &'static str = E::STRUCTURE;
    const EXACT: bool = E::EXACT;
    const REASONS: &'static [&'static str] = E::REASONS;

    type Document = E::Small;
    type Family = E::Family;
    type Enumeration = Numbers<E::Family>;
    type Judge = Judge;
    type Verdicts = Verdicts<E::Faults>;

    fn scopes() -> Vec<Scope<E::Family>> {
        E::scopes()
    }

    fn enumerate(family: &E::Family) -> Numbers<E::Family> {
        Numbers(family.clone())
    }

    fn judge(without: Option<Weakness>) -> Judge {
        Judge {
            without: match without {
                Some(Weakness::Rule(rule)) => Some(rule),
                Some(Weakness::Part(_)) | None => None,
            },
        }
    }

    fn ask(judge: &mut Judge, small: &E::Small) -> Option<Verdicts<E::Faults>> {
        let mut rules = E::broken(small)?;
        rules.sort_unstable();
        rules.dedup();
        if rules.iter().any(|rule| rule.class() == E::STRUCTURE_CLASS) {
            return None;
        }
        rules.retain(|rule| Some(*rule) != judge.without);
        let faults = E::explore(small)?;
        let reasons = rules.iter().map(|&rule| E::reason(small, &faults, rule)).collect();
        let missed = E::missed(&rules, &faults);
        Some(Verdicts { rules, reasons, faults, missed })
    }

    fn disagree(verdicts: &Verdicts<E::Faults>) -> bool {
        verdicts.missed.is_some() || verdicts.reasons.contains(&None)
    }

    fn alike(one: &Verdicts<E::Faults>, other: &Verdicts<E::Faults>) -> bool {
        one.missed == other.missed && one.rules.is_empty() == other.rules.is_empty()
    }

    fn rules(verdicts: &Verdicts<E::Faults>) -> &[Rule] {
        &verdicts.rules
    }

    fn reason(verdicts: &Verdicts<E::Faults>, rule: usize) -> Option<usize> {
        verdicts.reasons.get(rule).copied().flatten()
    }

    fn shows(verdicts: &Verdicts<E::Faults>) -> bool {
        verdicts.faults != E::Faults::default()
    }

    fn smaller(small: &E::Small) -> Vec<E::Small> {
        E::smaller(small)
    }

    fn text(small: &E::Small) -> String {
        E::text(small)
    }

    fn remarks(_: &mut Judge, _: &E::Small, verdicts: &Verdicts<E::Faults>) -> Vec<String> {
        verdicts.missed.map(|missed| format!("no rule about it rejects {missed}")).into_iter().collect()
    }
}
