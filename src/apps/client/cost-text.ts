// Formats the cost of tokens for people.
import type { Usage } from "./api.ts";

type Cost = Pick<Usage, "cost" | "currency">;

/** Formats a cost, such as `1.50 USD` or `0.000123 USD`; null if there is none. */
export function costText({ cost, currency }: Cost): string | null {
  if (cost === null) return null;
  // A conversation may cost a millionth, so small costs have three significant digits instead of cents.
  const maximumFractionDigits = cost > 0 && cost < 1 ? 2 - Math.floor(Math.log10(cost)) : 2;
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: Math.min(maximumFractionDigits, 20) };
  return `${cost.toLocaleString("en", digits)} ${currency ?? ""}`.trimEnd();
}

/** Returns the sum of costs; its cost is null if none of them is known. All costs of a server have the same currency. */
export function costSum(costs: readonly Cost[]): Cost {
  const known = costs.flatMap(({ cost }) => cost ?? []);
  if (known.length === 0) return { cost: null, currency: null };
  const currency = costs.find((one) => one.currency !== null)?.currency ?? null;
  return { cost: known.reduce((sum, cost) => sum + cost, 0), currency };
}
