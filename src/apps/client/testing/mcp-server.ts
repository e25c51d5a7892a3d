// For tests: an MCP server with tools that succeed and fail in each way. As a program, it serves standard input and
// output.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

/** Returns a new server. Its tools count their calls, to show which rollouts share a process. */
export function testTools(): McpServer {
  const server = new McpServer({ name: "test tools", version: "1" });
  let callCount = 0;
  const said = (text: string) => ({ content: [{ type: "text" as const, text }] });
  const fruit = z.enum(["apple", "pear", "plum"]);
  server.registerTool(
    "price",
    { description: "Price of a fruit.", inputSchema: z.object({ fruit }) },
    ({ fruit: name }) => said(`${name} costs ${name.length}`),
  );
  server.registerTool("count", { description: "Number of calls so far." }, () => said(String(++callCount)));
  server.registerTool("long", { description: "A long text." }, () => said("long ".repeat(2000)));
  server.registerTool("fail", { description: "Always fails." }, () => {
    throw new Error("out of fruit");
  });
  server.registerTool("silent", { description: "Never answers." }, () => new Promise(() => undefined));
  server.registerTool("exit", { description: "Ends the server." }, () => process.exit(3));
  server.registerTool("mixed", { description: "All kinds of content." }, () => ({
    content: [
      { type: "text", text: "text" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///a", text: "resource" } },
      { type: "resource_link", uri: "file:///b", name: "b" },
    ],
  }));
  server.registerTool(
    "structured",
    { description: "Structured content only.", outputSchema: z.object({ price: z.number() }) },
    () => ({ content: [], structuredContent: { price: 4 } }),
  );
  return server;
}

if (process.argv[1] === new URL(import.meta.url).pathname) serveStdio(testTools);
