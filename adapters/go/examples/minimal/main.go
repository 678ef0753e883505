// A worker that judges two rules: S06 and S07, the versions of a document (FMT-05). What it cannot read it does not judge.
package main

import (
	"encoding/json"
	"os"
	"regexp"

	"megakernel-conformance.invalid/adapter"
)

var version = regexp.MustCompile(`^0\.(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))?$`)

func validate(request adapter.Request) (adapter.Answer, error) {
	var document map[string]any
	if json.Unmarshal(request.Document, &document) != nil {
		return adapter.Unsupported("Go's reader does not read the document"), nil
	}
	var found []adapter.Diagnostic
	judge := func(rule, member string) {
		if text, is := document[member].(string); is && !version.MatchString(text) {
			found = append(found, adapter.Diagnostic{Rule: rule, Message: "version `" + text + "`", Pointer: "/" + member})
		}
	}
	judge("S06", "ir_version")
	judge("S07", "abi_version")
	if len(found) > 0 {
		return adapter.RejectAll(found...), nil
	}
	return adapter.Accept(), nil
}

func main() {
	worker := adapter.New("minimal-go", "0.1.0", "format")
	worker.Rules = []string{"S06", "S07"}
	worker.On("validate", validate)
	os.Exit(worker.Run())
}
