//go:build !unix

package agentcli_test

func leave(string) {}
