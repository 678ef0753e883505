//! Other forms of a program that compute the same: the task list in another order, tasks on SMs, activations on pages.

use std::collections::BTreeMap;

use megakernel_ir::rule::{Clause, clause};
use serde_json::{Map, Value, json};

use crate::builder::{Error, Program, Result, laptop};
use megakernel_ir::prng::SplitMix64;

/// SMs of the target that placed programs have.
const SMS: usize = 4;

/// How the tasks of a program are listed and placed, and where its activations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As the builder wrote it: in an order in which the tasks could run.
    Plain,
    /// Last task first. Who takes the tasks in list order without looking at the counters has everything wrong.
    Reversed,
    /// In no order.
    Shuffled,
    /// Task by task on 4 SMs.
    Placed,
    /// Two of three tasks on 4 SMs, the others on none.
    HalfPlaced,
    /// As the builder wrote it, but for this task, which is listed last: who takes the tasks in list order gets to it last.
    Late(usize),
    /// Every activation on a page, and every page used as often as the order of the tasks permits.
    Paged,
    /// Paged, and last task first.
    PagedReversed,
}

impl Form {
    /// The end of a case id, and of a summary.
    pub fn names(self) -> (String, String) {
        let (end, about) = match self {
            Self::Plain => ("", ""),
            Self::Late(task) => return (format!("-late-{task}"), format!("; task {task} is listed last")),
            Self::Reversed => ("-reversed", "; the last task is listed first"),
            Self::Shuffled => ("-shuffled", "; the tasks are listed in no order"),
            Self::Placed => ("-placed", "; the tasks are on 4 SMs"),
            Self::HalfPlaced => ("-half-placed", "; two of three tasks are on 4 SMs"),
            Self::Paged => ("-paged", "; the activations take turns on few pages"),
            Self::PagedReversed => (
                "-paged-reversed",
                "; the activations take turns on few pages, the last task is listed first",
            ),
        };
        (end.to_owned(), about.to_owned())
    }

    /// A clause that the form adds to what a case tests.
    pub fn clause(self) -> Clause {
        match self {
            Self::Plain | Self::Reversed | Self::Shuffled | Self::Late(_) => clause::EXE_01,
            Self::Placed | Self::HalfPlaced => clause::EXE_02,
            Self::Paged | Self::PagedReversed => clause::PAG_01,
        }
    }

    /// The program in this form.
    pub fn of(self, program: &Program) -> Result<Program> {
        let mut value = program.value().clone();
        let count = tasks(&value).len();
        match self {
            Self::Plain => {}
            Self::Reversed => relist(&mut value, (0..count).rev().collect()),
            Self::Shuffled => relist(&mut value, shuffled(count)),
            Self::Late(task) => relist(&mut value, (0..count).filter(|&n| n != task).chain([task]).collect()),
            Self::Placed => place(&mut value, |task| Some(task % SMS)),
            Self::HalfPlaced => place(&mut value, |task| (task % 3 != 0).then_some(task / 3 % SMS)),
            Self::Paged => page(&mut value)?,
            Self::PagedReversed => {
                page(&mut value)?;
                relist(&mut value, (0..count).rev().collect());
            }
        }
        Ok(Program::new(value))
    }
}

fn tasks(value: &Value) -> &[Value] {
    value["tasks"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The same order for every program of a size.
fn shuffled(count: usize) -> Vec<usize> {
    let mut prng = SplitMix64::for_family("execution/shuffled", count as u64);
    let mut order: Vec<usize> = (0..count).collect();
    for index in (1..count).rev() {
        order.swap(index, prng.below(index as u64 + 1) as usize);
    }
    order
}

/// Lists the tasks in another order; ids follow.
fn relist(value: &mut Value, order: Vec<usize>) {
    let listed = order.into_iter().enumerate().filter_map(|(id, from)| {
        let mut task = tasks(value).get(from)?.clone();
        task["id"] = json!(id);
        Some(task)
    });
    let listed: Vec<Value> = listed.collect();
    value["tasks"] = Value::Array(listed);
}

fn place(value: &mut Value, sm: impl Fn(usize) -> Option<usize>) {
    let target = laptop();
    value["meta"]["gpu"] = target["name"].clone();
    value["target"] = target;
    for (index, task) in value["tasks"].as_array_mut().into_iter().flatten().enumerate() {
        task["sm"] = json!(sm(index));
    }
}

/// The tasks that happen before each task, as flags by index. The tasks are listed in an order in which they can run.
fn before(value: &Value) -> Vec<Vec<bool>> {
    let tasks = tasks(value);
    let mut before: Vec<Vec<bool>> = Vec::new();
    for task in tasks {
        let waits = task["waits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut flags = vec![false; tasks.len()];
        for (producer, earlier) in before.iter().enumerate() {
            let counter = tasks.get(producer).map(|task| &task["out_counter"]);
            if !waits.iter().any(|wait| Some(&wait["counter"]) == counter) {
                continue;
            }
            for (flag, earlier) in flags.iter_mut().zip(earlier) {
                *flag |= earlier;
            }
            if let Some(flag) = flags.get_mut(producer) {
                *flag = true;
            }
        }
        before.push(flags);
    }
    before
}

/// The tasks that use each buffer, by id.
fn users(value: &Value) -> BTreeMap<u64, Vec<usize>> {
    let mut users: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, task) in tasks(value).iter().enumerate() {
        for operands in ["inputs", "outputs"] {
            for id in task[operands].as_array().into_iter().flatten().filter_map(Value::as_u64) {
                users.entry(id).or_default().push(index);
            }
        }
    }
    users
}

/// Puts every activation on the first page whose buffers are all done with before it is first used.
fn page(value: &mut Value) -> Result<()> {
    let (before, users) = (before(value), users(value));
    let precedes =
        |a: usize, b: usize| before.get(b).and_then(|flags| flags.get(a)).copied().unwrap_or(false);
    // Users of each page so far, and its size.
    let mut pages: Vec<(Vec<usize>, u64)> = Vec::new();
    let mut page_of = Map::new();
    let mut activations: Vec<(usize, u64, u64)> = Vec::new();
    for (id, buffer) in (0_u64..).zip(value["buffers"].as_array().into_iter().flatten()) {
        let Some(first) = users.get(&id).and_then(|users| users.first()) else { continue };
        if buffer["kind"] == "ACTIVATION" {
            activations.push((*first, id, bytes(buffer)?));
        }
    }
    activations.sort_unstable();
    for (_, id, nbytes) in activations {
        let own = users.get(&id).map(Vec::as_slice).unwrap_or_default();
        let free = |page: &[usize]| page.iter().all(|&a| own.iter().all(|&b| precedes(a, b)));
        let place = match pages.iter().position(|(users, _)| free(users)) {
            Some(place) => place,
            None => {
                pages.push((Vec::new(), 0));
                pages.len() - 1
            }
        };
        if let Some((users, size)) = pages.get_mut(place) {
            users.extend(own);
            *size = nbytes.max(*size);
        }
        page_of.insert(id.to_string(), json!(place));
    }
    let pages: Vec<Value> = pages
        .iter()
        .enumerate()
        .map(|(id, (_, nbytes))| {
            json!({"id": id, "space": "HBM", "nbytes": nbytes, "live_start": -1, "live_end": -1})
        })
        .collect();
    value["pages"] = json!({"buffer_to_page": page_of, "pages": pages});
    Ok(())
}

fn bytes(buffer: &Value) -> Result<u64> {
    let dtype = buffer["dtype"].as_str().and_then(crate::builder::DType::from_name);
    let dtype = dtype.ok_or_else(|| Error(format!("no dtype in {buffer}")))?;
    let numel = buffer["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).product();
    Ok(dtype.nbytes(numel) as u64)
}
