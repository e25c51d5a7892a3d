// The tools of an MCP server as tools of a model.
import type { Tool, ToolCall } from "../api.ts";
import { Deadline } from "../deadline.ts";
import { HoneError } from "../hone-error.ts";
import { refuseUnknown } from "../unknown-options.ts";
import { textOfResult } from "./mcp-result.ts";
import {
  isAnswerOfServer,
  type McpClient,
  type McpSource,
  type McpTool,
  openMcpClient,
} from "./mcp-client.ts";
import { cutText, type ToolCallOptions, type ToolResult, type ToolSet } from "./tool-set.ts";

export interface McpToolsOptions {
  /** Names of the tools that the model gets; default: all of the server's. */
  readonly include?: readonly string[];
  /** Maximum duration of a call in milliseconds; default 60,000. */
  readonly callTimeout?: number;
  /** Maximum length of a result in characters; longer results are cut. Default 8,000. */
  readonly resultLength?: number;
}

/** Maximum number of tools in a chat request. */
const toolsMax = 1024;

/**
 * Returns the tools of an MCP server.
 *
 * @param source a command that starts the server, the server's address, or a connected client, which `close` leaves
 * open
 * @throws HoneError `tools_failed` if the server cannot be used, `missing_package`, or `invalid` for an option
 */
export async function mcpTools(source: McpSource, options: McpToolsOptions = {}): Promise<ToolSet> {
  refuseUnknown(options, ["include", "callTimeout", "resultLength"], "mcpTools");
  const { callTimeout = 60_000, resultLength = 8000 } = options;
  for (const [name, value] of Object.entries({ callTimeout, resultLength }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw invalid(name, `${name} is ${value}; it must be a whole number of at least 1.`);
  const client = await openMcpClient(source, callTimeout);
  try {
    const tools = chosen(await listedTools(client), options.include);
    const names = tools.map(({ name }) => name);
    return {
      tools: tools.map(toChatTool),
      call: (call, given) => callTool({ client, names, callTimeout, resultLength }, call, given),
      close: () => client.close(),
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Reads the server's list page by page, until it ends or exceeds the limit. */
async function listedTools(client: McpClient): Promise<readonly McpTool[]> {
  const found: McpTool[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    found.push(...page.tools);
    if (found.length > toolsMax)
      throw invalid(
        "include",
        `The MCP server has more than ${toolsMax} tools, the maximum of a chat request.`,
      );
    // Also stops at an empty page, because the list could otherwise be endless.
    if (page.nextCursor === undefined || page.tools.length === 0) return found;
    cursor = page.nextCursor;
  }
}

function chosen(tools: readonly McpTool[], include: readonly string[] | undefined): readonly McpTool[] {
  if (include === undefined) return tools;
  const names = tools.map(({ name }) => name);
  const unknown = include.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw invalid(
      "include",
      `The MCP server has no tool ${JSON.stringify(unknown)}; it has ${names.join(", ")}.`,
    );
  return tools.filter(({ name }) => include.includes(name));
}

function toChatTool({ name, description = "", inputSchema }: McpTool): Tool {
  // The model does not need `$schema`, which names a version of JSON Schema.
  const { $schema: _, ...parameters } = inputSchema as Readonly<Record<string, unknown>>;
  return { type: "function", function: { name, description, parameters } };
}

interface Caller {
  readonly client: McpClient;
  readonly names: readonly string[];
  readonly callTimeout: number;
  readonly resultLength: number;
}

async function callTool(
  { client, names, callTimeout, resultLength }: Caller,
  call: ToolCall,
  { signal }: ToolCallOptions = {},
): Promise<ToolResult> {
  const failed = (text: string): ToolResult => ({
    content: cutText(`Error: ${text}`, resultLength),
    isError: true,
  });
  const { name = "", arguments: written = "" } = call.function ?? {};
  if (!names.includes(name))
    return failed(`there is no tool ${JSON.stringify(name)}; there are ${names.join(", ")}.`);
  const input = parsedArguments(written);
  if (input === null) return failed("the arguments must be a JSON object.");
  signal?.throwIfAborted();
  const deadline = new Deadline(callTimeout, signal);
  try {
    const options = { signal: deadline.signal, timeout: callTimeout };
    const { text, isError } = textOfResult(
      await deadline.while(client.callTool({ name, arguments: input }, options)),
    );
    return isError ? failed(text) : { content: cutText(text, resultLength), isError };
  } catch (error) {
    signal?.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    if (deadline.isOver) return failed(`the tool did not answer within ${callTimeout / 1000} s.`);
    // A dead server is not the model's fault, so this failure must not become part of the training data.
    if (!isAnswerOfServer(error))
      throw new HoneError({
        code: "tools_failed",
        message: `The MCP server is gone: ${message}`,
        cause: error,
      });
    return failed(message);
  }
}

function parsedArguments(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    // Safe cast: an object from JSON.
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function invalid(param: string, message: string): HoneError {
  return new HoneError({ code: "invalid", param, message });
}
