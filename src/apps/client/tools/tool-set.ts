// Tools that a program offers to a model in a rollout: their definitions for chat requests, and a function that runs a
// model's call. The tools may come from an MCP server (mcp-tools) or from the user's own code.
import type { Tool, ToolCall } from "../api.ts";

/** Result of a call, as the model sees it. */
export interface ToolResult {
  /** Text that the model gets. */
  readonly content: string;
  /** True if the call was invalid or the tool failed; the text then contains the reason. */
  readonly isError: boolean;
}

export interface ToolCallOptions {
  readonly signal?: AbortSignal;
}

export interface ToolSet {
  /** Definitions of the tools, for the field `tools` of chat requests. */
  readonly tools: readonly Tool[];
  /**
   * Runs a model's call. If the call is invalid or the tool fails, the result contains the reason.
   *
   * @throws the signal's reason; any error that is not the model's fault, such as a lost connection to the tools
   */
  call(call: ToolCall, options?: ToolCallOptions): Promise<ToolResult>;
  /** Releases the tools' resources, such as a process. */
  close(): Promise<void>;
}

/** Returns the text with at most `lengthMax` characters; a note at the end says how many are missing. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, lengthMax)}\n[${text.length - lengthMax} more characters are left out]`;
}
