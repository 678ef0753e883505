//! The members of a document (clauses FMT-02 to FMT-04): rules S03, S04, S05, and S16 for thresholds that are no integers.

use megakernel_ir::Rule;

use crate::found::Found;
use crate::json::{Json, Member};
use crate::steps::Steps;

/// Reads records.
pub struct Reading<'s> {
    pub(crate) steps: &'s Steps,
    pub(crate) found: &'s Found<'s>,
}

/// The members that a record may have.
pub(crate) type Known = &'static [&'static str];

/// A record, and what it is called.
#[derive(Clone, Copy)]
pub(crate) struct Record<'j> {
    pub(crate) what: &'static str,
    pub(crate) members: &'j [Member],
}

/// Whether a member may be left out, and whether it may be null.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Presence {
    Required,
    Optional,
    Nullable,
}
use Presence::{Nullable, Required};

impl<'s> Reading<'s> {
    /// Reports to `found`.
    pub fn new(steps: &'s Steps, found: &'s Found<'s>) -> Reading<'s> {
        Reading { steps, found }
    }

    fn wrong<T>(&self) -> Option<T> {
        self.found.report(Rule::S04);
        None
    }

    pub(crate) fn record<'j>(&self, what: &'static str, known: Known, value: &'j Json) -> Option<Record<'j>> {
        let Json::Object(members) = value else {
            if *value == Json::Null && self.steps.errs_of(["null-as-record", what, ""]) {
                return Some(Record { what, members: &[] });
            }
            return self.wrong();
        };
        let unknown = || members.iter().filter(|member| !known.contains(&member.name.as_str()));
        if unknown().next().is_some() {
            if self.steps.errs_of(["unknown-member-refused", what, ""]) {
                self.found.report(Rule::S04);
            }
            let warned = !matches!(what, "target" | "config");
            if self.steps.step_of(["unknown-member-warned-elsewhere", what, ""], warned, || !warned) {
                self.found.report(Rule::W06);
            }
        }
        Some(Record { what, members })
    }

    pub(crate) fn get<'j>(
        &self,
        record: Record<'j>,
        name: &'static str,
        presence: Presence,
    ) -> Option<&'j Json> {
        let of = record.what;
        let member = record.members.iter().find(|member| member.name == name).map(|member| &member.value);
        let member = self.steps.step_of(["member-of-any-case", of, ""], member, || {
            let like = |member: &&Member| member.name.eq_ignore_ascii_case(name);
            record.members.iter().find(like).map(|member| &member.value)
        });
        match (member, presence) {
            (None, Required) => {
                if !self.steps.errs_of(["member-not-required", of, name]) {
                    self.found.report(Rule::S03);
                }
                None
            }
            (None, _) => {
                if self.steps.errs_of(["default-unknown", of, name]) {
                    self.found.report(Rule::S03);
                }
                None
            }
            (Some(Json::Null), Nullable) => {
                if self.steps.errs_of(["null-refused", of, name]) {
                    self.found.report(Rule::S04);
                }
                None
            }
            (Some(Json::Null), _) if self.steps.errs_of(["null-as-absent", of, name]) => None,
            (Some(value), _) => Some(value),
        }
    }

    pub(crate) fn integer(&self, value: &Json) -> Option<i64> {
        match value {
            Json::Number(text) => {
                let exact = text.parse::<i128>().ok().filter(|_| text != "-0");
                if exact.is_none() {
                    self.overflow(text);
                }
                let fits = exact.and_then(|value| i64::try_from(value).ok());
                let fits = self.steps.step("integer-wraps", fits, || exact.map(|value| value as i64));
                let fits = self.steps.step("integer-clamped", fits, || {
                    exact.map(|value| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
                });
                let fits = self
                    .steps
                    .step("integer-of-32-bits", fits, || fits.filter(|&value| i32::try_from(value).is_ok()));
                let fits = self.steps.step("integer-of-53-bits", fits, || {
                    fits.filter(|value| value.unsigned_abs() <= 1 << 53)
                });
                let fits = self.steps.step("integer-without-sign", fits, || fits.filter(|&value| value >= 0));
                let fits = self.steps.step("integer-cut-off", fits, || {
                    fits.or_else(|| text.parse::<f64>().ok().map(|value| value as i64))
                });
                fits.or_else(|| self.wrong())
            }
            Json::Text(text) if self.steps.errs("integer-from-text") => {
                text.trim().parse().ok().or_else(|| self.wrong())
            }
            Json::Bool(value) if self.steps.errs("integer-from-bool") => Some(i64::from(*value)),
            _ => self.wrong(),
        }
    }

    /// A number text beyond binary64, in whatever member.
    fn overflow(&self, text: &str) {
        let is_beyond = text.parse::<f64>().is_ok_and(f64::is_infinite);
        if is_beyond && !self.steps.errs("number-beyond-binary64") {
            self.found.report(Rule::S04);
        }
    }

    pub(crate) fn number(&self, value: &Json) -> Option<f64> {
        match value {
            Json::Number(text) => {
                self.overflow(text);
                text.parse().ok()
            }
            Json::Text(text) if self.steps.errs("number-from-text") => {
                text.trim().parse().ok().or_else(|| self.wrong())
            }
            Json::Bool(value) if self.steps.errs("number-from-bool") => Some(f64::from(u8::from(*value))),
            _ => self.wrong(),
        }
    }

    pub(crate) fn text<'j>(&self, value: &'j Json) -> Option<&'j str> {
        match value {
            Json::Text(text) => Some(text),
            Json::Number(text) if self.steps.errs("text-from-number") => Some(text),
            _ => self.wrong(),
        }
    }

    pub(crate) fn bool(&self, value: &Json) -> Option<bool> {
        match value {
            Json::Bool(value) => Some(*value),
            Json::Number(text) if self.steps.errs("bool-from-number") => Some(text != "0"),
            Json::Text(text) if self.steps.errs("bool-from-text") => Some(text == "true"),
            _ => self.wrong(),
        }
    }

    pub(crate) fn list<'j>(&self, value: &'j Json) -> &'j [Json] {
        match value {
            Json::List(items) => items,
            Json::Object(_) if self.steps.errs("list-from-object") => &[],
            value if self.steps.errs("list-of-one") => std::slice::from_ref(value),
            _ => {
                self.found.report(Rule::S04);
                &[]
            }
        }
    }

    pub(crate) fn map<'j>(&self, value: &'j Json) -> &'j [Member] {
        match value {
            Json::Object(members) => members,
            Json::List(_) if self.steps.errs("map-from-list") => &[],
            _ => {
                self.found.report(Rule::S04);
                &[]
            }
        }
    }

    /// A name of an enumeration, whose member is called `of`.
    pub(crate) fn name<T: PartialEq>(
        &self,
        of: &'static str,
        value: &Json,
        named: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = match value {
            Json::Text(text) => text.as_str(),
            Json::Number(_) if self.steps.errs_of(["name-by-code", of, ""]) => return None,
            _ => return self.wrong(),
        };
        let found = named(text);
        let found = self.steps.step_of(["name-in-any-case", of, ""], found, || {
            named(text)
                .or_else(|| named(&text.to_ascii_uppercase()))
                .or_else(|| named(&text.to_ascii_lowercase()))
        });
        let found = self.steps.step_of(["name-with-spaces", of, ""], found, || named(text.trim()));
        if found.is_none() && !self.steps.errs_of(["unknown-name-passed-over", of, ""]) {
            self.found.report(Rule::S05);
        }
        found
    }

    pub(crate) fn key(&self, text: &str) -> Option<i64> {
        let fits = |text: &str| {
            let canonical = text == "0" || !text.starts_with('0') && !text.starts_with(['+', '-']);
            text.parse::<i64>().ok().filter(|_| canonical)
        };
        let key = fits(text);
        let key = self.steps.step("key-with-leading-zeros", key, || {
            let rest = text.trim_start_matches('0');
            fits(if rest.is_empty() && !text.is_empty() { "0" } else { rest })
        });
        let key = self.steps.step("key-with-plus", key, || fits(text.trim_start_matches('+')));
        let key = self.steps.step("key-with-spaces", key, || fits(text.trim()));
        let key = self.steps.step("key-with-minus", key, || {
            text.parse().ok().filter(|_| key.is_some() || text.starts_with('-'))
        });
        let key = self.steps.step("key-of-any-size", key, || {
            key.or_else(|| fits(text.get(..18)?).filter(|_| text.bytes().all(|c| c.is_ascii_digit())))
        });
        let key = self.steps.step("key-of-32-bits", key, || key.filter(|&key| i32::try_from(key).is_ok()));
        key.or_else(|| self.wrong())
    }

    /// Numbers beyond binary64 are refused also where everything is allowed.
    pub(crate) fn free(&self, value: &Json) {
        match value {
            Json::Number(_) if self.steps.errs("number-beyond-binary64-in-meta") => {}
            Json::Number(text) => self.overflow(text),
            Json::List(items) => items.iter().for_each(|item| self.free(item)),
            Json::Object(members) => members.iter().for_each(|member| self.free(&member.value)),
            _ => {}
        }
    }
}
