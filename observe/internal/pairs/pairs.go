// Package pairs makes the attributes of logs and of spans from names and values.
package pairs

// Text appends to list what attr makes of names and values, which alternate in pairs,
// except for values that are empty.
func Text[A any](list []A, attr func(name, value string) A, pairs ...string) []A {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attr(pairs[i], pairs[i+1]))
		}
	}
	return list
}

// Number is Text for values that are ints, except for those that are zero. It panics if
// a name is no string or a value no int.
func Number[A any](list []A, attr func(name string, value int) A, pairs ...any) []A {
	for i := 0; i+1 < len(pairs); i += 2 {
		if n := pairs[i+1].(int); n != 0 {
			list = append(list, attr(pairs[i].(string), n))
		}
	}
	return list
}
