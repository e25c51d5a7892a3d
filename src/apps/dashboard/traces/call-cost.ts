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

/** Returns the cost of a call over all its models; null if the server has no prices for them. */
export function callCost({ summary }: Pick<WeaveCall, "summary">): string | null {
  // Safe cast: the server wrote the costs, in this form.
  const { weave } = summary as { readonly weave?: { readonly costs?: Readonly<Record<string, ModelCost>> } };
  return costText(
    costSum(
      Object.values(weave?.costs ?? {}).map((one) => ({
        cost: one.prompt_tokens_total_cost + one.completion_tokens_total_cost,
        currency: one.prompt_token_cost_unit,
      })),
    ),
  );
}

interface ModelCost {
  readonly prompt_tokens_total_cost: number;
  readonly completion_tokens_total_cost: number;
  readonly prompt_token_cost_unit: string;
}
