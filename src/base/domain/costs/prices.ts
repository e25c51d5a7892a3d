// Prices of tokens, and the cost of counted tokens. Costs are computed whenever they are read, and never stored, so a
// change of the prices applies to old usage too.
import type { UsageCounts } from "../keys/usage.ts";

/** Kinds of tokens that have their own price. `cached` tokens are prompt tokens from the prefix cache. */
export const tokenKinds = ["prompt", "cached", "answer", "training"] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** Price of a million tokens of each kind; null for kinds without a price. */
export type TokenPrices = { readonly [Kind in TokenKind]: number | null };

export interface PriceList {
  /** Label of the currency, such as `USD`; null if the operator has set no prices. */
  readonly currency: string | null;
  /**
   * Returns the prices of a base model; null if there are none.
   *
   * @param base null for an unknown base model, which has prices only if all base models have the same
   */
  readonly of: (base: string | null) => TokenPrices | null;
}

export const noPrices: PriceList = { currency: null, of: () => null };

/** A cost with its currency; both are null if the counted tokens have no price. */
export interface Cost {
  readonly cost: number | null;
  readonly currency: string | null;
}

export type CountedTokens = Partial<Omit<UsageCounts, "requests">>;

/**
 * Returns the cost of tokens; null if none of the counted kinds has a price. Cached tokens without their own price cost as
 * much as other prompt tokens, and any other kind without a price costs nothing.
 */
export function costOf({ of, currency }: PriceList, base: string | null, tokens: CountedTokens): Cost {
  const prices = of(base);
  const { promptTokens, cachedTokens = 0, completionTokens, trainingTokens } = tokens;
  const counted = [
    [promptTokens && promptTokens - cachedTokens, prices?.prompt],
    [promptTokens && cachedTokens, prices?.cached ?? prices?.prompt],
    [completionTokens, prices?.answer],
    [trainingTokens, prices?.training],
  ] as const;
  const parts = counted.flatMap(([count, price]) =>
    count === undefined || price === undefined || price === null ? [] : [count * price],
  );
  if (parts.length === 0) return { cost: null, currency: null };
  const sum = parts.reduce((total, part) => total + part, 0) / 1e6;
  // Without rounding, three tokens at 0.1 would cost 3.0000000000000004e-7.
  return { cost: Number(sum.toPrecision(12)), currency };
}
