package main

import "context"

func compareRun(ctx context.Context, o *options) (*comparison, error) { return newComparison(), nil }
