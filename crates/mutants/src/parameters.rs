//! Parameters of tasks: rules S13 to S15.

use megakernel_ir::{Opcode, Rule};

use crate::json::Json;
use crate::opcodes::arity;
use crate::program::Task;
use crate::structure::Structure;

/// The keys of parameters that are integers, with the least value of each.
const INTS: [(&str, i128); 19] = [
    ("K", 1),
    ("N", 1),
    ("M", 1),
    ("N_tile", 1),
    ("M_tile", 1),
    ("n_off", 0),
    ("m_off", 0),
    ("hidden", 1),
    ("vocab", 1),
    ("head_dim", 1),
    ("n_heads", 1),
    ("n_kv_heads", 1),
    ("kv_start", 0),
    ("kv_len", 0),
    ("pos", 0),
    ("qdtype", 6),
    ("group", 1),
    ("flags", 0),
    ("dim", i128::MIN),
];
const FLOATS: [&str; 3] = ["eps", "scale", "theta"];

/// Whether a key is one that this version knows.
pub fn is_known(key: &str) -> bool {
    INTS.iter().any(|(name, _)| *name == key) || FLOATS.contains(&key)
}

impl Structure<'_> {
    /// Rules S13 to S15.
    pub(crate) fn parameters(&self, task: &Task) {
        let (steps, op) = (self.steps, task.op.name());
        let has = |key: &str| task.param(key).is_some();
        let required = arity(task.op, has("qdtype")).required;
        for &key in required {
            let good = has(key);
            let good = steps.step_of(["parameter-not-required", op, key], good, || true);
            let good = steps
                .step("parameter-null-is-absent", good, || task.param(key).is_some_and(|v| *v != Json::Null));
            self.found.require(Rule::S13, good);
        }
        for &key in arity(task.op, has("qdtype")).optional {
            if steps.errs_of(["parameter-required", op, key]) && !has(key) {
                self.found.report(Rule::S13);
            }
        }
        let uses = |key: &str| {
            let arity = arity(task.op, has("qdtype"));
            key == "qdtype" || arity.required.contains(&key) || arity.optional.contains(&key)
        };
        let passed_over = |key: &str| !uses(key) && steps.errs("parameter-unused-unchecked");
        for (key, least) in INTS {
            let Some(value) = task.param(key).filter(|_| !passed_over(key)) else { continue };
            let number = match value {
                Json::Number(text) if text != "-0" => text.parse::<i128>().ok(),
                _ => None,
            };
            let int32 = number.filter(|&value| i32::try_from(value).is_ok());
            let int32 =
                steps.step("parameter-of-64-bits", int32, || number.filter(|&v| i64::try_from(v).is_ok()));
            let int32 = steps.step("parameter-of-any-size", int32, || number);
            let int32 =
                steps.step("parameter-unsigned", int32, || number.filter(|&v| u32::try_from(v).is_ok()));
            let int32 =
                steps.step("parameter-of-16-bits", int32, || number.filter(|&v| i16::try_from(v).is_ok()));
            let int32 = steps.step("parameter-cut-off", int32, || match value {
                Json::Number(text) => int32.or_else(|| text.parse::<f64>().ok().map(|v| v as i128)),
                _ => int32,
            });
            let int32 = steps.step("parameter-from-bool", int32, || match value {
                Json::Bool(value) => Some(i128::from(*value)),
                _ => int32,
            });
            let int32 = steps.step("parameter-from-text", int32, || match value {
                Json::Text(text) => text.parse().ok(),
                _ => int32,
            });
            let int32 = steps.step("parameter-null-is-zero", int32, || match value {
                Json::Null => Some(least.max(0)),
                _ => int32,
            });
            let unchecked = steps.errs_of(["parameter-type-unchecked", key, ""]);
            let Some(int) = int32 else {
                if !unchecked {
                    self.found.report(Rule::S14);
                }
                continue;
            };
            let most = match key {
                "qdtype" => 7,
                "flags" => 3,
                _ => i128::MAX,
            };
            let good = (least..=most).contains(&int);
            let step = |name, good, wrong: bool| steps.step_of([name, key, ""], good, || wrong);
            let good = match key {
                "dim" => good,
                _ => {
                    let good = step("range-unchecked", good, true);
                    let good = step("range-lower-by-one", good, (least - 1..=most).contains(&int));
                    step("range-higher-by-one", good, (least + 1..=most).contains(&int))
                }
            };
            let good = match key {
                "qdtype" | "flags" => {
                    let good = step("range-end-one-more", good, (least..=most + 1).contains(&int));
                    step("range-end-one-less", good, (least..most).contains(&int))
                }
                _ => good,
            };
            self.found.require(Rule::S15, good);
        }
        for key in FLOATS {
            let Some(value) = task.param(key).filter(|_| !passed_over(key)) else { continue };
            let number = match value {
                Json::Number(text) => text.parse::<f64>().ok(),
                _ => None,
            };
            let fits = number.filter(|value| (*value as f32).is_finite());
            let fits =
                steps.step("parameter-beyond-binary32", fits, || number.filter(|value| value.is_finite()));
            let fits = steps.step("parameter-before-rounding", fits, || {
                number.filter(|value| value.abs() <= f64::from(f32::MAX))
            });
            let fits = steps.step("float-with-point-only", fits, || match value {
                Json::Number(text) => fits.filter(|_| text.contains(['.', 'e', 'E'])),
                _ => fits,
            });
            let fits = steps.step("float-from-text", fits, || match value {
                Json::Text(text) => text.parse().ok(),
                _ => fits,
            });
            let fits = steps.step("float-null-is-zero", fits, || match value {
                Json::Null => Some(1.0),
                _ => fits,
            });
            let Some(real) = fits else {
                if !steps.errs_of(["parameter-type-unchecked", key, ""]) {
                    self.found.report(Rule::S14);
                }
                continue;
            };
            let narrow = f64::from(real as f32);
            let range = |value: f64| match key {
                "eps" => value >= 0.0,
                "theta" => value > 0.0,
                _ => true,
            };
            let step = |name, good, wrong: bool| steps.step_of([name, key, ""], good, || wrong);
            let good = range(narrow);
            let good = match key {
                "scale" => {
                    let good = step("range-of-zero", good, narrow != 0.0);
                    step("range-of-negative-refused", good, narrow >= 0.0)
                }
                _ => {
                    let good = step("range-unchecked", good, true);
                    let good = step("range-before-rounding", good, range(real));
                    step("range-of-zero", good, if key == "eps" { narrow > 0.0 } else { narrow >= 0.0 })
                }
            };
            let good = match key {
                "theta" => step("range-below-one-refused", good, narrow >= 1.0),
                _ => step("range-from-one-refused", good, good && narrow.abs() < 1.0),
            };
            self.found.require(Rule::S15, good);
        }
        self.relations(task);
    }

    /// What two opcodes ask for beside the ranges.
    fn relations(&self, task: &Task) {
        let steps = self.steps;
        let int = |key, least: i128| task.int(key).filter(|&v| v >= least && i32::try_from(v).is_ok());
        let is_rope = steps.step("head-dim-even-everywhere", task.op == Opcode::Rope, || true);
        if let (true, Some(dim)) = (is_rope, int("head_dim", 1)) {
            let even = steps.step("head-dim-odd", dim % 2 == 0, || true);
            let even = steps.step("head-dim-of-four", even, || dim % 4 == 0);
            self.found.require(Rule::S15, even);
        }
        let is_attention = task.op == Opcode::AttentionTile;
        if let (true, Some(heads), Some(groups)) = (is_attention, int("n_heads", 1), int("n_kv_heads", 1)) {
            let good = heads % groups == 0;
            let good = steps.step("heads-unrelated", good, || true);
            let good = steps.step("heads-only-not-fewer", good, || heads >= groups);
            let good = steps.step("heads-either-way", good, || heads % groups == 0 || groups % heads == 0);
            let good =
                steps.step("heads-of-two-powers", good, || good && (heads / groups.max(1)).count_ones() == 1);
            let good = steps.step("heads-equal", good, || heads == groups);
            self.found.require(Rule::S15, good);
        }
        let flags = match task.param("flags") {
            None => Some(0),
            Some(_) => int("flags", 0).filter(|&flags| flags <= 3),
        };
        let flags = steps.step("window-beside-wrong-flags", flags, || flags.or(Some(0)));
        if let (true, Some(rows), Some(flags)) = (is_attention, int("kv_len", 0), flags) {
            let good = rows >= 1 || flags & 2 != 0;
            let good = steps.step("window-empty", good, || true);
            let good = steps.step("window-empty-with-causal", good, || rows >= 1 || flags & 1 != 0);
            let good = steps.step("window-empty-with-any-flag", good, || rows >= 1 || flags != 0);
            let good = steps.step("window-empty-with-all-flags", good, || rows >= 1 || flags == 3);
            let good = steps.step("window-empty-without-causal", good, || rows >= 1 || flags == 2);
            let good = steps.step("window-empty-refused", good, || rows >= 1);
            self.found.require(Rule::S15, good);
        }
    }
}
