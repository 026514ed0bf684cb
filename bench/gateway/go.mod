module github.com/toolpost/toolpost/bench/gateway

go 1.26.0
