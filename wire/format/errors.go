package format

// FailedGeneration is the cause of the error of a vendor that could not parse the output of its own model. It has that
// output. Groq sends such errors.
type FailedGeneration struct {
	Text string // as the model wrote it
	Err  error  // what the vendor said
}

// Error returns what the vendor said.
func (f *FailedGeneration) Error() string { return f.Err.Error() }

// Unwrap returns what the vendor said.
func (f *FailedGeneration) Unwrap() error { return f.Err }
