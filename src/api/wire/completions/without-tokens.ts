// Completions that request zero tokens, to score a prompt. Engines generate at least one token, which the answer
// leaves out.
import type { ChatDelta, ChatUsage } from "../../../base/domain/chat.ts";
import type { CompletionForm } from "./read-completion.ts";

type Form = Pick<CompletionForm, "isWithoutTokens">;

/** Returns the delta that the answer shows: without the sampled token if zero tokens were requested. */
export function deltaAsAnswered(delta: ChatDelta, form: Form): ChatDelta {
  if (!form.isWithoutTokens) return delta;
  const usage = usageAsAnswered(delta.usage, form);
  const finish = delta.finish && ({ reason: "length", stopReason: null, matchedStop: null } as const);
  return { ...delta, text: "", reasoning: "", tokenIds: [], logprobs: [], finish, usage, choiceTokens: 0 };
}

/** Returns the usage that the answer shows: no completion tokens if zero were requested. */
export function usageAsAnswered(usage: ChatUsage, { isWithoutTokens }: Form): ChatUsage {
  return isWithoutTokens ? { ...usage, completionTokens: 0 } : usage;
}
