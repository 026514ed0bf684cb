// A server made with the official TypeScript SDK: the argument is the package of its version.
import { z } from "zod";

const [sdk] = process.argv.slice(2);
const one = sdk === "@modelcontextprotocol/sdk";
const { McpServer } = await import(one ? sdk + "/server/mcp.js" : sdk);
const { StdioServerTransport } = await import(sdk + (one ? "/server/stdio.js" : "/stdio"));

const server = new McpServer({ name: "slow", version: "1" });
server.registerTool("echo", { description: "Return the text.", inputSchema: one ? { text: z.string() } : z.object({ text: z.string() }) },
  async ({ text }) => ({ content: [{ type: "text", text }] }));
await server.connect(new StdioServerTransport());
