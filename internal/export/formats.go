package export

import (
	"cmp"

	"github.com/toolpost/toolpost/journal"
)

// formatA is the format with ids. What we add to it is: session_id, step_id,
// ok, status, error and side_effects of results; in the receipt its version and
// producer, the same of each call and who ran it, the hash of the replay, and
// the run's seal.
var formatA = format{
	kind: "event", time: "t",
	events: map[eventKind]func(*writer, event) fields{
		sessionStart: func(w *writer, _ event) fields {
			f := startFields(w)
			f.set("issue_number", w.start.IssueNumber, w.start.IssueNumber != nil)
			return f
		},
		planStart: func(w *writer, _ event) fields {
			return fields{"plan_hash": w.plan.PlanHash, "step_count": w.plan.StepCount}
		},
		toolCall: func(w *writer, ev event) fields {
			f := callFields(w, ev.call)
			f["id"] = ev.call.Call
			return f
		},
		toolResult: func(w *writer, ev event) fields {
			f := resultFields(w, ev.call)
			f["id"], f["status"], f["session_id"] = ev.call.Call, ev.call.Status, w.run
			f["step_utility"] = ev.call.utility()
			f["side_effects"] = w.effects(ev.call)
			f.set("exit_code", ev.call.ExitCode, ev.call.ExitCode != nil)
			f.set("error", errorA(w, ev.call), ev.call.Error != nil)
			return f
		},
		stepComplete: func(_ *writer, ev event) fields {
			step := ev.body.(journal.Step)
			return fields{"step_id": step.StepID, "status": step.Status, "iterations": step.Iterations}
		},
		verification: func(_ *writer, ev event) fields {
			v := ev.body.(journal.Verification)
			return fields{"commands": []string{v.Command}, "exit_codes": []int{v.ExitCode}, "verification_delta": orZero(v.FailuresFixed)}
		},
		sessionEnd: func(w *writer, _ event) fields {
			return fields{"status": statusA(w.status()), "confidence": w.confidence(), "total_tool_calls": len(w.calls),
				"total_latency_ms": w.latency(), "session_id": w.run}
		},
	},
	receipt: receiptA,
}

// formatB is the format without ids, and without plans and steps.
var formatB = format{
	kind: "type", time: "ts",
	events: map[eventKind]func(*writer, event) fields{
		sessionStart: func(w *writer, _ event) fields { return startFields(w) },
		toolCall:     func(w *writer, ev event) fields { return callFields(w, ev.call) },
		toolResult: func(w *writer, ev event) fields {
			f := resultFields(w, ev.call)
			f["side_effects"] = effectTypes(ev.call)
			f.set("error", errorB(w, ev.call), ev.call.Error != nil)
			f.set("step_utility", ev.call.StepUtility, ev.call.StepUtility != nil)
			return f
		},
		verification: func(w *writer, ev event) fields { return verificationB(w, ev.body.(journal.Verification)) },
		sessionEnd: func(w *writer, _ event) fields {
			return fields{"status": statusB(w.status()), "confidence": w.confidence()}
		},
	},
	receipt: receiptB,
}

// statuses are the words of the formats for how a session ended; any other
// word of the journal is a failure.
var statuses = map[string]struct{ a, b string }{
	"success": {"Success", "success"}, "cancelled": {"Cancelled", "cancelled"}, "timeout": {"Timeout", "failure"},
}

func statusA(s string) string { return cmp.Or(statuses[s].a, "Failed") }
func statusB(s string) string { return cmp.Or(statuses[s].b, "failure") }

// startFields are those of a SessionStart in both formats.
func startFields(w *writer) fields {
	f := fields{"session_id": w.run, "policy_bundle_id": w.start.PolicyID}
	f.set("repo", w.start.Repo, w.start.Repo != nil)
	f.set("lane", w.start.Lane, w.start.Lane != "")
	return f
}

// callFields are those of a ToolCall in both formats.
func callFields(w *writer, c *call) fields {
	f := fields{"session_id": w.run, "step_id": c.StepID, "tool": c.Tool, "params_hash": c.ParamsHash}
	f.set("params", c.Args, w.Full)
	f.set("stripped", true, w.Full && c.stripped) // the hash is of the content before that
	return f
}

// resultFields are those of a ToolResult in both formats.
func resultFields(_ *writer, c *call) fields {
	return fields{"step_id": c.StepID, "ok": c.Status == journal.OK, "output_hash": c.OutputHash, "latency_ms": c.LatencyMS}
}

func errorA(w *writer, c *call) fields {
	if c.Error == nil {
		return nil
	}
	return fields{"code": c.Error.Code, "message": w.text(c.Error.Message), "recoverable": c.Error.Recoverable}
}

func errorB(w *writer, c *call) fields {
	if c.Error == nil {
		return nil
	}
	return fields{"name": c.Error.Code, "message": w.text(c.Error.Message)}
}

func effectTypes(c *call) []string {
	out := []string{}
	for _, e := range c.SideEffects {
		out = append(out, e.Type)
	}
	return out
}

func verificationB(w *writer, v journal.Verification) fields {
	f := fields{"command": v.Command, "exit_code": v.ExitCode}
	f.set("cwd", v.Cwd, w.Full && v.Cwd != "")
	f.set("duration_ms", v.DurationMS, v.DurationMS != 0)
	f.set("verification_delta", v.FailuresFixed, v.FailuresFixed != nil)
	return f
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func receiptA(w *writer) fields {
	calls, commands, codes := []fields{}, []string{}, []int{}
	for _, c := range w.calls {
		f := resultFields(w, c)
		f["id"], f["tool"], f["params_hash"], f["status"] = c.Call, c.Tool, c.ParamsHash, c.Status
		f["step_utility"], f["side_effects"] = c.utility(), w.effects(c)
		f["executed_by"] = journal.ByRuntime
		f.set("executed_by", c.ExecutedBy, c.ExecutedBy != "")
		f.set("error", errorA(w, c), c.Error != nil)
		f.set("cached", true, c.Cached)
		f.set("repairs", c.Repairs, len(c.Repairs) > 0)
		f.set("attempts", c.Attempts, c.Attempts > 1)
		f.set("truncated", true, c.Truncated)
		if c.Approval != nil {
			f["approval"] = fields{"allowed": c.Approval.Allowed, "by": c.Approval.By, "params_hash": c.Approval.ParamsHash}
		}
		calls = append(calls, f)
	}
	for _, v := range w.verifications {
		commands, codes = append(commands, v.Command), append(codes, v.ExitCode)
	}
	f := fields{
		"receipt_version": 1, "producer": w.Producer,
		"session_id": w.run, "started_at": stamp(w.begun), "completed_at": stamp(w.ended), "issue_number": w.start.IssueNumber,
		"plan_hash": w.plan.PlanHash, "tool_calls": calls, "final_confidence": w.confidence(), "policy_bundle_id": w.start.PolicyID,
		"verification": fields{"commands_run": commands, "exit_codes": codes, "verification_delta": w.delta()},
		"replay_hash":  hashOf(w.out.Bytes()),
		"journal":      fields{"entries": w.entries, "head": w.head, "sealed": w.sealed},
		"signature":    w.Signature,
	}
	return f
}

func receiptB(w *writer) fields {
	calls, checks := []fields{}, []fields{}
	for _, c := range w.calls {
		f := fields{"tool": c.Tool, "params_hash": c.ParamsHash, "output_hash": c.OutputHash, "latency_ms": c.LatencyMS,
			"side_effects": effectTypes(c), "ok": c.Status == journal.OK}
		f.set("error", errorB(w, c), c.Error != nil)
		calls = append(calls, f)
	}
	for _, v := range w.verifications {
		checks = append(checks, verificationB(w, v))
	}
	hash, err := journal.HashValue(w.trajectory)
	if err != nil { // it was written line by line before
		hash = ""
	}
	f := fields{
		"schema": schemaB, "session_id": w.run, "trajectory_hash": hash, "policy_bundle_id": w.start.PolicyID,
		"created_at": stamp(w.ended), "tool_calls": calls, "verification": checks,
		"event_count": len(w.trajectory), "first_seq": 1, "last_seq": len(w.trajectory),
		"metrics": fields{"tool_calls": len(w.calls), "tool_latency_ms_total": w.latency(), "verification_passed": w.passed()},
	}
	f.set("repo", w.start.Repo, w.start.Repo != nil)
	return f
}

const schemaB = "openagents.receipt.v1"
