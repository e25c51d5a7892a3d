// A tool that `hone mcp` offers: its description, its schemas and the function that runs it. This module runs tools
// within limits, and turns their results and errors into results of the Model Context Protocol (MCP).
import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import type * as z from "zod";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { errorText, toCommandLineTerms } from "../error-text.ts";

/** Effect of a tool on the server's data. */
export type Effect = "reads" | "adds" | "deletes";

export interface ToolContext {
  readonly hone: Hone;
  /** Aborts if the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Reports the call's progress to the client. `done` must increase; the total is null if it is unknown. */
  readonly progress: (done: number, total: number | null, message: string) => void;
}

export interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly effect: Effect;
  /** True if a repeated call with the same input changes nothing. */
  readonly isIdempotent: boolean;
  readonly input: Input;
  readonly output: Output;
  readonly run: (input: z.output<Input>, context: ToolContext) => Promise<z.input<Output>>;
}

/** Resources that all tool calls of a process share. */
export interface ToolHost {
  readonly hone: Hone;
  /** Number of calls that run now. */
  running: number;
}

export interface Tool {
  readonly name: string;
  readonly effect: Effect;
  readonly register: (server: McpServer, host: ToolHost) => void;
}

/** Maximum number of concurrent calls; further calls fail. Only a client that never waits for results exceeds it. */
const runningMax = 32;
/** Maximum length of a result as JSON, in characters. Clients put results into a model's context. */
const resultLengthMax = 200_000;

export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  const { name, title, description, effect, isIdempotent, input, output, run } = definition;
  const annotations = {
    readOnlyHint: effect === "reads",
    destructiveHint: effect === "deletes",
    idempotentHint: isIdempotent || effect === "reads",
    // All tools use only the one Hone server.
    openWorldHint: false,
  };
  const config = { title, description, inputSchema: input, outputSchema: output, annotations };
  return {
    name,
    effect,
    register: (server, host) => {
      // Untyped here, because the library's type of the callback depends on the generic schema.
      const call = (given: unknown, context: ServerContext): Promise<CallToolResult> =>
        // Safe cast: the library has validated the input against the schema.
        resultOf(host, () => run(given as z.output<Input>, contextOf(host, context)));
      server.registerTool<z.ZodObject, z.ZodObject>(name, config, call);
    },
  };
}

async function resultOf(host: ToolHost, run: () => Promise<unknown>): Promise<CallToolResult> {
  if (host.running >= runningMax)
    return failed(
      `${host.running} tool calls are running, the maximum. Repeat the call after one has ended.`,
    );
  host.running += 1;
  try {
    const value = await run();
    const text = JSON.stringify(value);
    if (text.length > resultLengthMax)
      return failed(
        `The result has ${text.length} characters; the maximum is ${resultLengthMax}. Ask for less: a smaller limit, or a narrower filter.`,
      );
    // Clients of older protocol versions read only the text.
    return { content: [{ type: "text", text }], structuredContent: value };
  } catch (error) {
    return failed(messageOf(error));
  } finally {
    host.running -= 1;
  }
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text }] };
}

function messageOf(error: unknown): string {
  if (error instanceof HoneError)
    return toCommandLineTerms(error).replaceAll("`hone models list`", "list_models");
  if (error instanceof ServiceError) return error.message;
  process.stderr.write(errorText(error));
  return `hone mcp failed: ${error instanceof Error ? error.message : String(error)}`;
}

function contextOf({ hone }: ToolHost, { mcpReq }: ServerContext): ToolContext {
  const { _meta: meta } = mcpReq;
  const progressToken = meta?.progressToken;
  return {
    hone,
    signal: mcpReq.signal,
    progress: (progress, total, message) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress, message, ...(total === null ? {} : { total }) };
      // A failed notification means that the client has disconnected, which also aborts the call.
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
    },
  };
}
