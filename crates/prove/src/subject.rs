//! What a kind of document has to bring for its validator to be proved.

use std::fmt::Display;

use megakernel_ir::Rule;

/// What a deliberately weakened validator does not find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// Anything that breaks this rule.
    Rule(Rule),
    /// What a part of a rule is about, one of [`Subject::PARTS`].
    Part(&'static str),
}

impl Weakness {
    /// The rule's id, or the part's name.
    pub fn name(self) -> &'static str {
        match self {
            Weakness::Rule(rule) => rule.id(),
            Weakness::Part(name) => name,
        }
    }
}

/// A named list of families.
pub struct Scope<F> {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// In the order in which they are enumerated.
    pub families: Vec<F>,
}

/// The dimensions of a family of documents.
pub trait Family: Sync {
    /// Name, unique in a scope.
    fn name(&self) -> &'static str;

    /// The dimensions in words.
    fn describe(&self) -> String;
}

/// A family that is laid out for enumeration.
pub trait Enumeration: Sync {
    /// What is enumerated.
    type Document;
    /// What one worker does at a time.
    type Chunk: Sync;

    /// Number of choices: of documents, or of them and their mirror images.
    fn size(&self) -> u64;

    /// The family in pieces.
    fn chunks(&self) -> Vec<Self::Chunk>;

    /// Number of choices of a piece.
    fn len(&self, chunk: &Self::Chunk) -> u64;

    /// Calls `visit` with every document of a piece.
    fn visit(&self, chunk: &Self::Chunk, visit: &mut dyn FnMut(&Self::Document));
}

/// A kind of document, its validator and its explorer.
pub trait Subject: Sync + 'static {
    /// One of its documents, in a word.
    const NOUN: &'static str;
    /// Where in the specification the result stands.
    const DOCUMENT: &'static str;
    /// The rules that no enumerated document may break, after an article.
    const STRUCTURE: &'static str;
    /// Whether enumerations visit all their choices, mirror images too.
    const EXACT: bool;
    /// Why a rule may reject, by the names in tables.
    const REASONS: &'static [&'static str];

    /// What a weakened validator may overlook besides whole rules, by name: mistakes that validators have made.
    const PARTS: &'static [&'static str] = &[];

    /// A document.
    type Document: Clone + Send;
    /// A family of documents.
    type Family: Family;
    /// A family, laid out.
    type Enumeration: Enumeration<Document = Self::Document>;
    /// Who asks validator and explorer, and remembers what makes the next question cheaper.
    type Judge;
    /// What the two say, in words too.
    type Verdicts: Display + Send;

    /// Every scope, smallest first.
    fn scopes() -> Vec<Scope<Self::Family>>;

    /// Lays out a family.
    fn enumerate(family: &Self::Family) -> Self::Enumeration;

    /// A judge who does not find what is given: a deliberately weakened validator.
    fn judge(without: Option<Weakness>) -> Self::Judge;

    /// Asks both. Nothing for a document that breaks a rule of structure or is too large to explore.
    fn ask(judge: &mut Self::Judge, document: &Self::Document) -> Option<Self::Verdicts>;

    /// Whether the two disagree.
    fn disagree(verdicts: &Self::Verdicts) -> bool;

    /// Whether two disagreements are of one kind, so that a smaller document may stand for a larger one.
    fn alike(one: &Self::Verdicts, other: &Self::Verdicts) -> bool {
        Self::rules(one).is_empty() == Self::rules(other).is_empty()
    }

    /// The rules that the validator finds broken.
    fn rules(verdicts: &Self::Verdicts) -> &[Rule];

    /// Why the rule at this place of the list rejects, as an index of [`Subject::REASONS`]; nothing if no run bears it out.
    fn reason(verdicts: &Self::Verdicts, rule: usize) -> Option<usize>;

    /// Whether some run goes wrong.
    fn shows(verdicts: &Self::Verdicts) -> bool;

    /// All documents that are smaller by one step.
    fn smaller(document: &Self::Document) -> Vec<Self::Document>;

    /// The document in the style of the specification's examples.
    fn text(document: &Self::Document) -> String;

    /// What else there is to say of a document on which the two disagree, such as runs that end badly; a line each.
    fn remarks(judge: &mut Self::Judge, document: &Self::Document, verdicts: &Self::Verdicts) -> Vec<String>;
}
