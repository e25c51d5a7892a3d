// How the answer to a request is read, and what it is held to: thoughts, calls of tools and the request's own constraint
// together. Pure.
import { joinedText } from "../../../base/domain/content-part.ts";
import type { ChatRequest } from "../../../base/domain/chat.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import type { Engine } from "../../../base/domain/generation.ts";
import { thoughtMarks, type ThoughtStart } from "../reply/read-thought.ts";
import type { ReplyForm } from "../reply/reply-reader.ts";
import type { ServedBase } from "../served-base.ts";
import { constrainedReply } from "./constrained-reply.ts";
import { functionOf } from "./arguments-schema.ts";
import { toolChoiceOf, toolsOf } from "./tool-use.ts";

export interface ReplyPlan {
  readonly form: ReplyForm;
  readonly constraint: Constraint | null;
  /** Of an answer that ends after calls. */
  readonly finishOfCalls: "tool_calls" | "stop";
}

/** @param promptTokenIds of the rendered prompt, whose end says whether a thought is open */
export function planReply(
  request: ChatRequest,
  base: Pick<ServedBase, "replies" | "tokenizer"> & { readonly engine: Pick<Engine, "capabilities"> },
  promptTokenIds: readonly number[],
): ReplyPlan {
  const choice = toolChoiceOf(request, base);
  const thought = thoughtStart(request, base, promptTokenIds);
  const { callFormat } = base.replies;
  const functions = new Map(
    toolsOf(request).map((tool) => [functionOf(tool).name, functionOf(tool).parameters ?? null]),
  );
  const texts = new Set(request.calls.texts.map(({ name }) => name));
  // A function that is named is called once.
  const areParallel = request.calls.areParallel && choice.kind !== "named";
  const calls =
    callFormat === null || choice.kind === "none" ? null : { format: callFormat, functions, areParallel };
  // A form of whole answers is read also where nothing may be called.
  const silent =
    callFormat?.inChannels === true ? { format: callFormat, functions: new Map(), areParallel } : null;
  const constraint = constrainedReply(request, choice, {
    thought,
    calls,
    answer: callFormat?.answer ?? null,
    features: base.engine.capabilities.features,
  });
  const readCalls = calls ?? silent;
  return {
    form: { thought, calls: readCalls && { ...readCalls, isHeld: constraint !== null, texts } },
    constraint,
    // As vLLM has it: that the function is called was no choice of the model's.
    finishOfCalls: choice.kind === "named" ? "stop" : "tool_calls",
  };
}

/** Many more than a thought's mark and the line breaks behind it have. */
const lastTokenCount = 32;

function thoughtStart(
  { prompt }: ChatRequest,
  { replies, tokenizer }: Pick<ServedBase, "replies" | "tokenizer">,
  promptTokenIds: readonly number[],
): ThoughtStart {
  const hasThoughts = replies.thinks && replies.callFormat?.inChannels !== true;
  if (!hasThoughts || prompt.kind !== "conversation") return "none";
  const end = tokenizer.decode(promptTokenIds.slice(-lastTokenCount), { skipSpecialTokens: false }).trimEnd();
  if (end.endsWith(thoughtMarks.begin)) return "open";
  if (end.endsWith(thoughtMarks.end)) return "none";
  if (!prompt.continueFinalMessage) return prompt.addGenerationPrompt ? "possible" : "none";
  const begun = joinedText(prompt.messages.at(-1)?.content ?? null) ?? "";
  if (begun.trim() === "") return "possible";
  return begun.lastIndexOf(thoughtMarks.begin) > begun.lastIndexOf(thoughtMarks.end) ? "open" : "none";
}
