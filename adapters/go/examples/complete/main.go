// A worker that conforms to the profile `launch` (spec/rules/launch.md), and executes programs of ADD over F32.
//
// It judges no structure rule, and says so in the handshake; what Go's reader does not read it answers with `unsupported`.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"

	"megakernel-conformance.invalid/adapter"
)

// Go fits members into structures without regard to case, and FMT-03 does not: so members are asked for by name.
type object map[string]json.RawMessage

// get is the member of this type; the zero value where it is absent, null, or of another type.
func get[T any](from object, name string) (value T) {
	if json.Unmarshal(from[name], &value) != nil {
		var none T
		return none
	}
	return value
}

// beyond says whether there is a limit, and it is exceeded.
func beyond(value int64, limit *int64) bool { return limit != nil && value > *limit }

// launchRules is L01 to L04: what the target cannot launch. Of an object that is not there, no member is.
func launchRules(target, config object) (found []adapter.Diagnostic) {
	broken := func(rule, message, pointer string) {
		found = append(found, adapter.Diagnostic{Rule: rule, Message: message, Pointer: pointer})
	}
	if config != nil {
		smem := get[int64](config, "smem_bytes_per_block")
		if smem < 0 || beyond(smem, get[*int64](target, "smem_bytes_per_block_optin")) {
			broken("L01", fmt.Sprint(smem, " bytes of shared memory"), "/config/smem_bytes_per_block")
		}
		threads := int64(256)
		if given := get[*int64](config, "threads_per_block"); given != nil {
			threads = *given
		}
		if threads < 1 || threads > 1024 || beyond(threads, get[*int64](target, "max_threads_per_sm")) {
			broken("L02", fmt.Sprint(threads, " threads in a block"), "/config/threads_per_block")
		}
		assignment := get[map[string]int64](config, "sm_assignment") // none where it is the name of a strategy
		tasks := make([]string, 0, len(assignment))
		for task := range assignment {
			tasks = append(tasks, task)
		}
		sort.Strings(tasks)
		for _, task := range tasks {
			if sm := assignment[task]; sm < 0 || target != nil && sm >= get[int64](target, "num_sms") {
				broken("L04", fmt.Sprint("there is no SM ", sm), "/config/sm_assignment/"+task)
			}
		}
	}
	if cooperative := get[*bool](target, "supports_cooperative"); cooperative != nil && !*cooperative {
		broken("L03", "the target launches no cooperative grids", "/target/supports_cooperative")
	}
	return found
}

func validate(request adapter.Request) (adapter.Answer, error) {
	var document object
	if err := json.Unmarshal(request.Document, &document); err != nil {
		return adapter.Unsupported("Go's reader does not read the document: " + err.Error()), nil
	}
	if found := launchRules(get[object](document, "target"), get[object](document, "config")); len(found) > 0 {
		return adapter.RejectAll(found...), nil
	}
	return adapter.Accept(), nil
}

// contents is what the buffers hold before the launch (EXE-08).
func contents(buffers []object, launch adapter.Launch) ([][]float32, error) {
	bound := map[string]adapter.Tensor{}
	for _, path := range launch.Tensors {
		read, err := adapter.ReadTensors(path)
		if err != nil {
			return nil, err
		}
		for name, tensor := range read {
			bound[name] = tensor
		}
	}
	memory := make([][]float32, len(buffers))
	for n, buffer := range buffers {
		kind, dtype := get[string](buffer, "kind"), get[string](buffer, "dtype")
		if kind == "KV_CACHE" || dtype != "F32" {
			return nil, errors.New("no caches, and no " + dtype)
		}
		name, count := get[string](buffer, "name"), int64(1)
		if source := get[*string](buffer, "source"); source != nil && (kind == "WEIGHT" || kind == "CONST") {
			name = *source
		}
		for _, extent := range get[[]int64](buffer, "shape") {
			count *= extent
		}
		memory[n] = make([]float32, count)
		if tensor, there := bound[name]; there && kind != "ACTIVATION" && kind != "IO_OUTPUT" {
			values, err := tensor.Floats()
			if err != nil {
				return nil, err
			}
			memory[n] = values
		}
	}
	return memory, nil
}

// run runs the tasks that are ready, in order of the list, until none is left: so the tasks of one SM run in theirs (EXE-01, EXE-02).
func run(program object, memory [][]float32) error {
	counters := make([]int, len(get[[]object](program, "counters")))
	for left := get[[]object](program, "tasks"); len(left) > 0; {
		var later []object
		stuck := map[int]bool{}
		for _, task := range left {
			sm := get[*int](task, "sm")
			ready := sm == nil || !stuck[*sm]
			for _, wait := range get[[]object](task, "waits") {
				ready = ready && counters[get[int](wait, "counter")] >= get[int](wait, "threshold")
			}
			if !ready {
				if sm != nil {
					stuck[*sm] = true
				}
				later = append(later, task)
				continue
			}
			if get[string](task, "op") == "ADD" {
				inputs := get[[]int](task, "inputs")
				a, b := memory[inputs[0]], memory[inputs[1]]
				sum := make([]float32, len(a))
				for n := range sum {
					sum[n] = a[n] + b[n]
				}
				memory[get[[]int](task, "outputs")[0]] = sum
			}
			counters[get[int](task, "out_counter")]++
		}
		if len(later) == len(left) {
			return errors.New("the tasks wait for each other")
		}
		left = later
	}
	return nil
}

func execute(request adapter.Request) (adapter.Answer, error) {
	for _, launch := range request.Launches {
		var program object
		if err := json.Unmarshal([]byte(launch.Document), &program); err != nil {
			return adapter.Unsupported(err.Error()), nil
		}
		buffers := get[[]object](program, "buffers")
		memory, err := contents(buffers, launch)
		if err == nil {
			err = run(program, memory)
		}
		if err != nil {
			return adapter.Answer{}, err
		}
		outputs := map[string]adapter.Tensor{}
		for n, buffer := range buffers {
			if get[string](buffer, "kind") == "IO_OUTPUT" {
				outputs[get[string](buffer, "name")] = adapter.OfFloats(get[[]int64](buffer, "shape"), memory[n])
			}
		}
		if err := adapter.WriteTensors(launch.Output, outputs); err != nil {
			return adapter.Answer{}, err
		}
	}
	return adapter.Accept(), nil
}

func main() {
	worker := adapter.New("complete-go", "0.1.0", "launch", "execute")
	worker.Rules = []string{"L01", "L02", "L03", "L04"}
	worker.EveryRule = true
	worker.Opcodes = []string{"NOP", "ADD"}
	worker.Dtypes = []string{"F32"}
	worker.On("validate", validate)
	worker.On("execute", execute)
	os.Exit(worker.Run())
}
