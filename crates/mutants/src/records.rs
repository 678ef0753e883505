//! The records of a document, as they are read (clause FMT-03).

use megakernel_ir::{BufferKind, DType, MemSpace, Opcode, Rule};

use crate::json::{Json, Member};
use crate::members::Presence::{self, Nullable, Optional, Required};
use crate::members::{Known, Reading, Record};
use crate::program::{Buffer, Config, Counter, Page, Pages, Program, Target, Task};

const PROGRAM: Known =
    &["ir_version", "abi_version", "meta", "target", "buffers", "counters", "tasks", "pages", "config"];
const BUFFER: Known = &["id", "name", "kind", "dtype", "shape", "space", "source"];
const COUNTER: Known = &["id", "init", "note"];
const TASK: Known = &[
    "id",
    "op",
    "inputs",
    "outputs",
    "out_counter",
    "waits",
    "params",
    "sm",
    "est_bytes",
    "est_flops",
    "label",
];
const WAIT: Known = &["counter", "threshold"];
const PAGES: Known = &["buffer_to_page", "pages"];
const PAGE: Known = &["id", "space", "nbytes", "live_start", "live_end"];
const TARGET_INTS: [&str; 9] = [
    "sm_arch",
    "num_sms",
    "smem_bytes_per_sm",
    "smem_bytes_per_block_optin",
    "regs_per_sm",
    "max_threads_per_sm",
    "max_regs_per_thread",
    "l2_bytes",
    "hbm_bytes",
];

/// The JSON names of a list of names.
fn one_of(names: &'static [&'static str]) -> impl Fn(&str) -> Option<&'static str> {
    move |text| names.iter().find(|name| **name == text).copied()
}

impl Reading<'_> {
    /// The whole document; what could not be read is left out.
    pub fn program(&self, root: &Json) -> Option<Program> {
        let record = self.record("program", PROGRAM, root)?;
        for name in ["ir_version", "abi_version"] {
            self.get(record, name, Required).and_then(|value| self.text(value));
        }
        let mut gpu = None;
        if let Some(meta) = self.get(record, "meta", Optional) {
            for member in self.map(meta) {
                self.free(&member.value);
                if let (Json::Text(text), "gpu") = (&member.value, member.name.as_str()) {
                    gpu = Some(text.clone());
                }
            }
        }
        for member in record.members.iter().filter(|member| !PROGRAM.contains(&member.name.as_str())) {
            self.free(&member.value);
        }
        let list = |name| self.get(record, name, Required).map(|value| self.list(value)).unwrap_or_default();
        Some(Program {
            gpu,
            target: self.get(record, "target", Nullable).and_then(|value| self.target(value)),
            buffers: list("buffers").iter().filter_map(|value| self.buffer(value)).collect(),
            counters: list("counters").iter().filter_map(|value| self.counter(value)).collect(),
            tasks: list("tasks").iter().filter_map(|value| self.task(value)).collect(),
            pages: self.get(record, "pages", Nullable).and_then(|value| self.pages(value)),
            config: self.get(record, "config", Nullable).and_then(|value| self.config(value)),
        })
    }

    fn int_of(&self, record: Record<'_>, name: &'static str, presence: Presence, default: i64) -> i64 {
        self.get(record, name, presence).and_then(|value| self.integer(value)).unwrap_or(default)
    }

    fn text_of(&self, record: Record<'_>, name: &'static str, presence: Presence) -> Option<String> {
        self.get(record, name, presence).and_then(|value| self.text(value)).map(str::to_owned)
    }

    fn ints_of(&self, record: Record<'_>, name: &'static str) -> Vec<i64> {
        let list = self.get(record, name, Required).map(|value| self.list(value)).unwrap_or_default();
        list.iter().filter_map(|value| self.integer(value)).collect()
    }

    fn buffer(&self, value: &Json) -> Option<Buffer> {
        let record = self.record("buffer", BUFFER, value)?;
        self.text_of(record, "name", Required);
        self.text_of(record, "source", Nullable);
        let name = |name, presence| self.get(record, name, presence);
        Some(Buffer {
            id: self.int_of(record, "id", Required, 0),
            kind: name("kind", Required)
                .and_then(|value| self.name("kind", value, BufferKind::from_name))
                .unwrap_or(BufferKind::Activation),
            dtype: name("dtype", Required)
                .and_then(|value| self.name("dtype", value, DType::from_name))
                .unwrap_or(DType::F32),
            shape: self.ints_of(record, "shape"),
            space: name("space", Optional)
                .and_then(|value| self.name("space", value, MemSpace::from_name))
                .unwrap_or(MemSpace::Hbm),
        })
    }

    fn counter(&self, value: &Json) -> Option<Counter> {
        let record = self.record("counter", COUNTER, value)?;
        self.text_of(record, "note", Optional);
        Some(Counter {
            id: self.int_of(record, "id", Required, 0),
            init: self.int_of(record, "init", Optional, 0),
        })
    }

    fn task(&self, value: &Json) -> Option<Task> {
        let record = self.record("task", TASK, value)?;
        self.text_of(record, "label", Optional);
        let waits = self.get(record, "waits", Optional).map(|value| self.list(value)).unwrap_or_default();
        let params = self.get(record, "params", Optional).map(|value| self.map(value)).unwrap_or_default();
        let op = self.get(record, "op", Required).and_then(|value| {
            let fused = |text: &str| (text == "FUSED").then_some(Opcode::Nop);
            let named = |text: &str| Opcode::from_name(text);
            let is_fused = matches!(value, Json::Text(text) if text == "FUSED");
            if is_fused && self.steps.errs("name-fused") {
                return self.name("op", value, fused);
            }
            self.name("op", value, named)
        });
        Some(Task {
            id: self.int_of(record, "id", Required, 0),
            op: op.unwrap_or(Opcode::Nop),
            inputs: self.ints_of(record, "inputs"),
            outputs: self.ints_of(record, "outputs"),
            out: self.int_of(record, "out_counter", Required, 0),
            waits: waits.iter().filter_map(|value| self.wait(value)).collect(),
            params: params.iter().map(|member| (member.name.clone(), member.value.clone())).collect(),
            sm: self.get(record, "sm", Nullable).and_then(|value| self.integer(value)),
            estimates: ["est_bytes", "est_flops"].map(|name| self.int_of(record, name, Optional, 0)),
        })
    }

    fn wait(&self, value: &Json) -> Option<(i64, i128)> {
        let record = self.record("wait", WAIT, value)?;
        let counter = self.int_of(record, "counter", Required, 0);
        let threshold = match self.get(record, "threshold", Required)? {
            Json::Number(text) => {
                let exact = text.parse::<i128>().ok().filter(|_| text != "-0");
                let exact = self.steps.step("threshold-cut-off", exact, || {
                    exact.or_else(|| text.parse::<f64>().ok().map(|value| value as i128))
                });
                // A whole number with hundreds of digits is one as well.
                let digits = text.trim_start_matches('-').bytes().all(|c| c.is_ascii_digit());
                match exact {
                    Some(exact) => exact,
                    None if digits && text != "-0" => i128::MAX,
                    None => {
                        let rule = self.steps.step("threshold-type-as-s04", Rule::S16, || Rule::S04);
                        self.found.report(rule);
                        1
                    }
                }
            }
            other => i128::from(self.integer(other).unwrap_or(1)),
        };
        let fits = i64::try_from(threshold).is_ok();
        if !fits && self.steps.errs("threshold-beyond-64-bits-as-s04") {
            self.found.report(Rule::S04);
        }
        Some((counter, threshold))
    }

    fn pages(&self, value: &Json) -> Option<Pages> {
        let record = self.record("pages", PAGES, value)?;
        let map =
            self.get(record, "buffer_to_page", Required).map(|value| self.map(value)).unwrap_or_default();
        let list = self.get(record, "pages", Required).map(|value| self.list(value)).unwrap_or_default();
        let entry = |member: &Member| Some((self.key(&member.name)?, self.integer(&member.value)?));
        let page = |value: &Json| {
            let record = self.record("page", PAGE, value)?;
            let live = ["live_start", "live_end"].map(|name| self.int_of(record, name, Optional, -1));
            let space = self.get(record, "space", Required);
            let space = space.and_then(|value| self.name("page-space", value, MemSpace::from_name));
            let [id, nbytes] = ["id", "nbytes"].map(|name| self.int_of(record, name, Required, 0));
            Some(Page { id, space: space.unwrap_or(MemSpace::Hbm), nbytes, live })
        };
        Some(Pages {
            map: map.iter().filter_map(entry).collect(),
            pages: list.iter().filter_map(page).collect(),
        })
    }

    fn target(&self, value: &Json) -> Option<Target> {
        const KNOWN: Known = &[
            "name",
            "sm_arch",
            "num_sms",
            "smem_bytes_per_sm",
            "smem_bytes_per_block_optin",
            "regs_per_sm",
            "max_threads_per_sm",
            "max_regs_per_thread",
            "l2_bytes",
            "hbm_bytes",
            "hbm_bandwidth_gbs",
            "fp16_tflops",
            "clock_ghz",
            "supports_cooperative",
            "wddm_tdr",
            "measured_bw_gbs",
            "note",
        ];
        let record = self.record("target", KNOWN, value)?;
        let number = |name, presence| {
            let value = self.get(record, name, presence).and_then(|value| self.number(value));
            (name, value.unwrap_or(0.0))
        };
        let bool = |name, default| {
            self.get(record, name, Optional).and_then(|value| self.bool(value)).unwrap_or(default)
        };
        self.text_of(record, "note", Optional);
        bool("wddm_tdr", false);
        Some(Target {
            name: self.text_of(record, "name", Required).unwrap_or_default(),
            ints: TARGET_INTS.map(|name| (name, self.int_of(record, name, Required, 1))).to_vec(),
            numbers: vec![
                number("hbm_bandwidth_gbs", Required),
                number("fp16_tflops", Required),
                number("clock_ghz", Optional),
                number("measured_bw_gbs", Optional),
            ],
            cooperative: bool("supports_cooperative", true),
        })
    }

    fn config(&self, value: &Json) -> Option<Config> {
        const KNOWN: Known = &[
            "tiling",
            "fusion_grouping",
            "sm_assignment",
            "pipelining_depth",
            "page_allocation",
            "threads_per_block",
            "smem_bytes_per_block",
        ];
        let record = self.record("config", KNOWN, value)?;
        let get = |name| self.get(record, name, Optional);
        let mut tiling = Vec::new();
        for operation in get("tiling").map(|value| self.map(value)).unwrap_or_default() {
            let sizes = self.map(&operation.value).iter();
            tiling.extend(sizes.filter_map(|size| self.integer(&size.value)));
        }
        for group in get("fusion_grouping").map(|value| self.list(value)).unwrap_or_default() {
            self.list(group).iter().for_each(|name| {
                self.text(name);
            });
        }
        let assignment = match get("sm_assignment") {
            Some(Json::Object(members)) => members
                .iter()
                .filter_map(|member| Some((self.key(&member.name)?, self.integer(&member.value)?)))
                .collect(),
            Some(other) => {
                self.name("sm_assignment", other, one_of(&["round_robin", "load_balance"]));
                Vec::new()
            }
            None => Vec::new(),
        };
        if let Some(value) = get("page_allocation") {
            self.name("page_allocation", value, one_of(&["linear", "graph_color", "none"]));
        }
        Some(Config {
            tiling,
            assignment,
            depth: self.int_of(record, "pipelining_depth", Optional, 2),
            threads: self.int_of(record, "threads_per_block", Optional, 256),
            smem: self.int_of(record, "smem_bytes_per_block", Optional, 0),
        })
    }
}
