// The cost of a traced call. Has no side effects.
import type { WeaveCall } from "../../client/api.ts";
import { costSum, costText } from "../../client/cost-text.ts";

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
