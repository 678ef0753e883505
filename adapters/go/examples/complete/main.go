// A worker that conforms to the profiles `format` and `launch` (spec/rules/launch.md), and executes programs of ADD over F32.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"megakernel-conformance.invalid/adapter"
)

// launchRules is L01 to L04: what the target cannot launch.
func launchRules(program *object) (found []adapter.Diagnostic) {
	broken := func(rule, message, pointer string) {
		found = append(found, adapter.Diagnostic{Rule: rule, Message: message, Pointer: pointer})
	}
	target, there := program.get("target").(*object)
	// Without a target, what it would limit is judged by the other limits alone.
	beyond := func(number int64, name string) bool { return there && number > value(target, name) }
	if config, there := program.get("config").(*object); there {
		smem, threads := value(config, "smem_bytes_per_block"), value(config, "threads_per_block")
		if smem < 0 || beyond(smem, "smem_bytes_per_block_optin") {
			broken("L01", fmt.Sprint(smem, " bytes of shared memory"), "/config/smem_bytes_per_block")
		}
		if threads < 1 || threads > 1024 || beyond(threads, "max_threads_per_sm") {
			broken("L02", fmt.Sprint(threads, " threads in a block"), "/config/threads_per_block")
		}
		assignment := inner(config, "sm_assignment")
		for _, task := range assignment.names {
			if sm := value(assignment, task); sm < 0 || beyond(sm, "num_sms") || target != nil && sm == value(target, "num_sms") {
				broken("L04", fmt.Sprint("there is no SM ", sm), "/config/sm_assignment/"+task)
			}
		}
	}
	if there && target.get("supports_cooperative") == false {
		broken("L03", "the target launches no cooperative grids", "/target/supports_cooperative")
	}
	return found
}

func judgeDocument(request adapter.Request) (adapter.Answer, error) {
	program, found := read(request.Document)
	if len(found) == 0 && request.Profile == "launch" {
		found = launchRules(program)
	}
	if len(found) > 0 {
		return adapter.RejectAll(found...), nil
	}
	if request.Method != "roundtrip" {
		return adapter.Accept(), nil
	}
	text, err := json.Marshal(program)
	return adapter.AcceptDocument(string(text)), err
}

// numbers are the integers of a member that is a list of ids or extents.
func numbers(record *object, name string) (found []int64) {
	for _, item := range list(record, name) {
		number, _ := integer(item)
		found = append(found, number)
	}
	return found
}

// contents is what the buffers hold before the launch (EXE-08).
func contents(buffers []any, launch adapter.Launch) ([][]float32, error) {
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
	for n, item := range buffers {
		buffer := item.(*object)
		kind, dtype := word(buffer, "kind"), word(buffer, "dtype")
		if kind == "KV_CACHE" || dtype != "F32" {
			return nil, errors.New("no caches, and no " + dtype)
		}
		name, count := word(buffer, "name"), int64(1)
		if source, is := buffer.get("source").(string); is && (kind == "WEIGHT" || kind == "CONST") {
			name = source
		}
		for _, extent := range numbers(buffer, "shape") {
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
func run(program *object, memory [][]float32) error {
	counters := make([]int64, len(list(program, "counters")))
	for left := list(program, "tasks"); len(left) > 0; {
		var later []any
		stuck := map[int64]bool{}
		for _, item := range left {
			task := item.(*object)
			sm, assigned := integer(task.get("sm"))
			ready := !assigned || !stuck[sm]
			for _, wait := range list(task, "waits") {
				wait := wait.(*object)
				ready = ready && counters[value(wait, "counter")] >= value(wait, "threshold")
			}
			if !ready {
				if assigned {
					stuck[sm] = true
				}
				later = append(later, task)
				continue
			}
			if word(task, "op") == "ADD" {
				inputs, outputs := numbers(task, "inputs"), numbers(task, "outputs")
				a, b := memory[inputs[0]], memory[inputs[1]]
				sum := make([]float32, len(a))
				for n := range sum {
					sum[n] = a[n] + b[n]
				}
				memory[outputs[0]] = sum
			}
			counters[value(task, "out_counter")]++
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
		program, found := read([]byte(launch.Document))
		if len(found) > 0 {
			return adapter.RejectAll(found...), nil
		}
		buffers := list(program, "buffers")
		memory, err := contents(buffers, launch)
		if err == nil {
			err = run(program, memory)
		}
		if err != nil {
			return adapter.Answer{}, err
		}
		outputs := map[string]adapter.Tensor{}
		for n, item := range buffers {
			if buffer := item.(*object); word(buffer, "kind") == "IO_OUTPUT" {
				outputs[word(buffer, "name")] = adapter.OfFloats(numbers(buffer, "shape"), memory[n])
			}
		}
		if err := adapter.WriteTensors(launch.Output, outputs); err != nil {
			return adapter.Answer{}, err
		}
	}
	return adapter.Accept(), nil
}

func main() {
	worker := adapter.New("complete-go", "0.1.0", "format", "launch", "execute")
	worker.Rules = []string{"L01", "L02", "L03", "L04"}
	for number := 1; number <= 22; number++ {
		worker.Rules = append(worker.Rules, fmt.Sprintf("S%02d", number))
	}
	worker.EveryRule = true
	worker.Opcodes = []string{"NOP", "ADD"}
	worker.Dtypes = []string{"F32"}
	worker.On("validate", judgeDocument)
	worker.On("roundtrip", judgeDocument)
	worker.On("execute", execute)
	os.Exit(worker.Run())
}
