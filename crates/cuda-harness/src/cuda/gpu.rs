//! The CUDA driver, which is loaded when it is first needed. All calls into it are here.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Display;
use std::path::PathBuf;
use std::ptr;

use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute, CUresult,
};

/// Whether there is a driver.
pub fn present() -> bool {
    // SAFETY: loads the driver's library, as any program that uses it does, and has no other effect.
    unsafe { sys::is_culib_present() }
}

fn check(result: CUresult, what: impl Display) -> Result<(), String> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text: *const c_char = ptr::null();
    // SAFETY: the driver sets the pointer to a string of its own, or leaves it null.
    let known =
        unsafe { sys::cuGetErrorString(result, &mut text) } == CUresult::CUDA_SUCCESS && !text.is_null();
    // SAFETY: a string of the driver ends with 0, and lasts as long as the driver.
    let text = if known { unsafe { CStr::from_ptr(text) }.to_string_lossy() } else { "unknown".into() };
    Err(format!("{what}: {result:?}: {text}"))
}

/// A GPU.
#[derive(Clone, Copy, Debug)]
pub struct Gpu {
    device: sys::CUdevice,
    number: i32,
}

impl Gpu {
    /// The GPU of a number, or whose UUID is or begins with a text; the first where none is named. They are those that
    /// `CUDA_VISIBLE_DEVICES` leaves. The driver has to be [`present`].
    ///
    /// # Errors
    /// The driver does not start, or has no such GPU.
    pub fn named(name: Option<&str>) -> Result<Gpu, String> {
        // SAFETY: may be called at any time, any number of times.
        check(unsafe { sys::cuInit(0) }, "the driver does not start")?;
        let mut count = 0;
        // SAFETY: the driver has been started, and `count` is there to be written.
        check(unsafe { sys::cuDeviceGetCount(&mut count) }, "there is no GPU")?;
        let name = name.unwrap_or("0");
        let mut found = Vec::new();
        for number in 0..count {
            let mut device = 0;
            // SAFETY: the driver has been started, and `device` is there to be written.
            check(unsafe { sys::cuDeviceGet(&mut device, number) }, "there is no GPU")?;
            let gpu = Gpu { device, number };
            if name.parse() == Ok(number) {
                return Ok(gpu);
            }
            let uuid = gpu.uuid().unwrap_or_default();
            let plain = |text: &str| {
                text.to_lowercase().trim_start_matches("gpu-").trim_start_matches("mig-").to_owned()
            };
            let part = plain(name);
            // What could be a number, or says nothing, is no part of a UUID.
            if name.len() > 3 && !part.is_empty() && plain(&uuid).starts_with(&part) {
                return Ok(gpu);
            }
            found.push(format!("{number} {uuid} {}", gpu.name()));
        }
        Err(match found.as_slice() {
            [] => "there is no GPU".to_owned(),
            found => format!("no GPU is called `{name}`; there are: {}", found.join("; ")),
        })
    }

    /// Its number among those that this process sees.
    pub fn number(self) -> i32 {
        self.number
    }

    /// The fastest that its clocks go, in words.
    pub fn clocks(self) -> Option<String> {
        let megahertz = |attribute| self.attribute(attribute).ok().map(|kilohertz| kilohertz / 1000);
        let sm = megahertz(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        let memory = megahertz(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
        let corrects = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED) == Ok(1);
        let corrects = if corrects { "on" } else { "off" };
        Some(format!("SMs at most {sm} MHz, memory at most {memory} MHz, ECC {corrects}"))
    }

    /// Whether this is a whole GPU or a part of one (MIG), and whether other processes' kernels run beside ours (MPS).
    pub fn sharing(self) -> Option<String> {
        // Where NVIDIA's daemon listens unless it is told otherwise.
        let usual = || ["/", "tmp", "nvidia-mps"].iter().collect();
        let pipe: PathBuf = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").map_or_else(usual, PathBuf::from);
        let served = pipe.join("control").exists();
        let part = if self.is_part() { "a part of a GPU (MIG)" } else { "a whole GPU" };
        Some(format!("{part}, {}", if served { "through MPS" } else { "without MPS" }))
    }

    /// Whether it is a part of a divided GPU.
    fn is_part(self) -> bool {
        self.name().contains(" MIG ")
    }

    /// As the driver calls it.
    pub fn name(self) -> String {
        let mut name = [0u8; 256];
        // SAFETY: the driver writes at most the given number of bytes, and ends them with 0.
        let result = unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), 255, self.device) };
        let name = CStr::from_bytes_until_nul(&name).ok().filter(|_| result == CUresult::CUDA_SUCCESS);
        name.map_or_else(|| "a GPU without a name".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// The version of CUDA that the driver is made for, such as 13000.
    pub fn driver_version() -> i32 {
        let mut version = 0;
        // SAFETY: `version` is there to be written; where the call fails, it stays 0.
        let _ = unsafe { sys::cuDriverGetVersion(&mut version) };
        version
    }

    /// The number that no other device has, as tools of the system show it; of a part of a divided GPU, that of the part.
    pub fn uuid(self) -> Option<String> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: the device is one of the driver's, and `uuid` is there to be written.
        let result = unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, self.device) };
        let digits: String = uuid.bytes.iter().map(|byte| format!("{:02x}", byte.cast_unsigned())).collect();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default());
        let kind = if self.is_part() { "MIG" } else { "GPU" };
        (result == CUresult::CUDA_SUCCESS).then(|| format!("{kind}-{}", parts.join("-")))
    }

    fn attribute(self, attribute: Attribute) -> Result<i32, String> {
        let mut value = 0;
        // SAFETY: the device is one of the driver's, and `value` is there to be written.
        let result = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.device) };
        check(result, format_args!("{attribute:?}")).map(|()| value)
    }

    /// Its compute capability.
    pub fn capability(self) -> Result<(i32, i32), String> {
        Ok((
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    /// Number of SMs.
    pub fn sms(self) -> Result<usize, String> {
        let sms = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        Ok(usize::try_from(sms).unwrap_or_default())
    }

    /// Bytes of shared memory that a block can have at most, if it asks for them.
    pub fn shared_bytes(self) -> Result<u64, String> {
        let bytes = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    /// Bytes of its memory that are free. The GPU has to be active.
    pub fn free_bytes(self) -> Result<usize, String> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both numbers are there to be written.
        check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, "its free memory").map(|()| free)
    }

    /// Whether it can launch blocks that are all resident at once.
    pub fn is_cooperative(self) -> Result<bool, String> {
        Ok(self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0)
    }

    /// Makes this the GPU of the calling thread, for good. Nothing below works before.
    pub fn activate(self) -> Result<(), String> {
        let mut context = ptr::null_mut();
        // SAFETY: the device is one of the driver's; its context is never given back, so that it lasts.
        let made = unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, self.device) };
        // 3 is CU_COMPUTEMODE_EXCLUSIVE_PROCESS; it is asked for only where it explains something.
        let exclusive = made != sys::CUresult::CUDA_SUCCESS
            && self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == Ok(3);
        check(
            made,
            if exclusive {
                "the GPU is in exclusive mode, in which one process at a time uses it (--jobs 1 of the runner asks for no more)"
            } else {
                "the GPU has no context"
            },
        )?;
        // SAFETY: the context has just been made.
        check(unsafe { sys::cuCtxSetCurrent(context) }, "the context cannot be used")
    }
}

/// A kernel of a CUBIN.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    function: sys::CUfunction,
}

/// A CUBIN on the GPU; it is never unloaded.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    module: sys::CUmodule,
}

impl Module {
    /// Loads a CUBIN.
    ///
    /// # Errors
    /// It is for another GPU or for a newer driver, or is none.
    pub fn load(mut cubin: Vec<u8>) -> Result<Module, String> {
        // The driver finds the size of a CUBIN in it; where it is no CUBIN, it may be text, which ends with 0.
        cubin.push(0);
        let mut module = ptr::null_mut();
        // SAFETY: the bytes outlive the call, which copies what it needs.
        let result = unsafe { sys::cuModuleLoadData(&mut module, cubin.as_ptr().cast()) };
        check(result, "the driver does not load the CUBIN").map(|()| Module { module })
    }

    /// The kernel of a name.
    pub fn kernel(self, name: &str) -> Result<Kernel, String> {
        let mut function = ptr::null_mut();
        let text = CString::new(name).map_err(|_| "the name of a kernel has a byte 0".to_owned())?;
        // SAFETY: the module is never unloaded, and the name ends with 0.
        let result = unsafe { sys::cuModuleGetFunction(&mut function, self.module, text.as_ptr()) };
        check(result, format_args!("the CUBIN has no kernel `{name}`")).map(|()| Kernel { function })
    }
}

impl Kernel {
    /// Threads that a block can have at most.
    pub fn most_threads(self) -> Result<u32, String> {
        let (mut value, which) = (0, FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        // SAFETY: the kernel's module is never unloaded, and `value` is there to be written.
        check(unsafe { sys::cuFuncGetAttribute(&mut value, which, self.function) }, "the kernel")?;
        Ok(u32::try_from(value).unwrap_or_default())
    }

    /// Lets blocks have that many bytes of dynamic shared memory.
    pub fn allow_shared(self, bytes: u32) -> Result<(), String> {
        let which = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the kernel's module is never unloaded.
        let result = unsafe { sys::cuFuncSetAttribute(self.function, which, bytes.cast_signed()) };
        check(result, format_args!("{bytes} bytes of shared memory"))
    }

    /// How many blocks of so many threads and bytes of shared memory an SM holds at once.
    pub fn blocks_per_sm(self, threads: u32, shared: u32) -> Result<usize, String> {
        let mut blocks = 0;
        // SAFETY: the kernel's module is never unloaded, and `blocks` is there to be written.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.function,
                threads.cast_signed(),
                shared as usize,
            )
        };
        check(result, "the occupancy of the kernel")?;
        Ok(usize::try_from(blocks).unwrap_or_default())
    }
}

/// Memory of the GPU.
#[derive(Debug)]
pub struct Memory {
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Memory {
    /// Allocates at least a byte.
    pub fn new(bytes: usize) -> Result<Memory, String> {
        let mut address = 0;
        // SAFETY: `address` is there to be written.
        let result = unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1)) };
        check(result, format_args!("{bytes} bytes of memory")).map(|()| Memory { address, bytes })
    }

    /// Where it lies on the GPU.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once. Kernels that use it are over: `Stream::launch` says so.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Memory of the host that the GPU sees. It is never freed.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    host: *mut u8,
    device: sys::CUdeviceptr,
    bytes: usize,
}

impl Shared {
    /// Allocates at least a byte, all of them 0.
    pub fn new(bytes: usize) -> Result<Shared, String> {
        let mut host: *mut c_void = ptr::null_mut();
        // SAFETY: `host` is there to be written.
        let result = unsafe { sys::cuMemHostAlloc(&mut host, bytes.max(1), sys::CU_MEMHOSTALLOC_DEVICEMAP) };
        check(result, format_args!("{bytes} bytes of pinned memory"))?;
        let mut device = 0;
        // SAFETY: the memory was allocated just now, to be seen by the GPU.
        let result = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut device, host, 0) };
        check(result, "the GPU does not see pinned memory")?;
        let shared = Shared { host: host.cast(), device, bytes };
        shared.fill(0);
        Ok(shared)
    }

    /// Where the GPU sees it.
    pub fn address(self) -> u64 {
        self.device
    }

    /// How large it is.
    pub fn len(self) -> usize {
        self.bytes
    }

    /// Sets all bytes.
    pub fn fill(self, byte: u8) {
        for at in 0..self.bytes {
            // SAFETY: within the allocation, which lasts. A kernel may write at the same time, hence volatile.
            unsafe { self.host.add(at).write_volatile(byte) };
        }
    }

    /// The bytes as they are now.
    pub fn read(self) -> Vec<u8> {
        // SAFETY: within the allocation, which lasts. A kernel may write at the same time, hence volatile.
        (0..self.bytes).map(|at| unsafe { self.host.add(at).read_volatile() }).collect()
    }
}

/// An argument of a kernel: its bytes, as they are passed.
pub type Argument = Vec<u64>;

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something runs.
    Runs,
    /// All is done that was begun.
    Done,
    /// The driver has ended a kernel that ran for longer than it permits, as it does on a GPU with a display. Nothing works
    /// after that in this process.
    Ended,
}

/// Work that the GPU does in order, beside that of other streams.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    stream: sys::CUstream,
}

impl Stream {
    /// A stream that waits for no other.
    pub fn new() -> Result<Stream, String> {
        let mut stream = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: `stream` is there to be written.
        check(unsafe { sys::cuStreamCreate(&mut stream, flags) }, "a stream").map(|()| Stream { stream })
    }

    /// Waits for all that was begun.
    pub fn wait(self, what: &str) -> Result<(), String> {
        // SAFETY: streams are never destroyed.
        check(unsafe { sys::cuStreamSynchronize(self.stream) }, what)
    }

    /// Sets all bytes.
    pub fn fill(self, memory: &Memory, byte: u8) -> Result<(), String> {
        // SAFETY: within the allocation, which lasts until the stream is done.
        let result = unsafe { sys::cuMemsetD8Async(memory.address, byte, memory.bytes, self.stream) };
        check(result, "a fill of memory")?;
        self.wait("a fill of memory")
    }

    /// Copies to the GPU, and waits for it.
    pub fn write(self, to: &Memory, bytes: &[u8]) -> Result<(), String> {
        self.write_at(to, 0, bytes)
    }

    /// The same into the middle of an allocation; what does not fit is left out.
    pub fn write_at(self, to: &Memory, at: usize, bytes: &[u8]) -> Result<(), String> {
        let size = bytes.len().min(to.bytes.saturating_sub(at));
        if size == 0 {
            return Ok(());
        }
        let address = to.address + at as u64;
        // SAFETY: both are as large, and last until the copy is over.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), size, self.stream) };
        check(result, "a copy to the GPU")?;
        self.wait("a copy to the GPU")
    }

    /// Copies from the GPU, and waits for it.
    pub fn read(self, bytes: &mut [u8], from: &Memory) -> Result<(), String> {
        self.read_at(bytes, from, 0)
    }

    /// The same from the middle of an allocation.
    pub fn read_at(self, bytes: &mut [u8], from: &Memory, at: usize) -> Result<(), String> {
        let size = bytes.len().min(from.bytes.saturating_sub(at));
        if size == 0 {
            return Ok(());
        }
        let address = from.address + at as u64;
        // SAFETY: both are as large, and last until the copy is over.
        let result =
            unsafe { sys::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, size, self.stream) };
        check(result, "a copy from the GPU")?;
        self.wait("a copy from the GPU")
    }

    /// Begins a copy of pinned memory to the GPU.
    pub fn begin_write(self, to: &Memory, from: Shared) -> Result<(), String> {
        let size = from.bytes.min(to.bytes);
        // SAFETY: both are as large; pinned memory is never freed, and `to` not before the stream is done.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to.address, from.host.cast(), size, self.stream) };
        check(result, "a copy to the GPU")
    }

    /// How far what was begun has come.
    ///
    /// # Errors
    /// A kernel has gone wrong. Nothing works after that in this process.
    pub fn progress(self) -> Result<Progress, String> {
        // SAFETY: streams are never destroyed.
        match unsafe { sys::cuStreamQuery(self.stream) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(Progress::Runs),
            CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => Ok(Progress::Ended),
            other => check(other, "the GPU stopped").map(|()| Progress::Done),
        }
    }

    /// Launches a kernel, cooperatively: all blocks are resident, or there is an error. The arguments have to be those of
    /// the kernel, and the memory that they point to has to last until the stream is done.
    pub fn launch(
        self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        shared: u32,
        mut arguments: Vec<Argument>,
    ) -> Result<(), String> {
        let mut pointers: Vec<*mut c_void> =
            arguments.iter_mut().map(|argument| argument.as_mut_ptr().cast()).collect();
        // SAFETY: the driver reads as many arguments as the kernel has, of which the callers pass all, before it returns. What
        // the kernel does in memory of the GPU cannot harm memory of this process, except what is `Shared`, which lasts.
        let result = unsafe {
            sys::cuLaunchCooperativeKernel(
                kernel.function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared,
                self.stream,
                pointers.as_mut_ptr(),
            )
        };
        check(result, "the launch")
    }
}
