// A worker that makes the mistakes that its documents name, and says what bytes it was given: for tests of the library.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"megakernel-conformance.invalid/adapter"
)

func validate(request adapter.Request) (adapter.Answer, error) {
	switch string(request.Document) {
	case "throw":
		return adapter.Answer{}, errors.New("thrown on purpose")
	case "panic":
		panic("a panic on purpose")
	case "silent":
		return adapter.Answer{}, errors.New("")
	case "long": // each character is six bytes of the line
		return adapter.Reject("S01", strings.Repeat("\x01", 1<<26/6), ""), nil
	case "bytes":
		witness := map[string]any{"texts": []string{"\xff"}}
		return adapter.RejectAll(adapter.Diagnostic{Rule: "S01", Message: "no", Witness: witness}), nil
	case "unsupported bytes":
		return adapter.Unsupported("\xff"), nil
	case "name":
		one := adapter.OfFloats(nil, []float32{1})
		return adapter.Accept(), adapter.WriteTensors(os.DevNull, map[string]adapter.Tensor{"\xff": one})
	case "nothing":
		return adapter.RejectAll(), nil
	case "both":
		return adapter.Accept(adapter.Diagnostic{Rule: "S01", Severity: "error", Message: "no"}), nil
	case "print":
		fmt.Println("this is no message")
		return adapter.Accept(), nil
	}
	return adapter.Reject("S01", fmt.Sprintf("%x", request.Document), ""), nil
}

func roundtrip(request adapter.Request) (adapter.Answer, error) {
	if string(request.Document) == "nothing" {
		return adapter.Accept(), nil
	}
	return adapter.AcceptDocument(string(request.Document)), nil
}

func execute(request adapter.Request) (adapter.Answer, error) {
	for _, launch := range request.Launches {
		read, err := adapter.ReadTensors(launch.Tensors[0])
		if err != nil {
			return adapter.Answer{}, err
		}
		values, err := read["x"].Floats()
		if err != nil {
			return adapter.Answer{}, err
		}
		for n := range values {
			values[n] += values[n]
		}
		y := adapter.OfFloats(read["x"].Shape, values)
		if err := adapter.WriteTensors(launch.Output, map[string]adapter.Tensor{"y": y}); err != nil {
			return adapter.Answer{}, err
		}
		if launch.Trace != "" {
			if err := adapter.WriteTensors(launch.Trace, read); err != nil {
				return adapter.Answer{}, err
			}
		}
	}
	return adapter.Accept(), nil
}

func main() {
	worker := adapter.New("careless", "1", "format", "execute")
	worker.Rules = []string{}
	worker.Opcodes = []string{"ADD"}
	worker.On("validate", validate)
	worker.On("roundtrip", roundtrip)
	worker.On("execute", execute)
	os.Exit(worker.Run())
}
