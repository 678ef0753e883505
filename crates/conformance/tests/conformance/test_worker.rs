//! A worker for the runner's own tests: one that answers well, and every way of not doing so that the runner has to
//! survive. The first argument names the behaviour, the second one a file for those that leave a trace.
//!
//! Its idea of a program is small: text that is not JSON breaks S01, an object without `tasks` breaks S03, and
//! `meta.breaks` names any other rule that the document is to break, or several.

use std::io::{BufRead, Write, stdin, stdout};
use std::process::{Command, ExitCode, Stdio, exit};
use std::thread::sleep;
use std::time::Duration;

use megakernel_ir::Diagnostic;
use megakernel_ir::protocol::{Answer, Execute, Hello, Method, Profile, Request, Worker, serve};
use megakernel_ir::rule::{Class, Rule};
use serde_json::Value;

mod arithmetic;
mod executes;
mod follows;

/// Longer than any test waits.
const FOR_EVER: Duration = Duration::from_secs(600);

/// The variable of the environment that says which process a worker follows.
const BEFORE: &str = "TEST_WORKER_BEFORE";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let behaviour = arguments.next().unwrap_or_default();
    let trace = arguments.next().unwrap_or_default();
    match behaviour.as_str() {
        "no-handshake" => sleep(FOR_EVER),
        "garbage-handshake" => print!("Welcome to my-vm 0.3\n> "),
        "garbage-handshake-line" => say("Welcome to my-vm 0.3"),
        "ends-at-once" => {
            eprintln!("cannot open display");
            return ExitCode::from(7);
        }
        "other-protocol" => {
            say(r#"{"type":"hello","protocol":"2.0","name":"x","version":"1","profiles":[]}"#)
        }
        "handshake-without-name" => say(r#"{"type":"hello","protocol":"1.0","profiles":["format"]}"#),
        "endless-handshake" => endless_line(),
        // What a test starts by way of other behaviours, to see it ended. The second argument is how the test knows it.
        "lingers" => sleep(FOR_EVER),
        // The worker ends, and something else goes on talking in its place.
        "hands-over" => {
            let this = std::env::current_exe().unwrap_or_default();
            let before = std::process::id().to_string();
            let _ = Command::new("setsid").arg(this).args(["succeeds", &trace]).env(BEFORE, before).spawn();
            return ExitCode::SUCCESS;
        }
        // Not before the other has ended: until then its answers would be a worker's.
        "succeeds" => {
            let before = std::env::var(BEFORE).ok().and_then(|id| id.parse().ok());
            while before == Some(std::os::unix::process::parent_id()) {
                sleep(Duration::from_millis(1));
            }
            return TestWorker::new("good", &trace).serve();
        }
        "slow-handshake" => {
            sleep(Duration::from_millis(700));
            return TestWorker::new("good", &trace).serve();
        }
        // Not a worker but an oracle, and one that never has an answer.
        "follows" => return if follows::serve().is_ok() { ExitCode::SUCCESS } else { ExitCode::from(3) },
        "follows-silently" => {
            say(r#"{"type":"hello","oracle":"2","name":"silent","version":"1"}"#);
            sleep(FOR_EVER);
        }
        // Reads nothing after its handshake, so that the runner cannot even write its request.
        "deaf" => {
            say(HELLO);
            sleep(FOR_EVER);
        }
        "answers-at-once" => return at_once(),
        _ => {
            if let Some(answer) = fixed_answer(&behaviour) {
                return always(answer);
            }
            return TestWorker::new(&behaviour, &trace).serve();
        }
    }
    // Those that got no handshake done wait for the runner to hang up.
    let _ = stdin().lock().read_until(0, &mut Vec::new());
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let _ = writeln!(stdout(), "{line}");
    let _ = stdout().flush();
}

const HELLO: &str = r#"{"type":"hello","protocol":"1.9","name":"fixed","version":"1","profiles":["format","validate","memory-safety","launch"],"mood":"good"}"#;

/// What workers write that the library would not; `$` stands for the id of the request.
fn fixed_answer(behaviour: &str) -> Option<&'static [u8]> {
    Some(match behaviour {
        "unknown-rule" => br#"{"type":"response","id":$,"outcome":"reject","diagnostics":[{"rule":"Z99","severity":"error"}]}"#,
        "third-party-members" => {
            br#"{"type":"response","id":$,"x":[{}],"outcome":"accept","diagnostics":[{"rule":"W04","severity":"warning","why":{"y":[]}}],"document":"{\"tasks\":[]}"}"#
        }
        // The first finding has no witness, and the second is not what the cases with R01 break.
        "shows-witnesses" => {
            br#"{"type":"response","id":$,"outcome":"reject","diagnostics":[{"rule":"R01","severity":"error"},{"rule":"R02","severity":"error","witness":{"kind":"no"}},{"rule":"R01","severity":"error","message":"how","witness":{"kind":"schedule","events":[{"start":0}],"then":"</script>"}}]}"#
        }
        "unknown-outcome" => br#"{"type":"response","id":$,"outcome":"maybe"}"#,
        "unsupported-without-reason" => br#"{"type":"response","id":$,"outcome":"unsupported"}"#,
        "error-message" => br#"{"type":"error","id":$,"message":"\u001b[31mout of memory"}"#,
        "wrong-shape" => br#"{"type":"response","id":$,"outcome":"accept","diagnostics":"none"}"#,
        "garbage" => b"Segmentation fault (core dumped)",
        "not-utf8" => b"\xff\xfe",
        "not-utf8-inside" => b"{\"type\":\"response\",\"id\":$,\"outcome\":\"accept\",\"note\":\"\xff\xfe\"}",
        "other-message" => br#"{"type":"progress","percent":50}"#,
        "wrong-id" => br#"{"type":"response","id":1$,"outcome":"accept"}"#,
        "no-id" => br#"{"type":"response","outcome":"accept"}"#,
        "answers-twice" => {
            b"{\"type\":\"response\",\"id\":$,\"outcome\":\"accept\"}\n{\"type\":\"response\",\"id\":$,\"outcome\":\"accept\"}"
        }
        _ => return None,
    })
}

/// Gives the same answer to every request.
fn always(answer: &[u8]) -> ExitCode {
    for line in stdin().lock().lines() {
        let Ok(message) = line.map(|line| serde_json::from_str::<Value>(&line).unwrap_or_default()) else {
            break;
        };
        let Some(id) = message.get("id") else {
            say(HELLO);
            continue;
        };
        let id = id.to_string();
        let mut bytes = Vec::new();
        for &byte in answer {
            if byte == b'$' { bytes.extend(id.as_bytes()) } else { bytes.push(byte) }
        }
        bytes.push(b'\n');
        if stdout().write_all(&bytes).and_then(|()| stdout().flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Accepts whatever comes and looks at nothing but its number: what is left is what the runner costs.
fn at_once() -> ExitCode {
    const ID: &[u8] = b"\"id\":";
    say(HELLO);
    let (mut input, mut line) = (stdin().lock(), Vec::new());
    while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
        let id = line.windows(ID.len()).position(|part| part == ID).map(|at| at + ID.len());
        let digits = id.and_then(|at| line.get(at..)).unwrap_or_default();
        let digits: String =
            digits.iter().map(|&byte| char::from(byte)).take_while(char::is_ascii_digit).collect();
        if !digits.is_empty() {
            say(&format!(r#"{{"type":"response","id":{digits},"outcome":"accept"}}"#));
        }
        line.clear();
    }
    ExitCode::SUCCESS
}

fn endless_line() {
    let chunk = [b'x'; 1 << 16];
    while stdout().write_all(&chunk).is_ok() {}
}

struct TestWorker {
    behaviour: String,
    trace: String,
    requests: u64,
}

impl Worker for TestWorker {
    fn hello(&self) -> Hello {
        if self.behaviour.starts_with("executes") {
            return executes::hello(&self.behaviour);
        }
        let mut hello = Hello::new("test-worker", "1", &Profile::STATIC);
        match self.behaviour.as_str() {
            "format-only" => hello.profiles = vec!["format".to_owned(), "of-the-future".to_owned()],
            "claims-nothing" => hello.profiles.clear(),
            "unknown-claims" => {
                hello.profiles.push("speed".to_owned());
                hello.rules = Some(vec!["S01".to_owned(), "R1".to_owned()]);
            }
            "names-every-rule" | "names-one-rule" => hello.every_rule = true,
            "no-rules" => hello.rules = Some(Vec::new()),
            "some-rules" => hello.rules = Some(vec!["S01".to_owned(), "R01".to_owned()]),
            // A process that was started again finds the trace of the one before.
            "changes-its-mind" if std::fs::exists(&self.trace).unwrap_or(false) => hello.profiles.truncate(1),
            "changes-its-mind" => {
                let _ = std::fs::write(&self.trace, "");
            }
            _ => {}
        }
        hello
    }

    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        executes::session(&self.behaviour, &self.trace, request)
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        self.requests += 1;
        let marked = |mark: &str| String::from_utf8_lossy(request.document.as_bytes()).contains(mark);
        match self.behaviour.as_str() {
            "accepts-everything" => {
                let document = (request.method == Method::ROUNDTRIP)
                    .then(|| String::from_utf8_lossy(request.document.as_bytes()).into_owned());
                return Answer::Accept { diagnostics: Vec::new(), document };
            }
            "rejects-everything" => return reject(Rule::S04),
            // Knows very well what it would have to say.
            "supports-accepted-only" => {
                let answer = judge(request);
                let silent = matches!(&answer, Answer::Accept { diagnostics, .. } if diagnostics.is_empty());
                let reason = "I would have to reject this".to_owned();
                return if silent { answer } else { Answer::Unsupported { reason } };
            }
            "supports-nothing" => return Answer::Unsupported { reason: "not today".to_owned() },
            "accepts-with-errors" => {
                let diagnostics = vec![Diagnostic::new(Rule::R01, "/tasks/0", "half a rejection")];
                return Answer::Accept { diagnostics, document: None };
            }
            "rejects-without-rule" => return Answer::Reject { diagnostics: Vec::new() },
            "crashes-every-tenth" if self.requests == 10 => {
                eprintln!("assertion failed: tenth request\n  at my_vm.c:42");
                exit(101);
            }
            "crashes-every-third" if self.requests == 3 => exit(101),
            "changes-its-mind" => exit(0),
            "hangs-on-every-second" if self.requests.is_multiple_of(2) => sleep(FOR_EVER),
            // All the answers that there could be to the first requests, had they the numbers that one would expect.
            "answers-early" if self.requests == 1 => {
                for id in 2..10 {
                    say(&format!(r#"{{"type":"response","id":{id},"outcome":"accept"}}"#));
                }
            }
            "slow" => sleep(Duration::from_millis(40)),
            "ends-in-mid-line" => {
                print!(r#"{{"type":"response","id":1,"outcome":"acc"#);
                let _ = stdout().flush();
                exit(0);
            }
            "never-answers" => sleep(FOR_EVER),
            "endless-line" => endless_line(),
            "flood" => loop {
                say("{}");
            },
            "closes-output" => {
                close_stdout_and_wait();
            }
            // Too late, and with the id that the first request to a new process will have.
            "late-once" if marked("\"late\"") => {
                sleep(Duration::from_millis(900));
                say(
                    r#"{"type":"response","id":1,"outcome":"reject","diagnostics":[{"rule":"S01","severity":"error"}]}"#,
                );
            }
            "leaves-a-child" => {
                self.leave_child("sleep");
                exit(1);
            }
            "hangs-with-a-child" => {
                self.leave_child("sleep");
                sleep(FOR_EVER);
            }
            // In a session of its own, and nobody's child.
            "leaves-a-daemon" => {
                self.leave_daemon(&[]);
                exit(1);
            }
            // It has forgotten even its environment.
            "leaves-a-bare-daemon" => {
                self.leave_daemon(&["env", "-i"]);
                exit(1);
            }
            // With a worker that behaves otherwise.
            "keeps-a-daemon" if self.requests == 1 => self.leave_daemon(&["env", "-i"]),
            "keeps-a-daemon-and-hangs" => {
                self.leave_daemon(&["env", "-i"]);
                self.leave_daemon(&[]);
                sleep(FOR_EVER);
            }
            // Out of the process group, so that no kill of that reaches it; it holds the pipes for a while.
            "leaves-an-escaped-child" => {
                let _ = Command::new("setsid").args(["sleep", "5"]).stdin(Stdio::null()).spawn();
                sleep(Duration::from_millis(100));
                exit(1);
            }
            "counts-layout" if request.method == Method::ROUNDTRIP => {
                // Each trip adds a space: equal by value, never the same bytes.
                let text = String::from_utf8_lossy(request.document.as_bytes()).into_owned();
                return Answer::Accept { diagnostics: Vec::new(), document: Some(format!("{text} ")) };
            }
            "loses-members" if request.method == Method::ROUNDTRIP => {
                let document = Some(r#"{"tasks":[]}"#.to_owned());
                return Answer::Accept { diagnostics: Vec::new(), document };
            }
            "names-one-rule" => return first_alone(judge(request)),
            "misses-two-rules" | "misses-a-rule-and-crashes" if !marked("\"tasks\"") && marked("{\"") => {
                return Answer::Accept { diagnostics: Vec::new(), document: None };
            }
            "misses-two-rules" if marked("R01") => {
                return Answer::Accept { diagnostics: Vec::new(), document: None };
            }
            "misses-a-rule-and-crashes" if marked("R01") => exit(101),
            _ => {}
        }
        judge(request)
    }
}

/// Stops at the first finding.
fn first_alone(mut answer: Answer) -> Answer {
    if let Answer::Reject { diagnostics } = &mut answer {
        diagnostics.truncate(1);
    }
    answer
}

impl TestWorker {
    fn new(behaviour: &str, trace: &str) -> TestWorker {
        TestWorker { behaviour: behaviour.to_owned(), trace: trace.to_owned(), requests: 0 }
    }

    fn serve(mut self) -> ExitCode {
        let served = serve(&mut self, &mut stdin().lock(), &mut stdout());
        if self.behaviour == "fails-at-the-end" || served.is_err() {
            return ExitCode::from(3);
        }
        if self.behaviour == "never-ends" {
            sleep(FOR_EVER);
        }
        ExitCode::SUCCESS
    }

    /// Starts this program once more, in a session of its own, by a process that ends at once.
    fn leave_daemon(&self, through: &[&str]) {
        let this = std::env::current_exe().unwrap_or_default();
        let _ = Command::new("sh")
            .args(["-c", "setsid \"$@\" >/dev/null 2>&1 & exit 0", "sh"])
            .args(through)
            .arg(this)
            .args(["lingers", &self.trace])
            .stdin(Stdio::null())
            .status();
        // So that it is there when the worker ends.
        sleep(Duration::from_millis(100));
    }

    fn leave_child(&self, program: &str) {
        if let Ok(child) = Command::new(program).arg("600").stdin(Stdio::null()).spawn() {
            let _ = std::fs::write(&self.trace, child.id().to_string());
        }
    }
}

/// Replaces this process by one that lives on without the pipe of its output.
fn close_stdout_and_wait() {
    use std::os::unix::process::CommandExt;
    let _ = Command::new("sh").args(["-c", "exec sleep 600 >/dev/null"]).exec();
}

fn reject(rule: Rule) -> Answer {
    Answer::Reject { diagnostics: vec![Diagnostic::new(rule, "", "test")] }
}

fn judge(request: &Request<'_>) -> Answer {
    let Ok(value) = serde_json::from_slice::<Value>(request.document.as_bytes()) else {
        return reject(Rule::S01);
    };
    if value.get("tasks").is_none() {
        return reject(Rule::S03);
    }
    let breaks = value.pointer("/meta/breaks").unwrap_or(&Value::Null);
    let breaks = breaks.as_array().map_or(std::slice::from_ref(breaks), Vec::as_slice);
    let judged = |rule: &Rule| rule.class() == Class::WARNING || request.profile.judges(rule.class());
    let rules = breaks.iter().filter_map(Value::as_str).filter_map(Rule::from_id).filter(judged);
    let diagnostics: Vec<Diagnostic> = rules.map(|rule| Diagnostic::new(rule, "", "test")).collect();
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Answer::Reject { diagnostics };
    }
    let document = (request.method == Method::ROUNDTRIP).then(|| value.to_string());
    Answer::Accept { diagnostics, document }
}
