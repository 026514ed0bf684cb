"""An MCP server with one tool, without a library."""
import json
import sys

for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    method, result = m.get("method"), {}
    if method == "initialize":
        result = {"protocolVersion": m["params"].get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}}, "serverInfo": {"name": "probe", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
        result = {"tools": [{"name": "lookup", "description": "Looks a key up", "inputSchema": schema, "annotations": {"readOnlyHint": True}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "MCP-MARKER-" + str(6 * 7)}]}
    elif method in ("resources/list", "prompts/list", "resources/templates/list"):
        result = {method.split("/")[0]: []} if method != "resources/templates/list" else {"resourceTemplates": []}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
