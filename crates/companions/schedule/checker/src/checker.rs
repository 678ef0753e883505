//! What the runner calls: which waits can go is judged, since many answers are right.

use megakernel_ir::companion::{Ask, Checker, Question, Unanswered, Wrong};
use megakernel_ir::protocol::{FromWorker, Method};
use serde_json::{Map, Value};

use crate::minimal;

const EXPECTED: &str = "waits without which no rule is broken, and of which no other one can go, each with whether it is implied (SCH-14)";

/// Judges `expect.waits`.
#[derive(Clone, Copy, Debug)]
pub struct Waits;

/// For the runner's list.
pub static CHECKER: Waits = Waits;

impl Checker for Waits {
    fn checks(&self) -> &[&'static str] {
        &["waits"]
    }

    fn well_formed(
        &self,
        method: Method,
        _: Option<&Value>,
        expect: &Map<String, Value>,
    ) -> Result<(), String> {
        match expect.get("waits") {
            Some(Value::String(how)) if how == "minimal" && method == Method::MINIMISE => Ok(()),
            Some(Value::String(how)) if how == "minimal" => {
                Err(format!("`expect.waits` is for the method `minimise`, not for `{method}`"))
            }
            _ => Err("`expect.waits` is \"minimal\" or not there".to_owned()),
        }
    }

    fn judge(
        &self,
        question: &Question<'_>,
        _: &Map<String, Value>,
        answer: &FromWorker,
        _: &mut Ask<'_>,
    ) -> Result<Result<(), Wrong>, Unanswered> {
        let judged = match &answer.document {
            Some(document) => minimal(question.document, document),
            None => Err("accept without `document`".to_owned()),
        };
        Ok(judged.map_err(|actual| Wrong { expected: EXPECTED.to_owned(), actual }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_waits_of_minimise_are_judged() {
        let expect = |how: &str| Map::from_iter([("waits".to_owned(), json!(how))]);
        let formed = |method, how| CHECKER.well_formed(method, None, &expect(how));
        assert_eq!(formed(Method::MINIMISE, "minimal"), Ok(()));
        assert!(formed(Method::MINIMISE, "few").expect_err("no such word").contains("minimal"));
        assert!(formed(Method::VALIDATE, "minimal").expect_err("nothing goes").contains("`validate`"));
    }

    #[test]
    fn an_answer_is_right_or_says_what_is_wrong() {
        // The second wait of the last task is implied by the first, and the other way round.
        let document = r#"{"tensors": {"x": {"shape": [4]}}, "tasks": [
            {"phases": [{"writes": [["x", null]], "signals": [["e", 1], ["f", 1]]}]},
            {"phases": [{"waits": [["e", 1], ["f", 1]], "reads": [["x", null]]}]},
            {"phases": [{"waits": [["f", 1]]}]}]}"#;
        let drop = |waits: &[(&str, bool)]| {
            let entry = |(wait, implied): &(&str, bool)| json!({"wait": wait, "implied": implied});
            let dropped: Value = waits.iter().map(entry).collect();
            minimal(document.as_bytes(), &json!({"dropped": dropped}).to_string())
        };
        let [first, second, third] =
            ["/tasks/1/phases/0/waits/0", "/tasks/1/phases/0/waits/1", "/tasks/2/phases/0/waits/0"];
        assert_eq!(drop(&[(first, true), (third, false)]), Ok(()));
        assert_eq!(drop(&[(third, false), (second, true)]), Ok(()));
        let wrong = |waits: &[(&str, bool)]| drop(waits).expect_err("wrong");
        assert!(wrong(&[(first, true)]).contains("can go too"));
        assert!(wrong(&[]).contains("can go too"));
        assert!(wrong(&[(first, true), (second, true), (third, false)]).contains("ER01"));
        assert!(wrong(&[(first, false), (third, false)]).contains("`implied` is false"));
        assert!(wrong(&[(first, true), (third, true)]).contains("`implied` is true"));
        assert!(wrong(&[(first, true), (first, true)]).contains("twice"));
        assert!(wrong(&[("/tasks/9/phases/0/waits/0", true)]).contains("no wait"));
        assert!(minimal(document.as_bytes(), "{}").expect_err("nothing said").contains("`dropped`"));
    }
}
