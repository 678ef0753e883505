//! Which rows each expert has, found from the task that chose.

use super::Refusal;
use super::order::{Order, TaskRef};
use super::tensors::Tensors;
use super::work::{Access, Choose, Plan, Product, Routed, Use, Work};

/// Replaces the tasks of experts by one product for each row that they have.
pub(super) fn join_routes(
    plan: &mut Plan,
    order: &Order,
    tensors: &Tensors<'_>,
    refusals: &mut Vec<Refusal>,
) {
    for position in 0..plan.tasks.len() {
        let Some(&(task, Work::Routed(ref routed))) = plan.tasks.get(position) else { continue };
        let routed = routed.clone();
        match chosen(plan, order, tensors, task, &routed) {
            Ok(choice) => {
                let products = products(plan, task, &routed, &choice);
                if let Some((_, work)) = plan.tasks.get_mut(position) {
                    *work = if products.is_empty() { Work::Nothing } else { Work::Experts(products) };
                }
            }
            Err(reason) => {
                refusals.push(Refusal { pointer: format!("/all_tasks/{}", task.1), rank: task.0, reason });
            }
        }
    }
}

/// The choice that a task is told of: that of the last task before it that wrote there.
fn chosen(
    plan: &Plan,
    order: &Order,
    tensors: &Tensors<'_>,
    task: TaskRef,
    routed: &Routed,
) -> Result<Vec<Vec<i64>>, String> {
    let of = |number: usize| plan.uses.get(number).ok_or("an operand is missing");
    let mut of_both: Vec<TaskRef> = Vec::new();
    let mut found: Option<&Choose> = None;
    for (mine, operand) in routed.told.iter().zip(0..) {
        let mine = of(*mine)?;
        let same = |theirs: &Use| {
            (theirs.area.rank, theirs.area.tensor) == (mine.area.rank, mine.area.tensor)
                && theirs.area.region.overlaps(&mine.area.region)
        };
        let mut before: Vec<(TaskRef, &Choose)> = Vec::new();
        for (other, work) in &plan.tasks {
            let Work::Choose(choice) = work else { continue };
            let told = choice.told.get(operand).and_then(|&number| plan.uses.get(number));
            if !told.is_some_and(same) || order.before(task, *other) {
                continue;
            }
            if !order.before(*other, task) {
                return Err(format!(
                    "nothing orders task {}, which chooses the experts, and this one",
                    other.1
                ));
            }
            before.push((*other, choice));
        }
        let all: Vec<TaskRef> = before.iter().map(|(other, _)| *other).collect();
        before.retain(|(other, _)| !all.iter().any(|later| order.before(*other, *later)));
        match before[..] {
            [(other, choice)] => {
                of_both.push(other);
                found = Some(choice);
            }
            ref several => {
                return Err(format!(
                    "{} tasks before it choose the experts in `{}`; required: one",
                    several.len(),
                    tensors.label(&mine.area)
                ));
            }
        }
    }
    let choice = found.filter(|_| of_both.first() == of_both.last());
    let choice = choice.ok_or("the routing and the list of experts are of two tasks")?;
    let slots = routed.out.interval(1)[1] - routed.out.interval(1)[0];
    let rows = routed.out.interval(0)[1] - routed.out.interval(0)[0];
    let fits = choice.chosen.len() as i64 == rows
        && choice.chosen.iter().all(|experts| experts.len() as i64 == slots)
        && choice
            .chosen
            .iter()
            .flatten()
            .all(|&expert| expert < routed.weight.interval(0)[1] - routed.weight.interval(0)[0]);
    if fits {
        Ok(choice.chosen.clone())
    } else {
        Err(format!("the choice {:?} does not fit {rows} rows of {slots} experts", choice.chosen))
    }
}

/// The products of one task. Experts that have rows are taken in ascending order.
fn products(plan: &mut Plan, task: TaskRef, routed: &Routed, chosen: &[Vec<i64>]) -> Vec<Product> {
    let mut active: Vec<i64> = chosen.iter().flatten().copied().collect();
    active.sort_unstable();
    active.dedup();
    let mut products = Vec::new();
    let pointer = |member: &str, operand: usize| format!("/all_tasks/{}/{member}/{operand}", task.1);
    for expert in active.into_iter().skip(routed.first).step_by(routed.stride) {
        for (row, experts) in (0..).zip(chosen) {
            let Some(slot) = (0..).zip(experts).find(|(_, of)| **of == expert).map(|(slot, _)| slot) else {
                continue;
            };
            let mut put = |area, access, pointer| {
                plan.uses.push(Use { task, area, access, pointer });
                plan.uses.len() - 1
            };
            let part = |area: &super::tensors::Area, axis: usize, index: i64| {
                area.slice(axis, area.interval(axis)[0] + index, 1)
            };
            let of_row = |area: &super::tensors::Area| match area.axes {
                3 => part(&part(area, 0, row), 1, slot),
                _ => part(area, 0, row),
            };
            products.push(Product {
                x: put(of_row(&routed.x), Access::Read, pointer("inputs", 0)),
                weight: put(part(&routed.weight, 0, expert), Access::Weight, pointer("inputs", 1)),
                out: put(of_row(&routed.out), Access::Columns, pointer("outputs", 0)),
            });
        }
    }
    products
}
