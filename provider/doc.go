// Package provider opens models by id and makes them keep the promises of
// package llm, whatever their vendor can do.
//
//	model, err := provider.Open("ollama/qwen3:8b")
//
// # Ids
//
//	vendor/model             a row of the table of vendors: openai/gpt-5, groq/llama-3.3-70b-versatile
//	http://host/v1#model     any server that copies OpenAI's chat API
//	vendor+http://host#model another address for a vendor: vllm+http://gpu:8000/v1#Qwen/Qwen3-8B
//	model                    the vendor who made it, for families that have one: claude-sonnet-4-5
//	scheme/rest              whatever Client.Schemes opens
//
// # What happens to a request
//
// A route is chosen from what the catalogue knows of the model: its vendor's
// own tool calling, or one of the emulations. The history is healed, names and
// ids are brought into the vendor's form, schemas are narrowed to what it
// accepts, and every option it does not have is refused or becomes a warning.
// The answer is read back into the caller's terms, calls that were left in its
// text are found, and what the request demanded is checked: an answer that
// breaks a promise ends in an error of kind [llm.BrokenPromise]. Nothing here
// asks a model a second time; only requests that never reached the model, or
// that it could not begin to answer, are sent again.
package provider
