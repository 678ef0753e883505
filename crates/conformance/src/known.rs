//! Failures that are known: a list that somebody keeps, with a reason each (clause CON-08).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megakernel_ir::protocol::Profile;

use crate::store::Corpus;

/// What a list begins with that this writes.
const HEAD: &str = "\
# Failures that are known, a line each: case, profile, reason. The reason is for people, and may not be left out.
# A line whose case passes is an error of its run: take it out then.
";

/// Cases under profiles, each with the reason for which it is known to fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known(BTreeMap<(String, Profile), String>);

impl Known {
    /// Reads a list: lines of case, profile and reason, or empty, or that begin with `#`.
    ///
    /// # Errors
    /// A line is none of these, or names a case that the corpus does not have. The message says which line and why.
    pub fn read(text: &str, corpus: &Corpus) -> Result<Known, String> {
        let mut known = Known::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let refused = |why: String| Err(format!("line {}: {why}", number + 1));
            let (case, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let rest = rest.trim_start();
            let (profile, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let reason = reason.trim_start();
            if profile.is_empty() {
                return refused("a line is a case, a profile and a reason".to_owned());
            }
            if reason.is_empty() {
                return refused(format!("`{case}` has no reason; say why it is known to fail"));
            }
            let profile: Profile = match profile.parse() {
                Ok(profile) => profile,
                Err(why) => return refused(why),
            };
            let Some(found) = corpus.case(case) else {
                return refused(format!("the corpus has no case `{case}`; take the line out"));
            };
            if !found.profiles.contains(&profile) {
                return refused(format!("`{case}` is not played under profile {profile}; take the line out"));
            }
            if known.0.insert((case.to_owned(), profile), reason.to_owned()).is_some() {
                return refused(format!("`{case}` under {profile} is listed twice"));
            }
        }
        Ok(known)
    }

    /// Why a case is known to fail under a profile, if it is.
    pub fn reason(&self, case: &str, profile: Profile) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&(case.to_owned(), profile)).map(String::as_str)
    }

    /// Adds a line, or changes its reason.
    pub fn insert(&mut self, case: &str, profile: Profile, reason: &str) {
        self.0.insert((case.to_owned(), profile), reason.to_owned());
    }

    /// Takes a line out.
    pub fn remove(&mut self, case: &str, profile: Profile) {
        self.0.remove(&(case.to_owned(), profile));
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The list as a file, in order of case and profile.
    pub fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        for ((case, profile), reason) in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{case} {profile} {reason}");
        }
        text
    }
}
