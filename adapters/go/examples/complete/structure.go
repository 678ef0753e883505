package main

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"megakernel-conformance.invalid/adapter"
)

// The structure rules S01 to S22, from spec/format.md and spec/rules/structure.md and records.md: what makes a text a program.

type judge struct{ found []adapter.Diagnostic }

func (j *judge) need(holds bool, rule, at, message string) {
	if !holds {
		j.found = append(j.found, adapter.Diagnostic{Rule: rule, Message: message, Pointer: at})
	}
}

// child is the pointer of a member or an element (FMT-07).
func child(at string, name any) string {
	return at + "/" + escapes.Replace(fmt.Sprint(name))
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// integer is the value of an integer text of 64 bits.
func integer(value any) (int64, bool) {
	text, is := value.(json.Number)
	number, err := strconv.ParseInt(string(text), 10, 64)
	return number, is && err == nil && text != "-0"
}

// ---- Members: S03, S04, S05, and S16 for a threshold that is no integer ---------------------------------------------

// A kind reads a value at a pointer, and gives it as it is written: all members, in canonical order (FMT-03).
type kind func(j *judge, value any, at string) any

func plain(is func(any) bool, what string) kind {
	return func(j *judge, value any, at string) any {
		j.need(is(value), "S04", at, "the value is not "+what)
		return value
	}
}

var (
	text     = plain(func(v any) bool { _, is := v.(string); return is }, "a string")
	flag     = plain(func(v any) bool { _, is := v.(bool); return is }, "a boolean")
	number   = plain(func(v any) bool { _, is := v.(json.Number); return is }, "a number")
	anything = plain(func(v any) bool { _, is := v.(*object); return is }, "an object")
	whole    = plain(func(v any) bool { _, is := integer(v); return is }, "an integer of 64 bits")
	wholes   = array(whole)
	space    = name("HBM", "GLOBAL_SCRATCH", "SMEM", "REGISTER")
)

func threshold(j *judge, value any, at string) any {
	_, is := integer(value)
	_, some := value.(json.Number)
	j.need(is || !some, "S16", at, "the threshold is not an integer from 1 to 2^32 - 1")
	return number(j, value, at)
}

func name(names ...string) kind {
	return func(j *judge, value any, at string) any {
		given, is := value.(string)
		j.need(!is || contains(names, given), "S05", at, "the name is not known")
		return text(j, value, at)
	}
}

func contains(names []string, wanted string) bool {
	for _, name := range names {
		if name == wanted {
			return true
		}
	}
	return false
}

func nullable(of kind) kind {
	return func(j *judge, value any, at string) any {
		if value == nil {
			return nil
		}
		return of(j, value, at)
	}
}

func array(of kind) kind {
	return func(j *judge, value any, at string) any {
		items, is := value.([]any)
		j.need(is, "S04", at, "the value is not an array")
		read := make([]any, len(items))
		for n, item := range items {
			read[n] = of(j, item, child(at, n))
		}
		return read
	}
}

var id = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

func mapping(of kind, ids bool) kind {
	return func(j *judge, value any, at string) any {
		read := newObject()
		given, is := anything(j, value, at).(*object)
		if !is {
			return read
		}
		for _, name := range given.names {
			_, err := strconv.ParseInt(name, 10, 64)
			j.need(!ids || id.MatchString(name) && err == nil, "S04", child(at, name), "the name is not an id in decimal")
			read.set(name, of(j, given.values[name], child(at, name)))
		}
		return read
	}
}

// A member is required, or has a value where it is absent; or it is left out, then.
type member struct {
	name      string
	kind      kind
	required  bool
	otherwise any
}

type leftOut struct{}

func required(name string, kind kind) member            { return member{name, kind, true, nil} }
func optional(name string, kind kind, value any) member { return member{name, kind, false, value} }

func record(members ...member) kind {
	return func(j *judge, value any, at string) any {
		read := newObject()
		given, is := anything(j, value, at).(*object)
		if !is {
			return read
		}
		for _, member := range members {
			if value, there := given.values[member.name]; there {
				read.set(member.name, member.kind(j, value, child(at, member.name)))
			} else if member.required {
				j.need(false, "S03", at, "there is no member `"+member.name+"`")
			} else if member.otherwise != (leftOut{}) {
				read.set(member.name, member.otherwise)
			}
		}
		return read
	}
}

func assignment(j *judge, value any, at string) any {
	if _, is := value.(*object); is {
		return mapping(whole, true)(j, value, at)
	}
	return name("round_robin", "load_balance")(j, value, at)
}

// Digits of a default.
const zero, minusOne = json.Number("0"), json.Number("-1")

func programKind() kind {
	buffer := record(required("id", whole), required("name", text),
		required("kind", name("WEIGHT", "ACTIVATION", "KV_CACHE", "IO_INPUT", "IO_OUTPUT", "CONST")),
		required("dtype", name("F32", "F16", "BF16", "F8E4M3", "F8E5M2", "I32", "I8", "I4", "U8", "BOOL")),
		required("shape", wholes), optional("space", space, "HBM"), optional("source", nullable(text), nil))
	counter := record(required("id", whole), optional("init", whole, zero), optional("note", text, ""))
	wait := record(required("counter", whole), required("threshold", threshold))
	ops := []string{}
	for op := range opcodes {
		ops = append(ops, op)
	}
	task := record(required("id", whole), required("op", name(ops...)), required("inputs", wholes), required("outputs", wholes),
		required("out_counter", whole), optional("waits", array(wait), []any{}), optional("params", anything, newObject()),
		optional("sm", nullable(whole), nil), optional("est_bytes", whole, zero), optional("est_flops", whole, zero), optional("label", text, ""))
	page := record(required("id", whole), required("space", space), required("nbytes", whole),
		optional("live_start", whole, minusOne), optional("live_end", whole, minusOne))
	pages := record(required("buffer_to_page", mapping(whole, true)), required("pages", array(page)))
	target := record(required("name", text), required("sm_arch", whole), required("num_sms", whole), required("smem_bytes_per_sm", whole),
		required("smem_bytes_per_block_optin", whole), required("regs_per_sm", whole), required("max_threads_per_sm", whole),
		required("max_regs_per_thread", whole), required("l2_bytes", whole), required("hbm_bytes", whole), required("hbm_bandwidth_gbs", number),
		required("fp16_tflops", number), optional("clock_ghz", number, json.Number("0.0")), optional("supports_cooperative", flag, true),
		optional("wddm_tdr", flag, false), optional("measured_bw_gbs", number, leftOut{}), optional("note", text, ""))
	config := record(optional("tiling", mapping(mapping(whole, false), false), newObject()), optional("fusion_grouping", array(array(text)), []any{}),
		optional("sm_assignment", assignment, "load_balance"), optional("pipelining_depth", whole, json.Number("2")),
		optional("page_allocation", name("linear", "graph_color", "none"), "graph_color"),
		optional("threads_per_block", whole, json.Number("256")), optional("smem_bytes_per_block", whole, zero))
	return record(required("ir_version", text), required("abi_version", text), optional("meta", anything, newObject()),
		optional("target", nullable(target), nil), required("buffers", array(buffer)), required("counters", array(counter)),
		required("tasks", array(task)), optional("pages", nullable(pages), nil), optional("config", nullable(config), nil))
}

// ---- Values and references: the other S rules -----------------------------------------------------------------------

type opcode struct {
	fewest, most, outputs int
	required              string
}

var opcodes = map[string]opcode{
	// opcodes: rows, generated by `cargo xtask codegen` from spec/opcodes/opcodes.json
	"NOP":               {0, 0, 0, ""},
	"COPY":              {1, 1, 1, ""},
	"EMBED":             {2, 2, 1, "hidden"},
	"RMSNORM":           {2, 2, 1, "eps hidden"},
	"LAYERNORM":         {2, 3, 1, "eps hidden"},
	"GEMV_TILE":         {2, 3, 1, "K N_tile n_off"},
	"GEMM_TILE":         {2, 3, 1, "K N_tile M_tile n_off"},
	"ATTENTION_TILE":    {3, 4, 1, "head_dim kv_start kv_len scale n_heads n_kv_heads"},
	"ROPE":              {2, 2, 1, "head_dim theta"},
	"SILU_MUL":          {2, 2, 1, ""},
	"GELU":              {1, 1, 1, ""},
	"ADD":               {2, 2, 1, ""},
	"MUL":               {1, 2, 1, ""},
	"DEQUANT":           {2, 3, 1, "qdtype group"},
	"SOFTMAX":           {1, 1, 1, ""},
	"ALLREDUCE_SHARD":   {1, 8, 1, ""},
	"KV_APPEND":         {2, 2, 1, "pos"},
	"SAMPLE_ARGMAX":     {1, 1, 1, ""},
	"ATTENTION_COMBINE": {2, 8, 1, ""},
	// end of rows
}

var elementBytes = map[string]int64{"F32": 4, "I32": 4, "F16": 2, "BF16": 2}

// All of this is asked of programs whose members have their types.

func list(record *object, name string) []any  { items, _ := record.get(name).([]any); return items }
func word(record *object, name string) string { text, _ := record.get(name).(string); return text }
func value(record *object, name string) int64 { number, _ := integer(record.get(name)); return number }
func inner(record *object, name string) *object {
	found, _ := record.get(name).(*object)
	if found == nil {
		return newObject()
	}
	return found
}

func fits(buffer *object) bool {
	most := int64(math.MaxInt64)
	if bytes, wide := elementBytes[word(buffer, "dtype")]; wide {
		most /= bytes
	}
	elements := int64(1)
	for _, item := range list(buffer, "shape") {
		extent, _ := integer(item)
		if extent < 1 || elements > most/extent {
			return false
		}
		elements *= extent
	}
	return true
}

func (j *judge) ids(records []any, at string) {
	for n, record := range records {
		j.need(value(record.(*object), "id") == int64(n), "S08", child(child(at, n), "id"), "the id is not the position")
	}
}

func known(value any, table []any) bool {
	number, is := integer(value)
	return is && number >= 0 && number < int64(len(table))
}

func (j *judge) program(program *object) {
	buffers, counters, tasks := list(program, "buffers"), list(program, "counters"), list(program, "tasks")
	pages, target, config := inner(program, "pages"), inner(program, "target"), inner(program, "config")
	j.ids(buffers, "/buffers")
	j.ids(counters, "/counters")
	j.ids(tasks, "/tasks")
	j.ids(list(pages, "pages"), "/pages/pages")
	produced := map[int64]bool{}
	for n, task := range tasks {
		for _, output := range list(task.(*object), "outputs") {
			number, _ := integer(output)
			produced[number] = true
		}
		j.task(task.(*object), child("/tasks", n), buffers, counters)
	}
	for n, item := range buffers {
		buffer, at := item.(*object), child("/buffers", n)
		j.need(len(list(buffer, "shape")) <= 4, "S12", at+"/shape", "the rank is above 4")
		j.need(fits(buffer), "S20", at+"/shape", "an extent is below 1, or there are more than 2^63 - 1 elements or bytes")
		inHBM := word(buffer, "kind") == "ACTIVATION" || word(buffer, "space") == "HBM"
		j.need(inHBM, "S21", at+"/space", "only an activation may be elsewhere than in HBM")
		j.need(word(buffer, "kind") != "IO_OUTPUT" || produced[int64(n)], "S19", at, "no task writes this output")
	}
	for n, counter := range counters {
		j.need(value(counter.(*object), "init") == 0, "S17", child("/counters", n)+"/init", "the counter does not start at 0")
	}
	for n, page := range list(pages, "pages") {
		j.need(value(page.(*object), "nbytes") >= 1, "S22", child("/pages/pages", n)+"/nbytes", "the size is below 1")
	}
	for _, name := range target.names {
		if text, is := target.values[name].(json.Number); is {
			number, _ := text.Float64() // the reader has seen that it is one
			j.need(number >= 0 && (name != "num_sms" || number >= 1), "S22", child("/target", name), "the value is too small")
		}
	}
	j.need(value(config, "pipelining_depth") >= 0, "S22", "/config/pipelining_depth", "the value is below 0")
	tiling, assignment := inner(config, "tiling"), inner(config, "sm_assignment")
	for _, group := range tiling.names {
		for _, name := range inner(tiling, group).names {
			at := child(child("/config/tiling", group), name)
			j.need(value(inner(tiling, group), name) >= 1, "S22", at, "a tile size is below 1")
		}
	}
	for _, id := range assignment.names {
		j.need(known(json.Number(id), tasks), "S09", child("/config/sm_assignment", id), "there is no such task")
	}
}

func (j *judge) task(task *object, at string, buffers, counters []any) {
	op, params := word(task, "op"), inner(task, "params")
	opcode := opcodes[op]
	if _, quantised := params.values["qdtype"]; quantised && (op == "GEMV_TILE" || op == "GEMM_TILE") {
		opcode.fewest, opcode.most, opcode.required = 3, 4, opcode.required+" group"
	}
	seen := map[int64]bool{}
	for _, which := range []string{"inputs", "outputs"} {
		for n, operand := range list(task, which) {
			at, there := child(child(at, which), n), known(operand, buffers)
			j.need(there, "S09", at, "there is no such buffer")
			if which == "inputs" {
				continue
			}
			number, _ := integer(operand)
			j.need(!seen[number], "S10", at, "the buffer is listed twice")
			seen[number] = true
			if there {
				kind := word(buffers[number].(*object), "kind")
				j.need(kind != "WEIGHT" && kind != "CONST" && kind != "IO_INPUT", "S18", at, "no task may write a "+kind)
			}
		}
	}
	inputs, outputs, waits := len(list(task, "inputs")), len(list(task, "outputs")), list(task, "waits")
	j.need(inputs <= 8, "S12", at+"/inputs", "more than 8 inputs")
	j.need(outputs <= 4, "S12", at+"/outputs", "more than 4 outputs")
	j.need(len(waits) <= 8, "S12", at+"/waits", "more than 8 waits")
	j.need(inputs > 8 || opcode.fewest <= inputs && inputs <= opcode.most, "S11", at+"/inputs", op+" takes another number of inputs")
	j.need(outputs > 4 || len(seen) < outputs || outputs == opcode.outputs, "S11", at+"/outputs", op+" takes another number of outputs")
	j.need(known(task.get("out_counter"), counters), "S09", at+"/out_counter", "there is no such counter")
	for n, item := range waits {
		wait, at := item.(*object), child(at+"/waits", n)
		j.need(known(wait.get("counter"), counters), "S09", at+"/counter", "there is no such counter")
		least := value(wait, "threshold")
		j.need(1 <= least && least <= math.MaxUint32, "S16", at+"/threshold", "the threshold is not from 1 to 2^32 - 1")
	}
	for _, name := range []string{"est_bytes", "est_flops"} {
		j.need(value(task, name) >= 0, "S22", child(at, name), "the estimate is below 0")
	}
	for _, key := range strings.Fields(opcode.required) {
		_, there := params.values[key]
		j.need(there, "S13", at+"/params", op+" requires `"+key+"`")
	}
	j.parameters(op, params, at+"/params")
}

// What an integer key of params admits (DAT-08).
var ranges = map[string][2]int64{
	"qdtype": {6, 7}, "flags": {0, 3}, "dim": {math.MinInt32, math.MaxInt32},
}

func init() {
	for least, keys := range []string{
		"n_off m_off kv_start kv_len pos", "K N M N_tile M_tile hidden vocab head_dim n_heads n_kv_heads group",
	} {
		for _, key := range strings.Fields(keys) {
			ranges[key] = [2]int64{int64(least), math.MaxInt32}
		}
	}
}

func (j *judge) parameters(op string, params *object, at string) {
	// From here on a number rounds to an infinite binary32; and up to there, to zero.
	beyond, nothing := math.Ldexp(1, 128)-math.Ldexp(1, 103), math.Ldexp(1, -150)
	good := map[string]int64{}
	for _, key := range params.names {
		at := child(at, key)
		if limits, whole := ranges[key]; whole {
			number, typed := integer(params.values[key])
			typed = typed && math.MinInt32 <= number && number <= math.MaxInt32
			within := limits[0] <= number && number <= limits[1]
			j.need(typed, "S14", at, "the value is not an integer of 32 bits")
			j.need(!typed || within, "S15", at, "the value is out of range")
			if typed && within {
				good[key] = number
			}
		} else if key == "eps" || key == "scale" || key == "theta" {
			text, typed := params.values[key].(json.Number)
			number, _ := text.Float64()
			typed = typed && math.Abs(number) < beyond
			j.need(typed, "S14", at, "the value is not a number of 32 bits")
			within := key == "scale" || key == "eps" && number >= -nothing || key == "theta" && number > nothing
			j.need(!typed || within, "S15", at, "the value is out of range")
		}
	}
	get := func(key string) (int64, bool) { number, there := good[key]; return number, there }
	if length, there := get("head_dim"); there && op == "ROPE" {
		j.need(length%2 == 0, "S15", at+"/head_dim", "the value is odd")
	}
	if op != "ATTENTION_TILE" {
		return
	}
	heads, some := get("n_heads")
	if shared, more := get("n_kv_heads"); some && more {
		j.need(heads%shared == 0, "S15", at+"/n_heads", "the value is no multiple of n_kv_heads")
	}
	flags, valid := get("flags")
	_, given := params.values["flags"]
	if rows, there := get("kv_len"); there && (valid || !given) {
		j.need(rows >= 1 || flags&2 != 0, "S15", at+"/kv_len", "the window is empty, without PARTIAL_WRITE")
	}
}

// ---- In order (spec/rules/structure.md) -----------------------------------------------------------------------------

var version = regexp.MustCompile(`^0\.(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))?$`)
var format = programKind()

// read is the program as it is written, or what S rules the text breaks.
func read(bytes []byte) (*object, []adapter.Diagnostic) {
	j := &judge{}
	document, repeated, err := parse(bytes)
	if err != nil {
		j.need(false, "S01", "", err.Error())
		return nil, j.found
	}
	for _, name := range repeated {
		j.need(false, "S02", "", "the member `"+name+"` occurs twice in one object")
	}
	if root, is := document.(*object); is && len(j.found) == 0 {
		for n, member := range []string{"ir_version", "abi_version"} {
			given, is := root.get(member).(string)
			j.need(!is || version.MatchString(given), []string{"S06", "S07"}[n], "/"+member, "the version is not 0.MINOR or 0.MINOR.PATCH")
		}
	}
	if len(j.found) > 0 {
		return nil, j.found
	}
	read, _ := format(j, document, "").(*object)
	if len(j.found) == 0 {
		j.program(read)
	}
	return read, j.found
}
