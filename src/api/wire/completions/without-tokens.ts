// Completions that ask for no tokens, which scores a prompt: engines draw one at least, and it is not answered.
import type { ChatDelta, ChatUsage } from "../../../base/domain/chat.ts";
import type { CompletionForm } from "./read-completion.ts";

type Form = Pick<CompletionForm, "isWithoutTokens">;

/** The delta as its completion is answered. */
export function deltaAsAnswered(delta: ChatDelta, form: Form): ChatDelta {
  if (!form.isWithoutTokens) return delta;
  const usage = usageAsAnswered(delta.usage, form);
  const finish = delta.finish && ({ reason: "length", stopReason: null, matchedStop: null } as const);
  return { ...delta, text: "", reasoning: "", tokenIds: [], logprobs: [], finish, usage, choiceTokens: 0 };
}

/** The same of what was used. */
export function usageAsAnswered(usage: ChatUsage, { isWithoutTokens }: Form): ChatUsage {
  return isWithoutTokens ? { ...usage, completionTokens: 0 } : usage;
}
