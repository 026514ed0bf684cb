//go:build !race

package invoke_test

const raceDetector = false
