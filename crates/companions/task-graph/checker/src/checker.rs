//! What the runner calls: sound translations are judged by the graphs of all ranks together.

use megakernel_ir::companion::{Ask, Checker, Question, Unanswered, Wrong};
use megakernel_ir::protocol::{FromWorker, Method};
use serde_json::{Map, Value};

use crate::{all_ranks, sound};

const EXPECTED: &str = "task graphs with the work of the operators that break no rule and keep the order of operators that conflict";

/// Judges `expect.translation`.
#[derive(Clone, Copy, Debug)]
pub struct Translations;

/// For the runner's list.
pub static CHECKER: Translations = Translations;

fn wrong(actual: String) -> Wrong {
    Wrong { expected: EXPECTED.to_owned(), actual }
}

impl Checker for Translations {
    fn checks(&self) -> &[&'static str] {
        &["translation"]
    }

    fn well_formed(
        &self,
        method: Method,
        _: Option<&Value>,
        expect: &Map<String, Value>,
    ) -> Result<(), String> {
        match expect.get("translation") {
            Some(Value::String(how)) if how == "sound" && method == Method::TRANSLATE => Ok(()),
            Some(Value::String(how)) if how == "sound" => {
                Err(format!("`expect.translation` is for the method `translate`, not for `{method}`"))
            }
            _ => Err("`expect.translation` is \"sound\" or not there".to_owned()),
        }
    }

    /// Asks for the graph of each rank, and judges them together.
    fn judge(
        &self,
        question: &Question<'_>,
        _: &Map<String, Value>,
        _: &FromWorker,
        ask: &mut Ask<'_>,
    ) -> Result<Result<(), Wrong>, Unanswered> {
        let requests = match all_ranks(question.document) {
            Ok(requests) => requests,
            Err(cause) => return Ok(Err(wrong(cause))),
        };
        let mut answers = Vec::new();
        for request in &requests {
            answers.push(ask(&Question { document: request.as_bytes(), ..*question })?);
        }
        let graphs = answers.into_iter().enumerate().map(|(rank, answer)| graph(rank, answer));
        let judged = graphs.collect::<Result<Vec<String>, String>>();
        Ok(judged.and_then(|graphs| sound(question.document, &graphs)).map_err(wrong))
    }
}

fn graph(rank: usize, answer: FromWorker) -> Result<String, String> {
    match (answer.kind.as_str(), answer.outcome.as_deref(), answer.document) {
        ("response", Some("accept"), Some(graph)) => Ok(graph),
        ("response", Some("accept"), None) => Err(format!("rank {rank}: accept without `document`")),
        ("response", Some(outcome), _) => Err(format!("rank {rank}: {outcome}")),
        _ => Err(format!("rank {rank}: no outcome")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_translations_are_judged() {
        let expect = |how: &str| Map::from_iter([("translation".to_owned(), json!(how))]);
        let formed = |method, how| CHECKER.well_formed(method, None, &expect(how));
        assert_eq!(formed(Method::TRANSLATE, "sound"), Ok(()));
        assert!(formed(Method::TRANSLATE, "quick").expect_err("no such mode").contains("sound"));
        assert!(formed(Method::VALIDATE, "sound").expect_err("nothing is translated").contains("`validate`"));
    }
}
