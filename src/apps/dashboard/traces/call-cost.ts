// The tokens of a traced call, and their cost. Has no side effects.
import type { WeaveCall } from "../../client/api.ts";
import { costSum, costText } from "../../client/cost-text.ts";

export interface CallTokens {
  readonly prompt: number;
  readonly answer: number;
}

/** Returns the tokens of a call over all its models; null if its client counted none. */
export function callTokens({ summary }: Pick<WeaveCall, "summary">): CallTokens | null {
  // Safe cast: clients write the counts under the names of OpenAI's or Anthropic's API; other values count as 0.
  const { usage } = summary as {
    readonly usage?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const models = Object.values(usage ?? {});
  const sum = (...names: readonly string[]): number =>
    models.reduce((total, used) => total + (names.map((name) => used?.[name]).find(isCount) ?? 0), 0);
  const tokens = {
    prompt: sum("prompt_tokens", "input_tokens"),
    answer: sum("completion_tokens", "output_tokens"),
  };
  return tokens.prompt + tokens.answer === 0 ? null : tokens;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Returns the cost of calls over all their models, such as `0.2 EUR`; null if the server has no prices for them. */
export function callCost(...calls: readonly Pick<WeaveCall, "summary">[]): string | null {
  return costText(costSum(calls.flatMap(callCosts)));
}

/** Returns the costs of a call, one for each model with a price. */
export function callCosts({ summary }: Pick<WeaveCall, "summary">): readonly Cost[] {
  // Safe cast: the server wrote the costs, in this form.
  const { weave } = summary as { readonly weave?: { readonly costs?: Readonly<Record<string, ModelCost>> } };
  return Object.values(weave?.costs ?? {}).map((one) => ({
    cost: one.prompt_tokens_total_cost + one.completion_tokens_total_cost,
    currency: one.prompt_token_cost_unit,
  }));
}

interface Cost {
  readonly cost: number;
  readonly currency: string;
}

interface ModelCost {
  readonly prompt_tokens_total_cost: number;
  readonly completion_tokens_total_cost: number;
  readonly prompt_token_cost_unit: string;
}
