// Tests the tools of MCP servers that run in this process, of servers that a command starts as processes, and of servers
// over Streamable HTTP.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { ToolCall } from "../api.ts";
import { testTools } from "../testing/mcp-server.ts";
import type { McpClient } from "./mcp-client.ts";
import { mcpTools } from "./mcp-tools.ts";

const command = {
  command: process.execPath,
  args: [fileURLToPath(new URL("../testing/mcp-server.js", import.meta.url))],
};

async function clientOfTools(t: TestContext): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await testTools().connect(far);
  await client.connect(near);
  t.after(() => client.close());
  return client;
}

function calling(name: string, input: unknown = {}): ToolCall {
  const written = typeof input === "string" ? input : JSON.stringify(input);
  return { id: "c1", type: "function", function: { name, arguments: written } };
}

test("gives the model the tools with their schemas, and the text of each result", async (t) => {
  const tools = await mcpTools(await clientOfTools(t), { callTimeout: 20 });
  const [price] = tools.tools;
  assert.deepEqual(price, {
    type: "function",
    function: {
      name: "price",
      description: "Price of a fruit.",
      parameters: {
        type: "object",
        properties: { fruit: { type: "string", enum: ["apple", "pear", "plum"] } },
        required: ["fruit"],
      },
    },
  });
  for (const [call, content, isError] of [
    [calling("price", { fruit: "plum" }), /^plum costs 4$/, false],
    [calling("count", ""), /^1$/, false],
    [calling("mixed"), /^text\n\[image\/png is left out\]\nresource\nfile:\/\/\/b$/, false],
    [calling("structured"), /^\{"price":4\}$/, false],
    [calling("long"), /^(long ){1600}\n\[2000 more characters are left out\]$/, false],
    [calling("fail"), /^Error: out of fruit$/, true],
    [calling("price", { fruit: "kiwi" }), /^Error: .*fruit/s, true],
    [calling("price", "{fruit"), /^Error: the arguments must be a JSON object\.$/, true],
    [calling("price", "[]"), /^Error: the arguments must be a JSON object\.$/, true],
    [calling("prices"), /^Error: there is no tool "prices"; there are price, count, /, true],
    [calling("silent"), /^Error: the tool did not answer within 0\.02 s\.$/, true],
  ] as const) {
    const result = await tools.call(call);
    assert.match(result.content, content);
    assert.equal(result.isError, isError, JSON.stringify(call));
  }
});

test("cuts results to the chosen length, and offers only the chosen tools", async (t) => {
  const client = await clientOfTools(t);
  const tools = await mcpTools(client, { include: ["long", "fail"], resultLength: 6 });
  assert.deepEqual(
    tools.tools.map((tool) => tool.function?.name),
    ["long", "fail"],
  );
  const { content } = await tools.call(calling("long"));
  assert.equal(content, "long l\n[9994 more characters are left out]");
  assert.match((await tools.call(calling("price"))).content, /^Error:/);
  for (const [options, expected] of [
    [{ include: ["kiwi"] }, /no tool "kiwi"; it has price, count/],
    [{ callTimeout: 0 }, /callTimeout is 0/],
    [{ resultLength: 1.5 }, /resultLength is 1\.5/],
    [{ timeout: 5 }, /mcpTools has no option timeout/],
  ] as const)
    await assert.rejects(mcpTools(client, options as object), expected);
});

test("an aborted rollout aborts the call, and is not an answer to the model", async (t) => {
  const tools = await mcpTools(await clientOfTools(t));
  const stop = new AbortController();
  const call = tools.call(calling("silent"), { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  await assert.rejects(tools.call(calling("count"), { signal: stop.signal }), /enough/);
});

test("starts a server with a command, and ends it", async () => {
  const tools = await mcpTools(command);
  const first = await tools.call(calling("price", { fruit: "apple" }));
  assert.equal(first.content, "apple costs 5");
  await tools.close();
  await assert.rejects(tools.call(calling("count")), { code: "tools_failed" });
});

test("a server that ends is an error of the rollout, not an answer to the model", async () => {
  const tools = await mcpTools(command);
  await assert.rejects(tools.call(calling("exit")), { code: "tools_failed", message: /server is gone/ });
  await tools.close();
});

/** Serves the tools over Streamable HTTP on the loopback address, as one session. Requires a key in the headers. */
async function httpTools(t: TestContext): Promise<{ readonly url: string; readonly server: Server }> {
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => "session" });
  await testTools().connect(transport);
  const answer = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const body = Buffer.concat(await request.toArray());
    const { method = "GET", url = "/" } = request;
    const asked = { method, headers, ...(method === "POST" ? { body } : {}) };
    const response =
      request.headers.authorization === "Bearer key"
        ? await transport.handleRequest(new Request(`http://${request.headers.host}${url}`, asked))
        : new Response("no key", { status: 403 });
    reply.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null) reply.end();
    else Readable.fromWeb(response.body).pipe(reply);
  };
  const server = createServer((request, reply) => void answer(request, reply));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { url: `http://127.0.0.1:${address.port}/mcp`, server };
}

test("uses a server over Streamable HTTP, with headers", async (t) => {
  const { url } = await httpTools(t);
  await assert.rejects(mcpTools({ url }), {
    code: "tools_failed",
    message: /\/mcp cannot be used: .*no key/,
  });
  const tools = await mcpTools({ url, headers: { authorization: "Bearer key" } }, { callTimeout: 2000 });
  assert.equal((await tools.call(calling("price", { fruit: "pear" }))).content, "pear costs 4");
  assert.deepEqual(
    [(await tools.call(calling("count"))).content, (await tools.call(calling("count"))).content],
    ["1", "2"],
  );
  assert.match((await tools.call(calling("fail"))).content, /^Error: out of fruit$/);
  assert.match((await tools.call(calling("price", { fruit: "kiwi" }))).content, /^Error: .*fruit/s);
  await tools.close();
});

test("a server over HTTP that is gone is an error of the rollout, not an answer to the model", async (t) => {
  const { url, server } = await httpTools(t);
  const tools = await mcpTools({ url, headers: { authorization: "Bearer key" } });
  server.close();
  server.closeAllConnections();
  await assert.rejects(tools.call(calling("count")), { code: "tools_failed", message: /server is gone/ });
  await tools.close();
});

test("the error for a server that cannot be used contains its error output", async () => {
  const failing = { command: process.execPath, args: ["-e", "console.error('no key'); process.exit(1)"] };
  await assert.rejects(mcpTools(failing), { code: "tools_failed", message: /cannot be used: [^]*no key/ });
  await assert.rejects(mcpTools({ command: "no-such-program" }), {
    code: "tools_failed",
    message: /no-such-program cannot be used/,
  });
});

test("reads a list of tools page by page, and passes options to clients of version 1 as that version expects", async () => {
  const given: unknown[][] = [];
  const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
  const client: McpClient = {
    listTools: async (params) =>
      params === undefined ? { tools: [tool("a")], nextCursor: "2" } : { tools: [tool(params.cursor)] },
    callTool: async (...parameters) => {
      given.push(parameters);
      return { content: [{ type: "text", text: "done" }] };
    },
    close: () => assert.fail("the user's own client stays open"),
  };
  const tools = await mcpTools(client, { callTimeout: 5000 });
  assert.deepEqual(
    tools.tools.map(({ function: own }) => own?.name),
    ["a", "2"],
  );
  await tools.call(calling("a", { x: 1 }));
  const [params, schema, options] = given[0] ?? assert.fail();
  assert.deepEqual([params, schema], [{ name: "a", arguments: { x: 1 } }, undefined]);
  assert.equal((options as { readonly timeout: number }).timeout, 5000);
  await tools.close();
  const many = { ...client, listTools: async () => ({ tools: [tool("a")], nextCursor: "more" }) };
  await assert.rejects(mcpTools(many), /more than 1024 tools/);
});
