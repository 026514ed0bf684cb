// Package eval measures how well models call tools. A [Suite] is a file of cases that people write and review. An
// [Evaluator] asks models the cases and records each answer in a journal, so scoring again costs nothing and an
// interrupted run continues. [Score] compares an answer with the expectations of its case. A [Summary] holds the shares
// with their 95 % intervals, and a [PairedComparison] the cases in which two runs differ.
package eval
