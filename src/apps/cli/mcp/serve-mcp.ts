// The MCP server of `hone mcp`: all tools, offered to one client over standard input and output.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Hone } from "../../client/hone.ts";
import type { Tool, ToolHost } from "./tool.ts";
import { chatTools } from "./tools/chat-tools.ts";
import { feedbackTools } from "./tools/feedback-tools.ts";
import { jobTools } from "./tools/job-tools.ts";
import { modelTools } from "./tools/model-tools.ts";
import { queueTools } from "./tools/queue-tools.ts";
import { recordedTools } from "./tools/recorded-tools.ts";
import { trainingTools } from "./tools/training-tools.ts";

export const tools: readonly Tool[] = [
  ...modelTools,
  ...chatTools,
  ...recordedTools,
  ...feedbackTools,
  ...queueTools,
  ...jobTools,
  ...trainingTools,
];

const instructions = `Hone serves language models, records the answers of trained models, stores feedback, and trains models on it.
To improve a model: create_model, chat several times with the same prompt (n), add_feedback on the answers, train_on_feedback, watch_job, and chat again. The model's name always means its newest version.`;

export interface McpOptions {
  readonly version: string;
  /** True to offer only tools that change nothing. */
  readonly isReadOnly: boolean;
}

/** Returns a function that creates a server for one connection. All connections share the limit on running calls. */
export function mcpServers(hone: Hone, { version, isReadOnly }: McpOptions): () => McpServer {
  const host: ToolHost = { hone, running: 0 };
  const offered = tools.filter(({ effect }) => !isReadOnly || effect === "reads");
  return () => {
    const server = new McpServer({ name: "hone", title: "Hone", version }, { instructions });
    for (const { register } of offered) register(server, host);
    return server;
  };
}

/** Serves one client until it closes standard input. Standard output contains only messages of the protocol. */
export function serveMcp(hone: Hone, options: McpOptions): void {
  serveStdio(mcpServers(hone, options), {
    onerror: ({ message }) => void process.stderr.write(`hone mcp: ${message}\n`),
  });
}
