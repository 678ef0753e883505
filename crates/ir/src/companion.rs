//! How a companion of the specification plugs in: its reference answers the requests of its profiles, and its checker judges
//! answers of which many are right. What it declares stands in [`crate::registry`].

use serde_json::{Map, Value};

use crate::protocol::{Answer, Execute, FromWorker, Hello, Method, Profile, Request, Worker};

/// The reference's side: what answers the requests of some profiles.
pub trait Reference {
    /// The profiles whose requests it answers.
    fn profiles(&self) -> &[Profile];

    /// Answers a request of one of its profiles, whatever the method; a method that it does not have is unsupported.
    fn answer(&mut self, request: &Request<'_>) -> Answer;

    /// Executes launches. Most companions do not.
    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        Answer::Unsupported { reason: format!("profile `{}` executes nothing", request.profile) }
    }
}

/// A worker made of references: each request goes to the one that answers for its profile.
pub struct Composed {
    hello: Hello,
    references: Vec<Box<dyn Reference>>,
}

impl Composed {
    /// A worker of this name that claims the profiles of all of them, in the order of the registry.
    pub fn new(name: &str, version: &str, references: Vec<Box<dyn Reference>>) -> Composed {
        let mut profiles: Vec<Profile> =
            references.iter().flat_map(|reference| reference.profiles()).copied().collect();
        profiles.sort_unstable();
        Composed { hello: Hello::new(name, version, &profiles), references }
    }

    /// The same worker with traces of what it executes.
    #[must_use]
    pub fn with_traces(mut self) -> Composed {
        self.hello.trace = true;
        self
    }

    /// The same worker, of which each reference names every rule that a document breaks.
    #[must_use]
    pub fn naming_every_rule(mut self) -> Composed {
        self.hello.every_rule = true;
        self
    }

    fn of(&mut self, profile: Profile) -> Result<&mut dyn Reference, Answer> {
        match self.references.iter_mut().find(|reference| reference.profiles().contains(&profile)) {
            Some(reference) => Ok(reference.as_mut()),
            None => {
                Err(Answer::Unsupported { reason: format!("nothing here answers for profile `{profile}`") })
            }
        }
    }
}

impl Worker for Composed {
    fn hello(&self) -> Hello {
        self.hello.clone()
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        self.of(request.profile).map_or_else(|none| none, |reference| reference.answer(request))
    }

    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        self.of(request.profile).map_or_else(|none| none, |reference| reference.execute(request))
    }
}

/// What a worker is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What to do.
    pub method: Method,
    /// With this document.
    pub document: &'a [u8],
    /// And these arguments.
    pub arguments: Option<&'a Value>,
    /// Whether the worker is started anew before it is asked.
    pub anew: bool,
}

/// The worker gave no answer. Whoever asked for the checker knows why, and ends the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered;

/// Asks the worker one more question under the profile of the case.
pub type Ask<'a> = dyn FnMut(&Question<'_>) -> Result<FromWorker, Unanswered> + 'a;

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What the case declares.
    pub expected: String,
    /// What the worker answered.
    pub actual: String,
}

/// The runner's side: judges accepting answers of which more than one is right. It takes nothing from the reference.
pub trait Checker: Sync {
    /// The members of `expect` that it judges, as the companion declares them under `checks`.
    fn checks(&self) -> &[&'static str];

    /// Says what is wrong with an accepted case that declares such members: one that cannot be judged must not count.
    ///
    /// # Errors
    /// The first thing found.
    fn well_formed(
        &self,
        method: Method,
        arguments: Option<&Value>,
        expect: &Map<String, Value>,
    ) -> Result<(), String>;

    /// Judges the answer to the question of a case, which accepts and whose diagnostics are as declared. `expect` holds the
    /// members that companions declare.
    ///
    /// # Errors
    /// [`Unanswered`], when `ask` said so, and never else. The inner error is what is wrong with the answer.
    fn judge(
        &self,
        question: &Question<'_>,
        expect: &Map<String, Value>,
        answer: &FromWorker,
        ask: &mut Ask<'_>,
    ) -> Result<Result<(), Wrong>, Unanswered>;
}
