//! An oracle that fails ends the run with a reason, and never keeps it waiting.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use megakernel_conformance::oracle::{LOST, NoAnswer, Oracle, ProcessOracle};
use megakernel_conformance::stop::Stop;
use megakernel_ir::protocol::Accumulator;
use megakernel_test_support::root;

const HELLO: &str =
    r#"read hello; echo '{"type":"hello","oracle":"2","name":"sh","version":"1"}'; read follow"#;

/// What is wrong with an oracle that a shell runs.
fn failure(script: &str, timeout: Duration) -> String {
    first_failure(&shell(script, timeout)).to_string()
}

fn shell(script: &str, timeout: Duration) -> ProcessOracle {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    ProcessOracle::new("sh".to_owned(), arguments, timeout, Stop::default())
}

fn first_failure(oracle: &ProcessOracle) -> NoAnswer {
    let document = r#"{"tasks": []}"#;
    let program = std::fs::read(root().join("corpus/programs/record-empty.json")).expect("a program");
    let program = megakernel_ir::read(&program).expect("a program");
    let start = Instant::now();
    let failure =
        oracle.follow(document, &program, &BTreeMap::new(), &BTreeMap::new(), Accumulator::Binary32).err();
    assert!(start.elapsed() < Duration::from_secs(20), "the runner waited");
    failure.expect("no oracle")
}

#[test]
fn every_failure_has_its_reason() {
    let long = Duration::from_secs(60);
    for (script, why) in [
        (
            "echo it is broken >&2; exit 3",
            "ended before it answered; it wrote on its standard error: it is broken",
        ),
        ("read hello; echo nonsense", "wrote what is no message"),
        (r#"read hello; echo '{"type":"nothing"}'; sleep 60"#, "did not begin with a `hello`"),
        (
            r#"read hello; echo '{"type":"hello","oracle":"9","name":"","version":""}'; sleep 60"#,
            "speaks version `9` of its messages, but the runner speaks 2",
        ),
        (&format!("{HELLO}; exit 1"), "ended before it answered"),
        (&format!(r#"{HELLO}; echo '{{"type":"error","message":"too hard"}}'; sleep 60"#), "too hard"),
        (&format!(r#"{HELLO}; echo '{{"type":"stored"}}'; sleep 60"#), "an answer to another question"),
        (
            &format!(
                r#"{HELLO}; echo '{{"type":"holds","tensor":{{"dtype":"F32","shape":[9],"bytes":9000000000000}}}}'"#
            ),
            "the input ends within a message",
        ),
    ] {
        let failure = failure(script, long);
        assert!(failure.contains(why), "no `{why}` in {failure}");
    }
    let silent = failure("sleep 60", Duration::from_millis(200));
    assert!(silent.contains("gave no answer within 200ms"), "{silent}");
    let silent = failure(&format!("{HELLO}; sleep 60"), Duration::from_millis(500));
    assert!(silent.contains("gave no answer within 500ms"), "{silent}");
    let killed = failure(&format!("{HELLO}; kill -9 $$"), long);
    assert!(killed.contains("was killed by signal 9"), "{killed}");
    let oracle = ProcessOracle::new("/nonexistent/oracle".to_owned(), Vec::new(), long, Stop::default());
    drop(oracle);
}

/// What it does of its own accord ends the run, what is done to it does not; but not for ever.
#[test]
fn an_oracle_that_is_lost_again_and_again_is_given_up() {
    let oracle = shell(&format!("{HELLO}; kill -9 $$"), Duration::from_secs(60));
    for _ in 0..LOST {
        let NoAnswer::Killed(why) = first_failure(&oracle) else { unreachable!("it is not lost") };
        assert!(why.contains("was killed by signal 9"), "{why}");
    }
    let NoAnswer::Killed(why) = first_failure(&oracle) else { unreachable!("it is not lost") };
    assert!(why.contains("was killed or silent 5 times and is not started again"), "{why}");
    // It may be killed before its first word, too.
    let failure = first_failure(&shell("kill -9 $$", Duration::from_secs(60)));
    assert!(matches!(failure, NoAnswer::Killed(_)), "{failure:?}");
    // Who never says hello is no oracle.
    for script in ["exit 3", "sleep 60"] {
        let failure = first_failure(&shell(script, Duration::from_millis(500)));
        assert!(matches!(failure, NoAnswer::Faulty(_)), "{script}: {failure:?}");
    }
    let failure = first_failure(&shell(&format!("{HELLO}; exit 3"), Duration::from_secs(60)));
    assert!(matches!(failure, NoAnswer::Faulty(_)), "{failure:?}");
}
