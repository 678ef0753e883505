//! Workers that execute, well or otherwise.

use std::collections::BTreeMap;
use std::path::Path;

use megakernel_ir::model::Program;
use megakernel_ir::protocol::{Accumulator, Answer, Execute, Facts, Hello, Launch, Profile, SourceFile};
use megakernel_ir::{BufferKind, DType, Rule, read};
use megakernel_numerics::{Stored, Tensor, TensorFile};

use nix::sys::signal::Signal;

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
                kernels: "0123456789abcdef".repeat(4),
                sharing: Some("a whole GPU, through MPS".to_owned()),
                threads_per_block: Some(64),
                fixed_threads: Some(false),
                seed: Some(u64::MAX),
                repeats: Some(2),
                delays: Some(true),
                undefined: Some("zeros".to_owned()),
                sources: vec![source("a.cuh", false), source("b.cu", true)],
                ..Facts::default()
            });
        }
        _ => {}
    }
    hello
}

fn source(name: &str, given: bool) -> SourceFile {
    SourceFile { name: name.to_owned(), sha256: "fedcba9876543210".repeat(4), given }
}

/// Executes a session, with what the behaviour does to it.
pub fn session(behaviour: &str, trace: &str, request: &Execute<'_>) -> Answer {
    let accept = Answer::Accept { diagnostics: Vec::new(), document: None };
    match behaviour {
        "executes-rejects" => return super::reject(Rule::M03),
        "executes-nothing" => return Answer::Unsupported { reason: "no GPU here".to_owned() },
        "executes-without-output" => return accept,
        "executes-crashes" => std::process::exit(101),
        "executes-hangs" => std::thread::sleep(super::FOR_EVER),
        "executes-trace-kills-idle-oracle" => super::follows::disturb(Signal::SIGKILL),
        "executes-trace-kills-oracle" => super::follows::disturb_always(Signal::SIGKILL),
        // Before the first answer, so that nothing is read yet that it changes.
        "executes-widens-bounds" => drop(spoil_files(behaviour, trace, request)),
        "executes-floods-below" | "executes-many-files" => {
            let session = request.launches[0].output.parent().expect("a directory");
            flood(behaviour, session).expect("a flood");
        }
        _ => {}
    }
    let mut caches = BTreeMap::new();
    for (n, launch) in request.launches.iter().enumerate() {
        if behaviour == "executes-forgetful" {
            caches.clear();
        }
        execute(behaviour, n, launch, &mut caches);
    }
    // What does not succeed has been done by another worker already.
    let _ = spoil_files(behaviour, trace, request);
    accept
}

/// What is done to files that are there, once all is written.
fn spoil_files(behaviour: &str, token: &str, request: &Execute<'_>) -> std::io::Result<()> {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let corpus = Path::new(token).parent().unwrap_or(Path::new(token));
    let Some(output) = request.launches.first().map(|launch| launch.output.as_path()) else { return Ok(()) };
    let session = output.parent().unwrap_or(output);
    let outer = session.parent().unwrap_or(session);
    // It would not be the only one to miss another directory.
    if !outer.file_name().is_some_and(|name| name.to_string_lossy().starts_with("megakernel-conform-")) {
        return Ok(());
    }
    match behaviour {
        "executes-removes-session" => fs::remove_dir_all(session)?,
        "executes-removes-all-sessions" => {
            // Its name is no secret to those who work in it.
            fs::set_permissions(outer, fs::Permissions::from_mode(0o700))?;
            fs::remove_dir_all(outer)?;
        }
        "executes-moves-session" => {
            fs::rename(session, outer.join("elsewhere"))?;
            symlink("/", session)?;
        }
        "executes-moves-all-sessions" => {
            fs::rename(outer, outer.with_extension("moved"))?;
            fs::create_dir(outer)?;
        }
        "executes-closes-session" => fs::set_permissions(session, fs::Permissions::from_mode(0o000))?,
        // Elsewhere is what it should have written here.
        "executes-link-to-file" => {
            let place = session.join("other");
            fs::rename(output, &place)?;
            symlink(place, output)?;
        }
        "executes-fifo" => fifo(output)?,
        "executes-flips-to-fifo" => {
            let (file, pipe) = (session.join("file"), session.join("pipe"));
            fs::copy(output, &file)?;
            fifo(&pipe)?;
            let output = output.to_owned();
            // As often as it can, while the runner reads.
            std::thread::spawn(move || {
                for name in ["a", "b"].iter().cycle() {
                    let link = output.with_extension(name);
                    let source = if *name == "a" { &pipe } else { &file };
                    if fs::hard_link(source, &link).and_then(|()| fs::rename(&link, &output)).is_err() {
                        let _ = fs::remove_file(&link);
                        if !output.parent().is_some_and(Path::exists) {
                            return;
                        }
                    }
                }
            });
        }
        // For the next time: any value is within such bounds. And the corpus goes after that.
        "executes-widens-bounds" => widen(corpus)?,
        "executes-removes-corpus" => fs::remove_dir_all(corpus)?,
        "executes-comes-back" => {
            let session = session.to_owned();
            std::thread::spawn(move || {
                loop {
                    let _ = fs::create_dir_all(&session).and_then(|()| fs::write(session.join("more"), "x"));
                }
            });
        }
        "executes-deep" => {
            let mut place = session.to_owned();
            std::env::set_current_dir(&place)?;
            for _ in 0..3000 {
                place = "d".into();
                fs::create_dir(&place)?;
                std::env::set_current_dir(&place)?;
            }
            std::env::set_current_dir("/")?;
        }
        _ => {}
    }
    Ok(())
}

fn fifo(path: &Path) -> std::io::Result<()> {
    let _ = std::fs::remove_file(path);
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU)?;
    Ok(())
}

/// Makes every bound of every file of references infinite.
fn widen(corpus: &Path) -> std::io::Result<()> {
    for entry in walkdir::WalkDir::new(corpus.join("tensors")) {
        let path = entry?.into_path();
        if path.to_string_lossy().ends_with(".expected.safetensors") {
            let mut file = TensorFile::read(&std::fs::read(&path)?).expect("references");
            for (name, stored) in &mut file.tensors {
                if let (true, Stored::F64 { values, .. }) = (name.contains(".bound"), stored) {
                    values.fill(f64::INFINITY);
                }
            }
            std::fs::write(&path, file.to_bytes().expect("references"))?;
        }
    }
    Ok(())
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

/// Writes until it is stopped, or far more than anybody can want: below a directory of its own, or in many files.
fn flood(behaviour: &str, session: &Path) -> std::io::Result<()> {
    let below = session.join("a/b/c");
    std::fs::create_dir_all(&below)?;
    if behaviour == "executes-floods-below" {
        return endless(&below.join("file"));
    }
    (0..1_000_000).try_for_each(|number: u32| std::fs::write(below.join(number.to_string()), ""))
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
        "executes-wrong-value" | "executes-widens-bounds" => *y = with(5, -3.0),
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
