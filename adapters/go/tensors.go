package adapter

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
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
	left := uint64(len(t.Data))
	for _, extent := range t.Shape {
		if extent < 0 || (extent > 0 && left > 0 && size > left/uint64(extent)) {
			size = left + 1
		} else {
			size *= uint64(extent)
		}
	}
	if size != left {
		return fmt.Errorf("%d bytes are no %s of the shape %v", left, t.Dtype, t.Shape)
	}
	return nil
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
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[8:start], &header); err != nil {
		return broken(err.Error())
	}
	found, elements := map[string]Tensor{}, data[start:]
	for name, text := range header {
		if name == "__metadata__" {
			continue
		}
		var one entry
		if err := json.Unmarshal(text, &one); err != nil {
			return broken(err.Error())
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
