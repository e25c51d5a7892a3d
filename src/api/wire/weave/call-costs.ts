// Costs of a traced call in Weave's form, computed from the tokens in the call's summary.
import { type Cost, costOf, type CountedTokens, type PriceList } from "../../../base/domain/costs/prices.ts";
import { isObject } from "../../../base/validation/findings.ts";

/** Tokens of one model in a call. */
export interface CallUsage {
  /** Name of the model, as the client sent it. */
  readonly model: string;
  readonly sent: Readonly<Record<string, unknown>>;
  readonly tokens: Required<Pick<CountedTokens, "promptTokens" | "cachedTokens" | "completionTokens">>;
}

/** Maximum number of models whose cost a call shows. */
const modelsMax = 16;

/**
 * Returns the tokens that a call used, by model.
 *
 * @param summary JSON object that the client sent at the call's end
 */
export function usageIn(summary: string): readonly CallUsage[] {
  const { usage }: { readonly usage?: unknown } = JSON.parse(summary);
  if (!isObject(usage)) return [];
  return Object.entries(usage)
    .slice(0, modelsMax)
    .flatMap(([model, sent]) => {
      if (model === "" || !isObject(sent)) return [];
      const details = sent["prompt_tokens_details"] ?? sent["input_tokens_details"];
      const promptTokens = countIn(sent["prompt_tokens"] ?? sent["input_tokens"]);
      const cachedTokens = Math.min(promptTokens, countIn(isObject(details) ? details["cached_tokens"] : 0));
      const completionTokens = countIn(sent["completion_tokens"] ?? sent["output_tokens"]);
      return [{ model, sent, tokens: { promptTokens, cachedTokens, completionTokens } }];
    });
}

function countIn(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** Returns a member of `summary.weave.costs`; null if the base model has no prices. */
export function callCostBody({ sent, tokens }: CallUsage, prices: PriceList, base: string): object | null {
  const { completionTokens, ...prompt } = tokens;
  const costs: readonly Cost[] = [costOf(prices, base, prompt), costOf(prices, base, { completionTokens })];
  const [ofPrompt, ofAnswer] = costs.map(({ cost }) => cost ?? 0);
  if (costs.every(({ cost }) => cost === null)) return null;
  const { prompt: promptPrice, answer: answerPrice } = prices.of(base) ?? { prompt: null, answer: null };
  return {
    prompt_tokens: tokens.promptTokens,
    completion_tokens: completionTokens,
    requests: countIn(sent["requests"]),
    total_tokens: countIn(sent["total_tokens"]),
    prompt_tokens_total_cost: ofPrompt,
    completion_tokens_total_cost: ofAnswer,
    prompt_token_cost: (promptPrice ?? 0) / 1e6,
    completion_token_cost: (answerPrice ?? 0) / 1e6,
    prompt_token_cost_unit: prices.currency,
    completion_token_cost_unit: prices.currency,
    // Weave's clients require these members, which describe prices in W&B's own list.
    effective_date: null,
    provider_id: null,
    pricing_level: null,
    pricing_level_id: null,
    created_at: null,
    created_by: null,
  };
}
