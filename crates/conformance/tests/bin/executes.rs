//! Workers that execute, well or otherwise.

use std::collections::BTreeMap;
use std::path::Path;

use megakernel_ir::model::Program;
use megakernel_ir::protocol::{Accumulator, Answer, Execute, Facts, Hello, Launch, Profile};
use megakernel_ir::{BufferKind, DType, Rule, read};
use megakernel_numerics::{Stored, Tensor, TensorFile};

use super::arithmetic::{memory, tensor, values};

/// The handshake of a behaviour.
pub fn hello(behaviour: &str) -> Hello {
    let mut hello = Hello::new("test-vm", "1", &[Profile::EXECUTE]);
    hello.trace = behaviour.contains("trace");
    match behaviour {
        "executes-only-add" => hello.opcodes = vec!["ADD".to_owned(), "SUB".to_owned()],
        "executes-only-f32" => hello.dtypes = vec!["F32".to_owned(), "I32".to_owned()],
        "executes-truncating" => hello.accumulator = Accumulator::Truncating,
        "executes-on-device" | "executes-on-device-wrong" => {
            hello.device = Some(Facts {
                name: "Lab GPU".to_owned(),
                target: "sm_80".to_owned(),
                driver: Some("1.2".to_owned()),
                toolkit: None,
                kernels: "0123456789abcdef".repeat(4),
            });
        }
        _ => {}
    }
    hello
}

/// Executes a session, with what the behaviour does to it.
pub fn session(behaviour: &str, request: &Execute<'_>) -> Answer {
    let accept = Answer::Accept { diagnostics: Vec::new(), document: None };
    match behaviour {
        "executes-rejects" => return super::reject(Rule::M03),
        "executes-nothing" => return Answer::Unsupported { reason: "no GPU here".to_owned() },
        "executes-without-output" => return accept,
        "executes-crashes" => std::process::exit(101),
        "executes-hangs" => std::thread::sleep(super::FOR_EVER),
        _ => {}
    }
    let mut caches = BTreeMap::new();
    for (n, launch) in request.launches.iter().enumerate() {
        if behaviour == "executes-forgetful" {
            caches.clear();
        }
        execute(behaviour, n, launch, &mut caches);
    }
    accept
}

fn execute(behaviour: &str, n: usize, launch: &Launch<'_>, caches: &mut BTreeMap<String, Tensor>) {
    let program = read(launch.document.as_bytes()).expect("a program");
    let mut bound = caches.clone();
    for path in &launch.tensors {
        // The name of a file must not tell what it belongs to.
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(path.is_absolute() && name.starts_with("input-"), "{name}");
        let file = TensorFile::read(&std::fs::read(path).expect("the file is there")).expect("tensors");
        bound.extend(file.tensors.into_iter().filter_map(|(name, stored)| match stored {
            Stored::Buffer(tensor) => Some((name, tensor)),
            Stored::F64 { .. } => None,
        }));
    }
    let mut memory = memory(&program, &bound);
    let mut trace = TensorFile::default();
    for task in 0..program.tasks.len() {
        let Some((buffer, mut values)) = values(&program, &memory, task) else { continue };
        let label: &str = &program.tasks[task].label;
        match (behaviour, label) {
            ("executes-trace-wrong-task" | "executes-wrong-task" | "executes-on-device-wrong", "sum")
                if n == 1 =>
            {
                values[4] += 1.0
            }
            ("executes-truncating" | "executes-imprecise", "product") => values[0] += 0.05,
            _ => {}
        }
        let written = tensor(&memory[buffer], &values);
        let said = match (behaviour, label) {
            // The truth in the output, something else in the trace.
            ("executes-trace-lie", "product") => tensor(&written, &[0.0; 6]),
            ("executes-trace-wrong-shape", "product") => {
                Tensor { shape: vec![written.shape.iter().product()], ..written.clone() }
            }
            _ => written.clone(),
        };
        if !(behaviour == "executes-trace-incomplete" && label == "cache") {
            trace.tensors.insert(task.to_string(), Stored::Buffer(said));
        }
        memory[buffer] = written;
    }
    let mut output = TensorFile::default();
    for (buffer, contents) in program.buffers.iter().zip(&memory) {
        if buffer.kind == BufferKind::KvCache {
            caches.insert(buffer.name.to_string(), contents.clone());
        }
        if matches!(buffer.kind, BufferKind::KvCache | BufferKind::IoOutput) {
            output.tensors.insert(buffer.name.to_string(), Stored::Buffer(contents.clone()));
        }
    }
    spoil(behaviour, &program, &mut output);
    write(behaviour, &launch.output, &output.to_bytes().expect("a file of tensors"));
    if let Some(path) = launch.trace.as_ref().filter(|_| behaviour != "executes-trace-without-file") {
        std::fs::write(path, trace.to_bytes().expect("a file of tensors")).expect("a file");
    }
}

/// What is done to the tensors of the output.
fn spoil(behaviour: &str, program: &Program<'_>, output: &mut TensorFile) {
    let Some(Stored::Buffer(y)) = output.tensors.get_mut("y") else { return };
    let with = |index: usize, value: f64| {
        let mut reals = y.reals();
        let last = reals.len() - 1;
        reals[index.min(last)] = value;
        tensor(y, &reals)
    };
    match behaviour {
        "executes-nan" => *y = with(4, f64::NAN),
        "executes-infinity" => *y = with(1, f64::INFINITY),
        "executes-wrong-value" => *y = with(5, -3.0),
        // Contradicts the trace, but is within the bound.
        "executes-trace-other-output" => *y = with(0, y.reals()[0] * 1.000_001),
        // The sign of the NaN that the case of one task has.
        "executes-trace-other-nan" if y.dtype == DType::BF16 => y.bytes[5] ^= 0x80,
        "executes-wrong-shape" => y.shape.reverse(),
        "executes-wrong-dtype" => {
            *y = Tensor::from_reals(DType::F16, y.shape.clone(), &y.reals()).expect("F16")
        }
        "executes-without-tensor" => drop(output.tensors.remove("y")),
        "executes-wrong-integer" => {
            if let Some(Stored::Buffer(n)) = output.tensors.get_mut("n") {
                *n = tensor(n, &[1.0]);
            }
        }
        // A buffer that nobody asked for, and one that no program has.
        "executes-and-tells-more" => {
            let reals = Stored::F64 { shape: vec![2], values: vec![1.0, 2.0] };
            output.tensors.insert(program.buffers[0].name.to_string(), reals.clone());
            output.tensors.insert("scratch".to_owned(), reals);
        }
        _ => {}
    }
}

/// What is done to the file of the output.
fn write(behaviour: &str, path: &Path, bytes: &[u8]) {
    let done = match behaviour {
        "executes-without-file" => Ok(()),
        "executes-truncated" => std::fs::write(path, &bytes[..bytes.len() - 5]),
        "executes-cut-header" => std::fs::write(path, &bytes[..20]),
        "executes-empty" => std::fs::write(path, b""),
        "executes-garbage" => std::fs::write(path, b"y = [1.0, 2.0, 3.0]\n"),
        "executes-directory" => std::fs::create_dir(path),
        "executes-link" => std::os::unix::fs::symlink("/dev/zero", path),
        // Takes no space on the disk, and a long time to read.
        "executes-huge" => std::fs::File::create(path).and_then(|file| file.set_len(1 << 40)),
        "executes-endless" => endless(path),
        "executes-unknown-type" => std::fs::write(path, with_unknown_type(bytes)),
        _ => std::fs::write(path, bytes),
    };
    done.expect("a file");
}

/// Writes until it is stopped, or far more than anybody can want.
fn endless(path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    let zeros = vec![0; 1 << 20];
    (0..4096).try_for_each(|_| std::io::Write::write_all(&mut file, &zeros))
}

/// Adds an empty tensor of a type that no buffer has.
fn with_unknown_type(bytes: &[u8]) -> Vec<u8> {
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
    let header = std::str::from_utf8(&rest[..length]).expect("JSON").trim_end();
    let header = format!(r#"{{"more":{{"dtype":"I64","shape":[0],"data_offsets":[0,0]}},{}"#, &header[1..]);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &rest[length..]].concat()
}
