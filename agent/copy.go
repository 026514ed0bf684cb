package agent

import "reflect"

// deepCopy returns a copy of a value that shares no memory with it that a hook can
// reach: pointers, slices, maps and what they hold are copied. Functions and fields
// that are not exported are the same in both.
func deepCopy[T any](v T) T {
	copyInside(reflect.ValueOf(&v).Elem())
	return v
}

// copyInside replaces what a value refers to by copies of it.
func copyInside(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				copyInside(f)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			copyInside(v.Index(i))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		own := copyOf(v.Elem())
		if v.Kind() == reflect.Pointer {
			own = own.Addr()
		}
		v.Set(own)
	case reflect.Slice:
		copySlice(v)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for entries := v.MapRange(); entries.Next(); {
			own.SetMapIndex(entries.Key(), copyOf(entries.Value()))
		}
		v.Set(own)
	}
}

// copyOf returns an addressable copy of a value.
func copyOf(v reflect.Value) reflect.Value {
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	copyInside(own)
	return own
}

func copySlice(v reflect.Value) {
	if v.IsNil() {
		return
	}
	own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(own, v)
	if k := v.Type().Elem().Kind(); k != reflect.Uint8 && k != reflect.String {
		for i := range own.Len() {
			copyInside(own.Index(i))
		}
	}
	v.Set(own)
}
