// Completions that ask for zero tokens, to score a prompt. Engines generate at least one token, so this module removes
// that token from the answer.
import type { ChatDelta, ChatUsage } from "../../../base/domain/chat.ts";
import type { CompletionForm } from "./read-completion.ts";

type Form = Pick<CompletionForm, "isWithoutTokens">;

/** Returns the delta as the answer shows it. If the request asks for zero tokens, the sampled token is left out. */
export function deltaAsAnswered(delta: ChatDelta, form: Form): ChatDelta {
  if (!form.isWithoutTokens) return delta;
  const usage = usageAsAnswered(delta.usage, form);
  const finish = delta.finish && ({ reason: "length", stopReason: null, matchedStop: null } as const);
  return { ...delta, text: "", reasoning: "", tokenIds: [], logprobs: [], finish, usage, choiceTokens: 0 };
}

/** Returns the usage as the answer shows it. If the request asks for zero tokens, there are no completion tokens. */
export function usageAsAnswered(usage: ChatUsage, { isWithoutTokens }: Form): ChatUsage {
  return isWithoutTokens ? { ...usage, completionTokens: 0 } : usage;
}
