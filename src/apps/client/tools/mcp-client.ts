// Clients of MCP servers. Programs may pass their own connected client, from the package `@modelcontextprotocol/sdk`
// (version 1) or `@modelcontextprotocol/client` (version 2). For a command or an address, this module opens a client
// with version 2, which is an optional peer dependency.
import { HoneError } from "../hone-error.ts";

interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

/** A connected client of an MCP server. The clients of both versions of the official library have this type. */
export interface McpClient {
  listTools(params?: { cursor: string }): Promise<{
    readonly tools: readonly McpTool[];
    readonly nextCursor?: string | undefined;
  }>;
  // oxlint-disable-next-line typescript/no-explicit-any -- the parameters after the first differ between the versions
  callTool(params: { name: string; arguments: Record<string, unknown> }, ...rest: any[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments. */
  readonly inputSchema: object;
}

/** Command that starts an MCP server, which speaks over its standard input and output. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[];
  /** Variables added to the few environment variables that the library passes on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Address of an MCP server with Streamable HTTP. */
export interface McpAddress {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type McpSource = McpClient | McpCommand | McpAddress;

/**
 * Returns a connected client. If the source is a client, closing the returned one leaves the source open.
 *
 * @param timeout maximum time to connect in milliseconds
 */
export async function openMcpClient(source: McpSource, timeout: number): Promise<McpClient> {
  if ("callTool" in source) return { ...boundTo(source), close: async () => undefined };
  const name = "url" in source ? source.url : [source.command, ...(source.args ?? [])].join(" ");
  const library = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("@modelcontextprotocol/client/stdio"),
  ]).catch((error: unknown) => {
    throw missing(error);
  });
  const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport, getDefaultEnvironment }] =
    library;
  const client = new Client({ name: "hone-client", version: "1" });
  let said = "";
  const transport = () => {
    if ("url" in source)
      return new StreamableHTTPClientTransport(new URL(source.url), {
        requestInit: { headers: { ...source.headers } },
      });
    const { command, args = [], env = {}, cwd } = source;
    const started = new StdioClientTransport({
      command,
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      stderr: "pipe",
      ...(cwd === undefined ? {} : { cwd }),
    });
    // Safe cast: with `pipe`, `stderr` is a readable stream. If nobody read it, the process would block at a full pipe.
    const errors = started.stderr as { on(event: "data", take: (data: Uint8Array) => void): void } | null;
    errors?.on("data", (data) => (said = `${said}${new TextDecoder().decode(data)}`.slice(-saidMax)));
    return started;
  };
  try {
    await client.connect(transport(), { timeout });
  } catch (cause) {
    await client.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `The MCP server ${name} cannot be used: ${reason}${said === "" ? "" : `\n${said.trim()}`}`;
    throw new HoneError({ code: "tools_failed", message, cause });
  }
  return client;
}

/** Codes of the library's errors for an answer that is late or invalid. Its other errors mean that none arrived. */
const answerCodes: readonly unknown[] = ["REQUEST_TIMEOUT", "INVALID_RESULT"];

/**
 * True if a failed call has reached the server: the server answered with an error, or too late. False if the server
 * cannot be reached: a process that ended, a lost connection, or a status of HTTP instead of an answer.
 */
export function isAnswerOfServer(error: unknown): boolean {
  if (!(error instanceof Error) || /connection closed|not connected/i.test(error.message)) return false;
  const code: unknown = "code" in error ? error.code : undefined;
  // Errors of JSON-RPC have negative codes. In version 1, a failed HTTP request has its status as code.
  return answerCodes.includes(code) || (typeof code === "number" && code < 0);
}

/** Maximum length of a process's error output in an error message, in characters. */
const saidMax = 2000;

function boundTo(client: McpClient): Omit<McpClient, "close"> {
  // Only version 2 has this method. Version 1 takes the options after a schema for the result.
  const isSecond = "getProtocolEra" in client;
  return {
    listTools: (params) => client.listTools(params),
    callTool: (params, options: CallOptions) =>
      isSecond ? client.callTool(params, options) : client.callTool(params, undefined, options),
  };
}

function missing(cause: unknown): HoneError {
  const name = "@modelcontextprotocol/client";
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `mcpTools needs the package ${name}, which cannot be loaded (${reason.split("\n")[0]}). Install it: npm install ${name}`;
  return new HoneError({ code: "missing_package", message, cause });
}
