package format

// FailedGeneration is the cause of an error of a vendor that could not read
// what its own model wrote, and says what that was. Groq does.
type FailedGeneration struct {
	Text string // as the model wrote it
	Err  error  // what the vendor said
}

// Error returns what the vendor said.
func (f *FailedGeneration) Error() string { return f.Err.Error() }

// Unwrap returns what the vendor said.
func (f *FailedGeneration) Unwrap() error { return f.Err }
