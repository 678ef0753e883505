package adapter

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sort"
	"unicode/utf8"
)

// Tensor is a dtype as the file names it, a shape, and the elements: row-major, little-endian bytes (NUM-11).
type Tensor struct {
	Dtype string
	Shape []int64
	Data  []byte
}

var sizes = map[string]uint64{
	"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I32": 4, "I8": 1, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}

// Floats are the elements of a tensor of F32.
func (t Tensor) Floats() ([]float32, error) {
	if t.Dtype != "F32" || len(t.Data)%4 != 0 {
		return nil, fmt.Errorf("a tensor of %s and %d bytes, not of F32", t.Dtype, len(t.Data))
	}
	found := make([]float32, len(t.Data)/4)
	for n := range found {
		found[n] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*n:]))
	}
	return found, nil
}

// OfFloats is a tensor of F32.
func OfFloats(shape []int64, values []float32) Tensor {
	data := make([]byte, 0, 4*len(values))
	for _, value := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(value))
	}
	return Tensor{"F32", shape, data}
}

// Ints are the elements of a tensor of I32.
func (t Tensor) Ints() ([]int32, error) {
	if t.Dtype != "I32" || len(t.Data)%4 != 0 {
		return nil, fmt.Errorf("a tensor of %s and %d bytes, not of I32", t.Dtype, len(t.Data))
	}
	found := make([]int32, len(t.Data)/4)
	for n := range found {
		found[n] = int32(binary.LittleEndian.Uint32(t.Data[4*n:]))
	}
	return found, nil
}

// OfInts is a tensor of I32.
func OfInts(shape []int64, values []int32) Tensor {
	data := make([]byte, 0, 4*len(values))
	for _, value := range values {
		data = binary.LittleEndian.AppendUint32(data, uint32(value))
	}
	return Tensor{"I32", shape, data}
}

// check is an error where the bytes are not those of the shape.
func (t Tensor) check() error {
	size, known := sizes[t.Dtype]
	if !known {
		return fmt.Errorf("dtype `%s` is not known", t.Dtype)
	}
	for _, extent := range t.Shape {
		if extent < 0 || (extent > 0 && size > math.MaxUint64/uint64(extent)) {
			return fmt.Errorf("the shape %v has an extent below 0, or more bytes than can be", t.Shape)
		}
		size *= uint64(extent)
	}
	if size != uint64(len(t.Data)) {
		return fmt.Errorf("%d bytes are no %s of the shape %v", len(t.Data), t.Dtype, t.Shape)
	}
	return nil
}

// members is the members of an object, each of which stands there once. By name: fields of structures encoding/json would fill without
// regard to case, and of two members of one name it would take the last.
func members(text []byte) (map[string]json.RawMessage, error) {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, errors.New("there is no object")
	}
	read, names := json.NewDecoder(bytes.NewReader(text)), 0
	_, err := read.Token()
	for ; err == nil && read.More(); names++ {
		var value json.RawMessage
		if _, err = read.Token(); err == nil {
			err = read.Decode(&value)
		}
	}
	if err == nil && names != len(found) {
		err = errors.New("a name occurs twice")
	}
	return found, err
}

// described is what a member of a header says of a tensor.
func described(text []byte) (one entry, err error) {
	found, err := members(text)
	if err == nil {
		one.Shape, err = list[int64](found["shape"])
	}
	if err == nil {
		one.Offsets, err = list[uint64](found["data_offsets"])
	}
	if err == nil {
		err = json.Unmarshal(found["dtype"], &one.Dtype)
	}
	return one, err
}

type entry struct {
	Dtype   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// ReadTensors has the tensors of a file by name; an error, with the path, where it is no tensor file.
func ReadTensors(path string) (map[string]Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	broken := func(why string) (map[string]Tensor, error) {
		return nil, fmt.Errorf("%s is no tensor file: %s", path, why)
	}
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return broken("it ends within its header")
	}
	start := 8 + binary.LittleEndian.Uint64(data)
	header, err := members(data[8:start])
	if err == nil {
		err = characters(data[8:start])
	}
	if err != nil {
		return broken(err.Error())
	}
	found, elements := map[string]Tensor{}, data[start:]
	for name, text := range header {
		if name == "__metadata__" {
			continue
		}
		one, err := described(text)
		if err != nil {
			return broken(fmt.Sprintf("tensor `%s`: %v", name, err))
		}
		if len(one.Offsets) != 2 || one.Offsets[0] > one.Offsets[1] || one.Offsets[1] > uint64(len(elements)) {
			return broken(fmt.Sprintf("tensor `%s` lies beyond it", name))
		}
		tensor := Tensor{one.Dtype, one.Shape, elements[one.Offsets[0]:one.Offsets[1]]}
		if err := tensor.check(); err != nil {
			return broken(err.Error())
		}
		found[name] = tensor
	}
	return found, nil
}

// WriteTensors writes a file. It is complete when this returns.
func WriteTensors(path string, tensors map[string]Tensor) error {
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		names = append(names, name)
	}
	sort.Strings(names)
	header, elements := map[string]entry{}, []byte{}
	for _, name := range names {
		tensor := tensors[name]
		if name == "__metadata__" {
			return fmt.Errorf("%s: no tensor can travel by the name `__metadata__`", path)
		}
		if !utf8.ValidString(name) {
			return fmt.Errorf("%s: the name %q is not UTF-8", path, name)
		}
		if err := tensor.check(); err != nil {
			return fmt.Errorf("%s: tensor `%s`: %w", path, name, err)
		}
		shape := append([]int64{}, tensor.Shape...)
		first := uint64(len(elements))
		elements = append(elements, tensor.Data...)
		header[name] = entry{tensor.Dtype, shape, []uint64{first, uint64(len(elements))}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for len(text)%8 != 0 { // the elements begin at a multiple of 8
		text = append(text, ' ')
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return os.WriteFile(path, append(append(file, text...), elements...), 0o644)
}
