// For tests: reads a completion to its end.
import type { ChatCompletion, ChatDelta, ChatHeader, ChatUsage } from "../../../base/domain/chat.ts";

export interface CompletionRead {
  readonly header: ChatHeader;
  readonly deltas: readonly ChatDelta[];
  readonly usage: ChatUsage;
}

/** Reads a completion to its end, and returns everything that it yielded. */
export async function readCompletion(beginning: Promise<ChatCompletion>): Promise<CompletionRead> {
  const completion = await beginning;
  const deltas: ChatDelta[] = [];
  for await (const step of completion.deltas) deltas.push(...step);
  return { header: completion.header, deltas, usage: completion.usage };
}
