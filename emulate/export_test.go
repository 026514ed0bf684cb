package emulate

// testDecider is the decider of package smallmodel, which the tests inside this
// package cannot import.
var testDecider Decider

// SetTestDecider sets it.
func SetTestDecider(d Decider) { testDecider = d }
