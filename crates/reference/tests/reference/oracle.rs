//! The oracle as a process speaks it: bytes in, bytes out, whatever comes.

use megakernel_ir::protocol::Accumulator;
use megakernel_ir::protocol::oracle::{Answer, Bytes, Request, frame, read, words};
use megakernel_numerics::{DType, Tensor};
use megakernel_reference::oracle::serve;

/// One ADD of `i0` and `i1`, which gives `y`.
const PROGRAM: &[u8] = include_bytes!("../../../../corpus/programs/numeric/add/pairs-f32-to-f32.json");

fn answers(requests: &[(Request, Vec<u8>)]) -> Vec<(Answer, Vec<u8>)> {
    let messages = requests.iter().map(|(request, payload)| frame(request, &[payload]).expect("a message"));
    let input = messages.collect::<Vec<_>>().concat();
    let mut output = Vec::new();
    serve(&mut input.as_slice(), &mut output).expect("served");
    let mut output = output.as_slice();
    std::iter::from_fn(|| read(&mut output).expect("messages")).collect()
}

/// A request to follow [`PROGRAM`] with these inputs.
fn follow(inputs: &[(&str, &Tensor)]) -> (Request, Vec<u8>) {
    let tensors = inputs.iter().map(|(name, tensor)| Bytes::of(name, tensor)).collect();
    let contents = inputs.iter().map(|(_, tensor)| tensor.bytes.as_slice());
    let payload = std::iter::once(PROGRAM).chain(contents).collect::<Vec<_>>().concat();
    let (accumulator, program) = (Accumulator::Binary32, PROGRAM.len() as u64);
    (Request::Follow { accumulator, program, tensors, caches: Vec::new() }, payload)
}

fn ask(request: Request) -> (Request, Vec<u8>) {
    (request, Vec::new())
}

fn message(answer: &(Answer, Vec<u8>)) -> &str {
    match &answer.0 {
        Answer::Error { message } => message,
        _ => "no error",
    }
}

#[test]
fn a_launch_is_followed_task_by_task() {
    let program = megakernel_ir::read(PROGRAM).expect("a program");
    let shape = program.buffers[0].shape.iter().map(|&extent| extent as u64).collect::<Vec<_>>();
    let count = shape.iter().product::<u64>() as usize;
    let of =
        |value: f64| Tensor::from_reals(DType::F32, shape.clone(), &vec![value; count]).expect("a tensor");
    let (one, three, wrong) = (of(1.0), of(3.0), of(5.0));
    let found = answers(&[
        follow(&[("i0", &one), ("i1", &three)]),
        ask(Request::Task { task: 0 }),
        (Request::Store { task: 0, tensor: Bytes::of("", &wrong) }, wrong.bytes.clone()),
        ask(Request::Buffer { buffer: 2 }),
    ]);
    assert_eq!(found.len(), 4);
    assert_eq!(found[0].0, Answer::Following { order: vec![0] });
    assert!(matches!(found[1].0, Answer::Written { buffer: 2, .. }), "{:?}", found[1].0);
    let numbers: Vec<f64> = words(&found[1].1).map(f64::from_le_bytes).collect();
    assert_eq!(numbers.len(), 2 * count);
    assert!(numbers[..count].iter().all(|&value| value == 4.0));
    assert_eq!(found[2].0, Answer::Stored);
    // What the implementation wrote, not what it should have written.
    assert_eq!(found[3].1, wrong.bytes);
}

#[test]
fn what_cannot_be_answered_is_an_error_and_the_next_request_is_answered() {
    let one = Tensor::from_reals(DType::F32, vec![1], &[1.0]).expect("a tensor");
    let (tensors, caches) = (Vec::new(), Vec::new());
    let broken = Request::Follow { accumulator: Accumulator::Binary32, program: 1, tensors, caches };
    let found = answers(&[
        ask(Request::Task { task: 0 }),
        (broken, b"{".to_vec()),
        follow(&[("i0", &one)]),
        ask(Request::Buffer { buffer: 0 }),
        ask(Request::Hello { oracle: "2".to_owned() }),
    ]);
    assert_eq!(message(&found[0]), "no launch is followed");
    assert!(message(&found[1]).starts_with("S01"), "{:?}", found[1]);
    assert!(message(&found[2]).contains("i0"), "{:?}", found[2]);
    assert_eq!(message(&found[3]), "no launch is followed");
    assert!(matches!(found[4].0, Answer::Hello { .. }));
}

#[test]
fn what_is_no_message_ends_it() {
    assert!(serve(&mut &b"nonsense\n"[..], &mut Vec::new()).is_err());
    assert!(serve(&mut &b""[..], &mut Vec::new()).is_ok());
}
