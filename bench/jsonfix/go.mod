module github.com/toolpost/toolpost/bench/jsonfix

go 1.26.0

replace github.com/toolpost/toolpost => ../..

require (
	github.com/kaptinlin/jsonrepair v0.2.15
	github.com/toolpost/toolpost v0.0.0-00010101000000-000000000000
)

require github.com/go-json-experiment/json v0.0.0-20251027170946-4849db3c2f7e // indirect
