// Samples and grades answers to items with one version of the model. If the server is busy, waits and asks again.
import type { ModelAnswer, UsedModels } from "../../base/domain/fine-tuning/ask-model.ts";
import type { FineTuningJob } from "../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { Grader } from "../../base/domain/fine-tuning/grader.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import { grade, type Grade } from "../graders/grade.ts";
import type { FineTuningSettings } from "./settings.ts";
import type { ReinforcementItem } from "./step-items.ts";

export interface SamplingDependencies extends UsedModels {
  readonly clock: Clock;
  readonly settings: FineTuningSettings;
}

export interface SamplingRequest {
  readonly job: FineTuningJob;
  /** Version that answers. */
  readonly version: number;
  /** Number of answers to each item. */
  readonly answerCount: number;
  readonly seed: number;
}

export interface GradedAnswer {
  readonly choice: ModelAnswer["choices"][number];
  readonly grade: Grade;
}

/** The graded answers to one item. If there are none, `fault` contains the reason. */
export interface GradedItem {
  readonly item: ReinforcementItem;
  readonly answers: readonly GradedAnswer[];
  readonly fault: string | null;
}

/**
 * Answers and grades items, a few at a time.
 *
 * @throws ServiceError `cancelled` once the signal is aborted
 */
export async function sampleItems(
  dependencies: SamplingDependencies,
  items: readonly ReinforcementItem[],
  request: SamplingRequest,
  signal: AbortSignal,
): Promise<readonly GradedItem[]> {
  const graded: GradedItem[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      graded[index] = await sampleItem(dependencies, items[index], request, signal);
  };
  await Promise.all(Array.from({ length: dependencies.settings.itemsAtOnce }, work));
  return graded;
}

async function sampleItem(
  dependencies: SamplingDependencies,
  item: ReinforcementItem,
  request: SamplingRequest,
  signal: AbortSignal,
): Promise<GradedItem> {
  const ask = patient(dependencies.ask, dependencies);
  const embed = patient(dependencies.embed, dependencies);
  try {
    const { choices } = await ask(chatBody(item, request, dependencies.settings), { signal });
    const answers: GradedAnswer[] = [];
    // Safe cast: the grader was checked when the job was created.
    const grader = request.job.order.grader as unknown as Grader;
    for (const choice of choices) {
      const { content, tool_calls: tools } = choice.message;
      const sample = { text: typeof content === "string" ? content : "", tools: listOf(tools) };
      const input = { item: item.fields, sample };
      answers.push({ choice, grade: await grade(grader, input, { ask, embed, signal }) });
    }
    return { item, answers, fault: null };
  } catch (error) {
    if (signal.aborted || !(error instanceof ServiceError)) throw error;
    return { item, answers: [], fault: error.message };
  }
}

function chatBody(
  { index, messages, tools }: ReinforcementItem,
  { job, version, answerCount, seed }: SamplingRequest,
  { answerTokensMax }: FineTuningSettings,
): JsonObject {
  const { responseFormat, hyperparameters } = job.order;
  const effort = hyperparameters["reasoning_effort"];
  return {
    model: `${job.modelId}:step${version}`,
    messages: [...messages],
    n: answerCount,
    temperature: 1,
    seed: (seed + index * 7919) % 2 ** 31,
    max_tokens: answerTokensMax,
    ...(tools === null ? {} : { tools: [...tools] }),
    ...(responseFormat === null ? {} : { response_format: responseFormat }),
    ...(typeof effort !== "string" || effort === "default" ? {} : { reasoning_effort: effort }),
  };
}

type Use<Input, Output> = (input: Input, options: { readonly signal: AbortSignal }) => Promise<Output>;

/** Wraps a function that uses a model: repeats the call while the server is too busy or the model is not loaded. */
function patient<Input, Output>(
  use: Use<Input, Output>,
  { clock, settings }: SamplingDependencies,
): Use<Input, Output> {
  return async (input, options) => {
    for (;;) {
      try {
        return await use(input, options);
      } catch (error) {
        const isBusy = error instanceof ServiceError && ["overloaded", "unavailable"].includes(error.code);
        if (!isBusy || options.signal.aborted) throw error;
        await clock.sleep(settings.busyMs, options);
      }
    }
  };
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
