//! Sessions as plans: the files that every launch binds, and the launches.

use std::sync::Arc;

use megakernel_ir::rule::Clause;
use serde_json::{Value, json};

use super::super::plan::{Feed, Inputs, Launch, Plan};
use super::arrange::Form;
use crate::builder::{Error, Program, ProgramBuilder, Result};

/// One session on its way to a plan.
pub struct SessionBuilder {
    plan: Plan,
    shared: Vec<(String, Arc<Inputs>)>,
    form: Form,
}

impl SessionBuilder {
    /// A session of the family `execution/{group}` that runs `program`, in the form given.
    pub fn new(
        (group, name): (&str, &str),
        summary: impl Into<String>,
        clauses: &[Clause],
        form: Form,
        program: ProgramBuilder,
    ) -> Result<Self> {
        let family = format!("execution/{group}");
        let (suffix, form_of) = form.names();
        let mut clauses = clauses.to_vec();
        if !clauses.contains(&form.clause()) {
            clauses.insert(0, form.clause());
        }
        let plan = Plan {
            id: format!("{family}/{name}{suffix}"),
            summary: format!("{}{form_of}", summary.into()),
            clauses,
            path: format!("programs/{family}/{name}{suffix}.json"),
            program: Arc::new(form.of(&program.finish())?),
            launches: Vec::new(),
            weights: None,
            family,
        };
        Ok(Self { plan, shared: Vec::new(), form })
    }

    /// The program, in its form.
    pub fn program(&self) -> &Program {
        &self.plan.program
    }

    /// A file that every launch binds; `name` is its path below `tensors/execution/`.
    pub fn shared(mut self, name: &str, inputs: Inputs) -> Self {
        self.shared.push((path(name), Arc::new(inputs)));
        self
    }

    /// The random weights are of this set, and another draw would do as well.
    pub fn weights(mut self, set: &'static str) -> Self {
        self.plan.weights = Some(set);
        self
    }

    /// A launch of the program as it is.
    pub fn launch(self, step: Step) -> Self {
        self.push(Vec::new(), step)
    }

    /// A launch of the program with the parameters that `program` has.
    pub fn launch_of(self, program: ProgramBuilder, step: Step) -> Result<Self> {
        let program = self.form.of(&program.finish())?;
        let edit = parameters(&self.plan.program, &program)
            .map_err(|error| Error(format!("{}: {error}", self.plan.id)))?;
        Ok(self.push(edit, step))
    }

    fn push(mut self, edit: Vec<Value>, step: Step) -> Self {
        let Step { mut launch } = step;
        launch.edit = edit;
        launch.files.splice(0..0, self.shared.iter().cloned());
        self.plan.launches.push(launch);
        self
    }

    /// The case.
    pub fn plan(self) -> Plan {
        self.plan
    }
}

fn path(name: &str) -> String {
    format!("tensors/execution/{name}.safetensors")
}

/// What one launch has of its own.
#[derive(Clone, Debug, Default)]
pub struct Step {
    launch: Launch,
}

impl Step {
    /// Binds a file.
    pub fn file(mut self, name: &str, inputs: Inputs) -> Self {
        self.launch.files.push((path(name), Arc::new(inputs)));
        self
    }

    /// Binds the integers that launch `launch` left in `from` to `to`.
    pub fn feed(mut self, launch: usize, from: &str, to: &str) -> Self {
        self.launch.feeds.push(Feed { launch, from: from.into(), to: to.into() });
        self
    }

    /// Judges these buffers only.
    pub fn judge(mut self, buffers: &[&str]) -> Self {
        self.launch.judged = Some(buffers.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// What the launch leaves in a buffer.
    pub fn known(mut self, buffer: &str, values: super::super::numeric::Values) -> Self {
        self.launch.known.insert(buffer.into(), values);
        self
    }
}

/// The edit that gives `from` the parameters of `to`, which differs from it in nothing else.
pub fn parameters(from: &Program, to: &Program) -> Result<Vec<Value>> {
    let mut edited = from.value().clone();
    let mut edit = Vec::new();
    let tasks = to.at("/tasks")?.as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, task) in tasks.iter().enumerate() {
        for (key, value) in task["params"].as_object().into_iter().flatten() {
            let Some(place) = edited["tasks"].get_mut(index).and_then(|task| task["params"].get_mut(key))
            else {
                return Err(Error(format!("task {index} has no parameter `{key}` in the first launch")));
            };
            if place != value {
                *place = value.clone();
                edit.push(
                    json!({"op": "replace", "path": format!("/tasks/{index}/params/{key}"), "value": value}),
                );
            }
        }
    }
    if edited != *to.value() {
        return Err(Error("a launch differs from the first in more than parameters".to_owned()));
    }
    Ok(edit)
}
