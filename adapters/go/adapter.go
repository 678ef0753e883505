// Package adapter is the worker's side of the protocol of the megakernel conformance suite (CON-02, CON-03): handshake, loop, tensors.
// It needs the standard library only.
//
//	worker := adapter.New("my-validator", "0.3", "format")
//	worker.Rules = []string{"S01"}
//	worker.On("validate", func(request adapter.Request) (adapter.Answer, error) {
//		if mine.Accepts(request.Document) {
//			return adapter.Accept(), nil
//		}
//		return adapter.Reject("S01", "it is no JSON", ""), nil
//	})
//	os.Exit(worker.Run())
package adapter

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Version of this package, which is that of the suite.
const Version = "0.1.0"

// Protocol is the version that is spoken (CON-02).
const Protocol = "1.0"

const longestLine = 64 << 20 // bytes of a line, which the runner reads at most (CON-04)

// Launch is one launch of a session (CON-11). The paths are absolute; Trace is empty where none is asked for.
type Launch struct {
	Document      string
	Tensors       []string
	Output, Trace string
}

// Request is what is asked. Document has the bytes, whichever way they came; it is empty for `execute`, which has Launches.
type Request struct {
	ID              int64
	Method, Profile string
	Document        []byte
	Launches        []Launch
	Members         map[string]json.RawMessage // all members, as they came
}

// Diagnostic is a finding (CON-10). `RejectAll` takes an empty Severity for `error`.
type Diagnostic struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Pointer  string `json:"pointer"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Tasks    []int  `json:"tasks,omitempty"`
	Counters []int  `json:"counters,omitempty"`
	Buffers  []int  `json:"buffers,omitempty"`
	Witness  any    `json:"witness,omitempty"`
}

// Answer is an answer without the id: made by Accept, AcceptDocument, Reject, RejectAll and Unsupported.
type Answer struct {
	Outcome     string       `json:"outcome"`
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
	Document    *string      `json:"document,omitempty"`
	Reason      string       `json:"reason,omitempty"`
}

// Accept says that nothing is wrong, beside warnings.
func Accept(warnings ...Diagnostic) Answer { return Answer{Outcome: "accept", Diagnostics: warnings} }

// AcceptDocument has the text that a round trip, or another method that writes one, came to.
func AcceptDocument(document string) Answer { return Answer{Outcome: "accept", Document: &document} }

// Reject says that a rule is broken, and where: a JSON pointer.
func Reject(rule, message, pointer string) Answer {
	return RejectAll(Diagnostic{Rule: rule, Message: message, Pointer: pointer})
}

// RejectAll says which rules are broken.
func RejectAll(found ...Diagnostic) Answer {
	found = append([]Diagnostic(nil), found...)
	for n := range found {
		if found[n].Severity == "" {
			found[n].Severity = "error"
		}
	}
	return Answer{Outcome: "reject", Diagnostics: found}
}

// Unsupported says that the implementation does not deal with this: the case is skipped, and the report shows the reason.
func Unsupported(reason string) Answer { return Answer{Outcome: "unsupported", Reason: reason} }

// broken is what the protocol does not admit about an answer, so that a mistake is reported where it is made.
func (a Answer) broken(method string) error {
	failed := false
	for _, found := range a.Diagnostics {
		if found.Rule == "" || found.Message == "" {
			return errors.New("a diagnostic has no `rule` or no `message`")
		}
		if found.Severity != "error" && found.Severity != "warning" {
			return errors.New("the severity of a diagnostic is neither `error` nor `warning`")
		}
		failed = failed || found.Severity == "error"
	}
	judges := method == "validate" || method == "execute" || method == "trace"
	switch {
	case a.Outcome == "accept" && failed:
		return errors.New("an acceptance has a diagnostic of severity `error`")
	case a.Outcome == "accept" && !judges && a.Document == nil:
		return fmt.Errorf("an accepted `%s` answers with a document", method)
	case a.Outcome == "reject" && !failed:
		return errors.New("a rejection has no diagnostic of severity `error`")
	case a.Outcome == "unsupported" && a.Reason == "":
		return errors.New("`unsupported` has no reason")
	case a.Outcome != "accept" && a.Outcome != "reject" && a.Outcome != "unsupported":
		return fmt.Errorf("the outcome `%s` is none of accept, reject, unsupported", a.Outcome)
	}
	return nil
}

// Handler answers a request. An error, and a panic, fails the case and is said on standard error; the next one is answered.
type Handler func(Request) (Answer, error)

// Worker is an implementation, as the handshake describes it (CON-02), and its handlers: one for each method. What is empty is left out
// of the handshake. Rules that are nil are all rules of the profiles, and an empty slice claims none.
type Worker struct {
	Type        string   `json:"type"`
	Protocol    string   `json:"protocol"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Profiles    []string `json:"profiles"`
	Rules       []string `json:"rules,omitempty"`
	EveryRule   bool     `json:"every_rule,omitempty"`
	Opcodes     []string `json:"opcodes,omitempty"`
	Dtypes      []string `json:"dtypes,omitempty"`
	Targets     []string `json:"targets,omitempty"`
	Trace       bool     `json:"trace,omitempty"`
	Accumulator string   `json:"accumulator,omitempty"`
	Device      any      `json:"device,omitempty"`

	handlers map[string]Handler
}

// New is a worker that claims profiles.
func New(name, version string, profiles ...string) *Worker {
	if profiles == nil {
		profiles = []string{}
	}
	return &Worker{
		Type: "hello", Protocol: Protocol, Name: name, Version: version, Profiles: profiles, handlers: map[string]Handler{},
	}
}

// On sets the function that answers a method; the request's Members have what is not named.
func (w *Worker) On(method string, handler Handler) { w.handlers[method] = handler }

// hello is the handshake. The field of the outer struct takes the place of the worker's, of which `omitempty` would leave out an empty slice.
func (w *Worker) hello() ([]byte, error) {
	var rules *[]string
	if w.Rules != nil {
		rules = &w.Rules
	}
	return json.Marshal(struct {
		*Worker
		Rules *[]string `json:"rules,omitempty"`
	}{w, rules})
}

// Run answers until the standard input is closed, and returns the exit status. What handlers print goes to standard error meanwhile.
func (w *Worker) Run() int {
	signal.Ignore(syscall.SIGPIPE) // so that a runner that has gone is an error of Serve
	output := os.Stdout
	os.Stdout = os.Stderr
	defer func() { os.Stdout = output }()
	if err := w.Serve(os.Stdin, output); err != nil {
		fmt.Fprintln(os.Stderr, "megakernel_adapter:", err)
		return 1
	}
	return 0
}

// Serve is the same on two streams. Each answer is one write: nothing is kept back, since the runner waits for it.
func (w *Worker) Serve(source io.Reader, output io.Writer) error {
	lines := bufio.NewReaderSize(source, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if _, failed := output.Write(append(w.reply(line), '\n')); failed != nil {
				return failed
			}
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// reply is the line that answers a line.
func (w *Worker) reply(line []byte) []byte {
	id := int64(-1)
	text, err := w.message(line, &id)
	if err == nil && len(text) >= longestLine {
		err = fmt.Errorf("the answer has %d bytes, and a line at most %d", len(text), longestLine)
	}
	if err == nil {
		return text
	}
	if err.Error() == "" {
		err = errors.New("the handler failed without a word")
	}
	fmt.Fprintln(os.Stderr, "megakernel_adapter:", err)
	message := map[string]any{"type": "error", "message": err.Error()}
	if id >= 0 {
		message["id"] = id
	}
	text, _ = json.Marshal(message) // of strings and an integer, which is no error
	return text
}

// message is the message that answers a line. It sets the id, if that can be read.
func (w *Worker) message(line []byte, id *int64) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, fmt.Errorf("the line is no JSON object: %w", err)
	}
	if err := characters(line); err != nil {
		return nil, fmt.Errorf("the line is no JSON object: %w", err)
	}
	var kind, version string
	_ = json.Unmarshal(members["type"], &kind) // empty where there is none
	switch kind {
	case "hello":
		if err := json.Unmarshal(members["protocol"], &version); err != nil || strings.SplitN(version, ".", 2)[0] != "1" {
			return nil, fmt.Errorf("the protocol is %s here, and not %s", Protocol, members["protocol"])
		}
		return w.hello()
	case "request":
	default:
		return nil, errors.New("the line is neither a `hello` nor a `request`")
	}
	given := int64(-1)
	if err := json.Unmarshal(members["id"], &given); err != nil || given < 0 {
		return nil, errors.New("the request has no `id` that is an integer")
	}
	*id = given
	request, err := read(members)
	if err != nil {
		return nil, err
	}
	request.ID = given
	answer, err := w.answer(request)
	if err == nil {
		err = answer.broken(request.Method)
	}
	if err != nil {
		return nil, err
	}
	// What fmt prints has all strings of a witness, unless they lie behind a pointer.
	written := answer.Document == nil || utf8.ValidString(*answer.Document)
	if !written || !utf8.ValidString(answer.Reason) || !utf8.ValidString(fmt.Sprint(answer.Diagnostics)) {
		return nil, errors.New("a string of the answer is not UTF-8")
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		ID   int64  `json:"id"`
		Answer
	}{"response", given, answer})
}

// characters is an error where a text, which is JSON, is not UTF-8 or escapes half of a surrogate pair. Of both, encoding/json makes U+FFFD.
func characters(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("the bytes are not UTF-8")
	}
	unit := func(at int) uint64 { // of an escape that begins at `at`; 0 if there is none
		if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
			return 0
		}
		code, _ := strconv.ParseUint(string(text[at+2:at+6]), 16, 16) // four digits, as in any JSON
		return code
	}
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			continue
		}
		switch unit(at) >> 10 {
		case 0xd800 >> 10:
			if unit(at+6)>>10 != 0xdc00>>10 {
				return errors.New("half of a surrogate pair")
			}
			at += 11
		case 0xdc00 >> 10:
			return errors.New("half of a surrogate pair")
		default:
			at++ // the escaped character may be a backslash
		}
	}
	return nil
}

// list is the elements of an array. For null, encoding/json leaves an element as it is.
func list[T any](text json.RawMessage) ([]T, error) {
	var found []*T
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, errors.New("there is no array")
	}
	elements := make([]T, len(found))
	for n, one := range found {
		if one == nil {
			return nil, errors.New("null stands for an element")
		}
		elements[n] = *one
	}
	return elements, nil
}

func read(members map[string]json.RawMessage) (request Request, err error) {
	request.Members = members
	// By name: fields of structures Go would fill without regard to case.
	memberOf := func(from map[string]json.RawMessage, name string, into any) {
		text, there := from[name]
		if err == nil && (!there || bytes.Equal(text, []byte("null"))) {
			err = fmt.Errorf("the request has no `%s`", name)
		} else if err == nil {
			if failed := json.Unmarshal(text, into); failed != nil {
				err = fmt.Errorf("the member `%s` of the request: %w", name, failed)
			}
		}
	}
	member := func(name string, into any) { memberOf(members, name, into) }
	member("method", &request.Method)
	member("profile", &request.Profile)
	if _, there := members["document"]; request.Method == "execute" {
		var launches []map[string]json.RawMessage
		member("launches", &launches)
		for _, from := range launches {
			var launch Launch
			memberOf(from, "document", &launch.Document)
			paths, failed := list[string](from["tensors"])
			if err == nil && failed != nil {
				err = fmt.Errorf("a path of a launch is no string, or it has no `tensors`: %w", failed)
			}
			launch.Tensors = paths
			memberOf(from, "output", &launch.Output)
			if _, asked := from["trace"]; asked {
				memberOf(from, "trace", &launch.Trace)
			}
			request.Launches = append(request.Launches, launch)
		}
	} else if there {
		var text string
		member("document", &text)
		request.Document = []byte(text)
	} else {
		var text string // as bytes, encoding/json would take an array of numbers too
		member("document_base64", &text)
		if err == nil && strings.ContainsAny(text, "\r\n") { // which encoding/base64 skips
			err = errors.New("`document_base64` has a character that is none of base64")
		}
		if err == nil {
			request.Document, err = base64.StdEncoding.DecodeString(text)
		}
	}
	return request, err
}

// answer is what the handler of the method answers; a panic of it is an error.
func (w *Worker) answer(request Request) (answer Answer, err error) {
	claimed := false
	for _, profile := range w.Profiles {
		claimed = claimed || profile == request.Profile
	}
	if !claimed {
		return Unsupported(fmt.Sprintf("profile `%s` is not implemented", request.Profile)), nil
	}
	handler, there := w.handlers[request.Method]
	if !there {
		return Unsupported(fmt.Sprintf("method `%s` is not implemented", request.Method)), nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			debug.PrintStack()
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return handler(request)
}
