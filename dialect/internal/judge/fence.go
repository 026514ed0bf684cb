package judge

import (
	"strings"
)

// Languages are the info strings of code fences in which models do not write calls.
var Languages = func() map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(`bash c console cpp cs csharp css csv cuda dart diff dockerfile elixir erlang go golang
		graphql haskell hcl html ini java javascript js jsx julia kotlin kt latex lua makefile markdown matlab md nginx objc
		perl php powershell proto protobuf r rb rs ruby rust scala sh shell sql svelte swift terraform tex toml ts tsx
		typescript vue yaml yml zig zsh`) {
		set[word] = true
	}
	return set
}()
