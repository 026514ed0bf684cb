package admit

import (
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// knownFields are request fields that neither select another model, nor run a tool, nor cost more than their tokens.
// Together with vendorFields, which are checked, they are the fields that a limited key may send. Names are compared by
// [js.FoldField].
var knownFields = SpellingsOf(
	// OpenAI
	"model", "messages", "tools", "tool_choice", "functions", "function_call", "parallel_tool_calls", "response_format", "stream", "stream_options",
	"temperature", "top_p", "stop", "seed", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "user", "safety_identifier",
	"store", "verbosity", "prediction", "reasoning_effort", "reasoning", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options",
	"input", "instructions", "include", "previous_response_id", "text", "truncation", "max_tool_calls", "context_management", "input_items",
	// Anthropic
	"system", "stop_sequences", "top_k", "thinking", "output_config", "output_format", "cache_control", "anthropic_version",
	// Gemini
	"contents", "system_instruction", "tool_config", "safety_settings", "labels", "response_mime_type", "response_schema", "response_json_schema",
	"thinking_config", "response_logprobs", "media_resolution", "audio_timestamp", "enable_enhanced_civic_answers", "generate_content_request",
	// Ollama
	"format", "images", "keep_alive", "think", "raw", "suffix", "template", "context", "num_ctx", "num_keep", "num_batch", "num_gpu", "main_gpu", "num_thread",
	"use_mmap", "use_mlock", "num_gqa", "low_vram", "f16_kv", "vocab_only", "tfs_z", "repeat_last_n", "repeat_penalty", "penalize_newline", "shift", "truncate",
	// Bedrock
	"guardrail_config", "additional_model_response_field_paths", "prompt_variables", "request_metadata", "input_text", "text_generation_config", "return_likelihoods",
	// vLLM, llama.cpp, SGLang, TGI, OpenRouter, and other hosts of the chat format
	"prompt_embeds", "min_p", "top_a", "top_n_sigma", "typical_p", "typical", "epsilon_cutoff", "eta_cutoff", "smoothing_factor", "dynatemp_range", "dynatemp_exponent",
	"repetition_penalty", "no_repeat_ngram_size", "encoder_repetition_penalty", "length_penalty", "early_stopping", "use_beam_search", "do_sample", "details",
	"mirostat", "mirostat_tau", "mirostat_eta", "dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers",
	"xtc_probability", "xtc_threshold", "samplers", "n_probs", "min_keep", "n_keep", "n_indent", "t_max_predict_ms", "cache_prompt", "id_slot", "ignore_eos",
	"stop_token_ids", "bad_words", "bad_words_ids", "logits_bias", "skip_special_tokens", "spaces_between_special_tokens", "include_stop_str_in_output", "allowed_token_ids",
	"prompt_logprobs", "truncate_prompt_tokens", "return_token_ids", "return_tokens", "timings_per_token", "post_sampling_probs", "priority", "echo",
	"add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template", "chat_template_kwargs", "documents", "mm_processor_kwargs", "media_io_kwargs",
	"guided_json", "guided_regex", "guided_choice", "guided_grammar", "guided_decoding_backend", "guided_whitespace_pattern", "structured_outputs", "json_schema", "grammar",
	"grammar_lazy", "grammar_triggers", "preserved_tokens", "regex", "ebnf", "structural_tag", "separate_reasoning", "stream_reasoning", "include_reasoning",
	"reasoning_format", "reasoning_budget", "reasoning_split", "enable_thinking", "preserve_thinking", "thinking_forced_open", "clear_thinking", "tool_stream",
	"parse_tool_calls", "include_usage", "usage", "safe_prompt", "prompt_mode", "random_seed", "safe_mode", "stream_tokens", "incremental_output", "disable_reasoning",
	// other endpoints that are passed on: embeddings, completions, images, audio, moderations, rerank
	"content", "requests", "task_type", "title", "output_dimensionality", "dimensions", "encoding_format", "input_type", "embedding_types", "output_dimension", "output_dtype", "task", "late_chunking", "texts", "normalized", "query",
	"top_n", "return_documents", "rank_fields", "max_chunks_per_doc", "max_tokens_per_doc", "size", "quality", "style", "background_color", "output_compression",
	"moderation", "partial_images", "input_fidelity", "image", "mask", "voice", "language", "timestamp_granularities", "chunking_strategy", "stream_format", "file",
	"known_speaker_names", "known_speaker_references", "hotwords", "purpose", "endpoint", "completion_window", "input_file_id", "output_expires_after", "expires_after",
	// parameters in the URL of these endpoints
	"api_version", "alt", "beta",
)

// isKnown reports whether a limited key may send a field.
func isKnown(key []byte) bool {
	return knownFields.has(key) || fieldOf(key) != nil
}

// limited reports whether unknown fields could exceed the rights of a key: another model, another tool, or a higher price.
func limited(r *access.Rights) bool {
	return r != nil && (len(r.Key.Models)+len(r.Key.Routes)+len(r.Key.Tools) > 0 || r.BoundsSize())
}

// maxUnknown limits the warnings about unknown fields of a request, and the length of a name in one.
const maxUnknown = 20

// KnownFields returns the body of a request without the fields that are unknown here, if its key is limited: a server may
// read them as a choice of another model, a tool or a price. Each is reported to warn. Output that they would allow is
// reserved nevertheless, because the estimate does not depend on the list of known fields.
func (d *Demand) KnownFields(rights *access.Rights, body []byte, warn func(llm.Warning)) []byte {
	if !limited(rights) {
		return body
	}
	out := withoutUnknown(js.Trim(body), 0, func(name, value []byte) {
		if d.Limited {
			d.Output.look(name, value, 0)
		}
		d.dropped(name, warn)
	})
	if out == nil {
		return body
	}
	return out
}

// MaySend reports whether a key may send a field of a form or a parameter in a URL. If not, it is reported to warn.
func (d *Demand) MaySend(rights *access.Rights, name []byte, warn func(llm.Warning)) bool {
	if !limited(rights) || isKnown(name) {
		return true
	}
	d.dropped(name, warn)
	return false
}

// dropped reports a field that is not sent.
func (d *Demand) dropped(name []byte, warn func(llm.Warning)) {
	if d.unknown++; d.unknown <= maxUnknown {
		warn(llm.Warning{Code: llm.Ignored, Feature: string(name[:min(len(name), 60)]), Detail: "the gateway does not know this field, and the key may only send known ones"})
	}
}

// withoutUnknown returns an object without its unknown members, also in members that a server reads like top-level ones.
// It returns nil if there are none, or if v is no valid object.
func withoutUnknown(v []byte, depth int, dropped func(name, value []byte)) []byte {
	if js.Kind(v) != '{' || depth > mostNested || !hasUnknown(v, depth) || depth == 0 && !js.Valid(v) {
		return nil
	}
	var w js.Writer
	w.Object()
	for key, value := range js.Members(v) {
		if !isKnown(key) {
			dropped(key, value)
			continue
		}
		if holdsFields(key) {
			if inner := withoutUnknown(value, depth+1, dropped); inner != nil {
				value = inner
			}
		}
		w.AnyKey(string(key))
		w.Raw(value)
	}
	w.End()
	return w.Buf
}

// hasUnknown reports whether an object has unknown members.
func hasUnknown(v []byte, depth int) bool {
	for key, value := range js.Members(v) {
		if !isKnown(key) || depth < mostNested && js.Kind(value) == '{' && holdsFields(key) && hasUnknown(value, depth+1) {
			return true
		}
	}
	return false
}

// holdsFields reports whether the members of a field are read like fields of the request.
func holdsFields(key []byte) bool {
	m := fieldOf(key)
	return m != nil && (m.meaning == holdsMembers || m.meaning == holdsOptions)
}
