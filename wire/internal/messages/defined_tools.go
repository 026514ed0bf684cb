package messages

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
)

// definedTool is what a tool takes that the client runs and the vendor defines: its models
// know it by its type, all others have to be told.
type definedTool struct{ Description, Schema string }

// DefinedTools are the tools that the vendor documents, by type, described in our words. The schemas are lenient: calls
// of the vendor's models must fit too.
var DefinedTools = map[string]definedTool{
	"bash_20241022":        definedShell,
	"bash_20250124":        definedShell,
	"text_editor_20241022": definedEditor(`,"undo_edit"`, "new_str"),
	"text_editor_20250124": definedEditor(`,"undo_edit"`, "new_str"),
	"text_editor_20250429": definedEditor("", "insert_text"),
	"text_editor_20250728": definedEditor("", "insert_text"),
	"computer_20241022":    definedComputer("", ""),
	"computer_20250124":    definedComputer(moreActions, moreArguments),
	"computer_20251124":    definedComputer(moreActions+`,"zoom"`, moreArguments+`,"region":{"type":"array","items":{"type":"integer"},"description":"What zoom shows in full detail: x and y of one corner, then x and y of the opposite one."}`),
	"memory_20250818": {"Keeps files between conversations, all below /memories. Look there before you begin a task, and write down what will matter later. " + editorWords("insert_text") +
		" delete removes a file or folder; rename moves one from old_path to new_path.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string","description":"The file or folder, beginning with /memories. Needed by all commands but rename."},` +
			editorArguments + `,"insert_text":{"type":"string","description":"What insert adds."},"old_path":{"type":"string"},"new_path":{"type":"string"}},"required":["command"]}`},
}

var definedShell = definedTool{"Runs a command in a shell of the user's machine and returns what it writes. The shell stays the same between calls, with its folder and variables; restart it if it no longer answers.",
	`{"type":"object","properties":{"command":{"type":"string","description":"The command. Needed unless restart is true."},"restart":{"type":"boolean","description":"True to begin with a new shell, without a command."}}}`}

// editorArguments are what the commands take that edit files.
const editorArguments = `"view_range":{"type":"array","items":{"type":"integer"},"description":"The first and the last line that view shows, from 1; -1 is the end of the file."},` +
	`"file_text":{"type":"string","description":"What the file has in it that create writes."},` +
	`"old_str":{"type":"string","description":"The text that str_replace replaces. It must stand in the file exactly once."},` +
	`"new_str":{"type":"string","description":"The text in its place."},` +
	`"insert_line":{"type":"integer","description":"The line after which insert adds a text; 0 is the beginning of the file."}`

// editorWords explains them; inserted is the argument of a text that is added.
func editorWords(inserted string) string {
	return "The command view shows a file, or what is in a folder; create writes a file; str_replace replaces old_str by new_str; insert adds " + inserted + " after the line insert_line."
}

func definedEditor(undo, inserted string) definedTool {
	words, more := "Shows and edits text files of the user's machine. "+editorWords(inserted), ""
	if undo != "" {
		words += " undo_edit takes back the last change of a file."
	}
	if inserted != "new_str" {
		more = `,"` + inserted + `":{"type":"string","description":"What insert adds."}`
	}
	return definedTool{words, `{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"` + undo +
		`]},"path":{"type":"string","description":"The file or folder, from the root."},` + editorArguments + more + `},"required":["command","path"]}`}
}

// Actions that later versions of the computer tool add to the first.
const (
	moreActions   = `,"left_mouse_down","left_mouse_up","triple_click","scroll","hold_key","wait"`
	moreArguments = `,"start_coordinate":{"type":"array","items":{"type":"integer"},"description":"Where left_click_drag begins."},` +
		`"scroll_direction":{"type":"string","enum":["up","down","left","right"]},"scroll_amount":{"type":"integer","description":"How many steps scroll makes."},` +
		`"duration":{"type":"number","description":"For how many seconds hold_key and wait last."}`
)

func definedComputer(actions, arguments string) definedTool {
	return definedTool{"Sees and uses the screen, mouse and keyboard of a computer. Take a screenshot to see where things are before you click, and again to see what an action did.",
		`{"type":"object","properties":{"action":{"type":"string","enum":["screenshot","mouse_move","left_click","right_click","middle_click","double_click","left_click_drag","cursor_position","key","type"` + actions +
			`]},"coordinate":{"type":"array","items":{"type":"integer"},"description":"Where the mouse does it: x and y in pixels, from the upper left corner."},` +
			`"text":{"type":"string","description":"What type writes, or the keys that key presses, like Return or ctrl+s."}` + arguments + `},"required":["action"]}`}
}

// definition returns the definition of a tool from the members of its type. It reports false for types that the vendor
// does not document.
func definition(own func(string) []byte) (definedTool, bool) {
	return versionOf(js.Text(own("type")), own)
}

// versionOf is definition for a tool of that type.
func versionOf(typ string, own func(string) []byte) (definedTool, bool) {
	def, known := DefinedTools[typ]
	if w, h := own("display_width_px"), own("display_height_px"); known && js.Kind(w) == '0' && js.Kind(h) == '0' {
		def.Description += fmt.Sprintf(" The screen is %.20s pixels wide and %.20s high.", w, h)
	}
	return def, known
}

// define adds the description and schema of the tool's type.
func define(t *llm.ToolDef) {
	def, known := definition(func(key string) []byte { return t.Extra[names.Messages][key] })
	if !known || t.Description != "" || len(t.Schema) > 0 {
		return
	}
	t.Description, t.Schema = def.Description, []byte(def.Schema)
}

// asDefined returns a tool as the vendor takes it: without what its type says.
func asDefined(t llm.ToolDef) llm.ToolDef {
	def, known := definition(func(key string) []byte { return t.Extra[names.Messages][key] })
	if known && t.Description == def.Description && string(t.Schema) == def.Schema {
		t.Description, t.Schema = "", nil
	}
	return t
}

// Described returns a tool that the vendor defines and the client runs, as it is offered to models of other vendors:
// without its type, with the description for those models.
func (m Format) Described(t llm.ToolDef) (out llm.ToolDef, said llm.Warning, is bool) {
	typ := js.Text(t.Extra[names.Messages]["type"])
	if !definesType(typ) {
		return t, said, false
	}
	said = llm.Warning{Code: llm.Degraded, Feature: typ, Detail: "the tool " + t.Name + " is offered with a description and parameters in words of ours; only models of the vendor of the messages format know it by its type"}
	if known := knownVersion(typ); known != typ {
		said.Detail = "the model is told what " + known + " takes, the newest version of the tool " + t.Name + " that is known here"
	}
	t = m.Told(t)
	t.Extra = t.Extra.Clone()
	own := t.Extra[names.Messages]
	delete(own, "type")
	if w, h := own["display_width_px"], own["display_height_px"]; js.Kind(w) == '0' && js.Kind(h) == '0' && strings.Contains(t.Description, "pixels wide") {
		delete(own, "display_width_px")
		delete(own, "display_height_px")
	}
	if len(own) == 0 {
		delete(t.Extra, names.Messages)
	}
	return t, said, true
}

// Told returns a tool of a type that the vendor defines with what it takes: what the newest
// version takes that is known, if its own is not.
func (Format) Told(t llm.ToolDef) llm.ToolDef {
	if len(t.Schema) > 0 {
		return t
	}
	own := t.Extra[names.Messages]
	def, _ := versionOf(knownVersion(js.Text(own["type"])), func(key string) []byte { return own[key] })
	t.Description, t.Schema = cmp.Or(t.Description, def.Description), []byte(def.Schema)
	return t
}

// knownVersion is the type itself if it is known, and else the newest of the same family that is.
func knownVersion(typ string) string {
	if _, ok := DefinedTools[typ]; ok {
		return typ
	}
	newest := ""
	for known := range DefinedTools {
		family := known[:strings.LastIndexByte(known, '_')+1]
		if strings.HasPrefix(typ, family) && known > newest {
			newest = known
		}
	}
	return newest
}

// Defines reports whether the vendor defines a client tool by its type.
func (Format) Defines(t llm.ToolDef) bool {
	return t.Kind == llm.FunctionTool && definesType(js.Text(t.Extra[names.Messages]["type"]))
}

// definesType reports whether a type is that of a tool which the client runs and the vendor defines.
func definesType(typ string) bool {
	for _, prefix := range clientTools {
		if strings.HasPrefix(typ, prefix) && !strings.HasPrefix(typ, "computer_toolset") {
			return true
		}
	}
	return false
}
