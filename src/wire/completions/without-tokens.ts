// Completions that ask for no tokens, which scores a prompt: engines draw one at least, and it is not answered.
import type { ChatEvent } from "../../domain/chat.ts";
import type { CompletionForm } from "./read-completion.ts";

/** The event as its completion is answered. */
export function asAnswered(
  event: ChatEvent,
  { isWithoutTokens }: Pick<CompletionForm, "isWithoutTokens">,
): ChatEvent {
  if (!isWithoutTokens || event.kind === "header") return event;
  const usage = { ...event.usage, completionTokens: 0 };
  if (event.kind === "usage") return { ...event, usage };
  const finish = event.finish && ({ reason: "length", stopReason: null, matchedStop: null } as const);
  return { ...event, text: "", reasoning: "", tokenIds: [], logprobs: [], finish, usage, choiceTokens: 0 };
}
