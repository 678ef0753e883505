//! What a fuzzer asks of a reference.

use megakernel_corpus::oracle::Oracle;
use megakernel_ir::Diagnostic;
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::protocol::Profile;

/// What the reference says of a document under a profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// No rule is broken. Warnings may be there.
    Accept(Vec<Diagnostic>),
    /// Rules are broken: every one of them is named.
    Reject(Vec<Diagnostic>),
    /// The reference has no answer, so that nothing can be compared.
    Nothing,
}

/// A reference, and what it knows of its kinds of documents.
pub trait Reference: Oracle {
    /// Its verdict.
    fn verdict(&self, profile: Profile, document: &[u8]) -> Says;

    /// Documents of the kind that the profile judges, each smaller than the given one by one step; none where the document does not
    /// read. They need not break what it breaks.
    fn smaller(&self, profile: Profile, document: &[u8]) -> Vec<String>;

    /// A program that breaks no rule of single records, so that it is the rules of orders that decide.
    fn random_program(&self, prng: &mut SplitMix64) -> String;
}
