// A witness as steps to go through: words, the tasks that they are about, and of a run the state that each leads to.
function stepsOf(witness, tasks) {
  const by = new Map(tasks.map(task => [task.id, task]));
  const name = id => by.has(id) ? `task ${id} ${by.get(id).op} ${by.get(id).label || ""}`.trimEnd() : `task ${id}`;
  const box = region => JSON.stringify(region);
  const { kind, first, second } = witness;
  if (kind === "schedule") return runOf(witness, by, name);
  if (kind === "cycle") {
    const steps = witness.steps.map(({ task, then }, at) => {
      const next = witness.steps[(at + 1) % witness.steps.length].task;
      const why = then.counter === undefined ? `that one stands behind it in the queue of SM ${then.queue}` : `it increments counter ${then.counter}, on which that one waits`;
      return { text: `${name(task)} comes before ${name(next)}: ${why}`, about: [task, next] };
    });
    return [...steps, { text: "so each of them comes before itself, and none can start", about: witness.steps.map(step => step.task), wrong: true }];
  }
  if (kind === "unordered") {
    const does = ({ task, access }) => `${name(task)} ${access}s ${box(witness.region)} of buffer ${witness.buffer}`;
    return [{ text: does(first), about: [first.task] }, { text: does(second), about: [second.task] },
      { text: "nothing says which of them comes first", about: [first.task, second.task], wrong: true }];
  }
  if (kind === "clobber") {
    const uses = ({ task, buffer }) => `${name(task)} accesses buffer ${buffer} on page ${witness.page}`;
    return [{ text: uses(first), about: [first.task] },
      { text: `${uses(second)}, and the first access need not be over then`, about: [second.task], wrong: true }];
  }
  if (kind === "unwritten") {
    const text = `${name(witness.task)} reads ${box(witness.region)} of buffer ${witness.buffer}, which no task has written before`;
    return [{ text, about: [witness.task], wrong: true }];
  }
  return [{ text: JSON.stringify(witness), about: [], wrong: true }];
}
// The states of a run (EXE-01), from the starting one on. A step that is not enabled is named: then the witness is wrong.
function runOf({ events, then }, by, name) {
  const states = [{ text: "the starting state", about: [] }];
  const counts = new Map(), status = new Map([...by.keys()].map(id => [id, "waiting"]));
  const count = counter => counts.get(counter) || 0;
  const keep = state => Object.assign(state, { counts: new Map(counts), status: new Map(status) });
  keep(states[0]);
  for (const event of events) {
    const id = event.start === undefined ? event.finish : event.start, task = by.get(id);
    let text, wrong = false;
    if (event.start !== undefined) {
      const waits = task ? task.waits.map(([counter, threshold]) => `counter ${counter} is ${count(counter)} of ${threshold}`) : [];
      const before = task && task.sm >= 0 ? [...by.values()].filter(other => other.sm === task.sm && other.id < id && status.get(other.id) !== "finished") : [];
      wrong = status.get(id) === "running" || status.get(id) === "finished" || before.length > 0 || Boolean(task) && task.waits.some(([counter, threshold]) => count(counter) < threshold);
      text = `${name(id)} starts${waits.length ? `: ${waits.join(", ")}` : ""}`;
      status.set(id, "running");
    } else {
      wrong = status.get(id) !== "running";
      if (task && task.out !== null) counts.set(task.out, count(task.out) + 1);
      text = `${name(id)} finishes${task && task.out !== null ? `: counter ${task.out} is ${count(task.out)}` : ""}`;
      status.set(id, "finished");
    }
    states.push(keep({ text: wrong ? `${text}; this step is not enabled, so that the witness is wrong` : text, about: [id], wrong, changed: event.finish === undefined || !task ? undefined : task.out }));
  }
  const last = events.length ? Object.values(events[events.length - 1]) : [];
  states.push(keep({ text: then || "the witness ends here", about: last, wrong: true }));
  return states;
}
// A lane for each SM: what has finished, what runs, and what the head of its queue waits for.
function lanes(tasks, { status, counts }) {
  const sms = [...new Set(tasks.map(task => task.sm))].sort((a, b) => a - b), some = list => list.slice(0, 24).join(", ") + (list.length > 24 ? ` and ${list.length - 24} more` : "");
  const rows = sms.map(sm => {
    const here = tasks.filter(task => task.sm === sm), ids = is => here.filter(task => status.get(task.id) === is).map(task => task.id);
    const lacks = task => task.waits.filter(([counter, threshold]) => (counts.get(counter) || 0) < threshold)
      .map(([counter, threshold]) => `counter ${counter} ${counts.get(counter) || 0}/${threshold}`);
    const waiting = here.filter(task => status.get(task.id) === "waiting"), heads = sm < 0 ? waiting : waiting.slice(0, 1);
    const said = heads.map(task => `${task.id}${lacks(task).length ? ` (${lacks(task).join(", ")})` : ids("running").length && sm >= 0 ? " (SM is busy)" : " (may start)"}`);
    return [sm < 0 ? "any SM" : `SM ${sm}`, some(ids("finished")), some(ids("running")), some(said) + (sm >= 0 && waiting.length > 1 ? `, and ${waiting.length - 1} behind it` : "")];
  });
  return table(["lane", "finished", "running", "waiting"], rows, false);
}
function counters(tasks, { counts, changed }) {
  const all = [...new Set(tasks.flatMap(task => [...(task.out === null ? [] : [task.out]), ...task.waits.map(([counter]) => counter)]))].sort((a, b) => a - b);
  const waiters = counter => tasks.flatMap(task => task.waits.filter(([on]) => on === counter).map(([, threshold]) => `${task.id} at ${threshold}`));
  const shown = all.filter(counter => counter === changed || all.length <= 40 || counts.get(counter));
  const made = table(["counter", "is", "producers", "awaited by task"], shown.map(counter => [`c${counter}`, String(counts.get(counter) || 0),
    String(tasks.filter(task => task.out === counter).length), waiters(counter).slice(0, 12).join(", ")]));
  [...made.rows].slice(1).forEach((row, at) => { if (shown[at] === changed) row.setAttribute("class", "changed"); });
  return made;
}
// The witness as a figure that goes forward and back, by buttons or by arrow keys.
function stepper(found, tasks, wrong) {
  const steps = stepsOf(found.witness, tasks), figure = make("div", undefined, { id: "witness", role: "group", "aria-label": "how it goes wrong, step by step; arrow keys go forward and back" });
  const bar = make("p"), said = make("p", undefined, { id: "step", "aria-live": "polite" }), state = make("div");
  let at = 0;
  const show = to => {
    at = Math.max(0, Math.min(steps.length - 1, to));
    const step = steps[at];
    place.textContent = ` ${at + 1} of ${steps.length} `;
    said.textContent = step.text;
    said.className = step.wrong ? "bad" : "";
    state.replaceChildren();
    if (tasks.length) state.append(graph(tasks, wrong, step));
    if (step.status && tasks.length) state.append(lanes(tasks, step), counters(tasks, step));
    // A button that is disabled loses the focus; the keys go on from the figure.
    buttons.forEach(([button, ends]) => {
      if (at === ends() && button === document.activeElement) figure.focus();
      button.disabled = at === ends();
    });
  };
  const place = make("span"), end = () => steps.length - 1;
  const buttons = [["|◀", "to the beginning", () => show(0), () => 0], ["◀ back", "one step back", () => show(at - 1), () => 0],
    ["forward ▶", "one step forward", () => show(at + 1), end], ["▶|", "to the end", () => show(end()), end]].map(([text, label, action, ends]) => {
    const button = make("button", text, { "aria-label": label });
    button.addEventListener("click", action);
    return [button, ends];
  });
  bar.append(...buttons.slice(0, 2).map(([button]) => button), place, ...buttons.slice(2).map(([button]) => button));
  figure.addEventListener("keydown", event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { event.preventDefault(); show(at + step); }
  });
  figure.tabIndex = 0;
  figure.append(make("p", `${found.rule}: ${found.message || ""}`, { class: "soft" }), bar, said, state);
  show(0);
  return figure;
}
