// Evaluates a candidate version and the current version on the same held-out prompts. With a judge, both versions
// answer the prompts. Otherwise, the log-probabilities of recorded answers are compared.
import type { AskModel } from "../../base/domain/fine-tuning/ask-model.ts";
import type { Evaluation, LearningCycle, VersionScore } from "../../base/domain/learning/learning-cycle.ts";
import type { MeasureTokens } from "../../base/domain/learning/measure-tokens.ts";
import type { CompletionStore, StoredCompletion } from "../../base/domain/recordings/completion-store.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { promptExtra } from "../rewards/preferences/preference-lines.ts";
import { messagesOf } from "../trajectories/choice-record.ts";
import { judgeAnswer } from "./judge-texts.ts";
import type { LearningSettings } from "./settings.ts";

export interface EvaluateDependencies {
  readonly completions: Pick<CompletionStore, "find">;
  readonly ask: AskModel;
  readonly measure: MeasureTokens;
  readonly settings: LearningSettings;
}

type Evaluated = Pick<LearningCycle, "modelId" | "order" | "heldOut" | "baseStep" | "candidateStep">;

/** Values of both versions for one held-out answer or prompt. */
interface Pair {
  readonly isWanted: boolean;
  readonly candidate: number;
  readonly current: number;
}

/**
 * Evaluates both versions of a cycle.
 *
 * @throws ServiceError `conflict` if fewer held-out prompts than the minimum can be used; other codes if a model or the
 * judge cannot be asked now
 */
export async function evaluate(
  dependencies: EvaluateDependencies,
  projectId: string,
  cycle: Evaluated,
  signal: AbortSignal,
): Promise<Evaluation> {
  const { judge, promptsMin } = cycle.order;
  const pairs: Pair[] = [];
  let refusal = "";
  /** Returns null if the server refuses the request itself, for example because the prompt became too long. */
  const unlessRefused = async (value: Promise<number>): Promise<number | null> => {
    try {
      return await value;
    } catch (error) {
      if (!(error instanceof ServiceError) || !["invalid", "unsupported"].includes(error.code)) throw error;
      refusal = ` ${error.message}`;
      return null;
    }
  };
  for (const { requestId, choice, isWanted } of cycle.heldOut) {
    signal.throwIfAborted();
    const completion = await dependencies.completions.find({ projectId, requestId });
    if ((completion?.content ?? null) === null || completion === null) continue;
    const valueOf = (step: number | null): Promise<number> => {
      const model = `${cycle.modelId}:step${step ?? 0}`;
      return judge === null
        ? meanLogprob(dependencies, model, completion, choice, signal)
        : judgedReward(dependencies, { model, judge, completion, signal });
    };
    const candidate = await unlessRefused(valueOf(cycle.candidateStep));
    const current = candidate === null ? null : await unlessRefused(valueOf(cycle.baseStep));
    if (candidate !== null && current !== null)
      pairs.push({ isWanted: isWanted !== false, candidate, current });
  }
  const isComparable = pairs.some(({ isWanted }) => isWanted);
  if (pairs.length < promptsMin || !isComparable) {
    const message = `Only ${pairs.length} of ${cycle.heldOut.length} held-out prompts could be used.${refusal}`;
    throw new ServiceError({ code: "conflict", message });
  }
  return {
    method: judge === null ? "logprobs" : "judge",
    promptCount: pairs.length,
    candidate: scoreOf(pairs, "candidate"),
    current: scoreOf(pairs, "current"),
  };
}

/** Returns the sentence that says why a candidate fails; null if it is not worse than the margin allows. */
export function evaluationFault({ candidate, current }: Evaluation, margin: number): string | null {
  const score = `its score is ${candidate.score.toFixed(4)}, and that of the current version ${current.score.toFixed(4)}`;
  if (!(candidate.score >= current.score - margin))
    return `The candidate is worse: ${score}; at most ${margin} below is allowed.`;
  if (candidate.unwanted === null || current.unwanted === null) return null;
  const [own, other] = [candidate, current].map((one) => one.score - (one.unwanted ?? 0));
  if (own >= other - margin) return null;
  return `The candidate distinguishes wanted from unwanted answers worse: by ${own.toFixed(4)}, and the current version by ${other.toFixed(4)}; at most ${margin} below is allowed.`;
}

function scoreOf(pairs: readonly Pair[], version: "candidate" | "current"): VersionScore {
  const values = (isWanted: boolean) =>
    pairs.filter((pair) => pair.isWanted === isWanted).map((pair) => pair[version]);
  const unwanted = values(false);
  return { score: mean(values(true)), unwanted: unwanted.length === 0 ? null : mean(unwanted) };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Returns the mean log-probability of the tokens of a recorded answer. */
async function meanLogprob(
  { measure }: EvaluateDependencies,
  model: string,
  { content }: StoredCompletion,
  choice: number,
  signal: AbortSignal,
): Promise<number> {
  const { promptTokenIds = [], choices = [] } = content ?? {};
  const answer = choices[choice]?.tokenIds ?? [];
  const values = (await measure(model, [...promptTokenIds, ...answer], { signal })).slice(
    promptTokenIds.length,
  );
  const known = values.filter((value) => value !== null);
  if (known.length > 0) return mean(known);
  throw new ServiceError({ code: "unsupported", message: "The recorded answer has no tokens." });
}

/** Returns the judge's reward of a version's answer to a recorded prompt. */
async function judgedReward(
  { ask, settings }: EvaluateDependencies,
  {
    model,
    judge,
    completion: { content },
    signal,
  }: {
    readonly model: string;
    readonly judge: NonNullable<LearningCycle["order"]["judge"]>;
    readonly completion: StoredCompletion;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const prompt = content?.prompt;
  if (prompt?.kind !== "conversation") return 0;
  const body = {
    ...promptExtra(prompt),
    model,
    messages: [...messagesOf(prompt)],
    ...(prompt.tools === null ? {} : { tools: [...prompt.tools] }),
    max_tokens: settings.answerTokensMax,
    // Greedy answers, so that a repeated evaluation gives the same result. They are not recorded.
    temperature: 0,
    store: false,
  };
  const { choices } = await ask(body, { signal });
  const { content: text, tool_calls: calls } = choices[0]?.message ?? {};
  const answer = `${typeof text === "string" ? text : ""}${Array.isArray(calls) ? JSON.stringify(calls) : ""}`;
  return judgeAnswer(judge, { messages: prompt.messages, answer }, { ask, signal });
}
